//! Reports of a link to the sending end of the bearer that sends over it.
//!
//! The model is the frame DL DATA DELIVERY STATUS of 3GPP TS 38.425 (sections 5.4.2 and 5.5.2.2), by which
//! the node that hosts RLC reports the state of a bearer to the node that hosts PDCP. Only packets of a
//! bearer count, identified by their PDCP header; other traffic over the link does not.
//!
//! | | TS 38.425 | here |
//! | --- | --- | --- |
//! | progress | highest delivered and highest transmitted PDCP SN, lists of lost NR-U SN | packets and bytes so far: transmitted (serialised), delivered (at the end of the link), lost (dropped anywhere in the link) |
//! | desired buffer size | chosen by the node | the bytes that the link serialises in `desired_buffer` at its present rate |
//! | buffered | not in the frame; follows from the packets sent and transmitted | in the report |
//! | desired data rate | optional, bytes in a second | none: the buffer size limits enough |
//! | when | left open (triggered, or polled by PDCP) | each `interval` while a packet is inside; a packet after silence polls |
//! | delivery | known by RLC acknowledgements | known immediately: a return delay is to be included in `delay` |
//! | transport | GTP-U over an IP network | a separate output, with delay `delay` and without loss |
//!
//! The first packet after a pause starts the interval; the report of an empty link is the last one until the
//! next packet, so that an idle link is silent. A link that is down for a time continues to report its
//! backlog, so that the sending end learns when it is up again (TS 38.425 section 5.5.3.23 has cause values
//! for that, radio link outage and resume). A link whose trace has ended holds packets that it will never
//! send and falls silent.

use crate::counters::{Count, Counters};
use crate::delivery_status::DeliveryStatus;
use crate::ip::{IPV4_HEADER, UDP_HEADER};
use crate::packet::{Direction, FlowId, Packet, Payload};
use crate::time::Time;
use crate::units::{ByteCount, DataRate};
use std::collections::VecDeque;

/// Length of a report: IPv4, UDP, GTP-U with its options (TS 29.281) and a container of 28 B.
pub(super) const REPORT_SIZE: ByteCount = ByteCount::from_bytes((IPV4_HEADER + UDP_HEADER + 12 + 28) as u64);

/// State of the reports of a link.
#[derive(Debug)]
pub(super) struct Feedback {
    config: crate::link::FeedbackConfig,
    /// Packets that arrived at the link.
    received: Count,
    transmitted: Count,
    delivered: Count,
    lost: Count,
    /// Time of the next report; `None` while there is nothing to report.
    due: Option<Time>,
    /// Reports in transit with their arrival times.
    on_the_way: VecDeque<(Time, Box<Packet>)>,
    /// Flow of the last packet: records of a report contain it.
    flow: FlowId,
    direction: Direction,
    next_id: u64,
    /// Number of reports that have left.
    sent: Count,
}

impl Feedback {
    /// Creates a state whose reports have numbers from `first_id` on.
    pub(super) fn new(config: crate::link::FeedbackConfig, first_id: u64) -> Self {
        Self {
            config,
            received: Count::default(),
            transmitted: Count::default(),
            delivered: Count::default(),
            lost: Count::default(),
            due: None,
            on_the_way: VecDeque::new(),
            flow: FlowId::default(),
            direction: Direction::default(),
            next_id: first_id,
            sent: Count::default(),
        }
    }

    /// Handles the arrival of `packet` at the link.
    pub(super) fn received(&mut self, now: Time, packet: &Packet) {
        if of_a_bearer(packet) {
            self.received.add(packet.wire_size());
            (self.flow, self.direction) = (packet.flow, packet.direction);
            if self.due.is_none() {
                self.due = Some(now + self.config.interval);
            }
        }
    }

    /// Handles the end of the serialisation of `packet`.
    pub(super) fn transmitted(&mut self, packet: &Packet) {
        if of_a_bearer(packet) {
            self.transmitted.add(packet.wire_size());
        }
    }

    /// Handles the departure of `packet` at the end of the link.
    pub(super) fn delivered(&mut self, packet: &Packet) {
        if of_a_bearer(packet) {
            self.delivered.add(packet.wire_size());
        }
    }

    /// Handles the drop of `packet`.
    pub(super) fn lost(&mut self, packet: &Packet) {
        if of_a_bearer(packet) {
            self.lost.add(packet.wire_size());
        }
    }

    /// Time at which the next report is made or leaves.
    pub(super) fn next_wake(&self) -> Option<Time> {
        let arrival = self.on_the_way.front().map(|(time, _)| *time);
        self.due.into_iter().chain(arrival).min()
    }

    /// Whether a report is due.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Makes a report. `rate` is the present one; a link that is `stuck` will never send its backlog.
    pub(super) fn measure(&mut self, now: Time, rate: DataRate, stuck: bool, counters: &mut Counters) {
        let report = DeliveryStatus {
            measured: now,
            transmitted: self.transmitted,
            delivered: self.delivered,
            lost: self.lost,
            buffered: ByteCount::from_bytes(self.received.bytes - self.transmitted.bytes - self.lost.bytes),
            desired_buffer: rate.bytes_in(self.config.desired_buffer),
        };
        let packet = Packet {
            id: self.next_id,
            flow: self.flow,
            direction: self.direction.reverse(),
            size: REPORT_SIZE,
            created: now,
            payload: Payload::DeliveryStatus(Box::new(report)),
            ..Packet::default()
        };
        self.next_id += 1;
        counters.created.add(packet.size);
        counters.held.add(packet.size);
        self.on_the_way.push_back((now + self.config.delay, Box::new(packet)));
        let ended = self.delivered.packets + self.lost.packets;
        let waiting = self.received.packets - self.transmitted.packets - self.lost.packets;
        let moving = self.received.packets > ended + if stuck { waiting } else { 0 };
        self.due = moving.then(|| now + self.config.interval);
    }

    /// The next report that arrives by `now`.
    pub(super) fn arrives(&mut self, now: Time) -> Option<Box<Packet>> {
        if self.on_the_way.front()?.0 > now {
            return None;
        }
        let (_, packet) = self.on_the_way.pop_front()?;
        self.sent.add(packet.size);
        Some(packet)
    }

    /// Number of reports that have left.
    pub(super) const fn sent(&self) -> Count {
        self.sent
    }
}

/// Whether `packet` belongs to a bearer: a PDCP header is the only encapsulation.
fn of_a_bearer(packet: &Packet) -> bool {
    packet.encapsulation > ByteCount::ZERO
}
