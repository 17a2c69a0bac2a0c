//! Receiving end: reports arrivals (RFC 8298 section 4.2, RFC 8888), and reassembles frames.
//!
//! Reports are sent at intervals of 1 / min(50, max(2.5, rate / 10000)) seconds while packets arrive; in
//! version 2 (its section 5) after 16 packets, with the last of a frame, and 40 ms after the last report.
//! Each covers all packets since the report before the last, so that one report may be lost.

use super::source::RTP_HEADER;
use super::{Parameters, seconds};
use crate::workload::{Arrivals, Delays, LINGER, Samples};
use quiclab_core::{
    ByteCount, Counters, Duration, Ecn, Element, Endpoint, EndpointIdentity, MediaArrival, MediaFeedback,
    Metrics, Nic, Outputs, Packet, Payload, Port, Progress, RtpPacket, Time,
};
use std::collections::{BTreeMap, VecDeque};

quiclab_core::metrics! {
    /// Receiver of interactive media.
    pub static MEDIA_RECEIVER: MediaReceiverMetrics = Flow, "receiver of `media`" {
        /// Lost packets.
        lost_packets: Counter, Both;
        /// Reordered packets.
        reordered_packets: Counter, Both;
        /// Duplicate packets.
        duplicate_packets: Counter, Both;
        /// Frames of which all packets arrived.
        complete_frames: Counter, Both;
        /// From capture to the arrival of the last packet.
        frame_delay_ms: Distribution, End;
    }
}

/// Maximum number of packets that a report covers (RFC 8888 section 3.1: 16384).
const MAX_REPORTS: u64 = 16_384;
/// Header of RTCP with the sender's SSRC, the SSRC reported on with begin and count, and the report timestamp.
const FEEDBACK_HEADER: u64 = 8 + 8 + 4;
/// Maximum number of frames that are reassembled at a time; the oldest is given up.
const MAX_INCOMPLETE_FRAMES: usize = 64;
/// Number of packets, and time, after which version 2 sends a report.
const PACKETS_PER_REPORT: u64 = 16;
const MAX_REPORT_INTERVAL: Duration = Duration::from_millis(40);
/// Interval over which the rate is measured that determines the report interval.
const RATE_INTERVAL: Duration = Duration::from_millis(200);

/// Receiver of media; see the module documentation.
pub(super) struct Receiver {
    nic: Nic,
    start: Option<Time>,
    /// Time at which the sender ends.
    end: Time,
    over: bool,
    arrivals: Arrivals,
    delays: Delays,
    /// Arrivals by number from `begin` on.
    reports: VecDeque<Option<MediaArrival>>,
    begin: u64,
    /// First number of the report after the next one.
    next_begin: u64,
    /// Time of the next report; `None`: nothing has arrived since the last.
    due: Option<Time>,
    reported: Time,
    /// Whether version 2 of SCReAM is used, and packets since the last report.
    is_v2: bool,
    unreported: u64,
    /// Number of packets received of each incomplete frame.
    frames: BTreeMap<u32, u16>,
    complete: u64,
    frame_delays: Samples,
    /// Bytes since the last measurement of the rate, its time, and the rate in bit/s.
    recent: ByteCount,
    measured: Time,
    rate: f64,
    last: Time,
    progress: Progress,
}

impl Receiver {
    pub(super) fn new(identity: &EndpointIdentity, parameters: &Parameters) -> Self {
        Self {
            nic: Nic::new(identity, identity.tuple),
            start: Some(parameters.start),
            end: parameters.end,
            over: false,
            arrivals: Arrivals::default(),
            delays: Delays::default(),
            reports: VecDeque::new(),
            begin: 0,
            next_begin: 0,
            due: None,
            reported: parameters.start,
            is_v2: parameters.is_v2,
            unreported: 0,
            frames: BTreeMap::new(),
            complete: 0,
            frame_delays: Samples::default(),
            recent: ByteCount::ZERO,
            measured: parameters.start,
            rate: parameters.start_rate,
            last: parameters.start,
            progress: Progress::default(),
        }
    }

    fn on_media(&mut self, now: Time, rtp: RtpPacket, packet: &Packet, size: ByteCount) {
        let ce = packet.ecn == quiclab_core::Ecn::Ce;
        self.note(rtp.number, MediaArrival { at: now, ce });
        if !self.arrivals.add(rtp.number) {
            return;
        }
        self.last = now;
        self.recent += size;
        self.delays.add(now.since(packet.created));
        self.progress.delivered_bytes += size.saturating_sub(RTP_HEADER).bytes();
        self.put_together(now, &rtp);
        self.unreported += 1;
        if self.is_v2 && (rtp.marker || self.unreported >= PACKETS_PER_REPORT) {
            self.due = Some(now);
        } else if self.due.is_none() {
            self.due = Some((self.reported + self.interval()).max(now));
        }
    }

