//! Both ends by hand, hostile frames, and random operations over a bad channel.

mod channel;
mod data;
mod halves;
mod hostile;
mod limits;
mod random;
mod rejected;

use super::*;
use crate::options::QuicValues;
use crate::quic::config::test_config;
use crate::quic::sent::SentFrame;
use quiclab_core::quic::QuicFrame;
use quiclab_core::{ByteCount, Duration, Time};

const RTT: Option<Duration> = Some(Duration::from_millis(20));

/// Methods that no application of this build uses.
impl Streams {
    /// Bytes of stream data sent for the first time that the peer's windows still permit, regardless of the
    /// data written; 0: flow control blocks all data. It is the connection's credit, or 0 if limits of
    /// streams block all waiting data.
    fn credit(&self) -> u64 {
        if self.fresh == 0 && self.blocked > 0 { 0 } else { self.credit.remaining() }
    }

    /// Stops reading, with STOP_SENDING; the application receives no further events of the stream. No effect
    /// in Google QUIC 37, which has no such frame.
    fn stop(&mut self, id: StreamId) {
        if self.wire == Wire::Gquic37 {
            return;
        }
        let Some(handle) = self.table.find(id) else { return };
        let Some(receive) = &mut self.table.get_mut(handle).receive else { return };
        let read = receive.stop();
        // without time and RTT no window grows; a fixed one returns its credit
        self.window.on_discarded_read(read);
        self.refresh(handle);
    }
}

/// Configuration with windows of streams and connection in bytes, and the number of streams that the peer may
/// open.
fn config(stream: u64, connection: u64, max_streams: u64) -> Config {
    Config {
        stream_receive_window: ByteCount::from_bytes(stream),
        connection_receive_window: ByteCount::from_bytes(connection),
        quic: QuicValues { max_streams, ..test_config().quic },
        ..test_config()
    }
}

fn parameters(streams: &Streams) -> TransportParameters {
    let mut parameters = TransportParameters::default();
    streams.parameters(&mut parameters);
    parameters
}

/// A client and a server that know each other's parameters.
fn pair(config: &Config) -> (Streams, Streams) {
    let mut client = Streams::new(config, Role::Client, None);
    let mut server = Streams::new(config, Role::Server, None);
    client.on_parameters(&parameters(&server));
    server.on_parameters(&parameters(&client));
    (client, server)
}

/// A client whose peer allows nearly everything.
fn client() -> Streams {
    pair(&config(1 << 30, 1 << 40, 1000)).0
}

/// Takes the next STREAM frame: stream, offset, length, FIN, whether it has no Length field.
fn data(streams: &mut Streams, room: usize) -> Option<(u64, u64, u16, bool, bool)> {
    let (frame, _) = streams.next_data(room)?;
    let QuicFrame::Stream { stream_id, offset, length, fin, last, .. } = frame else { panic!("{frame:?}") };
    Some((stream_id, offset, length, fin, last))
}

/// Identifiers of the streams that send next.
fn order(streams: &mut Streams, frames: usize) -> Vec<u64> {
    (0..frames).map_while(|_| data(streams, 1000)).map(|frame| frame.0).collect()
}

/// Takes all frames other than data.
fn control(streams: &mut Streams) -> Vec<QuicFrame> {
    std::iter::from_fn(|| streams.next_control(Time::ZERO, 100)).map(|(frame, _)| frame).collect()
}

fn events(streams: &mut Streams) -> Vec<StreamEvent> {
    std::iter::from_fn(|| streams.next_event()).collect()
}

fn stream(id: u64, offset: u64, length: u16, fin: bool) -> QuicFrame {
    QuicFrame::Stream { stream_id: id, offset, length, fin, last: false, label: 0 }
}

fn sent(id: StreamId, offset: u64, length: u16, fin: bool) -> SentFrame {
    SentFrame::Stream { id, offset, length, fin }
}

fn arrive(streams: &mut Streams, frame: &QuicFrame) -> Result<(), StreamError> {
    streams.on_frame(Time::ZERO, frame, RTT)
}
