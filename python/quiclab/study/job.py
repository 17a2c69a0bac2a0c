"""One run of a sweep: setting, resolved scenario and seed, and its identity."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab.native import build_id
from quiclab.study.inputs import fingerprint, source_of

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
    """

    labels: Mapping[str, str | int | float]
    scenario: str
    seed: int
    replay: str
    base_dir: str = "."
    lane: Lane | None = None
    series: tuple[str, ...] = ()
    keep: Keep | None = None

    @property
    def identity(self) -> str:
        """128-bit hash over resolved scenario, seed, builds and other inputs; 32 hexadecimal digits.

        The function that processes recordings is also an input: its code determines the stored data.
        """
        scenario = json.loads(self.scenario)
        canonical = json.dumps(scenario, sort_keys=True, separators=(",", ":"))
        builds = [build_id()] if self.lane is None else self.lane.identity(scenario)
        lines = [canonical, str(self.seed), *builds, *fingerprint(scenario, Path(self.base_dir)), *self.series]
        if self.keep is not None:
            lines.append(f"{self.keep.__module__}.{self.keep.__qualname__} {source_of(self.keep, 'keep')}")
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]
