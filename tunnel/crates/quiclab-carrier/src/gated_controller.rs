//! The gate: a congestion controller that decides whether QUIC may use a path at this moment.
//!
//! noq sends on a path while the bytes in flight and one more datagram fit the `window()` of its controller
//! (`Connection::path_congestion_check`, noq-proto 1.4), and takes the first such path. A window of 0 excludes a path.
//! [`GatedController`] wraps the controller of a path; the carrier holds another one of the same path and moves it.
//!
//! | call | effect |
//! | --- | --- |
//! | `window` | open: the controller's; closed: 0; granted: without limit, for datagrams admitted by [`GatedController::has_room`], and for keep-alives on a path that does not answer |
//! | `metrics` | never gated; a window without limit and no rate disable noq's pacer: [`Pacer`] is checked before a datagram is passed to QUIC |
//! | `on_packet_sent`, `on_ack`, `on_packet_lost` | mirror of the bytes in flight; `on_end_acks` corrects it |
//! | `app_limited` | replaced by the tunnel's view: QUIC never has a backlog, because no data wait inside it. A path limits if there is a backlog and no room, or if its window was full, even if other paths took data then; for BBR and rates: windows that grow have a rule of their own ([`LabController::with_rate_limited_increase`]) |
//! | `on_cwnd_limited` | forwarded only while open: when closed, the tunnel is the limit |
//! | `on_packet_sent`, `on_mtu_update` | a packet longer than the MTU is a probe of it: [`MtuSearch`] |
//! | `clone_box` | shares everything: noq clones when the peer's port changes |

use super::pacer::Pacer;
use super::path_mtu::MtuSearch;
use super::path_rate::{Load, PathRate};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quiclab_core::{DataRate, Duration, Time};
use quiclab_stacks::lab_controller::LabController;
use quiclab_stacks::time::Clock;
use quiclab_transport::congestion::bbr::filter::{Extremum, WindowedFilter};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Window of the minimum RTT: as long as `net.ipv4.tcp_min_rtt_wlen` of Linux. A route may become longer
/// between the same addresses, as on a mobile link that moves, and the difference would count as a queue
/// indefinitely. In a much shorter window the minimum would include the standing queue that a path under load
/// always has.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Permission of QUIC to send on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateMode {
    /// As the controller permits.
    Open,
    /// No packets that are congestion controlled.
    Closed,
    /// Any packets.
    Granted,
}

struct Shared {
    inner: LabController,
    mode: GateMode,
    clock: Clock,
    in_flight: u64,
    /// Whether there is a backlog that this path cannot take: the opposite of `app_limited`.
    limited: bool,
    /// Number of the last packet that has filled the window: it and those before it were sent while the path was fully used.
    filled_by: Option<u64>,
    pacer: Pacer,
    mtu: MtuSearch,
    srtt: Duration,
    /// Smallest RTT of [`MIN_RTT_WINDOW`] in nanoseconds, and latest RTT; `None` before there is a sample.
    min_rtt: Option<WindowedFilter>,
    latest_rtt: Option<Duration>,
    rate: PathRate,
    /// Time since which a packet is unanswered; `None` if none is.
    waiting_since: Option<Time>,
    /// Time of the last acknowledgement.
    answered: Option<Time>,
}

/// A controller of noq, and the carrier's handle to it. The lock is never contended: one thread uses it.
#[derive(Clone)]
pub(crate) struct GatedController(Arc<Mutex<Shared>>);

impl std::fmt::Debug for GatedController {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shared = self.lock();
        write!(
            f,
            "GatedController {{ {:?}, {} B in flight, {:?} }}",
            shared.mode, shared.in_flight, shared.inner
        )
    }
}

