//! What the tests of the policies share.

use super::Arrival;
pub(crate) use crate::testing::ms;

/// Packet `number` arrives in order at `now_ms`, without a mark.
pub(crate) fn arrival(now_ms: u64, number: u64) -> Arrival {
    let largest = number.checked_sub(1);
    Arrival { now: ms(now_ms), number, largest, out_of_order: false, ce: false, srtt: None }
}
