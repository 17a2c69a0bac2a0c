"""Factors of a sweep: what `--vary PATH=VALUES` names, and its levels.

Values are joined by commas. Between two numbers `..` makes a range: `10..200:lin5` has five values at equal distances,
`10..200:log5` five at equal ratios, and `10..200` or `10..200:log` is drawn from by a random design.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from quiclab.errors import RequestError, nearest, unexpected
from quiclab.result.formats import decimal
from quiclab.scenario import quantity
from quiclab.scenario.document import paths as expanded_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Cell: TypeAlias = str | int | float
"""A level as tables have it."""

MAX_LEVELS: Final = 10_000
#: Significant digits of computed levels: more than any experimenter would choose, few enough to read.
DIGITS: Final = 4
#: Suffix of a column and number of base units in its unit, by the kind of quantity.
_COLUMN_UNITS: Final = {"bits_per_second": ("mbps", 10**6), "nanoseconds": ("ms", 10**6), "bytes": ("bytes", 1)}
_AXIS_UNITS: Final = {"mbps": "Mbit/s", "ms": "ms", "bytes": "B"}
#: A number, whose dots are not those of a range.
_NUMBER: Final = r"[0-9](?:[0-9_]|\.(?!\.))*(?:[eE][+-]?[0-9]+)?"
_RANGE: Final = re.compile(
    rf"\s*({_NUMBER})\s*([^\d\s.:][^\s.:]*)?\s*\.\.\s*({_NUMBER})\s*([^\d\s.:][^\s:]*)?\s*(?::(lin|log)([0-9]*))?\s*"
)
_RANGE_START: Final = re.compile(rf"\s*{_NUMBER}\s*([^\d\s.:][^\s.:]*)?\s*\.\.")
_FORMS: Final = "values joined by commas, or a range such as 10..200:log5"


@dataclass(frozen=True)
class Level:
    """One value of a factor.

    Attributes
    ----------
    text
        As `--set` takes it.
    kind
        Kind of quantity, as in `quantity.UNITS`; `number`, or empty for anything else.
    number
        In base units (byte, nanosecond, bit/s); NaN for what is no number.
    """

    text: str
    kind: str = ""
    number: float = math.nan

    @classmethod
    def read(cls, text: str) -> Level:
        """Read one value."""
        text = text.strip()
        if (found := quantity.parse(text)) is not None:
            return cls(text, found[0], found[1])
        share = text.removesuffix("%").rstrip()
        try:
            number = float(share.replace("_", "")) / (100.0 if share != text else 1.0)
        except ValueError:
            return cls(text)
        return cls(text, "number", number) if math.isfinite(number) else cls(text)


@dataclass(frozen=True)
class Range:
    """A range of numbers that a random design draws from.

    Attributes
    ----------
    low, high
        Its ends in `unit`.
    unit
        Unit that the ends have in common; empty for plain numbers.
    scale
        Whether values are uniform, or their logarithms.
    whole
        Whether values are whole numbers.
    """

    low: float
    high: float
    unit: str
    scale: Literal["lin", "log"]
    whole: bool

    def at(self, share: float) -> Level:
        """Return the level at a share of the range, 0 to 1."""
        if share in (0.0, 1.0):
            value = self.high if share else self.low  # not what rounding leaves of it
        elif self.scale == "log":
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        return Level.read(f"{self._written(value)} {self.unit}".rstrip())

    def _written(self, value: float) -> str:
        if value in (self.low, self.high) or not self.whole:
            rounded = value if value in (self.low, self.high) else float(f"{value:.{DIGITS}g}")
            return _plain(rounded)
        return str(round(value))


def _plain(number: float) -> str:
    """Write a number without an exponent, which quantities do not have."""
    text = f"{number:.12f}".rstrip("0").rstrip(".")
    return text or "0"


@dataclass(frozen=True)
class Factor:
    """A varied quantity.

    Attributes
    ----------
    path
        As given; `*` stands for any name.
    paths
        The fields that it sets.
    levels
        Its levels in their order; empty for one that a random design draws.
    span
        The range that a random design draws from, if it is one.
    option
        The option that gave it.
    """

    path: str
    paths: tuple[str, ...]
    levels: tuple[Level, ...]
    span: Range | None = None
    option: str = "--vary"

    @cached_property
    def kind(self) -> str:
        """Kind of all its levels, as in `Level`; empty if they differ."""
        kinds = {level.kind for level in self.levels or (self.span.at(0.0) if self.span else Level(""),)}
        return kinds.pop() if len(kinds) == 1 else ""

    @property
    def is_number(self) -> bool:
        """Whether all its levels are numbers of one kind, so that it can be an axis."""
        return bool(self.kind)

    @property
    def column(self) -> str:
        """Its column in tables: the path, with the unit as a suffix."""
        unit = _COLUMN_UNITS.get(self.kind)
        return f"{self.path}_{unit[0]}" if unit and not self.path.endswith(unit[0]) else self.path

    @property
    def title(self) -> str:
        """Title of an axis: the path, with the unit in brackets."""
        suffix = _COLUMN_UNITS.get(self.kind)
        return f"{self.path} [{_AXIS_UNITS[suffix[0]]}]" if suffix else self.path

    def cell(self, level: Level) -> Cell:
        """Return a level as its column has it: a number in the unit of the column, or the text."""
        if not self.kind:
            return level.text
        if self.kind == "number":
            return int(level.number) if level.number.is_integer() and self._whole else level.number
        value = Fraction(int(level.number), _COLUMN_UNITS[self.kind][1])
        return float(value) if self.kind != "bytes" else int(value)

    @cached_property
    def _whole(self) -> bool:
        return (
            all(level.number.is_integer() for level in self.levels)
            if self.levels
            else self.span is None or self.span.whole
        )

    def touches(self, path: str) -> str:
        """Return the field that it and an option or an error about a path have in common; empty if there is none."""
        pairs = ((own, path) for own in self.paths if path)
        return next((max(pair, key=len) for pair in pairs if _nested(*pair) or _nested(*pair[::-1])), "")

    def drawn(self, share: float) -> Level:
        """Return the level for a coordinate of a random design, 0 to 1 (1 excluded)."""
        if self.span is not None:
            return self.span.at(share)
        return self.levels[min(int(share * len(self.levels)), len(self.levels) - 1)]


def plain(cell: Cell) -> str:
    """Write a level for people."""
    return decimal(cell, 6) if isinstance(cell, float) else str(cell)


def parse(option: str, text: str, scenario: Mapping[str, Any], *, random: bool = False) -> Factor:
    """Read the value of an option.

    Parameters
    ----------
    option
        Its name, for messages.
    text
        `PATH=VALUES`.
    scenario
        The scenario with every default filled in, whose names `*` stands for.
    random
        Whether a random design draws the levels, so that ranges have no number of values.

    Raises
    ------
    RequestError
        If it has another form, or `*` stands for nothing.
    """
    path, equals, values = text.partition("=")
    if not equals or not path:
        raise unexpected(option, "PATH=VALUES, such as links.down1.rate=5Mbit/s,20Mbit/s", text)
    field = f"{option} {path}"
    paths = tuple(_expanded(field, path, scenario))
    items = list(_split(values))
    if random and len(items) == 1 and (span := _range(field, items[0], counted=False)) is not None:
        return Factor(path, paths, (), span[0], option)
    levels: list[Level] = []
    for item in items:
        if not item.strip():
            raise unexpected(field, _FORMS, values)
        found = None if random else _range(field, item, counted=True)
        levels += _spread(field, *found) if found is not None else [Level.read(item)]
    seen: dict[tuple[str, float] | str, Level] = {}
    for level in levels:
        known = seen.setdefault((level.kind, level.number) if level.kind else level.text, level)
        if known is not level:
            hint = "it is given twice" if known.text == level.text else f"it is the same as {known.text}"
            raise unexpected(field, "different values", level.text, hint, kind="Conflict")
    if len(levels) > MAX_LEVELS:
        raise unexpected(field, f"at most {MAX_LEVELS} values", len(levels))
    return Factor(path, paths, tuple(levels), None, option)


def _range(field: str, text: str, *, counted: bool) -> tuple[Range, int] | None:
    """Read a range and its number of values (0 without one); `None` for what is none.

    Raises
    ------
    RequestError
        If its ends do not fit, or a number of values is missing, or there is one too many.
    """
    if _RANGE_START.match(text) is None:
        return None
    if (found := _RANGE.fullmatch(text)) is None:
        head, _, scale = text.rpartition(":")
        meant = nearest(scale.rstrip("0123456789"), ("lin", "log")) if head else None
        hint = f"did you mean `{meant}{scale[len(scale.rstrip('0123456789')) :]}`?" if meant else ""
        raise unexpected(field, "a range such as 10..200:log5 or 10..50:lin5", text, hint)
    low_text, low_unit, high_text, high_unit, scale, count = found.groups()
    unit = high_unit or low_unit or ""
    if low_unit and high_unit and low_unit != high_unit:
        raise unexpected(field, "a range whose ends have the same unit", text)
    try:
        low, high = (float(Fraction(end.replace("_", ""))) for end in (low_text, high_text))
    except ValueError:
        raise unexpected(field, _FORMS, text) from None
    kind: Literal["lin", "log"] = "log" if scale == "log" else "lin"
    if not low < high or (kind == "log" and low <= 0):
        lowest = "from a number above 0 to a larger one" if kind == "log" else "from a number to a larger one"
        raise unexpected(field, f"a range {lowest}", text)
    if counted and (not count or int(count) < 2):
        hint = "ranges without a number of values need --sample"
        raise unexpected(field, "a number of values from 2 on after `lin` or `log`, such as 10..200:log5", text, hint)
    if not counted and count:
        raise unexpected(field, "a range without a number of values, such as 10..200:log", text, "--sample draws them")
    whole = not {*".eE"} & {*low_text, *high_text} and not _is_continuous(unit)
    return Range(low, high, unit, kind, whole), int(count or 0)


def _is_continuous(unit: str) -> bool:
    """Whether values of this unit are rounded to digits: all but plain numbers and bytes, which are whole."""
    return unit not in ("", "B")


def _spread(field: str, span: Range, count: int) -> list[Level]:
    levels = [span.at(index / (count - 1)) for index in range(count)]
    if len({level.text for level in levels}) < count:
        raise unexpected(field, "fewer values", count, "whole numbers in this range would repeat")
    return levels


def _split(text: str) -> Iterator[str]:
    """Split at commas that are in no brackets and no quotes."""
    depth, quoted, start = 0, "", 0
    for index, sign in enumerate(text):
        if quoted:
            quoted = "" if sign == quoted else quoted
        elif sign in "\"'":
            quoted = sign
        elif sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif sign == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def _expanded(field: str, path: str, scenario: Mapping[str, Any]) -> list[str]:
    """List the paths that a path with `*` stands for."""
    try:
        return expanded_paths(scenario, path)
    except RequestError as error:
        said = error.message.removeprefix("--set: ")  # the engine reads paths of `--set`
        raise RequestError(f"{field}: {said}", path=path, kind=error.kind) from None


def _nested(path: str, other: str) -> bool:
    """Whether a path is the other one, or leads through it."""
    return f"{path}.".startswith(f"{other}.")


def check_apart(factors: Sequence[Factor], sets: Sequence[str] = ()) -> None:
    """Check that no two factors set the same field, or one a table and the other a field of it.

    Parameters
    ----------
    factors
        The factors.
    sets
        Paths of `--set`, which must set other fields.

    Raises
    ------
    RequestError
        With both names.
    """
    others: list[tuple[str, str, tuple[str, ...]]] = [("--set", path, (path,)) for path in sets]
    for factor in factors:
        for option, name, paths in others:
            if field := next(filter(None, map(factor.touches, paths)), ""):
                message = f"{factor.option} {factor.path} and {option} {name} both set {field}"
                raise RequestError(message, path=factor.path, kind="Conflict")
        others.append((factor.option, factor.path, factor.paths))
