"""Prose of studies, in TOML files beside them: what is said of claims, and assumptions."""

from __future__ import annotations

import tomllib
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from quiclab.errors import alternatives
from quiclab.study import Assumption
from quiclab.study.ablation import Ablation

if TYPE_CHECKING:
    from collections.abc import Mapping

ABLATION = "ablation"
TEXTS = ("read_as", "scope", "note", "explanation")


def assumed(module: str, section: str, **values: object) -> tuple[Assumption, ...]:
    """Return the assumptions of a section of `assumptions.toml` beside a module, values in place of their names.

    Raises
    ------
    ValueError
        If the section is missing, or a row has other fields, or the names in its texts are not those of the values.
    """
    file = Path(module).with_name("assumptions.toml")
    sections = tomllib.loads(file.read_text(encoding="utf-8"))
    if section not in sections:
        raise ValueError(f"{file}: expected a section `{section}`, got {alternatives(sections)}")
    rows = [_texts(f"{file}: {section}", row, ("statement", "reason")) for row in sections[section]]
    used = {name for row in rows for text in row.values() for _, name, _, _ in Formatter().parse(text) if name}
    if used != values.keys():
        raise ValueError(f"{file}: {section}: expected the values {sorted(values)}, got {sorted(used)}")
    return tuple(Assumption(*(row[field].format(**values) for field in ("statement", "reason"))) for row in rows)


def remarks(file: Path) -> dict[str, Any]:
    """Return what a TOML file adds to the claims of a source, as arguments of `Reference`.

    Its tables have the names of claims, and the fields of `TEXTS` and `ablation`, a table with `removed`, and `variant`
    or `shows`. White space between words is one space.

    Raises
    ------
    ValueError
        If a field is unknown or missing, or not a text.
    """
    texts: dict[str, dict[str, str]] = {}
    ablations: dict[str, Ablation] = {}
    for claim, table in tomllib.loads(file.read_text(encoding="utf-8")).items():
        place = f"{file}: {claim}"
        if not isinstance(table, dict):
            raise ValueError(f"{place}: expected a table, got {table!r}")
        texts[claim] = _texts(place, {key: table[key] for key in table if key != ABLATION}, (), TEXTS)
        if ABLATION in table:
            fields = _texts(f"{place}.{ABLATION}", table[ABLATION], ("removed",), ("variant", "shows"))
            ablations[claim] = Ablation(**fields)  # type: ignore[arg-type]  # texts only

    def of(field: str) -> dict[str, str]:
        return {claim: found[field] for claim, found in texts.items() if field in found}

    return {
        "read_as": of("read_as"),
        "scopes": of("scope"),
        "notes": of("note"),
        "explanations": of("explanation"),
        "ablations": ablations,
    }


def _texts(
    place: str, table: Mapping[str, object], required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the texts of a table, with one space between words."""
    for name in required:
        if name not in table:
            raise ValueError(f"{place}: `{name}` is missing")
    for name, text in table.items():
        if name not in (*required, *optional):
            raise ValueError(f"{place}: expected {alternatives((*required, *optional))}, got `{name}`")
        if not isinstance(text, str):
            raise ValueError(f"{place}.{name}: expected a text, got {text!r}")
    return {name: " ".join(str(text).split()) for name, text in table.items()}
