"""What studies with random scenarios show: how far a model is from the kernel lane, and in which cases most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from quiclab.result.stats import reduced
from quiclab.study import Figure, TextTable
from quiclab.study.libraries import alt
from quiclab_studies.declarations import drawn_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.study import Metric, Study
    from quiclab.study.findings import Key

WORST = 10
PAIRS = ("model and kernel lane", "kernel lane, second and first run")


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest magnitude that at least this share of the values has at most."""
    ordered = sorted(map(abs, values))
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


class Runs(Protocol):
    """The runs that differences are made from: an evaluation, or what is stored of one."""

    @property
    def study(self) -> Study:
        """The study, with the seed of the runs."""

    def samples(self, engine: str, variant: str = "", metric: str = "") -> dict[Key, list[float]]:
        """Return the values of the runs by setting."""


@dataclass(frozen=True)
class Views:
    """Tables and curves of the differences.

    Attributes
    ----------
    model, kernel
        Engines that are compared.
    metrics
        The metric of the study, the smoothed RTT, and further ones.
    relative
        Names of metrics whose differences are relative [%]; others are in their unit.
    describe
        Returns a case in a line, from the seed of the study and the setting.
    """

    model: str
    kernel: str
    metrics: tuple[Metric, ...]
    relative: frozenset[str]
    describe: Callable[[int, Key], str]

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """The tables of a report."""
        return (
            TextTable(
                "Differences",
                ("metric", "of", "cases", "median", "90 %", "95 %", "largest", "unit", "within 5 %"),
                self.distribution,
            ),
            TextTable(
                f"The {WORST} largest differences",
                ("case", "goodput", "mean RTT", f"goodput, {PAIRS[1]}", "scenario", "packets of both"),
                self.worst,
            ),
        )

    def figure(self, source: str, settings: str, reference: str) -> Figure:
        """Return the figure of the differences, which names the settings and the reference in the plural."""
        return drawn_figure(
            "Distribution of the differences",
            f"Share of the {settings} over the magnitude of the difference, of means over the runs; dashed: two runs "
            f"of {reference}, which is what chance makes.",
            self.curves,
            source,
        )

    def differences(self, runs: Runs, metric: str) -> dict[Key, float]:
        """Return the difference of the model from the kernel by setting: relative [%], or in the unit of the metric."""
        reference = _means(runs.samples(self.kernel, metric=metric))
        return self.apart(_means(runs.samples(self.model, metric=metric)), reference, metric)

    def repeatability(self, runs: Runs, metric: str) -> dict[Key, float]:
        """Return the difference of the kernel's second run from its first by setting: what chance alone makes."""
        known = runs.samples(self.kernel, metric=metric)
        twice = {key: values for key, values in known.items() if len(values) > 1}
        first, second = ({key: values[index] for key, values in twice.items()} for index in (0, 1))
        return self.apart(second, first, metric)

    def apart(self, measured: Mapping[Key, float], reference: Mapping[Key, float], metric: str) -> dict[Key, float]:
        """Return the differences of a metric by setting, where both are known."""

        def difference(one: float, other: float) -> float:
            if metric not in self.relative:
                return one - other
            return 100 * (one / other - 1) if other else math.nan

        found = {key: difference(measured[key], reference[key]) for key in reference if key in measured}
        return {key: value for key, value in found.items() if not math.isnan(value)}

    def _pairs(self, runs: Runs, metric: str) -> dict[str, dict[Key, float]]:
        found = (self.differences(runs, metric), self.repeatability(runs, metric))
        return dict(zip(PAIRS, found, strict=True))

    def distribution(self, runs: Runs, engine: str) -> list[list[str]]:
        """Return the rows of the table of differences, one for each metric and pair."""
        del engine
        rows = []
        for metric in self.metrics:
            is_relative = metric.name in self.relative
            for pair, found in self._pairs(runs, metric.name).items():
                values = list(found.values())
                unit = "%" if is_relative else metric.unit or "1"
                cells = [f"{quantile(values, share):.2g}" if values else "" for share in (0.5, 0.9, 0.95, 1.0)]
                near = sum(abs(value) <= 5 for value in values)
                within = f"{100 * near / len(values):.0f} %" if values and is_relative else ""
                rows.append([metric.label, pair, str(len(values)), *cells, unit, within])
        return rows

    def furthest(self, runs: Runs) -> list[Key]:
        """Return the settings with the largest differences of goodput or RTT."""
        goodput, rtt = (self.differences(runs, metric.name) for metric in self.metrics[:2])

        def largest(key: Key) -> float:
            return -max(abs(goodput[key]), abs(rtt.get(key, 0.0)))

        return sorted(goodput, key=largest)[:WORST]

    def worst(self, runs: Runs, engine: str) -> list[list[str]]:
        """Return the rows of the settings with the largest differences of goodput or RTT."""
        del engine
        study = runs.study
        goodput, rtt = (self.differences(runs, metric.name) for metric in self.metrics[:2])
        chance = self.repeatability(runs, self.metrics[0].name)
        return [
            [
                " ".join(map(str, key)),
                f"{goodput[key]:+.1f} %",
                f"{rtt[key]:+.1f} %" if key in rtt else "",
                f"{chance[key]:+.1f} %" if key in chance else "",
                self.describe(study.design.seed, key),
                f"quiclab study inspect {study.name} --seed {study.design.seed} "
                f"--only configuration={key[0]} --only case={key[1]}",
            ]
            for key in self.furthest(runs)
        ]

    def curves(self, runs: Runs, engine: str) -> Any:
        """Draw the share of the settings over the magnitude of their difference."""
        del engine
        rows = []
        for metric in self.metrics:
            if metric.name not in self.relative:
                continue
            for pair, found in self._pairs(runs, metric.name).items():
                ordered = sorted(map(abs, found.values()))
                rows += [
                    {
                        "metric": metric.label,
                        "pair": pair,
                        "difference": max(value, 0.01),
                        "share": 100 * (place + 1) / len(ordered),
                    }
                    for place, value in enumerate(ordered)
                ]
        return (
            alt.Chart(alt.InlineData(values=rows))
            .mark_line(interpolate="step-after")
            .encode(
                x=alt.X("difference:Q", scale=alt.Scale(type="log", domain=[0.01, 100]), title="Difference [%]"),
                y=alt.Y("share:Q", title="Cases with at most this [%]", scale=alt.Scale(domain=[0, 100])),
                color=alt.Color("metric:N", title=None),
                strokeDash=alt.StrokeDash("pair:N", title=None, scale=alt.Scale(domain=PAIRS, range=[[1, 0], [4, 2]])),
            )
        )


def _means(samples: Mapping[Key, Sequence[float]]) -> dict[Key, float]:
    return {key: reduced(values, "mean") for key, values in samples.items()}
