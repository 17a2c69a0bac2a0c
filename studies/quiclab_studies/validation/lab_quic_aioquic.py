"""aioquic 0.9.25 in the study `validation/lab_quic`: its measurements, with which lab-quic is compared."""

from quiclab.result.stats import reduced
from quiclab.study.criteria import Criterion
from quiclab.study.findings import Key
from quiclab_studies.validation.lab_quic_chains import CHAINS, Chain
from quiclab_studies.validation.tables import Cells, column, columns, grouped, read, with_means

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


def _chain(row: Cells) -> str:
    jitter = row["jitter"] != "none"
    return Chain(int(row["rate_mbps"]), int(row["rtt_ms"]), float(row["loss_percent"]), jitter).name


_RUNS = grouped(read(PATH), lambda row: (_chain(row),))
RUNS = {name: _RUNS[name,] for name in CHAINS}
"""Measured runs by chain."""
SECONDS = {name: float(rows[0]["duration_s"]) for name, rows in RUNS.items()}
BATCH_RUNS = grouped(read(DUAL_CONNECTIVITY), lambda row: (CONFIGURATION, int(row["batch_packets"])))
BATCHES = tuple(int(batch) for _, batch in BATCH_RUNS)


def path_table() -> list[Cells]:
    """Return the table of the chains: mean and deviation over the seeds."""
    return [
        with_means({"configuration": CONFIGURATION, "path": name}, columns(rows, COLUMNS))
        for name, rows in RUNS.items()
    ]


def batch_table() -> list[Cells]:
    """Return the table over the batch size."""
    return [
        with_means({"configuration": CONFIGURATION, "dc_batch_packets": str(batch)}, columns(rows, BATCH_COLUMNS))
        for (_, batch), rows in BATCH_RUNS.items()
    ]


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
        {key: reduced(column(rows, "throughput_mbps")) for key, rows in BATCH_RUNS.items()},
        dict.fromkeys(BATCH_RUNS, BATCH_LARGEST),
        median_limit=BATCH_MEDIAN,
    ),
)
