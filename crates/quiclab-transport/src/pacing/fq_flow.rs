//! Pacing by fq of a flow whose packets have no departure time (net/sched/sch_fq.c `fq_dequeue`): TCP before
//! Linux 4.20.
//!
//! The discipline itself computes the departure of the next packet, with the rate of the socket. A flow has a
//! credit of bytes: while it is positive, the next packet is sent right after this one; when it is used up,
//! the flow waits for the time of the packet at the rate, at least that of a quantum, and receives another
//! quantum. So single segments are sent in pairs, and packets of two segments, which fill the quantum, are
//! sent as with departure times, except that headers count: fq counts frames.
//!
//! | Aspect | Here | Linux |
//! | --- | --- | --- |
//! | quantum, first credit | frames of 1514 B: 2, 10 | 2, 10 times the MTU of the device and its header |
//! | credit of a flow that was idle for 40 ms (`flow_refill_delay`) | a quantum at least, unless it is negative | the same, in jiffies |
//! | rate | at the handover of the packet | at its departure, which is at most two packets or a millisecond later (TCP small queues) |
//! | pure acknowledgements of the sender | not counted | not paced, and they use credit |
//! | retransmissions | in turn | leave before waiting packets |
//! | waits | rounded up to 1 ns | rounded down |

use super::{Pacer, PacingInput, departure};
use quiclab_core::{ByteCount, DataRate, Duration, Time};

/// Size of an Ethernet frame with an MTU of 1500 bytes (`psched_mtu`).
const FRAME: i64 = 1514;
/// Bytes of the headers of Ethernet and IPv4.
const LOWER_HEADERS: u64 = 34;
const QUANTUM: i64 = 2 * FRAME;
const INITIAL_QUANTUM: i64 = 10 * FRAME;
const REFILL_DELAY: Duration = Duration::from_millis(40);
/// Maximum rate at which each packet is spaced by its own length (`low_rate_threshold`: 550 kbit/s).
const LOW_RATE: u64 = 550_000;
/// "Since socket rate can change later, clamp the delay to 1 second."
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Flow in fq.
#[derive(Clone, Debug)]
pub struct FqFlow {
    max_rate: Option<DataRate>,
    rate: Option<DataRate>,
    /// TCP header with its options, and payload of a full segment, in bytes.
    tcp_header: u64,
    payload: u64,
    /// Bytes that may be sent before the flow waits; if not positive, it receives a quantum at its turn.
    credit: i64,
    /// `time_next_packet`; `None`: the flow has not waited yet.
    next: Option<Time>,
    /// Departure time of the last packet.
    last: Time,
}

impl FqFlow {
    /// Makes the flow; `max_rate` is `SO_MAX_PACING_RATE`, or `maxrate` of the queueing discipline;
    /// `tcp_header` is in bytes.
    #[must_use]
    pub fn new(max_rate: Option<DataRate>, tcp_header: u64) -> Self {
        let (credit, last) = (INITIAL_QUANTUM, Time::ZERO);
        Self { max_rate, rate: None, tcp_header, payload: 1, credit, next: None, last }
    }

    /// Bytes of a burst on the wire (`qdisc_pkt_len`).
    fn wire_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(self.payload).max(1) * (self.tcp_header + LOWER_HEADERS)
    }

    /// Credit at the flow's turn.
    fn refilled(&self, now: Time) -> i64 {
        let mut credit = self.credit;
        // a negative credit, compared as an unsigned number, is not filled up (`max_t(u32, f->credit, q->quantum)`)
        if credit >= 0 && now > self.last + REFILL_DELAY {
            credit = credit.max(QUANTUM);
        }
        while credit <= 0 {
            credit += QUANTUM;
        }
        credit
    }
}

impl Pacer for FqFlow {
    fn update(&mut self, _now: Time, input: &PacingInput) {
        self.rate = departure::rate(input, self.max_rate);
        self.payload = input.mss.max(1);
    }

    fn release(&self, now: Time, _bytes: u64) -> Time {
        now.max(self.last).max(self.next.unwrap_or(now))
    }

    fn on_sent(&mut self, now: Time, bytes: u64) {
        let credit = self.refilled(now);
        let leaves = self.release(now, bytes);
        let length = self.wire_bytes(bytes);
        self.last = leaves;
        self.credit = credit - i64::try_from(length).unwrap_or(i64::MAX);
        let Some(rate) = self.rate.filter(|rate| rate.bits_per_second() > 0) else { return };
        let length = if rate.bits_per_second() <= LOW_RATE {
            self.credit = 0;
            length
        } else {
            length.max(QUANTUM as u64)
        };
        if self.credit > 0 {
            return;
        }
        let mut wait = rate.time_for(ByteCount::from_bytes(length)).min(MAX_WAIT);
        if let Some(next) = self.next {
            wait = wait.saturating_sub(leaves.since(next).min(wait / 2));
        }
        self.next = Some(leaves + wait);
    }

