//! CAKE by rtnetlink: `tc` supports no target other than a twentieth of `rtt`.
//!
//! The words are those of `tc`, and `target`; attributes are in linux/pkt_sched.h.

use super::rtnetlink::{Discipline, number, unknown};
use netlink_packet_core::DefaultNla;
use std::io;

/// CAKE.
pub const DISCIPLINE: Discipline = Discipline { name: "cake", module: "sch_cake, since Linux 4.19", options };

/// `TCA_CAKE_BASE_RATE64`, in bytes per second.
const RATE: u16 = 2;
/// Words that set an attribute to a value: number of classes, isolation, ACK filter.
const MODES: [(&str, u16, u32); 6] = [
    ("besteffort", 3, 3),
    ("flows", 5, 4),
    ("triple-isolate", 5, 7),
    ("no-ack-filter", 16, 0),
    ("ack-filter", 16, 1),
    ("ack-filter-aggressive", 16, 2),
];
/// Options with a number: `TCA_CAKE_OVERHEAD` and so on; times are in microseconds.
const NUMBERS: [(&str, u16); 4] = [("overhead", 6), ("rtt", 7), ("target", 8), ("memlimit", 10)];

/// Attributes of the words.
fn options(words: &[String]) -> io::Result<Vec<DefaultNla>> {
    let mut options = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some((_, attribute, value)) = MODES.iter().find(|(name, ..)| name == word) {
            options.push(DefaultNla::new(*attribute, value.to_ne_bytes().to_vec()));
        } else if word == "bandwidth" {
            let rate = words.next().map(|rate| rate.trim_end_matches("bit").to_owned());
            let bits: u64 = number(rate.as_ref())?;
            options.push(DefaultNla::new(RATE, (bits / 8).to_ne_bytes().to_vec()));
        } else {
            let (_, attribute) =
                NUMBERS.iter().find(|(name, _)| name == word).ok_or_else(|| unknown(word))?;
            let value = words.next().map(|value| value.trim_end_matches("us").to_owned());
            let number: u32 = number(value.as_ref())?;
            options.push(DefaultNla::new(*attribute, number.to_ne_bytes().to_vec()));
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::queue::{AckFilter, Cake, QueueOptions, TcQueue};

    fn attributes(cake: &Cake) -> Vec<(u16, Vec<u8>)> {
        let Ok(TcQueue::Shaper { words, .. }) = cake.tc() else { panic!("the kernel has it") };
        let rate = ["bandwidth", "10000000bit", "overhead", "14"].map(str::to_owned);
        let options = options(&[&words[1..], &rate].concat()).unwrap();
        let mut found: Vec<_> = options
            .iter()
            .map(|option| {
                let mut value = vec![0; netlink_packet_core::Nla::value_len(option)];
                netlink_packet_core::Nla::emit_value(option, &mut value);
                (netlink_packet_core::Nla::kind(option), value)
            })
            .collect();
        found.sort();
        found
    }

    #[test]
    fn every_word_of_the_configuration_has_an_attribute() {
        let four = |number: u32| number.to_ne_bytes().to_vec();
        let expected = [
            (2, 1_250_000_u64.to_ne_bytes().to_vec()),
            (3, four(3)),
            (5, four(7)),
            (6, four(14)),
            (7, four(100_000)),
            (8, four(5000)),
            (10, four(4 << 20)),
            (16, four(0)),
        ];
        assert_eq!(attributes(&Cake::default()), expected);
        let other = Cake { host_isolation: false, ack_filter: AckFilter::Aggressive, ..Cake::default() };
        let found = attributes(&other);
        assert_eq!((&found[2], &found[7]), (&(5, four(4)), &(16, four(2))));
    }

    #[test]
    fn words_that_are_not_known_are_refused() {
        let refused = |words: [&str; 2]| options(&words.map(str::to_owned)).unwrap_err().to_string();
        assert_eq!(refused(["diffserv9", "3"]), "unknown word `diffserv9`");
        assert_eq!(refused(["bandwidth", "much"]), "unknown word `much`");
    }
}
