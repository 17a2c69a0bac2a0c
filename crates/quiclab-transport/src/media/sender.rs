//! The end that sends: joins source, queue, congestion control and rate control, and paces packets (RFC 8298
//! section 4.1.2.5).

use super::flight::Flight;
use super::queue::Queue;
use super::rate::{RateControl, View};
use super::source::Source;
use super::window::{Acknowledged, Window};
use super::{Parameters, seconds};
use crate::workload::Samples;
use quiclab_core::{
    ByteCount, Counters, Duration, Ecn, Element, Endpoint, EndpointIdentity, MediaFeedback, Metrics, Nic,
    Outputs, Packet, Payload, Port, Progress, RtpPacket, Time,
};

/// RATE_PACE_MIN in bit/s.
const MIN_PACING_RATE: f64 = 50_000.0;
/// RTT that the pacer takes before the first report.
const FIRST_RTT: Duration = Duration::from_millis(100);
/// Without a report for this long, what is in flight is lost.
const SILENCE: Duration = Duration::from_secs(1);

/// See the module documentation.
pub(super) struct Sender {
    nic: Nic,
    /// ECN field of what it sends.
    ecn: Ecn,
    end: Time,
    source: Source,
    queue: Queue,
    /// Number of the next packet that leaves.
    next_number: u64,
    flight: Flight,
    window: Window,
    rate: RateControl,
    /// When the pacer lets the next packet leave.
    release: Time,
    /// When a report arrived last, or the first packet after it left that found nothing in flight.
    heard: Time,
    lost: u64,
    cuts: u64,
    delays: DelayMean,
    waits: Samples,
    progress: Progress,
}

/// Mean and largest of queueing delays.
#[derive(Default)]
struct DelayMean {
    sum: Duration,
    count: u64,
    most: Duration,
}

impl Sender {
    pub(super) fn new(identity: &EndpointIdentity, parameters: Parameters) -> Self {
        let mss = parameters.mss.bytes() as f64;
        Self {
            nic: Nic::new(identity, identity.tuple),
            ecn: if parameters.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            end: parameters.end,
            source: Source::new(&parameters),
            queue: Queue::default(),
            next_number: 0,
            flight: Flight::default(),
            window: Window::new(mss, parameters.target_delay, parameters.start),
            rate: RateControl::new(&parameters),
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
        self.rate.on_acked(news.acked);
        self.delays.sum += news.delay;
        self.delays.count += 1;
        self.delays.most = self.delays.most.max(news.delay);
        let acknowledged = Acknowledged {
            bytes: news.acked.bytes() as f64,
            in_flight: self.flight.in_flight.bytes() as f64,
            most_in_flight: self.flight.most(now).bytes() as f64,
            delay: news.delay.as_secs_f64(),
            lost: news.lost > 0,
            marked: news.marked,
        };
        let rtt = self.flight.rtt.unwrap_or(FIRST_RTT);
        if let Some(congestion) = self.window.on_report(now, rtt, &acknowledged) {
            self.cuts += 1;
            self.rate.on_congestion(congestion);
        }
    }

    /// When what is in flight is given up; `None`: nothing is.
    fn silence(&self) -> Option<Time> {
        Some(self.heard + SILENCE).filter(|_| self.flight.in_flight > ByteCount::ZERO)
    }

    /// The window lets the next packet leave.
    fn has_room(&self) -> bool {
        let room = self.window.room(self.flight.in_flight.bytes() as f64);
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
            self.rate.on_sent(size);
            self.nic.send(now, Port(0), size, self.ecn, Payload::Rtp(packet), out);
            let rtt = self.flight.rtt.unwrap_or(FIRST_RTT).as_secs_f64();
            let pace = (self.window.size * 8.0 / rtt.max(1e-6)).max(MIN_PACING_RATE);
            self.release = now + seconds(size.bytes() as f64 * 8.0 / pace);
        }
    }

    fn report(&self, out: &mut Metrics) {
        self.nic.report(out);
        out.count("lost_packets", self.lost);
        out.count("discarded_packets", self.queue.discarded);
        out.count("congestion_events", self.cuts);
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
            self.window.on_silence(now);
        }
        while self.rate.due <= now && self.progress.finished.is_none() {
            let view = View {
                fast_increase: self.window.fast_increase,
                trend: self.window.trend.value,
                trend_memory: self.window.trend.memory,
                queue: self.queue.bytes(),
            };
            self.rate.adjust(&view);
        }
        while self.source.next().is_some_and(|time| time <= now) {
            self.queue.expire(now);
            let Self { source, queue, rate, .. } = self;
            let mut media = ByteCount::ZERO;
            source.capture(now, rate.target, |packet, size| {
                media += size;
                queue.put(packet, size);
            });
            rate.on_media(media);
        }
        self.send(now, out);
        if self.end <= now {
            self.progress.finished.get_or_insert(now);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let is_over = self.progress.finished.is_some();
        let control = if is_over { None } else { Some(self.rate.due.min(self.end)) };
        let release = Some(self.release).filter(|_| self.has_room());
        [self.source.next(), control, release, self.silence()].into_iter().flatten().min()
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
        self.waits.report("rtp_queue_ms", out);
        if self.delays.count > 0 {
            out.set("queue_delay_ms_mean", self.delays.sum.as_ms_f64() / self.delays.count as f64);
            out.set("queue_delay_ms_max", self.delays.most.as_ms_f64());
        }
    }

    fn sample(&mut self, now: Time, out: &mut Metrics) {
        self.report(out);
        out.set("target_rate_mbps", self.rate.target / 1e6);
        out.set("media_rate_mbps", self.rate.media_rate / 1e6);
        out.set("cwnd_bytes", self.window.size);
        out.count("in_flight_bytes", self.flight.in_flight.bytes());
        out.set("queue_delay_ms", self.window.delay * 1e3);
        out.set("queue_delay_target_ms", self.window.target.value * 1e3);
        out.set("rtp_queue_ms", self.queue.age(now).as_ms_f64());
        out.count("rtp_queue_bytes", self.queue.bytes().bytes());
    }
}

impl Endpoint for Sender {
    fn progress(&self) -> Progress {
        self.progress
    }
}
