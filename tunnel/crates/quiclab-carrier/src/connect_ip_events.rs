//! CONNECT-IP on the connections of an endpoint: input from streams of HTTP/3, and its effect on sessions.

use super::connect_ip::streams::{number, read, reject};
use super::connection::{ConnectionKey, TunnelConnection};
use super::event::{CloseReason, RefusalReason, SessionId, TunnelEndpointError, TunnelEvent};
use super::keys::PublicKey;
use super::tunnel_endpoint::{MAX_PENDING_EVENTS, TunnelEndpoint};
use super::verifier::Identity;
use noq_proto::{Dir, PathId};
use quiclab_connect_ip::capsule::Capsule;
use quiclab_connect_ip::error::{self, Http3Error};
use quiclab_connect_ip::http3::{self, Http3Event};
use quiclab_core::tunnel::TunnelPayload;
use quiclab_core::{Role, Time};
use std::collections::VecDeque;

/// Maximum number of bytes that wait for the stream of a request before the peer is no longer read.
const FULL_OUTBOX: usize = 128 << 10;
/// The path of a session; it has no other.
const PATH: usize = 0;

impl TunnelEndpoint {
    /// Reads and writes the streams of HTTP/3.
    pub(super) fn drive_http3(&mut self, now: Time, key: ConnectionKey) {
        if let Err(error) = self.exchange(now, key) {
            return self.close_with_error(now, key, (error.code, error.reason));
        }
        if let Some(conn) = self.connections.get_mut(&key) {
            conn.write(now);
        }
    }

    fn exchange(&mut self, now: Time, key: ConnectionKey) -> Result<(), Http3Error> {
        let full = self.events.len() >= MAX_PENDING_EVENTS;
        let server = self.config().role == Role::Server;
        let Some(conn) = self.connections.get_mut(&key).filter(|conn| !conn.over && conn.connected) else {
            return Ok(());
        };
        let TunnelConnection { quic, http3: Some(streams), stream, outbox, dirty, .. } = conn else {
            return Ok(());
        };
        streams.write_control(quic, dirty);
        while let Some(other) = quic.streams().accept(Dir::Uni) {
            streams.readable.push(other);
        }
        streams.unread = false;
        if full || outbox.len() > FULL_OUTBOX {
            return Ok(());
        }
        let (mut room, mut rejected) = (streams.room(now), 0);
        while let Some(other) = quic.streams().accept(Dir::Bi) {
            if server && stream.is_none() && streams.machine.takes(number(other)) {
                *stream = Some(other);
            } else {
                reject(quic, other, dirty);
                rejected += 1;
            }
        }
        let mut events = Vec::new();
        for other in std::mem::take(&mut streams.readable) {
            let machine = &mut streams.machine;
            let each = |bytes: &[u8], end| machine.receive_uni(number(other), bytes, end, &mut events);
            if read(quic, other, &mut room, dirty, each)? {
                streams.readable.push(other);
            }
        }
        if let Some(own) = stream.filter(|_| !streams.machine.holds()) {
            let machine = &mut streams.machine;
            read(quic, own, &mut room, dirty, |bytes, end| {
                machine.receive_request(number(own), bytes, end, &mut events)
            })?;
        }
        streams.leave_room(now, room);
        streams.unread = room == 0;
        // a flood is not processed further
        streams.charge(now, rejected)?;
        let mut events = VecDeque::from(events);
        streams.ready |= events.contains(&Http3Event::Ready);
        if streams.ready && stream.is_none() {
            *stream = quic.streams().open(Dir::Bi);
            if let Some(own) = *stream {
                streams.ready = false;
                outbox.extend_from_slice(&streams.machine.ask(number(own)));
            }
        }
        while let Some(event) = events.pop_front() {
            self.http3_event(now, key, event, &mut events)?;
        }
        Ok(())
    }

