//! Frames of HTTP/2 as they travel in segments of lab-tcp.
//!
//! They are the contents of a [`Record`](crate::Record).

/// A frame (RFC 9113 section 4.1), its content as values or as a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http2Frame {
    /// No frame: the client's connection preface, before the first one (RFC 9113 section 3.4).
    Preface,
    /// SETTINGS (RFC 9113 section 6.5).
    Settings {
        /// Number of parameters.
        count: u8,
        /// SETTINGS_MAX_CONCURRENT_STREAMS, if present.
        max_streams: Option<u32>,
        /// SETTINGS_INITIAL_WINDOW_SIZE, if present.
        stream_window: Option<u32>,
    },
    /// SETTINGS with ACK.
    SettingsAck,
    /// WINDOW_UPDATE (RFC 9113 section 6.9).
    WindowUpdate {
        /// Stream; 0 for the connection.
        stream: u32,
        /// Window size increment in bytes.
        increment: u32,
    },
    /// HEADERS with a whole field section (RFC 9113 section 6.2).
    Headers {
        /// Stream.
        stream: u32,
        /// Length of the field section, compressed.
        section: u32,
        /// Whether the frame states a stream dependency (RFC 7540 section 5.3, deprecated by RFC 9113).
        dependency: bool,
        /// END_STREAM.
        end: bool,
        /// Resource of the page that a request is for; contained in the field section.
        resource: u32,
    },
    /// DATA (RFC 9113 section 6.1).
    Data {
        /// Stream.
        stream: u32,
        /// Payload in bytes; no padding.
        length: u32,
        /// END_STREAM.
        end: bool,
    },
}

impl Http2Frame {
    /// Length of the header of a frame in bytes.
    pub const HEADER: u64 = 9;

    /// Length in bytes, header included.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        let payload = match *self {
            Self::Preface => return 24,
            Self::Settings { count, .. } => 6 * count as u64,
            Self::SettingsAck => 0,
            Self::WindowUpdate { .. } => 4,
            // exclusive bit with the stream, and weight
            Self::Headers { section, dependency, .. } => section as u64 + if dependency { 5 } else { 0 },
            Self::Data { length, .. } => length as u64,
        };
        Self::HEADER + payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9113: section 3.4 the preface, 6.5.1 six bytes per setting, 6.9 four, 6.2 four and one of a
    /// dependency.
    #[test]
    fn frames_are_as_long_as_their_fields() {
        assert_eq!(Http2Frame::Preface.bytes(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len() as u64);
        assert_eq!(Http2Frame::Settings { count: 5, max_streams: None, stream_window: None }.bytes(), 39);
        assert_eq!(Http2Frame::SettingsAck.bytes(), 9);
        assert_eq!(Http2Frame::WindowUpdate { stream: 0, increment: 1 }.bytes(), 13);
        let headers = |dependency| {
            Http2Frame::Headers { stream: 1, section: 100, dependency, end: true, resource: 0 }.bytes()
        };
        assert_eq!((headers(false), headers(true)), (109, 114));
        assert_eq!(Http2Frame::Data { stream: 1, length: 16_384, end: true }.bytes(), 16_393);
    }
}
