//! A link in the kernel as an element.

use super::chain::{Chain, Counts};
use super::marker::{self, MarkerClass, MarkerFlow};
use super::plan::Plan;
use crate::check::LinkTransits;
use crate::ip;
use crate::timing::MachineClock;
use quiclab_core::link::{LinkConfig, Rate, ShapedRate, WireFormat};
use quiclab_core::queue::{Capacity, FlowKey};
use quiclab_core::{
    ByteCount, Counters, DataRate, DropReason, Duration, Ecn, Element, Metrics, Outputs, Packet, Payload,
    Port, Time,
};
use quiclab_sim::KERNEL_LINK;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Maximum number of packets read at once.
const BATCH: usize = 64;
/// Longer than any marker.
const BUFFER_BYTES: usize = 65_536;
/// Additional time, beyond the queue and the delay, after which a packet counts as dropped.
const SLACK: Duration = Duration::from_secs(1);
/// Packet size by which a limit in packets is converted to time.
const LARGE_PACKET: ByteCount = ByteCount::from_bytes(1600);
/// Number of standard deviations that no delay exceeds.
const DEVIATIONS: u64 = 10;

/// A link whose stages are in the kernel: packets enter as markers, and leave when their marker does.
///
/// The kernel does not report which packet it drops: a packet that has not returned within the maximum time
/// counts as dropped.
pub struct KernelLink {
    chain: Chain,
    clock: MachineClock,
    /// Bytes by which a marker is longer than its packet.
    added_bytes: i64,
    /// Whether markers contain hosts and headers of TCP.
    reads_headers: bool,
    /// Packets inside, in the order of entry; `None` after departure.
    inside: VecDeque<Option<(Time, Box<Packet>)>>,
    /// Number of the first packet of `inside`.
    first: u32,
    /// Maximum time inside.
    longest: Duration,
    counters: Counters,
    passages: LinkTransits,
    /// Final counters of the disciplines.
    kernel: Counts,
    /// Number of markers that the device did not accept.
    refused: u64,
    /// Number of packets that were marked inside.
    ce_marks: u64,
    /// Number of markers that returned after their packet counted as dropped.
    late: u64,
    buffer: Vec<u8>,
}

impl KernelLink {
    /// Creates the link `link`, whose `plan` has been set up in `chain`.
    #[must_use]
    pub fn new(chain: Chain, plan: &Plan, link: &LinkConfig, clock: MachineClock) -> Self {
        Self {
            chain,
            clock,
            added_bytes: plan.added_bytes,
            reads_headers: plan.reads_headers,
            inside: VecDeque::new(),
            first: 0,
            longest: longest_passage(link),
            counters: Counters::default(),
            passages: if plan.bucket { LinkTransits::of_bucket() } else { LinkTransits::default() },
            kernel: Counts::default(),
            refused: 0,
            ce_marks: 0,
            late: 0,
            buffer: vec![0; BUFFER_BYTES],
        }
    }

    /// Reads the kernel's number of drops, and counts as many of the oldest packets inside as dropped.
    ///
    /// # Errors
    /// If the kernel cannot be queried.
    pub fn wait_until_drained(&mut self) -> io::Result<()> {
        self.kernel = self.chain.counts()?;
        let mut missing = (self.kernel.dropped + self.refused).saturating_sub(self.counters.dropped.packets);
        for place in &mut self.inside {
            if missing == 0 {
                break;
            }
            if let Some((_, packet)) = place.take() {
                self.counters.held.remove(packet.size);
                self.counters.dropped.add(packet.size);
                missing -= 1;
            }
        }
        Ok(())
    }

    /// Number of packets that a device did not accept, or that returned after they counted as dropped.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.refused + self.late
    }

    /// Takes the times at which packets entered and left.
    pub fn take_passages(&mut self) -> LinkTransits {
        std::mem::take(&mut self.passages)
    }

    /// Counts packets as dropped that have exceeded the maximum time.
    fn give_up(&mut self, now: Time, out: &mut Outputs) {
        while let Some(first) = self.inside.front() {
            match first {
                Some((entered, _)) if *entered + self.longest > now => break,
                _ => {}
            }
            self.first = self.first.wrapping_add(1);
            if let Some(Some((_, packet))) = self.inside.pop_front() {
                self.counters.held.remove(packet.size);
                self.counters.dropped.add(packet.size);
                out.discard(DropReason::QueueFull, packet);
            }
        }
    }

    fn comes_out(&mut self, number: u32, marked: bool, now: Time, out: &mut Outputs) {
        let index = number.wrapping_sub(self.first) as usize;
        let Some((_, mut packet)) = self.inside.get_mut(index).and_then(Option::take) else {
            self.late += 1;
            return;
        };
        self.passages.on_leave(number, now);
        if marked && packet.ecn != Ecn::Ce {
            packet.ecn = Ecn::Ce;
            self.ce_marks += 1;
        }
        self.counters.held.remove(packet.size);
        self.counters.sent.add(packet.size);
        out.send(Port(0), packet);
        while self.inside.front().is_some_and(Option::is_none) {
            self.inside.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }
}

