use super::*;
use crate::options::{
    AckFrequency, Controller, EarlyData, FlowControl, Http2Options, QuicVersion, StreamScheduler, TcpOptions,
};
use crate::quic::config::InitialWindow;

fn plain() -> EndpointConfig {
    EndpointConfig { stack: Some("lab-quic".to_owned()), ..EndpointConfig::default() }
}

fn sentence(change: impl FnOnce(&mut EndpointConfig)) -> String {
    let mut config = plain();
    change(&mut config);
    resolve(&config).expect_err("it is to be refused").to_string()
}

fn quic(change: impl FnOnce(&mut QuicOptions)) -> String {
    let mut options = QuicOptions::default();
    change(&mut options);
    sentence(|config| config.quic = Some(options))
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
fn what_is_refused_is_named_with_what_is_allowed() {
    use CongestionControl::{BbrLinux, Fixed, Lia};
    let cases = [
        (
            sentence(|config| config.profile = Some("quiche".to_owned())),
            "profile: `quiche` is not one of stack `lab-quic`; allowed is `rfc9002`, `aioquic-0.8.8`, \
             `aioquic`, `chromium-gquic37`, `chromium-quic1`, `ngtcp2-2020`, `ngtcp2-2022`, `picoquic`, \
             `quic-go`, `quinn`",
        ),
        (
            sentence(|config| config.tcp = Some(TcpOptions::default())),
            "tcp: `given` is not allowed; allowed is nothing: QUIC has `quic`",
        ),
        (
            sentence(|config| config.http2 = Some(Http2Options::default())),
            "http2: `given` is not allowed; allowed is nothing: a page over QUIC uses HTTP/3",
        ),
        (
            sentence(|config| config.controller = Some(Controller::Quiclab)),
            "controller: `quiclab` is not allowed; allowed is nothing: lab-quic is no real stack",
        ),
        (
            sentence(|config| config.datagram_size = bytes(1199)),
            "datagram_size: `1199 B` is not allowed; allowed is 1200 B to 65507 B",
        ),
        (
            sentence(|config| config.initial_window = bytes(1199)),
            "initial_window: `1199 B` is not allowed; allowed is 1200 B to 1 GiB",
        ),
        (
            sentence(|config| config.stream_receive_window = bytes(0)),
            "stream_receive_window: `0 B` is not allowed; allowed is 1 B to 4611686018427387903 B",
        ),
        (
            sentence(|config| config.send_window = bytes(0)),
            "send_window: `0 B` is not allowed; allowed is 1 B to 4611686018427387903 B",
        ),
        (
            sentence(|config| config.packet_threshold = Some(2)),
            "packet_threshold: `2` is not allowed; allowed is 3 to 4294967295",
        ),
        (
            sentence(|config| config.time_threshold = Some(0.9)),
            "time_threshold: `0.9` is not allowed; allowed is 1 to 1000",
        ),
        (
            sentence(|config| config.initial_rtt = Some(Duration::ZERO)),
            "initial_rtt: `0 ns` is not allowed; allowed is 1 us to 30 s",
        ),
        (
            sentence(|config| {
                config.ack_frequency = Some(AckFrequency {
                    ack_eliciting_threshold: 1,
                    max_ack_delay: Some(Duration::from_micros(999)),
                    reordering_threshold: 2,
                });
            }),
            "ack_frequency.max_ack_delay: `999 us` is not allowed; allowed is 1 ms to 16.383 s",
        ),
        (
            sentence(|config| config.emulated_connections = Some(0)),
            "emulated_connections: `0` is not allowed; allowed is 1 to 4294967295",
        ),
        (
            sentence(|config| {
                (config.congestion_control, config.emulated_connections) = (Some(Fixed), Some(2));
            }),
            "emulated_connections: `2` is not allowed; allowed is 1 with `fixed`: only `cubic` and `newreno` \
             stand for several",
        ),
        (
            sentence(|config| {
                config.congestion_control = Some(Lia);
                config.slow_start_exit = Some(SlowStartExit::HystartPlusPlus);
            }),
            "slow_start_exit: `hystart-plus-plus` is not allowed; allowed is `none` with `lia`, which has no \
             slow start of that kind",
        ),
        (
            sentence(|config| {
                (config.congestion_control, config.pacing) = (Some(BbrLinux), Some(Pacing::None));
            }),
            "pacing.kind: `none` is not allowed; allowed is `leaky_bucket`, `even`, `quantum`, `linux`, `fq`: \
             `bbr-linux` controls its rate by pacing",
        ),
        (
            sentence(|config| config.pacing = Some(Pacing::Even { factor: f64::NAN })),
            "pacing.factor: `NaN` is not allowed; allowed is 0.01 to 10",
        ),
        (
            sentence(|config| config.tls = tls(TlsVersion::Tls12, false, None)),
            "tls.version: `1.2` is not allowed; allowed is `1.3`, which QUIC is made for",
        ),
        (
            sentence(|config| config.tls = tls(TlsVersion::Tls13, false, Some(EarlyData::Accepted))),
            "tls.early_data: `accepted` is not allowed; allowed is to leave it out, or `tls.resumption = \
             true`: its keys come from an earlier session",
        ),
        (
            quic(|options| options.connection_id = bytes(21)),
            "quic.connection_id: `21 B` is not allowed; allowed is 0 B to 20 B",
        ),
        (
            quic(|options| options.packet_number = bytes(5)),
            "quic.packet_number: `5 B` is not allowed; allowed is 1 B to 4 B",
        ),
        (
            quic(|options| options.ack_ranges = Some(0)),
            "quic.ack_ranges: `0` is not allowed; allowed is 1 to 4294967295",
        ),
        (
            quic(|options| options.probe_packets = Some(3)),
            "quic.probe_packets: `3` is not allowed; allowed is 1 to 2",
        ),
        (
            quic(|options| options.max_streams = Some(0)),
            "quic.max_streams: `0` is not allowed; allowed is 1 to 1152921504606846976",
        ),
        (
            quic(|options| options.idle_timeout = Some(Duration::ZERO)),
            "quic.idle_timeout: `0 ns` is not allowed; allowed is 1 ms to 1440 min",
        ),
        (
            quic(|options| options.max_ack_delay = Some(ms(16_384))),
            "quic.max_ack_delay: `16.384 s` is not allowed; allowed is 0 ns to 16.383 s",
        ),
        (
            quic(|options| options.max_ack_delay = Some(ms(24))),
            "quic.max_ack_delay: `24 ms` is not allowed; allowed is at least the delay of \
             `quic.acknowledgement`, 25 ms",
        ),
        (
            quic(|options| {
                options.acknowledgement = Some(Acknowledgement::Every { packets: 0, delay: ms(25) });
            }),
            "quic.acknowledgement.packets: `0` is not allowed; allowed is 1 to 4294967295",
        ),
        (
            quic(|options| {
                options.acknowledgement = Some(Acknowledgement::RttFraction {
                    fraction: 0.0,
                    packets: 10,
                    delay: ms(25),
                    from_packet: 100,
                });
            }),
            "quic.acknowledgement.fraction: `0` is not allowed; allowed is 0.001 to 1",
        ),
        (
            quic(|options| options.max_window = bytes(11_999)),
            "quic.max_window: `11999 B` is not allowed; allowed is at least `initial_window`, 12 kB",
        ),
        (
            quic(|options| options.max_stream_receive_window = bytes(1000)),
            "quic.max_stream_receive_window: `1 kB` is not allowed; allowed is at least \
             `stream_receive_window`, 16 MiB",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
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
        version: QuicVersion::Gquic37,
        connection_id: ByteCount::ZERO,
        packet_number: bytes(4),
        max_streams: 200,
        flow_control: FlowControl::DoubleWhenHalfUsed,
        stream_scheduler: StreamScheduler::Fifo,
        persistent_congestion: false,
        max_window: bytes(50_000),
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
        ("ngtcp2-2020", BbrChromium, SlowStartExit::None, 1, BBR_PACING),
    ] {
        assert_eq!(control(profile, given), (exit, connections, pacing), "{profile} {given:?}");
    }
}

/// What is not given follows what is.
#[test]
fn windows_follow_datagrams_and_each_other() {
    let with = |profile: &str, change: &dyn Fn(&mut EndpointConfig)| {
        taken(|config| {
            config.profile = Some(profile.to_owned());
            change(config);
        })
    };
    let larger = |config: &mut EndpointConfig| config.datagram_size = bytes(1472);
    // ten datagrams; 32 x 1460 B whatever they are; 14 720 B at most
    assert_eq!(with("aioquic", &larger).initial_window, ByteCount::from_bytes(14_720));
    assert_eq!(with("chromium-quic1", &larger).initial_window, ByteCount::from_bytes(46_720));
    assert_eq!(InitialWindow::Rfc9002.bytes(ByteCount::from_bytes(1500)), ByteCount::from_bytes(14_720));
    assert_eq!(InitialWindow::Rfc9002.bytes(ByteCount::from_bytes(9000)), ByteCount::from_bytes(18_000));
    // 2000 x 1460 B is Chromium's largest window; a larger first one raises it
    let raised = with("chromium-quic1", &|config| config.initial_window = bytes(4_000_000));
    assert_eq!(raised.max_window, bytes(4_000_000));
    let credit = with("quic-go", &|config| config.stream_receive_window = bytes(10 << 20));
    assert_eq!(credit.max_stream_receive_window, ByteCount::from_bytes(10 << 20));
    let slow = with("rfc9002", &|config| {
        let acknowledgement = Some(Acknowledgement::Timer { delay: ms(40) });
        config.quic = Some(QuicOptions { acknowledgement, ..QuicOptions::default() });
    });
    assert_eq!(slow.max_ack_delay, ms(40));
}
