"""Designs: which combinations of levels a sweep runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from quiclab.errors import RequestError, unexpected
from quiclab.sweeps.factors import Factor, Level, check_apart, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Setting: TypeAlias = tuple[Level, ...]
"""One level of each factor."""

SAMPLERS: Final = ("lhs", "sobol")
MAX_SETTINGS: Final = 1_000_000
_SAMPLE: Final = re.compile(rf"({'|'.join(SAMPLERS)}):([0-9]+)")


@dataclass(frozen=True)
class Design:
    """The settings of a sweep.

    Attributes
    ----------
    factors
        In the order of the command line: those of `--vary`, then those of `--zip`.
    settings
        In the order in which they run; the last factor changes fastest.
    """

    factors: tuple[Factor, ...]
    settings: tuple[Setting, ...]

    @classmethod
    def read(
        cls,
        varied: Sequence[str],
        zipped: Sequence[str],
        sample: str | None,
        scenario: Mapping[str, Any],
        seed: int = 1,
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
        seed
            Seed of the draw.

        Raises
        ------
        RequestError
            If an option is wrong, or two contradict each other.
        """
        if sample is not None and zipped:
            raise RequestError("--zip and --sample contradict each other: a random design draws each factor alone")
        given = [("--vary", text) for text in varied] + [("--zip", text) for text in zipped]
        read = [(option, parse(option, text, scenario, random=sample is not None)) for option, text in given]
        check_apart(read)
        factors = tuple(factor for _, factor in read)
        if sample is not None:
            return cls(factors, tuple(_drawn(factors, sample, seed)))
        together = [factor for option, factor in read if option == "--zip"]
        if together and len({len(factor.levels) for factor in together}) > 1:
            counts = ", ".join(f"{factor.path} has {len(factor.levels)}" for factor in together)
            raise RequestError(f"--zip: expected the same number of values for each factor; {counts}", kind="Conflict")
        count = 1
        for axis in [factor.levels for option, factor in read if option == "--vary"] + [f.levels for f in together[:1]]:
            count *= len(axis)
        if count > MAX_SETTINGS:
            raise RequestError(f"--vary: expected at most {MAX_SETTINGS} combinations, got {count}", kind="OutOfRange")
        return cls(factors, tuple(_crossed([f for option, f in read if option == "--vary"], together)))

    def labels(self, setting: Setting) -> dict[str, str | int | float]:
        """Return the cells of a setting by column."""
        return {factor.column: factor.cell(level) for factor, level in zip(self.factors, setting, strict=True)}

    def sets(self, setting: Setting) -> list[tuple[str, str]]:
        """Return the changes of a setting to the scenario, as path and text of `--set`."""
        return [
            (path, level.text) for factor, level in zip(self.factors, setting, strict=True) for path in factor.paths
        ]


def _crossed(varied: Sequence[Factor], together: Sequence[Factor]) -> Iterator[Setting]:
    rows = list(zip(*(factor.levels for factor in together), strict=True)) if together else [()]
    for levels in product(*(factor.levels for factor in varied)):
        for row in rows:
            yield (*levels, *row)


def _drawn(factors: Sequence[Factor], sample: str, seed: int) -> Iterator[Setting]:
    """Draw settings: each coordinate of a point in the unit cube chooses a level of its factor."""
    found = _SAMPLE.fullmatch(sample)
    if found is None or not 1 <= int(found[2]) <= MAX_SETTINGS:
        raise unexpected("--sample", f"lhs:N or sobol:N with N from 1 to {MAX_SETTINGS}", sample)
    count = int(found[2])
    if found[1] == "sobol" and count & (count - 1):
        raise unexpected("--sample", "a power of 2 after sobol, whose points are balanced then", sample)
    if not factors:
        raise RequestError("--sample needs a factor: --vary PATH=A..B")
    from scipy.stats import qmc  # noqa: PLC0415 - takes a second to load

    sampler: Any = {"lhs": qmc.LatinHypercube, "sobol": qmc.Sobol}[found[1]](d=len(factors), rng=seed)
    for point in sampler.random(count):
        yield tuple(factor.drawn(float(share)) for factor, share in zip(factors, point, strict=True))
