//! Events for an observer, and the loss tracking that they need.
//!
//! Exists only if an observer is attached. The encryption layer ([`crate::crypto_observer`]) passes each
//! packet in plaintext; the driver passes the time before, and the recovery state after, each call into the
//! stack.
//!
//! The stacks count lost packets but do not identify them. They are derived from the rules of the stacks (RFC
//! 9002 section 6.1): of the packets sent and not acknowledged, one below the largest acknowledged is lost if
//! it is far enough below it or old enough. Both rules are monotone: if a packet is lost, so are all lower
//! ones. Thus `n` new losses in a packet number space are its `n` lowest outstanding numbers.

use crate::frames;
use quiclab_core::quic::Ack;
use quiclab_core::{PacketSpace, RecoveryState, Role, Time, TransportEvent, TransportObserver};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The observation of one endpoint, shared by its driver and its keys. One thread calls all of them, so the
/// lock is never contended.
#[derive(Clone)]
pub(crate) struct SharedObservation(Arc<Mutex<Observation>>);

impl SharedObservation {
    /// `packet_threshold` is that of the stack's loss detection.
    pub(crate) fn new(observer: Box<dyn TransportObserver>, role: Role, packet_threshold: u64) -> Self {
        Self(Arc::new(Mutex::new(Observation {
            now: Time::ZERO,
            observer,
            role,
            packet_threshold,
            spaces: vec![Outstanding::default(), Outstanding::default(), Outstanding::default()],
            spaces_discarded: 0,
            recovery: RecoveryState::default(),
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Observation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Observation {
    now: Time,
    observer: Box<dyn TransportObserver>,
    role: Role,
    packet_threshold: u64,
    /// Packet number spaces: Initial, Handshake, application data of each path.
    spaces: Vec<Outstanding>,
    /// Number of `spaces` whose keys are discarded.
    spaces_discarded: usize,
    /// State reported last.
    recovery: RecoveryState,
}

/// Packets of a number space that were sent and are neither acknowledged nor lost.
#[derive(Default)]
struct Outstanding {
    /// Bytes by packet number; 0 for a packet that is not ack-eliciting.
    packets: BTreeMap<u64, u32>,
    /// Largest number acknowledged; `None` before the first ACK.
    largest_acked: Option<u64>,
    largest_ack_eliciting: u64,
    /// Number of `packets` above `largest_ack_eliciting`.
    tail: u64,
    /// Whether an ACK arrived in the current call.
    touched: bool,
}

/// Maximum number of packets after the last ack-eliciting one: beyond it both stacks forget the oldest
/// (`MAX_UNACKED_NON_ACK_ELICTING_TAIL` + 1).
const REMEMBERED_TAIL: u64 = 1_001;

/// Size of an authentication tag in bytes: all cipher suites of QUIC have 16 (RFC 9001 section 5.3).
const TAG_BYTES: usize = 16;

/// Packet number space of an index of [`Observation::spaces`].
const fn space_at(index: usize) -> PacketSpace {
    match index {
        0 => PacketSpace::Initial,
        1 => PacketSpace::Handshake,
        _ => PacketSpace::OneRtt,
    }
}

const fn index(space: PacketSpace, path: usize) -> usize {
    match space {
        PacketSpace::Initial => 0,
        PacketSpace::Handshake => 1,
        PacketSpace::ZeroRtt | PacketSpace::OneRtt => 2 + path,
    }
}

impl Observation {
    /// Starts a call into the stack.
    pub(crate) fn begin(&mut self, now: Time) {
        self.now = now;
        for space in &mut self.spaces {
            space.touched = false;
        }
    }

    /// Ends a call into the stack; `handshaking` as in [`crate::library::Stack::is_handshaking`].
    pub(crate) fn end(&mut self, state: RecoveryState, handshaking: bool) {
        self.report_lost(state.lost_packets - self.recovery.lost_packets);
        if self.role == Role::Server && !handshaking {
            // "the TLS handshake is considered confirmed at the server when the handshake
            // completes" (RFC 9001 section 4.1.2)
            self.discard(PacketSpace::Handshake);
        }
        for space in self.spaces[..self.spaces_discarded].iter_mut() {
            *space = Outstanding::default();
        }
        let key =
            |state: &RecoveryState| (state.cwnd_bytes, state.ssthresh_bytes, state.srtt_ns, state.phase);
        let changed = key(&state) != key(&self.recovery);
        self.recovery = state;
        if changed {
            self.observer.observe(self.now, &TransportEvent::Recovery(state));
        }
    }

    pub(crate) fn secret(&mut self, line: &str) {
        self.observer.observe(self.now, &TransportEvent::Secret(line));
    }

    /// Handles a packet that is sent in `space`, for application data on `path`.
    pub(crate) fn sent(
        &mut self,
        space: PacketSpace,
        path: usize,
        number: u64,
        header: &[u8],
        payload: &[u8],
    ) {
        let event = TransportEvent::PacketSent { space, path: path as u32, number, header, payload };
        self.observer.observe(self.now, &event);
        if space == PacketSpace::Handshake && self.role == Role::Client {
            self.discard(PacketSpace::Initial);
        }
        let summary = frames::walk(payload, |_, _| ());
        debug_assert!(!summary.unknown, "the stacks send frames that are known here: {payload:x?}");
        let bytes = if summary.ack_eliciting { header.len() + payload.len() + TAG_BYTES } else { 0 };
        self.space(space, path).insert(number, bytes as u32);
    }

    /// Handles a packet that has arrived in `space`, for application data on `path`.
    pub(crate) fn received(
        &mut self,
        space: PacketSpace,
        path: usize,
        number: u64,
        header: &[u8],
        payload: &[u8],
    ) {
        let event = TransportEvent::PacketReceived { space, path: path as u32, number, header, payload };
        self.observer.observe(self.now, &event);
        let summary = frames::walk(payload, |path, ack| {
            // a path on which nothing was sent has nothing to acknowledge
            let known = self.spaces.get_mut(index(space, path as usize));
            let (packets, bytes) = known.map_or((0, 0), |known| known.acknowledge(ack));
            self.observer
                .observe(self.now, &TransportEvent::AckReceived { packets, covered: packets, bytes });
        });
        match (self.role, space) {
            (Role::Server, PacketSpace::Handshake) => self.discard(PacketSpace::Initial),
            (Role::Client, _) if summary.handshake_done => {
                self.discard(PacketSpace::Handshake);
            }
            _ => {}
        }
    }

    /// Packets sent in a space, for application data on a path.
    fn space(&mut self, space: PacketSpace, path: usize) -> &mut Outstanding {
        let index = index(space, path);
        if index >= self.spaces.len() {
            self.spaces.resize_with(index + 1, Outstanding::default);
        }
        &mut self.spaces[index]
    }

    /// Discards `space` and those before it with their keys (RFC 9001 section 4.9): none of their packets can
    /// be lost after the current call.
    fn discard(&mut self, space: PacketSpace) {
        self.spaces_discarded = self.spaces_discarded.max(index(space, 0) + 1);
    }

    /// Reports the `count` packets that the stack declared lost in the current call.
    fn report_lost(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        let mut left = usize::try_from(count).expect("losses of one call fit into memory");
        let mut lost = vec![0; self.spaces.len()];
        // First those beyond the packet threshold, which are lost at once; then those too old, in
        // spaces with an ACK in this call before those with a timeout.
        let rules = [(self.packet_threshold, false), (1, true), (1, false)];
        for (distance, touched_only) in rules {
            for (space, lost) in self.spaces.iter().zip(&mut lost) {
                if space.touched || !touched_only {
                    let more = left.min(space.outstanding_below_largest(distance) - *lost);
                    *lost += more;
                    left -= more;
                }
            }
        }
        debug_assert_eq!(left, 0, "the stack lost packets that are not outstanding");
        for (index, lost) in lost.into_iter().enumerate().filter(|(_, lost)| *lost > 0) {
            let numbers: Vec<u64> = (0..lost).map_while(|_| self.spaces[index].pop_lowest()).collect();
            let path = index.saturating_sub(2) as u32;
            let event = TransportEvent::PacketsLost { space: space_at(index), path, numbers: &numbers };
            self.observer.observe(self.now, &event);
        }
    }
}

impl Outstanding {
    /// Adds a packet; `bytes` is 0 if it is not ack-eliciting.
    fn insert(&mut self, number: u64, bytes: u32) {
        if bytes > 0 {
            self.largest_ack_eliciting = number;
            self.tail = 0;
        } else if self.tail < REMEMBERED_TAIL {
            self.tail += 1;
        } else if let Some((&oldest, _)) = self.packets.range(self.largest_ack_eliciting + 1..).next() {
            self.packets.remove(&oldest);
        }
        self.packets.insert(number, bytes);
    }

    /// Number of ack-eliciting packets that this ACK acknowledges, and their bytes.
    fn acknowledge(&mut self, ack: &Ack<'_>) -> (u32, u64) {
        self.touched = true;
        self.largest_acked = self.largest_acked.max(Some(ack.largest));
        let (mut packets, mut total) = (0, 0);
        for acked in ack.ranges() {
            while let Some((&number, &bytes)) = self.packets.range(acked.clone()).next() {
                self.packets.remove(&number);
                self.tail -= u64::from(number > self.largest_ack_eliciting);
                packets += u32::from(bytes > 0);
                total += u64::from(bytes);
            }
        }
        (packets, total)
    }

    /// Number of packets whose numbers are at least `distance` below the largest acknowledged.
    fn outstanding_below_largest(&self, distance: u64) -> usize {
        let below = self.largest_acked.and_then(|largest| (largest + 1).checked_sub(distance));
        below.map_or(0, |below| self.packets.range(..below).count())
    }

    fn pop_lowest(&mut self) -> Option<u64> {
        let (number, _) = self.packets.pop_first()?;
        self.tail -= u64::from(number > self.largest_ack_eliciting);
        Some(number)
    }
}
