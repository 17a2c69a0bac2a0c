"""Tables of a study: the columns of the publication with measured results, and both side by side."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from quiclab.result.stats import summarise
from quiclab.study import BASE
from quiclab.study.criteria import Outcome
from quiclab.study.difference import differences
from quiclab.study.evaluate import Evaluation
from quiclab.study.maps import Cell, MeasuredMap, maps_of
from quiclab.study.parts import SIM
from quiclab.study.plan import Plan
from quiclab.study.published import number
from quiclab.study.ran import profile_of, stacks_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from _typeshed import DataclassInstance

    from quiclab.study import Engine, Study
    from quiclab.study.claims import Judgement
    from quiclab.study.fidelity import Fidelity
    from quiclab.study.findings import Key
    from quiclab.study.multiverse import Row

COMPARE_SCHEMA = "quiclab.compare/1"
VERIFY_SCHEMA = "quiclab.verify/1"
TABLE_SCHEMA = "quiclab.table/1"
MULTIVERSE_SCHEMA = "quiclab.multiverse/1"
DECIMALS = 4
# numbers of a setting of a criterion
NUMBERS = ("reference", "measured", "difference", "margin", "limit")


def rounded(value: float) -> float | None:
    """Round for tables; NaN becomes `None`."""
    return None if math.isnan(value) else round(value, DECIMALS)


def _fields(item: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass, numbers rounded."""
    return {name: rounded(value) if isinstance(value, float) else value for name, value in asdict(item).items()}


