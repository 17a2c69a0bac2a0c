"""Errors that reach the user: a one-line message and the exit code of the command line.

The error of a field, option or name is also data, as in the native extension: path, kind, value, expected values and
suggestion. The functions here derive the message from it; no code parses a message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import PurePath
from typing import Final

#: Characters of a value that an error message shows.
MAX_SHOWN: Final = 80
#: Names that an error message lists where a suggestion, or a command that lists them all, replaces the list.
MAX_LISTED: Final = 12


class QuiclabError(Exception):
    """An error that is reported to the user.

    Parameters
    ----------
    message
        The message: one line, without a traceback.
    exit_code
        1: something failed or is incomplete; 2: the request was invalid; above 128: stopped by a signal.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


class StoppedError(QuiclabError):
    """A signal has stopped the command: exit code 128 and its number, as shells have it.

    Parameters
    ----------
    message
        As of `QuiclabError`.
    number
        The signal.
    """

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message, exit_code=128 + number)


class RequestError(QuiclabError):
    """The request was invalid: exit code 2.

    Parameters
    ----------
    message
        The message: file, line, field, expected values and actual value, as far as they apply, on one line.
    path
        The field, with dots between its steps, such as `links.down1.rate`, or the option; empty if it is about neither.
    kind
        `Syntax`, `UnknownField`, `MissingField`, `WrongType`, `OutOfRange`, `UnknownName`, `Conflict`,
        `Unsupported` or `File`; empty if it is none of these.
    expected
        The values that the field accepts, in prose.
    value
        The actual value as the message shows it; empty if the field is missing.
    suggestion
        The name that was probably meant.
    file, line, column
        Where the field is: line and column from 1; empty and `None` if it is not in a file.
    rendered
        The message as compilers print it, with the line of the file and the location marked; empty without a file, or
        the message alone.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str = "",
        kind: str = "",
        expected: str = "",
        value: str = "",
        suggestion: str | None = None,
        file: str = "",
        line: int | None = None,
        column: int | None = None,
        rendered: str = "",
    ) -> None:
        super().__init__(message, exit_code=2)
        self.path = path
        self.kind = kind
        self.expected = expected
        self.value = value
        self.suggestion = suggestion
        self.file = file
        self.line = line
        self.column = column
        self.rendered = rendered


class ScenarioError(RequestError):
    """A scenario is invalid; message and attributes are those of the engine."""

    @classmethod
    def of(cls, error: Exception) -> ScenarioError:
        """Return the error for an exception of the native extension."""
        return cls(str(error), **vars(error))


def expected_got(expected: str, got: object) -> str:
    """Return what every message about a value says: `expected ..., got ...`; `got` is printed as it is."""
    return f"expected {expected}, got {got}"


def unexpected(
    field: str,
    expected: str,
    value: object = None,
    hint: str = "",
    *,
    got: str = "",
    where: str = "",
    kind: str = "OutOfRange",
) -> RequestError:
    """Return the error about a value: `where: field: expected ..., got ...; hint`.

    Parameters
    ----------
    field
        Field or option.
    expected
        The values that it accepts, in prose.
    value
        The actual value; `None` if the field is missing.
    hint
        The reason, or what to do.
    got
        The actual value in prose or with its unit, instead of `value`.
    where
        File, and line if known.
    kind
        As of `RequestError`; a field without a value is missing.
    """
    if value is None and not got:
        return _about(where, field, "MissingField", [f"missing; expected {expected}", hint], expected)
    got = got or shown(value)
    return _about(where, field, kind, [expected_got(expected, got), hint], expected, got)


def not_one_of(
    field: str, value: object, known: Iterable[object], context: str = "", *, where: str = ""
) -> RequestError:
    """Return the error about a value that is none of some names: `field: expected "a" or "b", got "c"`.

    Parameters
    ----------
    field, value, where
        As of `unexpected`.
    known
        The names.
    context
        What they are the names of, after the list, such as "in lane sim".
    """
    names = [str(name) for name in known]
    if value is None:
        return unexpected(field, _with(alternatives(map(shown, names), quote=""), context), where=where)
    suggestion = nearest(value, names)
    if suggestion and len(names) > MAX_LISTED:
        return unknown("value", str(value), names, field, where=where)
    expected = _with(_whole_range(names) or alternatives(map(shown, names), quote=""), context)
    message = expected_got(expected, shown(value))
    return _about(where, field, "UnknownName", [message], expected, shown(value), suggestion)


def unknown(
    kind: str, name: str, known: Iterable[str], field: str = "", listing: str = "", *, where: str = ""
) -> RequestError:
    """Return the error about a name that does not exist: ``field: unknown engine `x`; expected `a` or `b` ``.

    Parameters
    ----------
    kind
        What has names, such as "engine".
    name
        The name.
    known
        The names that exist.
    field, where
        As of `unexpected`; `field` is empty where the command line has only one name.
    listing
        The command that lists all names; it replaces a long list.
    """
    names = list(known)
    suggestion = nearest(name, names)
    expected = alternatives(names)
    parts = [f"unknown {kind} `{name}`"]
    if len(names) <= MAX_LISTED or not (suggestion or listing):
        parts.append(f"expected {expected}")
    elif listing:
        parts.append(f"`{listing}` lists all")
    return _about(where, field, "UnknownName", parts, expected, name, suggestion)


def unknown_field(path: str, name: str, known: Iterable[str], *, where: str = "") -> RequestError:
    """Return the error about a field that a table does not have, from its path, its name and the fields there are."""
    names = list(known)
    suggestion = nearest(name, names)
    long = suggestion and len(names) > MAX_LISTED
    expected = f"one of {len(names)} fields" if long else alternatives(names)
    return _about(where, path, "UnknownField", ["unknown field", f"expected {expected}"], expected, "", suggestion)


def missing_field(path: str, expected: str = "", *, where: str = "") -> RequestError:
    """Return the error about a field that is required."""
    parts = ["missing", f"expected {expected}" if expected else ""]
    return _about(where, path, "MissingField", parts, expected)


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the name among `known` that `name` is most likely a misspelling of, if there is one."""
    found: str | None = import_module("quiclab._quiclab").nearest(str(name), list(known))
    return found


