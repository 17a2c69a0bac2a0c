//! The tunnel: IP packets in datagrams over several paths, with its own queue discipline.
//!
//! ```text
//! enqueue ─> queue discipline ─> pipeline ─> path scheduler ─> carrier ═══ paths ═══> carrier ─> resequencer ─> out
//! ```
//!
//! A packet leaves the queue when a path can send it *now*: no packet waits behind the queue, so the queue observes the
//! whole delay and can react to it. This is the difference from the published pipeline (`pquic`), which is implemented
//! as well. After Andersson Johansson, "Applying FQ-CoDel for Packet Schedulers in Tunneled Transport Layer Access
//! Bundling" (Karlstad University, 2020).
//!
//! | file | |
//! | --- | --- |
//! | `carrier` | transport of datagrams over paths: the trait |
//! | `number` | the header of numbered datagrams |
//! | `payload` | packets as payloads, by their bytes or by identifier |
//! | `direct`, `pquic` | from the queue to the paths |
//! | `resequencer` | order at the receiving end |
//! | `repair`, `report` | retransmission of packets that a path has lost |
//! | `sparse` | flows whose packets need no order |
//! | `element` | an end as an element of a topology |
//!
//! The same code runs in virtual time and between real interfaces.

mod carrier;
mod config;
mod direct;
mod element;
pub mod format;
mod metrics;
mod number;
mod payload;
mod pquic;
mod repair;
mod report;
mod resequencer;
mod sparse;
mod statistics;
mod waiting;

#[cfg(test)]
mod tests;

pub use carrier::{Carrier, TunnelPayload};
pub use config::{CarrierKind, LeaveRule, Pipeline, SecondQueue, TunnelEcn, check_sender};
pub use element::TunnelElement;
pub use payload::{PacketStore, PacketStores};
pub use waiting::SojournRecord;

use crate::element::DropReason;
use crate::ip::Ecn;
use crate::packet::{Direction, FlowId, Packet};
use crate::packet_memory::PacketMemory;
use crate::queue::{Backlog, Discipline, Item, QueueConfig, QueueStatistics, WaitingFlow};
use crate::random::RandomStream;
use crate::scheduler::{self, PathScheduler, PathSchedulerKind, PathState};
use crate::time::{Duration, Time};
use crate::units::ByteCount;
pub(crate) use metrics::TUNNEL;
use number::{Numbering, Tag};
use payload::{Arrived, PayloadEncoding};
use pquic::Pquic;
use repair::{Gaps, SentPackets};
use resequencer::Resequencer;
use smallvec::SmallVec;
use sparse::SparseFlows;
use std::collections::BTreeMap;
use waiting::{QueuedPacket, SojournLog};

/// Configuration of a tunnel at one end.
#[derive(Clone, Debug)]
pub struct TunnelConfig {
    /// Queue of packets that wait for the paths.
    pub queue: QueueConfig,
    /// Path scheduler.
    pub scheduler: PathSchedulerKind,
    /// Transfer of packets from the queue to the paths.
    pub pipeline: Pipeline,
    /// Maximum length of an IP packet that may enter.
    pub mtu: ByteCount,
    /// Maximum wait for order; `None`: packets leave in the order of arrival. The same at both ends: it adds a number.
    pub resequencing: Option<Duration>,
    /// Whether packets that a path has lost are retransmitted while the peer waits for them, and packets of sparse
    /// flows leave without waiting. Requires `resequencing`; the same at both ends.
    pub repair: bool,
    /// Maximum number of datagrams that may leave on a path before the next decision: a carrier can pass several to the
    /// kernel together.
    pub batch: usize,
    /// Relation of inner and outer ECN fields. Bytes of packets are not changed: marks can be passed on only to
    /// modelled packets.
    pub ecn: TunnelEcn,
    /// Maximum number of records of sojourn times kept.
    pub keep_sojourns: usize,
}

