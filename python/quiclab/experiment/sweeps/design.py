"""Designs: which combinations of levels a sweep runs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from quiclab._base.libraries import check_scipy, np, pl, qmc
from quiclab.errors import RequestError, unexpected, unknown
from quiclab.experiment.sweeps.factors import Cell, Factor, Level, check_apart, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

Setting: TypeAlias = tuple[Level, ...]
"""One level of each factor."""

#: Random designs: Latin hypercubes, and Sobol' sequences.
SAMPLES: Final = ("lhs", "sobol")
#: Seed of random designs.
SEED: Final = 1
MAX_SETTINGS: Final = 1_000_000
_SAMPLE: Final = re.compile(rf"({'|'.join(SAMPLES)}):([0-9]+)")


@dataclass(frozen=True)
class Design:
    """The settings of a sweep.

    Attributes
    ----------
    factors
        In the order of the command line: those of `--vary`, then those of `--zip`.
    settings
        In the order in which they run, each made when it is asked for; the last factor changes fastest.
    """

    factors: tuple[Factor, ...]
    settings: Crossed | Drawn

    @classmethod
    def read(
        cls,
        varied: Sequence[str],
        zipped: Sequence[str],
        sample: str | None,
        scenario: Mapping[str, Any],
        sets: Sequence[str] = (),
    ) -> Design:
        """Read the options of a sweep.

        Parameters
        ----------
        varied
            Values of `--vary`: factors whose levels are all combined.
        zipped
            Values of `--zip`: factors that change together, the first with the first, and are combined with the others.
        sample
            Value of `--sample`: `lhs:N` (Latin hypercube) or `sobol:N` draws N settings instead of all combinations.
        scenario
            The scenario with every default filled in.
        sets
            Paths of `--set`.

        Raises
        ------
        RequestError
            If an option is wrong, or two contradict each other.
        """
        if sample is not None and zipped:
            raise RequestError("--zip and --sample contradict each other: a random design draws each factor alone")
        given = [("--vary", text) for text in varied] + [("--zip", text) for text in zipped]
        factors = tuple(parse(option, text, scenario, random=sample is not None) for option, text in given)
        check_apart(factors, sets)
        if sample is not None:
            return cls(factors, Drawn(factors, _points(factors, sample)))
        together = [factor for factor in factors if factor.option == "--zip"]
        if together and len({len(factor.levels) for factor in together}) > 1:
            counts = ", ".join(f"{factor.path} has {len(factor.levels)}" for factor in together)
            raise RequestError(f"--zip: expected the same number of values for each factor; {counts}", kind="Conflict")
        crossed = Crossed(tuple(factor for factor in factors if factor.option == "--vary"), tuple(together))
        if (count := math.prod(crossed.lengths)) > MAX_SETTINGS:
            raise RequestError(f"--vary: expected at most {MAX_SETTINGS} combinations, got {count}", kind="OutOfRange")
        return cls(factors, crossed)

    def compared(self, path: str) -> Comparison:
        """Return the comparison of the levels of a factor with its first one.

        Raises
        ------
        RequestError
            If there is no such factor, or it is drawn.
        """
        factor = {factor.path: factor for factor in self.factors}.get(path)
        if factor is None:
            raise unknown("factor", path, [factor.path for factor in self.factors], "--compare")
        if isinstance(self.settings, Drawn):
            message = "--compare and --sample contradict each other: no two settings of a random design are alike"
            raise RequestError(message, path=path, kind="Conflict")
        moving = [other for other in self.factors if other is factor or other.option == factor.option == "--zip"]
        others = tuple(other.column for other in self.factors if other not in moving)
        return Comparison(factor, others)

    def cells(self) -> dict[str, pl.Series]:
        """Return the value of each factor in all settings, by column."""
        return {factor.column: self.settings.cells(number) for number, factor in enumerate(self.factors)}

    def sets(self, setting: Setting) -> list[tuple[str, str]]:
        """Return the changes of a setting to the scenario, as path and text of `--set`."""
        return [
            (path, level.text) for factor, level in zip(self.factors, setting, strict=True) for path in factor.paths
        ]


@dataclass(frozen=True)
class Comparison:
    """Which settings are compared: those that differ in one factor, and in what changes together with it.

    Attributes
    ----------
    factor
        The factor, whose first level is the reference.
    others
        Columns of the factors that are equal in both.
    """

    factor: Factor
    others: tuple[str, ...]

    @property
    def reference(self) -> Cell:
        """The first level, as its column has it."""
        return self.factor.cell(self.factor.levels[0])


class Crossed(Sequence["Setting"]):
    """All combinations of levels; the last factor changes fastest.

    Parameters
    ----------
    varied
        Factors that are combined.
    together
        Factors that change together; they come after the others.
    """

    def __init__(self, varied: tuple[Factor, ...], together: tuple[Factor, ...]) -> None:
        self.factors = (*varied, *together)
        # the factors that change together share one axis
        self._axes = (*range(len(varied)), *(len(varied) for _ in together))
        self.lengths = tuple(len(factor.levels) for factor in (*varied, *together[:1]))

    def __len__(self) -> int:
        """Return the number of combinations."""
        return math.prod(self.lengths)

    def __getitem__(self, index: Any) -> Any:
        """Return one combination."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        places = []
        for length in reversed(self.lengths):
            index, place = divmod(index, length)
            places.append(place)
        places.reverse()
        return tuple(factor.levels[places[axis]] for factor, axis in zip(self.factors, self._axes, strict=True))

    def cells(self, number: int) -> pl.Series:
        """Return the value of a factor in each combination."""
        factor, axis = self.factors[number], self._axes[number]
        places = np.arange(len(self)) // math.prod(self.lengths[axis + 1 :]) % self.lengths[axis]
        return pl.Series([factor.cell(level) for level in factor.levels]).gather(places)


