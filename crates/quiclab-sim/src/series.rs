//! Time series in long form: one row for each (time, element, metric).

use quiclab_core::{Metrics, Time, Topology};

/// The metric of the bytes that a receiver has delivered to its application.
const DELIVERED: &str = "delivered_bytes";

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
    pub metric_names: Vec<&'static str>,
}

impl Series {
    /// Samples all elements at `now`, and what the endpoints in `receivers` have delivered to their applications.
    pub fn sample(&mut self, now: Time, topology: &mut Topology, receivers: &[usize]) {
        let mut metrics = Metrics::default();
        for element in 0..topology.len() {
            metrics.0.clear();
            topology.node_mut(element).sample(now, &mut metrics);
            if receivers.contains(&element)
                && let Some(endpoint) = topology.node(element).endpoint()
            {
                metrics.count(DELIVERED, endpoint.progress().delivered_bytes);
            }
            for &(name, value) in &metrics.0 {
                let known = self.metric_names.iter().position(|known| *known == name);
                let metric = known.unwrap_or_else(|| {
                    self.metric_names.push(name);
                    self.metric_names.len() - 1
                });
                self.time_ns.push(i64::try_from(now.as_nanos()).unwrap_or(i64::MAX));
                self.element.push(element as u32);
                self.metric.push(metric as u32);
                self.value.push(value);
            }
        }
    }
}
