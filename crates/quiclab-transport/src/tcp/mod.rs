//! lab-tcp: TCP as Linux speaks it, with every part exchangeable.

mod config;
mod receiver;
mod sender;

pub use config::Config;
