use super::*;
use crate::options::SlowStartExit;
use crate::options::{
    Acknowledgement, CongestionControl, EarlyData, FlowControl, Pacing, QuicValues, QuicVersion,
    StreamScheduler,
};
use crate::quic::config::InitialWindow;
use quiclab_core::Duration;

fn plain() -> EndpointConfig {
    EndpointConfig { stack: Some("lab-quic".to_owned()), ..EndpointConfig::default() }
}

/// Path and kind of the problem of a valid configuration after `change`.
fn problem(change: impl FnOnce(&mut EndpointConfig)) -> (String, ProblemKind) {
    let mut config = plain();
    change(&mut config);
    let problem = resolve(&config).expect_err("it is to be rejected");
    (problem.path.to_string(), problem.kind)
}

fn quic(change: impl FnOnce(&mut QuicOptions)) -> (String, ProblemKind) {
    let mut options = QuicOptions::default();
    change(&mut options);
    problem(|config| config.quic = Some(options))
}

fn taken(change: impl FnOnce(&mut EndpointConfig)) -> Config {
    let mut config = plain();
    change(&mut config);
    resolve(&config).expect("it is to be taken")
}

const fn bytes(bytes: u64) -> Option<ByteCount> {
    Some(ByteCount::from_bytes(bytes))
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn tls(version: TlsVersion, resumption: bool, early_data: Option<EarlyData>) -> Option<Tls> {
    Some(Tls { version, resumption, certificate: ByteCount::from_bytes(3000), early_data })
}

#[test]
fn options_that_do_not_go_together_are_rejected() {
    use CongestionControl::{BbrLinux, Fixed, Lia};
    use ProblemKind::{Conflict, UnknownName};
    let early = tls(TlsVersion::Tls13, false, Some(EarlyData::Accepted));
    for (found, path, kind) in [
        (problem(|config| config.profile = Some("quiche".to_owned())), "profile", UnknownName),
        (problem(|config| config.initial_window = bytes(1199)), "initial_window", Conflict),
        (
            problem(|config| {
                (config.congestion_control, config.emulated_connections) = (Some(Fixed), Some(2))
            }),
            "emulated_connections",
            Conflict,
        ),
        (
            problem(|config| {
                config.congestion_control = Some(Lia);
                config.slow_start_exit = Some(SlowStartExit::HystartPlusPlus);
            }),
            "slow_start_exit",
            Conflict,
        ),
        (
            problem(|config| {
                (config.congestion_control, config.pacing) = (Some(BbrLinux), Some(Pacing::None))
            }),
            "pacing.kind",
            Conflict,
        ),
        (problem(|config| config.tls = tls(TlsVersion::Tls12, false, None)), "tls.version", Conflict),
        (problem(|config| config.tls = early), "tls.early_data", Conflict),
        (quic(|options| options.max_ack_delay = Some(ms(24))), "quic.max_ack_delay", Conflict),
        (quic(|options| options.max_window = bytes(11_999)), "quic.max_window", Conflict),
        (
            quic(|options| options.max_stream_receive_window = bytes(1000)),
            "quic.max_stream_receive_window",
            Conflict,
        ),
        (
            quic(|options| options.path_scheduler = Some(PathSchedulerKind::Redundant)),
            "quic.path_scheduler",
            Conflict,
        ),
    ] {
        assert_eq!(found, (path.to_owned(), kind));
    }
}

#[test]
fn every_profile_resolves_to_its_values() {
    assert_eq!(taken(|_| {}), profile::find("rfc9002").unwrap());
    for name in profiles() {
        let found = taken(|config| config.profile = Some(name.to_owned()));
        assert_eq!(found, profile::find(name).unwrap(), "{name}");
    }
}

#[test]
fn overrides_replace_fields_one_by_one() {
    let default = taken(|_| {});
    let found = taken(|config| {
        config.packet_threshold = Some(5);
        config.tls = tls(TlsVersion::Tls13, true, Some(EarlyData::Rejected));
        config.quic = Some(QuicOptions {
            version: Some(QuicVersion::Gquic37),
            connection_id: bytes(0),
            packet_number: bytes(4),
            max_streams: Some(200),
            flow_control: Some(FlowControl::DoubleWhenHalfUsed),
            stream_scheduler: Some(StreamScheduler::Fifo),
            persistent_congestion: Some(false),
            max_window: bytes(50_000),
            ..QuicOptions::default()
        });
    });
    let mut expected = Config {
        packet_threshold: 5,
        tls: tls(TlsVersion::Tls13, true, Some(EarlyData::Rejected)).unwrap(),
        quic: QuicValues {
            version: QuicVersion::Gquic37,
            connection_id: ByteCount::ZERO,
            packet_number: bytes(4),
            max_streams: 200,
            flow_control: FlowControl::DoubleWhenHalfUsed,
            stream_scheduler: StreamScheduler::Fifo,
            persistent_congestion: false,
            max_window: bytes(50_000),
            ..default.quic
        },
        ..default
    };
    expected.fixed.client_connection_id = ByteCount::ZERO;
    assert_eq!(found, expected);
}

#[test]
fn congestion_control_changes_with_what_belongs_to_it() {
    use CongestionControl::{BbrChromium, Cubic, Newreno, Olia};
    let control = |profile: &str, control| {
        let found = taken(|config| {
            (config.profile, config.congestion_control) = (Some(profile.to_owned()), Some(control));
        });
        (found.slow_start_exit, found.emulated_connections, found.pacing)
    };
    let quic1 = profile::find("chromium-quic1").unwrap().pacing;
    for (profile, given, exit, connections, pacing) in [
        ("chromium-quic1", Newreno, SlowStartExit::HystartChromium, 2, quic1),
        ("chromium-quic1", BbrChromium, SlowStartExit::None, 1, quic1),
        ("chromium-quic1", Olia, SlowStartExit::None, 1, quic1),
        ("ngtcp2-2020", Cubic, SlowStartExit::HystartChromium, 1, Pacing::None),
        ("ngtcp2-2020", BbrChromium, SlowStartExit::None, 1, BUCKET),
    ] {
        assert_eq!(control(profile, given), (exit, connections, pacing), "{profile} {given:?}");
    }
}

/// Values that are not set follow those that are.
#[test]
fn windows_follow_datagrams_and_each_other() {
    let with = |profile: &str, change: &dyn Fn(&mut EndpointConfig)| {
        taken(|config| {
            config.profile = Some(profile.to_owned());
            change(config);
        })
    };
    let larger = |config: &mut EndpointConfig| config.datagram_size = bytes(1472);
    // ten datagrams; 32 x 1460 B regardless of them; at most 14 720 B
    assert_eq!(with("aioquic", &larger).initial_window(), ByteCount::from_bytes(14_720));
    assert_eq!(with("chromium-quic1", &larger).initial_window(), ByteCount::from_bytes(46_720));
    assert_eq!(InitialWindow::Rfc9002.bytes(ByteCount::from_bytes(1500)), ByteCount::from_bytes(14_720));
    assert_eq!(InitialWindow::Rfc9002.bytes(ByteCount::from_bytes(9000)), ByteCount::from_bytes(18_000));
    // 2000 x 1460 B is Chromium's maximum window; a larger initial one raises it
    let raised = with("chromium-quic1", &|config| config.initial_window = bytes(4_000_000));
    assert_eq!(raised.quic.max_window, bytes(4_000_000));
    let credit = with("quic-go", &|config| config.stream_receive_window = bytes(10 << 20));
    assert_eq!(credit.quic.max_stream_receive_window, ByteCount::from_bytes(10 << 20));
    let slow = with("rfc9002", &|config| {
        let acknowledgement = Some(Acknowledgement::Timer { delay: ms(40) });
        config.quic = Some(QuicOptions { acknowledgement, ..QuicOptions::default() });
    });
    assert_eq!(slow.quic.max_ack_delay, ms(40));
}
