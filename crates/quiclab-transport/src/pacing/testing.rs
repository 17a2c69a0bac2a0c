//! Helpers of the tests of pacers.

use super::{Pacer, PacingInput};
pub(crate) use crate::testing::ms;
use proptest::test_runner::TestCaseError;
use quiclab_core::{DataRate, Duration, Time};

/// Size of a full packet in bytes.
pub(crate) const MSS: u64 = 1200;

pub(crate) fn at_us(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// Input with a window in bytes and a smoothed RTT in milliseconds only.
pub(crate) fn input(window: u64, srtt_ms: u64) -> PacingInput {
    let srtt = Some(Duration::from_millis(srtt_ms));
    PacingInput { window, outstanding: 0, srtt, ssthresh: None, rate: None, quantum: None, mss: MSS }
}

/// Sends `count` packets as early as the pacer permits, and returns their departure times.
pub(crate) fn greedy(pacer: &mut dyn Pacer, start: Time, bytes: u64, count: usize) -> Vec<Time> {
    let mut now = start;
    let send = |_| {
        now = pacer.release(now, bytes).max(now);
        assert_eq!(pacer.release(now, bytes), now, "released when it said");
        pacer.on_sent(now, bytes);
        now
    };
    (0..count).map(send).collect()
}

/// Asserts for each window that starts and ends with a packet: bytes <= rate x time + `burst` bytes.
pub(crate) fn within_rate(sent: &[(Time, u64)], rate: DataRate, burst: u64) -> Result<(), TestCaseError> {
    for (index, (start, _)) in sent.iter().enumerate() {
        let mut bytes = 0;
        for (end, size) in &sent[index..] {
            bytes += u128::from(*size);
            let earned = u128::from(rate.bits_per_second()) * u128::from(end.since(*start).as_nanos());
            proptest::prop_assert!(
                bytes * 8_000_000_000 <= earned + u128::from(burst) * 8_000_000_000,
                "{bytes} bytes from {start} to {end} at {rate}"
            );
        }
    }
    Ok(())
}
