//! Encryption layer that passes the plaintext of every packet to an observation.
//!
//! Wraps the TLS configurations of both stacks, their sessions and the keys of these, without changes: the
//! bytes on the wire are the same with and without it. A packet is shown before encryption and after
//! decryption; one that fails authentication is not shown, a duplicate is shown again.
//!
//! The crypto traits of the two stacks differ in four details: how a connection ID is passed, the type of
//! `self` in a configuration, and the path ID of Multipath QUIC. One macro contains the code.

/// Path ID, which noq exposes only as text.
pub(crate) fn path_number(is_first: bool, path: &impl std::fmt::Display) -> usize {
    if is_first { 0 } else { path.to_string().parse().expect("a path ID is a number") }
}

macro_rules! observed_crypto {
    (
        $proto:ident, connection ID $cid:ty, receiver $receiver:ty,
        path $($path:ident: $path_type:ty)?
    ) => {
        mod observed {
            use crate::observation::SharedObservation;
            use bytes::BytesMut;
            use quiclab_core::PacketSpace;
            use std::any::Any;
            use std::sync::Arc;
            use $proto::crypto::{
                ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
                ServerConfig, Session, UnsupportedVersion,
            };
            use $proto::transport_parameters::TransportParameters;
            use $proto::{ConnectError, ConnectionId, Side, TransportError};

            /// Client or server configuration with the observation of its connections.
            pub(crate) struct Observed<T: ?Sized> {
                pub(crate) observation: SharedObservation,
                pub(crate) inner: Arc<T>,
            }

            impl ClientConfig for Observed<dyn ClientConfig> {
                fn start_session(
                    self: $receiver,
                    version: u32,
                    server_name: &str,
                    params: &TransportParameters,
                ) -> Result<Box<dyn Session>, ConnectError> {
                    let inner = self.inner.clone().start_session(version, server_name, params)?;
                    Ok(Box::new(ObservedSession::new(inner, self.observation.clone())))
                }
            }

            impl ServerConfig for Observed<dyn ServerConfig> {
                fn initial_keys(&self, version: u32, id: $cid) -> Result<Keys, UnsupportedVersion> {
                    let keys = self.inner.initial_keys(version, id)?;
                    Ok(observe(keys, PacketSpace::Initial, &self.observation))
                }

                fn retry_tag(&self, version: u32, id: $cid, packet: &[u8]) -> [u8; 16] {
                    self.inner.retry_tag(version, id, packet)
                }

                fn start_session(
                    self: $receiver,
                    version: u32,
                    params: &TransportParameters,
                ) -> Box<dyn Session> {
                    let inner = self.inner.clone().start_session(version, params);
                    Box::new(ObservedSession::new(inner, self.observation.clone()))
                }
            }

            struct ObservedSession {
                inner: Box<dyn Session>,
                observation: SharedObservation,
                /// Packet number space of the next keys that the handshake yields.
                next: PacketSpace,
            }

            impl ObservedSession {
                fn new(inner: Box<dyn Session>, observation: SharedObservation) -> Self {
                    Self { inner, observation, next: PacketSpace::Handshake }
                }

                fn key(&self, inner: Box<dyn PacketKey>, space: PacketSpace) -> Box<dyn PacketKey> {
                    Box::new(ObservedKey { inner, space, observation: self.observation.clone() })
                }
            }

            impl Session for ObservedSession {
                fn initial_keys(&self, id: $cid, side: Side) -> Keys {
                    observe(self.inner.initial_keys(id, side), PacketSpace::Initial, &self.observation)
                }

                fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
                    let keys = self.inner.write_handshake(buf)?;
                    let space = std::mem::replace(&mut self.next, PacketSpace::OneRtt);
                    Some(observe(keys, space, &self.observation))
                }

                fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
                    let keys = self.inner.next_1rtt_keys()?;
                    Some(KeyPair {
                        local: self.key(keys.local, PacketSpace::OneRtt),
                        remote: self.key(keys.remote, PacketSpace::OneRtt),
                    })
                }

                fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
                    let (header, packet) = self.inner.early_crypto()?;
                    Some((header, self.key(packet, PacketSpace::ZeroRtt)))
                }

                fn handshake_data(&self) -> Option<Box<dyn Any>> {
                    self.inner.handshake_data()
                }
                fn peer_identity(&self) -> Option<Box<dyn Any>> {
                    self.inner.peer_identity()
                }
                fn early_data_accepted(&self) -> Option<bool> {
                    self.inner.early_data_accepted()
                }
                fn is_handshaking(&self) -> bool {
                    self.inner.is_handshaking()
                }
                fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
                    self.inner.read_handshake(buf)
                }
                fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
                    self.inner.transport_parameters()
                }
                fn is_valid_retry(&self, id: $cid, header: &[u8], payload: &[u8]) -> bool {
                    self.inner.is_valid_retry(id, header, payload)
                }
                fn export_keying_material(
                    &self,
                    output: &mut [u8],
                    label: &[u8],
                    context: &[u8],
                ) -> Result<(), ExportKeyingMaterialError> {
                    self.inner.export_keying_material(output, label, context)
                }
            }

            fn observe(keys: Keys, space: PacketSpace, observation: &SharedObservation) -> Keys {
                let key = |inner| Box::new(ObservedKey { inner, space, observation: observation.clone() });
                let packet = KeyPair { local: key(keys.packet.local) as _, remote: key(keys.packet.remote) as _ };
                Keys { header: keys.header, packet }
            }

            struct ObservedKey {
                inner: Box<dyn PacketKey>,
                space: PacketSpace,
                observation: SharedObservation,
            }

            impl PacketKey for ObservedKey {
                fn encrypt(&self, $($path: $path_type,)? packet: u64, buf: &mut [u8], header_len: usize) {
                    let (header, rest) = buf.split_at(header_len);
                    let payload = &rest[..rest.len() - self.inner.tag_len()];
                    let path = 0 $(+ crate::crypto_observer::path_number($path == <$path_type>::ZERO, &$path))?;
                    self.observation.lock().sent(self.space, path, packet, header, payload);
                    self.inner.encrypt($($path,)? packet, buf, header_len);
                }

                fn decrypt(
                    &self,
                    $($path: $path_type,)?
                    packet: u64,
                    header: &[u8],
                    payload: &mut BytesMut,
                ) -> Result<(), CryptoError> {
                    self.inner.decrypt($($path,)? packet, header, payload)?;
                    let path = 0 $(+ crate::crypto_observer::path_number($path == <$path_type>::ZERO, &$path))?;
                    self.observation.lock().received(self.space, path, packet, header, payload);
                    Ok(())
                }

                fn tag_len(&self) -> usize {
                    self.inner.tag_len()
                }
                fn confidentiality_limit(&self) -> u64 {
                    self.inner.confidentiality_limit()
                }
                fn integrity_limit(&self) -> u64 {
                    self.inner.integrity_limit()
                }
            }
        }
    };
}
pub(crate) use observed_crypto;
