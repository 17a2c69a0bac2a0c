"""The report of a study: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import hashlib
import json
import math
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import polars as pl
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from quiclab import fidelity, figures, stats
from quiclab.claims import CONFIRMED_SHARE, REFUTED_SHARE, Verdict
from quiclab.compare import compare_rows, criteria_rows, fidelity_rows, judgement_row
from quiclab.errors import QuiclabError
from quiclab.evaluate import Evaluation
from quiclab.native import build_id
from quiclab.show import published_decimals
from quiclab.store import write_atomically
from quiclab.study import BASE, with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from quiclab.study import Study

BUNDLE = "window.vegaEmbed = vegaEmbed;"
VERDICT_WORDS = {
    Verdict.CONFIRMED: "confirmed",
    Verdict.REFUTED: "refuted",
    Verdict.UNDECIDED: "undecided",
    Verdict.NOT_TESTED: "not tested",
    Verdict.BY_CONSTRUCTION: "by construction",
}

_BOUNDS = {
    "resamples": stats.RESAMPLES,
    "confidence": stats.CONFIDENCE,
    "confirmed": CONFIRMED_SHARE,
    "refuted": REFUTED_SHARE,
    "shape_deviations": fidelity.SHAPE_DEVIATIONS,
    "equivalence_share": fidelity.EQUIVALENCE_SHARE,
    "equivalence_errors": fidelity.EQUIVALENCE_ERRORS,
    "knee_level": fidelity.KNEE_LEVEL,
}
"""Thresholds that the text of the page names."""


def digest_of_digests(digests: Sequence[str]) -> str:
    """Hash the digests of runs in the order of the sweep: 32 hexadecimal digits that name all of them."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:32]


def write_report(evaluation: Evaluation, engine: str) -> Path:
    """Write `report.html` and the figures as SVG and PNG into the results directory; returns the report's path.

    The names of another engine than the study's default end in its name. Nothing is written before all is rendered.

    Raises
    ------
    QuiclabError
        If there are no runs with the engine.
    """
    study = evaluation.study
    used = list(dict.fromkeys(evaluation.table["engine"].to_list()))
    if engine not in used:
        raise QuiclabError(
            f"{evaluation.directory} has no runs with {engine}, only with {', '.join(used)}; make them with `quiclab "
            f"study run {study.name} --engines {engine}`"
        )
    ending = "" if engine == study.default_engine else f"_{engine}"
    specs = [figures.specification(evaluation, figure, engine) for figure in study.figures]
    files = {f"report{ending}.html": render(evaluation, engine, specs).encode()}
    for index, spec in enumerate(specs, start=1):
        files[f"figure_{index}{ending}.svg"] = figures.to_svg(spec).encode()
        files[f"figure_{index}{ending}.png"] = figures.to_png(spec)
    for name, content in files.items():
        write_atomically(evaluation.directory / name, content)
    return evaluation.directory / f"report{ending}.html"