impl GatedController {
    /// Creates an open gate on a path, with `srtt` as its RTT until there is a sample.
    pub(crate) fn new(now: Time, inner: LabController, mtu: MtuSearch, srtt: Duration) -> Self {
        let mut pacer = Pacer::new(now);
        inner.set_full_packet(mtu.current().into());
        pacer.set_rate(now, rate(&inner, srtt), mtu.current());
        Self(Arc::new(Mutex::new(Shared {
            inner,
            mode: GateMode::Open,
            clock: Clock::new(),
            in_flight: 0,
            limited: false,
            filled_by: None,
            pacer,
            mtu,
            srtt,
            min_rtt: None,
            latest_rtt: None,
            rate: PathRate::default(),
            waiting_since: None,
            answered: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().expect("no holder panics")
    }

    pub(crate) fn set(&self, mode: GateMode) {
        self.lock().mode = mode;
    }

    /// Current congestion control.
    pub(crate) fn control(&self) -> LabController {
        self.lock().inner.clone()
    }

    /// Smoothed RTT of the last acknowledgement.
    pub(crate) fn srtt(&self) -> Duration {
        self.lock().srtt
    }

    /// Replaces the congestion control; the bytes in flight stay.
    pub(crate) fn replace(&self, now: Time, inner: LabController) {
        let mut shared = self.lock();
        shared.inner = inner;
        shared.inner.set_full_packet(shared.mtu.current().into());
        shared.follow(now);
    }

    /// Hands the congestion control over to `other`, the gate of the path at its new address. Bytes in flight to
    /// the old address no longer count.
    pub(crate) fn hand_over(&self, now: Time, other: &Self) {
        if !Arc::ptr_eq(&self.0, &other.0) {
            let inner = self.lock().inner.clone();
            other.replace(now, inner);
        } else {
            let mut shared = self.lock();
            (shared.in_flight, shared.filled_by, shared.rate) = (0, None, PathRate::default());
            shared.mtu.forget_probe();
        }
    }

    /// Largest UDP payload that is known to fit the path.
    pub(crate) fn mtu(&self) -> u16 {
        self.lock().mtu.current()
    }

    pub(crate) fn is_searching(&self) -> bool {
        self.lock().mtu.is_searching()
    }

    /// Whether a probe of the MTU is in flight.
    pub(crate) fn has_mtu_probe(&self) -> bool {
        self.lock().mtu.has_probe()
    }

    /// Removes the probe of the MTU, which is lost: noq does not report this.
    pub(crate) fn forget_mtu_probe(&self) {
        let mut shared = self.lock();
        let bytes = shared.mtu.forget_probe();
        shared.lose(bytes);
    }

    /// Records that QUIC has nothing to send.
    pub(crate) fn pause_mtu_search(&self) {
        self.lock().mtu.pause();
    }

    /// Time at which a full datagram may leave in addition to `granted` ones: at most `now` if immediately, `None`
    /// while the window is full.
    pub(crate) fn room(&self, now: Time, granted: u64) -> Option<Time> {
        let shared = self.lock();
        let mtu = u64::from(shared.mtu.current());
        let bytes = (granted + 1) * mtu;
        let fits = shared.in_flight + bytes <= shared.inner.window();
        fits.then(|| shared.pacer.when(now, bytes))
    }

    /// Whether a full datagram may leave now in addition to `granted` ones.
    pub(crate) fn has_room(&self, now: Time, granted: u64) -> bool {
        self.room(now, granted).is_some_and(|time| time <= now)
    }

    /// Whether the window has room for `fragments` datagrams in addition to `granted` ones; an empty one accepts any number,
    /// because waiting does not enlarge it.
    pub(crate) fn takes(&self, granted: u64, fragments: u64) -> bool {
        let shared = self.lock();
        let bytes = (granted + fragments) * u64::from(shared.mtu.current());
        shared.in_flight + granted == 0 || shared.in_flight + bytes <= shared.inner.window()
    }

    /// Sets whether there is a backlog that this path cannot take.
    pub(crate) fn set_limited(&self, limited: bool) {
        self.lock().limited = limited;
    }

    pub(crate) fn window(&self) -> u64 {
        self.lock().inner.window()
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.lock().in_flight
    }

    /// [`PathRate::get`].
    pub(crate) fn rate(&self) -> Option<DataRate> {
        self.lock().rate.get()
    }

    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.lock().min_rtt()
    }

    /// Expected RTT of a packet that leaves now, on a path whose smoothed RTT is `srtt`. While nothing is in flight, the
    /// excess of the latest sample over the minimum RTT, a queueing delay, decreases with time: the path is not measured
    /// then, and one that was left with a queue would count as slow until it is used again.
    pub(crate) fn expected_rtt(&self, now: Time, srtt: Duration) -> Duration {
        let shared = self.lock();
        match (shared.in_flight, shared.min_rtt().zip(shared.latest_rtt), shared.answered) {
            (0, Some((least, latest)), Some(answered)) => {
                least + srtt.min(latest).saturating_sub(least).saturating_sub(now.since(answered))
            }
            _ => srtt,
        }
    }

    pub(crate) fn waiting_since(&self) -> Option<Time> {
        self.lock().waiting_since
    }

    pub(crate) fn answered(&self) -> Option<Time> {
        self.lock().answered
    }
}

/// Bytes/s to pace at: a controller's own rate, or its window in an RTT and a quarter more (RFC 9002 section
/// 7.7). In slow start twice its window, while that is below half the threshold, as in Linux
/// (`net.ipv4.tcp_pacing_ss_ratio`): a slow start of an inner flow doubles its packets every RTT, in bursts.
fn rate(inner: &LabController, srtt: Duration) -> u64 {
    let metrics = Controller::metrics(inner);
    metrics.pacing_rate.unwrap_or_else(|| {
        let percent = if inner.may_double() { 200 } else { 125 };
        let per_second =
            u128::from(inner.window()) * percent * 10_000_000 / u128::from(srtt.as_nanos().max(1));
        u64::try_from(per_second).unwrap_or(u64::MAX)
    })
}

impl Shared {
    /// Updates the pacer from window, rate and RTT.
    fn follow(&mut self, now: Time) {
        let rate = rate(&self.inner, self.srtt);
        self.pacer.set_rate(now, rate, self.mtu.current());
    }

    fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.as_ref().map(|least| Duration::from_nanos(least.get()))
    }

    fn sample_rtt(&mut self, now: Time, sample: Duration) {
        let sample = sample.as_nanos();
        let new = || WindowedFilter::new(Extremum::Min, MIN_RTT_WINDOW.as_nanos(), u64::MAX);
        self.min_rtt.get_or_insert_with(new).update(now.as_nanos(), sample);
    }

    /// Whether the tunnel, and not the window, limited the path when packet `number` was in flight.
    fn is_app_limited(&self, number: Option<u64>) -> bool {
        !self.limited && number.zip(self.filled_by).is_none_or(|(number, filled_by)| number > filled_by)
    }

    /// Removes a probe of the MTU from the bytes in flight; without other packets, none is unanswered.
    fn lose(&mut self, bytes: u64) {
        if bytes > 0 {
            self.in_flight = self.in_flight.saturating_sub(bytes);
            self.waiting_since = self.waiting_since.filter(|_| self.in_flight > 0);
        }
    }
}

impl Controller for GatedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last: u64) {
        self.lock().inner.on_sent(now, bytes, last);
    }
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        let mut shared = self.lock();
        let time = shared.clock.deadline(now);
        let lost = shared.mtu.on_sent(bytes);
        shared.lose(lost);
        shared.in_flight += u64::from(bytes);
        shared.pacer.spend(time, u64::from(bytes));
        shared.waiting_since.get_or_insert(time);
        if shared.in_flight + u64::from(shared.mtu.current()) > shared.inner.window() {
            shared.filled_by = Some(number);
        }
        shared.inner.on_packet_sent(now, bytes, number);
    }
    fn on_cwnd_limited(&mut self) {
        let mut shared = self.lock();
        if shared.mode == GateMode::Open {
            shared.inner.on_cwnd_limited();
        }
    }
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, number: u64, _: bool, rtt: &RttEstimator) {
        let mut shared = self.lock();
        shared.in_flight = shared.in_flight.saturating_sub(bytes);
        shared.srtt = Duration::from_nanos(rtt.get().as_nanos() as u64);
        // noq updates its estimate after the batch
        let sample = Duration::from_nanos(now.saturating_duration_since(sent).as_nanos() as u64);
        let time = shared.clock.deadline(now);
        shared.sample_rtt(time, sample);
        shared.latest_rtt = Some(sample);
        let app_limited = shared.is_app_limited(Some(number));
        shared.inner.on_ack(now, sent, bytes, number, app_limited, rtt);
    }
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _: bool, largest: Option<u64>) {
        let mut shared = self.lock();
        let time = shared.clock.deadline(now);
        shared.in_flight = in_flight;
        shared.answered = Some(time);
        shared.waiting_since = (in_flight > 0).then_some(time);
        let app_limited = shared.is_app_limited(largest);
        Controller::on_end_acks(&mut shared.inner, now, in_flight, app_limited, largest);
        if let Some(sample) = shared.inner.take_sample() {
            let path = Load {
                min_rtt: shared.min_rtt(),
                in_flight,
                window: Controller::metrics(&shared.inner)
                    .pacing_rate
                    .is_none()
                    .then(|| shared.inner.window()),
                is_full: !app_limited && !shared.inner.is_starting(),
            };
            shared.rate.on_sample(time, &sample, &path);
        }
        shared.follow(time);
    }
    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        ecn: bool,
        lost_bytes: u64,
        largest_lost: u64,
    ) {
        let mut shared = self.lock();
        if persistent {
            // RFC 9002 section 5.3: the next sample is the smallest RTT, because the path may be another one
            (shared.min_rtt, shared.rate) = (None, PathRate::default());
        }
        shared.inner.on_congestion_event(now, sent, persistent, ecn, lost_bytes, largest_lost);
        let time = shared.clock.deadline(now);
        shared.follow(time);
    }
    fn on_packet_lost(&mut self, bytes: u16, number: u64, now: Instant) {
        let mut shared = self.lock();
        shared.in_flight = shared.in_flight.saturating_sub(u64::from(bytes));
        shared.inner.on_packet_lost(bytes, number, now);
    }
    fn on_spurious_congestion_event(&mut self) {
        Controller::on_spurious_congestion_event(&mut self.lock().inner);
    }
    fn on_mtu_update(&mut self, mtu: u16) {
        let mut shared = self.lock();
        shared.mtu.on_update(mtu);
        shared.inner.set_full_packet(shared.mtu.current().into());
        Controller::on_mtu_update(&mut shared.inner, mtu);
    }
    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: std::time::Duration) {
        self.lock().inner.on_ack_frequency_update(threshold, max_ack_delay);
    }
    fn window(&self) -> u64 {
        let shared = self.lock();
        match shared.mode {
            GateMode::Open => shared.inner.window(),
            GateMode::Closed => 0,
            GateMode::Granted => u64::MAX,
        }
    }
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = u64::MAX;
        metrics.ssthresh = Controller::metrics(&self.lock().inner).ssthresh;
        metrics
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        Controller::initial_window(&self.lock().inner)
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Gate that noq uses on a path: noq does not pass the path to the factory.
pub(crate) fn of_path(
    connection: &noq_proto::Connection,
    path: noq_proto::PathId,
) -> Option<GatedController> {
    let controller = connection.congestion_state(path)?.clone_box().into_any();
    controller.downcast::<GatedController>().ok().map(|gate| *gate)
}

/// Factory of gates with the congestion control of one path, until [`GatedController::replace`].
pub(crate) struct GatedControllerFactory {
    pub(crate) make: Box<dyn Fn() -> LabController + Send + Sync>,
    pub(crate) initial_rtt: Duration,
    pub(crate) mtu_discovery: bool,
}

impl ControllerFactory for GatedControllerFactory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let (now, mtu) = (Clock::new().deadline(now), MtuSearch::new(mtu, self.mtu_discovery));
        Box::new(GatedController::new(now, (self.make)(), mtu, self.initial_rtt))
    }
}

#[cfg(test)]
mod tests;
