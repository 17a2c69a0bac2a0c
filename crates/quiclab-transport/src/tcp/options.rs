//! The options of an endpoint on lab-tcp: a profile with the overrides of a scenario, checked.

use super::profile::{self, DEFAULT_PROFILE, Values, profiles};
use super::stack::LAB_TCP;
use crate::error::{Error, ensure, refused, within};
use crate::http;
use crate::names::name;
use crate::options::{CongestionControl, EndpointConfig, Pacing, SlowStartExit, TcpOptions, Tls};
use quiclab_core::{ByteCount, DataRate, Duration};

/// RFC 879 and Linux' `TCP_MIN_MSS` below; above, jumbo frames less headers. Links have no MTU, so nothing
/// else bounds it.
const MSS: std::ops::RangeInclusive<ByteCount> = ByteCount::from_bytes(88)..=ByteCount::from_bytes(9148);
/// From `tcp_rmem`'s first value to what window scaling can announce, 65535 · 2^14 (RFC 7323 section 2.3).
const BUFFERS: std::ops::RangeInclusive<ByteCount> =
    ByteCount::from_bytes(4096)..=ByteCount::from_bytes(65_535 << 14);
/// A clock tick of timestamps to Linux' `TCP_RTO_MAX`.
const TIMEOUTS: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(120);
const LARGEST_WINDOW: ByteCount = ByteCount::from_bytes(1 << 30);
/// RFC 5681 section 3.2: three duplicates; fewer than RACK and RFC 6675 may assume.
const SMALLEST_REORDERING: u32 = 3;
const LARGEST_CHAIN: ByteCount = ByteCount::from_bytes(1 << 16);

/// The complete values of `config`.
pub(super) fn resolve(options: &EndpointConfig) -> Result<Values, Error> {
    refuse_quic(options)?;
    let profile = options.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
    let mut values = profile::find(profile).ok_or_else(|| {
        let known: Vec<_> = profiles().map(|name| format!("`{name}`")).collect();
        let allowed = known.join(", ");
        Error::UnknownProfile { stack: LAB_TCP, profile: profile.to_owned(), allowed }
    })?;
    check_tcp(options.tcp.as_ref(), &mut values)?;
    check_tls(options.tls.as_ref())?;
    http::check_http2(options.http2.as_ref())?;
    values.config.tls = options.tls.clone();
    check_control(options, &mut values)?;
    Ok(values)
}

/// Options that only QUIC has.
fn refuse_quic(options: &EndpointConfig) -> Result<(), Error> {
    let bytes = |value: Option<ByteCount>| value.map(|value| value.to_string());
    let given = [
        ("datagram_size", bytes(options.datagram_size), "nothing: TCP has `tcp.mss`"),
        ("stream_receive_window", bytes(options.stream_receive_window), RECEIVE_BUFFER),
        ("connection_receive_window", bytes(options.connection_receive_window), RECEIVE_BUFFER),
        ("send_window", bytes(options.send_window), "nothing: TCP has `tcp.max_send_buffer`"),
        ("packet_threshold", text(options.packet_threshold), "nothing: TCP has `tcp.reordering`"),
        ("time_threshold", text(options.time_threshold), "nothing: TCP has RACK, `tcp.loss_detection`"),
        ("initial_rtt", text(options.initial_rtt), "nothing: TCP has `tcp.initial_rto`"),
        (
            "ack_frequency",
            options.ack_frequency.map(|_| "given".to_owned()),
            "nothing: TCP has `tcp.quick_acks` and `tcp.max_delayed_ack`",
        ),
        (
            "controller",
            options.controller.map(|value| name(&value).to_owned()),
            "nothing: lab-tcp is no real stack",
        ),
        ("quic", options.quic.as_ref().map(|_| "given".to_owned()), "nothing: TCP has `tcp`"),
        (
            "tls.early_data",
            options.tls.as_ref().and_then(|tls| tls.early_data).map(|value| name(&value).to_owned()),
            "to leave it out: only QUIC sends data in its first flight",
        ),
    ];
    for (field, value, allowed) in given {
        if let Some(value) = value {
            return Err(refused(field, value, allowed));
        }
    }
    Ok(())
}

const RECEIVE_BUFFER: &str = "nothing: TCP has `tcp.max_receive_buffer`";

