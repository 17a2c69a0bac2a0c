//! Validation of a client's new address that is repeated until it succeeds (RFC 9000 section 9).
//!
//! When packets of a client come from another address, a server validates that address. If the validation
//! fails, it "MUST revert to using the last validated peer address" (section 9.3.2), and the next packet from
//! the new address starts another validation. noq-proto 1.4 sends challenges for three PTOs, which is less
//! than a new NAT binding may need until it forwards packets back. Then it stays at the new address:
//! `Connection::migrate` keeps the previous path only if that was *not* validated, the opposite of its
//! comment. An address that is not validated gets no acknowledgements, and no further challenge: the path is
//! dead until the connection ends.
//!
//! The required behaviour is emulated outside noq: when a validation must have ended, and ack-eliciting
//! packets are not acknowledged, the next packet from the new address is passed to noq as one from the last
//! validated address, and the one after that with its own, which noq then validates again. Connections with
//! several paths do not need this: their paths are replaced.

use super::liveness::patience;
use noq_proto::{ConnectionStats, FrameStats};
use quiclab_core::{Duration, Time};
use quiclab_stacks::lab_controller::LabController;
use std::net::SocketAddr;

/// Maximum time until a due acknowledgement leaves: `max_ack_delay` of 25 ms, and a late process.
const ACK_MARGIN: Duration = Duration::from_millis(100);
/// Maximum wait for the end of a validation, independent of the number of failed ones.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// A client whose address is not known to be validated.
#[derive(Clone, Debug)]
pub(super) struct AddressValidation {
    /// The last validated address, and its congestion control.
    pub(super) before: SocketAddr,
    pub(super) control: LabController,
    /// Duration for which a validation may be in progress.
    wait: Duration,
    pub(super) ends: Time,
    window: Option<Window>,
    /// Whether the next packet is passed to QUIC as one from `before`.
    pub(super) reverts: bool,
}

/// Observation after the end of a validation.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Acknowledgements sent, and ack-eliciting frames received, at the beginning.
    acks: u64,
    asking: u64,
    /// Times at which an ack-eliciting packet was known, and at which its acknowledgement was missing.
    asked: Option<Time>,
    missing: Option<Time>,
}

/// Result of a check of the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Validated,
    Unknown,
    /// No packet is acknowledged: QUIC is to start again.
    Stuck,
}

/// Number of ack-eliciting frames that clients send at any time.
fn asking(frames: &FrameStats) -> u64 {
    frames.datagram + frames.ping + frames.stream
}

impl AddressValidation {
    /// QUIC starts to validate an address other than `before`; `srtt` is the larger one of the two paths.
    pub(super) fn new(now: Time, before: SocketAddr, control: LabController, srtt: Duration) -> Self {
        // the variation of the RTT is not known here
        let wait = patience(srtt) * 2;
        Self { before, control, wait, ends: now + wait, window: None, reverts: false }
    }

    /// Checks the counters before a packet is handled.
    pub(super) fn look(&mut self, now: Time, stats: &ConnectionStats) -> Progress {
        let (acks, asking) = (stats.frame_tx.acks, asking(&stats.frame_rx));
        let new = Window { acks, asking, asked: None, missing: None };
        let window = self.window.get_or_insert(new);
        if acks > window.acks {
            return Progress::Validated;
        }
        if asking > window.asking {
            // a process that was stopped sends due packets before the next check
            let asked = *window.asked.get_or_insert(now);
            if now >= asked + ACK_MARGIN {
                let missing = *window.missing.get_or_insert(now);
                if now >= missing + ACK_MARGIN {
                    self.wait = MAX_WAIT.max(self.wait).min(self.wait * 2);
                    (self.ends, self.window) = (now + self.wait, None);
                    return Progress::Stuck;
                }
            }
        }
        Progress::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PathConfig;
    use crate::control::{Group, controller};
    use quiclab_core::RandomStream;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    struct Client {
        validation: AddressValidation,
        stats: ConnectionStats,
    }

    impl Client {
        /// A client that has moved, whose validation must be over at 1000 ms.
        fn new() -> Self {
            let before = "192.0.2.1:1".parse().unwrap();
            let random = RandomStream::new(1, "moved");
            let control = controller(PathConfig::default(), 1200, random, &Group::default(), 0);
            let validation = AddressValidation::new(at(0), before, control, Duration::from_millis(20));
            assert_eq!(validation.ends, at(1000));
            Self { validation, stats: ConnectionStats::default() }
        }

        /// Handles the next packet, with these totals of ack-eliciting frames and acknowledgements.
        fn look(&mut self, ms: u64, asking: u64, acks: u64) -> Progress {
            (self.stats.frame_rx.datagram, self.stats.frame_tx.acks) = (asking, acks);
            self.validation.look(at(ms), &self.stats)
        }
    }

    #[test]
    fn an_acknowledgement_after_the_end_of_a_validation_shows_that_it_has_succeeded() {
        let mut client = Client::new();
        assert_eq!(client.look(1000, 90, 50), Progress::Unknown, "challenges may carry acknowledgements");
        assert_eq!(client.look(1010, 91, 50), Progress::Unknown);
        assert_eq!(client.look(1040, 92, 51), Progress::Validated);
    }

    #[test]
    fn packets_that_get_no_acknowledgement_show_that_it_has_failed_and_the_next_wait_is_longer() {
        let mut client = Client::new();
        for (ms, asking) in [(1000, 90), (1100, 91), (1200, 92)] {
            assert_eq!(client.look(ms, asking, 50), Progress::Unknown, "{ms} ms");
        }
        assert_eq!(client.look(1300, 93, 50), Progress::Stuck);
        assert_eq!(client.validation.ends, at(1300 + 2000));
    }

    /// Packets that were due while the process was stopped leave after the first ones of the waiting batch.
    #[test]
    fn a_process_that_was_stopped_is_not_mistaken_for_a_failure() {
        let mut client = Client::new();
        client.look(1000, 90, 50);
        client.look(1010, 91, 50);
        for asking in 91..95 {
            assert_eq!(client.look(4000, asking, 50), Progress::Unknown);
        }
        assert_eq!(client.look(4010, 96, 51), Progress::Validated);
    }

    #[test]
    fn a_client_that_asks_for_nothing_shows_nothing() {
        let mut client = Client::new();
        for ms in (1000..60_000).step_by(1000) {
            assert_eq!(client.look(ms, 90, 50), Progress::Unknown);
        }
    }
}
