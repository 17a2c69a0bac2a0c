//! Counterparts of disciplines in the Linux kernel, as the words of `tc`.

use crate::time::Duration;
use crate::units::ByteCount;

/// How the kernel implements a queue discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcQueue {
    /// First in, first out: these are the limits of the discipline that has the rate (`netem`, `tbf`).
    Limits {
        /// Most packets; `None`: unlimited.
        packets: Option<u64>,
        /// Most bytes; `None`: unlimited.
        bytes: Option<ByteCount>,
    },
    /// A discipline of its own, as the child of the one that has the rate.
    Child {
        /// The words of `tc` from its name on.
        words: Vec<String>,
        /// Largest packet with its header that its device must have when it is created; `None`: any.
        mtu: Option<ByteCount>,
    },
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
