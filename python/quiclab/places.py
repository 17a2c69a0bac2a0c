"""The place of an error in a text file, and the message that shows it, as the engine does for scenarios."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from quiclab.errors import RequestError, shown

#: Columns of a long line that a message shows on either side of the place.
_AROUND: Final = 60
#: Characters of a text that a message quotes.
_QUOTED: Final = 20
#: Messages of Python's reader of JSON, in the terms of other messages.
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
    """A part of one line of a file.

    Attributes
    ----------
    file
        Its name, as messages give it.
    text
        The file.
    line, column
        Counted from 1.
    length
        Characters of the part.
    """

    file: str
    text: str
    line: int
    column: int
    length: int = 1

    @classmethod
    def at(cls, file: str, text: str, start: int, length: int = 1) -> Place:
        """Return the place of a character, counted from 0."""
        return cls(file, text, text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), length)

    def located(self, error: RequestError) -> RequestError:
        """Return the error with this place: on one line, and as compilers print it."""
        return RequestError(
            f"{self.file}:{self.line}:{self.column}: {error.sentence}",
            path=error.path,
            kind=error.kind,
            expected=error.expected,
            value=error.value,
            suggestion=error.suggestion,
            rendered=self._rendered(error.sentence),
        )

    def _rendered(self, sentence: str) -> str:
        line = self.text.split("\n")[self.line - 1].rstrip("\r")
        line = "".join(letter if letter.isprintable() else " " for letter in line)
        start = self.column - 1
        end = min(max(start + self.length, start + 1), max(len(line), start + 1))
        if len(line) > 2 * _AROUND:  # JSON is often one line
            first = max(start - _AROUND, 0)
            line, start, end = line[first : start + _AROUND], start - first, min(end, start + _AROUND) - first
        margin = " " * len(str(self.line))
        return "\n".join(
            (
                f"error: {sentence}",
                f"{margin}--> {self.file}:{self.line}:{self.column}",
                f"{margin} |",
                f"{self.line} | {line}",
                f"{margin} | {' ' * start}{'^' * (end - start)}",
            )
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
