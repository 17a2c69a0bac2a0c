//! An event as in the file: the fields of all drafts side by side, under their names in the file.
//!
//! | draft | event | number, size of a packet | length of a frame |
//! | --- | --- | --- | --- |
//! | 00, 01 | list in the order of `event_fields` | `header.packet_number`, `header.packet_size` | `length` |
//! | 02 to 0.3 | object; `name` is `category:event` | `header.packet_number`, `raw.length` | `length` |
//! | 0.4 and later | object; `name` is `quic:event` | the same | `raw.length`, `raw.payload_length` |
//!
//! picoquic and mvfst write draft-00 with names of their own, quinn puts the size into `header.length`. The path of a packet of
//! Multipath QUIC is `path_id` of its header (noq, quiclab) or of its event (picoquic: a place in the list), and of frames that
//! acknowledge. `tuple`, before main-schema-12 `path`, names addresses: a connection that moves has several of them and one
//! series of packet numbers, so it is the path only in connections whose frames have paths.

use super::lenient::{List, Real, Text, Uint, record};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

record! {
    /// Lengths of a packet, frame or datagram.
    Raw {
        length: Uint = "length",
        payload_length: Uint = "payload_length",
    }
}

record! {
    Header {
        packet_type: Text<'a> = "packet_type",
        packet_number: Uint = "packet_number",
        packet_size: Uint = "packet_size",
        length: Uint = "length",
        path_id: Uint = "path_id",
        dcid: Text<'a> = "dcid",
    }
}

record! {
    Frame {
        frame_type: Text<'a> = "frame_type",
        stream_id: Uint = "stream_id" | "id",
        offset: Uint = "offset",
        length: Uint = "length",
        payload_length: Uint = "payload_length",
        raw: Raw<'a> = "raw",
        acked_ranges: List<List<Uint>> = "acked_ranges",
        maximum: Uint = "maximum",
        limit: Uint = "limit",
        path_id: Uint = "path_id" | "path_identifier",
    }
}

record! {
    /// `data` of every kind of event.
    Data {
        packet_type: Text<'a> = "packet_type",
        /// Packet type in aioquic's `packet_lost`.
        type_name: Text<'a> = "type",
        packet_number_space: Text<'a> = "packet_number_space",
        packet_number: Uint = "packet_number",
        packet_size: Uint = "packet_size",
        header: Header<'a> = "header",
        raw: Raw<'a> = "raw",
        frames: List<Frame<'a>> = "frames",
        cwnd: Real = "congestion_window" | "cwnd" | "current_cwnd",
        in_flight: Real = "bytes_in_flight" | "in_flight",
        ssthresh: Real = "ssthresh",
        smoothed_rtt: Real = "smoothed_rtt" | "srtt",
        latest_rtt: Real = "latest_rtt",
        min_rtt: Real = "min_rtt",
        pacing_rate: Real = "pacing_rate",
        new: Text<'a> = "new",
        state: Text<'a> = "state",
        /// Largest number in mvfst's `packets_lost`, with `lost_packets`.
        largest_lost: Uint = "largest_lost_packet_num",
        lost_packets: Uint = "lost_packets",
        count: Uint = "count",
        byte_length: Uint = "byte_length",
        path_id: Uint = "path_id",
    }
}

record! {
    Event {
        time: Real = "time",
        relative_time: Real = "relative_time",
        delta_time: Real = "delta_time",
        name: Text<'a> = "name",
        event: Text<'a> = "event" | "event_type" | "type",
        group_id: Text<'a> = "group_id",
        path_id: Uint = "path_id",
        tuple: Text<'a> = "tuple" | "path",
        time_format: Text<'a> = "time_format",
        reference_time: Real = "reference_time",
        data: Data<'a> = "data",
    }
}

/// Meaning of a position in the list of an event (`event_fields` of draft-00 and draft-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Time,
    RelativeTime,
    DeltaTime,
    Name,
    Event,
    Group,
    /// Path ID of picoquic with Multipath QUIC.
    PathId,
    /// An object at this position is the data: some stacks declare `TRIGGER` and then omit it.
    Data,
    Ignored,
}

impl Role {
    /// Roles without a description: `[time, category, event, trigger, data]`, or the same without trigger.
    pub(super) const DEFAULT: [Self; 5] =
        [Self::RelativeTime, Self::Ignored, Self::Event, Self::Data, Self::Data];

    pub(super) fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "time" => Self::Time,
            "relative_time" => Self::RelativeTime,
            "delta_time" => Self::DeltaTime,
            "name" => Self::Name,
            "event" | "event_type" | "type" => Self::Event,
            "group_id" => Self::Group,
            "path_id" => Self::PathId,
            "data" | "trigger" => Self::Data,
            _ => Self::Ignored,
        }
    }
}

/// Reads an event, a list in the order of these roles or an object.
pub(super) struct EventIn<'f>(pub(super) &'f [Role]);

impl<'de> DeserializeSeed<'de> for EventIn<'_> {
    type Value = Event<'de>;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Event<'de>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EventIn<'_> {
    type Value = Event<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an event: an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Event<'de>, A::Error> {
        Event::deserialize(serde::de::value::MapAccessDeserializer::new(map))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Event<'de>, A::Error> {
        let mut event = Event::default();
        let mut any = false;
        for role in self.0 {
            let more = match role {
                Role::Time => list.next_element()?.map(|value| event.time = value),
                Role::RelativeTime => list.next_element()?.map(|value| event.relative_time = value),
                Role::DeltaTime => list.next_element()?.map(|value| event.delta_time = value),
                Role::Name => list.next_element()?.map(|value| event.name = value),
                Role::Event => list.next_element()?.map(|value| event.event = value),
                Role::Group => list.next_element()?.map(|value| event.group_id = value),
                Role::PathId => list.next_element()?.map(|value| event.path_id = value),
                Role::Data => list.next_element::<Maybe<'de>>()?.map(|value| {
                    if let Some(data) = value.0 {
                        event.data = data;
                    }
                }),
                Role::Ignored => list.next_element::<IgnoredAny>()?.map(drop),
            };
            if more.is_none() {
                break;
            }
            any = true;
        }
        if !any {
            return Err(A::Error::invalid_length(0, &self));
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(event)
    }
}

/// Data, if the value is an object.
struct Maybe<'a>(Option<Data<'a>>);

impl<'de> Deserialize<'de> for Maybe<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Maybe<'de>;
            super::lenient::otherwise!(Maybe(None); unit number text list);
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Maybe<'de>, A::Error> {
                let from = serde::de::value::MapAccessDeserializer::new(map);
                Ok(Maybe(Some(Data::deserialize(from)?)))
            }
        }
        from.deserialize_any(Any)
    }
}
