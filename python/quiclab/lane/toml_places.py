"""Places of fields in TOML files, by the reader of the engine: that of Python's library gives values without them."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from quiclab._base.native import extension
from quiclab._base.places import Place
from quiclab.errors import RequestError, ScenarioError

if TYPE_CHECKING:
    from pathlib import Path


def syntax_error(text: str, file: Path) -> RequestError | None:
    """Return the error of the engine's reader of TOML, which gives the place; None if it finds none."""
    native = extension()
    try:
        native.toml_span(text, str(file), [], False)
    except native.ScenarioError as error:
        return ScenarioError.of(error)
    return None


def located(error: RequestError, file: Path, text: str) -> RequestError:
    """Return an error about a field with the place of the field, or of the table that lacks it.

    The mark is on the value of the field; on its name, too, if the value is a table or a list, or the field unknown.

    Parameters
    ----------
    error
        The error; its path has dots between steps, also before indices.
    file, text
        The file, valid TOML.
    """
    steps, value = _find(tomllib.loads(text), error.path)
    alone = error.kind != "UnknownField" and not isinstance(value, dict | list)
    start, end = extension().toml_span(text, str(file), steps, alone)
    return Place(str(file), text, start, end).located(error)


def _find(value: Any, path: str) -> tuple[list[str], Any]:
    """Return the steps of a path as far as they exist, and the value there; names may have dots themselves."""
    if isinstance(value, list):
        value = {str(index): item for index, item in enumerate(value)}
    if isinstance(value, dict):
        for name, inner in value.items():
            if f"{path}.".startswith(f"{name}."):
                steps, found = _find(inner, path[len(name) + 1 :])
                return [name, *steps], found
    return [], value
