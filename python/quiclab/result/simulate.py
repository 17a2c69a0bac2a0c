"""A run in virtual time: from a scenario and a seed to its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from quiclab._base.libraries import pl
from quiclab._base.native import build_id, checked_seed, extension, source_commit
from quiclab.errors import QuiclabError, ScenarioError
from quiclab.result.delivered import check_delivered
from quiclab.result.document import TABLES, RunResult
from quiclab.result.recordings import recordings
from quiclab.result.series import summary
from quiclab.stacks.registry import versions

if TYPE_CHECKING:
    from quiclab.scenario import Scenario

Keep: TypeAlias = Callable[[RunResult, Path], Mapping[str, Any]]
"""Data that a study stores of the recordings of a run."""


def run(
    scenario: Scenario,
    seed: int = 1,
    *,
    base_dir: str | Path | None = None,
    record_dir: str | Path | None = None,
    progress: Callable[[float, int, float], None] | None = None,
) -> RunResult:
    """Run a scenario in virtual time.

    Parameters
    ----------
    scenario
        The scenario, resolved or not.
    seed
        Seed of every random stream; the same seed gives the same bytes.
    base_dir
        Directory that files named in the scenario are relative to; `None` is that of the scenario's file.
    record_dir
        Directory (it must exist) where the qlog and pcapng files go that the scenario requests; they appear there
        when the run is done.
    progress
        Called periodically with the network time [s], the bytes that all flows have delivered, and the completed
        share of the run (0 to 1).

    Raises
    ------
    RequestError
        If the scenario or the seed is wrong, or `record_dir` cannot be written to.
    QuiclabError
        If the run fails, or a flow has delivered more than its network carries.
    """
    scenario = scenario.below(base_dir)
    return run_resolved(scenario.to_json(), seed, scenario.base_dir, record_dir=record_dir, progress=progress)


def run_resolved(
    scenario: str,
    seed: int,
    base_dir: str | Path,
    *,
    record_dir: str | Path | None = None,
    progress: Callable[[float, int, float], None] | None = None,
    on_series: Callable[[Mapping[str, Mapping[str, list[float]]]], None] | None = None,
) -> RunResult:
    """Run a scenario that is JSON already; as `run`. `on_series` is called with the values of the time series."""
    native, seed = extension(), checked_seed(seed)
    try:
        with recordings(record_dir) as directory:
            output = native.run(scenario, seed, str(base_dir), directory, progress)
    except native.ScenarioError as error:
        raise ScenarioError.of(error) from error
    except (KeyboardInterrupt, SystemExit, QuiclabError):
        raise
    except BaseException as error:  # a broken invariant of the engine arrives as PanicException, which is no Exception
        raise QuiclabError(f"the run failed: {str(error) or type(error).__name__}") from error
    data = json.loads(output.result)
    check_delivered(data)
    stacks = {stack for flow in data["scenario"]["flows"].values() for stack in _stacks(flow) if stack is not None}
    if others := stacks - set(data["versions"]):
        data["versions"] |= versions(others)
    if (commit := source_commit()) is not None:
        data["versions"]["commit"] = commit
    data["versions"]["build"] = build_id()
    taps = {name: pl.DataFrame(table) for name, table in output.taps.items()}
    if values := output.series_values():
        data["series"] = summary(values)
        if on_series is not None:
            on_series(values)
    return RunResult(data, taps=taps, **{name: getattr(output, name) for name in TABLES})


def _stacks(flow: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Return the stacks that a flow of a resolved scenario names."""
    return flow.get("stack"), flow["sender"].get("stack"), flow["receiver"].get("stack")