/// Maximum transit time of a packet: the full queue, the delay, some slack.
fn longest_passage(link: &LinkConfig) -> Duration {
    let rate = match &link.rate {
        Some(Rate::Constant(rate) | Rate::Shaped(ShapedRate::TokenBucket { rate, .. })) => *rate,
        _ => DataRate::from_mbps(u64::MAX),
    };
    let Capacity { packets, bytes, memory, .. } = link.queue.options().capacity();
    let large = WireFormat::of(link).length_of(LARGE_PACKET, ByteCount::ZERO);
    let of_packets = |packets: u64| packets.saturating_mul(large.bytes());
    let bytes = bytes.or(memory.filter(|_| packets.is_none())).map(ByteCount::bytes);
    let bytes = bytes.unwrap_or_else(|| of_packets(packets.unwrap_or(1000)));
    let queued = rate.time_for(ByteCount::from_bytes(bytes));
    let spread = Duration::from_nanos(link.delay.deviation.as_nanos().saturating_mul(DEVIATIONS));
    queued + link.delay.mean + spread + SLACK
}

/// Flow of a packet for its marker: each number depends on all bits of the keys.
fn flow(packet: &Packet, reads_headers: bool) -> MarkerFlow<'_> {
    let key = FlowKey::of_packet(packet);
    if !reads_headers {
        return MarkerFlow::Address(key.hash(0) as u16);
    }
    let segment = match &packet.payload {
        Payload::Ip(bytes) => ip::tcp_header(bytes).unwrap_or_default(),
        _ => &[],
    };
    MarkerFlow::Hosts { hosts: key.hosts(0).map(|hash| hash as u16), flow: key.hash(0) as u32, segment }
}

impl AsFd for KernelLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.chain.leave.as_fd()
    }
}

impl Element for KernelLink {
    fn receive(&mut self, now: Time, port: Port, packet: Box<Packet>, out: &mut Outputs) {
        debug_assert_eq!(port, Port(0), "a link has one input");
        self.give_up(now, out);
        self.counters.received.add(packet.size);
        let length = i64::try_from(packet.wire_size().bytes()).unwrap_or(i64::MAX) + self.added_bytes;
        let number = self.first.wrapping_add(self.inside.len() as u32);
        self.passages.on_enter(number, now, packet.wire_size());
        let class = MarkerClass { ecn: packet.ecn, flow: flow(&packet, self.reads_headers) };
        let length = usize::try_from(length).unwrap_or(0);
        let marker = marker::write(&mut self.buffer, number, length, class);
        if self.chain.enter.send(marker).is_err() {
            self.refused += 1;
        }
        self.counters.held.add(packet.size);
        self.inside.push_back(Some((now, packet)));
    }

    /// Reads the markers that wait at the output.
    fn wake(&mut self, _now: Time, out: &mut Outputs) {
        for _ in 0..BATCH {
            match self.chain.leave.recv(&mut self.buffer) {
                Ok(length) => {
                    if let Some(number) = marker::number(&self.buffer[..length]) {
                        // measured at the read: the markers of one wake did not arrive at one time
                        let marked = marker::is_marked(&self.buffer[..length]);
                        self.comes_out(number, marked, self.clock.now(), out);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        out.count(&KERNEL_LINK.kernel_dropped_packets, self.kernel.dropped);
        out.count(&KERNEL_LINK.kernel_held_packets, self.kernel.held);
        if self.reads_headers {
            out.count(&KERNEL_LINK.filtered_acks, self.kernel.filtered_acks);
        }
        out.count(&KERNEL_LINK.refused_packets, self.refused);
        out.count(&KERNEL_LINK.ce_marks, self.ce_marks);
        out.count(&KERNEL_LINK.late_packets, self.late);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        out.count(&KERNEL_LINK.inside_packets, self.counters.held.packets);
        out.count(&KERNEL_LINK.sent_bytes, self.counters.sent.bytes);
    }
}
