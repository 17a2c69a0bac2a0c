//! noq as the carrier of a tunnel: `noq-proto` 1.4, unchanged, under a path scheduler of our own.

mod config;
mod event;
mod hub;
mod keys;
mod noq_carrier;
pub mod wire;

pub use config::{CarrierKind, HubConfig, PathConfig, PathControl, Randomness};
pub use event::{CloseReason, HubError, HubEvent, Outgoing, SessionId};
pub use hub::{Hub, HubCarrier};
pub use keys::{PublicKey, SecretKey};
pub use noq_carrier::{CarrierSetup, NoqCarrier};
