//! A queue at the sending end, from which links get at most their desired buffer.
//!
//! After 3GPP TS 38.425 section 5.4.2: the node that hosts PDCP sends a corresponding node data up to its
//! desired buffer size, counted from the highest PDCP SN that was transmitted (unacknowledged mode; a link
//! here retransmits nothing), and keeps the rest.
//!
//! | | TS 38.425 | here |
//! | --- | --- | --- |
//! | counted from | highest SN transmitted (UM) or delivered (AM) | transmitted or lost |
//! | before the first report | left open | `start_buffer` |
//! | a desired buffer smaller than a packet, or 0 | nothing is sent | one packet is sent if nothing else is unreported: a link reports only while it has something |
//! | a link that does not report | polled: a flag in DL USER DATA asks for a report | polled by one packet, more than it desires, each `poll_interval`: a packet makes a link report |
//! | which of several links | left open | the one whose desired buffer is filled least, relative to its size; of equal ones the first |
//! | discard timer of PDCP | discards packets that wait too long | none: drop-tail by packets |

use super::super::link_estimate::LinkEstimate;
use crate::counters::Count;
use crate::packet::Packet;
use crate::time::{Duration, Time};
use crate::units::ByteCount;
use std::collections::VecDeque;

/// See the module documentation.
#[derive(Debug)]
pub(in crate::bearer) struct FlowControl {
    /// Numbered packets that wait.
    queue: VecDeque<Box<Packet>>,
    limit: usize,
    start_buffer: ByteCount,
    /// Silence after which a link is polled.
    poll_interval: Duration,
    held: Count,
    longest: u64,
}

impl FlowControl {
    pub(in crate::bearer) fn new(
        queue_packets: u32,
        start_buffer: ByteCount,
        poll_interval: Duration,
    ) -> Self {
        let limit = queue_packets as usize;
        let held = Count::default();
        Self { queue: VecDeque::new(), limit, start_buffer, poll_interval, held, longest: 0 }
    }

    /// Whether the queue takes one more packet.
    pub(in crate::bearer) fn has_room(&self) -> bool {
        self.queue.len() < self.limit
    }

    /// Queues `packet`.
    pub(in crate::bearer) fn push(&mut self, packet: Box<Packet>) {
        self.held.add(packet.size);
        self.longest = self.longest.max(self.held.packets);
        self.queue.push_back(packet);
    }

    /// The next packet and its link, if a link desires it or has to be polled.
    pub(in crate::bearer) fn pop(
        &mut self,
        now: Time,
        links: &[LinkEstimate],
    ) -> Option<(usize, Box<Packet>)> {
        let size = self.queue.front()?.wire_size();
        let silent = |link: &LinkEstimate| self.next_poll(link).is_some_and(|due| due <= now);
        let link = links.iter().position(silent).or_else(|| self.open_link(size, links))?;
        let packet = self.queue.pop_front()?;
        self.held.remove(packet.size);
        Some((link, packet))
    }

    /// Packets and bytes that wait.
    pub(in crate::bearer) const fn held(&self) -> Count {
        self.held
    }

    /// Maximum number of packets that waited at one time.
    pub(in crate::bearer) const fn longest(&self) -> u64 {
        self.longest
    }

    /// Time of the next poll of a link, if it stays silent; `None` if nothing waits, or no link has to be
    /// polled.
    pub(in crate::bearer) fn next_wake(&self, links: &[LinkEstimate]) -> Option<Time> {
        if self.queue.is_empty() { None } else { links.iter().filter_map(|link| self.next_poll(link)).min() }
    }

    /// Time of the next poll of `link`; `None` if it has reported everything sent to it.
    fn next_poll(&self, link: &LinkEstimate) -> Option<Time> {
        let waits = link.unreported() > ByteCount::ZERO;
        waits.then(|| link.heard.max(link.last_sent) + self.poll_interval)
    }

