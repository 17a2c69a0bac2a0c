"""Errors of studies: names are checked when a study is loaded, functions name their place when they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.errors import unexpected, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quiclab.study.definition import Study


def check_study(study: Study) -> None:
    """Check that the names in a study are distinct, and that its parts refer to names that it has.

    Raises
    ------
    RequestError
        With the study, the part and the name.
    """
    where = f"study {study.name}"
    if "/" not in study.name.strip("/"):
        raise unexpected("name", '"GROUP/NAME"', study.name, where=where)
    if not study.design.engines:
        raise unexpected("engines", "at least one, or none given", "()", where=where)
    for part, names in _names(study):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise unexpected(part, "distinct names", got=f"`{name}` twice", where=where)
            seen.add(name)
    factors = [name for factor in study.design.factors for name in {factor.name, factor.column}]
    known = {
        "metric": [metric.name for metric in study.measures.metrics],
        "factor": factors,
        "configuration": list(study.design.labels),
        "engine": [engine.name for engine in study.design.engines],
        "criterion": [criterion.identity for criterion in study.measures.criteria],
    }
    for field, kind, name in _references(study):
        if name and name not in known[kind]:
            raise unknown(kind, name, known[kind], field, where=where)


def _names(study: Study) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield lists of names that must be distinct."""
    yield (
        "configurations",
        [item.name for item in study.design.configurations] + [item.name for item in study.design.unavailable],
    )
    yield "factors", [item.name for item in study.design.factors]
    yield "columns of factors", [item.column for item in study.design.factors]
    yield "metrics", [item.name for item in study.measures.metrics]
    yield "engines", [item.name for item in study.design.engines]
    yield "variants", [item.name for item in study.design.variants]
    yield "claims", [item.identity for item in study.measures.claims]
    yield "criteria", [item.identity for item in study.measures.criteria]


def _references(study: Study) -> Iterator[tuple[str, str, str]]:
    """Yield the field, the kind of part it refers to, and the name; an empty name refers to nothing."""
    yield "scored", "metric", study.measures.scored
    yield "series_factor", "factor", study.measures.series_factor
    for variant in study.design.variants:
        for engine in variant.engines:
            yield f"variant {variant.name}: engines", "engine", engine
    for metric in study.measures.metrics:
        yield f"metric {metric.name}: of", "factor", metric.of
    for claim in study.measures.claims:
        yield f"claim {claim.identity}: metric", "metric", claim.metric
    for criterion in study.measures.criteria:
        yield f"criterion {criterion.identity}: metric", "metric", criterion.metric
    for figure in study.presentation.figures:
        where = f'figure "{figure.title}"'
        yield f"{where}: metric", "metric", figure.metric
        yield f"{where}: x", "factor", figure.x
        yield f"{where}: criterion", "criterion", figure.criterion
        if figure.map is not None:
            for name in (figure.map.rows, figure.map.columns, *figure.map.at):
                yield f"{where}: map", "factor", name
            for name in (figure.map.first, figure.map.second):
                yield f"{where}: map", "configuration", name