    fn http3_event(
        &mut self,
        now: Time,
        key: ConnectionKey,
        event: Http3Event,
        events: &mut VecDeque<Http3Event>,
    ) -> Result<(), Http3Error> {
        let Some(conn) = self.connections.get_mut(&key).filter(|conn| !conn.over) else { return Ok(()) };
        let session = conn.session.filter(|_| conn.bound);
        match event {
            Http3Event::Ready => {}
            Http3Event::Request(asked) => {
                let opened = asked.and_then(|()| self.open_for_client(now, key));
                self.answer(now, key, opened, events)?;
            }
            Http3Event::Response(200..=299) => self.opened_by_server(now, key),
            Http3Event::Response(status) => {
                let from = conn.tracks.first().map(|track| track.remote);
                if let Some(from) = from {
                    let reason = format!("the server answers with status {status}");
                    self.refused(now, from, RefusalReason::Other(reason));
                }
                self.finish(now, key, "no tunnel");
            }
            Http3Event::Capsule(Capsule::Datagram(payload)) => {
                let session = session.and_then(|id| self.sessions.get_mut(&id));
                if let (Some(session), Some(packet)) = (session, http3::packet_of(&payload)) {
                    session.deliver(PATH, TunnelPayload::Bytes(packet));
                }
            }
            Http3Event::Capsule(capsule) => {
                self.events.extend(session.map(|session| TunnelEvent::Capsule { session, capsule }));
            }
            Http3Event::End => self.finish(now, key, "the request has ended"),
        }
        Ok(())
    }

    /// Opens a session for a client that has requested a tunnel; the error is a status.
    fn open_for_client(&mut self, now: Time, key: ConnectionKey) -> Result<(SessionId, PublicKey), u16> {
        // the handshake has proved one of the known keys
        let peer = Identity::Certificate.peer(&self.connections[&key].quic).ok_or(403_u16)?;
        let (id, _) = self.new_session(now, peer).map_err(|_| 503_u16)?;
        Ok((id, peer))
    }

    fn answer(
        &mut self,
        now: Time,
        key: ConnectionKey,
        opened: Result<(SessionId, PublicKey), u16>,
        events: &mut VecDeque<Http3Event>,
    ) -> Result<(), Http3Error> {
        let Some(conn) = self.connections.get_mut(&key) else { return Ok(()) };
        let TunnelConnection { quic, http3: Some(streams), stream, outbox, .. } = conn else { return Ok(()) };
        let mut later = Vec::new();
        let answer = streams.machine.answer(opened.err().unwrap_or(200), &mut later)?;
        streams.charge(now, 0)?;
        events.extend(later);
        conn.dirty = true;
        match opened {
            Ok((session, peer)) => {
                outbox.extend_from_slice(&answer);
                streams.header = streams.machine.datagram_header().freeze();
                if let Some(prefix) = conn.half_open.take() {
                    self.half_open.closed(prefix);
                }
                if let Some(session) = self.sessions.get_mut(&session) {
                    (session.open, session.connect_ip) = (true, true);
                }
                self.events.push_back(TunnelEvent::SessionOpened { session, peer });
                self.bind(now, session, key, PATH, PathId::ZERO);
            }
            Err(status) => {
                let Some(own) = stream.take() else { return Ok(()) };
                let mut send = quic.send_stream(own);
                if send.write(&answer) != Ok(answer.len()) || send.finish().is_err() {
                    let _ = quic.send_stream(own).reset(error::REQUEST_REJECTED.into());
                }
                let _ = quic.recv_stream(own).stop(error::NO_ERROR.into());
                let from = conn.tracks.first().map(|track| track.remote);
                if let Some(from) = from {
                    let reason = format!("its request is answered with status {status}");
                    self.refused(now, from, RefusalReason::Other(reason));
                }
            }
        }
        Ok(())
    }

