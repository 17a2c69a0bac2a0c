"""What a worker does with a job of a study, and what becomes of all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

from quiclab.errors import QuiclabError
from quiclab.libraries import pl
from quiclab.result import run_and_keep
from quiclab.series import by_flow
from quiclab.study.check import OwnCodeError, own_code

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from quiclab.result import Keep, RunResult
    from quiclab.study.job import Job

Work: TypeAlias = "tuple[str | None, bytes | None, str]"
"""Result as JSON and its series, or `None` and why there is none."""


@dataclass
class Outcome:
    """The outcome of a sweep.

    Attributes
    ----------
    total
        Runs of the sweep.
    done
        Runs that are stored now.
    executed
        Runs made by this call.
    failures
        Job and reason of each run that failed.
    interrupted
        The signal that ended it; 0 if none did.
    """

    total: int
    done: int
    executed: int = 0
    failures: list[tuple[Job, str]] = field(default_factory=list)
    interrupted: int = 0


def run_job(job: Job) -> Work:
    """Run once; returns the result as JSON and the series to keep, or `None` and the reason."""
    try:
        result = run_and_keep(job.scenario, job.seed, job.base_dir, _guarded(job), job.lane)
    except OwnCodeError:
        raise  # the other runs would fail, too
    except QuiclabError as error:
        return None, None, error.message
    if problem := result.invalid_reason:
        return None, None, problem
    scenario = result.data["scenario"]
    judged = {} if job.failures_are_results else result.flows
    for name, flow in judged.items():
        if flow.failed:
            reason = f": {flow.failure}" if flow.failure else ""
            return None, None, f"flow `{name}` failed after {flow.delivered_bytes} bytes{reason}"
        if not flow.completed and scenario.get("until") in (None, "workloads_done"):
            return None, None, f"flow `{name}` did not finish within {scenario['duration']}"
    return result.to_json(), kept(result, job.series), ""


def _guarded(job: Job) -> Keep | None:
    """Return the function that processes the recordings of a run, with its failures as errors of one line."""
    if job.keep is None:
        return None
    keep = job.keep

    def guarded(result: RunResult, directory: Path) -> Mapping[str, Any]:
        with own_code(f"{keep.__module__}.{keep.__qualname__}, {job.replay}"):
            return keep(result, directory)

    return guarded


def kept(result: RunResult, metrics: tuple[str, ...]) -> bytes | None:
    """Return the time series of some metrics as bytes."""
    if not metrics or result.series.is_empty():
        return None
    buffer = BytesIO()
    names = pl.col(pl.Categorical).cast(pl.String)
    tables = [result.series.with_columns(names), by_flow(result)]
    kept = pl.concat([table.filter(pl.col("metric").is_in(metrics)) for table in tables if not table.is_empty()])
    kept.write_ipc(buffer, compression="zstd")
    return buffer.getvalue()