def alternatives(names: Iterable[str], quote: str = "`") -> str:
    """Return names as error messages list them: `a`, `b` or `c`."""
    *others, last = [f"{quote}{name}{quote}" for name in names] or ["nothing: none is defined"]
    return f"{', '.join(others)} or {last}" if others else last


def _whole_range(names: Sequence[str]) -> str:
    """Return many successive integers as their range, such as "1 to 200"; nothing if the names are others."""
    if len(names) <= MAX_LISTED or not names[0].isdecimal():
        return ""
    first = int(names[0])
    return f"{first} to {names[-1]}" if names == [str(first + k) for k in range(len(names))] else ""


def shown(value: object) -> str:
    """Write a value for an error message: as JSON, truncated if it is long; paths unchanged."""
    if isinstance(value, PurePath):
        return str(value)
    try:
        text = json.dumps(value, ensure_ascii=isinstance(value, str) and not value.isprintable())
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _with(expected: str, context: str) -> str:
    return f"{expected} {context}" if context else expected


def _about(
    where: str,
    path: str,
    kind: str,
    parts: Iterable[str],
    expected: str,
    value: str = "",
    suggestion: str | None = None,
) -> RequestError:
    """Return the error of which `parts` are what follows the path; the suggestion is last."""
    said = [part for part in (*parts, f"did you mean `{suggestion}`?" if suggestion else "") if part]
    message = ": ".join(part for part in (where, path, "; ".join(said)) if part)
    return RequestError(message, path=path, kind=kind, expected=expected, value=value, suggestion=suggestion)


def lower_first(text: str) -> str:
    """Write a label within a sentence: its first letter is lower case, unless it begins an abbreviation."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
