//! What a run has recorded as packed columns, little-endian: the form in which Python takes it, from the
//! extension or from files.

use crate::packet_log::Record;
use crate::run::RunOutput;
use quiclab_core::tunnel::SojournRecord;
use quiclab_core::{DropReason, RequestTimes, TapRecords, Time};

/// A table: columns of equal length, and the names that numbers in them stand for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Columns with their names.
    pub columns: Vec<(&'static str, Vec<u8>)>,
    /// Names by number, such as `element_names`.
    pub names: Vec<(&'static str, Vec<String>)>,
}

impl Table {
    /// With a column of `values`, each as the bytes that `of` gives.
    #[must_use]
    pub fn column<T: Copy, const N: usize>(
        mut self,
        name: &'static str,
        values: &[T],
        of: impl Fn(T) -> [u8; N],
    ) -> Self {
        self.columns.push((name, values.iter().flat_map(|value| of(*value)).collect()));
        self
    }

    /// With a list of names.
    #[must_use]
    pub fn names(mut self, name: &'static str, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.names.push((name, names.into_iter().map(Into::into).collect()));
        self
    }
}

impl RunOutput {
    /// Time series: `time_ns`, `element`, `metric`, `value`.
    #[must_use]
    pub fn series_table(&self) -> Table {
        let series = &self.series;
        Table::default()
            .column("time_ns", &series.time_ns, i64::to_le_bytes)
            .column("element", &series.element, u32::to_le_bytes)
            .column("metric", &series.metric, u32::to_le_bytes)
            .column("value", &series.value, f64::to_le_bytes)
            .names("element_names", self.element_names.iter())
            .names("metric_names", series.metric_names.iter().copied())
    }

    /// Packet records: `time_ns`, `element`, `event`, `port`, `flow`, `direction`, `size_bytes`, `packet_id`.
    #[must_use]
    pub fn packets_table(&self) -> Table {
        let records = &self.packets;
        Table::default()
            .column("time_ns", records, |r: Record| r.time.as_nanos().to_le_bytes())
            .column("element", records, |r: Record| r.element.to_le_bytes())
            .column("event", records, |r: Record| [r.event as u8])
            .column("port", records, |r: Record| r.port.to_le_bytes())
            .column("flow", records, |r: Record| r.flow.to_le_bytes())
            .column("direction", records, |r: Record| [r.direction])
            .column("size_bytes", records, |r: Record| (r.size_bytes as u32).to_le_bytes())
            .column("packet_id", records, |r: Record| r.packet.to_le_bytes())
            .names("element_names", self.element_names.iter())
            .names("flow_names", self.result.scenario.flow_names())
    }

    /// Records of the taps by name: `time_ns`, `packet_id`, `flow`, `direction`, `size_bytes`.
    #[must_use]
    pub fn tap_tables(&self) -> Vec<(&str, Table)> {
        self.taps.iter().map(|(name, records)| (name.as_str(), tap_table(records))).collect()
    }

    /// What happened to the requests of pages: `flow`, `resource`, `origin`, `size_bytes`, and the times `connecting_ns`,
    /// `connected_ns`, `wanted_ns`, `asked_ns`, `first_byte_ns`, `complete_ns`, each -1 if it has not come.
    #[must_use]
    pub fn requests_table(&self) -> Table {
        let records: Vec<(u32, RequestTimes)> = self
            .requests
            .iter()
            .flat_map(|(flow, requests)| requests.iter().map(move |request| (*flow, *request)))
            .collect();
        let nanos = |time: Option<Time>| time.map_or(-1, |time| time.as_nanos() as i64).to_le_bytes();
        Table::default()
            .column("flow", &records, |(flow, _)| flow.to_le_bytes())
            .column("resource", &records, |(_, r)| r.resource.to_le_bytes())
            .column("origin", &records, |(_, r)| r.origin.to_le_bytes())
            .column("size_bytes", &records, |(_, r)| r.size.bytes().to_le_bytes())
            .column("connecting_ns", &records, |(_, r)| nanos(r.connecting))
            .column("connected_ns", &records, |(_, r)| nanos(r.connected))
            .column("wanted_ns", &records, |(_, r)| nanos(r.wanted))
            .column("asked_ns", &records, |(_, r)| nanos(r.asked))
            .column("first_byte_ns", &records, |(_, r)| nanos(r.first_byte))
            .column("complete_ns", &records, |(_, r)| nanos(r.complete))
            .names("flow_names", self.result.scenario.flow_names())
    }

    /// How packets have left the queues of tunnels: `time_ns`, `element`, `flow`, `direction`, `sojourn_ns`,
    /// `outcome` (0: sent, then one for each reason to drop).
    #[must_use]
    pub fn sojourns_table(&self) -> Table {
        let element = |name: &String| self.element_names.iter().position(|known| known == name);
        let records: Vec<(u32, SojournRecord)> = self
            .sojourns
            .iter()
            .flat_map(|(name, records)| {
                let element = element(name).expect("ends of tunnels are elements") as u32;
                records.iter().map(move |record| (element, *record))
            })
            .collect();
        let outcome = |dropped: Option<DropReason>| {
            let number = |reason| DropReason::ALL.iter().position(|known| *known == reason);
            dropped.and_then(number).map_or(0, |number| number as u8 + 1)
        };
        let outcomes = std::iter::once("sent").chain(DropReason::ALL.iter().map(|reason| reason.name()));
        Table::default()
            .column("time_ns", &records, |(_, r)| r.time.as_nanos().to_le_bytes())
            .column("element", &records, |(element, _)| element.to_le_bytes())
            .column("flow", &records, |(_, r)| r.flow.0.to_le_bytes())
            .column("direction", &records, |(_, r)| [r.direction as u8])
            .column("sojourn_ns", &records, |(_, r)| r.sojourn.as_nanos().to_le_bytes())
            .column("outcome", &records, |(_, r)| [outcome(r.dropped)])
            .names("element_names", self.element_names.iter())
            .names("flow_names", self.result.scenario.flow_names())
            .names("outcome_names", outcomes)
    }
}

fn tap_table(records: &TapRecords) -> Table {
    Table::default()
        .column("time_ns", &records.times, |time| time.as_nanos().to_le_bytes())
        .column("packet_id", &records.ids, u64::to_le_bytes)
        .column("flow", &records.flows, |flow| flow.0.to_le_bytes())
        .column("direction", &records.directions, |direction| [direction as u8])
        .column("size_bytes", &records.sizes_bytes, u32::to_le_bytes)
}
