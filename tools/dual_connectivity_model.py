"""Compares the analytical model of the Dual Connectivity study with simulation and publication, and draws it.

    python tools/dual_connectivity_model.py [--seeds N] [--figures FOLDER]

Prints the table of docs/studies/dual_connectivity_model.md and writes its figures; three seeds take two minutes or so.
The simulation is lab-quic with the profile of aioquic 0.8.8, in scenarios/dual_connectivity.toml.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import altair as alt
import numpy as np

import quiclab
from quiclab.report.figures import COLOURS, LIGHT, NEUTRAL, to_png
from quiclab.scenario import load
from quiclab.studies.dual_connectivity.model import estimate

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "python/quiclab/studies/dual_connectivity/reference"
LARGE, DEFAULT, TCP = "quic_large_buffer", "quic_default_buffer", "tcp"
LABELS = {LARGE: "QUIC, large buffer", DEFAULT: "QUIC, default buffer", TCP: "TCP"}
STACK = [
    ("flows.dc.stack", "lab-quic"),
    ("flows.dc.sender.profile", "aioquic-0.8.8"),
    ("flows.dc.receiver.profile", "aioquic-0.8.8"),
    ("flows.dc.sender.congestion_control", "newreno"),
    ("duration", "900 s"),
]
RATIOS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
MATCHED = (50, 60, 67, 71, 75, 78, 80, 82, 83)
SUM_MBPS = 40
MODEL = "model"
# filled outlines in a box from -1 to 1
SOURCES = {
    "published": "M-.24,-.24H.24V.24H-.24ZM-.16,-.16V.16H.16V-.16Z",
    "simulated": "M-.24,0A.24,.24,0,1,1,.24,0A.24,.24,0,1,1,-.24,0Z",
    MODEL: "M-1,-.05H1V.05H-1Z",
}


@dataclass(frozen=True)
class Setting:
    """A point of an experiment: its value on the axis, and fields of the model's `Parameters`."""

    x: float
    values: Mapping[str, float]

    def changes(self) -> list[tuple[str, str]]:
        """Return what makes the base scenario this setting."""
        found = []
        for name, value in self.values.items():
            link = "links.down1" if "_1_" in name else "links.down2"
            if name == "file_mb":
                found.append(("flows.dc.workload.size", f"{value:g} MB"))
            elif name == "batch_packets":
                found.append(("bearers.dc.batch_packets", f"{value:g}"))
            elif name == "share_percent":
                found.append(("bearers.dc.shares", f"[{value:g}, {100 - value:g}]"))
            elif name == "duplicate":
                timer = '{ timer = "200 ms", sequence_bits = 16 }'
                found.append(
                    ("bearers.dc", f'{{ links = ["down1", "down2"], mode = "duplicate", reordering = {timer} }}')
                )
            elif name.startswith("rate"):
                found.append((f"{link}.rate", f"{value * 1e6:.0f} bit/s"))
            elif name.startswith("loss") and value > 0:
                found.append((f"{link}.loss", f"{value:g} %"))
            elif name.startswith("delay"):
                mean, deviation = f"{value * 1e3:.0f} us", f"{value * 1e2:.0f} us"
                delay = f'{{ mean = "{mean}", deviation = "{deviation}", distribution = "normal", reorder = true }}'
                found.append((f"{link}.delay", delay))
        return found


def rates(ratio: float) -> dict[str, float]:
    """Return two rates with this ratio."""
    return {"rate_1_mbps": SUM_MBPS * ratio / (1 + ratio), "rate_2_mbps": SUM_MBPS / (1 + ratio)}


def delays(ratio: float, sum_ms: float) -> dict[str, float]:
    """Return two delays with this ratio and sum."""
    return {"delay_1_ms": sum_ms * ratio / (1 + ratio), "delay_2_ms": sum_ms / (1 + ratio)}


def losses(percent: float) -> dict[str, float]:
    """Return the same loss on both links."""
    return {"loss_1_percent": percent, "loss_2_percent": percent}


