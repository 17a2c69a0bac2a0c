//! Flow completion times of downloads.

use quiclab_core::{ByteCount, Duration, Metric, Metrics, Progress, Time};
use quiclab_scenario::Arrival;
use quiclab_transport::Samples;
use quiclab_transport::options::Workload;

quiclab_core::metrics! {
    /// Connections that have arrived.
    pub static COMPLETIONS: CompletionsMetrics = Flow, "client of a flow with `arrivals`" {
        /// Connections whose client has begun.
        connections: Counter, End;
        /// Connections that were completed.
        completed_connections: Counter, End;
        /// Connections that broke.
        failed_connections: Counter, End;
        /// Flow completion time, from the start of the client to the last byte.
        completion_ms: Distribution, End;
        /// Flow completion time of downloads of at most 10 kB.
        completion_short_ms: Distribution, End;
        /// Flow completion time of downloads of more than 10 kB and less than 1 MB.
        completion_medium_ms: Distribution, End;
        /// Flow completion time of downloads of at least 1 MB.
        completion_long_ms: Distribution, End;
    }
}

/// Limits of the size classes of completion times: up to 10 kB an initial window is sufficient, from 1 MB on
/// a download is bulk.
const SHORT: ByteCount = ByteCount::from_bytes(10_000);
const LONG: ByteCount = ByteCount::from_bytes(1_000_000);

/// A download of an arrived connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Number of the connection, from 0.
    pub number: u32,
    /// Time at which the client connected.
    pub start: Time,
    /// Size of the download.
    pub size: ByteCount,
    /// Time of delivery of the last byte; `None` if it was not delivered.
    pub finish: Option<Time>,
    /// Whether the connection broke before that.
    pub failed: bool,
}

impl Completion {
    pub(super) fn begin(number: u32, arrival: &Arrival, workload: &Workload) -> Self {
        let size = arrival.size.or(workload.size()).expect("either has a size");
        Self { number, start: arrival.at, size, finish: None, failed: false }
    }

    pub(super) fn end(&mut self, progress: &Progress) {
        self.finish = progress.finished;
        self.failed = progress.failed;
    }

    /// Flow completion time, from the client's start to the last byte.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        self.finish.map(|finish| finish.since(self.start))
    }
}

/// Adds the number of downloads, and their completion times, also by size.
pub(super) fn report(completions: &[Completion], out: &mut Metrics) {
    out.count(&COMPLETIONS.connections, completions.len() as u64);
    out.count(
        &COMPLETIONS.completed_connections,
        completions.iter().filter(|it| it.finish.is_some()).count() as u64,
    );
    out.count(&COMPLETIONS.failed_connections, completions.iter().filter(|it| it.failed).count() as u64);
    let classes: [(&'static Metric, &dyn Fn(ByteCount) -> bool); 4] = [
        (&COMPLETIONS.completion_ms, &|_| true),
        (&COMPLETIONS.completion_short_ms, &|size| size <= SHORT),
        (&COMPLETIONS.completion_medium_ms, &|size| size > SHORT && size < LONG),
        (&COMPLETIONS.completion_long_ms, &|size| size >= LONG),
    ];
    for (metric, of_class) in classes {
        let mut times = Samples::default();
        completions
            .iter()
            .filter(|it| of_class(it.size))
            .filter_map(Completion::time)
            .for_each(|time| times.add(time));
        times.report(metric, out);
    }
}
