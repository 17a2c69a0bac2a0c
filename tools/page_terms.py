"""Names in templates of docs/studies (tools/study_pages.py has the list)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, median, pvariance, stdev
from typing import Any

import dual_connectivity_choice
import further_runs
import pacing_choice
from page_cases import Cases
from page_values import Values
from quiclab._base.libraries import np, pl
from quiclab.errors import QuiclabError
from quiclab.result.formats import figures
from quiclab.result.stats import Summary
from quiclab.study import Study, agreement
from quiclab.study.ablation import Support
from quiclab.study.claims import Verdict
from quiclab.study.criteria import Assessment, Criterion, Line
from quiclab.study.findings import Grid, Key, NotMeasuredError, Sample
from quiclab.study.predicates import Reference
from quiclab.study.published import PublishedRow, printed_findings, read_published
from quiclab.study.registry import find, find_all
from quiclab_studies.controls import alone, beside
from quiclab_studies.controls.senders import Sender
from quiclab_studies.dual_connectivity.model import model
from quiclab_studies.dual_connectivity.setting import Parameters
from quiclab_studies.slow_start import disturbed, satellite, starts
from quiclab_studies.slow_start.paths import PATHS
from quiclab_studies.validation import answers_cases, aqm_cells
from quiclab_studies.validation.regressions_cells import BY_NAME

STUDIES = Path(__file__).parent.parent / "studies/quiclab_studies"

MINIMUM_POINTS, FLAT = 3, 1.1
"""Points of a curve that an estimate is compared with, and how much they differ at least if it has a shape."""


class PageFindings:
    """The values of a page under a variant, as predicates read them; there is one value of each, and no resample."""

    def __init__(self, values: Values, variant: str, engine: str = "") -> None:
        self._values, self._variant, self._engine = values, variant, engine
        self.index = 0

    def grid(self, study: str, metric: str) -> Grid:
        """Return the factors of a study without runs."""
        del metric
        design = find(study).design
        factors = {factor.name: factor.values for factor in design.factors}
        return Grid(factors, tuple(item.name for item in design.configurations), {}, known=tuple(design.labels))

    def value(self, study: str, metric: str, statistic: str, key: Key) -> float:
        """Return a statistic of the runs; NaN if it is not defined."""
        self.grid(study, metric).check(key)
        found = self._values.value(study, self._variant, metric, key, self._engine)[statistic]
        return np.nan if found is None else float(found)

    def series(self, study: str, metric: str, statistic: str, key: Key) -> Any:
        """Return the value as a series."""
        return np.array([self.value(study, metric, statistic, key)])

    def count(self, study: str, metric: str, key: Key) -> int:
        """Return the number of runs."""
        return int(self._values.value(study, self._variant, metric, key, self._engine)["runs"])


def names_of(group: str, values: Values) -> dict[str, Any]:
    """Return the names of the placeholders of the pages of a group."""

    @cache
    def readings(variant: str, engine: str = "") -> Sample:
        return Sample(PageFindings(values, variant, engine), find_all(group)[0].name)

    def of(study: str, metric: str = "", statistic: str = "mean", variant: str = "", engine: str = "") -> Sample:
        return readings(variant, engine).of(f"{group}/{study}", metric, statistic)  # type: ignore[arg-type]

    def if_measured(study: str, metric: str, digits: int, configuration: str, **point: str | float) -> str:
        try:
            return figures(of(study, metric)(configuration, **point), digits)
        except (NotMeasuredError, QuiclabError):  # no run of the setting has a value
            return "–"

    def published(study: str, metric: str = "", statistic: str = "mean") -> Sample:
        name = f"{group}/{study}"
        return Sample(printed_findings(find(name)), name, metric, statistic)  # type: ignore[arg-type]

    homes = {claim.identity: study.name for study in find_all(group) for claim in study.measures.claims}

    def criterion(identity: str, engine: str = "", configurations: Sequence[str] = ()) -> Assessment:
        measures = find(homes[identity]).measures
        item = next(one for one in measures.criteria if one.identity == identity)
        read = partial(of, homes[identity].removeprefix(f"{group}/"), item.metric, item.statistic)
        limits = {key: limit for key, limit in item.limits.items() if not configurations or key[0] in configurations}
        by = measures.table.engine
        reference = {key: read(engine=by).at(key) for key in limits} if by else item.reference
        judged = replace(item, limits=limits, reference=reference)
        spread = partial(_summary, values, homes[identity], item.metric)
        published_rows = read_published(find(homes[identity]), item.metric)
        scatter = {key: spread(key, by) for key in limits} if by else {row.key: row.summary for row in published_rows}
        lines = judged.lines(read(engine=engine).at)
        return Assessment(judged, judged.with_margins(lines, {key: spread(key, engine) for key in limits}, scatter))

    def every() -> list[dict[str, Any]]:
        return [{"identity": name, **values.claim(home, name)} for name, home in homes.items()]

    def summary(study: str, metric: str, key: Key) -> Summary:
        return _summary(values, f"{group}/beyond_{study}", metric, key)

    def over_starts(metric: str, engine: str = "") -> dict[str, float]:
        read = of("regressions", metric, engine=engine)
        means = [read("tcp", cell=cell.name) for cell in BY_NAME.values() if len(cell.case.flows) > 1]
        return {"number": len(means), "mean": fmean(means), "error": stdev(means) / math.sqrt(len(means))}

    @cache
    def estimated(study: str, configuration: str, by: str = "simulation") -> tuple[Line, ...]:
        found = find(f"{group}/{study}")
        [factor] = found.design.factors
        printed = {row.key: row.summary.mean for row in read_published(found) if row.key[0] == configuration}
        keys: list[Key] = [(configuration, value) for value in factor.values]
        reference = printed if by == "publication" else {key: of(study).at(key) for key in keys}
        if (single := found.measures.model) is None:
            raise QuiclabError(f"{study} has no model")
        compared = Criterion(study, by, reference, dict.fromkeys(reference, math.inf))
        return compared.lines(lambda key: single.estimate(configuration, {factor.column: key[1]}) or math.nan)

    def senders(study: str) -> list[Sender]:
        def has_runs(sender: Sender) -> bool:
            name = sender.name
            if study == "alone":
                return if_measured(study, alone.METRIC.name, 0, name, queue=1, rate=100, rtt=20) != "–"
            return if_measured(study, "share_percent", 0, "pair", queue=1, first=name, second=name) != "–"

        return [sender for sender in {"alone": alone.SENDERS, "beside": beside.SENDERS}[study] if has_runs(sender)]

    def measured(file: str, **at: Any) -> dict[str, float | str]:
        rows = pl.read_csv(STUDIES / group / "reference" / f"{file}.csv").filter(
            *(pl.col(column) == value for column, value in at.items())
        )
        if len(rows) != 1:
            raise QuiclabError(f"{file}.csv has {len(rows)} rows with {at}, expected one")
        return {name: value for name, value in rows.row(0, named=True).items() if value is not None}

    claims = f"quiclab_studies.{group}.claims"
    reference: Reference | None = import_module(claims).REFERENCE if find_spec(claims) else None
    return {
        **({} if reference is None else reference.terms(readings)),
        "of": of,
        "if_measured": if_measured,
        "published": published,
        "criterion": criterion,
        "estimated": estimated,
        "on_paper": lambda **given: model(Parameters(**given)),
        "senders": senders,
        "starts": lambda: starts.STARTS,
        "start_paths": lambda study: {"alone": PATHS, "disturbed": disturbed.PATHS}[study],
        "satellite_limit_s": satellite.LIMIT_S,
        "queue_cells": lambda: aqm_cells.CELLS,
        "questions": lambda: answers_cases.QUESTIONS,
        "ranges": lambda study, metric, engine="": values.ranges(f"{group}/{study}", metric, engine),
        "over_variants": lambda study, metric, key, engine: values.over_variants(
            f"{group}/{study}", metric, key, engine
        ),
        "fixed_differences": lambda: tuple(BY_NAME.values()),
        "over_starts": over_starts,
        "cases": lambda study: Cases(values, f"{group}/{study}"),
        "scatter_rules": further_runs.SCATTER_RULES,
        "longest": lambda study, configuration, other: pacing_choice.longest(
            pacing_choice.numbers_of(summary, study, configuration, other, "goodput_mbps")
        ),
        "measured": measured,
        "splitter_choice": lambda: "\n".join(dual_connectivity_choice.table(summary)),
        "verdict": lambda identity: Verdict(values.claim(homes[identity], identity)["verdict"]).word,
        "claim": lambda identity: values.claim(homes[identity], identity),
        "claims": lambda verdict="": [item["identity"] for item in every() if verdict in ("", item["verdict"])],
        "supported": lambda support: [item["identity"] for item in every() if item["support"] == support],
        "unexplained": lambda: [
            item["identity"]
            for item in every()
            if item["verdict"] == Verdict.REFUTED and item["support"] in (None, Support.NOT_SUPPORTED)
        ],
        "agreement": lambda: agreement.agreement(every()),
        "aims": {"agreed": agreement.AGREED_AIM, "undecided": agreement.UNDECIDED_AIM},
        "skill": lambda study, *series: values.skill(f"{group}/{study}", series),
        "median_difference": partial(_median_difference, group, values),
        "largest_difference": partial(_largest_difference, group, values),
        "deviation_ratio": partial(_deviation_ratio, group, values),
        "is_stored": partial(_is_stored, group, values),
        "map_score": lambda study, title: values.map_score(f"{group}/{study}", title),
        "available": lambda study: values.available(f"{group}/{study}"),
        "runs": lambda study: values.runs(f"{group}/{study}"),
    }


def _summary(values: Values, study: str, metric: str, key: Key, engine: str = "") -> Summary:
    """Return mean and spread of the runs of a setting, without an interval."""
    found = values.value(study, "", metric, key, engine)
    mean, std = (np.nan if found[name] is None else float(found[name]) for name in ("mean", "std"))
    return Summary(int(found["runs"]), mean, std, np.nan, np.nan)


def _printed(found: Study, configuration: str, at: Mapping[str, Any]) -> list[PublishedRow]:
    """Return the rows of the published table of a configuration with some values of factors."""
    names = [factor.name for factor in found.design.factors]
    return [
        row
        for row in read_published(found)
        if row.key[0] == configuration and at.items() <= dict(zip(names, row.key[1:], strict=True)).items()
    ]


def _differences(
    group: str, values: Values, study: str, configuration: str, variant: str = "", **at: Any
) -> list[float]:
    """Return measured / published - 1 of the printed settings with some values of factors."""
    found = find(f"{group}/{study}")
    return [
        float(values.value(found.name, variant, "", row.key)["mean"] / row.summary.mean - 1.0)
        for row in _printed(found, configuration, at)
    ]


def _median_difference(*asked: Any, **at: Any) -> float:
    """Return the median magnitude of the differences."""
    return float(median(map(abs, _differences(*asked, **at))))


def _largest_difference(*asked: Any, **at: Any) -> float:
    """Return the difference that is farthest from zero."""
    return max(_differences(*asked, **at), key=abs)


def _deviation_ratio(group: str, values: Values, study: str, configuration: str, **at: Any) -> tuple[float, float]:
    """Return the least and the largest measured / published standard deviation of these settings."""
    found = find(f"{group}/{study}")
    rows = [row for row in _printed(found, configuration, at) if row.summary.std > 0]
    ratios = [float(values.value(found.name, "", "", row.key)["std"]) / row.summary.std for row in rows]
    return min(ratios), max(ratios)


def _is_stored(group: str, values: Values, study: str, configuration: str, **at: Any) -> bool:
    """Return whether all printed settings with some values of factors have a value."""
    found = find(f"{group}/{study}")
    try:
        return bool([values.value(found.name, "", "", row.key) for row in _printed(found, configuration, at)])
    except QuiclabError:
        return False


def listed(identities: Sequence[str]) -> str:
    """Write a list of claims; `none` without any."""
    return ", ".join(identities) or "none"


def spread(lines: Sequence[Line]) -> str:
    """Write the median and the largest relative difference, and the skill: 1 - squared error over variance."""
    if len(lines) < MINIMUM_POINTS:
        return "none"
    sizes = [100 * abs(line.difference) for line in lines]
    values = [line.reference for line in lines]
    error = sum((line.measured - line.reference) ** 2 for line in lines)
    # where the curve is flat, there is nothing to explain
    skill = 1 - error / (len(values) * pvariance(values)) if max(values) > FLAT * min(values) else None
    return f"{median(sizes):.1f} %, {max(sizes):.0f} %, {figures(skill)}"


def beyond(lines: Sequence[Line]) -> list[Line]:
    """Return the settings that are further away than their limit."""
    return [line for line in lines if abs(line.difference) > line.limit]


def largest(lines: Sequence[Line]) -> Line:
    """Return the setting that is furthest away, as a part of its limit."""
    return max(lines, key=lambda line: abs(line.difference) / line.limit)
