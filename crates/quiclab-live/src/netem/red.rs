//! RED by rtnetlink: `tc` computes the weight of the average from the length of a burst, accepts no weight of 1 and no
//! equal thresholds, and sends `adaptive` in a form in which the kernel does not start its timer.
//!
//! Attributes are in linux/pkt_sched.h; `ewma` is the weight's exponent, `max_p` the probability in units of 2^-32.

use super::rtnetlink::{Discipline, number, unknown};
use netlink_packet_core::DefaultNla;
use std::io;

/// RED.
pub const DISCIPLINE: Discipline = Discipline { name: "red", module: "sch_red", options };

/// `TCA_RED_PARMS`, of `struct tc_red_qopt`.
const PARAMETERS: u16 = 1;
/// `TCA_RED_STAB`: shifts for idle times, which do not occur below `tbf`.
const IDLE_TABLE: (u16, usize) = (2, 256);
/// `TCA_RED_MAX_P`.
const MAX_PROBABILITY: u16 = 3;
/// `TCA_RED_FLAGS`, a bit field of 32 with the selector of its bits.
const FLAGS: u16 = 4;
/// Flags by word; the first ones are in the parameters, as in old kernels.
const FLAG_BITS: [(&str, u8); 4] = [("ecn", 1), ("harddrop", 2), ("adaptive", 4), ("nodrop", 8)];
const OLD_BITS: u8 = 7;
const ALL_BITS: u32 = 15;

/// Attributes of the words.
fn options(words: &[String]) -> io::Result<Vec<DefaultNla>> {
    let mut words = words.iter();
    let [mut limit, mut min, mut max, mut probability] = [0_u32; 4];
    let [mut weight, mut flags] = [0_u8; 2];
    while let Some(word) = words.next() {
        match word.as_str() {
            "limit" => limit = number(words.next())?,
            "min" => min = number(words.next())?,
            "max" => max = number(words.next())?,
            "max_p" => probability = number(words.next())?,
            "ewma" => weight = number(words.next())?,
            _ => {
                let flag = FLAG_BITS.iter().find(|(name, _)| name == word);
                flags |= flag.ok_or_else(|| unknown(word))?.1;
            }
        }
    }
    let is_old = flags & !OLD_BITS == 0;
    let sizes = [limit, min, max].map(u32::to_ne_bytes).concat();
    // weight, a shift instead of the probability, the size of a cell of the table, flags
    let parameters = [&sizes[..], &[weight, 0, 0, if is_old { flags } else { 0 }]].concat();
    let (table, entries) = IDLE_TABLE;
    let mut options = vec![
        DefaultNla::new(PARAMETERS, parameters),
        DefaultNla::new(table, vec![0; entries]),
        DefaultNla::new(MAX_PROBABILITY, probability.to_ne_bytes().to_vec()),
    ];
    if !is_old {
        let bits = [u32::from(flags), ALL_BITS].map(u32::to_ne_bytes).concat();
        options.push(DefaultNla::new(FLAGS, bits));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::queue::{QueueOptions, Red, TcQueue};

    fn attributes(red: &Red) -> Vec<DefaultNla> {
        let Ok(TcQueue::Child { words, .. }) = red.tc() else { panic!("the kernel has it") };
        options(&words[1..]).unwrap()
    }

    #[test]
    fn every_word_of_the_configuration_has_an_attribute() {
        let found = attributes(&Red { ecn: true, hard_drop: true, adaptive: true, ..Red::default() });
        let sizes = [400_000_u32, 30_000, 90_000].map(u32::to_ne_bytes).concat();
        let expected = [
            DefaultNla::new(1, [&sizes[..], &[5, 0, 0, 7]].concat()),
            DefaultNla::new(2, vec![0; 256]),
            DefaultNla::new(3, 85_899_345_u32.to_ne_bytes().to_vec()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_newer_flag_takes_all_with_it() {
        let found = attributes(&Red { ecn: true, no_drop: true, ..Red::default() });
        let bits = [9_u32, 15].map(u32::to_ne_bytes).concat();
        assert_eq!(found[3], DefaultNla::new(4, bits));
        let [limit, weight] = ["limit", "weight"].map(ToOwned::to_owned);
        assert_eq!(options(&[limit, "x".to_owned()]).unwrap_err().to_string(), "unknown word `x`");
        assert_eq!(options(&[weight]).unwrap_err().to_string(), "unknown word `weight`");
    }
}
