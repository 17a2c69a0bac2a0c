"""Short transfers, two flows and Dual Connectivity of the study `validation/linux_tcp`, from the reference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quiclab.result.stats import bootstrap, reduced
from quiclab.study import Changes, Value
from quiclab.study.criteria import Criterion
from quiclab_studies.validation.linux_tcp_cells import CONTROLS, REFERENCE, length
from quiclab_studies.validation.network import Network
from quiclab_studies.validation.tables import Cells, Key, column, columns, grouped, read, with_means

SHORT, PAIRS = f"{REFERENCE}/short_transfers.csv", f"{REFERENCE}/two_flows.csv"
DUAL_CONNECTIVITY = f"{REFERENCE}/dual_connectivity_batch.csv"
PUBLISHED_BATCHES = "dual_connectivity/reference/table_5_03_batch_size.csv"
STANDARD_ERRORS = 2.0
SHARE_POINTS, BATCH_LARGEST, BATCH_MEDIAN = 0.10, 0.10, 0.05


@dataclass(frozen=True)
class Access(Network):
    """The network between server and client in one setting of the short transfers."""

    @classmethod
    def of(cls, cells: Cells) -> "Access":
        """Read the columns of a row."""
        rate, rtt, loss = float(cells["rate_mbps"]), float(cells["rtt_ms"]), float(cells["loss_percent"])
        return cls(rate, rtt, int(cells["queue_packets"]), loss)

    @property
    def name(self) -> str:
        """Name of the setting, such as `10mbit_loss1`."""
        return f"{self.rate_mbps:g}mbit" + (f"_loss{self.loss_percent:g}" if self.loss_percent else "")

    @property
    def label(self) -> str:
        """The setting in prose."""
        return f"{self.rate_mbps:g} Mbit/s" + (f", {self.loss_percent:g} % loss" if self.loss_percent else "")

    @property
    def changes(self) -> Changes:
        """Changes of this setting to the base scenario."""
        return self.chain()


_SHORT_ROWS = sorted(read(SHORT), key=lambda row: float(row["loss_percent"]))
ACCESSES = {Access.of(row).name: Access.of(row) for row in _SHORT_ROWS}
_SHORT = grouped(_SHORT_ROWS, lambda row: (Access.of(row).name, int(row["size_bytes"])))
SIZES = tuple(dict.fromkeys(int(row["size_bytes"]) for row in _SHORT_ROWS))


def milliseconds_of(rows: Sequence[Cells]) -> list[float]:
    """Return the times of repeated transfers [ms]."""
    return [1e3 * time for time in column(rows, "time_s")]


def short_table() -> list[Cells]:
    """Return the table of the short transfers: mean and deviation over the repetitions."""
    return [
        with_means(
            {
                "configuration": str(name),
                **{key: rows[0][key] for key in ("rate_mbps", "rtt_ms", "queue_packets", "loss_percent")},
                "size_bytes": str(size),
            },
            {"time_ms": milliseconds_of(rows)},
        )
        for (name, size), rows in _SHORT.items()
    ]


def _short_limits(lossy: bool) -> dict[Key, float]:
    """Return a round trip; under loss no less than two standard errors of the difference of the medians [ms].

    The standard error of a median is bootstrapped from the repetitions of the reference alone. As many runs of a
    model that behaves the same have the same error, so that of the difference is larger by the root of two.
    """
    limits = {}
    for key, rows in _SHORT.items():
        access = ACCESSES[str(key[0])]
        if bool(access.loss_percent) == lossy:
            spread = 0.0
            if lossy:
                medians = bootstrap(milliseconds_of(rows), "|".join(map(str, key)), statistic="median")[1:]
                spread = STANDARD_ERRORS * math.sqrt(2) * float(medians.std())
            limits[key] = max(access.rtt_ms, spread)
    return limits


_MEDIANS = {key: reduced(milliseconds_of(rows), "median") for key, rows in _SHORT.items()}
SHORT_CRITERIA = (
    Criterion(
        "LT-S1",
        "Without loss, the median time of a transfer is within one round trip of that of Linux.",
        _MEDIANS,
        _short_limits(lossy=False),
        relative=False,
        statistic="median",
    ),
    Criterion(
        "LT-S2",
        "With 1 % loss, the median time of a transfer is within one round trip of that of Linux, or within two "
        "standard errors of the difference of two medians where that is more.",
        _MEDIANS,
        _short_limits(lossy=True),
        relative=False,
        statistic="median",
    ),
)

_PAIR_ROWS = read(PAIRS)
_PAIRS = grouped(_PAIR_ROWS, lambda row: (row["pair"], int(row["seed"])))
PAIR_NAMES = tuple(dict.fromkeys(row["pair"] for row in _PAIR_ROWS))
STARTS = {seed: tuple(column(rows, "start_s")) for (_, seed), rows in _PAIRS.items()}
PAIR_DURATION_S = 120.0
PAIR_RTT_MS = 20.0


def pair_table() -> list[Cells]:
    """Return the table of the pairs: share of the first flow, sum and RTT, by start times."""
    return [
        with_means(
            {"configuration": str(name), "starts": str(seed)},
            {
                "share": [float(rows[0]["share"])],
                "sum_mbps": [sum(column(rows, "goodput_mbps"))],
                "srtt_ms": [float(rows[0]["mean_srtt_ms"])],
            },
        )
        for (name, seed), rows in _PAIRS.items()
    ]


def pair_changes(name: str) -> Changes:
    """Return the congestion controls of a pair, and how long it runs."""
    time = length(PAIR_DURATION_S, PAIR_RTT_MS)
    found: dict[str, object] = {"until": "duration_over", "record": {"series_interval": "10 ms"}}
    for flow, control in zip(("first", "second"), name.split("-"), strict=True):
        found[f"flows.{flow}.sender.congestion_control"] = CONTROLS[control]
        found[f"flows.{flow}.workload"] = {"kind": "download", "duration": time, "request": "16 B"}
    return found


def start_times(pattern: Value) -> Changes:
    """Start the two flows as in a run of the reference."""
    first, second = STARTS[int(pattern)]
    return {"flows.first.start": f"{1e3 * first:.10g} ms", "flows.second.start": f"{1e3 * second:.10g} ms"}


PAIR_CRITERIA = (
    Criterion(
        "LT-P1",
        "The share of the first flow is within 10 percentage points of Linux, in the mean over the start times.",
        {key: float(rows[0]["share"]) for key, rows in _PAIRS.items()},
        dict.fromkeys(_PAIRS, SHARE_POINTS),
        relative=False,
        together=True,
    ),
)

BATCH_COLUMNS = {
    "throughput_mbps": "throughput_mbps",
    "queue_drops": "queue_drops",
    "timer_expiries": "reorder_timer_expiries",
    "retransmits": "retransmits",
}
"""Metric of the study -> column of the reference."""
_BATCHES = grouped(read(DUAL_CONNECTIVITY), lambda row: ("linux", int(row["batch_packets"])))
BATCHES = tuple(int(key[1]) for key in _BATCHES)


def batch_table() -> list[Cells]:
    """Return the table over the batch size: Linux as measured, then the published testbed."""
    rows = [
        with_means({"configuration": "linux", "dc_batch_packets": str(batch)}, columns(found, BATCH_COLUMNS))
        for (_, batch), found in _BATCHES.items()
    ]
    shared = ("dc_batch_packets", "throughput_mbps_mean", "throughput_mbps_std", "n_runs")
    published = [row for row in read(PUBLISHED_BATCHES) if row["configuration"] == "tcp"]
    return rows + [{"configuration": "published", **{name: row[name] for name in shared}} for row in published]


BATCH_CRITERIA = (
    Criterion(
        "LT-D1",
        "Throughput over the batch size is within 5 % of Linux in the median, and nowhere further away than 10 %.",
        {key: reduced(column(rows, "throughput_mbps")) for key, rows in _BATCHES.items()},
        dict.fromkeys(_BATCHES, BATCH_LARGEST),
        median_limit=BATCH_MEDIAN,
    ),
)
