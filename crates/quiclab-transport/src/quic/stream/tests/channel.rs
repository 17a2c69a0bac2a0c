//! Two ends and a channel that loses, duplicates, delays and reorders; data written and data read.

use super::*;
use crate::quic::stream::size;
use quiclab_core::RandomStream;
use std::collections::BTreeMap;

/// Record of one direction of a stream.
#[derive(Debug, Default)]
pub(super) struct Book {
    written: u64,
    finished: bool,
    /// Whether the sender has reset it, or the receiver has requested it.
    given_up: bool,
    /// Whether the receiver has stopped it.
    stopped: bool,
    received: u64,
    ended: bool,
    reset: bool,
    acknowledged: bool,
}

struct Packet {
    from: usize,
    frames: Vec<(QuicFrame, SentFrame)>,
    arrived: bool,
    declared_lost: bool,
}

/// Two ends with a channel; 0 is the client, 1 the server.
pub(super) struct Channel {
    pub(super) ends: [Streams; 2],
    random: RandomStream,
    now: Time,
    packets: Vec<Packet>,
    /// Records by sending end and stream.
    books: BTreeMap<(usize, StreamId), Book>,
    endless: Vec<(usize, StreamId)>,
    /// Whether losses and resets have ended.
    calm: bool,
}

impl Channel {
    pub(super) fn new(ends: [Streams; 2], seed: u64) -> Self {
        let random = RandomStream::new(seed, "channel");
        let (now, packets) = (Time::ZERO, Vec::new());
        Self { ends, random, now, packets, books: BTreeMap::new(), endless: Vec::new(), calm: false }
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.random.bits() % limit as u64) as usize
    }

    /// Performs one random operation.
    pub(super) fn step(&mut self) {
        let pause_ms = self.below(12) as u64;
        self.now += Duration::from_millis(pause_ms);
        let end = self.below(2);
        match self.below(10) {
            0 | 1 => self.application(end),
            2..=4 => self.send(end),
            _ if self.packets.is_empty() => self.send(end),
            _ => self.packet(),
        }
        self.check();
    }

    /// Performs a random action of an application.
    pub(super) fn application(&mut self, end: usize) {
        if self.below(3) == 0 {
            let bidirectional = self.below(3) > 0;
            if let Some(id) = self.ends[end].open(bidirectional) {
                self.books.insert((end, id), Book::default());
                if bidirectional {
                    self.books.insert((1 - end, id), Book::default());
                }
            }
        }
        let places: Vec<_> = self.books.keys().copied().filter(|(from, _)| *from == end).collect();
        if places.is_empty() {
            return;
        }
        let (_, id) = places[self.below(places.len())];
        // a stream of the peer exists once a frame of it has arrived
        let exists = self.ends[end].table.find(id).is_some();
        let action = self.below(20);
        let bytes = self.below(1500) as u64;
        let urgency = self.below(8) as u8;
        let book = self.books.get_mut(&(end, id)).unwrap();
        let is_open = exists && !book.finished && !book.given_up;
        match action {
            0..=9 if is_open => {
                self.ends[end].write(id, bytes);
                book.written = book.written.saturating_add(bytes);
            }
            10 if is_open && self.endless.len() < 2 => {
                self.ends[end].write(id, u64::MAX);
                book.written = u64::MAX;
                self.endless.push((end, id));
            }
            11..=14 if is_open && book.written < u64::MAX => {
                self.ends[end].finish(id);
                book.finished = true;
            }
            15 if exists => {
                self.ends[end].reset(id);
                book.given_up = true;
            }
            16 if exists => self.stop(end, id),
            17 => self.ends[end].set_priority(id, Priority { urgency, incremental: bytes.is_multiple_of(2) }),
            18 => drop(self.ends[end].probe(bytes.is_multiple_of(2), 1200)),
            _ => {}
        }
    }

    fn stop(&mut self, end: usize, id: StreamId) {
        if self.ends[end].wire == Wire::Gquic37 {
            return; // it would have no effect
        }
        self.ends[end].stop(id);
        if let Some(book) = self.books.get_mut(&(1 - end, id)) {
            book.stopped |= !book.ended && !book.reset;
        }
    }

    /// Sends a packet of random size of an end.
    pub(super) fn send(&mut self, end: usize) {
        let mut room = if self.calm { 1200 } else { 20 + self.below(1200) };
        let streams = &mut self.ends[end];
        let wire = streams.wire;
        let mut frames = Vec::new();
        while let Some((frame, sent)) = streams.next_control(self.now, room) {
            room -= size::control(wire, &frame);
            frames.push((frame, sent));
        }
        while let Some((frame, sent)) = streams.next_data(room) {
            let QuicFrame::Stream { stream_id, offset, length, last, .. } = frame else { unreachable!() };
            let header = size::stream_header(wire, StreamId(stream_id), offset) + usize::from(length);
            let length_field = size::length_field(wire, length.into());
            frames.push((frame, sent));
            if last {
                assert!(header <= room && header + length_field > room, "{header} of {room}");
                break;
            }
            room -= header + length_field;
        }
        if !frames.is_empty() {
            self.packets.push(Packet { from: end, frames, arrived: false, declared_lost: false });
        }
    }

    /// Delivers, acknowledges, declares lost or drops a random packet.
    fn packet(&mut self) {
        let index = self.below(self.packets.len());
        let action = self.below(8);
        let Packet { arrived, declared_lost, .. } = self.packets[index];
        match action {
            0..=3 => self.arrive(index), // also for the second time
            4 | 5 if arrived => self.acknowledge(index),
            6 if !declared_lost => self.lose(index), // it may still arrive, or have arrived
            7 if declared_lost && !arrived => drop(self.packets.swap_remove(index)),
            _ => {}
        }
    }

    fn arrive(&mut self, index: usize) {
        let packet = &mut self.packets[index];
        let to = 1 - packet.from;
        packet.arrived = true;
        for (frame, _) in &packet.frames {
            let result = self.ends[to].on_frame(self.now, frame, RTT);
            assert_eq!(result, Ok(()), "{frame:?}");
        }
        self.events(to);
    }

    fn acknowledge(&mut self, index: usize) {
        let packet = self.packets.swap_remove(index);
        packet.frames.iter().for_each(|(_, sent)| self.ends[packet.from].on_acked(sent));
        self.events(packet.from);
    }

    fn lose(&mut self, index: usize) {
        let packet = &mut self.packets[index];
        packet.declared_lost = true;
        packet.frames.iter().for_each(|(_, sent)| self.ends[packet.from].on_lost(sent));
    }

    fn events(&mut self, end: usize) {
        while let Some(event) = self.ends[end].next_event() {
            match event {
                StreamEvent::Received { id, bytes, end: is_end } => {
                    let book = self.books.get_mut(&(1 - end, id)).expect("a stream that was opened");
                    assert!(!book.ended && !book.reset && !book.stopped, "{id:?} is told after its end");
                    assert!(bytes > 0 || is_end);
                    book.received += bytes;
                    book.ended = is_end;
                    assert!(book.received <= book.written, "{id:?}: {book:?}");
                    assert!(!is_end || book.finished && book.received == book.written, "{id:?}: {book:?}");
                }
                StreamEvent::Reset { id } => {
                    let book = self.books.get_mut(&(1 - end, id)).expect("a stream that was opened");
                    assert!(book.given_up && !book.ended && !book.reset && !book.stopped, "{id:?}: {book:?}");
                    book.reset = true;
                }
                StreamEvent::Stopped { id } => {
                    let book = self.books.get_mut(&(end, id)).expect("a stream that was opened");
                    assert!(book.stopped && !book.given_up, "{id:?}: {book:?}");
                    book.given_up = true;
                }
                StreamEvent::Acknowledged { id } => {
                    let book = self.books.get_mut(&(end, id)).expect("a stream that was opened");
                    let is_told = book.stopped || book.ended && book.received == book.written;
                    assert!(book.finished && is_told && !book.acknowledged, "{id:?}: {book:?}");
                    book.acknowledged = true;
                }
                StreamEvent::Available => {}
            }
        }
    }

    /// Compares the lists with those computed from scratch.
    fn check(&mut self) {
        for streams in &mut self.ends {
            assert!(streams.unacked <= streams.send_window);
            assert!(streams.credit.used() <= streams.credit.limit());
            let sending =
                || streams.table.iter().filter_map(|(_, stream)| Some((stream, stream.send.as_ref()?)));
            let allowed = |stream: &Stream| {
                let direction = usize::from(!stream.id.is_bidirectional());
                !streams.is_mine(stream.id) || stream.id.index() < streams.opening[direction].limit
            };
            let fresh = sending().filter(|(stream, send)| allowed(stream) && send.has_fresh()).count();
            let blocked = sending().filter(|(stream, send)| allowed(stream) && send.is_blocked()).count();
            let resend = sending().filter(|(stream, send)| allowed(stream) && send.has_resend()).count();
            assert_eq!((streams.fresh, streams.blocked), (fresh, blocked));
            assert_eq!(resend == 0, streams.resend.is_empty());
            assert_eq!(fresh + resend == 0, streams.ready.is_empty());
            let control =
                streams.table.iter().filter(|(_, stream)| allowed(stream) && stream.has_control(true));
            assert_eq!(control.count(), streams.control.len());
            assert!(streams.table.iter().all(|(_, stream)| !stream.is_over()));
        }
    }

    /// Discards all packets in the channel; none has arrived.
    pub(super) fn drop_all(&mut self) {
        assert!(self.packets.iter().all(|packet| !packet.arrived));
        self.packets.clear();
    }

    /// Finishes every stream without further losses: all data written are received, and no state remains.
    pub(super) fn finish(mut self) {
        self.calm = true;
        for (end, id) in std::mem::take(&mut self.endless) {
            self.ends[end].reset(id);
            self.books.get_mut(&(end, id)).unwrap().given_up = true;
        }
        for round in 0.. {
            assert!(round < 20_000, "it does not end: {:?}", self.books);
            self.now += Duration::from_millis(1);
            let mut is_over = true;
            for ((from, id), book) in &mut self.books {
                if !book.finished && !book.given_up && self.ends[*from].table.find(*id).is_some() {
                    self.ends[*from].finish(*id);
                    book.finished = true;
                    is_over = false;
                }
            }
            if is_over && self.ends.iter().all(|streams| !streams.wants_to_send()) && self.packets.is_empty()
            {
                break;
            }
            (0..2).for_each(|end| self.send(end));
            while !self.packets.is_empty() {
                let index = self.below(self.packets.len());
                let Packet { arrived, declared_lost, .. } = self.packets[index];
                if arrived {
                    self.acknowledge(index);
                } else if !declared_lost && self.below(3) == 0 {
                    self.lose(index);
                } else {
                    self.arrive(index);
                    self.check();
                }
            }
        }
        self.check_end();
    }

    fn check_end(&self) {
        for ((_, id), book) in &self.books {
            let is_complete = book.ended && book.received == book.written;
            let is_settled = is_complete || book.reset && book.given_up || book.stopped;
            assert!(is_settled, "{id:?}: {book:?}");
            assert!(book.acknowledged || book.given_up, "{id:?}: {book:?}");
        }
        for (streams, peer) in [(&self.ends[0], &self.ends[1]), (&self.ends[1], &self.ends[0])] {
            let left: Vec<_> = streams.table.iter().map(|(_, stream)| stream.id).collect();
            assert!(left.is_empty(), "{left:?}");
            assert_eq!((streams.unacked, streams.fresh, streams.blocked), (0, 0, 0));
            assert!(streams.control.is_empty() && streams.ready.is_empty() && streams.resend.is_empty());
            assert_eq!(streams.credit.used(), peer.window.received(), "both count the same bytes");
            // credit is returned for all data, except an amount below the minimum for a frame
            assert!(peer.window.remaining() > 0);
        }
    }
}
