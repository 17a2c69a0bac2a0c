//! Sending end: combines source, queue, congestion control and rate control, and paces packets (RFC 8298
//! section 4.1.2.5, section 4.3 of version 2).

use super::control::{Control, Report};
use super::flight::Flight;
use super::queue::Queue;
use super::source::Source;
use super::{Parameters, seconds, v1, v2};
use crate::workload::Samples;
use quiclab_core::{
    ByteCount, Counters, Duration, Ecn, Element, Endpoint, EndpointIdentity, MediaFeedback, Metrics, Nic,
    Outputs, Packet, Payload, Port, Progress, RtpPacket, Time,
};

quiclab_core::metrics! {
    /// Sender of interactive media.
    pub static MEDIA_SENDER: MediaSenderMetrics = Flow, "sender of `media`" {
        /// Packets declared lost.
        lost_packets: Counter, Both;
        /// Packets discarded before they were sent.
        discarded_packets: Counter, Both;
        /// Reductions of the window.
        congestion_events: Counter, Both;
        /// From capture of a packet to its sending.
        rtp_queue_ms_of_packets as "rtp_queue_ms": Distribution, End;
        /// Queueing delay according to reports.
        queue_delay_ms_mean: Mean, End;
        /// The longest queueing delay according to reports.
        queue_delay_ms_max: Maximum, End;
        /// Sent, and neither acknowledged nor declared lost.
        in_flight_bytes: Gauge, Series;
        /// Age of the oldest packet that waits.
        rtp_queue_ms: Gauge, Series;
        /// Bytes that wait.
        rtp_queue_bytes: Gauge, Series;
    }
}

/// RTT assumed by the pacer before the first report.
const FIRST_RTT: Duration = Duration::from_millis(100);
/// Time without a report after which packets in flight are lost.
const SILENCE: Duration = Duration::from_secs(1);

/// Sender of media; see the module documentation.
pub(super) struct Sender {
    nic: Nic,
    /// ECN field of packets sent.
    ecn: Ecn,
    end: Time,
    source: Source,
    queue: Queue,
    /// Number of the next packet sent.
    next_number: u64,
    flight: Flight,
    control: Box<dyn Control>,
    /// Time at which the pacer releases the next packet.
    release: Time,
    /// Time of the last report, or of the first later packet that was sent with nothing in flight.
    heard: Time,
    lost: u64,
    cuts: u64,
    delays: DelayMean,
    waits: Samples,
    progress: Progress,
}

/// Mean and maximum of queueing delays.
#[derive(Default)]
struct DelayMean {
    sum: Duration,
    count: u64,
    most: Duration,
}

impl Sender {
    pub(super) fn new(identity: &EndpointIdentity, parameters: Parameters) -> Self {
        let control: Box<dyn Control> = if parameters.is_v2 {
            Box::new(v2::ScreamV2::new(&parameters))
        } else {
            Box::new(v1::Scream::new(&parameters))
        };
        Self {
            nic: Nic::new(identity, identity.tuple),
            ecn: parameters.ecn,
            end: parameters.end,
            source: Source::new(&parameters),
            queue: Queue::default(),
            next_number: 0,
            flight: Flight::default(),
            control,
            release: parameters.start,
            heard: parameters.start,
            lost: 0,
            cuts: 0,
            delays: DelayMean::default(),
            waits: Samples::default(),
            progress: Progress::default(),
        }
    }

    fn on_report(&mut self, now: Time, report: &MediaFeedback) {
        let Some(news) = self.flight.on_report(now, report) else { return };
        self.heard = now;
        self.lost += news.lost;
        self.delays.sum += news.delay;
        self.delays.count += 1;
        self.delays.most = self.delays.most.max(news.delay);
        let report = Report {
            news,
            rtt: self.flight.rtt.unwrap_or(FIRST_RTT),
            in_flight: self.flight.in_flight.bytes() as f64,
            most_in_flight: self.flight.most(now).bytes() as f64,
        };
        self.cuts += u64::from(self.control.on_report(now, &report));
    }

