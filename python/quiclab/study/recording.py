"""Stored runs of studies: the result of each as JSON, and the time series that are kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

from quiclab._base.libraries import pl
from quiclab.experiment.recording import Recording
from quiclab.result import NOT_KEPT, TABLES, RunResult
from quiclab.result.series import by_flow

if TYPE_CHECKING:
    from quiclab.result import Keep


@dataclass(frozen=True)
class Whole(Recording):
    """The whole result of a run.

    Attributes
    ----------
    series
        Metrics of time series that are kept with it.
    keep
        The function that processes the recordings of a run.
    failures_are_results
        Whether the run is a result if a connection fails or a workload does not finish in time.
    """

    series: tuple[str, ...] = ()
    keep: Keep | None = None
    failures_are_results: bool = False
    kinds: ClassVar = {"result": "String", "series": "Binary"}
    optional: ClassVar = ("series",)

    @property
    def needed(self) -> list[str]:
        """None: each stored run has its result, and to read all of them takes long."""
        return []

    def row(self, result: RunResult) -> tuple[str, bytes | None]:
        """Return the result as JSON, and the series to keep."""
        return result.to_json(), series_of(result, self.series)

    def problem(self, result: RunResult) -> str:
        """Return why a run counts as failed; empty if it does not."""
        if self.failures_are_results:
            return result.invalid_reason or ""
        scenario = result.data["scenario"]
        late = (name for name, flow in result.flows.items() if not (flow.failed or flow.completed))
        name = next(late, None) if scenario.get("until") in (None, "workloads_done") else None
        unfinished = "" if name is None else f"flow `{name}` did not finish within {scenario['duration']}"
        return super().problem(result) or unfinished


def series_of(result: RunResult, metrics: tuple[str, ...]) -> bytes | None:
    """Return the time series of some metrics as bytes."""
    if not metrics or result.series.is_empty():
        return None
    buffer = BytesIO()
    names = pl.col(pl.Categorical).cast(pl.String)
    tables = [result.series.with_columns(names), by_flow(result)]
    found = pl.concat([table.filter(pl.col("metric").is_in(metrics)) for table in tables if not table.is_empty()])
    found.write_ipc(buffer, compression="zstd")
    return buffer.getvalue()


def result_of(text: str, series: bytes | None) -> RunResult:
    """Return a stored run, with the time series that were kept of it; to read another table of it is an error."""
    tables: dict[str, Any] = dict.fromkeys(TABLES, NOT_KEPT)
    tables["series"] = pl.DataFrame() if series is None else pl.read_ipc(BytesIO(series))
    return RunResult(RunResult.from_json(text).data, **tables)