    /// Records an arrival for the next reports.
    fn note(&mut self, number: u64, arrival: MediaArrival) {
        let Some(place) = number.checked_sub(self.begin) else { return };
        if place >= 2 * MAX_REPORTS {
            // a jump: recorded arrivals are older than the range of a report
            self.reports.clear();
            (self.begin, self.next_begin) = (number, number);
        }
        let place = (number - self.begin) as usize;
        if place >= self.reports.len() {
            self.reports.resize(place + 1, None);
        }
        self.reports[place].get_or_insert(arrival);
        while self.reports.len() as u64 > MAX_REPORTS {
            self.reports.pop_front();
            self.begin += 1;
        }
    }

    /// Time between reports.
    fn interval(&self) -> Duration {
        if self.is_v2 {
            return MAX_REPORT_INTERVAL;
        }
        seconds(1.0 / (self.rate / 10_000.0).clamp(2.5, 50.0))
    }

    fn put_together(&mut self, now: Time, rtp: &RtpPacket) {
        let arrived = self.frames.entry(rtp.frame).or_default();
        *arrived += 1;
        if *arrived == rtp.packets {
            self.frames.remove(&rtp.frame);
            self.complete += 1;
            self.frame_delays.add(now.since(rtp.captured));
        } else if self.frames.len() > MAX_INCOMPLETE_FRAMES {
            self.frames.pop_first();
        }
    }

    fn send_report(&mut self, now: Time, out: &mut Outputs) {
        if now.since(self.measured) >= RATE_INTERVAL {
            self.rate = self.recent.bytes() as f64 * 8.0 / now.since(self.measured).as_secs_f64();
            (self.recent, self.measured) = (ByteCount::ZERO, now);
        }
        let report =
            MediaFeedback { sent: now, begin: self.begin, reports: self.reports.iter().copied().collect() };
        // two bytes for each packet, padded to 32 bits
        let size = FEEDBACK_HEADER + (2 * report.reports.len() as u64).next_multiple_of(4);
        let payload = Payload::MediaFeedback(Box::new(report));
        self.nic.send(now, Port(0), ByteCount::from_bytes(size), Ecn::NotEct, payload, out);
        let next = self.begin + self.reports.len() as u64;
        let said_twice = self.next_begin.saturating_sub(self.begin).min(self.reports.len() as u64);
        self.reports.drain(..said_twice as usize);
        self.begin += said_twice;
        (self.next_begin, self.reported, self.due, self.unreported) = (next, now, None, 0);
    }

    /// Time at which the receiver stops waiting.
    fn deadline(&self) -> Option<Time> {
        Some(self.end + LINGER).filter(|_| !self.over)
    }

    fn report(&self, out: &mut Metrics) {
        self.nic.report(out);
        out.count(&MEDIA_RECEIVER.lost_packets, self.arrivals.lost(None));
        out.count(&MEDIA_RECEIVER.reordered_packets, self.arrivals.reordered);
        out.count(&MEDIA_RECEIVER.duplicate_packets, self.arrivals.duplicates);
        out.count(&MEDIA_RECEIVER.complete_frames, self.complete);
    }
}

impl Element for Receiver {
    fn receive(&mut self, now: Time, _port: Port, packet: Box<Packet>, _out: &mut Outputs) {
        let size = self.nic.receive(&packet);
        if let Payload::Rtp(rtp) = packet.payload {
            self.on_media(now, rtp, &packet, size);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        if self.start.is_some_and(|start| start <= now) {
            self.start = None;
            self.progress.started = Some(now);
        }
        if self.due.is_some_and(|due| due <= now) {
            self.send_report(now, out);
        }
        if self.deadline().is_some_and(|due| due <= now) {
            self.over = true;
            self.progress.finished.get_or_insert(self.last.max(self.end));
        }
    }

    fn next_wake(&self) -> Option<Time> {
        [self.start, self.due, self.deadline()].into_iter().flatten().min()
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
        self.delays.report(out);
        self.frame_delays.report(&MEDIA_RECEIVER.frame_delay_ms, out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
    }
}

impl Endpoint for Receiver {
    fn progress(&self) -> Progress {
        self.progress
    }
}
