//! Linux TCP's internal pacing (net/ipv4: `tcp_pacing_check`, `tcp_tso_autosize`,
//! `tcp_update_skb_after_send`; since 4.20), for senders that hand over packets. lab-tcp makes its bursts
//! itself (`tcp/sender/burst.rs`); each of them departs as a packet of [`super::Fq`], before 4.20 as with
//! [`super::Timer`].
//!
//! Data are sent in chunks, as with segmentation offload: the bytes of 2^-10 s at the rate, at least two
//! segments. The segments of a chunk are sent back to back; the next chunk departs after the duration of this
//! one at the rate. Linux paces this way if the congestion control (BBR) or `SO_MAX_PACING_RATE` requests it
//! and fq is not used; CUBIC alone is not paced: `none`.
//!
//! | Aspect | Here | Linux |
//! | --- | --- | --- |
//! | chunk | segments that the sender releases at one instant | one skb; it is shorter at the end of the window or of the data, here too |
//! | chunk's size | rate / 1024 s, at most 65 536 bytes, whole segments | the same; 5.18 and later add 64 KiB >> (min RTT / 512 us), which is below a segment from 3 ms on |
//! | minimum size | two segments (`tcp_min_tso_segs`), or the controller's quantum | two segments, or the controller's `min_tso_segs` |
//! | small queues (TSQ) | not modelled: a host's queue never fills by itself | two skb or about 1 ms in the device |
//!
//! Rates, credit for lateness and the first ten segments: `departure`.

use super::departure::{DepartureClock, DepartureTime};
use super::{Pacer, PacingInput};
use quiclab_core::{DataRate, Time};

/// `sk_gso_max_size`, in bytes.
const MAX_CHUNK: u64 = 65_536;
/// `sysctl_tcp_min_tso_segs`.
const MIN_SEGMENTS: u64 = 2;

/// Chunk that departs at this instant.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    stamp: DepartureTime,
    bytes: u64,
}

/// Pacer that releases chunks.
#[derive(Clone, Debug)]
pub struct Linux {
    max_rate: Option<DataRate>,
    departures: DepartureClock,
    /// Maximum number of bytes in a chunk: whole segments.
    size: u64,
    /// Current chunk; `None`: the last packet was sent without a query, or none was sent.
    chunk: Option<Chunk>,
}

impl Linux {
    /// Makes the pacer; `max_rate` is `SO_MAX_PACING_RATE`.
    #[must_use]
    pub fn new(max_rate: Option<DataRate>) -> Self {
        Self { max_rate, departures: DepartureClock::default(), size: 0, chunk: None }
    }

    /// `tcp_tso_autosize`.
    fn autosize(rate: DataRate, input: &PacingInput) -> u64 {
        let mss = input.mss.max(1);
        let least = input.quantum.map_or(MIN_SEGMENTS, |quantum| (quantum / mss).max(1));
        let most = (MAX_CHUNK / mss).max(1);
        let worth = (rate.bits_per_second() / 8) >> 10;
        (worth / mss).max(least).min(most) * mss
    }

    fn fits(&self, now: Time, bytes: u64) -> Option<Chunk> {
        self.chunk.filter(|chunk| chunk.stamp.at == now && chunk.bytes + bytes <= self.size)
    }
}

impl Pacer for Linux {
    fn update(&mut self, _now: Time, input: &PacingInput) {
        self.departures.update(input, self.max_rate);
        self.size = self.departures.rate.map_or(0, |rate| Self::autosize(rate, input));
    }

    fn release(&self, now: Time, bytes: u64) -> Time {
        if self.departures.rate.is_none() || self.fits(now, bytes).is_some() {
            return now;
        }
        now.max(self.departures.next())
    }

    fn on_sent(&mut self, now: Time, bytes: u64) {
        let stamp = self.departures.stamp(now);
        let chunk = match self.fits(now, bytes) {
            Some(chunk) => Chunk { bytes: chunk.bytes + bytes, ..chunk },
            None => Chunk { stamp, bytes },
        };
        self.departures.charge(chunk.stamp, chunk.bytes, bytes);
        // a packet sent before its time opens no chunk: others may not follow it
        self.chunk = (chunk.stamp.at == now).then_some(chunk);
    }