# name: settings, published table with its column of the axis, value of its split_mode column
EXPERIMENTS: dict[str, tuple[list[Setting], str, str]] = {
    "file size": ([Setting(x, {"file_mb": x}) for x in (10, 100, 200, 400)], "02_file_size", "file_size_mb"),
    "batch size": (
        [Setting(x, {"batch_packets": x}) for x in (2, 10, *range(50, 501, 50))],
        "03_batch_size",
        "dc_batch_packets",
    ),
    "share": ([Setting(x, {"share_percent": x}) for x in range(0, 101, 10)], "04_dc_ratio", "link1_share_percent"),
    "rate ratio, even split": (
        [Setting(x, rates(x)) for x in RATIOS],
        "05_bandwidth_ratio",
        "bandwidth_ratio_link1_to_link2",
    ),
    "rate ratio, matched split": (
        [Setting(x, {**rates(x), "share_percent": share}) for x, share in zip(RATIOS, MATCHED, strict=True)],
        "",
        "",
    ),
    "delay ratio, sum 20 ms": (
        [Setting(x, delays(x, 20)) for x in RATIOS],
        "06_delay_ratio",
        "delay_ratio_link1_to_link2",
    ),
    "delay ratio, sum 200 ms": ([Setting(x, delays(x, 200)) for x in RATIOS], "", ""),
    "loss": ([Setting(x / 100, losses(x / 100)) for x in range(21)], "07_random_loss", "loss_percent_per_link"),
    "loss, duplicated": ([Setting(x / 5, {**losses(x / 5), "duplicate": True}) for x in range(26)], "", ""),
}


def published(table: str, column: str, configuration: str) -> dict[float, float]:
    """Return the published means of a table by the value on the axis [Mbit/s]; nothing without a table."""
    if not table:
        return {}
    with (TABLES / f"table_5_{table}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["configuration"] == configuration]
    rows = [row for row in rows if row["duplicate"] == "false" and row.get("split_mode", "fixed")[:5] == "fixed"]
    return {float(row[column]): float(row["throughput_mbps_mean"]) for row in rows}


def simulated(setting: Setting, seeds: Iterable[int]) -> float:
    """Return the mean throughput of a setting over some seeds [Mbit/s]."""
    scenario = load(ROOT / "scenarios" / "dual_connectivity.toml", [*STACK, *setting.changes()])
    return fmean(quiclab.run(scenario, seed).flows["dc"].goodput_mbps for seed in seeds)


def agreement(estimated: Sequence[float], other: Sequence[float]) -> str:
    """Return the median and the largest relative difference [%], and the skill: 1 - squared error over variance."""
    pairs = list(zip(estimated, other, strict=True))
    differences = [100 * abs(mine / theirs - 1) for mine, theirs in pairs]
    mean = fmean(other)
    variance = sum((theirs - mean) ** 2 for theirs in other)
    skill = 1 - sum((mine - theirs) ** 2 for mine, theirs in pairs) / variance
    # where the curve is flat, there is nothing to explain
    shown = f"{skill:.2f}" if max(other) > 1.1 * min(other) else "–"
    return f"{median(differences):.1f} %, {max(differences):.0f} %, {shown}"


def points(values: Mapping[float, float], source: str, series: str) -> list[dict[str, Any]]:
    """Return rows of a chart."""
    return [{"x": x, "y": y, "source": source, "series": series} for x, y in values.items()]


def draw(file: Path, title: str, rows: list[dict[str, Any]]) -> None:
    """Draw published and simulated values as points, the model as a line."""
    series = list(dict.fromkeys(row["series"] for row in rows))
    order = list(LABELS.values()) if series[0] in LABELS.values() else series
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(domain=series, range=[COLOURS[order.index(name)] for name in series]),
        legend=alt.Legend(title=None, orient="top", symbolType="square", symbolStrokeWidth=0),
    )
    zero = min(row["y"] for row in rows) < max(row["y"] for row in rows) / 2
    x = alt.X("x:Q", title=title, scale=alt.Scale(nice=False, padding=14), axis=alt.Axis(grid=False, tickCount=10))
    y = alt.Y("y:Q", title="Throughput [Mbit/s]", scale=alt.Scale(zero=zero))
    base = alt.Chart({"values": rows}).encode(x=x, y=y, color=colour)
    layers = []
    for source, mark in (
        (MODEL, base.mark_line(strokeWidth=2)),
        ("published", base.mark_point(shape="square", size=50, strokeWidth=1.4, opacity=1)),
        ("simulated", base.mark_point(filled=True, size=45, opacity=1)),
    ):
        layers.append(mark.transform_filter(alt.datum.source == source))
    kinds = [source for source in SOURCES if any(row["source"] == source for row in rows)]
    legend = alt.Legend(title=None, orient="top", symbolSize=900, symbolStrokeWidth=0, symbolOpacity=1)
    if len(kinds) > 1:
        shape = alt.Shape(
            "source:N", scale=alt.Scale(domain=kinds, range=[SOURCES[kind] for kind in kinds]), legend=legend
        )
        hidden = alt.Chart({"values": rows}).mark_point(size=0, opacity=0, filled=True, color=NEUTRAL)
        layers.append(hidden.encode(shape=shape))
    spec = alt.layer(*layers).properties(width=680, height=380).to_dict()
    spec.pop("config", None)
    file.write_bytes(to_png(spec, LIGHT))


