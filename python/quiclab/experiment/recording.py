"""Recording: the columns that are stored of each run, and the files beside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.result import Keep, RunResult


class Recording(ABC):
    """What is stored of a run; it crosses to workers.

    Attributes
    ----------
    tables
        Names of the tables of each run that are stored as files: see `kept`.
    series
        Metrics of time series that are part of `row`: they identify stored runs.
    keep
        The function that processes the recordings of a run; its code identifies stored runs, too.
    """

    tables: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    keep: Keep | None = None
    #: Columns that may be null.
    optional: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def kinds(self) -> Mapping[str, str]:
        """Columns, and the names of their types in polars."""

    @property
    def needed(self) -> list[str]:
        """Columns without which a run counts as not stored."""
        return [name for name in self.kinds if name not in self.optional]

    @abstractmethod
    def row(self, result: RunResult) -> Sequence[Any]:
        """Return the columns of a run."""

    def problem(self, result: RunResult) -> str:
        """Return why a run counts as failed; empty if it does not."""
        if problem := result.invalid_reason:
            return problem
        for name, flow in result.flows.items():
            if flow.failed:
                reason = f": {flow.failure}" if flow.failure else ""
                return f"flow `{name}` failed after {flow.delivered_bytes} bytes{reason}"
        return ""
