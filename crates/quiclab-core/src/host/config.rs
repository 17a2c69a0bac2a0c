//! Costs of user space and kernel at one end of a flow.

use crate::limits;
use crate::link::Delay;
use crate::time::Duration;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time at which the memory of a datagram that was read is released (`udp_rmem_release`, net/ipv4/udp.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryReturn {
    /// When it is read: Linux up to 4.9; approximately also from 5.5 on.
    AtOnce,
    /// When a quarter of the buffer has been read since the last return: Linux 4.15 to 5.4, between its commit
    /// 0d4a6608f68c and the revert of January 2020.
    InQuarters,
}

/// A host template. The default costs nothing and never drops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Host")]
pub struct HostConfig {
    /// Socket receive buffer (`SO_RCVBUF` as the kernel counts it; default: unlimited).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least("1 B"))]
    pub receive_buffer: Option<ByteCount>,
    /// Memory that the kernel charges for each datagram (default, as Linux: the buffer of the packet rounded up to a
    /// power of two, and the socket-buffer structure).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least("1 B"))]
    pub truesize: Option<ByteCount>,
    /// Time at which the memory of a datagram that was read is released.
    pub memory_return: MemoryReturn,
    /// CPU time of the application for each datagram received.
    pub receive_datagram: Duration,
    /// CPU time of each receiving system call.
    pub receive_call: Duration,
    /// Maximum number of datagrams in one receiving call (GRO, recvmmsg).
    #[schemars(transform = limits::at_least(1).unit("datagrams"))]
    pub receive_batch: u32,
    /// CPU time for each datagram sent.
    pub send_datagram: Duration,
    /// CPU time of each sending system call.
    pub send_call: Duration,
    /// Maximum number of datagrams in one sending call (GSO, sendmmsg).
    #[schemars(transform = limits::at_least(1).unit("datagrams"))]
    pub send_batch: u32,
    /// Resolution of user-space timers: a wait is rounded up to a multiple of it, from the moment at which the process goes to
    /// sleep (`epoll_wait`: 1 ms; default: exact).
    #[schemars(transform = limits::between("0 s", "1 s"))]
    pub timer_resolution: Duration,
    /// Lateness of user-space timers beyond that. Without `reorder` and `every`.
    pub timer_slack: Delay,
    /// Time until a waiting process runs after a datagram has arrived.
    /// Without `reorder` and `every`.
    pub wake_up: Delay,
}

impl HostConfig {
    /// Whether a receive buffer is configured that can never fill, because reading takes no time.
    #[must_use]
    pub fn buffer_never_fills(&self) -> bool {
        let free = self.receive_call == Duration::ZERO && self.receive_datagram == Duration::ZERO;
        self.receive_buffer.is_some()
            && free
            && self.send_call == Duration::ZERO
            && self.send_datagram == Duration::ZERO
    }
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            receive_buffer: None,
            truesize: None,
            memory_return: MemoryReturn::AtOnce,
            receive_datagram: Duration::ZERO,
            receive_call: Duration::ZERO,
            receive_batch: 1,
            send_datagram: Duration::ZERO,
            send_call: Duration::ZERO,
            send_batch: 1,
            timer_resolution: Duration::ZERO,
            timer_slack: Delay::default(),
            wake_up: Delay::default(),
        }
    }
}
