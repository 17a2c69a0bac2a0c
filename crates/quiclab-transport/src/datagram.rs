//! lab-udp: datagrams without congestion control: a constant rate, optionally with pauses, and ping; media
//! over RTP, which control themselves, are in [`crate::media`].
//!
//! The payload of a datagram has its number and send time ([`quiclab_core::Payload::Datagram`]), as in iperf
//! and ping; the rest is padding.

mod ping;
mod stack;
mod stream;

pub(crate) use ping::PING;
pub use stack::LabUdp;
pub(crate) use stream::DATAGRAMS;
#[cfg(test)]
mod tests;
