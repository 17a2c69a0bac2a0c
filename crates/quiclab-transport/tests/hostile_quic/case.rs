//! Cases: paths, a workload, and two ends.

use crate::options;
use crate::path::{Path, pick};
use quiclab_core::{ByteCount, DataRate, Duration, RandomStream, Time};
use quiclab_transport::options::{
    EarlyData, EndpointConfig, ObjectKind, PageObjects, PingProtocol, Priorities, QuicVersion, Tls,
    TlsVersion, Workload,
};

/// Case of the test.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) number: u64,
    pub(crate) paths: Vec<Path>,
    /// Time from which a path loses all packets; `None`: never.
    pub(crate) deaths: Vec<Option<Time>>,
    /// Probability that the packets of a datagram arrive in the reverse order.
    pub(crate) shuffles: f64,
    pub(crate) workload: Workload,
    /// Server and client.
    pub(crate) ends: [EndpointConfig; 2],
    pub(crate) version: QuicVersion,
}

/// Idle timeout longer than any transfer here: a connection with it does not give up.
pub(crate) const PATIENT: Duration = Duration::from_secs(20 * 3600);

impl Case {
    pub(crate) fn new(number: u64) -> Self {
        let mut random = RandomStream::new(number, "case");
        let random = &mut random;
        let version =
            pick(random, &[QuicVersion::V1, QuicVersion::V1, QuicVersion::V1, QuicVersion::Gquic37]);
        let count = if version == QuicVersion::V1 { pick(random, &[1, 1, 1, 2, 2, 3]) } else { 1 };
        let paths: Vec<_> = (0..count).map(|_| Path::draw(random)).collect();
        let tiny = random.uniform() < 0.15;
        let lossy = paths.iter().any(|path| path.loss > 0.15);
        let workload = workload(random, version, tiny, lossy);
        let (deaths, dies) = deaths(random, count);
        let idle = if dies && count == 1 || !dies && random.uniform() < 0.1 {
            Duration::from_millis(pick(random, &[1_000, 5_000, 30_000]))
        } else {
            PATIENT
        };
        let tls = tls(random);
        let mut end = |role| options::draw(random, version, role, tiny, &workload, idle, &tls);
        let mut ends = [end(options::SERVER), end(options::CLIENT)];
        options::manage_paths(number, &mut ends);
        let shuffles = if random.uniform() < 0.3 { 0.5 } else { 0.0 };
        Self { number, paths, deaths, shuffles, workload, ends, version }
    }

    /// Minimum of the idle timeouts of the two ends (RFC 9000 section 10.1).
    pub(crate) fn idle_timeout(&self) -> Duration {
        let timeout = |end: &EndpointConfig| end.quic.as_ref().and_then(|quic| quic.idle_timeout);
        self.ends.iter().filter_map(timeout).min().expect("every end has one")
    }

    /// Number of instants at which the workload itself acts.
    pub(crate) fn events(&self) -> u64 {
        match &self.workload {
            Workload::Datagrams { rate, size, duration, .. } => {
                rate.bytes_in(*duration).bytes() / size.bytes() + 1
            }
            _ => 0,
        }
    }

    /// Total bytes that the client reads; `None`: variable.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.workload {
            Workload::Datagrams { .. } | Workload::Ping { .. } => None,
            workload => workload.size().map(ByteCount::bytes),
        }
    }
}

/// Draws whether one path, or the only one, ends; returns whether one does.
fn deaths(random: &mut RandomStream, count: usize) -> (Vec<Option<Time>>, bool) {
    let mut deaths = vec![None; count];
    let at = Time::ZERO + Duration::from_nanos_f64(random.uniform() * 2e9);
    let dies = random.uniform() < if count == 1 { 0.05 } else { 0.4 };
    if dies {
        deaths[(random.bits() % count as u64) as usize] = Some(at);
    }
    (deaths, dies)
}

fn tls(random: &mut RandomStream) -> Tls {
    let kinds = [
        (false, None),
        (false, None),
        (true, None),
        (true, Some(EarlyData::Accepted)),
        (true, Some(EarlyData::Rejected)),
    ];
    let (resumption, early_data) = pick(random, &kinds);
    let certificate = bytes(pick(random, &[0, 1_000, 3_000, 10_000, 60_000]));
    Tls { version: TlsVersion::Tls13, resumption, certificate, early_data }
}

fn workload(random: &mut RandomStream, version: QuicVersion, tiny: bool, lossy: bool) -> Workload {
    let most = match (tiny, lossy) {
        (true, _) => 3_000.0,
        (_, true) => 100_000.0,
        _ => 600_000.0,
    };
    let mut size = |most: f64| bytes(1 + (random.uniform() * most) as u64);
    let (large, small, request) = (size(most), size(most / 20.0), size(if tiny { 200.0 } else { 3_000.0 }));
    let ms = Duration::from_millis;
    let kinds = if version == QuicVersion::V1 { 7 } else { 5 };
    match random.bits() % kinds {
        0 | 1 => Workload::Download { size: Some(large), duration: None, request },
        2 => {
            let duration = Some(ms(pick(random, &[1, 100, 400])));
            Workload::Download { size: None, duration, request }
        }
        3 => Workload::RequestResponse {
            count: pick(random, &[1, 2, 10]),
            request,
            response: small,
            pause: ms(pick(random, &[0, 1, 300, 5_000])),
        },
        4 => page(random, request, small, tiny),
        5 => Workload::Datagrams {
            rate: DataRate::from_bits_per_second(pick(random, &[2_000, 20_000, 500_000])),
            // the longest fits into no packet of 1200 bytes
            size: bytes(pick(random, &[1, 100, 1_000, 1_150, 1_250])),
            duration: ms(pick(random, &[1, 500, 1_500])),
            on: None,
            off: None,
        },
        _ => Workload::Ping {
            size: bytes(pick(random, &[1, 56, 1_000])),
            count: pick(random, &[1, 5, 30]),
            interval: ms(pick(random, &[1, 100, 1_000])),
            protocol: PingProtocol::Udp,
        },
    }
}

fn page(random: &mut RandomStream, section: ByteCount, html: ByteCount, tiny: bool) -> Workload {
    let kinds = [ObjectKind::Image, ObjectKind::Style, ObjectKind::Script, ObjectKind::Font];
    let counts: &[u32] = if tiny { &[1, 3] } else { &[1, 3, 20, 120] };
    let sizes: &[u64] = if tiny { &[1, 100] } else { &[1, 100, 1_000, 10_000] };
    let group = |random: &mut RandomStream| PageObjects {
        count: pick(random, counts),
        size: bytes(pick(random, sizes)),
        kind: pick(random, &kinds),
    };
    let groups = random.bits() % 4;
    Workload::Page {
        html,
        objects: (0..groups).map(|_| group(random)).collect(),
        resources: Vec::new(),
        html_think_time: Duration::from_millis(pick(random, &[0, 10])),
        think_time: Duration::from_millis(pick(random, &[0, 1, 50])),
        browser_time: quiclab_core::link::Delay::default(),
        issue_time: quiclab_core::Duration::ZERO,
        request_time: quiclab_core::Duration::ZERO,
        object_time: quiclab_core::Duration::ZERO,
        priorities: pick(random, &[Priorities::Browser, Priorities::RoundRobin]),
        request: section,
        response: bytes(pick(random, &[1, 100, 300])),
    }
}

/// Number of bytes.
pub(crate) const fn bytes(bytes: u64) -> ByteCount {
    ByteCount::from_bytes(bytes)
}
