"""Bulk transfers of the study `validation/linux_tcp`: settings, table and limits from the reference."""

from collections.abc import Mapping
from dataclasses import dataclass

from quiclab.result.stats import reduced
from quiclab.study import Changes
from quiclab.study.criteria import Criterion
from quiclab_studies.validation.linux_tcp_cells import CONTROLS, REFERENCE, length
from quiclab_studies.validation.network import Network
from quiclab_studies.validation.tables import Cells, Key, column, columns, grouped, read, with_means

BULK = f"{REFERENCE}/bulk.csv"
WITHOUT_LOSS, WITH_LOSS, ROUND_TRIP_TIME = 0.05, 0.15, 0.10


@dataclass(frozen=True)
class BulkPath(Network):
    """The network between server and client in one setting of the bulk transfers."""

    jitter: str
    buffers: str
    duration_s: float

    @classmethod
    def of(cls, cells: Cells) -> "BulkPath":
        """Read the columns of a row."""
        return cls(
            float(cells["rate_mbps"]),
            float(cells["rtt_ms"]),
            int(cells["queue_packets"]),
            float(cells["loss_percent"]),
            cells["jitter"],
            cells["max_buffers_rmem_wmem"],
            float(cells["duration_s"]),
        )

    @property
    def name(self) -> str:
        """Name of the setting, such as `20mbit_20ms_q100_loss1`."""
        parts = [f"{self.rate_mbps:g}mbit", f"{self.rtt_ms:g}ms", f"q{self.queue_packets}"]
        if self.loss_percent:
            parts.append(f"loss{self.loss_percent:g}")
        if self.jitter != "none":
            kind, deviation, _ = self.jitter.split()
            parts.append(f"{kind}{deviation}")
        if self.large_buffers:
            parts.append("64MB")
        return "_".join(parts)

    @property
    def large_buffers(self) -> bool:
        """Whether the socket buffers were raised, so that they do not limit."""
        return self.buffers == "64/64 MB"

    @property
    def limited_by_buffers(self) -> bool:
        """Whether the default socket buffers are the limit, as the reference states for uniform jitter."""
        return self.jitter.startswith("uniform") and not self.large_buffers

    @property
    def changes(self) -> Changes:
        """Changes of this setting to the base scenario."""
        receive, send = self.buffers.removesuffix(" MB").split("/")
        time = length(self.duration_s, self.rtt_ms)
        found: dict[str, object] = {
            **self.chain(self.jitter),
            "duration": time,
            "until": "duration_over",
            "flows.main.workload": {"kind": "download", "duration": time, "request": "16 B"},
            "flows.main.sender.tcp.max_send_buffer": f"{send} MiB",
            "flows.main.receiver.tcp.max_receive_buffer": f"{receive} MiB",
            "record": {"series_interval": "10 ms"},
        }
        return found


BULK_COLUMNS = {
    "goodput_mbps": "goodput_mbps",
    "srtt_ms": "mean_srtt_ms",
    "cwnd_packets": "mean_cwnd_packets",
    "longest_cwnd_packets": "max_cwnd_packets",
    "retransmits": "retransmits",
}
"""Metric of the study -> column of the reference."""
_BULK_ROWS = sorted(read(BULK), key=lambda row: (BulkPath.of(row).large_buffers, list(CONTROLS).index(row["cc"])))
PATHS = {BulkPath.of(row).name: BulkPath.of(row) for row in _BULK_ROWS}
_BULK = grouped(_BULK_ROWS, lambda row: (row["cc"], BulkPath.of(row).name))


def bulk_table() -> list[Cells]:
    """Return the table of the bulk transfers: mean and deviation over the seeds."""
    return [
        with_means(
            {
                "configuration": str(control),
                "path": str(name),
                **{key: rows[0][key] for key in ("rate_mbps", "rtt_ms", "queue_packets", "loss_percent", "jitter")},
                "max_buffers_rmem_wmem": rows[0]["max_buffers_rmem_wmem"],
            },
            columns(rows, BULK_COLUMNS),
        )
        for (control, name), rows in _BULK.items()
    ]


def _bulk_criterion(identity: str, statement: str, metric: str, limits: Mapping[Key, float]) -> Criterion:
    source = BULK_COLUMNS[metric]
    reference = {key: reduced(column(rows, source)) for key, rows in _BULK.items()}
    return Criterion(identity, statement, reference, limits, "" if metric == "goodput_mbps" else metric)


_JUDGED = {key: PATHS[str(key[1])] for key in _BULK if not PATHS[str(key[1])].limited_by_buffers}
BULK_CRITERIA = (
    _bulk_criterion(
        "LT-B1",
        "Goodput is within 5 % of Linux wherever no packet is lost at random.",
        "goodput_mbps",
        {key: WITHOUT_LOSS for key, path in _JUDGED.items() if not path.loss_percent},
    ),
    _bulk_criterion(
        "LT-B2",
        "Goodput is within 15 % of Linux under random loss, in the mean over the seeds.",
        "goodput_mbps",
        {key: WITH_LOSS for key, path in _JUDGED.items() if path.loss_percent},
    ),
    _bulk_criterion(
        "LT-B3",
        "The mean smoothed RTT is within 10 % of Linux.",
        "srtt_ms",
        dict.fromkeys(_JUDGED, ROUND_TRIP_TIME),
    ),
)
