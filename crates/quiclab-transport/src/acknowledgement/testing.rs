//! Helpers of the tests of policies.

use super::Arrival;
pub(crate) use crate::testing::ms;

/// Arrival of packet `number` in order at `now_ms`, without a mark.
pub(crate) fn arrival(now_ms: u64, number: u64) -> Arrival {
    let largest = number.checked_sub(1);
    Arrival { now: ms(now_ms), number, largest, out_of_order: false, ce: false, srtt: None }
}
