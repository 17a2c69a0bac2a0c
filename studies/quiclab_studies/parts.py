"""Parts that studies of several groups declare alike: factors, figures, metrics, and measures with criteria."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab.errors import alternatives
from quiclab.study import NOT_PUBLISHED, Assumption, Factor, Figure, Measures, Metric, Table
from quiclab.study.ablation import Ablation
from quiclab_studies.numbers import number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quiclab.result import Keep, RunResult
    from quiclab.study import Changes, Value
    from quiclab.study.criteria import Criterion


#: Fields of what is said of a claim.
REMARKS = ("read_as", "scope", "note", "explanation", "ablation")


def batch_factor(sizes: tuple[int, ...]) -> Factor:
    """Return the batch size of a split bearer as a factor."""
    return Factor(
        "batch", "dc_batch_packets", "DC batch size", "packets", sizes, lambda size: {"bearers.dc.batch_packets": size}
    )


def numbered_cases(count: int, changes: Callable[[int], Changes]) -> Factor:
    """Return cases 1 to `count` as a factor, from the number of a case to its changes."""
    return Factor("case", "case", "Case", "", tuple(range(1, count + 1)), lambda case: changes(int(case)))


def left(key: str) -> Callable[[Value], Changes]:
    """Return the changes of a factor whose value the configuration takes from what it is given, by this key."""
    return lambda value: {key: value}


def kept_metric(name: str, label: str, unit: str, *keys: str, factor: float = 1.0) -> Metric:
    """Return the metric of a number that is kept of each run, times a factor, by its keys; by its name without any."""

    def read(result: RunResult) -> float:
        found: Any = result.data["kept"]
        for key in keys or (name,):
            found = found.get(key)
        return factor * number(found)

    return Metric(name, label, unit, read)


def drawn(title: str, caption: str, draw: Callable[..., Any], source: str = "") -> Figure:
    """Return a figure that a function draws from the stored runs."""
    return Figure(title, source, "", caption, draw=draw)


def assumed(module: str, section: str, **values: object) -> tuple[Assumption, ...]:
    """Return the assumptions of a section of `assumptions.toml` beside a module, values in place of their names."""
    rows = tomllib.loads(Path(module).with_name("assumptions.toml").read_text(encoding="utf-8"))[section]
    texts = ([_words(row[field]).format(**values) for field in ("statement", "reason")] for row in rows)
    return tuple(Assumption(*pair) for pair in texts)


def remarks(file: Path) -> dict[str, Any]:
    """Return what a TOML file adds to the claims of a source, as arguments of `Reference`.

    Its tables have the names of claims, and fields of `REMARKS`; those of `ablation` are those of an `Ablation`. White
    space between words is one space.

    Raises
    ------
    ValueError
        If a field is unknown.
    """
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    for claim, table in tables.items():
        if other := sorted(set(table) - set(REMARKS)):
            raise ValueError(f"{file}: {claim}: expected {alternatives(REMARKS)}, got `{other[0]}`")

    def of(field: str) -> dict[str, str]:
        return {claim: _words(table[field]) for claim, table in tables.items() if field in table}

    def ablation(table: Mapping[str, str]) -> Ablation:
        fields: dict[str, Any] = {field: _words(text) for field, text in table.items()}
        return Ablation(**fields)

    return {
        **{f"{field}s": of(field) for field in ("scope", "note", "explanation")},
        "read_as": of("read_as"),
        "ablations": {claim: ablation(table["ablation"]) for claim, table in tables.items() if "ablation" in table},
    }


def _words(text: str) -> str:
    return " ".join(text.split())


def judged(
    metrics: tuple[Metric, ...],
    criteria: tuple[Criterion, ...],
    table: Table = NOT_PUBLISHED,
    source: str = "",
    *,
    keep: Keep | None = None,
    kept_series: tuple[str, ...] = (),
) -> Measures:
    """Return measures whose claims are that criteria are met.

    Parameters
    ----------
    metrics
        The main metric, then the further ones.
    criteria
        The criteria.
    table
        The reference.
    source
        Source of the claims: by default that of the reference.
    keep, kept_series
        As in `Measures`.
    """
    return Measures(
        metric=metrics[0],
        further=metrics[1:],
        kept_series=kept_series,
        keep=keep,
        table=table,
        criteria=criteria,
        claims=tuple(item.claim(source or table.source) for item in criteria),
    )
