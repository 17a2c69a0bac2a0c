"""Kinds of the figures of a sweep, and the one that what varies asks for.

Where no kind is requested: for a random design `marks`; for two numbers with many levels each a `map`; for a number
`lines`; for two factors with names `groups`; `rows` otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quiclab.errors import unexpected, unknown
from quiclab.report.sweeps.crowded import MAX_POINTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.experiment.sweeps.factors import Factor
    from quiclab.experiment.sweeps.plan import Plan

#: Levels of a factor that are colours; of two numbers with as many levels as `MIN_MAP_LEVELS`, both are axes of a map.
MAX_COLOURS: Final = 6
MIN_MAP_LEVELS: Final = 4
#: Settings whose distributions a figure can show.
MAX_DISTRIBUTIONS: Final = 8


@dataclass(frozen=True)
class Layout:
    """Which factor is what in a figure.

    Attributes
    ----------
    kind
        Its name in `KINDS`.
    x, y
        Factors of the axes; `None` where an axis has no factor.
    colour
        Factor whose levels are the colours.
    panels
        Factors whose combinations are the panels.
    """

    kind: str
    x: Factor | None = None
    y: Factor | None = None
    colour: Factor | None = None
    panels: tuple[Factor, ...] = ()


@dataclass(frozen=True)
class _Varied:
    """What varies in a sweep: of factors that change together the first stands for all.

    Attributes
    ----------
    numbers
        Factors that are numbers; those with the most levels come first.
    names
        Other factors.
    levels
        Levels of each by its path.
    settings
        Number of settings.
    sampled
        Whether a random design draws them.
    """

    numbers: list[Factor]
    names: list[Factor]
    levels: dict[str, int]
    settings: int
    sampled: bool

    @classmethod
    def of(cls, plan: Plan) -> _Varied:
        levels = {factor.path: MAX_POINTS if factor.span else len(factor.levels) for factor in plan.design.factors}
        varied = [factor for factor in plan.design.factors if levels[factor.path] > 1]
        together = [factor for factor in varied if factor.option == "--zip"]
        varied = [factor for factor in varied if factor not in together[1:]]
        numbers = sorted((item for item in varied if item.is_number), key=lambda item: -levels[item.path])
        names = [factor for factor in varied if not factor.is_number]
        return cls(numbers, names, levels, len(plan.design.settings), plan.sample is not None)

    def few(self, factors: list[Factor]) -> Factor | None:
        """Return the first factor whose levels can be colours."""
        return next((factor for factor in factors if self.levels[factor.path] <= MAX_COLOURS), None)


def _lines(varied: _Varied) -> Layout | None:
    if varied.sampled or not varied.numbers:
        return None
    others = [*varied.names, *varied.numbers[1:]]
    colour = varied.few(others)
    rest = tuple(factor for factor in others if factor is not colour)
    return Layout("lines", varied.numbers[0], colour=colour, panels=rest)


def _map(varied: _Varied) -> Layout | None:
    if varied.sampled or len(varied.numbers) < 2:
        return None
    x, y, *rest = varied.numbers
    return Layout("map", x, y, panels=(*rest, *varied.names))


def _groups(varied: _Varied) -> Layout | None:
    factors = [*varied.names, *varied.numbers]
    if varied.sampled or len(factors) < 2 or (colour := varied.few(factors)) is None:
        return None
    group, *rest = (factor for factor in factors if factor is not colour)
    return Layout("groups", y=group, colour=colour, panels=tuple(rest))


def _rows(varied: _Varied) -> Layout | None:
    return None if varied.sampled else Layout("rows")


def _distribution(varied: _Varied) -> Layout | None:
    return Layout("distribution") if varied.settings <= MAX_DISTRIBUTIONS else None


def _marks(varied: _Varied) -> Layout | None:
    x = next(iter(varied.numbers), None)
    colour = varied.few(varied.names)
    return Layout("marks", x, colour=colour, panels=tuple(varied.numbers)) if x is not None else None


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    Attributes
    ----------
    meaning
        What it draws.
    needs
        What a sweep must have for it.
    arrange
        Returns which factor is what in it; `None` if the sweep does not have what it needs.
    """

    meaning: str
    needs: str
    arrange: Callable[[_Varied], Layout | None]


#: All kinds by their names.
KINDS: Final = {
    "lines": Kind("means over a number, a line for each level of another factor", "a number that varies", _lines),
    "map": Kind("means over two numbers as a heat map", "two numbers that vary", _map),
    "groups": Kind(
        "means in groups, one for each level of a factor, with the levels of another one as colours",
        f"two factors, of which one has at most {MAX_COLOURS} levels",
        _groups,
    ),
    "rows": Kind("the mean of each setting in a row", "all combinations of the factors", _rows),
    "distribution": Kind(
        "the distribution over the runs of each setting", f"at most {MAX_DISTRIBUTIONS} settings", _distribution
    ),
    "marks": Kind("a mark for each setting over each number", "a number that varies", _marks),
}


def layout(plan: Plan, kind: str | None = None) -> Layout:
    """Choose the figure of a sweep, or arrange one of the kind that is requested.

    Raises
    ------
    RequestError
        If there is no such kind, or the sweep does not have what it needs.
    """
    varied = _Varied.of(plan)
    if kind is None:
        return _chosen(varied)
    if kind not in KINDS:
        raise unknown("kind of figure", kind, KINDS, "kind")
    if (found := KINDS[kind].arrange(varied)) is None:
        drawn = " with --sample" if varied.sampled else ""
        paths = ", ".join(factor.path for factor in plan.design.factors) or "nothing"
        got = f"{paths}{drawn}, {varied.settings} settings"
        needs = KINDS[kind].needs + (", and no --sample" if kind not in ("distribution", "marks") else "")
        raise unexpected("kind", f"for `{kind}` {needs}", got=got)
    return found


def _chosen(varied: _Varied) -> Layout:
    if varied.sampled:
        return _marks(varied) or Layout("marks")
    if len(varied.numbers) > 1 and varied.levels[varied.numbers[1].path] >= MIN_MAP_LEVELS:
        return _map(varied) or Layout("rows")
    grouped = None if varied.numbers else _groups(varied)
    return _lines(varied) or grouped or Layout("rows")