def render(evaluation: Evaluation, engine: str, specs: Sequence[dict[str, Any]]) -> str:
    """Return the report as HTML."""
    environment = Environment(
        loader=PackageLoader("quiclab", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "figures": _figures,
        "signed": _signed,
        "percent": _percent,
        "share": _share,
        "with_unit": with_unit,
    }
    study = evaluation.study
    charts = [
        {
            "figure": figure,
            "spec": _inline_json(_responsive(spec)),
            "svg": figures.to_svg(spec),
            "from_zero": not figure.criterion
            and figures.starts_at_zero(figures.figure_data(evaluation, figure, engine)),
        }
        for figure, spec in zip(study.figures, specs, strict=True)
    ]
    judgements = evaluation.judgements(engine)
    rows = compare_rows(evaluation, engine)
    return environment.get_template("report.html.j2").render(
        study=study,
        engine=engine,
        lane=study.engine(engine).lane_name,
        facts=_facts(evaluation, engine),
        commands=_commands(study, evaluation, engine),
        seeds=_seeds(evaluation, engine),
        charts=charts,
        labels=study.labels,
        groups=_groups(rows),
        decimals=published_decimals(rows),
        fidelity=_fidelity(evaluation, engine),
        criteria=criteria_rows(evaluation, engine),
        further=[(metric, compare_rows(evaluation, engine, metric.name)) for metric in study.further],
        claims=[{**judgement_row(study.name, item), "word": VERDICT_WORDS[item.verdict]} for item in judgements],
        counts=_counts([VERDICT_WORDS[item.verdict] for item in judgements]),
        variants=_variants(evaluation),
        missing=evaluation.missing(engine),
        bounds=_BOUNDS,
        light=_inline_json(figures.LIGHT | {"background": None}),
        dark=_inline_json(figures.DARK),
        bundle=vl_convert.javascript_bundle(BUNDLE),
    )


def _fidelity(evaluation: Evaluation, engine: str) -> list[dict[str, Any]]:
    """Return the fidelity of each series with its label."""
    found = evaluation.fidelity(engine)
    rows = fidelity_rows(evaluation.study, found)
    return [{"series": evaluation.study.series_label(key), **row} for key, row in zip(found, rows, strict=True)]


def _groups(rows: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the rows of the comparison by configuration."""
    return [(name, list(group)) for name, group in groupby(rows, key=itemgetter("configuration"))]


def _facts(evaluation: Evaluation, engine: str) -> list[tuple[str, str]]:
    """Return what was run, as pairs of name and value."""
    chosen = _chosen(evaluation, engine)
    versions: dict[str, dict[str, None]] = {}
    for text in chosen["result"]:
        for name, value in json.loads(text)["versions"].items():
            versions.setdefault(name, {})[_version(value)] = None
    versions["build"] = {build_id(): None}  # results of another build are not read
    facts = [(f"version: {name}", "; ".join(values)) for name, values in sorted(versions.items())]
    facts += [
        ("engine", engine),
        ("lane", _lane(evaluation.study, engine)),
        ("runs", str(chosen.height)),
        ("seeds", f"{_seeds(evaluation, engine)}, the same in every setting"),
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
    lane = study.engine(engine).lane
    return "sim (virtual time)" if lane is None else f"kernel ({lane.clock} clock, {lane.emulation})"


def _version(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_version(item)}" for name, item in sorted(value.items()))
    if isinstance(value, list):
        return ", ".join(_version(item) for item in value)
    return str(value)


def _commands(study: Study, evaluation: Evaluation, engine: str) -> list[str]:
    engines = "" if engine == study.default_engine else f" --engines {engine}"
    return [
        f"quiclab study run {study.name} --runs {evaluation.runs}{engines}",
        f"quiclab study report {study.name}",
        f"quiclab verify {study.name}",
    ]


def _variants(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return means of each variant beside those of the base, by configuration and point."""
    study = evaluation.study
    base = evaluation.summaries(study.default_engine)
    found = []
    for variant in study.variants:
        means = evaluation.summaries(study.default_engine, variant.name)
        rows = [{"key": key, "variant": summary, "base": base[key]} for key, summary in means.items() if key in base]
        found.append({"variant": variant, "rows": rows})
    return found


def _counts(words: Sequence[str]) -> list[tuple[str, int]]:
    return [(word, words.count(word)) for word in VERDICT_WORDS.values() if word in words]


def _responsive(spec: dict[str, Any]) -> dict[str, Any]:
    """Let the chart take the width of the page."""
    return {**spec, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def _inline_json(value: object) -> str:
    """Write JSON that may stand in a script element."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/").replace("<!--", "<\\!--")


def _figures(value: float | None, digits: int = 2) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _signed(value: float | None, digits: int = 2) -> str:
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if text.strip("+-0.") else text[1:]


def _share(value: float) -> str:
    """Write a share as percent, with the decimals it needs."""
    return f"{100 * value:.10g} %"


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None or math.isnan(value) else f"{_signed(100 * value, digits)} %"