    fn rate(&self) -> Option<DataRate> {
        self.departures.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::{MSS, at_us, greedy, input, ms, within_rate};
    use proptest::prelude::*;
    use quiclab_core::Duration;

    fn pacer(rate: u64) -> Linux {
        let mut pacer = Linux::new(None);
        let rate = Some(DataRate::from_bits_per_second(rate));
        pacer.update(Time::ZERO, &PacingInput { rate, ..input(12_000, 100) });
        pacer
    }

    /// 9.6 Mbit/s: a segment takes 1 ms, a chunk has two (1171 bytes in 1/1024 s are less).
    #[test]
    fn after_ten_segments_chunks_of_two_are_a_chunk_apart() {
        let sent = greedy(&mut pacer(9_600_000), Time::ZERO, MSS, 15);
        // the fifth chunk is the first that is charged
        let expected = [[0; 10].as_slice(), &[2, 2, 4, 4, 6]].concat();
        assert_eq!(sent, expected.into_iter().map(ms).collect::<Vec<_>>());
    }

    /// At 96 Mbit/s 1/1024 s has 11 718 bytes: nine segments, which take 900 us.
    #[test]
    fn a_chunk_is_worth_about_a_millisecond() {
        let sent = greedy(&mut pacer(96_000_000), Time::ZERO, MSS, 28);
        // the chunk of segments 10 to 18 is the first that is charged
        let expected = [[0; 18].as_slice(), &[900; 9], &[1800; 1]].concat();
        assert_eq!(sent, expected.into_iter().map(at_us).collect::<Vec<_>>());
    }

    /// 65 536 bytes are 54 segments of 1200 bytes.
    #[test]
    fn chunks_have_64_kib_at_most() {
        let size = |rate, quantum| {
            let mut pacer = Linux::new(None);
            let rate = Some(DataRate::from_mbps(rate));
            pacer.update(Time::ZERO, &PacingInput { rate, quantum, ..input(12_000, 100) });
            pacer.size / MSS
        };
        assert_eq!(size(100_000, None), 54);
        assert_eq!(size(1, None), 2);
        assert_eq!(size(1, Some(MSS)), 1);
        assert_eq!(size(1, Some(5 * MSS + 7)), 5);
        assert_eq!(size(96, Some(5 * MSS)), 9);
    }

    /// Linux: the wait after a chunk that is late by more than half its length is half its length.
    #[test]
    fn a_pause_gives_one_chunk_and_half_a_wait() {
        let mut pacer = pacer(9_600_000);
        greedy(&mut pacer, Time::ZERO, MSS, 20);
        let sent = greedy(&mut pacer, ms(1000), MSS, 5);
        assert_eq!(sent, [1000, 1000, 1001, 1001, 1003].map(ms));
    }

    #[test]
    fn a_chunk_that_time_interrupts_is_over() {
        let mut pacer = pacer(9_600_000);
        greedy(&mut pacer, Time::ZERO, MSS, 10);
        // one segment of a chunk at 2 ms; the second is not available before 2.5 ms
        assert_eq!(pacer.release(ms(2), MSS), ms(2));
        pacer.on_sent(ms(2), MSS);
        assert_eq!(pacer.release(at_us(2500), MSS), ms(3));
    }

    #[test]
    fn a_probe_that_does_not_ask_delays_what_follows() {
        let mut pacer = pacer(9_600_000);
        greedy(&mut pacer, Time::ZERO, MSS, 10);
        pacer.on_sent(ms(1), MSS);
        assert_eq!(pacer.release(ms(1), MSS), ms(3));
    }

    #[test]
    fn without_a_rate_nothing_is_paced() {
        let mut pacer = Linux::new(None);
        pacer.update(Time::ZERO, &PacingInput { srtt: None, ..input(12_000, 100) });
        assert_eq!(greedy(&mut pacer, ms(1), MSS, 40), [ms(1); 40]);
        assert_eq!(pacer.rate(), None);
    }

    proptest! {
        /// The wait after the first chunk of a window is at least half its length, after each other one its
        /// length less its lateness: bytes <= rate x time + 1/2 chunk + 1 chunk.
        #[test]
        fn it_is_never_faster_than_its_rate_and_a_chunk_and_a_half(
            rate in 100_000u64..200_000_000,
            packets in prop::collection::vec((0u64..20_000_000, 40u64..=MSS), 1..120),
        ) {
            let mut pacer = pacer(rate);
            let size = pacer.size;
            greedy(&mut pacer, Time::ZERO, MSS, 10);
            // away from the chunk of the tenth segment
            let mut now = Time::from_nanos(1);
            let mut sent = Vec::new();
            for (pause, bytes) in packets {
                // half of the packets are available when the previous one is sent
                let pause = if pause % 2 == 0 { 0 } else { pause };
                now = pacer.release(now + Duration::from_nanos(pause), bytes);
                pacer.on_sent(now, bytes);
                sent.push((now, bytes));
            }
            within_rate(&sent, pacer.rate().unwrap(), size + size / 2)?;
        }
    }
}