def main() -> None:
    """Print the comparison, and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--figures", type=Path, default=ROOT / "docs" / "figures")
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    runs: dict[str, dict[float, float]] = {}
    print("| experiment | QUIC: simulation | QUIC: publication | default buffer: publication | TCP: publication |")
    print("| --- | --- | --- | --- | --- |")
    for name, (settings, table, column) in EXPERIMENTS.items():
        runs[name] = {setting.x: simulated(setting, seeds) for setting in settings}
        cells = [agreement([estimate(LARGE, **item.values) for item in settings], list(runs[name].values()))]
        for configuration in (LARGE, DEFAULT, TCP):
            means = published(table, column, configuration)
            known = [item for item in settings if item.x in means]
            mine = [estimate(configuration, **item.values) for item in known]
            cells.append(agreement(mine, [means[item.x] for item in known]) if known else "none")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)

    def figure(name: str, title: str, chosen: Mapping[str, tuple[str, Sequence[Setting]]]) -> None:
        """Draw configurations or experiments with the model between their points."""
        rows = []
        for label, (experiment, fine) in chosen.items():
            configuration = next((key for key, text in LABELS.items() if text == label), LARGE)
            _, table, column = EXPERIMENTS[experiment]
            rows += points(published(table, column, configuration), "published", label)
            if configuration == LARGE:
                rows += points(runs[experiment], "simulated", label)
            rows += points({item.x: estimate(configuration, **item.values) for item in fine}, MODEL, label)
        draw(options.figures / f"dual_connectivity_model_{name}.png", title, rows)

    batches = [Setting(x, {"batch_packets": x}) for x in range(2, 501, 2)]
    shares = [Setting(x, {"share_percent": x}) for x in range(101)]
    single = [Setting(float(x), losses(float(x))) for x in np.linspace(0, 0.2, 81)]
    figure("batch_size", "Batch size [packets]", dict.fromkeys(LABELS.values(), ("batch size", batches)))
    figure("share", "Share of packets on link 1 [%]", {LABELS[key]: ("share", shares) for key in (LARGE, TCP)})
    figure("loss", "Random loss on each link [%]", {LABELS[key]: ("loss", single) for key in (LARGE, TCP)})
    rows = []
    for queue in (50, 100, 200, 400):
        values = {x: estimate(LARGE, batch_packets=x, queue_packets=queue, file_mb=1000) for x in range(2, 1001, 2)}
        rows += points(values, MODEL, f"queue of {queue} packets")
    draw(options.figures / "dual_connectivity_model_queue.png", "Batch size [packets]", rows)


if __name__ == "__main__":
    main()