fn text<T: ToString>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// Puts what `options` set into `values`.
fn check_tcp(options: Option<&TcpOptions>, values: &mut Values) -> Result<(), Error> {
    let config = &mut values.config;
    let empty = TcpOptions::default();
    let options = options.unwrap_or(&empty);
    macro_rules! take {
        ($($field:ident),+) => { $( if let Some(value) = options.$field { config.$field = value; } )+ };
    }
    within("tcp.mss", options.mss, MSS)?;
    within("tcp.receive_buffer", options.receive_buffer, BUFFERS)?;
    within("tcp.max_receive_buffer", options.max_receive_buffer, BUFFERS)?;
    within("tcp.max_send_buffer", options.max_send_buffer, BUFFERS)?;
    within("tcp.min_rto", options.min_rto, TIMEOUTS)?;
    within("tcp.initial_rto", options.initial_rto, TIMEOUTS)?;
    within("tcp.max_delayed_ack", options.max_delayed_ack, Duration::ZERO..=*TIMEOUTS.end())?;
    within("tcp.compressed_ack_delay", options.compressed_ack_delay, Duration::ZERO..=*TIMEOUTS.end())?;
    within("tcp.reordering", options.reordering, SMALLEST_REORDERING..=u32::MAX)?;
    within("tcp.gso_segments", options.gso_segments, 1..=65_535)?;
    take!(mss, timestamps, sack, dsack, window_scaling, receive_buffer, max_receive_buffer, max_send_buffer);
    take!(min_rto, initial_rto, reordering, max_reordering, loss_detection, tail_loss_probe, frto, undo);
    take!(
        rate_reduction,
        min_delayed_ack,
        max_delayed_ack,
        quick_acks,
        compressed_acks,
        compressed_ack_delay
    );
    take!(restart_after_idle, gso_segments, metrics);
    if !config.sack {
        ensure(options.dsack != Some(true), || {
            refused("tcp.dsack", "true", "false: without `tcp.sack` nothing can be reported")
        })?;
        config.dsack = false;
    }
    ensure(config.receive_buffer <= config.max_receive_buffer, || {
        let allowed = format!("at most `tcp.max_receive_buffer`, {}", config.max_receive_buffer);
        refused("tcp.receive_buffer", config.receive_buffer, allowed)
    })?;
    ensure(config.min_delayed_ack <= config.max_delayed_ack, || {
        let allowed = format!("at most `tcp.max_delayed_ack`, {}", config.max_delayed_ack);
        refused("tcp.min_delayed_ack", config.min_delayed_ack, allowed)
    })?;
    ensure(config.reordering <= config.max_reordering, || {
        let allowed = format!("at least `tcp.reordering`, {}", config.reordering);
        refused("tcp.max_reordering", config.max_reordering, allowed)
    })
}

fn check_tls(tls: Option<&Tls>) -> Result<(), Error> {
    within("tls.certificate", tls.map(|tls| tls.certificate), ByteCount::ZERO..=LARGEST_CHAIN)
}

/// Congestion control and pacing, and which of them go together.
fn check_control(options: &EndpointConfig, values: &mut Values) -> Result<(), Error> {
    use CongestionControl::{Balia, BbrChromium, BbrLinux, BbrPicoquic, Cubic, Fixed, Lia, Newreno, Olia};
    let config = &mut values.config;
    if let Some(control) = options.congestion_control {
        config.congestion_control = control;
        // a module of its own in Linux: only CUBIC has HyStart, only BBR asks for pacing
        match control {
            Cubic => {}
            Newreno | Fixed => config.slow_start_exit = SlowStartExit::None,
            BbrLinux | BbrChromium | BbrPicoquic => {
                config.slow_start_exit = SlowStartExit::None;
                config.pacing = Pacing::Linux { max_rate: None };
            }
            Lia | Olia | Balia => {
                let allowed = "a control of one path: lab-tcp has no others";
                return Err(refused("congestion_control", control.name(), allowed));
            }
        }
    }
    let control = name(&config.congestion_control);
    let bbr = matches!(config.congestion_control, BbrLinux | BbrChromium | BbrPicoquic);
    let windowed = matches!(config.congestion_control, Cubic | Newreno);
    if let Some(connections) = options.emulated_connections {
        ensure(connections > 0, || refused("emulated_connections", connections, "1 or more"))?;
        ensure(windowed, || {
            let allowed = format!("nothing with `{control}`: only `cubic` and `newreno` stand for several");
            refused("emulated_connections", connections, allowed)
        })?;
        config.emulated_connections = connections;
    }
    if let Some(exit) = options.slow_start_exit {
        ensure(windowed || exit == SlowStartExit::None, || {
            let allowed = format!("`none` with `{control}`, which has no slow start of that kind");
            refused("slow_start_exit", name(&exit), allowed)
        })?;
        config.slow_start_exit = exit;
    }
    if let Some(pacing) = options.pacing {
        check_pacing(&pacing)?;
        ensure(!bbr || pacing != Pacing::None, || {
            let allowed = format!(
                "`leaky_bucket`, `even`, `quantum`, `time_bucket`, `linux`, `fq`: `{control}` controls its rate by pacing"
            );
            refused("pacing.kind", "none", allowed)
        })?;
        config.pacing = pacing;
    }
    if let Some(window) = options.initial_window {
        let packet = ByteCount::from_bytes(config.payload(config.mss.bytes(), config.timestamps));
        within("initial_window", Some(window), packet..=LARGEST_WINDOW)?;
        config.initial_window = Some(window);
    }
    Ok(())
}

