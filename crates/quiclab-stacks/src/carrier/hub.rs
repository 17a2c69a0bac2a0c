//! The QUIC endpoint of the tunnel.

use super::config::HubConfig;
use super::event::{HubError, HubEvent, Outgoing, SessionId};
use super::keys::PublicKey;
use bytes::Bytes;
use quiclab_core::scheduler::PathState;
use quiclab_core::tunnel::{Cargo, Carrier};
use quiclab_core::{Metrics, Packet, Time};
use std::net::SocketAddr;

/// All sessions of a process.
pub struct Hub {}

impl Hub {
    /// A hub; it does nothing before [`Hub::connect`] or [`Hub::receive`].
    ///
    /// # Errors
    /// If a value of the configuration is not allowed.
    pub fn new(config: HubConfig) -> Result<Self, HubError> {
        todo!("{config:?}")
    }

    /// Opens a session over `paths` (local and remote address); path `i` is `paths[i]`. [`HubEvent::SessionOpened`]
    /// follows, once and again after each loss of the session: the hub tries until [`Hub::close`].
    ///
    /// # Errors
    /// If this is a server or an address cannot be used.
    pub fn connect(&mut self, now: Time, paths: &[(SocketAddr, SocketAddr)]) -> Result<SessionId, HubError> {
        todo!("{now} {paths:?}")
    }

    /// Adds a path to a client's session, and returns its number.
    ///
    /// # Errors
    /// If there is no such session, or an address cannot be used.
    pub fn add_path(
        &mut self,
        now: Time,
        session: SessionId,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<usize, HubError> {
        todo!("{now} {session:?} {local} {remote}")
    }

    /// Removes a path of a client's session for good.
    ///
    /// # Errors
    /// If there is no such session or path.
    pub fn remove_path(&mut self, now: Time, session: SessionId, path: usize) -> Result<(), HubError> {
        todo!("{now} {session:?} {path}")
    }

    /// The local address of a client's path has changed.
    ///
    /// # Errors
    /// If there is no such session or path.
    pub fn rebind_path(
        &mut self,
        now: Time,
        session: SessionId,
        path: usize,
        local: SocketAddr,
    ) -> Result<(), HubError> {
        todo!("{now} {session:?} {path} {local}")
    }

    /// A UDP datagram arrives: `packet.tuple` is from the remote to the local address.
    pub fn receive(&mut self, now: Time, packet: Packet) {
        todo!("{now} {packet:?}")
    }

    /// What is to be sent now; ask until `None`.
    pub fn transmit(&mut self, now: Time) -> Option<Outgoing> {
        todo!("{now}")
    }

    /// Handles the timers that are due.
    pub fn wake(&mut self, now: Time) {
        todo!("{now}")
    }

    /// When [`Hub::wake`] wants to be called.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        todo!()
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<HubEvent> {
        todo!()
    }

    /// The sessions, by number.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionId> {
        todo!()
    }

    /// Who is at the other end of an open session.
    #[must_use]
    pub fn peer(&self, session: SessionId) -> Option<PublicKey> {
        todo!("{session:?}")
    }

    /// Local and remote address of a path; `None` while there is no connection.
    #[must_use]
    pub fn addresses(&self, session: SessionId, path: usize) -> Option<(SocketAddr, SocketAddr)> {
        todo!("{session:?} {path}")
    }

    /// The session as what carries datagrams.
    pub fn carrier(&mut self, session: SessionId) -> Option<HubCarrier<'_>> {
        todo!("{session:?}")
    }

    /// Sends a control message: reliably and in order, to the same session of the other end.
    ///
    /// # Errors
    /// If the session is not open, the message is too long or too much waits.
    pub fn send_control(&mut self, session: SessionId, message: Bytes) -> Result<(), HubError> {
        todo!("{session:?} {message:?}")
    }

    /// Ends a session and tells the other end; what that takes comes with the next [`Hub::transmit`]s.
    pub fn close(&mut self, now: Time, session: SessionId) {
        todo!("{now} {session:?}")
    }

    /// Ends all sessions.
    pub fn close_all(&mut self, now: Time) {
        todo!("{now}")
    }
}

/// A session of a hub as [`Carrier`]. Its `receive` is [`Hub::receive`], its `wake` [`Hub::wake`]; its `transmit`
/// gives the packets of this session only, one datagram each.
pub struct HubCarrier<'a> {
    hub: &'a mut Hub,
    session: SessionId,
}

impl Carrier for HubCarrier<'_> {
    fn paths(&self) -> usize {
        let _ = (&self.hub, self.session);
        todo!()
    }
    fn state(&self, _now: Time, _path: usize) -> PathState {
        todo!()
    }
    fn largest_datagram(&self, _path: usize) -> Option<u16> {
        todo!()
    }
    fn send(&mut self, _now: Time, _path: usize, _cargo: Cargo) -> Result<(), Cargo> {
        todo!()
    }
    fn set_backlogged(&mut self, _backlogged: bool) {
        todo!()
    }
    fn receive(&mut self, _now: Time, _path: usize, _packet: Packet) {
        todo!()
    }
    fn delivered(&mut self) -> Option<(usize, Cargo)> {
        todo!()
    }
    fn transmit(&mut self, _now: Time) -> Option<(usize, Packet)> {
        todo!()
    }
    fn wake(&mut self, _now: Time) {
        todo!()
    }
    fn next_wake(&self) -> Option<Time> {
        todo!()
    }
    fn failure(&self) -> Option<&str> {
        todo!()
    }
    fn statistics(&self, _out: &mut Metrics) {
        todo!()
    }
}
