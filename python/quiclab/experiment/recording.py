"""Recording: the columns that are stored of each run, and the files beside them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from quiclab.result import run, run_resolved
from quiclab.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.lane.run import Lane
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


def run_and_keep(
    scenario: Scenario | str, seed: int, base_dir: str | Path, keep: Keep | None, lane: Lane | None = None
) -> RunResult:
    """Run a scenario, and store values computed from its qlog files and captures with its result.

    Parameters
    ----------
    scenario, seed, base_dir
        As of `run`; a scenario may be JSON already.
    keep
        From the run and the directory of its files, which is gone afterwards, to what JSON can hold; it is
        `result.data["kept"]` then. `None` is a plain run.
    lane
        How it runs in the kernel lane; `None` is the sim lane.
    """
    runs: Callable[..., RunResult] = run_resolved if isinstance(scenario, str) else run
    if lane is not None:
        runs = lane.run
        if isinstance(scenario, str):
            scenario = Scenario.from_dict(json.loads(scenario))
    if keep is None:
        return runs(scenario, seed, base_dir=base_dir)
    with TemporaryDirectory(prefix="quiclab-keep-") as directory:
        result = runs(scenario, seed, base_dir=base_dir, record_dir=directory)
        return replace(result, data={**result.data, "kept": keep(result, Path(directory))})
