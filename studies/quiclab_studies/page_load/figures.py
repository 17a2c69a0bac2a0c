"""Figures of the page-load studies: maps of the difference of two stacks, and traces of single runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any

from quiclab.report.figures.theme import COLOURS, of_rows
from quiclab.report.panels import Line, panel_per_run
from quiclab.result.series import phases as phase_names
from quiclab.study import Figure, HeatMap, Value, View
from quiclab.study.libraries import alt
from quiclab_studies.page_load.traces import flow_of, trace

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study.evaluate import Evaluation

Results = Mapping[str, "RunResult"]
NETWORKS = {"base": "36 ms", "loss": "36 ms, 1 % loss", "lat": "112 ms", "jit": "112 ms, 50 ms jitter"}
CAPTION = (
    "Difference of the mean page load times in percent of QUIC's: positive (red) where QUIC is faster, white without "
    "significance."
)
PUBLISHED: Mapping[tuple[str, str, str], str] = {
    ("sizes", "quic1", "base"): "4.6a", ("sizes", "quic1", "loss"): "4.6b", ("sizes", "quic1", "lat"): "4.6c",
    ("counts", "quic1", "base"): "4.6d", ("counts", "quic1", "loss"): "4.6e", ("counts", "quic1", "lat"): "4.6f",
    ("sizes", "gquic37", "base"): "4.5a", ("sizes", "gquic37", "loss"): "4.5b", ("sizes", "gquic37", "lat"): "4.5c",
    ("counts", "gquic37", "base"): "4.5d", ("counts", "gquic37", "loss"): "4.5e", ("counts", "gquic37", "lat"): "4.5f",
    ("sizes", "gquic37", "jit"): "4.11a", ("sizes", "quic1", "jit"): "4.11b",
    ("counts", "gquic37", "jit"): "4.11c", ("counts", "quic1", "jit"): "4.11d",
    ("sizes", "quic1_1rtt", "base"): "4.7b",
    ("sizes", "quic1_n1", "loss"): "4.9b", ("counts", "quic1_n1", "loss"): "4.9d",
}  # fmt: skip
NAMES = {
    "quic1": "QUICv1", "gquic37": "gQUIC 37", "quic1_n1": "QUICv1 with N = 1", "quic1_bbr": "QUICv1 with BBR",
    "quic1_1rtt": "QUICv1 in 1-RTT", "tcp": "TCP", "tcp_replicated": "TCP", "tcp_bbr": "TCP with BBR",
}  # fmt: skip
PAGE_WORDS: dict[Value, str] = {
    "1000x1": "1 MB x 1",
    "500x2": "500 kB x 2",
    "200x5": "200 kB x 5",
    "100x10": "100 kB x 10",
    "10x100": "10 kB x 100",
    "5x200": "5 kB x 200",
}


def heat_map(study: str, first: str, second: str, network: str) -> Figure:
    """Return the map of two stacks in a network."""
    published = PUBLISHED.get((study, first, network), "4.14 or 4.15, without numbers" if "bbr" in first else "")
    number = "4.7c" if second == "quic1_1rtt" else published
    columns, words = ("size", {}) if study == "sizes" else ("page", PAGE_WORDS)
    return Figure(
        f"{NAMES[first]} against {NAMES[second]}, {NETWORKS[network]}",
        f"Figure {number}" if number else "not published",
        "",
        CAPTION,
        map=HeatMap(first, second, "rate", columns, {"network": network}, words, limit=100),
    )


def maps(study: str) -> tuple[Figure, ...]:
    """Return all maps of a study, in the order of the thesis."""
    pairs = [("quic1", "tcp"), ("gquic37", "tcp_replicated"), ("quic1_n1", "tcp"), ("quic1_bbr", "tcp_bbr")]
    found = [heat_map(study, first, second, network) for first, second in pairs for network in NETWORKS]
    if study == "sizes":
        found += [heat_map(study, "quic1_1rtt", "tcp", "base"), heat_map(study, "quic1", "quic1_1rtt", "base")]
    return tuple(found)


# --- concurrent transfers


ROW = 36
"""Height of a scenario in pixels: two rows of marks."""


def rates_beside(evaluation: Evaluation, engine: str) -> alt.TopLevelMixin:
    """Draw the rate of each flow, a row for each scenario; hollow marks are published means."""
    labels = evaluation.study.design.labels
    rows = [
        {
            "scenario": labels[str(key[0])],
            "flow": kind(str(key[0]), int(key[1])),
            "rate": fmean(values),
            "from": "measured",
        }
        for key, values in evaluation.samples(engine).items()
        if not math.isnan(fmean(values))
    ]
    rows += [
        {
            "scenario": labels[str(row.key[0])],
            "flow": kind(str(row.key[0]), int(row.key[1])),
            "rate": row.summary.mean,
            "from": "published",
        }
        for row in evaluation.published
    ]
    hollow: dict[str, Any] = {"symbolFillColor": "transparent", "symbolStrokeWidth": 2, "symbolOpacity": 1}
    top = alt.Legend(orient="top", direction="horizontal", **hollow)
    chart = alt.Chart(alt.InlineData(values=rows)).mark_point(size=90, strokeWidth=2, opacity=0.8)
    drawn: alt.Chart = chart.encode(
        x=alt.X("rate:Q", title="Throughput [Mbit/s]", scale=alt.Scale(domain=[0, 5]), axis=alt.Axis(tickCount=10)),
        y=alt.Y("scenario:N", title=None, sort=list(labels.values()), axis=alt.Axis(grid=True, labelLimit=260)),
        yOffset=alt.YOffset("from:N", sort=["published", "measured"]),
        stroke=alt.Stroke(
            "flow:N", title=None, legend=top, scale=alt.Scale(domain=["QUIC", "TCP"], range=list(COLOURS[:2]))
        ),
        fill=alt.Fill(
            "filled:N", legend=None, scale=alt.Scale(domain=["QUIC", "TCP", "none"], range=[*COLOURS[:2], "#0000"])
        ),
        shape=alt.Shape(
            "from:N",
            title=None,
            legend=top,
            scale=alt.Scale(domain=["published", "measured"], range=["square", "circle"]),
        ),
        tooltip=[
            alt.Tooltip("scenario:N", title="Flows"),
            alt.Tooltip("flow:N", title="Transport"),
            alt.Tooltip("rate:Q", title="Throughput [Mbit/s]", format=".3~f"),
            alt.Tooltip("from:N", title="Source"),
        ],
    ).transform_calculate(filled="datum.from == 'measured' ? datum.flow : 'none'")
    return of_rows(alt.layer(drawn), len({row["scenario"] for row in rows}), ROW)


def kind(scenario: str, flow: int) -> str:
    """Return what a flow of a scenario is: QUIC is named first."""
    parts = scenario.split("+")
    return "QUIC" if parts[min(flow, len(parts)) - 1].startswith("Q") else "TCP"


# --- traces of single runs


def lines(results: Results, metric: str, label: str, unit: float = 1.0, *, flows: int = 1) -> alt.TopLevelMixin:
    """Draw a series of each run, or of each flow of each run, one below the other."""

    def shown(result: RunResult) -> dict[str, Line]:
        return {
            f"flow {number}" if flows > 1 else "": [
                (at_s, value / unit) for at_s, value in trace(result, metric, number)
            ]
            for number in range(1, flows + 1)
            if flow_of(result, number)
        }

    return panel_per_run(results, shown, label, height=130)


def phases(results: Results) -> alt.TopLevelMixin:
    """Draw the window of each run, coloured by phase."""

    def parted(result: RunResult) -> Mapping[str, Line]:
        in_phase = dict(trace(result, "phase"))
        names = [name.replace("_", " ") for name in phase_names()]
        parts: dict[str, list[tuple[float, float]]] = {}
        for at_s, value in trace(result, "cwnd_bytes"):
            if at_s in in_phase:
                parts.setdefault(names[int(in_phase[at_s])], []).append((at_s, value / 1e3))
        return parts

    return panel_per_run(results, parted, "Window [kB]", height=130)


def view(title: str, source: str, caption: str, shown: Mapping[str, object], draw: object, **record: object) -> View:
    """Return a view; `record` has the additional recordings of its runs."""
    changes = {f"record.{key}": value for key, value in record.items()}
    return View(title, source, caption, shown, changes, draw)  # type: ignore[arg-type]
