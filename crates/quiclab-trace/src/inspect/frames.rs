//! Kinds of frames by name, and the sets of kinds in one packet.

use std::collections::HashMap;

/// Kinds that come first in the name of a set, the most informative ones first.
const FIRST: [&str; 5] = ["stream", "crypto", "datagram", "ack", "padding"];
/// Position in [`FIRST`].
pub(super) const STREAM: usize = 0;
pub(super) const CRYPTO: usize = 1;
pub(super) const DATAGRAM: usize = 2;
pub(super) const ACK: usize = 3;
/// Maximum number of kinds; the last one stands for all others.
const KINDS_MAX: usize = 64;
/// Maximum number of sets; the last one stands for all others.
const SETS_MAX: usize = 256;

pub(super) fn is_ack(kind: &str) -> bool {
    let names = ["ack", "ack_ecn", "ack_receive_timestamps", "ack_extended"];
    is_path_ack(kind) || names.iter().any(|name| name.eq_ignore_ascii_case(kind))
}

/// Whether it acknowledges packets of a path of Multipath QUIC; the names are those of its drafts.
pub(super) fn is_path_ack(kind: &str) -> bool {
    let names = ["path_ack", "path_ack_ecn", "mp_ack", "mp_ack_ecn", "ack_mp", "ack_mp_ecn"];
    names.iter().any(|name| name.eq_ignore_ascii_case(kind))
}

/// Number of frames of a kind, and their bytes.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) bytes: u64,
}

/// The kinds of frames of a connection, and the sets of kinds in its packets.
pub(super) struct Kinds {
    pub(super) kinds: Vec<Kind>,
    /// Bit `i` stands for `kinds[i]`.
    sets: Vec<u64>,
    numbers: HashMap<u64, u16>,
}

impl Kinds {
    pub(super) fn new() -> Self {
        let kinds = FIRST.iter().map(|name| Kind { name: (*name).to_owned(), count: 0, bytes: 0 }).collect();
        Self { kinds, sets: Vec::new(), numbers: HashMap::new() }
    }

    /// Counts a frame; returns the position of its kind.
    pub(super) fn count(&mut self, name: &str, bytes: u64) -> usize {
        let name = match name {
            "" => "without name",
            name if is_ack(name) => FIRST[ACK],
            name => super::header::prefix(name),
        };
        let known = self.kinds.iter().position(|kind| kind.name.eq_ignore_ascii_case(name));
        let index = known.unwrap_or_else(|| {
            if self.kinds.len() < KINDS_MAX {
                let last = self.kinds.len() == KINDS_MAX - 1;
                let name = if last { "others".to_owned() } else { name.to_ascii_lowercase() };
                self.kinds.push(Kind { name, count: 0, bytes: 0 });
            }
            self.kinds.len() - 1
        });
        self.kinds[index].count += 1;
        self.kinds[index].bytes = self.kinds[index].bytes.saturating_add(bytes);
        index
    }

    /// Number of a set of kinds, given as bits.
    pub(super) fn set(&mut self, bits: u64) -> u16 {
        if let Some(&number) = self.numbers.get(&bits) {
            return number;
        }
        if self.sets.len() == SETS_MAX {
            return SETS_MAX as u16 - 1;
        }
        self.sets.push(bits);
        let number = self.sets.len() as u16 - 1;
        self.numbers.insert(bits, number);
        number
    }

    /// Names of the sets, such as `stream+ack`.
    pub(super) fn set_names(&self) -> Vec<String> {
        let name = |(index, &bits): (usize, &u64)| {
            if index + 1 == SETS_MAX {
                return "others".to_owned();
            }
            let parts: Vec<&str> = self
                .kinds
                .iter()
                .enumerate()
                .filter(|(kind, _)| bits >> kind & 1 == 1)
                .map(|(_, kind)| kind.name.as_str())
                .collect();
            if parts.is_empty() { "no frames logged".to_owned() } else { parts.join("+") }
        };
        self.sets.iter().enumerate().map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_names() {
        let mut kinds = Kinds::new();
        let bits =
            1 << kinds.count("ACK", 0) | 1 << kinds.count("stream", 10) | 1 << kinds.count("max_data", 0);
        assert_eq!((kinds.set(bits), kinds.set(0), kinds.set(bits)), (0, 1, 0));
        assert_eq!(kinds.set_names(), ["stream+ack+max_data", "no frames logged"]);
        assert_eq!(
            (kinds.kinds[STREAM].count, kinds.kinds[STREAM].bytes, kinds.kinds[ACK].count),
            (1, 10, 1)
        );
    }

    #[test]
    fn names_without_end_are_bounded() {
        let mut kinds = Kinds::new();
        for index in 0..1000 {
            let bit = kinds.count(&format!("frame {index}"), 1);
            kinds.set(1 << bit);
            kinds.set(1 << bit | index << 8);
        }
        assert_eq!((kinds.kinds.len(), kinds.sets.len()), (KINDS_MAX, SETS_MAX));
        assert_eq!(kinds.kinds[KINDS_MAX - 1].name, "others");
        assert_eq!(kinds.kinds[KINDS_MAX - 1].count, 1000 - (KINDS_MAX as u64 - 1 - FIRST.len() as u64));
    }
}