def table_rows(evaluation: Evaluation, engines: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row for each setting that was run or published, and engine.

    Columns are those of the published table without its results, then `engine`, `profile`, `lane`, and
    `<metric>_mean`, `<metric>_std`, `n_runs`, then mean and deviation of each further metric. Columns that follow from
    the scenario of a setting say what ran, whatever was printed of it. If runs failed, `n_failed` and `reason` say how
    many and why the first of them did.
    """
    study = evaluation.study
    stem = study.measures.metric.name
    others = [metric.name for metric in study.measures.further]
    left_out = {"n_runs", *(f"{name}_{end}" for name in (stem, *others) for end in ("mean", "std"))}
    published = {row.key: row.cells for row in evaluation.published}
    header = [name for name in next(iter(published.values()), {}) if name not in left_out]
    nothing = summarise([])
    rows = []
    some_failed = any(evaluation.failed(engine) for engine in engines)
    for engine in engines:
        further = {name: evaluation.summaries(engine, metric=name) for name in others}
        measured = evaluation.summaries(engine)
        settings = _settings(evaluation, engine)
        order = [*(key for key in published if key in settings), *(key for key in settings if key not in published)]
        for key in order:
            scenario = settings[key]
            labels = dict(zip(study.design.columns, key, strict=True))
            described = study.presentation.describe(scenario, labels) if study.presentation.describe else {}
            printed = {name: _cell(text) for name, text in published.get(key, {}).items() if name not in left_out}
            summary = measured.get(key, nothing)
            failed = evaluation.failed(engine).get(key)
            if published and not (printed or described or summary.n or failed):
                continue  # neither published nor run
            cells = {**dict.fromkeys(header), **labels, **printed, **described}
            rows.append(
                {
                    **cells,
                    "engine": _engine(study.design.engine(engine), scenario),
                    "profile": _profile(scenario),
                    "lane": study.design.engine(engine).lane_name,
                    f"{stem}_mean": rounded(summary.mean),
                    f"{stem}_std": rounded(summary.std),
                    "n_runs": summary.n,
                }
            )
            for name, summaries in further.items():
                summary = summaries.get(key, nothing)
                rows[-1] |= {f"{name}_mean": rounded(summary.mean), f"{name}_std": rounded(summary.std)}
            if some_failed:
                rows[-1] |= {"n_failed": failed.runs if failed else 0, "reason": failed.reason if failed else None}
    return rows


def failed_rows(evaluation: Evaluation, engine: str) -> list[dict[str, Any]]:
    """Return the settings of which runs failed with an engine or the reference: label, runs, failed ones, reason."""
    study, rows = evaluation.study, []
    engines = study.with_reference([engine])
    for name in engines:
        counts = {key: len(runs) for key, runs in evaluation.samples(name).items()}
        for key, item in evaluation.failed(name).items():
            label = study.setting_label(key)
            rows.append(
                {
                    "engine": name,
                    **dict(zip(study.design.columns, key, strict=True)),
                    "setting": label if len(engines) == 1 else f"{name}: {label}",
                    "runs": counts.get(key, 0),
                    "failed": item.runs,
                    "reason": item.reason,
                }
            )
    return rows


def _settings(evaluation: Evaluation, engine: str) -> dict[Key, Mapping[str, Any]]:
    """Return the resolved scenario of each setting of an engine, in the order of the study."""
    points = [point for point in evaluation.points if point.engine == engine and point.variant == BASE]
    stored = evaluation.scenarios(engine)
    missing = [point for point in points if point.key not in stored]
    for run in Plan(evaluation.study, missing).first_runs():
        stored[run.point.key] = json.loads(run.scenario)
    return {point.key: stored[point.key] for point in points}


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as CSV with a header; missing values are empty, booleans `true` and `false`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: str(v).lower() if isinstance(v, bool) else v for k, v in row.items()})
    return text.getvalue()


def compare_rows(evaluation: Evaluation, engine: str, metric: str = "") -> list[dict[str, Any]]:
    """Return published and measured results side by side, series by series; of the study's metric by default."""
    study = evaluation.study
    rows = []
    order = [configuration.name for configuration in study.design.configurations]
    for item in sorted(
        evaluation.comparisons(engine, metric), key=lambda item: order.index(str(item.published.key[0]))
    ):
        published, measured = item.published.summary, item.measured
        difference = measured.mean - published.mean
        values = zip(study.design.factors, item.published.key[1:], strict=True)
        factors = {factor.column: value for factor, value in values}
        rows.append(
            {
                "configuration": item.published.key[0],
                **factors,
                "published_mean": rounded(published.mean),
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


def difference_rows(evaluation: Evaluation, engine: str) -> list[dict[str, Any]]:
    """Return how far each configuration is from the first one in each setting, with 95 % intervals."""
    columns = evaluation.study.design.columns
    return [
        {
            **dict(zip(columns, key, strict=True)),
            **_fields(item),
        }
        for key, item in differences(evaluation, engine).items()
    ]


def fidelity_rows(study: Study, fidelity: Mapping[Key, Fidelity]) -> list[dict[str, Any]]:
    """Return the fidelity of each series as plain values."""
    columns = ("configuration", *(factor.column for factor in study.series_factors))
    return [
        {
            **dict(zip(columns, key, strict=True)),
            **_fields(item),
        }
        for key, item in fidelity.items()
    ]


def map_rows(evaluation: Evaluation, engine: str) -> list[dict[str, Any]]:
    """Return each map of the study: its contents, the agreement of published and measured, and its cells."""
    return [
        {
            "title": item.figure.title,
            "source": item.figure.source,
            "first": item.map.first,
            "second": item.map.second,
            "at": dict(item.map.at),
            **_fields(item.score),
            "sign_share": rounded(item.score.sign_share),
            "lines": _map_lines(item),
        }
        for item in maps_of(evaluation, engine)
    ]


def _map_lines(item: MeasuredMap) -> list[dict[str, Any]]:
    """Return the cells of a map; what was not printed or measured is `None`."""

    def half(name: str, cell: Cell | None) -> dict[str, Any]:
        return {
            f"{name}_difference": None if cell is None else rounded(cell.difference),
            f"{name}_p": None if cell is None or math.isnan(cell.p) else cell.p,
            f"{name}_significant": None if cell is None else cell.significant,
        }

    published, measured = (
        {(cell.row, cell.column): cell for cell in cells} for cells in (item.published, item.measured)
    )
    return [
        {
            item.map.rows: place[0],
            item.map.columns: place[1],
            **half("published", published.get(place)),
            **half("measured", measured.get(place)),
        }
        for place in dict.fromkeys([*published, *measured])
    ]


def criteria_rows(evaluation: Evaluation, engine: str) -> list[dict[str, Any]]:
    """Return each criterion with what became of it, as a whole and in each setting."""
    study = evaluation.study
    columns = ("configuration", *(factor.column for factor in study.design.factors))
    found = []
    for item in evaluation.criteria(engine):
        criterion = item.criterion
        metric = study.measures.metric_of(criterion.metric)
        found.append(
            {
                "identity": criterion.identity,
                "statement": criterion.statement,
                "metric": metric.name,
                "unit": metric.unit,
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
                        **{name: rounded(getattr(line, name)) for name in NUMBERS},
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
        "metric": study.measures.metric.name,
        "unit": study.measures.metric.unit,
        "source": study.measures.table.source,
        "engine": engine,
        "lane": study.design.engine(engine).lane_name,
        "runs_missing": evaluation.missing(engine),
        "rows": compare_rows(evaluation, engine),
        "failed": failed_rows(evaluation, engine),
        "differences": {
            "from": study.design.configurations[0].name,
            "rows": difference_rows(evaluation, engine),
        },
        "fidelity": fidelity_rows(study, evaluation.fidelity(engine)),
        "criteria": criteria_rows(evaluation, engine),
        "maps": map_rows(evaluation, engine),
        "further": {metric.name: compare_rows(evaluation, engine, metric.name) for metric in study.measures.further},
        "unavailable": {item.name: item.reason for item in study.design.unavailable},
    }


def multiverse_document(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return what `study multiverse --json` prints (schema `quiclab.multiverse/1`)."""
    claims = [
        {
            "study": row.study,
            "identity": row.claim.identity,
            "statement": row.claim.statement,
            "summary": row.summary,
            "worlds": {world: asdict(found) for world, found in row.interpretations.items()},
        }
        for row in rows
    ]
    return {"schema": MULTIVERSE_SCHEMA, "study": name.rstrip("/"), "claims": claims}


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
        "on_measured": judgement.on_measured,
        "limit": None if judgement.limit is None else _fields(judgement.limit),
        "numbers": {key: rounded(value) for key, value in judgement.numbers.items()},
        "note": claim.note,
        "explanation": judgement.explanation,
        "ablation": _ablation(judgement),
    }


def _ablation(judgement: Judgement) -> dict[str, Any] | None:
    """Return the outcome of the ablation of a refuted claim."""
    result, ablation = judgement.ablation, judgement.claim.ablation
    if result is None or ablation is None:
        return None
    return {
        "removed": ablation.removed,
        "support": str(result.support),
        "share_true": result.share_true,
        "reason": result.reason,
        "numbers": {key: rounded(value) for key, value in result.numbers.items()},
    }


def _cell(text: str) -> Any:
    return {"true": True, "false": False}.get(text, number(text))


def _engine(engine: Engine, scenario: Mapping[str, Any]) -> str:
    """Return the engine, or the stacks of a setting that runs without the one that the engine is named after."""
    stacks = stacks_of(scenario)
    named = engine.lane is None and not engine.needs and engine.name != SIM
    return engine.name if not named or engine.name in stacks else ", ".join(stacks)


def _profile(scenario: Mapping[str, Any]) -> str | None:
    """Return the profile of the sender of the first flow, if it has one."""
    return profile_of(next(iter(scenario["flows"].values())))
