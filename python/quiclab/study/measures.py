"""Measures of a study: what is recorded and measured of its runs, and what that is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab.study.parts import NOT_PUBLISHED, Metric, Model, Table

if TYPE_CHECKING:
    from quiclab.result import Keep
    from quiclab.study.claims import Claim
    from quiclab.study.criteria import Criterion


@dataclass(frozen=True, kw_only=True)
class Measures:
    """What a study measures and judges.

    Attributes
    ----------
    metric
        The main metric.
    further
        Further metrics; criteria and claims can use them, figures over a factor and scores do not.
    kept_series
        Metrics of time series that are kept with the results, for metrics that need them; `record.series_interval` of
        the scenario samples them. Those of `quiclab.result.series.by_flow` can be among them.
    keep
        Data stored of the qlog files and captures of the runs, for metrics that require it: `data["kept"]` of a
        result. A function of a module of quiclab. Programs of the kernel lane write no qlog.
    table
        The reference; by default there is none.
    model
        An estimate without simulation that figures show as a separate line.
    criteria
        How close to the reference the results have to be.
    claims
        Findings that the runs confirm or refute.
    scored
        Name of the metric whose fidelity is reported; the main one by default.
    series_factor
        Short name of the factor over which series run, where several are varied; the one that is varied by default.
    """

    metric: Metric
    further: tuple[Metric, ...] = ()
    kept_series: tuple[str, ...] = ()
    keep: Keep | None = None
    table: Table = NOT_PUBLISHED
    model: Model | None = None
    criteria: tuple[Criterion, ...] = ()
    claims: tuple[Claim, ...] = ()
    scored: str = ""
    series_factor: str = ""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The main metric, then the further ones."""
        return (self.metric, *self.further)

    def metric_of(self, name: str) -> Metric:
        """Return a metric by its name; the study's own without one."""
        return next(item for item in self.metrics if item.name == (name or self.metric.name))
