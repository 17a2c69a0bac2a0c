//! Time series in long form: one row for each (time, element, metric).

use quiclab_core::{Measured, Metric, Metrics, Time, Topology};
use std::borrow::Cow;

quiclab_core::metrics! {
    /// Progress of a flow.
    pub static PROGRESS: ProgressMetrics = Flow, "receiver of each flow" {
        /// Bytes that its application has got so far; in the kernel lane only of programs that report it.
        delivered_bytes: Counter, Series;
    }
}

/// Columns of equal length, sorted by time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Nanoseconds since the start of the run.
    pub time_ns: Vec<i64>,
    /// Index of the element.
    pub element: Vec<u32>,
    /// Index into `metric_names`.
    pub metric: Vec<u32>,
    /// The value; its unit is the suffix of the metric's name.
    pub value: Vec<f64>,
    /// Names of the metrics in the order of first use.
    pub metric_names: Vec<Cow<'static, str>>,
    /// Definition and number of each metric seen so far, and its index in `metric_names`.
    known: Vec<(&'static Metric, u8, u32)>,
}

impl Series {
    /// Samples all elements at `now`, and the bytes that the endpoints in `receivers` have delivered to their
    /// applications.
    pub fn sample(&mut self, now: Time, topology: &mut Topology, receivers: &[usize]) {
        let mut metrics = Metrics::default();
        for element in 0..topology.len() {
            metrics.clear();
            topology.node_mut(element).sample(now, &mut metrics);
            if receivers.contains(&element)
                && let Some(endpoint) = topology.node(element).endpoint()
            {
                metrics.count(&PROGRESS.delivered_bytes, endpoint.progress().delivered_bytes);
            }
            for measured in metrics.iter() {
                let metric = self.place(measured);
                self.time_ns.push(i64::try_from(now.as_nanos()).unwrap_or(i64::MAX));
                self.element.push(element as u32);
                self.metric.push(metric);
                self.value.push(measured.value);
            }
        }
    }
    /// Index of a metric's name, which is added if it is new. Metrics of different elements can have the same
    /// name.
    fn place(&mut self, measured: &Measured) -> u32 {
        let is_it = |known: &&(&'static Metric, u8, u32)| {
            std::ptr::eq(known.0, measured.metric) && known.1 == measured.index
        };
        if let Some((_, _, place)) = self.known.iter().find(is_it) {
            return *place;
        }
        let name = measured.name();
        let place = self.metric_names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.metric_names.push(name);
            self.metric_names.len() - 1
        });
        self.known.push((measured.metric, measured.index, place as u32));
        place as u32
    }
}