/// Output of a tunnel for its driver.
#[derive(Debug, Default)]
pub struct Emitted {
    /// Outer packets to send, with their path.
    pub outer: Vec<(usize, Box<Packet>)>,
    /// Inner packets that have arrived.
    pub inner: Vec<Box<Packet>>,
    /// Inner packets that were dropped, with the reason; those that exceed the limit of a path with
    /// [`DropReason::TooLarge`].
    pub dropped: Vec<(DropReason, Box<Packet>)>,
}

/// One end of a tunnel, over any carrier.
pub struct Tunnel {
    config: TunnelConfig,
    queue: Discipline<QueuedPacket>,
    scheduler: Box<dyn PathScheduler>,
    freight: PayloadEncoding,
    /// The next packet, already removed from the queue, if no path took it.
    next: Option<QueuedPacket>,
    /// Time until which the queue holds back packets that paths could send; `None` if it does not.
    held_until: Option<Time>,
    pquic: Option<Pquic>,
    resequencer: Option<Resequencer>,
    repair: Option<RepairEnds>,
    sojourns: SojournLog,
    /// Packets sent so far: the number of the next one.
    sent: u64,
    sent_by_path: SmallVec<[u64; 8]>,
    /// Last known number of paths of the carrier.
    paths: usize,
    counts: Counts,
    /// Highest number that has arrived of each flow, to detect reordering. Bounded: of the first flows only.
    highest: BTreeMap<(FlowId, Direction), u32>,
}

/// State of both roles of an end that repairs.
struct RepairEnds {
    sent: SentPackets,
    gaps: Gaps,
    sparse: SparseFlows,
}

impl RepairEnds {
    fn of(config: &TunnelConfig) -> Option<Self> {
        let bound = config.resequencing.filter(|_| config.repair)?;
        Some(Self { sent: SentPackets::new(bound), gaps: Gaps::default(), sparse: SparseFlows::default() })
    }
}

/// Totals over the whole run.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    entered: u64,
    dropped: u64,
    too_large: u64,
    delivered: u64,
    reordered: u64,
    strange: u64,
    /// Packets marked in transit that are not ECN-capable inside (RFC 6040 section 4.2).
    marked_drops: u64,
}

/// Maximum number of flows whose order is watched.
const WATCHED_FLOWS: usize = 4096;

impl Tunnel {
    /// Creates an end whose packets are bytes, for real interfaces.
    #[must_use]
    pub fn of_bytes(config: TunnelConfig, random: RandomStream) -> Self {
        Self::new(config, PayloadEncoding::Bytes(PacketMemory::default()), random)
    }

    /// Creates an end whose packets stay in `depots`, which it shares with its peer.
    #[must_use]
    pub fn with_packet_stores(config: TunnelConfig, depots: PacketStores, random: RandomStream) -> Self {
        Self::new(config, PayloadEncoding::References(depots), random)
    }

    fn new(config: TunnelConfig, freight: PayloadEncoding, random: RandomStream) -> Self {
        Self {
            queue: Discipline::new(&config.queue, random),
            scheduler: scheduler::build(&config.scheduler),
            freight,
            next: None,
            held_until: None,
            pquic: match config.pipeline {
                Pipeline::Direct => None,
                Pipeline::Pquic { leaves, second_queue } => Some(Pquic::new(leaves, second_queue)),
            },
            resequencer: config.resequencing.map(Resequencer::new),
            repair: RepairEnds::of(&config),
            sojourns: SojournLog { keep: config.keep_sojourns, records: Vec::new() },
            sent: 0,
            sent_by_path: SmallVec::new(),
            paths: 0,
            counts: Counts::default(),
            highest: BTreeMap::new(),
            config,
        }
    }

    /// Restarts the packet numbers in both directions: the carrier has another session, and the peer restarts. Packets
    /// that wait to be sent continue to wait; those that wait for order belong to the old session and are discarded.
    pub fn restart(&mut self) {
        self.sent = 0;
        self.resequencer = self.config.resequencing.map(Resequencer::new);
        self.repair = RepairEnds::of(&self.config);
        self.highest.clear();
    }

