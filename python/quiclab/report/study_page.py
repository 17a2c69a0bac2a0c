"""The report of a study: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import csv
import hashlib
import json
from io import StringIO
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from quiclab._base.files import file_names
from quiclab._base.libraries import pl
from quiclab._base.made import write_files
from quiclab.errors import QuiclabError
from quiclab.lane.job import stacks_of
from quiclab.report import figures, views
from quiclab.report.html import by_verdict, counts, drawing, environment, with_contents
from quiclab.report.misfit import misfit
from quiclab.report.show_comparison import published_decimals
from quiclab.result import stats
from quiclab.result.formats import LARGE
from quiclab.study import BASE, fidelity
from quiclab.study.claims import CONFIRMED_SHARE, MIN_RUNS, REFUTED_SHARE, Verdict
from quiclab.study.compare import (
    compare_rows,
    criteria_rows,
    failed_rows,
    fidelity_rows,
    judgement_row,
    map_rows,
)
from quiclab.study.evaluate import Evaluation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from quiclab.study import Metric, Study

SMALL = 2.0
"""Means below this are indices and shares, and have four decimals instead of two."""
FOLDED = 40
"""Tables with more settings than this are folded."""
UNFOLDED_CLAIMS = 6
"""Of more claims, those that were not tested or hold by construction are folded."""
THUMBNAIL_WIDTH, THUMBNAIL_HEIGHT = 300, 170
_BOUNDS = {
    "resamples": stats.RESAMPLES,
    "confidence": stats.CONFIDENCE,
    "confirmed": CONFIRMED_SHARE,
    "refuted": REFUTED_SHARE,
    "shape_deviations": fidelity.SHAPE_DEVIATIONS,
    "equivalence_share": fidelity.EQUIVALENCE_SHARE,
    "equivalence_errors": fidelity.EQUIVALENCE_ERRORS,
    "knee_level": fidelity.KNEE_LEVEL,
    "significant": stats.SIGNIFICANT,
    "min_runs": MIN_RUNS,
    "folded": FOLDED,
    "large": LARGE,
    "unfolded_claims": UNFOLDED_CLAIMS,
}
"""Thresholds that the text of the page names."""


def digest_of_digests(digests: Sequence[str]) -> str:
    """Hash the digests of runs in the order of the sweep: 32 hexadecimal digits that name all of them."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:32]


def write_page(evaluation: Evaluation, engine: str, earlier: Iterable[str] = ()) -> dict[str, Any]:
    """Write `report.html`, and figures and views as SVG and PNG; return what an overview shows of them.

    The names of another engine than the study's default end in its name, and its report has no views. Nothing is
    written before all is rendered. What an earlier report has made and this one does not is removed.

    Parameters
    ----------
    evaluation, engine
        The runs, and the engine whose they are.
    earlier
        Names of files of an earlier report, as of `made.write_files`.

    Returns
    -------
    dict
        `files` (their names, the page first), `thumbnail` (the first figure in the size of a card, SVG, or empty),
        `claims` (as `verify --json` prints them, each with the word of its verdict), `fidelity` (of each series, with
        its name).

    Raises
    ------
    QuiclabError
        If there are no runs with the engine.
    """
    study = evaluation.study
    used = list(dict.fromkeys(evaluation.table["engine"].to_list()))
    if engine not in used:
        raise QuiclabError(
            f"{evaluation.directory} has no runs with {engine}, only with {', '.join(used)}; run `quiclab "
            f"study run {study.name} --engines {engine}`"
        )
    ending = "" if engine == study.design.default_engine else f"_{engine}"
    specs = [figures.specification(evaluation, figure, engine) for figure in study.presentation.figures]
    drawn = [] if ending else views.draw(study)
    names = file_names([*(item.title for item in study.presentation.figures), *(item.view.title for item in drawn)])
    shown = {f"{name}{ending}": spec for name, spec in zip(names, specs, strict=False)}
    shown |= {name: item.spec for name, item in zip(names[len(specs) :], drawn, strict=True)}
    pictures = {name: figures.to_svg(spec) for name, spec in shown.items()}
    judged = evaluation.judgements(engine)
    claims = [{**judgement_row(study.name, item), "word": item.verdict.word} for item in judged]
    fidelity = _fidelity(evaluation, engine)
    tables = [(table, table.rows(evaluation, engine)) for table in study.presentation.text_tables]
    page = (
        environment()
        .get_template("report.html.j2")
        .render(
            **_contents(evaluation, engine),
            **drawing({f"chart-{index}": spec for index, spec in enumerate(shown.values(), start=1)}),
            charts=[
                _chart(figure.title, _sentences(figure.caption, figures.caption(evaluation, figure, engine)), spec, svg)
                for figure, spec, svg in zip(study.presentation.figures, specs, pictures.values(), strict=False)
            ],
            views=[
                _chart(
                    item.view.title,
                    f"{item.view.caption} Compare {item.view.source}. {item.runs}",
                    item.spec,
                    svg,
                    of_runs=True,
                )
                for item, svg in zip(drawn, list(pictures.values())[len(specs) :], strict=True)
            ],
            fidelity=fidelity,
            tables=tables,
            claims=by_verdict(claims),
            counts=counts(claims),
            aside=(Verdict.NOT_TESTED, Verdict.BY_CONSTRUCTION),
        )
    )
    files = {f"report{ending}.html": with_contents(page).encode()}
    for name, (table, rows) in zip(file_names([table.title for table, _ in tables]), tables, strict=True):
        files[f"table_{name}{ending}.csv"] = _csv(table.heads, rows)
    files |= {f"{name}.svg": svg.encode() for name, svg in pictures.items()}
    files |= {f"{name}.png": figures.to_png(spec) for name, spec in shown.items()}
    write_files(evaluation.directory, f"report{ending}", files, earlier)
    thumbnail = figures.to_svg(_small(specs[0]), figures.THUMBNAIL) if specs else ""
    return {"files": list(files), "thumbnail": thumbnail, "claims": claims, "fidelity": fidelity}