    fn rate(&self) -> Option<DataRate> {
        self.rate
    }

    fn paces_bursts(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::{at_us, greedy, input, ms};

    /// A full segment with timestamps: 1448 bytes, 1514 on the wire.
    const PAYLOAD: u64 = 1448;

    /// A pair of frames takes 2 ms.
    fn paced() -> FqFlow {
        let mut flow = FqFlow::new(None, 32);
        let rate = Some(DataRate::from_bits_per_second(12_112_000));
        flow.update(Time::ZERO, &PacingInput { rate, mss: PAYLOAD, ..input(PAYLOAD * 10, 100) });
        flow
    }

    /// Ten frames are the first credit, two each further one: they are sent together.
    #[test]
    fn single_segments_leave_in_pairs_after_ten() {
        let sent = greedy(&mut paced(), Time::ZERO, PAYLOAD, 15);
        let expected = [[0; 10].as_slice(), &[2, 2, 4, 4, 6]].concat();
        assert_eq!(sent, expected.into_iter().map(ms).collect::<Vec<_>>());
    }

    /// Two segments fill the quantum.
    #[test]
    fn pairs_leave_at_the_rate_of_their_frames() {
        let sent = greedy(&mut paced(), Time::ZERO, 2 * PAYLOAD, 8);
        assert_eq!(sent, [0, 0, 0, 0, 0, 2, 4, 6].map(ms));
    }

    /// After a frame 1514 bytes of credit remain; three more use it up, and only these are waited for: 4542 B
    /// take 3 ms. At its turn the flow receives quanta until it has credit, 3028 B.
    #[test]
    fn what_the_credit_let_go_is_not_waited_for() {
        let mut flow = paced();
        greedy(&mut flow, Time::ZERO, 2 * PAYLOAD, 5);
        assert_eq!(greedy(&mut flow, Time::ZERO, PAYLOAD, 1), [ms(2)]);
        assert_eq!(greedy(&mut flow, ms(2), 3 * PAYLOAD, 1), [ms(2)]);
        assert_eq!(greedy(&mut flow, ms(2), PAYLOAD, 2), [ms(5), ms(5)]);
    }

    /// A packet handed over while another one waits is sent after it.
    #[test]
    fn packets_wait_in_turn() {
        let mut flow = paced();
        greedy(&mut flow, Time::ZERO, 2 * PAYLOAD, 5);
        let mut sent = Vec::new();
        for _ in 0..5 {
            sent.push(flow.release(ms(1), PAYLOAD));
            flow.on_sent(ms(1), PAYLOAD);
        }
        assert_eq!(sent, [2, 2, 4, 4, 6].map(ms));
    }

    /// 500 us late, the wait of 2 ms is shorter by that; a second late, by half of it.
    #[test]
    fn lateness_is_made_good_up_to_half_a_wait() {
        for (late, next) in [(at_us(2500), ms(4)), (ms(1002), ms(1003))] {
            let mut flow = paced();
            greedy(&mut flow, Time::ZERO, 2 * PAYLOAD, 5);
            flow.on_sent(late, 2 * PAYLOAD);
            assert_eq!(flow.release(late, PAYLOAD), next);
        }
    }

    /// A flow with half a quantum of credit has a whole one 40 ms later.
    #[test]
    fn an_idle_flow_has_a_quantum() {
        for (pause, together) in [(30, 1), (50, 2)] {
            let mut flow = paced();
            greedy(&mut flow, Time::ZERO, 2 * PAYLOAD, 5);
            greedy(&mut flow, ms(2), PAYLOAD, 1);
            let start = ms(2 + pause);
            let sent = greedy(&mut flow, start, PAYLOAD, 3);
            assert_eq!(sent.iter().filter(|at| **at == start).count(), together, "after {pause} ms");
        }
    }

    /// After three segments the credit is -1514 bytes, which a pause does not restore: a turn adds 1514, one
    /// frame.
    #[test]
    fn a_debt_is_not_forgiven() {
        let mut flow = paced();
        greedy(&mut flow, Time::ZERO, 2 * PAYLOAD, 5);
        greedy(&mut flow, ms(2), 3 * PAYLOAD, 1);
        let sent = greedy(&mut flow, ms(102), PAYLOAD, 2);
        assert_eq!((sent[0], sent[1] > ms(102)), (ms(102), true));
    }

    /// Up to 550 kbit/s packets are not sent in pairs: 1514 B take 24.224 ms at 500 kbit/s.
    #[test]
    fn slow_flows_send_single_packets() {
        let mut flow = paced();
        let rate = Some(DataRate::from_bits_per_second(500_000));
        flow.update(Time::ZERO, &PacingInput { rate, mss: PAYLOAD, ..input(PAYLOAD * 10, 100) });
        let sent = greedy(&mut flow, Time::ZERO, PAYLOAD, 3);
        assert_eq!(sent, [0, 24_224, 48_448].map(at_us));
    }
}
