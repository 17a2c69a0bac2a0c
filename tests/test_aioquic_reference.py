"""Tables of aioquic's measurements: what `tools/measure_aioquic.py` wrote fits together and fits the networks."""

import json
from collections import defaultdict
from statistics import fmean

import pytest

from conftest import tool
from quiclab import load

aioquic = tool("measure_aioquic")
PATH, BATCH = aioquic.read(aioquic.FOLDER / "path.csv"), aioquic.read(aioquic.FOLDER / "dual_connectivity_batch.csv")


@pytest.mark.parametrize(
    ("rows", "summary", "keys", "rate"),
    [
        (PATH, "path_summary", aioquic.PATH_KEYS, "goodput_mbps"),
        (BATCH, "dual_connectivity_summary", aioquic.BATCH_KEYS, "throughput_mbps"),
    ],
)
def test_summaries_are_those_of_the_runs(
    rows: list[dict[str, str]], summary: str, keys: tuple[str, ...], rate: str
) -> None:
    cells: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        cells[tuple(row[key] for key in keys[:-1])].append(row)
    means = {tuple(row[key] for key in keys[:-1]): row for row in aioquic.read(aioquic.FOLDER / f"{summary}.csv")}
    assert means.keys() == cells.keys()
    for cell, runs in cells.items():
        assert [int(run["seed"]) for run in runs] == list(range(1, len(runs) + 1)), cell
        assert float(means[cell][f"{rate}_mean"]) == pytest.approx(fmean(float(run[rate]) for run in runs), rel=1e-5)
        assert int(means[cell]["lost_packets_sum"]) == sum(int(run["lost_packets"]) for run in runs)


def test_values_fit_the_networks() -> None:
    for row in PATH:
        # 1245 of 1322 bytes are data, at most; a handshake of a round trip, then request and response
        assert float(row["goodput_mbps"]) < float(row["rate_mbps"]) * 1245 / 1322
        assert float(row["first_byte_ms"]) > 2 * float(row["rtt_ms"]) - 10 * (row["jitter"] != "none")
        # declared lost and not received, or lost in the last moments
        gone = int(row["queue_drops"]) + int(row["random_losses"])
        assert abs(int(row["lost_packets"]) - int(row["spurious_losses"]) - gone) <= 0.02 * gone + 40
    for row in BATCH:
        assert 10 < float(row["throughput_mbps"]) < 40


def test_the_scenario_is_the_first_chain() -> None:
    plain, changed = load(aioquic.PATH), load(aioquic.PATH, aioquic.CHAINS[0].changes(0, "none"))
    for table in ("links", "flows"):
        assert plain.value(table) == changed.value(table)


def test_the_qlog_has_losses_and_ends_before_its_run() -> None:
    trace = json.loads(aioquic.QLOG.read_text(encoding="utf-8"))["traces"][0]
    assert trace["vantage_point"]["type"] == "server"
    times = [event["time"] for event in trace["events"]]
    assert times == sorted(times)
    assert sum(event["name"] == "recovery:packet_lost" for event in trace["events"]) == 3
