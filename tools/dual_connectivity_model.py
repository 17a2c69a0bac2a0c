"""Draws the analytical model of the Dual Connectivity study beside simulation and publication.

    python tools/dual_connectivity_model.py [--figures FOLDER]

Writes the figures of docs/studies/dual_connectivity_model.md. The simulated values are those that the page states
(tools/study_pages.py).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from page_values import Values
from quiclab.report.figures import COLOURS, LIGHT, NEUTRAL, to_png
from quiclab.study.published import read_published
from quiclab.study.registry import find
from quiclab_studies.dual_connectivity.alone import estimated
from quiclab_studies.dual_connectivity.model import estimate
from study_pages import stored

ROOT = Path(__file__).resolve().parent.parent
LARGE, DEFAULT, TCP = "quic_large_buffer", "quic_default_buffer", "tcp"
LABELS = {LARGE: "QUIC, large buffer", DEFAULT: "QUIC, default buffer", TCP: "TCP"}
MODEL = "model"
# filled outlines in a box from -1 to 1
SOURCES = {
    "published": "M-.24,-.24H.24V.24H-.24ZM-.16,-.16V.16H.16V-.16Z",
    "simulated": "M-.24,0A.24,.24,0,1,1,.24,0A.24,.24,0,1,1,-.24,0Z",
    MODEL: "M-1,-.05H1V.05H-1Z",
}


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


def rows_of(values: Values, name: str, fine: Sequence[float], configurations: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of a chart of an experiment, with the model between its points."""
    study = find(f"dual_connectivity/{name}")
    [factor] = study.design.factors
    on_paper = estimated(name)
    rows = []
    for configuration in configurations:
        label = LABELS[configuration]
        printed = [row for row in read_published(study) if row.key[0] == configuration]
        rows += points({float(row.key[1]): row.summary.mean for row in printed}, "published", label)
        if configuration == LARGE:
            means = {float(x): values.value(study.name, "", "", (configuration, x))["mean"] for x in factor.values}
            rows += points(means, "simulated", label)
        rows += points({x: on_paper(configuration, {factor.column: x}) or math.nan for x in fine}, MODEL, label)
    return rows


def main() -> None:
    """Draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", type=Path, default=ROOT / "docs" / "figures")
    options = parser.parse_args()
    values = Values(stored("dual_connectivity_model"), None)
    for name, title, fine, configurations in (
        ("batch_size", "Batch size [packets]", range(2, 501, 2), tuple(LABELS)),
        ("share", "Share of packets on link 1 [%]", range(101), (LARGE, TCP)),
        ("loss", "Random loss on each link [%]", np.linspace(0, 0.2, 81), (LARGE, TCP)),
    ):
        file = options.figures / f"dual_connectivity_model_{name}.png"
        draw(file, title, rows_of(values, name, [float(x) for x in fine], configurations))
    rows = []
    for queue in (50, 100, 200, 400):
        batches = [float(x) for x in range(2, 1001, 2)]
        found = {x: estimate(LARGE, batch_packets=x, queue_packets=queue, file_mb=1000) for x in batches}
        rows += points(found, MODEL, f"queue of {queue} packets")
    draw(options.figures / "dual_connectivity_model_queue.png", "Batch size [packets]", rows)


if __name__ == "__main__":
    main()
