"""aioquic 0.9.25 in the study `validation/lab_quic`: its measurements, with which lab-quic is compared."""

import csv
from collections.abc import Sequence
from pathlib import Path

from quiclab.result.stats import reduced, summarise
from quiclab.study.criteria import Criterion
from quiclab.study.findings import Key
from quiclab_studies.validation.lab_quic_chains import CHAINS, Chain

FOLDER = "validation/reference/aioquic"
PATH, DUAL_CONNECTIVITY = f"{FOLDER}/path.csv", f"{FOLDER}/dual_connectivity_batch.csv"
CONFIGURATION = "aioquic"
FIRST_BYTE_MS, BATCH_LARGEST, BATCH_MEDIAN = 1.0, 0.10, 0.05
COLUMNS = {
    "goodput_mbps": "goodput_mbps",
    "data_packets": "data_datagrams",
    "client_packets": "client_datagrams",
    "lost_packets": "lost_packets",
    "congestion_events": "congestion_events",
    "srtt_ms": "mean_srtt_ms",
    "cwnd_packets": "mean_cwnd_packets",
    "first_byte_ms": "first_byte_ms",
}
"""Metric of the study -> column of the reference."""
BATCH_COLUMNS = {
    "throughput_mbps": "throughput_mbps",
    "data_packets": "data_datagrams",
    "client_packets": "client_datagrams",
    "lost_packets": "lost_packets",
    "congestion_events": "congestion_events",
}

Cells = dict[str, str]


def _read(file: str) -> list[Cells]:
    with (Path(__file__).parents[1] / file).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _chain(row: Cells) -> str:
    jitter = row["jitter"] != "none"
    return Chain(int(row["rate_mbps"]), int(row["rtt_ms"]), float(row["loss_percent"]), jitter).name


_ROWS = _read(PATH)
RUNS = {name: [row for row in _ROWS if _chain(row) == name] for name in CHAINS}
"""Measured runs by chain."""
SECONDS = {name: float(rows[0]["duration_s"]) for name, rows in RUNS.items()}
_BATCH_ROWS = _read(DUAL_CONNECTIVITY)
BATCHES = tuple(sorted({int(row["batch_packets"]) for row in _BATCH_ROWS}))
BATCH_RUNS = {batch: [row for row in _BATCH_ROWS if int(row["batch_packets"]) == batch] for batch in BATCHES}


def column(rows: Sequence[Cells], name: str) -> list[float]:
    """Return the numbers of a column."""
    return [float(row[name]) for row in rows]


def _cells(rows: Sequence[Cells], setting: Cells, columns: dict[str, str]) -> Cells:
    found = {"configuration": CONFIGURATION, **setting}
    for metric, source in columns.items():
        summary = summarise(column(rows, source))
        found |= {f"{metric}_mean": f"{summary.mean:.6g}", f"{metric}_std": f"{summary.std:.3g}"}
    return found | {"n_runs": str(len(rows))}


def path_table() -> list[Cells]:
    """Return the table of the chains: mean and deviation over the seeds."""
    return [_cells(rows, {"path": name}, COLUMNS) for name, rows in RUNS.items()]


def batch_table() -> list[Cells]:
    """Return the table over the batch size."""
    return [_cells(rows, {"dc_batch_packets": str(batch)}, BATCH_COLUMNS) for batch, rows in BATCH_RUNS.items()]


PATH_REFERENCE: dict[str, dict[Key, float]] = {
    metric: {(CONFIGURATION, name): reduced(column(rows, source)) for name, rows in RUNS.items()}
    for metric, source in COLUMNS.items()
}
FIRST_BYTE = Criterion(
    "LQ-A6",
    "The first byte of the response arrives within a millisecond of aioquic's, in the mean, where no packet is lost at "
    "random.",
    PATH_REFERENCE["first_byte_ms"],
    {(CONFIGURATION, name): FIRST_BYTE_MS for name, chain in CHAINS.items() if not chain.loss_percent},
    "first_byte_ms",
    relative=False,
)
BATCH_CRITERIA = (
    Criterion(
        "LQ-D1",
        "Throughput over the batch size is within 5 % of aioquic in the median, and nowhere further away than 10 %.",
        {(CONFIGURATION, batch): reduced(column(rows, "throughput_mbps")) for batch, rows in BATCH_RUNS.items()},
        {(CONFIGURATION, batch): BATCH_LARGEST for batch in BATCHES},
        median_limit=BATCH_MEDIAN,
    ),
)
