"""Output of the programs of a flow: its files, its times on the clock of the run, and the numbers in it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from quiclab.result.recordings import RESULT_FILE

_LAST_WORDS: Final = 300
#: A row of a time series: time in seconds, element, metric, value.
Row = tuple[float, str, str, float]


@dataclass
class Report:
    """Reports of the programs of a flow.

    Parameters
    ----------
    delivered_bytes
        Bytes that the client's application has read (`quiclab.result.delivered`); None if it does not report them.
    started_s, first_byte_s, finished_s
        Times on the run's clock; None if it did not happen or is not reported.
    sender, receiver
        Values over the whole transfer.
    series
        Rows (time in seconds, element, metric, value), in order of time for each metric.
    acknowledgements
        State of the sender at each acknowledgement, as columns of equal length: `time_s` and metrics; a value that is
        not known is None. Empty where the kernel was not asked to trace it.
    complete
        Whether the client did all it had to.
    problems
        Messages about missing reports.
    """

    delivered_bytes: int | None = None
    started_s: float | None = None
    first_byte_s: float | None = None
    finished_s: float | None = None
    sender: dict[str, float] = field(default_factory=dict)
    receiver: dict[str, float] = field(default_factory=dict)
    series: list[Row] = field(default_factory=list)
    acknowledgements: dict[str, list[float | None]] = field(default_factory=dict)
    complete: bool = False
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ProgramOutput:
    """Where the words of the programs of a flow are."""

    #: Stacks by role, `server` and `client`.
    stacks: Mapping[str, str]
    flow: str
    directory: Path
    epoch_ns: int
    #: Ends that report.
    ends: tuple[str, ...]

    def text(self, name: str) -> str:
        """Return the output of a program (such as `client.out`); empty if the file does not exist."""
        try:
            return (self.directory / f"{self.flow}.{name}").read_bytes().decode(errors="replace")
        except OSError:
            return ""

    def problem(self, role: str, what: str) -> str:
        """Return a message about a program, with the last line of its output."""
        words = self.text(f"{role}.err").strip() or self.text(f"{role}.out").strip()
        if words.startswith("{"):
            words = ""  # its report, not a message
        last = f"; its last words: {' / '.join(words[-_LAST_WORDS:].splitlines())}" if words else "; it said nothing"
        return f"flow `{self.flow}`: the {role} of stack `{self.stacks[role]}` {what}{last}"

    def on_clock(self, monotonic_ns: object) -> float | None:
        """Return a time of CLOCK_MONOTONIC on the run's clock, in seconds."""
        if isinstance(monotonic_ns, int | float) and is_number(monotonic_ns):
            return (int(monotonic_ns) - self.epoch_ns) / 1e9
        return None

    def result(self) -> dict[str, Any]:
        """Return the result of the elements; an empty one if there is none."""
        try:
            result = json.loads((self.directory / RESULT_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return result if isinstance(result, dict) else {}

    def client_start_s(self) -> float:
        """Return when the client was started, for programs whose times begin with themselves."""
        start_s = part_of(self.result(), "flows", self.flow).get("start_s")
        return float(start_s) if isinstance(start_s, int | float) else 0.0

    def client_end_s(self) -> float | None:
        """Return when the client ended on its own, without an error; `None` if it did not."""
        end_s = part_of(self.result(), "flows", self.flow).get("finish_s")
        return float(end_s) if isinstance(end_s, int | float) else None

    def cut_short(self) -> bool:
        """Whether the run ended before its flows: the result states this, and it is not an error of a program."""
        return part_of(self.result(), "run").get("ended_by") in ("duration_over", "delivered", "interrupted")


def json_object(line: str) -> dict[str, Any] | None:
    """Read a line that is a JSON object; a truncated last line is not."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def part_of(tree: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """Return a table inside of a tree; an empty one if it is not there."""
    here: Any = tree
    for name in path:
        here = here.get(name) if isinstance(here, Mapping) else None
    return dict(here) if isinstance(here, Mapping) else {}


def numbers(table: object) -> dict[str, float]:
    """Return the entries of a table that are finite numbers."""
    if not isinstance(table, Mapping):
        return {}
    return {str(name): float(value) for name, value in table.items() if is_number(value)}


def is_number(value: object) -> bool:
    """Whether a value of a program is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def scaled(value: object, factor: float) -> float | None:
    """Return a number in another unit; curl writes some as text."""
    try:
        number = float(value) * factor if isinstance(value, int | float | str) else None
    except ValueError:
        return None
    return number
