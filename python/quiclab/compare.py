"""Tables of a study: the columns of the publication with our results, and the two side by side."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from quiclab.criteria import Outcome
from quiclab.evaluate import Evaluation, number
from quiclab.scenario import Scenario
from quiclab.stats import summarise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.claims import Judgement
    from quiclab.fidelity import Fidelity

COMPARE_SCHEMA = "quiclab.compare/1"
VERIFY_SCHEMA = "quiclab.verify/1"
TABLE_SCHEMA = "quiclab.table/1"
DECIMALS = 4


def rounded(value: float) -> float | None:
    """Round for tables; NaN becomes `None`."""
    return None if math.isnan(value) else round(value, DECIMALS)


def table_rows(evaluation: Evaluation, engines: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row for each published row and engine.

    Columns are those of the published table without its results, then `engine`, `profile`, `lane`, and
    `<metric>_mean`, `<metric>_std`, `n_runs`, then mean and deviation of each further metric.
    """
    study = evaluation.study
    stem = study.metric.name
    results = (f"{stem}_mean", f"{stem}_std", "n_runs")
    others = [metric.name for metric in study.further]
    left_out = {*results, *(f"{name}_{end}" for name in others for end in ("mean", "std"))}
    rows = []
    for engine in engines:
        profile = _profile(evaluation, engine)
        further = {name: evaluation.summaries(engine, metric=name) for name in others}
        nothing = summarise([])
        for item in evaluation.comparisons(engine):
            cells = {key: _cell(text) for key, text in item.published.cells.items() if key not in left_out}
            rows.append(
                {
                    **cells,
                    "engine": engine,
                    "profile": profile,
                    "lane": study.engine(engine).lane_name,
                    results[0]: rounded(item.measured.mean),
                    results[1]: rounded(item.measured.std),
                    results[2]: item.measured.n,
                }
            )
            for name, summaries in further.items():
                summary = summaries.get(item.published.key, nothing)
                rows[-1] |= {f"{name}_mean": rounded(summary.mean), f"{name}_std": rounded(summary.std)}
    return rows


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as CSV with a header; missing values are empty, truth values `true` and `false`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: str(v).lower() if isinstance(v, bool) else v for k, v in row.items()})
    return text.getvalue()


def to_json(value: object) -> str:
    """Write JSON as the command line prints it."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def compare_rows(evaluation: Evaluation, engine: str, metric: str = "") -> list[dict[str, Any]]:
    """Return published and measured results side by side, series by series; of the study's metric by default."""
    study = evaluation.study
    rows = []
    order = [configuration.name for configuration in study.configurations]
    for item in sorted(
        evaluation.comparisons(engine, metric), key=lambda item: order.index(str(item.published.key[0]))
    ):
        published, measured = item.published.summary, item.measured
        difference = measured.mean - published.mean
        factors = {factor.column: value for factor, value in zip(study.factors, item.published.key[1:], strict=True)}
        rows.append(
            {
                "configuration": item.published.key[0],
                **factors,
                "published_mean": published.mean,
                "published_std": rounded(published.std),
                "published_n": published.n,
                "measured_mean": rounded(measured.mean),
                "measured_std": rounded(measured.std),
                "measured_low": rounded(measured.low),
                "measured_high": rounded(measured.high),
                "measured_n": measured.n,
                "difference": rounded(difference),
                "relative_difference": rounded(difference / published.mean if published.mean else math.nan),
            }
        )
    return rows


def fidelity_rows(fidelity: Mapping[str, Fidelity]) -> list[dict[str, Any]]:
    """Return the fidelity of each series as plain values."""
    return [
        {
            "configuration": name,
            **{key: rounded(value) if isinstance(value, float) else value for key, value in asdict(item).items()},
        }
        for name, item in fidelity.items()
    ]


def criteria_rows(evaluation: Evaluation, engine: str) -> list[dict[str, Any]]:
    """Return each criterion with what became of it, as a whole and in each setting."""
    study = evaluation.study
    columns = ("configuration", *(factor.column for factor in study.factors))
    units = {metric.name: metric.unit for metric in study.metrics}
    found = []
    for item in evaluation.criteria(engine):
        criterion = item.criterion
        name = criterion.metric or study.metric.name
        found.append(
            {
                "identity": criterion.identity,
                "statement": criterion.statement,
                "metric": name,
                "unit": units[name],
                "relative": criterion.relative,
                "statistic": criterion.statistic,
                "outcome": str(item.outcome),
                "passed": sum(line.outcome is Outcome.PASSED for line in item.lines),
                "settings": len(item.lines),
                "median_difference": rounded(item.median),
                "median_limit": criterion.median_limit,
                "mean_difference": rounded(item.mean),
                "mean_limit": criterion.mean_limit,
                "lines": [
                    {
                        **dict(zip(columns, line.key, strict=False)),  # fewer where settings are judged together
                        "reference": rounded(line.reference),
                        "measured": rounded(line.measured),
                        "difference": rounded(line.difference),
                        "margin": rounded(line.margin),
                        "limit": rounded(line.limit),
                        "outcome": str(line.outcome),
                    }
                    for line in item.lines
                ],
            }
        )
    return found


def compare_document(evaluation: Evaluation, engine: str) -> dict[str, Any]:
    """Return what `study compare --json` prints (schema `quiclab.compare/1`)."""
    study = evaluation.study
    return {
        "schema": COMPARE_SCHEMA,
        "study": study.name,
        "metric": study.metric.name,
        "unit": study.metric.unit,
        "source": study.table.source,
        "engine": engine,
        "lane": study.engine(engine).lane_name,
        "runs_missing": evaluation.missing(engine),
        "rows": compare_rows(evaluation, engine),
        "fidelity": fidelity_rows(evaluation.fidelity(engine)),
        "criteria": criteria_rows(evaluation, engine),
        "further": {metric.name: compare_rows(evaluation, engine, metric.name) for metric in study.further},
        "unavailable": {item.name: item.reason for item in study.unavailable},
    }


def judgement_row(study: str, judgement: Judgement) -> dict[str, Any]:
    """Return one entry of `claims` in what `verify --json` prints."""
    claim = judgement.claim
    return {
        "study": study,
        "identity": claim.identity,
        "source": claim.source,
        "statement": claim.statement,
        "verdict": str(judgement.verdict),
        "share_true": judgement.share_true,
        "least_runs": judgement.least_runs,
        "scope": claim.scope,
        "reason": judgement.reason,
        "on_published": judgement.on_published,
        "numbers": {key: rounded(value) for key, value in judgement.numbers.items()},
        "note": claim.note,
    }


def _cell(text: str) -> Any:
    return {"true": True, "false": False}.get(text, number(text))


def _profile(evaluation: Evaluation, engine: str) -> str | None:
    """Return the profile of the sender of the first flow, if it has one."""
    for point, job in zip(evaluation.points, _first_jobs(evaluation), strict=True):
        if point.engine == engine:
            scenario = Scenario.from_dict(json.loads(job))
            flow = next(iter(scenario.flows.values()))
            return flow.sender.profile if flow.sender is not None else None
    return None


def _first_jobs(evaluation: Evaluation) -> list[str]:
    """Return the scenario of each setting."""
    return [job.scenario for job in evaluation.jobs if job.labels["run"] == 0]
