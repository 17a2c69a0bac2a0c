//! DualPI2 by rtnetlink: `tc` supports it since iproute2 6.18, newer than the release in distributions.
//!
//! The words are those of that version; attributes are in linux/pkt_sched.h since Linux 6.17.

use super::rtnetlink::{Discipline, unknown};
use netlink_packet_core::DefaultNla;
use std::io;

/// DualPI2.
pub const DISCIPLINE: Discipline =
    Discipline { name: "dualpi2", module: "sch_dualpi2, since Linux 6.17", options };

/// Options with a number: word, attribute, whether it is one byte instead of four.
const NUMBERS: [(&str, u16, bool); 8] = [
    ("limit", 1, false),
    ("target", 3, false),
    ("tupdate", 4, false),
    ("alpha", 5, false),
    ("beta", 6, false),
    ("step_thresh", 8, false),
    ("coupling_factor", 10, true),
    ("classic_protection", 13, true),
];
/// `TCA_DUALPI2_ECN_MASK`, and its values.
const ECN_MASK: u16 = 14;
const MASKS: [(&str, u8); 2] = [("l4s_ect", 1), ("any_ect", 3)];

/// Attributes of the words; times are in microseconds.
fn options(words: &[String]) -> io::Result<Vec<DefaultNla>> {
    let mut options = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some((_, mask)) = MASKS.iter().find(|(name, _)| name == word) {
            options.push(DefaultNla::new(ECN_MASK, vec![*mask]));
            continue;
        }
        let (_, attribute, is_byte) =
            NUMBERS.iter().find(|(name, ..)| name == word).ok_or_else(|| unknown(word))?;
        let value = words.next().map_or("", String::as_str);
        let number: u32 = value.trim_end_matches("us").parse().map_err(|_| unknown(value))?;
        let bytes = match u8::try_from(number) {
            Ok(byte) if *is_byte => vec![byte],
            Err(_) if *is_byte => return Err(unknown(value)),
            _ => number.to_ne_bytes().to_vec(),
        };
        options.push(DefaultNla::new(*attribute, bytes));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::queue::{Dualpi2, QueueOptions, TcQueue};

    #[test]
    fn every_word_of_the_configuration_has_an_attribute() {
        let Ok(TcQueue::Child { words, .. }) = Dualpi2::default().tc() else { panic!("the kernel has it") };
        let mut found = options(&words[1..]).unwrap();
        found.sort_by_key(netlink_packet_core::Nla::kind);
        let expected = [
            (1, 10_000_u32.to_ne_bytes().to_vec()),
            (3, 15_000_u32.to_ne_bytes().to_vec()),
            (4, 16_000_u32.to_ne_bytes().to_vec()),
            (5, 41_u32.to_ne_bytes().to_vec()),
            (6, 819_u32.to_ne_bytes().to_vec()),
            (8, 1000_u32.to_ne_bytes().to_vec()),
            (10, vec![2]),
            (13, vec![10]),
            (14, vec![1]),
        ];
        assert_eq!(found, expected.map(|(attribute, bytes)| DefaultNla::new(attribute, bytes)));
    }

    #[test]
    fn words_that_are_not_known_are_refused() {
        let refused = |words: &[&str]| {
            options(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap_err().to_string()
        };
        assert_eq!(refused(&["l4s_ect", "colour", "3"]), "unknown word `colour`");
        assert_eq!(refused(&["limit", "many"]), "unknown word `many`");
    }
}