    /// Handles the opening of the requested tunnel by the server.
    fn opened_by_server(&mut self, now: Time, key: ConnectionKey) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        if let Some(streams) = &mut conn.http3 {
            streams.header = streams.machine.datagram_header().freeze();
        }
        // a server certified by authorities may have a key of another kind
        let peer = Identity::Certificate.peer(&conn.quic).unwrap_or(PublicKey::NONE);
        let Some(id) = conn.session else { return };
        let Some(session) = self.sessions.get_mut(&id) else { return };
        (session.open, session.peer, session.connect_ip) = (true, Some(peer), true);
        self.events.push_back(TunnelEvent::SessionOpened { session: id, peer });
        self.bind(now, id, key, PATH, PathId::ZERO);
        self.maintain(now, id);
    }

    /// Ends a connection without an error.
    fn finish(&mut self, now: Time, key: ConnectionKey, reason: &'static str) {
        if let Some(session) = self.close_connection(now, key, (error::NO_ERROR, reason)) {
            self.detach(now, session, key, CloseReason::Remote(reason.to_owned()));
        }
    }

    /// Sends a capsule to the peer of a session of CONNECT-IP.
    ///
    /// # Errors
    /// If there is no such session, or it is not open.
    pub fn send_capsule(&mut self, id: SessionId, capsule: &Capsule) -> Result<(), TunnelEndpointError> {
        let session = self.sessions.get(&id).ok_or(TunnelEndpointError::NoSession(id))?;
        let open = session.slots.get(PATH).filter(|_| session.open && session.connect_ip);
        let key = open.and_then(|slot| slot.connection).ok_or(TunnelEndpointError::NotOpen(id))?;
        let conn = self.connections.get_mut(&key).ok_or(TunnelEndpointError::NotOpen(id))?;
        conn.outbox.extend_from_slice(&http3::data(capsule));
        conn.flush(self.now);
        conn.write(self.now);
        conn.dirty = true;
        self.active.insert(key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::connect_ip::{ConnectIpConfig, ServerTrust};
    use super::super::keys::PublicKey;
    use super::super::testing::{Pair, addresses};
    use super::super::verifier::Identity;
    use quiclab_connect_ip::budget::BYTES_PER_TURN;
    use quiclab_connect_ip::capsule::Capsule;
    use quiclab_connect_ip::message::Target;
    use quiclab_core::{Duration, Role};
    use quiclab_stacks::certificate;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

    fn own() -> PublicKey {
        Identity::Certificate.key(&CertificateDer::from(certificate().0)).unwrap()
    }

    fn connect_ip(role: Role) -> ConnectIpConfig {
        let target = Target { authority: "vpn.example".to_owned(), path: "/tunnel".to_owned() };
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certificate().1));
        let mut config =
            ConnectIpConfig::new(target, vec![CertificateDer::from(certificate().0)], key).unwrap();
        match role {
            Role::Client => config.trust = Some(ServerTrust::Key(own())),
            Role::Server => config.ports = vec![addresses(0).1.port()],
        }
        config
    }

    /// Length of the packets in capsules, and their number, which fills several turns.
    const PACKET: usize = 1000;
    const COUNT: usize = 55;

    #[test]
    fn what_several_datagrams_bring_in_one_turn_has_one_budget() {
        let mut pair = Pair::new(|config| {
            config.connect_ip = Some(connect_ip(config.role));
            config.peers = [own()].into_iter().collect();
        });
        let (session, at_server) = pair.establish();
        let packet = [&[0][..], &[0x45; PACKET - 1]].concat();
        for _ in 0..COUNT {
            pair.client.send_capsule(session, &Capsule::Datagram(packet.clone().into())).unwrap();
        }
        let datagrams = Pair::sent(&mut pair.client, pair.now);
        let bytes = datagrams.len() * 1200;
        assert!(bytes > 2 * BYTES_PER_TURN, "{bytes} bytes in flight");
        let now = pair.now + Duration::from_millis(5);
        datagrams.into_iter().for_each(|sent| pair.server.receive(now, sent.packet));
        let delivered = |pair: &Pair| pair.server.sessions[&at_server].delivered_packets();
        let first = delivered(&pair);
        assert!((1..=BYTES_PER_TURN / PACKET).contains(&first), "{first} packets in one turn");
        // the rest follows in the next turns, which need no further datagram
        pair.now = now;
        pair.run(Duration::from_millis(200));
        assert_eq!(delivered(&pair), COUNT);
    }
}