class Drawn(Sequence["Setting"]):
    """Settings of a random design.

    Parameters
    ----------
    factors
        The factors.
    points
        Points of the unit cube, one row each; each coordinate chooses a level of its factor.
    """

    def __init__(self, factors: tuple[Factor, ...], points: np.ndarray) -> None:
        self.factors, self._points = factors, points

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self._points)

    def __getitem__(self, index: Any) -> Any:
        """Return one setting."""
        point = self._points[index].tolist()
        return tuple(factor.drawn(share) for factor, share in zip(self.factors, point, strict=True))

    def cells(self, number: int) -> pl.Series:
        """Return the value of a factor in each setting."""
        factor = self.factors[number]
        return pl.Series([factor.cell(factor.drawn(share)) for share in self._points[:, number].tolist()])


def _points(factors: Sequence[Factor], sample: str) -> np.ndarray:
    """Draw points of the unit cube, always the same ones.

    Raises
    ------
    RequestError
        If `sample` is not a design, or there is nothing to draw.
    """
    found = _SAMPLE.fullmatch(sample)
    if found is None or not 1 <= int(found[2]) <= MAX_SETTINGS:
        raise unexpected("--sample", f"lhs:N or sobol:N with N from 1 to {MAX_SETTINGS}", sample)
    count = int(found[2])
    if found[1] == "sobol" and count & (count - 1):
        raise unexpected("--sample", "a power of 2 after sobol, whose points are balanced then", sample)
    if not factors:
        raise RequestError("--sample needs a factor: --vary PATH=A..B")
    if found[1] == "lhs":
        return latin_hypercube(len(factors), count)
    check_scipy("--sample sobol:N")
    points: np.ndarray = qmc.Sobol(d=len(factors), rng=SEED).random(count)
    return points


def latin_hypercube(factors: int, count: int) -> np.ndarray:
    """Return points of which each factor has one in each of `count` equal parts of 0 to 1, paired at random.

    As `scipy.stats.qmc.LatinHypercube` (McKay et al. 1979).

    Returns
    -------
    np.ndarray
        Shape (count, factors).
    """
    (generator,) = np.random.default_rng(SEED).spawn(1)
    offsets = generator.uniform(size=(count, factors))
    parts = np.tile(np.arange(1, count + 1), (factors, 1))
    for row in parts:
        generator.shuffle(row)
    return (parts.T - offsets) / count
