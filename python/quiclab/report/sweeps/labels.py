"""Texts in place of names in the figures of a sweep: of factors, their levels, and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quiclab._base.libraries import pl
from quiclab.errors import RequestError, expected_got, unexpected, unknown
from quiclab.experiment.sweeps.factors import plain
from quiclab.experiment.sweeps.metrics import measures, workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.experiment.sweeps.factors import Cell, Factor
    from quiclab.experiment.sweeps.metrics import Measure
    from quiclab.experiment.sweeps.plan import Plan


@dataclass(frozen=True)
class Labels:
    """The texts of a figure: those that are given, and otherwise paths, levels and titles.

    Attributes
    ----------
    texts
        Texts by what they stand for: the path of a factor, `PATH.LEVEL` for one of its levels, the column of a metric.
    """

    texts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, texts: Mapping[str, str] | None) -> Labels:
        """Check texts by what they stand for; metrics may be named as they were requested.

        Raises
        ------
        RequestError
            If a name stands for nothing in the sweep, or two levels of a factor have the same text.
        """
        if not texts:
            return cls()
        known, found = _names(plan), {}
        for name, text in texts.items():
            if name not in known:
                raise unknown("name", name, known, "label")
            found[known[name]] = text
        labels = cls(found)
        for factor in plan.design.factors:
            cells = [factor.cell(level) for level in factor.levels]
            if len({labels.level(factor, cell) for cell in cells}) < len({plain(cell) for cell in cells}):
                message = expected_got("different texts for its levels", "the same text twice")
                raise RequestError(f"label: {factor.path}: {message}", path="label", kind="Conflict")
        return labels

    @classmethod
    def read(cls, plan: Plan, options: Sequence[str]) -> Labels:
        """Read values of `--label`, each `NAME=TEXT`; as `of`. Levels may contain `=`: the longest name is meant."""
        known, texts = _names(plan) if options else {}, {}
        for option in options:
            names = [name for name in known if option.startswith(f"{name}=")]
            if not names and "=" not in option:
                raise unexpected("label", "PATH=TEXT, such as links.down1.rate=Rate", option)
            name = max(names, key=len) if names else option.partition("=")[0]
            texts[name] = option[len(name) + 1 :]
        return cls.of(plan, texts)

    def factor(self, factor: Factor) -> str:
        """Return the title of a factor."""
        return self.texts.get(factor.path, factor.title)

    def level(self, factor: Factor, cell: Cell) -> str:
        """Return the text of a level of a factor."""
        return self.texts.get(f"{factor.path}.{plain(cell)}", plain(cell))

    def metric(self, measure: Measure) -> str:
        """Return the title of a metric."""
        return self.texts.get(measure.column, measure.title)

    def column(self, factor: Factor, settings: pl.DataFrame) -> pl.Series:
        """Return the text of the level of each setting."""
        cells = settings[factor.column].to_list()
        return pl.Series(factor.column, [self.level(factor, cell) for cell in cells], pl.String)

    def levels(self, factors: Sequence[Factor], panel: Mapping[str, Cell]) -> str:
        """Return the levels of factors in a panel, as its title has them."""
        return ", ".join(f"{self.factor(factor)} = {self.level(factor, panel[factor.column])}" for factor in factors)


def _names(plan: Plan) -> dict[str, str]:
    """Return what can have a text, by each of its names: a level as given, too, and a metric as requested."""
    found: dict[str, str] = {}
    for factor in plan.design.factors:
        found[factor.path] = factor.path
        for level in factor.levels:
            place = f"{factor.path}.{plain(factor.cell(level))}"
            found |= {place: place, f"{factor.path}.{level.text}": place}
    for metric in plan.metrics:
        columns = [measure.column for measure in measures((metric,), workloads(plan.base))]
        found |= {column: column for column in columns} | ({metric: columns[0]} if len(columns) == 1 else {})
    return found
