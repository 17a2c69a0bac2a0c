"""The place of an error in a text file, and the message that shows it, as the engine does for scenarios."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from quiclab._base.native import extension
from quiclab.errors import RequestError, shown

#: Characters of a text that a message quotes.
_QUOTED: Final = 20
#: Messages of Python's reader of JSON, in the words of other messages.
_REASONS: Final = {
    "Expecting value": "expected a value",
    "Expecting ',' delimiter": "expected `,`",
    "Expecting ':' delimiter": "expected `:`",
    "Expecting property name enclosed in double quotes": "expected the name of a field in double quotes",
    "Illegal trailing comma before end of object": "a comma before the end of an object",
    "Illegal trailing comma before end of array": "a comma before the end of an array",
    "Unterminated string starting at": "a string without an end",
    "Extra data": "expected the end of the file",
}


@dataclass(frozen=True)
class Place:
    """A part of a text file.

    Attributes
    ----------
    file
        Its name, as messages give it.
    text
        The file.
    start, end
        Bytes of the part in UTF-8.
    """

    file: str
    text: str
    start: int
    end: int

    @classmethod
    def at(cls, file: str, text: str, start: int, length: int = 1) -> Place:
        """Return the place of characters, counted from 0."""
        before = len(text[:start].encode())
        return cls(file, text, before, before + len(text[start : start + length].encode()))

    def located(self, error: RequestError) -> RequestError:
        """Return the error with this place: on one line, and as compilers print it."""
        line, column, rendered = extension().mark(error.message, self.file, self.text, self.start, self.end)
        return RequestError(
            f"{self.file}:{line}:{column}: {error.message}",
            path=error.path,
            kind=error.kind,
            expected=error.expected,
            value=error.value,
            suggestion=error.suggestion,
            file=self.file,
            line=line,
            column=column,
            rendered=rendered,
        )


def parse_json(text: str, file: str) -> Any:
    """Read a JSON document of a user.

    Parameters
    ----------
    text
        The document.
    file
        Name of its file, for errors.

    Raises
    ------
    RequestError
        If it is not JSON; the kind is `Syntax`.
    RecursionError
        If it is nested too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = RequestError(f"not valid JSON: {_reason(error, text)}", kind="Syntax")
        raise Place.at(file, text, min(error.pos, len(text.rstrip()))).located(problem) from error
    except ValueError as error:  # a number with too many digits
        raise RequestError(f"{file}: not valid JSON: {error}", kind="Syntax") from error


def _reason(error: json.JSONDecodeError, text: str) -> str:
    if not text.strip():
        return "the file is empty"
    rest = text[error.pos :].strip()
    unfinished = error.msg.startswith("Unterminated string") or any(
        word.startswith(rest) for word in ("true", "false", "null", "-")
    )
    if unfinished and text.lstrip()[0] in "{[":
        return "the file is truncated"
    reason = _REASONS.get(error.msg, error.msg[:1].lower() + error.msg[1:])
    if error.msg == "Expecting value" and rest:
        return f"{reason}, got {shown(rest.split(maxsplit=1)[0][:_QUOTED])}"
    return reason
