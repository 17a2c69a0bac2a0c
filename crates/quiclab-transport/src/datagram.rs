//! lab-udp: datagrams without any control: a constant rate, perhaps with pauses, and ping; media over RTP, which
//! control themselves, are in [`crate::media`].
//!
//! A datagram's payload says its number and when it was sent ([`quiclab_core::Payload::Datagram`]), as
//! those of iperf and ping do; the rest is padding.

mod ping;
mod stack;
mod stream;

pub(crate) use ping::PING;
pub use stack::LabUdp;
pub(crate) use stream::DATAGRAMS;
#[cfg(test)]
mod tests;
