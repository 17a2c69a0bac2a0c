"""Check that a JSON document has the fields that a reader uses, with their types.

Unlike `tree.from_plain`, which refuses unknown fields, it accepts documents of other versions with more fields.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from quiclab.errors import RequestError, missing_field, unexpected

#: `str`, `int`, `float` (any finite number) or `bool`; a list with the shape of its items; or a table of fields. A
#: field whose name ends with `?` may be missing or null; `*` stands for all names. Other fields may have any type.
Shape: TypeAlias = "type | list[Any] | Mapping[str, Any]"

_WORDS: Final = {str: "a string", int: "an integer", float: "a number", bool: "a boolean"}


def mismatch(value: object, shape: Shape, where: str, path: str = "") -> RequestError | None:
    """Return the error about the first field of another type; None if there is none.

    Parameters
    ----------
    value
        A document as `json` reads it.
    shape
        The expected shape.
    where
        Start of the message, such as the file.
    path
        Path of `value`; empty for a document.
    """
    if isinstance(shape, type):
        return None if _is_a(shape, value) else _other(path, _WORDS[shape], value, where)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _other(path, "a list", value, where)
        parts = ((str(index), item, shape[0]) for index, item in enumerate(value))
    else:
        if not isinstance(value, dict):
            return _other(path, "a table", value, where)
        parts = (part for name, of_field in shape.items() for part in _fields(value, name, of_field))
    for name, part, inner in parts:
        below = f"{path}.{name}" if path else name
        error = missing_field(below, where=where) if part is _MISSING else mismatch(part, inner, where, below)
        if error is not None:
            return error
    return None


_MISSING: Final = object()


def _fields(table: Mapping[str, Any], name: str, shape: Shape) -> list[tuple[str, Any, Shape]]:
    """Return name, value and shape of the fields that a name in a shape stands for."""
    if name == "*":
        return [(key, value, shape) for key, value in table.items()]
    if name.endswith("?"):
        value = table.get(name[:-1])
        return [] if value is None else [(name[:-1], value, shape)]
    return [(name, table.get(name, _MISSING), shape)]


def _is_a(kind: type, value: object) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float) and abs(value) <= sys.float_info.max
    return isinstance(value, kind)


def _other(path: str, expected: str, value: object, where: str) -> RequestError:
    return unexpected(path, expected, "null" if value is None else value, where=where, kind="WrongType")
