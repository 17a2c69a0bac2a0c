"""Reader of the 4G data set of Raca et al., which cannot be shipped.

After D. Raca, J. J. Quinlan, A. H. Zahran, C. J. Sreenan: Beyond Throughput: a 4G LTE Dataset with Channel and Context
Metrics, ACM MMSys 2018, doi:10.1145/3204949.3208123. A file is what an app on a phone noted about once a second while
it downloaded: `Timestamp` (`2018.02.12_16.14.02`), position, cell, radio, `DL_bitrate` and `UL_bitrate` (kbit/s at the
application), `State` (`D` downloading, `I` idle: there are five seconds between two downloads). What is not known is
`-`. How it becomes a trace, which the data set leaves open:

| in the file | in the trace |
| --- | --- |
| first row with a rate | time 0 |
| a row | its rate holds from its second to the next row's; the last row's for one second |
| several rows within a second | one rate, their mean, rounded half up to whole kbit/s |
| no row for some seconds, or `-` as rate | the rate before holds, for 10 s at most |
| rate 0 | a pause: nothing is delivered; idle seconds are kept, too, and counted in a note |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from quiclab.errors import unexpected
from quiclab.sources.traces.lines import numbered_lines, shortened
from quiclab.sources.traces.trace import Trace

if TYPE_CHECKING:
    from pathlib import Path

NAME: Final = "4G data set of Raca et al. (MMSys 2018)"
#: Columns that identify a file of the data set; there are more columns, some of which are optional.
COLUMNS: Final = ("Timestamp", "CellID", "NetworkMode", "DL_bitrate", "UL_bitrate", "State")
#: A day at a row a second; the files have about 900.
MAX_ROWS: Final = 100_000
MAX_KBPS: Final = 10_000_000
MAX_GAP_S: Final = 10
IDLE: Final = "I"

_TIMESTAMP: Final = re.compile(r"[0-9]{4}\.[0-9]{2}\.[0-9]{2}_[0-9]{2}\.[0-9]{2}\.[0-9]{2}")
_RATE: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")


@dataclass
class _Second:
    """The rows of one second.

    Attributes
    ----------
    time_s
        Time since the first second with a rate [s].
    line
        Line of the first row in the file.
    rates_kbps
        Rate of each row [kbit/s].
    idle
        Whether all rows have state `I`: the device was not downloading.
    """

    time_s: int
    line: int
    rates_kbps: list[Fraction]
    idle: bool

    @property
    def rate_bps(self) -> int:
        return 1000 * int(sum(self.rates_kbps) / len(self.rates_kbps) + Fraction(1, 2))


def read_dataset(path: Path, start_s: int = 0, duration_s: int | None = None) -> Trace:
    """Read a part of a file of the data set as a trace of the download rate.

    Parameters
    ----------
    path
        The file.
    start_s, duration_s
        The part [s], from the first row with a rate; to the end without `duration_s`.

    Raises
    ------
    RequestError
        If the file cannot be read or is none of the data set, with line, column, value and expected values; or if it
        does not hold that part.
    """
    seconds = _seconds(path)
    length_s = seconds[-1].time_s + 1
    end_s = length_s if duration_s is None else start_s + duration_s
    if not 0 <= start_s < end_s <= length_s:
        expected = f"an interval of at least 1 s within 0 s to {length_s} s"
        raise unexpected("", expected, got=f"{start_s} s to {end_s} s", where=str(path))
    ends = [second.time_s for second in seconds[1:]] + [length_s]
    held = [(second, end) for second, end in zip(seconds, ends, strict=True) if second.time_s < end_s and end > start_s]
    for one, two in pairwise(second for second, _ in held):
        if two.time_s - one.time_s > MAX_GAP_S:
            expected, hint = f"at most {MAX_GAP_S} s without a rate", "choose another interval of the file"
            gap = f"{two.time_s - one.time_s} s"
            raise unexpected("", expected, hint=hint, got=gap, where=f"{path}, line {two.line}")
    starts = tuple(max(second.time_s - start_s, 0) * 10**9 for second, _ in held)
    rates = tuple(second.rate_bps for second, _ in held)
    if not any(rates):
        expected = "an interval with a rate above 0"
        raise unexpected("DL_bitrate", expected, got=f"0 from {start_s} s to {end_s} s", where=str(path))
    notes = [f"columns Timestamp and DL_bitrate, {start_s} s to {end_s} s"]
    if idle_s := sum(min(end, end_s) - max(second.time_s, start_s) for second, end in held if second.idle):
        notes.append(f"in {idle_s} s of it the device was not downloading (State {IDLE}); their rates are kept")
    return Trace(starts, rates, (end_s - start_s) * 10**9, f"{NAME}, file {path.name}", tuple(notes))


def _seconds(path: Path) -> list[_Second]:
    """Return the seconds of a file for which there is a rate."""
    lines = numbered_lines(path)
    number, header = next(lines, (0, ""))
    if not header:
        raise unexpected("", f"a file of the {NAME}", got="an empty file", where=str(path))
    columns = _columns(header, f"{path}, line {number}")
    seconds: list[_Second] = []
    before: datetime | None = None
    first: datetime | None = None
    for rows, (line, text) in enumerate(lines):
        place = f"{path}, line {line}"
        if rows >= MAX_ROWS:
            raise unexpected("", f"at most {MAX_ROWS} rows", got="more", where=place)
        row = _row(text, columns, place)
        now = _time(row["Timestamp"], place)
        if before is not None and now < before:
            raise unexpected("Timestamp", "a time not before that of the previous row", row["Timestamp"], where=place)
        before = now
        rate = _rate(row["DL_bitrate"], place)
        if rate is None:
            continue
        first = first or now
        idle = row["State"] == IDLE
        time_s = round((now - first).total_seconds())
        if seconds and seconds[-1].time_s == time_s:
            seconds[-1].rates_kbps.append(rate)
            seconds[-1].idle &= idle
        else:
            seconds.append(_Second(time_s, line, [rate], idle))
    if not seconds:
        raise unexpected("DL_bitrate", "at least one row with a rate", got="none", where=str(path))
    return seconds


def _columns(header: str, place: str) -> list[str]:
    names = [name.strip() for name in header.split(",")]
    missing = [name for name in COLUMNS if name not in names]
    if missing and len(names) == 1:
        for separator, called in ((";", "`;`"), ("\t", "tabs")):
            if separator in header:
                expected = f"columns separated by commas, as in the {NAME}"
                raise unexpected("", expected, got=called, where=place)
    if missing:
        hint = f"missing columns: {', '.join(f'`{name}`' for name in missing)}"
        raise unexpected("", f"the header of the {NAME}", hint=hint, got=f"`{shortened(header)}`", where=place)
    if twice := [name for name in COLUMNS if names.count(name) > 1]:
        raise unexpected("", "each column once", got=f"`{twice[0]}` twice", where=place)
    return names


def _row(text: str, columns: list[str], place: str) -> dict[str, str]:
    values = text.split(",")
    if len(values) != len(columns):
        raise unexpected("", f"{len(columns)} values, one per column", len(values), where=place)
    return {name: value.strip() for name, value in zip(columns, values, strict=True)}


def _time(text: str, place: str) -> datetime:
    try:
        if _TIMESTAMP.fullmatch(text):
            # no time zone: the data set has none, and only differences count
            return datetime.strptime(text, "%Y.%m.%d_%H.%M.%S")
    except ValueError:
        pass
    raise unexpected("Timestamp", "a time such as `2018.02.12_16.14.02`", text, where=place)


def _rate(text: str, place: str) -> Fraction | None:
    """Return a rate [kbit/s]; `None` if it is not known."""
    if text == "-":
        return None
    if not _RATE.fullmatch(text) or Fraction(text) > MAX_KBPS:
        raise unexpected("DL_bitrate", f"a number from 0 to {MAX_KBPS} (kbit/s), or `-`", text, where=place)
    return Fraction(text)
