"""One run of a sweep: setting, resolved scenario and seed, and its identity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab.identity import run_of, setting_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.lane.run import Lane
    from quiclab.result import Keep


@dataclass(frozen=True)
class Job:
    """One run of a sweep.

    Attributes
    ----------
    labels
        Columns that identify the setting.
    scenario
        The resolved scenario as JSON.
    seed
        Seed of the run.
    replay
        The command that repeats this run alone.
    base_dir
        Directory that files named in the scenario are relative to.
    lane
        How it runs in the kernel lane; None for the sim lane.
    series
        Metrics of time series that are kept with the result.
    keep
        The function that processes the recordings of a run.
    failures_are_results
        Whether the run is a result if a connection fails or a workload does not finish in time.
    """

    labels: Mapping[str, str | int | float]
    scenario: str
    seed: int
    replay: str
    base_dir: str = "."
    lane: Lane | None = None
    series: tuple[str, ...] = ()
    keep: Keep | None = None
    failures_are_results: bool = False

    @cached_property
    def setting(self) -> tuple[str, str]:
        """Identity of its setting, and the versions of what computes it."""
        return setting_of(self.scenario, Path(self.base_dir), self.lane, self.series, self.keep)

    @cached_property
    def identity(self) -> str:
        """128-bit hash over resolved scenario, seed, versions and other inputs; 32 hexadecimal digits."""
        return run_of(self.setting[0], self.seed)

    @property
    def versions(self) -> str:
        """Versions of what computes it."""
        return self.setting[1]

    def repeated(self, run: int, seed: int, replay: str) -> Job:
        """Return another run of the same setting."""
        other = replace(self, labels={**self.labels, "run": run}, seed=seed, replay=replay)
        other.__dict__["setting"] = self.setting  # files are read and hashed once
        return other
