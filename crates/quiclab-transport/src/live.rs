//! Live video on the streams and datagrams of QUIC, and on TCP: frames at a rate of the application, subject
//! to the transport's congestion control.
//!
//! ```text
//! source        encoder: capture times and sizes of frames
//! reception     receiving end: complete frames, their delays, late frames
//! on_streams    sending end, a stream for each frame
//! on_datagrams  sending end, a frame in DATAGRAM frames
//! client        receiving end of both
//! on_bytes      both ends on a byte stream, frame after frame
//! ```
//!
//! | | source | here |
//! | --- | --- | --- |
//! | sizes of frames | RFC 8593 section 5: Laplace distribution around the mean, scale 0.15 | the same, limited to 0 and twice the mean, so that the mean is that of the rate |
//! | times of frames | RFC 8593 section 5: Laplace distribution around the interval | exact intervals |
//! | key frames | none in RFC 8593, but larger frames after a change of the rate | periodic, and none after a change |
//! | the encoder follows a rate | RFC 8593 section 5: not more often than every 200 ms | the same |
//! | waiting bits | RFC 8298 section 4.1.3 (TX_QUEUE_SIZE_FACTOR): each bit reduces the rate by 1 bit/s | the same |
//! | rate | W3C WebTransport `estimatedSendRate`, whose computation is not specified | mean over the 200 ms of the smaller of pacing rate and cwnd / srtt ([`quiclab_core::RecoveryState::send_rate`]), as measured at the frames |
//! | frames on streams | draft-ietf-moq-transport, "Object Data Model": a frame is an object; objects that depend on all before them in a group are sent on its stream | each frame is an object of its own subgroup, on its own stream, so that each can be dropped alone and none waits for another |
//! | frames in datagrams | the same draft: an object in one datagram | a frame is divided into datagrams, as in RTP |
//! | a frame is late | the same draft, delivery timeout: the publisher resets the stream | the same with `drop_late` |
//! | information for the receiver of a frame | headers of objects | part of the frame's bytes; [`HEADER`] bytes of a stream on real stacks, `Datagram::HEADER` of a datagram |
//! | subscription | SUBSCRIBE | none: the sender begins when it is connected |

mod client;
mod on_bytes;
mod on_datagrams;
mod on_streams;
mod reception;
mod source;
#[cfg(test)]
mod tests;

pub(crate) use reception::LIVE_RECEIVER;
use reception::Reception;
pub(crate) use source::LIVE_SENDER;
use source::{Frame, SendState, Source};

use crate::options::{LiveDelivery, Workload};
use crate::workload::{Application, Datagram, StreamApplication};
use quiclab_core::{ByteCount, DataRate, Duration, EndpointIdentity, RandomStream, Role};

/// Length in bytes of the capture time at the start of a frame, where bytes are real. No frame is smaller.
const HEADER: usize = 8;

/// Configuration of a live flow.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    rate: DataRate,
    /// Minimum and maximum rate of a source that adapts.
    bounds: Option<(DataRate, DataRate)>,
    frame_rate: u32,
    /// Number of frames from one key frame to the next.
    group: u32,
    key_frame_ratio: u32,
    size_variation_percent: u32,
    /// Field `deadline` of [`Workload::Live`].
    pub deadline: Duration,
    /// Field `drop_late` of [`Workload::Live`].
    pub drop_late: bool,
    delivery: LiveDelivery,
    packet_size: ByteCount,
    duration: Duration,
}

impl Parameters {
    /// Parameters of a live workload; `None` for other workloads.
    #[must_use]
    pub fn new(workload: &Workload) -> Option<Self> {
        let &Workload::Live {
            rate,
            min_rate,
            max_rate,
            frame_rate,
            key_frame_interval,
            key_frame_ratio,
            size_variation_percent,
            deadline,
            drop_late,
            delivery,
            packet_size,
            duration,
        } = workload
        else {
            return None;
        };
        let group = (key_frame_interval.as_secs_f64() * f64::from(frame_rate)).round() as u32;
        Some(Self {
            rate,
            bounds: min_rate.zip(max_rate),
            frame_rate,
            group: group.max(1),
            key_frame_ratio,
            size_variation_percent,
            deadline,
            drop_late,
            delivery,
            packet_size,
            duration,
        })
    }

