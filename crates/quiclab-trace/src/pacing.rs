//! Analysis of the spacing and acknowledgement of packets.

mod acks;
mod clusters;
mod distribution;
pub mod document;
mod flow;
mod settings;
mod spacing;

pub use flow::Analysis;
pub use settings::Settings;
