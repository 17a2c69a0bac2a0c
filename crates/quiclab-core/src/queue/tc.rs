//! Counterparts of disciplines in the Linux kernel, as arguments of `tc`.

use crate::problem::{Problem, name_of, quoted};
use crate::time::Duration;
use crate::units::ByteCount;
use serde::Serialize;

/// Implementation of a queue discipline by the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcQueue {
    /// First in, first out: these are the limits of the discipline that has the rate (`netem`, `tbf`).
    Limits {
        /// Maximum number of packets; `None`: unlimited.
        packets: Option<u64>,
        /// Maximum number of bytes; `None`: unlimited.
        bytes: Option<ByteCount>,
    },
    /// A separate discipline, as the child of the one that has the rate.
    Child {
        /// Arguments of `tc` from its name on.
        words: Vec<String>,
        /// The MTU of its device.
        mtu: DeviceMtu,
    },
    /// A discipline that has the rate itself.
    Shaper {
        /// Arguments of `tc` from its name on, without those of rate and overhead.
        words: Vec<String>,
        /// The MTU of its device.
        mtu: DeviceMtu,
    },
}

/// Use of the MTU of its device by a discipline of the kernel: the largest packet with its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceMtu {
    /// The MTU is not used.
    #[default]
    Any,
    /// Value when the discipline is created; larger packets pass later.
    AtCreation(ByteCount),
    /// Value at each packet, so that no larger one passes.
    Always(ByteCount),
}

/// Converts `bytes`, the value of `field`, to the MTU of a device.
///
/// # Errors
/// If no device of the kernel has this MTU.
pub(super) fn device_mtu(field: &'static str, bytes: ByteCount) -> Result<ByteCount, Problem> {
    if (600..=9000).contains(&bytes.bytes()) {
        return Ok(bytes);
    }
    Err(Problem::conflict(field, quoted(bytes), "a size from \"600 B\" to \"9000 B\"")
        .because("it is the MTU of a device"))
}

/// Reports that the choice of `field` differs from that of the kernel.
pub(super) fn differs<T: Serialize>(field: &'static str, value: &T, of_kernel: &T) -> Problem {
    Problem::conflict(field, quoted(name_of(value)), quoted(name_of(of_kernel)))
}

/// `words` followed by names and numbers.
pub(super) fn words<const N: usize>(name: &str, numbers: [(&str, u64); N]) -> Vec<String> {
    let numbers = numbers.into_iter().flat_map(|(name, number)| [name.to_owned(), number.to_string()]);
    std::iter::once(name.to_owned()).chain(numbers).collect()
}

/// A time in whole microseconds, rounded down: most disciplines accept no fractions.
pub(super) fn micros(time: Duration) -> String {
    format!("{}us", time.as_nanos() / 1000)
}
