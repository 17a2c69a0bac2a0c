//! Media over RTP with SCReAM, "Self-Clocked Rate Adaptation for Multimedia" (RFC 8298, and version 2 in
//! `v2`): video frames whose rate follows the capacity of the network.
//!
//! ```text
//! source    frames at the target rate, divided into RTP packets
//! queue     RTP packets that wait for window and pacer; discarded when they are too old
//! sender    sending end: combines the parts
//! flight    packets sent: acknowledged, lost, in flight; RTT and queueing delay
//! control   decisions of a version of SCReAM
//! v1        version 1, of trend, target, window and rate
//! trend     trend of the queueing delay (section 4.1.2.1)
//! target    target of the queueing delay: competing flows (section 4.1.2.2)
//! window    network congestion control: the congestion window (sections 4.1.2.1, 4.1.2.4)
//! rate      media rate control (section 4.1.3), with its measurements
//! receiver  receiving end: feedback (section 4.2, RFC 8888), arrivals, frames
//! ```
//!
//! | | RFC 8298 | here |
//! | --- | --- | --- |
//! | rate change without fast increase | `delta_rate_t` is the current rate, corrected, and is added to the target | less the target, as in Ericsson's code: otherwise the target grows without limit |
//! | the same with packets waiting | | no increase with more than 12 000 bit in the RTP queue (Ericsson) |
//! | feedback | RTCP, an acknowledgement vector | RFC 8888; each packet in two reports, so that one may be lost |
//! | feedback stops | "a minimum send rate" | after 1 s without any, packets in flight are lost and the window is the minimum |
//! | packets that are too old | "SHOULD" discard | all waiting ones, if the oldest has waited for 500 ms |
//! | base delay | that of LEDBAT: minimum of ten minutes (RFC 6817) | minimum; the clocks agree |
//! | rate of the coder | varies around the target | each frame has target / frame rate exactly |
//! | several streams | prioritised | one |
//!
//! Rates and delays are floats (bit/s, s), as in the definition of the algorithm.

mod control;
mod flight;
mod queue;
mod rate;
mod receiver;
mod sender;
mod source;
mod target;
#[cfg(test)]
mod tests;
mod trend;
mod v1;
mod v2;
mod window;

use crate::options::{MediaControl, Workload};
pub(crate) use control::MEDIA_CONTROL;
use quiclab_core::{ByteCount, DataRate, Duration, Ecn, Endpoint, EndpointIdentity, Role, Time};
pub(crate) use receiver::MEDIA_RECEIVER;
pub(crate) use sender::MEDIA_SENDER;

/// RAMP_UP_SPEED of RFC 8298.
const RAMP_UP_SPEED: DataRate = DataRate::from_bits_per_second(200_000);
/// QDELAY_TARGET_LO of both versions.
const TARGET_DELAY: Duration = Duration::from_millis(100);
const TARGET_DELAY_V2: Duration = Duration::from_millis(60);

/// Configuration of a media flow.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// Rates in bit/s, including RTP headers.
    start_rate: f64,
    min_rate: f64,
    max_rate: f64,
    /// Growth of the rate per second in bit/s.
    ramp_up_speed: f64,
    frame_rate: u32,
    /// Maximum size of an RTP packet.
    mss: ByteCount,
    /// QDELAY_TARGET_LO in seconds.
    target_delay: f64,
    /// ECN field of packets.
    ecn: Ecn,
    /// Whether version 2 of SCReAM is used.
    is_v2: bool,
    start: Time,
    end: Time,
}

impl Parameters {
    /// Parameters of a media workload; `None` for other workloads.
    fn new(workload: &Workload, start: Time) -> Option<Self> {
        let &Workload::Media {
            start_rate,
            min_rate,
            max_rate,
            frame_rate,
            packet_size,
            target_delay,
            ramp_up_speed,
            control,
            ecn,
            l4s,
            duration,
        } = workload
        else {
            return None;
        };
        let bits = |rate: DataRate| rate.bits_per_second() as f64;
        let is_v2 = control == MediaControl::ScreamV2;
        let target_delay = target_delay.unwrap_or(if is_v2 { TARGET_DELAY_V2 } else { TARGET_DELAY });
        Some(Self {
            start_rate: bits(start_rate),
            min_rate: bits(min_rate),
            max_rate: bits(max_rate),
            ramp_up_speed: bits(ramp_up_speed.unwrap_or(RAMP_UP_SPEED)),
            frame_rate,
            mss: packet_size,
            target_delay: target_delay.as_secs_f64(),
            ecn: match (l4s, ecn) {
                (true, _) => Ecn::Ect1,
                (false, true) => Ecn::Ect0,
                (false, false) => Ecn::NotEct,
            },
            is_v2,
            start,
            end: start + duration,
        })
    }
}

/// Builds one end of a media flow with a valid workload.
///
/// # Panics
/// If the workload is not media.
pub(crate) fn build(identity: &EndpointIdentity, workload: &Workload, start: Time) -> Box<dyn Endpoint> {
    let parameters = Parameters::new(workload, start).expect("the workload is media");
    match identity.role {
        Role::Server => Box::new(sender::Sender::new(identity, parameters)),
        Role::Client => Box::new(receiver::Receiver::new(identity, &parameters)),
    }
}

/// Converts seconds, at least 0, to a duration.
fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos_f64(seconds.max(0.0) * 1e9)
}