    /// Handles the arrival of an inner packet. It may be dropped immediately; [`Tunnel::run`] sends the packets that
    /// can be sent.
    pub fn enqueue(&mut self, now: Time, packet: Box<Packet>, out: &mut Emitted) {
        self.counts.entered += 1;
        if packet.size > self.config.mtu {
            return self.refuse(packet, out);
        }
        let Self { queue, pquic, sojourns, counts, .. } = self;
        let mut dropped = |item: QueuedPacket, reason| {
            sojourns.note(now, &item, Some(reason));
            counts.dropped += 1;
            out.dropped.push((reason, item.packet));
        };
        let second = pquic.as_mut().and_then(|pquic| pquic.second_queue_of(&packet));
        second.unwrap_or(queue).enqueue(now, QueuedPacket { packet, entered: now }, &mut dropped);
    }

    /// Removes and returns the packets that wait to be sent.
    pub fn take_queue(&mut self, now: Time, out: &mut Emitted) -> Vec<Box<Packet>> {
        std::iter::from_fn(|| self.take_next(now, out)).map(|item| item.packet).collect()
    }

    /// Processes received payloads of the carrier, and sends as much as the carrier can take; to be called after every
    /// event.
    pub fn run(&mut self, now: Time, carrier: &mut dyn Carrier, out: &mut Emitted) {
        if let Some(resequencer) = &mut self.resequencer {
            resequencer.wake(now, &mut out.inner);
        }
        while let Some((path, cargo)) = carrier.delivered() {
            let outer = carrier.delivered_field();
            self.deliver(now, path, cargo, outer, out);
        }
        self.held_until = None;
        match self.pquic.take() {
            None => {
                // acknowledgements first: they need no window
                flush(now, carrier, out);
                self.report_losses(now, carrier);
                self.send_directly(now, carrier, out);
            }
            // an acknowledgement that is due there can carry waiting payloads
            Some(mut pquic) => {
                pquic.send(self, now, carrier, out);
                self.pquic = Some(pquic);
            }
        }
        self.paths = carrier.paths();
        let repairs = self
            .repair
            .as_mut()
            .is_some_and(|repair| repair.sent.is_due(now) || repair.gaps.unreported().next().is_some());
        carrier.set_backlogged(repairs || !self.is_empty());
        flush(now, carrier, out);
    }

    /// Reports to the peer the missing packets, on each path that has lost any.
    fn report_losses(&mut self, now: Time, carrier: &mut dyn Carrier) {
        let Some((repair, resequencer)) = self.repair.as_mut().zip(self.resequencer.as_ref()) else { return };
        let losses: SmallVec<[(usize, u32); 8]> = repair.gaps.unreported().collect();
        for (path, last) in losses {
            let report = resequencer.report(last);
            let sent = report
                .as_ref()
                .is_some_and(|report| carrier.send(now, path, self.freight.load_report(report)).is_ok());
            if sent || report.is_none() {
                repair.gaps.settled(path, sent);
            }
        }
    }

