//! Replacement of `connect_ip` in a build without the feature `connect-ip`: types without values, so that no connection uses it.

use crate::keys::KnownPeers;
use crate::randomness::Randomness;
use bytes::Bytes;
use noq_proto::Connection;
use quiclab_core::tunnel::TunnelPayload;
use quiclab_core::{PacketMemory, Role};
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;

/// Configuration of CONNECT-IP at one end: there is none in this build.
#[derive(Clone, Debug)]
pub enum ConnectIpConfig {}

impl ConnectIpConfig {
    /// Whether it has the same certificates as `other`.
    #[must_use]
    pub fn has_certificates_of(&self, _: &Self) -> bool {
        match *self {}
    }
    pub(crate) fn has_trust_of(&self, _: &Self) -> bool {
        match *self {}
    }
    pub(crate) fn has_port(&self, _: u16) -> bool {
        match *self {}
    }
    pub(crate) fn client(&self, _: Randomness) -> Arc<ClientConfig> {
        match *self {}
    }
    pub(crate) fn server(&self, _: &KnownPeers, _: Randomness) -> Arc<ServerConfig> {
        match *self {}
    }
    pub(crate) fn knows_server(&self, _: Randomness, _: &Connection) -> bool {
        match *self {}
    }
    pub(crate) fn streams(&self, _: Role) -> Box<Http3Streams> {
        match *self {}
    }
    pub(crate) fn host(&self) -> &str {
        match *self {}
    }
}

/// The HTTP/3 of a connection: none has it in this build.
#[derive(Debug)]
pub(crate) enum Http3Streams {}

impl Http3Streams {
    pub(crate) fn encode(&self, _: &TunnelPayload, _: &mut PacketMemory) -> Option<Bytes> {
        match *self {}
    }
    pub(crate) fn overhead(&self) -> usize {
        match *self {}
    }
    pub(crate) fn packet(&self, _: &Bytes) -> Result<Option<Bytes>, (u32, &'static str)> {
        match *self {}
    }
    pub(crate) fn is_unread(&self) -> bool {
        match *self {}
    }
    pub(crate) fn no_error(&self) -> u32 {
        match *self {}
    }
}