    /// Time at which packets in flight are given up; `None`: none are in flight.
    fn silence(&self) -> Option<Time> {
        Some(self.heard + SILENCE).filter(|_| self.flight.in_flight > ByteCount::ZERO)
    }

    /// Whether the window permits the next packet.
    fn has_room(&self) -> bool {
        let room = self.control.room(self.flight.in_flight.bytes() as f64);
        self.queue.next().is_some_and(|size| size.bytes() as f64 <= room)
    }

    fn send(&mut self, now: Time, out: &mut Outputs) {
        while self.release <= now && self.has_room() {
            let Some((packet, size)) = self.queue.take() else { return };
            let packet = RtpPacket { number: self.next_number, ..packet };
            self.next_number += 1;
            if self.flight.in_flight == ByteCount::ZERO {
                self.heard = now;
            }
            self.waits.add(now.since(packet.captured));
            self.flight.on_sent(now, packet.number, size);
            self.control.on_sent(size, self.flight.in_flight);
            self.nic.send(now, Port(0), size, self.ecn, Payload::Rtp(packet), out);
            let pace = self.control.pacing_rate(self.flight.rtt.unwrap_or(FIRST_RTT));
            self.release = now + seconds(size.bytes() as f64 * 8.0 / pace);
        }
    }

    fn report(&self, out: &mut Metrics) {
        self.nic.report(out);
        out.count(&MEDIA_SENDER.lost_packets, self.lost);
        out.count(&MEDIA_SENDER.discarded_packets, self.queue.discarded);
        out.count(&MEDIA_SENDER.congestion_events, self.cuts);
    }
}

impl Element for Sender {
    fn receive(&mut self, now: Time, _port: Port, packet: Box<Packet>, out: &mut Outputs) {
        self.nic.receive(&packet);
        if let Payload::MediaFeedback(report) = &packet.payload {
            self.on_report(now, report);
            self.send(now, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.progress.started.get_or_insert(now);
        if self.silence().is_some_and(|due| due <= now) {
            self.lost += self.flight.give_up();
            self.control.on_silence(now);
        }
        while self.control.due() <= now && self.progress.finished.is_none() {
            self.control.on_due(self.queue.bytes());
        }
        while self.source.next().is_some_and(|time| time <= now) {
            self.queue.expire(now);
            let Self { source, queue, control, .. } = self;
            let (age, mut media) = (queue.age(now), ByteCount::ZERO);
            source.capture(now, control.target_rate(), |packet, size| {
                media += size;
                queue.put(packet, size);
            });
            control.on_frame(media, age);
        }
        self.send(now, out);
        if self.end <= now {
            self.progress.finished.get_or_insert(now);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let is_over = self.progress.finished.is_some();
        let control = if is_over { None } else { Some(self.control.due().min(self.end)) };
        let release = Some(self.release).filter(|_| self.has_room());
        [self.source.next(), control, release, self.silence()].into_iter().flatten().min()
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
        self.waits.report(&MEDIA_SENDER.rtp_queue_ms_of_packets, out);
        if self.delays.count > 0 {
            out.set(
                &MEDIA_SENDER.queue_delay_ms_mean,
                self.delays.sum.as_ms_f64() / self.delays.count as f64,
            );
            out.set(&MEDIA_SENDER.queue_delay_ms_max, self.delays.most.as_ms_f64());
        }
    }

    fn sample(&mut self, now: Time, out: &mut Metrics) {
        self.report(out);
        self.control.sample_rates(out);
        out.count(&MEDIA_SENDER.in_flight_bytes, self.flight.in_flight.bytes());
        self.control.sample_delays(out);
        out.set(&MEDIA_SENDER.rtp_queue_ms, self.queue.age(now).as_ms_f64());
        out.count(&MEDIA_SENDER.rtp_queue_bytes, self.queue.bytes().bytes());
    }
}

impl Endpoint for Sender {
    fn progress(&self) -> Progress {
        self.progress
    }
}
