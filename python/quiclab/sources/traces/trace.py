"""A rate over time, and the csv format of the simulator with its origin.

The simulator reads lines `time,rate` below a header that names the units and skips lines that begin with `#`
(`crates/quiclab-core/src/link/trace/parse.rs`). Such lines above the header state the kind and the source
of a trace, so that no scenario can use a file without the mark:

    # quiclab trace 1
    # origin: synthetic
    # note: made by quiclab trace generate --mean "4500 kbit/s" --duration "200 s" --step "1 s" --seed 1
    time_s,rate_kbps
    0,3127
    ...
    200,3127

The time of the last line is the end of the trace, which is where `at_end = "loop"` starts again; its rate repeats the
first one and counts for nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from quiclab._base.files import write_atomically
from quiclab.errors import unexpected
from quiclab.sources.traces.lines import numbered_lines

if TYPE_CHECKING:
    from pathlib import Path

MARK: Final = "quiclab trace 1"
SYNTHETIC: Final = "synthetic"
#: Lines of a trace that is read here: a day at ten samples a second.
MAX_ENTRIES: Final = 864_000
#: Comments above the header that are looked at.
MAX_COMMENTS: Final = 1000
#: Units of the columns, in nanoseconds and bit/s (parse.rs).
TIME_UNITS: Final = {"time_s": 10**9, "time_ms": 10**6}
RATE_UNITS: Final = {"rate_bps": 1, "rate_kbps": 10**3, "rate_mbps": 10**6}
COLUMNS: Final = "a header of `time_s` or `time_ms`, a comma, and `rate_bps`, `rate_kbps` or `rate_mbps` (format csv)"

_DECIMAL: Final = re.compile(r"(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True)
class Trace:
    """A rate over time: each one holds from its start to the next.

    Parameters
    ----------
    starts_ns
        When each rate begins [ns], ascending from 0.
    rates_bps
        The rates [bit/s]; 0 is a pause, in which nothing is delivered.
    end_ns
        When the last rate ends [ns].
    origin
        `synthetic`, or the data set and file of its source; `None` if the file does not state it.
    notes
        Further lines about how it was made.
    """

    starts_ns: tuple[int, ...]
    rates_bps: tuple[int, ...]
    end_ns: int
    origin: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def synthetic(self) -> bool:
        """Whether its origin is a model."""
        return re.match(rf"{SYNTHETIC}\b", self.origin or "") is not None

    @property
    def duration_s(self) -> float:
        """How long it lasts [s]."""
        return self.end_ns / 1e9

    @property
    def title(self) -> str:
        """Title of its tables and figures."""
        if self.synthetic:
            return "Synthetic trace"
        return "Trace of unknown origin" if self.origin is None else f"Trace: {self.origin}"


def to_csv(trace: Trace) -> str:
    """Write a trace as the engine reads it, with its origin above the header."""
    about = [MARK]
    if trace.origin is not None:
        about.append(f"origin: {trace.origin}")
    about += [f"note: {note}" for note in trace.notes]
    entries = [*zip(trace.starts_ns, trace.rates_bps, strict=True), (trace.end_ns, trace.rates_bps[0])]
    lines = [f"# {_one_line(text)}" for text in about]
    lines += ["time_s,rate_kbps", *(f"{_decimal(time, 9)},{_decimal(rate, 3)}" for time, rate in entries)]
    return "\n".join(lines) + "\n"


def write(path: Path, trace: Trace) -> None:
    """Write a trace to a file, which is there whole or not at all.

    Raises
    ------
    RequestError
        If the directory cannot be written to.
    """
    write_atomically(path, to_csv(trace).encode())


def read(path: Path) -> Trace:
    """Read a trace of format `csv` from any source.

    Raises
    ------
    RequestError
        If the file cannot be read or is invalid; the message names line, value and expected values.
    """
    about: list[str] = []
    units: tuple[str, str] | None = None
    entries: list[tuple[int, int]] = []
    for number, text in numbered_lines(path):
        if text.startswith("#"):
            if units is None and len(about) < MAX_COMMENTS:
                about.append(text.removeprefix("#").strip())
        elif units is None:
            units = _units(text, f"{path}, line {number}")
        else:
            entries.append(_entry(text, units, f"{path}, line {number}"))
            _check_order(entries, units[0], f"{path}, line {number}")
    if units is None:
        raise unexpected("", COLUMNS, got="no line", where=str(path))
    if len(entries) < 2:
        expected = "at least 2 lines with a rate, the last one for the end of the trace"
        raise unexpected("", expected, len(entries), where=str(path))
    times, rates = zip(*entries[:-1], strict=True)
    return Trace(times, rates, entries[-1][0], _value(about, "origin"), tuple(_values(about, "note")))


def _units(header: str, place: str) -> tuple[str, str]:
    names = tuple(name.strip() for name in header.split(","))
    if len(names) != 2 or names[0] not in TIME_UNITS or names[1] not in RATE_UNITS:
        raise unexpected("", COLUMNS, header, where=place)
    return names[0], names[1]


def _entry(text: str, units: tuple[str, str], place: str) -> tuple[int, int]:
    values = text.split(",")
    if len(values) != 2:
        raise unexpected("", "two numbers, time and rate, separated by a comma", text, where=place)
    time, rate = values
    return _number(time, units[0], TIME_UNITS[units[0]], place), _number(rate, units[1], RATE_UNITS[units[1]], place)


def _number(text: str, name: str, scale: int, place: str) -> int:
    """Return a decimal number in nanoseconds or bit/s, rounded half up as the simulator does."""
    text = text.strip()
    if not _DECIMAL.fullmatch(text):
        raise unexpected(name, "a number of at least 0, such as 12.5", text, where=place)
    value = int(Fraction(text) * scale + Fraction(1, 2))
    if value >= 1 << 63:
        unit = "ns" if name in TIME_UNITS else "bit/s"
        raise unexpected(name, f"less than 2^63 {unit}", text, where=place)
    return value


def _check_order(entries: list[tuple[int, int]], name: str, place: str) -> None:
    time = entries[-1][0]
    if len(entries) == 1 and time > 0:
        raise unexpected(name, "0 in the first entry", got=f"{time / 1e9:g} s", where=place)
    if len(entries) > 1 and time <= entries[-2][0]:
        before = entries[-2][0] / 1e9
        raise unexpected(name, f"a time after {before:g} s", got=f"{time / 1e9:g} s", where=place)
    if len(entries) > MAX_ENTRIES:
        raise unexpected("", f"at most {MAX_ENTRIES} entries", got="more", where=place)


def _values(about: list[str], key: str) -> list[str]:
    """Return the values of lines `key: ...`; only a marked file has such lines."""
    if about[:1] != [MARK]:
        return []
    return [text.removeprefix(f"{key}:").strip() for text in about if text.startswith(f"{key}:")]


def _value(about: list[str], key: str) -> str | None:
    return next(iter(_values(about, key)), None)


def _decimal(value: int, digits: int) -> str:
    """Write `value / 10^digits` exactly."""
    whole, rest = divmod(value, 10**digits)
    return f"{whole}.{rest:0{digits}}".rstrip("0") if rest else str(whole)


def _one_line(text: str) -> str:
    """Return a text without what could end a comment, such as a line break in the name of a file."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