def _small(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a figure in the size of a card, without legends; of panels the first."""
    shown: dict[str, Any] = _without_legends(spec)
    if "vconcat" in shown:
        whole = {name: value for name, value in shown.items() if name != "vconcat"}
        return {**whole, **shown["vconcat"][0], "width": THUMBNAIL_WIDTH, "height": THUMBNAIL_HEIGHT}
    height = spec["height"] if "usermeta" in spec else THUMBNAIL_HEIGHT
    return {**shown, "width": THUMBNAIL_WIDTH, "height": height}


def _without_legends(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: None if name == "legend" else _without_legends(value) for name, value in part.items()}
    return [_without_legends(value) for value in part] if isinstance(part, list) else part


def _chart(title: str, caption: str, spec: dict[str, Any], svg: str, *, of_runs: bool = False) -> dict[str, Any]:
    """Return the data of a chart for the report."""
    kind = " rows" if "usermeta" in spec else " panels" if "vconcat" in spec else ""
    return {"title": title, "caption": caption, "kind": kind, "svg": svg, "of_runs": of_runs}


def _csv(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    """Return a table as CSV."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([heads, *rows])
    return text.getvalue().encode()


def _sentences(*texts: str) -> str:
    return " ".join(filter(None, texts))


def _contents(evaluation: Evaluation, engine: str) -> dict[str, Any]:
    """Return the data of the report other than figures, fidelity and claims."""
    study = evaluation.study
    rows = compare_rows(evaluation, engine)
    return {
        "study": study,
        "engine": engine,
        "facts": _facts(evaluation, engine),
        "commands": _commands(study, evaluation, engine),
        "seeds": _seeds(evaluation, engine),
        "labels": study.design.labels,
        "printed": any(row["published_n"] for row in rows),
        "groups": _groups(rows),
        "decimals": published_decimals(rows),
        "digits": 4 if all((row["measured_mean"] or 0.0) < SMALL for row in rows) else 2,
        "large": any((row["measured_mean"] or 0.0) >= LARGE for row in rows),
        "single": any(row["measured_n"] == 1 for row in rows),
        "criteria": criteria_rows(evaluation, engine),
        "maps": [item for item in map_rows(evaluation, engine) if item["cells"]],
        "further": [_further(evaluation, engine, metric) for metric in study.measures.further],
        "variants": _variants(evaluation),
        "missing": evaluation.missing(engine),
        "failed": failed_rows(evaluation, engine),
        "bounds": _BOUNDS,
        "settings": len(rows),
        "misfit": misfit(study, rows),
    }


def _further(evaluation: Evaluation, engine: str, metric: Metric) -> dict[str, Any]:
    """Return a further metric next to its published values; without those, only the measured values."""
    study = evaluation.study
    rows = compare_rows(evaluation, engine, metric.name)
    printed = bool(rows)
    if not printed:
        columns = study.design.columns
        rows = [
            {**dict(zip(columns, key, strict=True)), "measured_mean": summary.mean, "measured_std": summary.std}
            for key, summary in evaluation.summaries(engine, metric=metric.name).items()
        ]
    if not metric.of:  # the same in all parts of a run
        rows = [row for row in rows if all(row[part.column] == part.values[0] for part in study.design.parts)]
    factors = [factor for factor in study.design.factors if metric.of or factor.changes is not None]
    for row in rows:
        values = [factor.word(row[factor.column]) for factor in factors]
        row["setting"] = ", ".join([study.design.labels[row["configuration"]], *values])
    return {"metric": metric, "printed": printed, "rows": rows}


def _fidelity(evaluation: Evaluation, engine: str) -> list[dict[str, Any]]:
    """Return the fidelity of each series with its label."""
    found = evaluation.fidelity(engine)
    rows = fidelity_rows(evaluation.study, found)
    return [{"series": evaluation.study.series_label(key), **row} for key, row in zip(found, rows, strict=True)]


def _groups(rows: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the rows of the comparison by configuration."""
    return [(name, list(group)) for name, group in groupby(rows, key=itemgetter("configuration"))]


def _facts(evaluation: Evaluation, engine: str) -> list[tuple[str, str]]:
    """Return a description of the runs, as pairs of name and value."""
    chosen = _chosen(evaluation, engine)
    versions: dict[str, dict[str, None]] = {}
    stacks: set[str] = set()
    for text in chosen["result"]:
        result = json.loads(text)
        stacks.update(stacks_of(result["scenario"]))
        for name, value in result["versions"].items():
            versions.setdefault(name, {})[_version(value)] = None
    facts = [(f"version: {name}", "; ".join(values)) for name, values in sorted(versions.items())]
    facts += [
        ("stacks", ", ".join(sorted(stacks)) or "none"),
        ("lane", _lane(evaluation.study, engine)),
        ("runs", str(chosen.height)),
        (
            "seeds",
            f"{_seeds(evaluation, engine)}, "
            + ("each setting's own" if evaluation.study.design.own_seeds else "the same in every setting"),
        ),
        ("digest of the digests", digest_of_digests(chosen["digest"].to_list())),
    ]
    return facts


def _chosen(evaluation: Evaluation, engine: str) -> pl.DataFrame:
    """Return the runs of the published settings."""
    return evaluation.table.filter((pl.col("engine") == engine) & (pl.col("variant") == BASE))


def _seeds(evaluation: Evaluation, engine: str) -> str:
    seeds = _chosen(evaluation, engine)["seed"].unique().sort().to_list()
    return f"{seeds[0]} to {seeds[-1]}" if seeds else "none"


def _lane(study: Study, engine: str) -> str:
    """Name the lane of an engine, with its clock."""
    lane = study.design.engine(engine).lane
    return "sim (virtual time)" if lane is None else f"kernel ({lane.clock} clock, {lane.emulation})"


def _version(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_version(item)}" for name, item in sorted(value.items()))
    if isinstance(value, list):
        return ", ".join(_version(item) for item in value)
    return str(value)


def _commands(study: Study, evaluation: Evaluation, engine: str) -> list[str]:
    seed = "" if study.asked_seed is None else f" --seed {study.asked_seed}"
    engines = "" if engine == study.design.default_engine else f" --engines {engine}"
    return [
        f"quiclab study run {study.name}{seed} --runs {evaluation.runs}{engines}",
        *([f"quiclab study decide {study.name}"] if evaluation.more else []),
        f"quiclab study report {study.name}",
        f"quiclab verify {study.name}",
    ]


def _variants(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return means of each variant with those of the base, by configuration and point."""
    study = evaluation.study
    base = evaluation.summaries(study.design.default_engine)
    found = []
    for variant in (one for one in study.design.variants if one.interpretation):
        means = evaluation.summaries(study.design.default_engine, variant.name)
        rows = [{"key": key, "variant": summary, "base": base[key]} for key, summary in means.items() if key in base]
        found.append({"variant": variant, "rows": rows})
    return found