    /// Whether frames are sent in datagrams.
    #[must_use]
    pub fn in_datagrams(&self) -> bool {
        self.delivery == LiveDelivery::Datagrams
    }

    /// Payloads of the datagrams of a frame in bytes: all full but the last.
    pub fn datagrams(&self, frame: &Frame) -> impl ExactSizeIterator<Item = u64> + use<> {
        let (length, size) = (u64::from(frame.length), self.packet_size.bytes());
        // more are rejected: `most_datagrams`
        let count = u16::try_from(length.div_ceil(size)).unwrap_or(u16::MAX);
        (0..count).map(move |index| (length - u64::from(index) * size).min(size).max(Datagram::HEADER as u64))
    }

    /// Mean length of a frame in bytes at a rate in bit/s.
    fn mean_length(&self, rate: f64, is_key: bool) -> f64 {
        let (group, ratio) = (f64::from(self.group), f64::from(self.key_frame_ratio));
        let other = rate / 8.0 / f64::from(self.frame_rate) * group / (group - 1.0 + ratio);
        if is_key { other * ratio } else { other }
    }

    /// Number of datagrams of the largest possible frame; the header of a datagram numbers up to
    /// [`u16::MAX`].
    #[must_use]
    pub fn most_datagrams(&self) -> u64 {
        let rate = self.bounds.map_or(self.rate, |(_, max)| max).bits_per_second() as f64;
        // sizes are limited to twice their mean
        let largest = (2.0 * self.mean_length(rate, true)).ceil() as u64;
        largest.div_ceil(self.packet_size.bytes())
    }

    /// Time of a frame from the start of the capture, rounded up to nanoseconds.
    fn offset(&self, frame: u32) -> Duration {
        let second = Duration::from_secs(1).as_nanos();
        let nanos = (u128::from(frame) * u128::from(second)).div_ceil(self.frame_rate.into());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Number of frames captured, whose time is before the end.
    fn frames(&self) -> u32 {
        let nanos = u128::from(self.duration.as_nanos()) * u128::from(self.frame_rate);
        let frames = nanos.div_ceil(u128::from(Duration::from_secs(1).as_nanos()));
        let frames = u32::try_from(frames).unwrap_or(u32::MAX);
        // rounding up may put the last one at the end itself
        if self.offset(frames.saturating_sub(1)) >= self.duration { frames.saturating_sub(1) } else { frames }
    }
}

/// Random stream of the frames of a flow: equal for all stacks.
#[must_use]
pub fn random(seed: u64, identity: &EndpointIdentity) -> RandomStream {
    RandomStream::new(seed, &format!("{}.frames", identity.name))
}

/// Builds one side on the streams or datagrams of QUIC; `random` is that of the source.
pub(crate) fn on_streams(
    role: Role,
    parameters: &Parameters,
    random: RandomStream,
) -> Box<dyn StreamApplication> {
    match (role, parameters.delivery) {
        (Role::Client, _) => Box::new(client::Client::new(parameters)),
        (Role::Server, LiveDelivery::Streams) => {
            Box::new(on_streams::Server::new(*parameters, Source::new(*parameters, random)))
        }
        (Role::Server, LiveDelivery::Datagrams) => {
            Box::new(on_datagrams::Server::new(*parameters, Source::new(*parameters, random)))
        }
    }
}

/// Builds one side on a byte stream; `random` is that of the source.
pub(crate) fn on_bytes(role: Role, parameters: &Parameters, random: RandomStream) -> Box<dyn Application> {
    match role {
        Role::Client => Box::new(on_bytes::Client::new(parameters)),
        Role::Server => Box::new(on_bytes::Server::new(*parameters, Source::new(*parameters, random))),
    }
}