fn check_pacing(pacing: &Pacing) -> Result<(), Error> {
    let (factor, burst, max_rate) = match *pacing {
        Pacing::None => (None, None, None),
        Pacing::LeakyBucket { factor, burst_packets, .. } => (Some(factor), Some(burst_packets), None),
        Pacing::Even { factor } => (Some(factor), None, None),
        Pacing::Quantum { factor, burst_packets, .. } | Pacing::TimeBucket { factor, burst_packets, .. } => {
            (Some(factor), Some(burst_packets), None)
        }
        Pacing::Linux { max_rate } | Pacing::Fq { max_rate } => (None, None, max_rate),
    };
    within("pacing.factor", factor, 0.01..=10.0)?;
    within("pacing.burst_packets", burst, 1..=u32::MAX)?;
    ensure(max_rate != Some(DataRate::from_bits_per_second(0)), || {
        refused("pacing.max_rate", "0 bit/s", "a rate above 0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Controller, EarlyData, QuicOptions, TlsVersion};

    fn sentence(change: impl FnOnce(&mut EndpointConfig)) -> String {
        let mut config = EndpointConfig { stack: Some("lab-tcp".to_owned()), ..EndpointConfig::default() };
        change(&mut config);
        resolve(&config).expect_err("it is to be refused").to_string()
    }

    fn tcp(change: impl FnOnce(&mut TcpOptions)) -> String {
        let mut options = TcpOptions::default();
        change(&mut options);
        sentence(|config| config.tcp = Some(options))
    }

    const fn bytes(bytes: u64) -> Option<ByteCount> {
        Some(ByteCount::from_bytes(bytes))
    }

    #[test]
    fn what_is_refused_is_named_with_what_is_allowed() {
        use CongestionControl::{BbrLinux, Fixed};
        let cases = [
            (
                sentence(|config| config.profile = Some("linux-2.4".to_owned())),
                "profile: `linux-2.4` is not one of stack `lab-tcp`; allowed is `linux-4.15`, `linux-4.19`, \
                 `linux-5.3`, `linux-5.15`, `linux-7`",
            ),
            (
                sentence(|config| config.datagram_size = bytes(1200)),
                "datagram_size: `1200 B` is not allowed; allowed is nothing: TCP has `tcp.mss`",
            ),
            (
                sentence(|config| config.packet_threshold = Some(3)),
                "packet_threshold: `3` is not allowed; allowed is nothing: TCP has `tcp.reordering`",
            ),
            (
                sentence(|config| config.controller = Some(Controller::Quiclab)),
                "controller: `quiclab` is not allowed; allowed is nothing: lab-tcp is no real stack",
            ),
            (
                sentence(|config| config.quic = Some(QuicOptions::default())),
                "quic: `given` is not allowed; allowed is nothing: TCP has `tcp`",
            ),
            (
                sentence(|config| {
                    config.tls = Some(Tls {
                        version: TlsVersion::Tls13,
                        resumption: true,
                        certificate: ByteCount::from_bytes(3000),
                        early_data: Some(EarlyData::Accepted),
                    });
                }),
                "tls.early_data: `accepted` is not allowed; allowed is to leave it out: only QUIC sends data \
                 in its first flight",
            ),
            (
                sentence(|config| {
                    (config.congestion_control, config.pacing) = (Some(BbrLinux), Some(Pacing::None));
                }),
                "pacing.kind: `none` is not allowed; allowed is `leaky_bucket`, `even`, `quantum`, `time_bucket`, \
                 `linux`, `fq`: `bbr-linux` controls its rate by pacing",
            ),
            (
                sentence(|config| config.emulated_connections = Some(0)),
                "emulated_connections: `0` is not allowed; allowed is 1 or more",
            ),
            (
                sentence(|config| {
                    (config.congestion_control, config.emulated_connections) = (Some(Fixed), Some(2));
                }),
                "emulated_connections: `2` is not allowed; allowed is nothing with `fixed`: only `cubic` and \
                 `newreno` stand for several",
            ),
            (
                sentence(|config| {
                    config.congestion_control = Some(BbrLinux);
                    config.slow_start_exit = Some(SlowStartExit::HystartPlusPlus);
                }),
                "slow_start_exit: `hystart-plus-plus` is not allowed; allowed is `none` with `bbr-linux`, \
                 which has no slow start of that kind",
            ),
            (
                sentence(|config| config.initial_window = bytes(1447)),
                "initial_window: `1447 B` is not allowed; allowed is 1448 B to 1 GiB",
            ),
            (
                sentence(|config| {
                    config.pacing = Some(Pacing::LeakyBucket {
                        factor: 1.25,
                        slow_start_factor: None,
                        burst_packets: 0,
                        burst_share: None,
                        burst_time: None,
                        idle_burst_packets: None,
                        whole_bursts: false,
                    });
                }),
                "pacing.burst_packets: `0` is not allowed; allowed is 1 to 4294967295",
            ),
            (
                sentence(|config| config.pacing = Some(Pacing::Even { factor: f64::NAN })),
                "pacing.factor: `NaN` is not allowed; allowed is 0.01 to 10",
            ),
            (
                sentence(|config| {
                    let certificate = ByteCount::from_bytes(65_537);
                    config.tls = Some(Tls {
                        version: TlsVersion::Tls13,
                        resumption: false,
                        certificate,
                        early_data: None,
                    });
                }),
                "tls.certificate: `65537 B` is not allowed; allowed is 0 B to 64 KiB",
            ),
            (
                tcp(|tcp| (tcp.sack, tcp.dsack) = (Some(false), Some(true))),
                "tcp.dsack: `true` is not allowed; allowed is false: without `tcp.sack` nothing can be reported",
            ),
            (tcp(|tcp| tcp.mss = bytes(87)), "tcp.mss: `87 B` is not allowed; allowed is 88 B to 9148 B"),
            (tcp(|tcp| tcp.mss = bytes(9149)), "tcp.mss: `9149 B` is not allowed; allowed is 88 B to 9148 B"),
            (
                tcp(|tcp| tcp.reordering = Some(2)),
                "tcp.reordering: `2` is not allowed; allowed is 3 to 4294967295",
            ),
            (
                tcp(|tcp| tcp.max_reordering = Some(2)),
                "tcp.max_reordering: `2` is not allowed; allowed is at least `tcp.reordering`, 3",
            ),
            (
                tcp(|tcp| tcp.receive_buffer = bytes(64 << 20)),
                "tcp.receive_buffer: `64 MiB` is not allowed; allowed is at most `tcp.max_receive_buffer`, \
                 32 MiB",
            ),
            (
                tcp(|tcp| tcp.min_delayed_ack = Some(Duration::from_millis(300))),
                "tcp.min_delayed_ack: `300 ms` is not allowed; allowed is at most `tcp.max_delayed_ack`, \
                 200 ms",
            ),
            (
                tcp(|tcp| tcp.min_rto = Some(Duration::ZERO)),
                "tcp.min_rto: `0 ns` is not allowed; allowed is 1 ms to 2 min",
            ),
            (
                tcp(|tcp| tcp.gso_segments = Some(0)),
                "tcp.gso_segments: `0` is not allowed; allowed is 1 to 65535",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn overrides_replace_fields_one_by_one() {
        let plain = EndpointConfig { stack: Some("lab-tcp".to_owned()), ..EndpointConfig::default() };
        let default = resolve(&plain).unwrap();
        assert_eq!(default, profile::find("linux-7").unwrap());
        let options = TcpOptions { sack: Some(false), mss: bytes(536), ..TcpOptions::default() };
        let found = resolve(&EndpointConfig { tcp: Some(options), ..plain.clone() }).unwrap().config;
        let expected = super::super::Config {
            sack: false,
            dsack: false, // there is nothing to report with
            mss: ByteCount::from_bytes(536),
            ..default.config.clone()
        };
        assert_eq!(found, expected);
        let control = |control| {
            let config = EndpointConfig { congestion_control: Some(control), ..plain.clone() };
            let found = resolve(&config).unwrap().config;
            (found.slow_start_exit, found.pacing)
        };
        use CongestionControl::{BbrLinux, Cubic, Newreno};
        assert_eq!(control(Cubic), (SlowStartExit::HystartLinux, Pacing::None));
        assert_eq!(control(Newreno), (SlowStartExit::None, Pacing::None));
        assert_eq!(control(BbrLinux), (SlowStartExit::None, Pacing::Linux { max_rate: None }));
    }
}
