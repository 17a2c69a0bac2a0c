//! Streams of a connection: totals by direction, and selection of the streams and frames shown.

use super::ranges::Ranges;
use super::sample::{DownsampledPoints, Span};
use std::collections::HashMap;

/// Maximum number of streams of a file that are distinguished, counted per direction.
const TRACKED_MAX: usize = 20_000;
/// The first this many streams may have [`GAPS_MANY`] gaps, later ones [`GAPS_FEW`]; all together take 15 MB at
/// most.
const MANY_STREAMS: usize = 64;
const GAPS_MANY: usize = 4096;
const GAPS_FEW: usize = 32;
/// Maximum number of streams of a connection that are shown frame by frame.
pub(super) const DETAILED_MAX: usize = 24;

/// A stream in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) sent: bool,
    pub(super) id: u64,
}

/// Totals of a stream.
#[derive(Clone, Debug)]
pub(super) struct Total {
    covered: Ranges,
    gaps_max: usize,
    /// Bytes in frames, retransmissions included.
    pub(super) bytes: u64,
    /// Bytes without duplicates.
    pub(super) unique_bytes: u64,
    pub(super) frames: u64,
    /// Number of selected frames.
    pub(super) selected: u64,
    pub(super) first_ms: f64,
    pub(super) last_ms: f64,
}

/// Totals of all streams of a direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Direction {
    pub(super) bytes: u64,
    pub(super) unique_bytes: u64,
    /// Times of the first and the last STREAM frame; `None` if there was none.
    pub(super) span_ms: Option<(f64, f64)>,
}

/// Totals of the streams of a connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    totals: HashMap<Key, Total>,
    pub(super) sent: Direction,
    pub(super) received: Direction,
    /// Number of frames of streams beyond [`TRACKED_MAX`].
    pub(super) untold_frames: u64,
}

impl Streams {
    /// Counts a frame; `tracked` is the number of streams that are distinguished in the whole file.
    pub(super) fn frame(&mut self, key: Key, offset: u64, length: u64, time_ms: f64, tracked: &mut usize) {
        let direction = if key.sent { &mut self.sent } else { &mut self.received };
        let (first, _) = direction.span_ms.unwrap_or((time_ms, time_ms));
        direction.span_ms = Some((first, time_ms));
        direction.bytes = direction.bytes.saturating_add(length);
        if !self.totals.contains_key(&key) {
            if *tracked == TRACKED_MAX {
                self.untold_frames += 1;
                return;
            }
            *tracked += 1;
            let gaps_max = if *tracked <= MANY_STREAMS { GAPS_MANY } else { GAPS_FEW };
            self.totals.insert(
                key,
                Total {
                    covered: Ranges::default(),
                    gaps_max,
                    bytes: 0,
                    unique_bytes: 0,
                    frames: 0,
                    selected: 0,
                    first_ms: time_ms,
                    last_ms: time_ms,
                },
            );
        }
        let total = self.totals.get_mut(&key).expect("it has just been inserted");
        let fresh = total.covered.insert(offset, offset.saturating_add(length), total.gaps_max);
        total.bytes = total.bytes.saturating_add(length);
        total.unique_bytes = total.unique_bytes.saturating_add(fresh);
        total.frames += 1;
        total.last_ms = time_ms;
        direction.unique_bytes = direction.unique_bytes.saturating_add(fresh);
    }

    /// Counts a frame that is selected.
    pub(super) fn select(&mut self, key: Key, selected: bool) {
        if let Some(total) = self.totals.get_mut(&key) {
            total.selected += u64::from(selected);
        }
    }

    /// The streams with the most bytes, at most [`DETAILED_MAX`], by direction and number; and all others.
    pub(super) fn largest(&self) -> (Vec<(Key, &Total)>, Vec<&Total>) {
        let mut all: Vec<_> = self.totals.iter().map(|(key, total)| (*key, total)).collect();
        all.sort_by_key(|(key, total)| (std::cmp::Reverse(total.bytes), *key));
        let rest = all.split_off(all.len().min(DETAILED_MAX)).into_iter().map(|(_, total)| total).collect();
        all.sort_by_key(|(key, _)| (key.id, !key.sent));
        (all, rest)
    }
}

/// A STREAM frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FramePoint {
    pub(super) time_ms: f64,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) retransmitted: bool,
}

/// The frames of a stream that are shown.
pub(super) struct Detail {
    pub(super) frames: DownsampledPoints<FramePoint>,
    sent: bool,
    /// End of the data sent so far, and the packet that carried it.
    end: u64,
    end_packet: Option<(u32, u64)>,
}

impl Detail {
    pub(super) fn new(span: Span, total: &Total, max_points: usize, sent: bool) -> Self {
        let frames = DownsampledPoints::new(span, total.selected, max_points);
        Self { frames, sent, end: 0, end_packet: None }
    }

    /// Processes a frame of `packet`, given as path and number.
    ///
    /// Packet numbers grow in the order of sending, and data is first sent in the order of offsets: data
    /// below that end in a later packet is a retransmission. Data in an earlier packet was only overtaken in
    /// transit; so was received data on another path.
    pub(super) fn frame(
        &mut self,
        packet: Option<(u32, u64)>,
        offset: u64,
        length: u64,
        time_ms: f64,
        selected: bool,
    ) {
        let before = offset < self.end;
        let later = |((path, number), end): ((u32, u64), (u32, u64))| match path == end.0 {
            true => number > end.1,
            false => self.sent,
        };
        let retransmitted = before && packet.zip(self.end_packet).is_none_or(later);
        let end = offset.saturating_add(length);
        if end > self.end {
            (self.end, self.end_packet) = (end, packet);
        }
        if selected {
            self.frames.push(time_ms, FramePoint { time_ms, offset, length, retransmitted });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_bytes_count_once() {
        let (mut streams, mut tracked) = (Streams::default(), 0);
        let key = Key { sent: false, id: 4 };
        for (offset, length) in [(0, 100), (200, 100), (100, 100), (150, 100)] {
            streams.frame(key, offset, length, offset as f64, &mut tracked);
        }
        assert_eq!((streams.received.bytes, streams.received.unique_bytes, tracked), (400, 300, 1));
        let (largest, rest) = streams.largest();
        assert_eq!((largest[0].0, largest[0].1.frames, rest.len()), (key, 4, 0));
    }

    #[test]
    fn reordered_is_not_retransmitted() {
        let span = Span { from_ms: 0.0, to_ms: 10.0 };
        let mut streams = Streams::default();
        streams.frame(Key { sent: false, id: 0 }, 0, 1, 0.0, &mut 0);
        let total = Total { selected: 5, ..streams.largest().0[0].1.clone() };
        let mut detail = Detail::new(span, &total, 10, true);
        // packet 2 is overtaken by 3; 4 and 5 are lost (offsets 300, 400), 7 carries the data of 4 again
        for (number, offset) in [(1, 0), (3, 200), (2, 100), (6, 500), (7, 300)] {
            detail.frame(Some((0, number)), offset, 100, 1.0, true);
        }
        let again: Vec<bool> = detail.frames.into_points().iter().map(|frame| frame.retransmitted).collect();
        assert_eq!(again, [false, false, false, false, true]);
    }
}
