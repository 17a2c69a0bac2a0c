//! What user space and kernel cost at one end of a flow.

use super::network::Delay;
use crate::time::Duration;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of host. The default costs nothing and never drops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// Socket receive buffer (`SO_RCVBUF` as the kernel counts it); unlimited without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ByteCount>,
    /// What the kernel charges for each datagram; without it, as Linux: the buffer of the packet
    /// rounded up to a power of two, and the socket-buffer structure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truesize: Option<ByteCount>,
    /// CPU time of the application for each datagram received.
    pub receive_datagram: Duration,
    /// CPU time of each receiving system call.
    pub receive_call: Duration,
    /// Most datagrams in one receiving call (GRO, recvmmsg).
    pub receive_batch: u32,
    /// CPU time for each datagram sent.
    pub send_datagram: Duration,
    /// CPU time of each sending system call.
    pub send_call: Duration,
    /// Most datagrams in one sending call (GSO, sendmmsg).
    pub send_batch: u32,
    /// How late user-space timers fire.
    pub timer_slack: Delay,
}

impl Host {
    /// Whether a receive buffer is given that can never fill, because reading takes no time.
    #[must_use]
    pub fn buffer_never_fills(&self) -> bool {
        let free = self.receive_call == Duration::ZERO && self.receive_datagram == Duration::ZERO;
        self.receive_buffer.is_some()
            && free
            && self.send_call == Duration::ZERO
            && self.send_datagram == Duration::ZERO
    }
}

impl Default for Host {
    fn default() -> Self {
        Self {
            receive_buffer: None,
            truesize: None,
            receive_datagram: Duration::ZERO,
            receive_call: Duration::ZERO,
            receive_batch: 1,
            send_datagram: Duration::ZERO,
            send_call: Duration::ZERO,
            send_batch: 1,
            timer_slack: Delay::default(),
        }
    }
}
