//! Common code of both ends of HTTP/2: conversion of frames to and from records, and refill of windows.

use quiclab_core::Http2Frame;
use std::collections::VecDeque;

/// Writer of frames into records.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// Bytes of frames that are not in a record yet.
    waiting: u64,
    /// Frames that begin in the next record.
    frames: Vec<Http2Frame>,
}

impl Writer {
    pub(super) fn push(&mut self, frame: Http2Frame) {
        self.waiting += frame.bytes();
        self.frames.push(frame);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whether a record of `most` bytes is full: a frame added now would not begin in it.
    pub(super) const fn fills(&self, most: u64) -> bool {
        self.waiting >= most
    }

    /// Takes the next record; `None`: there is nothing to write.
    pub(super) fn take(&mut self, most: u64) -> Option<(u64, Vec<Http2Frame>)> {
        let length = self.waiting.min(most);
        self.waiting -= length;
        (length > 0).then(|| (length, std::mem::take(&mut self.frames)))
    }
}

/// Result of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Complete frame other than DATA.
    Frame(Http2Frame),
    /// Part of the payload of a DATA frame, passed on as it arrives.
    Data { stream: u32, bytes: u64, end: bool },
}

/// Reader of frames.
#[derive(Debug, Default)]
pub(super) struct Reader {
    frames: VecDeque<Http2Frame>,
    /// Bytes read of the first frame, and further bytes that have arrived.
    read: u64,
    unread: u64,
}

impl Reader {
    /// Adds `bytes` that have arrived, in which these frames begin.
    pub(super) fn arrive(&mut self, bytes: u64, frames: &[Http2Frame]) {
        self.unread += bytes;
        self.frames.extend(frames);
    }

    /// Reads the next frame or part of one.
    pub(super) fn next(&mut self) -> Option<Read> {
        loop {
            let frame = *self.frames.front()?;
            let missing = frame.bytes() - self.read;
            let Http2Frame::Data { stream, end, .. } = frame else {
                if self.unread < missing {
                    return None;
                }
                self.advance(missing, missing);
                return Some(Read::Frame(frame));
            };
            let of_header = Http2Frame::HEADER.saturating_sub(self.read).min(self.unread);
            self.advance(of_header, missing);
            let missing = missing - of_header;
            let bytes = self.unread.min(missing);
            if self.read < Http2Frame::HEADER || bytes == 0 && missing > 0 {
                return None;
            }
            self.advance(bytes, missing);
            if bytes > 0 {
                return Some(Read::Data { stream, bytes, end: end && bytes == missing });
            }
        }
    }

    /// Advances by `bytes` of the first frame, of which `missing` bytes were missing.
    fn advance(&mut self, bytes: u64, missing: u64) {
        self.unread -= bytes;
        self.read += bytes;
        if bytes == missing {
            self.frames.pop_front();
            self.read = 0;
        }
    }
}

/// Receive window that is refilled when more than half of it was used (Chromium:
/// `SpdyStream::IncreaseRecvWindowSize`, `SpdySession::IncreaseRecvWindowSize`).
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    size: u64,
    /// Bytes read without a WINDOW_UPDATE so far.
    used: u64,
}

impl ReceiveWindow {
    pub(super) const fn new(size: u64) -> Self {
        Self { size, used: 0 }
    }

    /// Adds `bytes` that were read; returns the increment of the WINDOW_UPDATE that is due, if any.
    pub(super) fn read(&mut self, bytes: u64) -> Option<u32> {
        self.used += bytes;
        if self.used <= self.size / 2 {
            return None;
        }
        let used = std::mem::take(&mut self.used);
        Some(u32::try_from(used).expect("a window is smaller than 2^31"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn data(stream: u32, length: u32) -> Http2Frame {
        Http2Frame::Data { stream, length, end: true }
    }

    #[test]
    fn a_frame_may_lie_in_two_records() {
        let mut writer = Writer::default();
        writer.push(data(1, 100));
        writer.push(Http2Frame::SettingsAck);
        // 109 and 9
        assert!(writer.fills(100));
        assert_eq!(writer.take(60), Some((60, vec![data(1, 100), Http2Frame::SettingsAck])));
        assert_eq!(writer.take(60), Some((58, vec![])));
        assert_eq!((writer.take(60), writer.is_empty()), (None, true));
    }

    #[test]
    fn data_are_read_as_they_arrive_and_other_frames_whole() {
        let mut reader = Reader::default();
        let update = Http2Frame::WindowUpdate { stream: 1, increment: 5 };
        reader.arrive(8, &[data(1, 100), update]);
        assert_eq!(reader.next(), None, "the header is not complete");
        reader.arrive(41, &[]);
        assert_eq!(reader.next(), Some(Read::Data { stream: 1, bytes: 40, end: false }));
        assert_eq!(reader.next(), None);
        reader.arrive(72, &[]);
        assert_eq!(reader.next(), Some(Read::Data { stream: 1, bytes: 60, end: true }));
        assert_eq!(reader.next(), None, "12 of 13");
        reader.arrive(1, &[]);
        assert_eq!((reader.next(), reader.next()), (Some(Read::Frame(update)), None));
    }

    #[test]
    fn a_window_is_refilled_when_more_than_half_was_used() {
        let mut window = ReceiveWindow::new(1000);
        assert_eq!((window.read(500), window.read(1)), (None, Some(501)));
        assert_eq!((window.read(500), window.read(400)), (None, Some(900)));
    }

    proptest! {
        /// For all sizes of records and of arrivals, the same frames are read, in order, with all bytes.
        #[test]
        fn what_was_written_is_read(
            lengths in prop::collection::vec((0u32..3, 1u32..40_000), 1..30),
            most in 1u64..20_000,
        ) {
            let frames: Vec<_> = lengths.iter().map(|&(kind, length)| match kind {
                0 => Http2Frame::Headers { stream: 1, section: length, dependency: false, end: false, resource: 0 },
                1 => Http2Frame::SettingsAck,
                _ => data(3, length),
            }).collect();
            let (mut writer, mut reader) = (Writer::default(), Reader::default());
            let (mut next, mut read, mut payload) = (frames.iter(), Vec::new(), 0);
            loop {
                while !writer.fills(most) {
                    let Some(frame) = next.next() else { break };
                    writer.push(*frame);
                }
                let Some((bytes, begun)) = writer.take(most) else { break };
                prop_assert!(bytes <= most);
                reader.arrive(bytes, &begun);
                while let Some(event) = reader.next() {
                    match event {
                        Read::Frame(frame) => read.push(frame),
                        Read::Data { bytes, end, .. } => {
                            payload += bytes;
                            if end {
                                read.push(data(3, u32::try_from(payload).unwrap()));
                                payload = 0;
                            }
                        }
                    }
                }
            }
            prop_assert_eq!(read, frames);
        }
    }
}
