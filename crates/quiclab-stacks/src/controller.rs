//! A congestion controller that tracks values that the stacks do not report: bytes in flight, and whether
//! there is an RTT sample.
//!
//! Wraps the stack's own controller and forwards every call. After each ACK the stack reports the bytes in
//! flight, and with each loss its size; packets sent in between are added by [`InFlightCounter::sent`]
//! (quinn) or the controller (noq). Only during the handshake may a padded packet without ack-eliciting
//! frames be missing, until the next ACK.

use crate::lab_controller::LabController;
use quiclab_core::Phase;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Tracked values. Atomics because the stacks require `Sync` controllers: one thread uses it.
#[derive(Debug, Default)]
pub(crate) struct InFlightCounter {
    /// Controller, if it is one of quiclab's.
    lab: Option<LabController>,
    in_flight: AtomicU64,
    sampled: AtomicBool,
    /// Minimum RTT in nanoseconds; 0 until known.
    min_rtt: AtomicU64,
    congestion_events: AtomicU64,
    /// Number of frames sent that make a packet count as in flight; stays 0 with noq.
    eliciting_frames: AtomicU64,
    /// Whether the first path has its controller.
    taken: AtomicBool,
}

impl InFlightCounter {
    pub(crate) fn new(lab: Option<LabController>) -> Self {
        Self { lab, ..Self::default() }
    }

    /// Counter of the next path; `self` for the first.
    pub(crate) fn of_next_path(self: &Arc<Self>) -> Arc<Self> {
        if self.taken.swap(true, Relaxed) { Arc::default() } else { self.clone() }
    }

    /// Controller, if it is one of quiclab's.
    pub(crate) fn lab(&self) -> Option<&LabController> {
        self.lab.as_ref()
    }

    /// Phase of the controller. The controllers of the stacks themselves report window and threshold only.
    pub(crate) fn phase(&self, cwnd_bytes: u64, ssthresh_bytes: Option<u64>) -> Phase {
        match &self.lab {
            Some(lab) => lab.phase(),
            None => Phase::of_window(cwnd_bytes, ssthresh_bytes),
        }
    }

    /// Bytes sent and not acknowledged or lost.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    /// Whether an ACK gave an RTT sample.
    pub(crate) fn sampled(&self) -> bool {
        self.sampled.load(Relaxed)
    }

    /// Minimum RTT in nanoseconds up to the last ACK but one; noq reports it nowhere else.
    pub(crate) fn min_rtt_ns(&self) -> Option<u64> {
        Some(self.min_rtt.load(Relaxed)).filter(|&min| min > 0)
    }

    /// Number of recovery periods entered, each with a reduction of the window. The stacks count every run of
    /// loss detection that found a loss, also within a recovery period.
    pub(crate) fn congestion_events(&self) -> u64 {
        self.congestion_events.load(Relaxed)
    }

    /// Handles a datagram of `bytes` that was sent; it counts as in flight if `eliciting_frames`, the total
    /// so far, has grown. For quinn, which does not report this to its controller.
    pub(crate) fn sent(&self, now: Instant, bytes: u64, eliciting_frames: u64) {
        if self.eliciting_frames.swap(eliciting_frames, Relaxed) != eliciting_frames {
            self.add_in_flight(bytes);
            if let Some(lab) = &self.lab {
                lab.sent(now, bytes);
            }
        }
    }

    pub(crate) fn add_in_flight(&self, bytes: u64) {
        self.in_flight.store(self.in_flight() + bytes, Relaxed);
    }

    pub(crate) fn acknowledged(&self, in_flight: u64) {
        self.in_flight.store(in_flight, Relaxed);
        self.sampled.store(true, Relaxed);
    }

    fn lost(&self, bytes: u64) {
        self.in_flight.store(self.in_flight().saturating_sub(bytes), Relaxed);
    }

    /// `min` is meaningless before the first sample, and the stacks pass it before they update it.
    pub(crate) fn min_rtt(&self, min: Duration) {
        if self.sampled() {
            self.min_rtt.store(min.as_nanos() as u64, Relaxed);
        }
    }
}

/// Controller, or the factory of one, with its counter.
pub(crate) struct CountingController<T> {
    pub(crate) inner: T,
    pub(crate) gauge: Arc<InFlightCounter>,
    /// Start of the last recovery period; `None` before the first.
    pub(crate) recovery_start: Option<Instant>,
}

impl<T> CountingController<T> {
    pub(crate) fn new(inner: T, gauge: Arc<InFlightCounter>) -> Self {
        Self { inner, gauge, recovery_start: None }
    }

    /// Handles the loss or mark of a packet sent at `sent`. One sent during a recovery period does not start
    /// another (RFC 9002 section 7.3.2), as in the controllers of both stacks.
    pub(crate) fn congestion(&mut self, now: Instant, sent: Instant, lost_bytes: u64) {
        self.gauge.lost(lost_bytes);
        if self.recovery_start.is_none_or(|start| sent > start) {
            self.recovery_start = Some(now);
            self.gauge.congestion_events.store(self.gauge.congestion_events() + 1, Relaxed);
        }
    }
}

impl<T> std::fmt::Debug for CountingController<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.gauge.fmt(f)
    }
}

/// Implements the traits of a library, which differ only in the methods in `$own`: noq has more of them, with
/// more arguments.
macro_rules! mirrored {
    ($proto:ident, $($own:tt)*) => {
        mod mirrored {
            use crate::controller::CountingController;
            use std::any::Any;
            use std::sync::Arc;
            use std::time::Instant;
            use $proto::RttEstimator;
            use $proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

            type Factory = Arc<dyn ControllerFactory + Send + Sync>;

            impl ControllerFactory for CountingController<Factory> {
                fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
                    let inner = self.inner.clone().build(now, mtu);
                    Box::new(CountingController::new(inner, self.gauge.of_next_path()))
                }
            }

            impl Controller for CountingController<Box<dyn Controller>> {
                fn on_sent(&mut self, now: Instant, bytes: u64, last: u64) {
                    self.inner.on_sent(now, bytes, last);
                }
                fn on_end_acks(
                    &mut self,
                    now: Instant,
                    in_flight: u64,
                    app_limited: bool,
                    largest: Option<u64>,
                ) {
                    self.gauge.acknowledged(in_flight);
                    self.inner.on_end_acks(now, in_flight, app_limited, largest);
                }
                fn on_mtu_update(&mut self, mtu: u16) {
                    self.inner.on_mtu_update(mtu);
                }
                fn window(&self) -> u64 {
                    self.inner.window()
                }
                fn metrics(&self) -> ControllerMetrics {
                    self.inner.metrics()
                }
                fn clone_box(&self) -> Box<dyn Controller> {
                    let (inner, gauge) = (self.inner.clone_box(), self.gauge.clone());
                    Box::new(CountingController { inner, gauge, recovery_start: self.recovery_start })
                }
                fn initial_window(&self) -> u64 {
                    self.inner.initial_window()
                }
                fn into_any(self: Box<Self>) -> Box<dyn Any> {
                    self.inner.into_any()
                }
                $($own)*
            }
        }
    };
}
pub(crate) use mirrored;
