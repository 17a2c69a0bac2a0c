//! Counterparts of disciplines in the Linux kernel, as the words of `tc`.

use crate::problem::{Problem, name_of, quoted};
use crate::time::Duration;
use crate::units::ByteCount;
use serde::Serialize;

/// How the kernel implements a queue discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcQueue {
    /// First in, first out: these are the limits of the discipline that has the rate (`netem`, `tbf`).
    Limits {
        /// Maximum number of packets; `None`: unlimited.
        packets: Option<u64>,
        /// Maximum number of bytes; `None`: unlimited.
        bytes: Option<ByteCount>,
    },
    /// A discipline of its own, as the child of the one that has the rate.
    Child {
        /// The words of `tc` from its name on.
        words: Vec<String>,
        /// The MTU of its device.
        mtu: DeviceMtu,
    },
    /// A discipline that has the rate itself.
    Shaper {
        /// The words of `tc` from its name on, without those of rate and overhead.
        words: Vec<String>,
        /// The MTU of its device.
        mtu: DeviceMtu,
    },
}

/// What a discipline of the kernel reads of the MTU of its device, which is the largest packet with its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceMtu {
    /// Nothing.
    #[default]
    Any,
    /// Its value when the discipline is created; larger packets pass later.
    AtCreation(ByteCount),
    /// Its value at each packet, so that no larger one passes.
    Always(ByteCount),
}

/// `bytes`, the value of `field`, as the MTU of a device.
///
/// # Errors
/// If no device of the kernel has it.
pub(super) fn device_mtu(field: &'static str, bytes: ByteCount) -> Result<ByteCount, Problem> {
    if (600..=9000).contains(&bytes.bytes()) {
        return Ok(bytes);
    }
    Err(Problem::conflict(field, quoted(bytes), "a size from \"600 B\" to \"9000 B\"")
        .because("it is the MTU of a device"))
}

/// The choice of `field` that is not the one of the kernel.
pub(super) fn differs<T: Serialize>(field: &'static str, value: &T, of_kernel: &T) -> Problem {
    Problem::conflict(field, quoted(name_of(value)), quoted(name_of(of_kernel)))
}

/// `words` followed by names and numbers.
pub(super) fn words<const N: usize>(name: &str, numbers: [(&str, u64); N]) -> Vec<String> {
    let numbers = numbers.into_iter().flat_map(|(name, number)| [name.to_owned(), number.to_string()]);
    std::iter::once(name.to_owned()).chain(numbers).collect()
}

/// A time in whole microseconds, rounded down: most disciplines take no fractions.
pub(super) fn micros(time: Duration) -> String {
    format!("{}us", time.as_nanos() / 1000)
}
