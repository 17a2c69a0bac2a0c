"""Places of fields in TOML files: the reader of Python's library gives values without them.

A document is read line by line: the entry of a field is what makes the field appear.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

from quiclab.errors import RequestError
from quiclab.native import extension
from quiclab.places import Place

if TYPE_CHECKING:
    from pathlib import Path


def syntax_error(text: str, file: Path) -> RequestError | None:
    """Return the error of the engine's reader of TOML, which gives the place; None if it finds none."""
    native = extension()
    try:
        native.resolve(text, str(file), [], "toml", None)
    except native.ScenarioError as error:
        if error.kind == "Syntax":
            return RequestError(str(error), kind=error.kind, rendered=error.rendered)
    return None


def located(error: RequestError, file: Path, text: str, value: object = None) -> RequestError:
    """Return an error about a field with the place of the field, or of the table that lacks it.

    Parameters
    ----------
    error
        The error; its path has dots between steps, and indices in brackets. A field that the document lacks has the
        place of the first line.
    file, text
        The file, valid TOML.
    value
        The value to mark (default: the name of the field).
    """
    rest = _rest(tomllib.loads(text), error.path)
    path = error.path.removesuffix(rest).rstrip(".")
    if not path:  # a field that the whole document lacks
        start = end = 0
    else:
        start, end = _entry(text, path)
        start, end = _value(text, start, end, value) or _key(text, start, end, path) or (start, start + 1)
    return Place.at(str(file), text, start, end - start).located(error)


def _entry(text: str, path: str) -> tuple[int, int]:
    """Return start and end of the entry that makes a path exist."""
    # lines of one entry are no document without its last line
    start = end = 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        try:
            tree = tomllib.loads(text[:end])
        except tomllib.TOMLDecodeError:
            continue
        if not _rest(tree, path):
            break
        start = end
    entry = text[start:end]
    return start + len(entry) - len(entry.lstrip()), start + len(entry.rstrip())


def _rest(tree: object, path: str) -> str:
    """Return what is left of a path after the steps that exist; names may have dots."""
    if isinstance(tree, dict):
        steps = ((path.removeprefix(name), value) for name, value in tree.items() if path.startswith(name))
        found = [_rest(value, after.removeprefix(".")) for after, value in steps if after[:1] in ("", ".", "[")]
    elif isinstance(tree, list):
        index = re.match(r"\[(\d+)\]\.?", path)
        found = [_rest(tree[int(index[1])], path[index.end() :])] if index and int(index[1]) < len(tree) else []
    else:
        found = []
    return min(found, key=len, default=path)


def _value(text: str, start: int, end: int, value: object) -> tuple[int, int] | None:
    """Return the place of a value in an entry; None if it is written in another way."""
    if value is None or isinstance(value, dict | list):
        return None
    quoted = [json.dumps(value, ensure_ascii=False), f"'{value}'"] if isinstance(value, str) else []
    for word in (*quoted, str(value)):
        found = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])").search(text, start, end)
        if found:
            return found.span()
    return None


def _key(text: str, start: int, end: int, path: str) -> tuple[int, int] | None:
    """Return the place of the name of a field in an entry: as much of the end of the path as is written there."""
    steps = re.sub(r"\[\d+\]$", "", path).split(".")
    for name in (".".join(steps[first:]) for first in range(len(steps))):
        found = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])").search(text, start, end)
        if found:
            return found.span()
    return None
