"""What the study of fixed differences shows: every metric of every setting in both engines, and their differences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiclab.report.figures.theme import COLOURS, NEUTRAL, WIDTH
from quiclab.result.formats import figures
from quiclab.result.stats import reduced
from quiclab.study.libraries import alt
from quiclab_studies.validation.regressions_cells import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.study import Metric
    from quiclab_studies.validation.blind_views import Runs

HEADS = ("setting", "found", "metric", "unit", "lab-tcp", "Linux", "difference", "runs of Linux differ by")
MODEL_AND_LINUX, BETWEEN_RUNS = "lab-tcp and Linux", "second and first run of Linux"
#: Largest difference that passes, relative to Linux: of the criteria, and drawn in the figure.
LIMIT = 0.05
#: Unit of metrics that are whole numbers in each run.
COUNTED = "packets"


def relative(measured: float, reference: float) -> float:
    """Return the difference from the reference [%]: 0 of two zeros, NaN of zero and another number."""
    if not reference:
        return 0.0 if measured == reference else math.nan
    return 100 * (measured / reference - 1)


@dataclass(frozen=True)
class Views:
    """Table and figure of two engines."""

    model: str
    kernel: str
    metrics: tuple[Metric, ...]

    def listing(self, runs: Runs, engine: str) -> list[tuple[str, ...]]:
        """Return the rows of the table: each metric of each setting."""
        del engine
        rows = []
        for cell in BY_NAME.values():
            for metric in self.metrics:
                one, other = (self._values(runs, which, metric.name, cell.name) for which in (self.model, self.kernel))
                if not one or not other or all(map(math.isnan, other)):
                    continue
                means = [reduced(values, "mean") for values in (one, other)]
                apart = _signed(relative(other[1], other[0])) if len(other) > 1 else ""
                texts = [figures(value, 0 if metric.unit == COUNTED else 2) for value in means]
                rows.append(
                    (cell.name, cell.found, metric.label, metric.unit, *texts, _signed(relative(*means)), apart)
                )
        return rows

    def chart(self, runs: Runs, engine: str) -> Any:
        """Draw the difference of each metric by setting, with that of two runs of the kernel; rules at the limits."""
        del engine
        rows = []
        for metric in self.metrics:
            for cell in BY_NAME:
                one, other = (self._values(runs, which, metric.name, cell) for which in (self.model, self.kernel))
                if not one or not other:
                    continue
                found = {MODEL_AND_LINUX: relative(reduced(one, "mean"), reduced(other, "mean"))}
                if len(other) > 1:
                    found[BETWEEN_RUNS] = relative(other[1], other[0])
                rows += [
                    {"setting": cell, "metric": metric.label, "pair": pair, "difference": value}
                    for pair, value in found.items()
                    if not math.isnan(value)
                ]
        base = alt.Chart()
        points = base.mark_point(filled=True, size=60, opacity=0.85).encode(
            x=alt.X("difference:Q", title="Difference [%]"),
            y=alt.Y("setting:N", title=None, sort=list(BY_NAME)),
            color=alt.Color(
                "pair:N",
                title=None,
                scale=alt.Scale(domain=[MODEL_AND_LINUX, BETWEEN_RUNS], range=[COLOURS[0], NEUTRAL]),
                legend=alt.Legend(orient="top"),
            ),
            shape=alt.Shape(
                "pair:N",
                title=None,
                scale=alt.Scale(domain=[MODEL_AND_LINUX, BETWEEN_RUNS]),
                legend=alt.Legend(orient="top"),
            ),
            tooltip=[
                alt.Tooltip("setting:N", title="Setting"),
                alt.Tooltip("metric:N", title="Metric"),
                alt.Tooltip("pair:N", title="Compared"),
                alt.Tooltip("difference:Q", title="Difference [%]", format="+.2f"),
            ],
        )
        limits = [
            base.mark_rule(strokeDash=[4, 4], color=NEUTRAL).encode(x=alt.datum(sign * 100 * LIMIT)) for sign in (-1, 1)
        ]
        return (
            alt.layer(*limits, points, data=alt.InlineData(values=rows))
            .properties(width=WIDTH / 3, height=20 * len(BY_NAME))
            .facet(facet=alt.Facet("metric:N", title=None, sort=[one.label for one in self.metrics]), columns=2)
            .resolve_scale(x="independent")
        )

    def _values(self, runs: Runs, engine: str, metric: str, cell: str) -> Sequence[float]:
        return runs.samples(engine, metric=metric).get(("tcp", cell), ())


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.1f} %"
