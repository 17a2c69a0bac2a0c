//! Flow control of a sender: times at which credit is exhausted, and granted (RFC 9000 section 4.1).
//!
//! Limits are those of MAX_DATA and MAX_STREAM_DATA frames received, and `initial_max_data` of the peer where the file has
//! it, and those in DATA_BLOCKED and STREAM_DATA_BLOCKED frames sent. Before that a limit is unknown, and that it is reached
//! is not detected. Such a frame does not mean that a limit has been reached: quinn sends it as soon as its application has
//! written up to the limit, regardless of how much has been sent. A frame that is logged without a limit counts as a limit
//! that is reached.

use super::event::{Packet, frame_bytes};
use std::collections::HashMap;

/// Maximum number of events; later ones are omitted.
const EVENTS_MAX: usize = 200_000;
/// Maximum number of streams whose limits are tracked.
const STREAMS_MAX: usize = 20_000;

/// Change of the credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A frame of the peer has raised a limit.
    Raised = 0,
    /// The credit of the connection is used up.
    Connection = 1,
    /// The credit of the last stream that sent is used up.
    Stream = 2,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    limit: Option<u64>,
    end: u64,
}

/// The credit of one sender.
#[derive(Debug, Default)]
pub(super) struct Credit {
    limit: Option<u64>,
    /// Sum of the ends of all streams, which counts against `limit`.
    used: u64,
    streams: HashMap<u64, Stream>,
    blocked: Option<Change>,
    /// Stream whose credit is used up, if `blocked` is [`Change::Stream`].
    blocked_stream: u64,
    /// Times [ms] and changes.
    pub(super) events: Vec<(f64, Change)>,
    pub(super) total: u64,
}

impl Credit {
    /// Sets the limit of the connection from the transport parameters of the peer.
    pub(super) fn initial(&mut self, limit: u64) {
        self.limit = self.limit.max(Some(limit));
    }

    /// Processes a packet that was sent or received.
    pub(super) fn packet(&mut self, time_ms: f64, packet: &Packet<'_>) {
        let (mut last, mut raised, mut said, mut check) = (None, false, None, false);
        for frame in packet.frames {
            let is = |name: &str| frame.frame_type.as_str().eq_ignore_ascii_case(name);
            let id = frame.stream_id.0.unwrap_or_default();
            if !packet.sent {
                let connection = is("max_data");
                let Some(limit) = frame.maximum.0.filter(|_| connection || is("max_stream_data")) else {
                    continue;
                };
                let slot = if connection {
                    Some(&mut self.limit)
                } else {
                    self.stream(id).map(|found| &mut found.limit)
                };
                if let Some(slot) = slot.filter(|slot| **slot < Some(limit)) {
                    *slot = Some(limit);
                    raised = true;
                }
            } else if is("stream") {
                let end = frame.offset.0.unwrap_or_default().saturating_add(frame_bytes(frame));
                if let Some(stream) = self.stream(id) {
                    let more = end.saturating_sub(stream.end);
                    stream.end += more;
                    last = Some((id, *stream));
                    self.used = self.used.saturating_add(more);
                }
            } else if is("data_blocked") {
                match frame.limit.0 {
                    Some(limit) => self.limit = self.limit.max(Some(limit)),
                    None => said = Some(Change::Connection),
                }
                check = true;
            } else if is("stream_data_blocked") {
                match (frame.limit.0, self.stream(id)) {
                    (Some(limit), Some(stream)) => {
                        stream.limit = stream.limit.max(Some(limit));
                        last = Some((id, *stream));
                    }
                    _ => said = Some(Change::Stream),
                }
            }
        }
        let reached = |limit: Option<u64>, end: u64| limit.is_some_and(|limit| end >= limit);
        // the limit that was raised may not be the one that was reached
        let still = match self.blocked {
            Some(Change::Connection) => reached(self.limit, self.used),
            Some(Change::Stream) => {
                self.streams.get(&self.blocked_stream).is_some_and(|stream| reached(stream.limit, stream.end))
            }
            _ => false,
        };
        if raised && !still {
            self.blocked = None;
            self.push(time_ms, Change::Raised);
        }
        let found = match last {
            _ if said.is_some() => said,
            None if !check => self.blocked,
            _ if reached(self.limit, self.used) => Some(Change::Connection),
            Some((id, stream)) if reached(stream.limit, stream.end) => {
                self.blocked_stream = id;
                Some(Change::Stream)
            }
            // another stream has credit, or the packet was a retransmission
            _ => self.blocked,
        };
        if found != self.blocked {
            self.blocked = found;
            if let Some(change) = found {
                self.push(time_ms, change);
            }
        }
    }

