"""Parts of an adapter file: what a program needs, its options, and how it is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quiclab.errors import RequestError, not_one_of, unexpected
from quiclab.lane.words import EXPECTED, in_unit, plain

#: A command: words, and groups of words that are omitted if a placeholder in them has no value.
Command = tuple["str | tuple[str, ...]", ...]


@dataclass(frozen=True)
class Need:
    """Something that must be there: a program, a file or a Python package; and what brings it."""

    kind: str
    name: str
    package: str


@dataclass(frozen=True)
class Option:
    """An option of scenarios that the program has.

    Parameters
    ----------
    values
        Word of the program for each value of the scenario; None where values are passed on in `unit`.
    unit
        One of `UNITS`; None where `values` lists them.
    default
        Value of the scenario that is passed on where the scenario has none.
    ends
        Ends that have it.
    """

    values: Mapping[str, str] | None
    unit: str | None
    default: str | None
    ends: tuple[str, ...]

    def word(self, value: object) -> str | None:
        """Return the word of the program for a value of the scenario, or None if it has none."""
        written = plain(value)
        if self.values is not None:
            return self.values.get(written)
        return None if self.unit is None else in_unit(written, self.unit)

    def refusal(self, path: str, value: object, context: str = "") -> RequestError:
        """Return the error about a value that has no word; `context` is put after the expected values."""
        if self.values is not None:
            return not_one_of(path, value, self.values, context)
        assert self.unit is not None  # noqa: S101 - an option has one of both
        return unexpected(path, " ".join(filter(None, (EXPECTED[self.unit], context))), value)


@dataclass(frozen=True)
class ProgramPlan:
    """How a program is started: as `Program` of a job, with placeholders."""

    command: Command
    ready: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    ready_timeout: str | None = None
    grace: str | None = None


@dataclass(frozen=True)
class GuestPlan:
    """Requirements for a guest with the virtual clock: memory such as `2G`, and settings of its kernel."""

    memory: str | None = None
    sysctls: Mapping[str, str] = field(default_factory=dict)
