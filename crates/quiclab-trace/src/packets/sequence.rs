//! Assignment of segments to TCP connections between the same ends: ports are reused (RFC 9293 section 3.4 and
//! 3.6.1).
//!
//! | segment | begins another connection if |
//! | --- | --- |
//! | SYN | its sender has sent a SYN with another number, or segments that do not follow it |
//! | SYN and ACK | the same, and it does not acknowledge the SYN of the peer |
//! | others but RST | sequence and acknowledgement number are both 2^30 away from those before: no window is as large |
//!
//! A segment that does not belong to the current connection but to the one before it is a late segment of that, and
//! begins no third one. A repeated SYN is a retransmission. SYNs without ACK from both ends are a simultaneous open:
//! one connection.

/// The largest window (RFC 7323 section 2.3).
const WINDOW_MAX: u32 = 1 << 30;
/// Maximum distance of numbers that are near: more than a flight, and unlikely for a random initial number.
const NEAR_MAX: u32 = 1 << 24;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Sequence numbers that both ends of a connection have sent, by direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    syn: [Option<u32>; 2],
    /// Sequence number of the first segment that was captured, and the end of the last.
    first: [Option<u32>; 2],
    last: [Option<u32>; 2],
    /// The last acknowledgement number.
    acknowledged: [Option<u32>; 2],
}

/// Fields of a header: sequence number, acknowledgement number, length in sequence space, flags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
    pub(super) length: u32,
    pub(super) flags: u8,
}

impl Sequences {
    /// Whether a segment belongs to another connection.
    pub(super) fn ends_before(&self, way: usize, numbers: Numbers) -> bool {
        let Numbers { sequence, acknowledgement, flags, .. } = numbers;
        let other = 1 - way;
        if flags & SYN != 0 {
            let answers = flags & ACK != 0 && self.syn[other] == Some(acknowledgement.wrapping_sub(1));
            if answers {
                return false;
            }
            let next = sequence.wrapping_add(1);
            return match (self.syn[way], self.first[way]) {
                (Some(syn), _) => syn != sequence,
                // overtaken by the segments after it
                (None, Some(first)) => first != next,
                // the peer has acknowledged another number
                (None, None) => self.acknowledged[other].is_some_and(|number| number != next),
            };
        }
        let far = |one: u32, other: Option<u32>| {
            other.is_some_and(|other| one.wrapping_sub(other).min(other.wrapping_sub(one)) > WINDOW_MAX)
        };
        let acknowledged = self.acknowledged[way].or(self.last[other]);
        flags & (RST | ACK) == ACK && far(sequence, self.last[way]) && far(acknowledgement, acknowledged)
    }

    /// Whether a segment continues this connection: both of its numbers are near.
    pub(super) fn continues(&self, way: usize, numbers: Numbers) -> bool {
        let near = |one: u32, other: Option<u32>| {
            other.is_some_and(|other| one.wrapping_sub(other).min(other.wrapping_sub(one)) <= NEAR_MAX)
        };
        let acknowledged = self.acknowledged[way].or(self.last[1 - way]);
        numbers.flags & (SYN | ACK) == ACK
            && near(numbers.sequence, self.last[way])
            && near(numbers.acknowledgement, acknowledged)
    }

    /// Records a segment of this connection.
    pub(super) fn note(&mut self, way: usize, numbers: Numbers) {
        let Numbers { sequence, acknowledgement, length, flags } = numbers;
        if flags & RST != 0 {
            return;
        }
        if flags & SYN != 0 {
            self.syn[way] = Some(sequence);
        }
        self.first[way].get_or_insert(sequence);
        self.last[way] = Some(sequence.wrapping_add(length));
        if flags & ACK != 0 {
            self.acknowledged[way] = Some(acknowledgement);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments (direction, flags, sequence, acknowledgement, length): the connection of each.
    fn connections(segments: &[(usize, u8, u32, u32, u32)]) -> Vec<u32> {
        let (mut now, mut index, mut found) = (Sequences::default(), 0, Vec::new());
        for &(way, flags, sequence, acknowledgement, length) in segments {
            let numbers = Numbers { sequence, acknowledgement, length, flags };
            if now.ends_before(way, numbers) {
                (now, index) = (Sequences::default(), index + 1);
            }
            now.note(way, numbers);
            found.push(index);
        }
        found
    }

    const SYN_ACK: u8 = SYN | ACK;

    #[test]
    fn ports_that_are_used_again() {
        let one =
            [(0, SYN, 100, 0, 1), (0, SYN, 100, 0, 1), (1, SYN_ACK, 900, 101, 1), (0, ACK, 101, 901, 50)];
        assert_eq!(connections(&one), [0; 4]);
        let again =
            [(1, ACK | 1, 901, 151, 1), (0, SYN, 5000, 0, 1), (1, SYN_ACK, 7, 5001, 1), (0, ACK, 5001, 8, 9)];
        assert_eq!(connections(&[one, again].concat()), [0, 0, 0, 0, 0, 1, 1, 1]);
        // the server's SYN of a connection whose SYN was not captured
        assert_eq!(connections(&[&one[..], &[(1, SYN_ACK, 7, 5001, 1)]].concat()), [0, 0, 0, 0, 1]);
        // neither SYN was: numbers far from the earlier ones, in both directions
        assert_eq!(connections(&[&one[..], &[(0, ACK, 1 << 31, 2 << 30, 9)]].concat()), [0, 0, 0, 0, 1]);
        assert_eq!(connections(&[&one[..], &[(0, RST, 1 << 31, 2 << 30, 0)]].concat()), [0; 5]);
        assert_eq!(connections(&[&one[..], &[(0, ACK, 1 << 31, 901, 9)]].concat()), [0; 5]);
    }

    #[test]
    fn what_begins_in_the_middle() {
        assert_eq!(connections(&[(0, ACK, 5, 6, 100), (1, ACK, 6, 105, 0), (0, SYN, 99, 0, 1)]), [0, 0, 1]);
        // only one direction was captured, then a SYN of the other
        assert_eq!(connections(&[(0, ACK, 5, 6, 100), (1, SYN, 99, 0, 1)]), [0, 1]);
        // out of order: data before the SYN, the answer before the SYN
        assert_eq!(connections(&[(0, ACK, 100, 6, 10), (0, SYN, 99, 0, 1)]), [0, 0]);
        assert_eq!(connections(&[(1, SYN_ACK, 5, 100, 1), (0, SYN, 99, 0, 1)]), [0, 0]);
        // numbers wrap
        let wrap = [(0, SYN, u32::MAX, 0, 1), (1, SYN_ACK, 5, 0, 1), (0, ACK, 0, 6, 10), (0, ACK, 10, 6, 10)];
        assert_eq!(connections(&wrap), [0; 4]);
    }

    #[test]
    fn a_simultaneous_open_is_one_connection() {
        let both = [(0, SYN, 1, 0, 1), (1, SYN, 50, 0, 1), (0, SYN_ACK, 1, 51, 1), (1, SYN_ACK, 50, 2, 1)];
        assert_eq!(connections(&both), [0; 4]);
    }
}