    fn stream(&mut self, id: u64) -> Option<&mut Stream> {
        if self.streams.len() >= STREAMS_MAX && !self.streams.contains_key(&id) {
            return None;
        }
        Some(self.streams.entry(id).or_default())
    }

    fn push(&mut self, time_ms: f64, change: Change) {
        self.total += 1;
        if self.events.len() < EVENTS_MAX {
            self.events.push((time_ms, change));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{self, Frame};
    use super::*;

    fn frames(json: &str) -> Vec<Frame<'_>> {
        serde_json::from_str::<record::Data<'_>>(json).unwrap().frames.0
    }

    fn take(credit: &mut Credit, time_ms: f64, sent: bool, json: &str) {
        let frames = frames(json);
        credit.packet(
            time_ms,
            &Packet {
                sent,
                number: Some(0),
                space: 3,
                path: 0,
                destination: "",
                bytes: None,
                without_frames: false,
                frames: &frames,
            },
        );
    }

    fn stream(id: u64, offset: u64, length: u64) -> String {
        format!(
            r#"{{"frames":[{{"frame_type":"stream","stream_id":{id},"offset":{offset},"length":{length}}}]}}"#
        )
    }

    #[test]
    fn credit_is_used_up_and_raised() {
        let mut credit = Credit::default();
        credit.initial(1000);
        take(&mut credit, 1.0, true, &stream(0, 0, 600));
        take(&mut credit, 2.0, true, &stream(4, 0, 400)); // 1000 of 1000
        take(&mut credit, 3.0, true, &stream(0, 0, 600)); // a retransmission needs no credit
        take(&mut credit, 4.0, false, r#"{"frames":[{"frame_type":"max_data","maximum":900}]}"#); // an old one
        take(&mut credit, 5.0, false, r#"{"frames":[{"frame_type":"MAX_DATA","maximum":2000}]}"#);
        take(
            &mut credit,
            6.0,
            false,
            r#"{"frames":[{"frame_type":"max_stream_data","stream_id":0,"maximum":800}]}"#,
        );
        take(&mut credit, 7.0, true, &stream(0, 600, 200)); // 800 of 800
        take(&mut credit, 8.0, true, &stream(4, 400, 100)); // another stream may still send
        let expected =
            [(2.0, Change::Connection), (5.0, Change::Raised), (6.0, Change::Raised), (7.0, Change::Stream)];
        assert_eq!(credit.events, expected);
    }

    #[test]
    fn another_limit_that_is_raised_is_no_credit() {
        let mut credit = Credit::default();
        credit.initial(1000);
        let of_stream = |id: u64, maximum: u64| {
            format!(
                r#"{{"frames":[{{"frame_type":"max_stream_data","stream_id":{id},"maximum":{maximum}}}]}}"#
            )
        };
        take(&mut credit, 1.0, true, &stream(0, 0, 1000));
        take(&mut credit, 2.0, false, &of_stream(0, 5000)); // the connection still has none
        take(&mut credit, 3.0, false, r#"{"frames":[{"frame_type":"max_data","maximum":9000}]}"#);
        take(&mut credit, 4.0, true, &stream(0, 1000, 4000)); // 5000 of 5000 of the stream
        take(&mut credit, 5.0, false, &of_stream(4, 100)); // another stream
        take(&mut credit, 6.0, false, &of_stream(0, 6000));
        let expected =
            [(1.0, Change::Connection), (3.0, Change::Raised), (4.0, Change::Stream), (6.0, Change::Raised)];
        assert_eq!(credit.events, expected);
    }

    #[test]
    fn a_sender_may_name_a_limit_before_it_reaches_it() {
        let mut credit = Credit::default();
        let blocked = r#"{"frames":[{"frame_type":"stream_data_blocked","stream_id":0,"limit":5}]}"#;
        take(&mut credit, 1.0, true, blocked);
        take(&mut credit, 2.0, true, &stream(0, 0, 5));
        take(&mut credit, 3.0, true, blocked);
        assert_eq!(credit.events, [(2.0, Change::Stream)]);

        let mut credit = Credit::default();
        take(&mut credit, 1.0, true, &stream(0, 0, 7));
        take(&mut credit, 2.0, true, r#"{"frames":[{"frame_type":"data_blocked","limit":7}]}"#);
        assert_eq!(credit.events, [(2.0, Change::Connection)]);
    }

    #[test]
    fn a_sender_may_say_that_it_is_blocked() {
        let mut credit = Credit::default();
        for time_ms in [1.0, 2.0] {
            take(
                &mut credit,
                time_ms,
                true,
                r#"{"frames":[{"frame_type":"stream_data_blocked","stream_id":0}]}"#,
            );
        }
        assert_eq!(credit.events, [(1.0, Change::Stream)]);
    }
}
