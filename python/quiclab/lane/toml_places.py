"""Places of fields in TOML files: the reader of Python's library gives values without them.

A file that the library has read is scanned a second time, once from start to end, for the spans of keys and values.
Alternatives considered: tomlkit has no positions, spanned-toml has had one release (2022), tree-sitter-toml brings a
compiled grammar for what the scanner below does.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Final, TypeAlias

from quiclab.errors import RequestError
from quiclab.native import extension
from quiclab.places import Place

if TYPE_CHECKING:
    from pathlib import Path

#: Start and end of a part of a text.
Span: TypeAlias = tuple[int, int]

#: White space, line ends and comments.
_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
#: A part of a key: bare, or a string of one line.
_NAME: Final = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_STRING: Final = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}(?!")|"(?:[^"\\]|\\.)*"|'''
    r"""'''.*?'{3,5}(?!')|'[^']*'""",
    re.DOTALL,
)
#: A number, boolean, date or time; a date and a time may have a space between them.
_BARE: Final = re.compile(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")
_CLOSING: Final = {"[": "]", "{": "}"}


def syntax_error(text: str, file: Path) -> RequestError | None:
    """Return the error of the engine's reader of TOML, which gives the place; None if it finds none."""
    native = extension()
    try:
        native.resolve(text, str(file), [], "toml", None)
    except native.ScenarioError as error:
        if error.kind == "Syntax":
            return RequestError(str(error), kind=error.kind, rendered=error.rendered)
    return None


def located(error: RequestError, file: Path, text: str) -> RequestError:
    """Return an error about a field with the place of the field, or of the table that lacks it.

    The mark is on the value of the field, or on its name if the value is a table, a list, or unknown to its table. A
    field that the whole document lacks has the place of the first line.

    Parameters
    ----------
    error
        The error; its path has dots between steps, also before indices.
    file, text
        The file, valid TOML.
    """
    names, values = spans(text)
    path = error.path
    while path and path not in values:
        path = path.rpartition(".")[0]
    start, end = values.get(path, (0, 0))
    if path in names and (error.kind == "UnknownField" or text[start] in _CLOSING):
        start, end = names[path]
    return Place.at(str(file), text, start, end - start).located(error)


def spans(text: str) -> tuple[dict[str, Span], dict[str, Span]]:
    """Return the spans of the names and of the values of a TOML document by path, such as `server.command.0`.

    The value of a table with a header is its name there. Items of arrays have a value only.

    Parameters
    ----------
    text
        The document, which must be valid.
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.names, scanner.values


class _Scanner:
    """One pass over a valid document; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.names: dict[str, Span] = {}
        self.values: dict[str, Span] = {}
        # last index of each array of tables by its path
        self._last: dict[str, int] = {}

    def document(self) -> None:
        table = ""
        while self._next():
            if self._next() == "[":
                table = self._header()
            else:
                self._entry(table)

    def _header(self) -> str:
        """Read `[table]` or `[[table]]`; returns its path, with the index of each array of tables in it."""
        brackets = 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        *above, (name, span) = self._key()
        self._next()
        self.at += brackets
        path = self._below("", above)
        path = f"{path}.{name}" if path else name
        self.names[path] = self.values[path] = span
        if brackets == 1:
            return path
        self._last[path] = self._last.get(path, -1) + 1
        item = f"{path}.{self._last[path]}"
        self.names[item] = self.values[item] = span
        return item

    def _entry(self, table: str) -> None:
        """Read `key = value`."""
        *above, (name, span) = self._key()
        path = self._below(table, above)
        path = f"{path}.{name}" if path else name
        self.names[path] = span
        self._next()
        self.at += 1
        self._value(path)

    def _below(self, path: str, steps: list[tuple[str, Span]]) -> str:
        """Return the path of a table that dotted keys lead to; the first of them defines it."""
        for name, span in steps:
            path = f"{path}.{name}" if path else name
            self.names.setdefault(path, span)
            self.values.setdefault(path, span)
            if path in self._last:
                path = f"{path}.{self._last[path]}"
        return path

    def _key(self) -> list[tuple[str, Span]]:
        """Read a key; returns its parts."""
        parts = []
        while True:
            self._next()
            start, raw = self.at, self._take(_NAME)
            name = next(iter(tomllib.loads(f"{raw} = 0"))) if raw[0] in "\"'" else raw
            parts.append((name, (start, self.at)))
            if self._next() != ".":
                return parts
            self.at += 1

    def _value(self, path: str) -> None:
        opening = self._next()
        start = self.at
        if opening in _CLOSING:
            self._items(path, opening)
        else:
            self._take(_STRING if opening in "\"'" else _BARE)
        self.values[path] = (start, self.at)

    def _items(self, path: str, opening: str) -> None:
        """Read an array or an inline table."""
        index = 0
        self.at += 1
        while (found := self._next()) != _CLOSING[opening]:
            if found == ",":
                self.at += 1
            elif opening == "{":
                self._entry(path)
            else:
                self._value(f"{path}.{index}")
                index += 1
        self.at += 1

    def _next(self) -> str:
        """Skip to the next character that means something, and return it; empty at the end."""
        self._take(_BLANK)
        return self.text[self.at : self.at + 1]

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        assert found is not None  # noqa: S101 - the document is valid
        self.at = found.end()
        return found[0]
