"""Errors that reach the user: a one-line message and the exit code of the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePath

#: Characters of a value that an error message shows.
MAX_SHOWN = 80


class QuiclabError(Exception):
    """An error that is reported to the user.

    Parameters
    ----------
    sentence
        The message: one line, without a traceback.
    exit_code
        1: something failed or is incomplete; 2: the request was invalid.
    """

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.exit_code = exit_code


class RequestError(QuiclabError):
    """The request was invalid: exit code 2."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, exit_code=2)


class ScenarioError(RequestError):
    """A scenario is invalid.

    Parameters
    ----------
    sentence
        File, line, field, expected values and actual value, on one line.
    path
        The field, with dots between its steps, such as `links.down1.rate`.
    kind
        `Syntax`, `UnknownField`, `MissingField`, `WrongType`, `OutOfRange`, `UnknownName`, `Conflict` or
        `Unsupported`.
    expected
        The values that the field accepts, in prose.
    rendered
        The message with the line of the file and the location marked, as compilers print it.
    """

    def __init__(self, sentence: str, path: str, kind: str, expected: str, rendered: str) -> None:
        super().__init__(sentence)
        self.path = path
        self.kind = kind
        self.expected = expected
        self.rendered = rendered

    @classmethod
    def of(cls, error: Exception) -> ScenarioError:
        """Return the error for an exception of the native extension."""
        path, kind, expected, rendered = (getattr(error, name) for name in ("path", "kind", "expected", "rendered"))
        return cls(str(error), path, kind, expected, rendered)


def unexpected(field: str, expected: str, value: object = None, hint: str = "") -> RequestError:
    """Return the error about a value: `field: expected ..., got ...; hint`.

    Parameters
    ----------
    field
        File, line, field or option, as far as they apply.
    expected
        The values that the field accepts, in prose.
    value
        The actual value; `None` if the field is missing.
    hint
        The reason, or what to do.
    """
    message = f"missing; expected {expected}" if value is None else f"expected {expected}, got {shown(value)}"
    return RequestError(f"{field}: {message}" + (f"; {hint}" if hint else ""))


def unknown(kind: str, name: str, known: Iterable[str], where: str = "") -> RequestError:
    """Return the error about a name that does not exist: ``where: unknown engine `x`; expected `a` or `b` ``."""
    return RequestError(f"{where + ': ' if where else ''}unknown {kind} `{name}`; expected {alternatives(known)}")


def alternatives(names: Iterable[str]) -> str:
    """Return names as error messages list them: `a`, `b` or `c`."""
    *others, last = [f"`{name}`" for name in names] or ["nothing: none is defined"]
    return f"{', '.join(others)} or {last}" if others else last


def shown(value: object) -> str:
    """Write a value for an error message: strings in quotes, long values truncated, paths unchanged."""
    text = str(value)
    if isinstance(value, PurePath):
        return text
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=not value.isprintable())
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