    fn open_link(&self, size: ByteCount, links: &[LinkEstimate]) -> Option<usize> {
        let mut best: Option<(usize, u128, u128)> = None;
        for (index, link) in links.iter().enumerate() {
            let desired = if link.reports == 0 { self.start_buffer } else { link.last.desired_buffer };
            let used = link.unreported();
            if used + size <= desired || used == ByteCount::ZERO {
                let (used, desired) = (u128::from(used.bytes()), u128::from(desired.bytes().max(1)));
                // used / desired, compared without division
                if best.is_none_or(|(_, least, of)| used * of < least * desired) {
                    best = Some((index, used, desired));
                }
            }
        }
        best.map(|(index, ..)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery_status::DeliveryStatus;
    use crate::testing::at;
    use crate::units::DataRate;

    fn known() -> LinkEstimate {
        LinkEstimate::new(DataRate::from_mbps(10), Duration::from_millis(100))
    }

    fn drain(queue: &mut FlowControl, links: &mut [LinkEstimate], ms: u64) -> Vec<usize> {
        let mut taken = Vec::new();
        while let Some((link, packet)) = queue.pop(at(ms), links) {
            links[link].on_sent(at(ms), packet.wire_size());
            taken.push(link);
        }
        taken
    }

    fn filled(packets: usize) -> FlowControl {
        let mut queue = FlowControl::new(100, ByteCount::from_bytes(3000), Duration::from_millis(100));
        for _ in 0..packets {
            queue.push(Box::new(Packet { size: ByteCount::from_bytes(1000), ..Packet::default() }));
        }
        queue
    }

    #[test]
    fn links_get_what_they_desire() {
        let (mut queue, mut links) = (filled(20), [known(), known()]);
        assert_eq!(drain(&mut queue, &mut links, 0), [0, 1, 0, 1, 0, 1]);
        // link 1 has sent two packets and desires 4000 B: three more
        let transmitted = Count { packets: 2, bytes: 2000 };
        let desired_buffer = ByteCount::from_bytes(4000);
        links[1]
            .on_report(at(0), &DeliveryStatus { transmitted, desired_buffer, ..DeliveryStatus::default() });
        assert_eq!(drain(&mut queue, &mut links, 0), [1, 1, 1]);
        assert_eq!((queue.held().packets, queue.held().bytes, queue.longest()), (11, 11_000, 20));
    }

    #[test]
    fn a_link_that_desires_nothing_gets_one_packet_at_a_time() {
        let (mut queue, mut links) = (filled(20), [known()]);
        drain(&mut queue, &mut links, 0);
        for packets in 3..6 {
            let transmitted = Count { packets, bytes: 1000 * packets };
            links[0].on_report(at(0), &DeliveryStatus { transmitted, ..DeliveryStatus::default() });
            assert_eq!(drain(&mut queue, &mut links, 0), [0]);
        }
    }

    /// Link 0 gets its 3000 B and does not report: a packet at 100 ms, the next 100 ms later, until it
    /// reports.
    #[test]
    fn a_link_that_does_not_report_is_polled() {
        let (mut queue, mut links) = (filled(20), [known()]);
        assert_eq!(drain(&mut queue, &mut links, 0), [0, 0, 0]);
        for poll in [100, 200, 300] {
            assert_eq!(queue.next_wake(&links), Some(at(poll)));
            assert!(drain(&mut queue, &mut links, poll - 1).is_empty());
            assert_eq!(drain(&mut queue, &mut links, poll), [0]);
        }
        let transmitted = Count { packets: 6, bytes: 6000 };
        let desired_buffer = ByteCount::from_bytes(2000);
        links[0]
            .on_report(at(350), &DeliveryStatus { transmitted, desired_buffer, ..DeliveryStatus::default() });
        assert_eq!(queue.next_wake(&links), None, "all that it got is reported");
        assert_eq!(drain(&mut queue, &mut links, 350), [0, 0]);
    }

    #[test]
    fn the_queue_is_bounded() {
        assert!(filled(99).has_room() && !filled(100).has_room());
    }
}