    /// Time at which [`Tunnel::run`] must be called for the tunnel itself; the carrier has its own deadline.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        self.resequencer.as_ref().and_then(Resequencer::next_wake).into_iter().chain(self.held_until).min()
    }

    /// Packets and bytes that wait to be sent.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        let next = self.next.iter().map(|item| item.packet.size);
        let reserved = self.pquic.iter().flat_map(Pquic::sizes);
        let mut waiting = self.queue.waiting();
        if let Some(second) = self.pquic.as_ref().and_then(Pquic::second_waiting) {
            waiting.packets += second.packets;
            waiting.bytes += second.bytes;
        }
        next.chain(reserved).fold(waiting, Backlog::with)
    }

    /// Flows with packets in the queue: see [`Discipline::waiting_flows`].
    #[must_use]
    pub fn waiting_flows(&self) -> Vec<WaitingFlow> {
        self.queue.waiting_flows()
    }

    /// Totals of all packets in the queue.
    #[must_use]
    pub fn queue_totals(&self) -> &QueueStatistics {
        self.queue.totals()
    }

    fn is_empty(&self) -> bool {
        self.next.is_none() && self.queue.is_empty() && self.pquic.as_ref().is_none_or(Pquic::is_empty)
    }

    /// Removes and returns the records of sojourn times.
    pub fn take_sojourns(&mut self) -> Vec<SojournRecord> {
        std::mem::take(&mut self.sojourns.records)
    }

    /// Whether payloads have numbers.
    const fn numbering(&self) -> Numbering {
        match (&self.resequencer, &self.repair) {
            (None, _) => Numbering::Off,
            (Some(_), None) => Numbering::Plain,
            (Some(_), Some(_)) => Numbering::Tagged,
        }
    }

    /// Bytes that the tunnel adds to a packet.
    #[must_use]
    pub const fn overhead(&self) -> u16 {
        self.numbering().length() as u16
    }

    /// Maximum length of a packet on `path` at present, 0 if it accepts none.
    fn largest(&self, carrier: &dyn Carrier, path: usize) -> u64 {
        let added = self.overhead();
        carrier.largest_datagram(path).map_or(0, |largest| largest.saturating_sub(added).into())
    }

    /// Drops a packet that is too large for a path.
    fn refuse(&mut self, packet: Box<Packet>, out: &mut Emitted) {
        self.counts.too_large += 1;
        out.dropped.push((DropReason::TooLarge, packet));
    }

    /// The next packet of the queue.
    fn take_next(&mut self, now: Time, out: &mut Emitted) -> Option<QueuedPacket> {
        if let Some(item) = self.next.take() {
            return Some(item);
        }
        let Self { queue, sojourns, counts, .. } = self;
        let mut dropped = |item: QueuedPacket, reason| {
            sojourns.note(now, &item, Some(reason));
            counts.dropped += 1;
            out.dropped.push((reason, item.packet));
        };
        let next = queue.dequeue(now, &mut dropped);
        if next.is_none() {
            self.held_until = self.queue.next_wake();
        }
        next
    }

    /// States of the paths, without those that are `closed` at present (one bit each).
    fn states(now: Time, carrier: &dyn Carrier, closed: u64) -> SmallVec<[PathState; 8]> {
        (0..carrier.paths())
            .map(|path| {
                let mut state = carrier.state(now, path);
                state.has_room &= path < 64 && closed & (1 << path) == 0;
                state
            })
            .collect()
    }

    /// Passes `item` to the carrier for `path`; returns it if the path does not accept it after all.
    fn load(
        &mut self,
        now: Time,
        carrier: &mut dyn Carrier,
        path: usize,
        item: QueuedPacket,
    ) -> Option<QueuedPacket> {
        self.load_with(now, path, item, |cargo| carrier.send(now, path, cargo))
    }

    /// Does the same with another function to `send`.
    fn load_with(
        &mut self,
        now: Time,
        path: usize,
        item: QueuedPacket,
        send: impl FnOnce(TunnelPayload) -> Result<(), TunnelPayload>,
    ) -> Option<QueuedPacket> {
        let (numbering, entered, size) = (self.numbering(), item.entered, item.packet.size);
        let (flow, direction, capable) =
            (item.packet.flow, item.packet.direction, item.packet.ecn != Ecn::NotEct);
        let (tag, key) = (self.tag(now, path, &item), self.repair.as_ref().map(|_| item.key()));
        let loaded = self.freight.load(item.packet, self.sent, numbering, tag);
        // a lost copy is not missed
        let kept = (self.repair.is_some() && !self.scheduler.copies()).then(|| loaded.clone());
        match send(loaded) {
            Ok(()) => {
                if let Some((repair, key)) = self.repair.as_mut().zip(key) {
                    repair.sparse.count(now, &key);
                    match kept {
                        Some(payload) => repair.sent.sent(now, self.sent, path, payload, size, capable),
                        None => _ = repair.sent.left(path),
                    }
                }
                self.sent += 1;
                self.sojourns.note_of(now, flow, direction, entered, None);
                self.count_sent(now, path, size);
                None
            }
            Err(cargo) => {
                let packet = self.freight.take_back(cargo, numbering).expect("it was loaded just now");
                Some(QueuedPacket { packet, entered })
            }
        }
    }

    /// The tag of `item` on `path`.
    fn tag(&mut self, now: Time, path: usize, item: &QueuedPacket) -> Tag {
        self.repair.as_mut().map_or_else(Tag::default, |repair| Tag {
            unordered: repair.sparse.is_sparse(now, &item.key()),
            place: Tag::place_of(repair.sent.place(path)),
            report: false,
        })
    }

    /// Counts a packet of `size`, or a copy of one, that leaves on `path`.
    fn count_sent(&mut self, now: Time, path: usize, size: ByteCount) {
        if self.sent_by_path.len() <= path {
            self.sent_by_path.resize(path + 1, 0);
        }
        self.sent_by_path[path] += size.bytes();
        self.scheduler.on_sent(now, path, size);
    }

    fn deliver(&mut self, now: Time, path: usize, cargo: TunnelPayload, outer: Ecn, out: &mut Emitted) {
        let copies = self.scheduler.copies();
        let (mut packet, number, tag) = match self.freight.decode(cargo, self.numbering(), copies) {
            Some(Arrived::Packet(packet, number, tag)) => (packet, number, tag),
            Some(Arrived::Report(report)) if self.repair.is_some() => {
                self.repair.iter_mut().for_each(|repair| repair.sent.on_report(now, path, &report));
                return;
            }
            _ => {
                self.counts.strange += 1;
                return;
            }
        };
        if let Some(repair) = &mut self.repair {
            repair.gaps.arrived(path, tag, number);
        }
        if self.config.ecn == TunnelEcn::Propagated {
            let Some(field) = packet.ecn.decapsulated(outer) else {
                self.counts.marked_drops += 1;
                // another copy may arrive without a mark
                if let Some(resequencer) = self.resequencer.as_mut().filter(|_| !copies) {
                    resequencer.pass_over(now, number, &mut out.inner);
                }
                return;
            };
            packet.ecn = field;
        }
        self.counts.delivered += 1;
        self.watch_order(&packet, number);
        match &mut self.resequencer {
            Some(resequencer) if tag.unordered => {
                if resequencer.came_unordered(now, number, &mut out.inner) {
                    out.inner.push(packet);
                }
            }
            Some(resequencer) => resequencer.receive(now, path, number, packet, &mut out.inner),
            None => out.inner.push(packet),
        }
    }

    /// Counts packets that a later one of their flow has overtaken. Not possible for payloads that are bytes, whose
    /// flows are not distinguished here, nor for copies.
    fn watch_order(&mut self, packet: &Packet, number: u32) {
        if matches!(self.freight, PayloadEncoding::Bytes(_)) || self.scheduler.copies() {
            return;
        }
        let flow = (packet.flow, packet.direction);
        if self.highest.len() >= WATCHED_FLOWS && !self.highest.contains_key(&flow) {
            return;
        }
        let highest = self.highest.entry(flow).or_insert(number);
        // serial number arithmetic (RFC 1982) with 18 bits
        let ahead = number.wrapping_sub(*highest) & (u32::MAX >> (32 - number::NUMBER_BITS));
        if ahead < 1 << (number::NUMBER_BITS - 1) {
            *highest = number;
        } else {
            self.counts.reordered += 1;
        }
    }
}

/// Sends all packets that the carrier has at present.
fn flush(now: Time, carrier: &mut dyn Carrier, out: &mut Emitted) {
    while let Some(packet) = carrier.transmit(now) {
        out.outer.push(packet);
    }
}
