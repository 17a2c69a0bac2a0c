"""Resolution of an argument: a result, a scenario to run with recording on, or a qlog file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from quiclab._base.files import read_text, reported
from quiclab._base.libraries import np, pl
from quiclab._base.native import extension
from quiclab.analysis.inspect.window import Window
from quiclab.errors import QuiclabError, RequestError, unexpected
from quiclab.result import RUN_SCHEMA, RunResult
from quiclab.result import run as run_scenario
from quiclab.result.recordings import ENDS, RESULT_FILE, plain_file, qlog_of
from quiclab.scenario import load
from quiclab.stacks.registry import native_names

if TYPE_CHECKING:
    from quiclab.lane.run import Lane
    from quiclab.scenario import Scenario

EXPECTED = (
    "expected a directory or result.json that `quiclab run --out` wrote, a scenario FILE.toml, or a qlog file "
    "(.sqlog, .qlog, .json, and these with .gz)"
)
DEFAULT_POINTS = 1_000_000
MIN_POINTS, MAX_POINTS = 100, 2_000_000
READ_POINTS = MAX_POINTS
"""Limit for the reader of qlog, packets of each direction: all if possible, because both ends must show the same."""
COLUMN_ROWS = 1000
"""Columns of qlog from this length on become arrays: they take a quarter of the memory of lists."""
SAMPLING = "10 ms"
"""Interval of time series if the scenario has none."""
TABLES = ("series", "packets", "acks")

Step: TypeAlias = Literal["reading", "running", "writing"]
Say: TypeAlias = Callable[[Step, object], AbstractContextManager[Any]]
"""Returns the progress of a step on something, such as a file: a context whose value is called with the progress of a
run or a reader."""


@dataclass
class Run:
    """One side of the page, as it was read.

    Attributes
    ----------
    name
        Name in the HTML report.
    origin
        Description of its source, on one line.
    traces
        Traces of qlog files: (flow, end) -> trace; of a single qlog file `("", "0")`, `("", "1")` ...
    result, tables
        Of a run: its result, and its tables `series`, `packets`, `acks` as far as they were recorded.
    points
        Maximum number of packets in each direction, and of samples per series, of each connection in the HTML report.
    window
        Time to which the report is limited; `None` for all.
    """

    name: str
    origin: str
    traces: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    result: RunResult | None = None
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    points: int = DEFAULT_POINTS
    window: Window | None = None

    def element(self, flow: str, end: str) -> str:
        """Return the name of the element at an end of a flow."""
        return f"{flow}.{end}"

    def stack(self, flow: str, end: str) -> str:
        """Name the stack of an end of a flow."""
        assert self.result is not None  # noqa: S101 - only runs have flows
        table = self.result.data["scenario"]["flows"][flow]
        return str((table.get(end) or {}).get("stack") or table.get("stack") or "unknown")

    def table(self, name: str) -> pl.DataFrame | None:
        """Return a table; `None` if it was not recorded."""
        found = self.tables.get(name)
        return None if found is None or found.is_empty() else found


def _silent(step: Step, what: object) -> AbstractContextManager[None]:
    """Show no progress."""
    del step, what
    return nullcontext()


def open_run(
    path: Path, max_points: int = DEFAULT_POINTS, progress: Say = _silent, window: Window | None = None
) -> Run:
    """Read a run or a qlog file; run a scenario.

    Parameters
    ----------
    path
        The file or directory.
    max_points
        Maximum number of packets in each direction, and of samples per series, in the HTML report.
    progress
        Shows progress (default: nothing does).
    window
        Time to which the report is limited; `None` for all.

    Raises
    ------
    RequestError
        If it is none of these, or cannot be read.
    """
    with reported(f"cannot read {path}", EXPECTED):
        if path.is_dir():
            return _directory(path, max_points, progress, window)
        if path.suffix == ".toml":
            return _scenario(path, max_points, progress, window)
        if _is_result(path):
            return _directory(path.parent, max_points, progress, window, path)
    with progress("reading", path) as step:
        traces = read_qlog(path, step)
        if window is not None and any(_sampled(trace) for trace in traces):
            # too long to keep all: now that it is known when it begins, only this time
            traces = read_qlog(path, step, window.read_ms(min(float(trace["start_ms"]) for trace in traces)))
    numbered = {("", str(index)): trace for index, trace in enumerate(traces)}
    return Run(path.name, f"qlog file {path}", numbered, points=max_points, window=window)


def inputs_of(path: Path) -> list[Path]:
    """Return what is read to show a run or a file: the path and, of a result, the directory with its recordings."""
    try:
        return [path, path.parent] if path.is_file() and _is_result(path) else [path]
    except OSError:
        return [path]  # reported when it is read


def read_qlog(
    path: Path,
    progress: Callable[[int, int], None] | None = None,
    window_ms: tuple[float, float] | None = None,
) -> list[dict[str, Any]]:
    """Return the traces of a qlog file.

    Parameters
    ----------
    path
        The file.
    progress
        Called periodically with the bytes read and the total.
    window_ms
        First and last instant whose events are read, in the times of the file [ms]; `None` for all.

    Raises
    ------
    RequestError
        If it cannot be read, or holds none.
    """
    try:
        with plain_file(path) as plain:
            text = extension().inspect_qlog(str(plain), READ_POINTS, progress, window_ms)
        traces: list[dict[str, Any]] = json.loads(text, object_pairs_hook=_columns)
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror or error}; {EXPECTED}") from error
    except ValueError as error:
        raise RequestError(f"cannot read {path}: {error}") from error
    if not traces:
        raise unexpected("", "a qlog trace", got="a qlog file without one", where=str(path))
    return traces


def _columns(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object whose long columns of numbers are arrays; `null` becomes not a number."""
    return {name: _column(value) if isinstance(value, list) else value for name, value in pairs}


def _column(values: list[Any]) -> Any:
    if len(values) < COLUMN_ROWS or isinstance(values[0], (list, dict, str)):
        return values
    return np.array(values, dtype=np.float64)


def _sampled(trace: Mapping[str, Any]) -> bool:
    return any(int(entry["shown"]) < int(entry["of"]) for entry in (trace.get("sampling") or {}).values())


def _is_result(path: Path) -> bool:
    """Return whether a file is a result, which starts with its schema."""
    with path.open("rb") as file:
        return f'"{RUN_SCHEMA}"'.encode() in file.read(200)


def _directory(folder: Path, max_points: int, progress: Say, window: Window | None, file: Path | None = None) -> Run:
    path = file or folder / RESULT_FILE
    if not path.is_file():
        raise RequestError(f"{folder} has no result.json; {EXPECTED}")
    result = RunResult.from_json(read_text(path, "the result"), str(path))
    name = folder.resolve().name if path.name == RESULT_FILE else path.stem
    origin = f"result {path}: {_what(result)}"
    run = Run(name, origin, result=result, points=_points(result, max_points), window=window)
    recorded = result.data["scenario"].get("record") or {}
    present = {"series": recorded.get("series_interval"), **{key: recorded.get(key) for key in ("packets", "acks")}}
    with progress("reading", f"the tables of {folder}"):
        # a table that the result does not list belongs to another run
        run.tables = {name: _table(folder / f"{name}.parquet") for name in TABLES if present[name]}
    if recorded.get("qlog"):
        _read_ends(run, folder, progress)
    return run


def _what(result: RunResult) -> str:
    return f"{result.scenario.name}, seed {result.seed}, digest {result.digest[:12]}"


def _points(result: RunResult, max_points: int) -> int:
    """Divide the capacity of the report among the flows of a run."""
    return max(MIN_POINTS, max_points // max(1, len(result.flows)))


def _table(path: Path) -> pl.DataFrame:
    if not path.is_file():
        return pl.DataFrame()
    try:
        return pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise QuiclabError(f"cannot read {path}: {error}") from error


def _read_ends(run: Run, folder: Path, progress: Say) -> None:
    """Read the available qlog files of each flow."""
    assert run.result is not None  # noqa: S101 - a run that has flows
    for flow in run.result.flows:
        for end in ENDS:
            path = qlog_of(folder, flow, end)
            if path is not None:
                with progress("reading", path.name) as step:
                    part = None if run.window is None else run.window.read_ms()
                    run.traces[flow, end] = read_qlog(path, step, part)[0]


def _scenario(path: Path, max_points: int, progress: Say, window: Window | None) -> Run:
    source = f"scenario {path}"
    return run_recorded(load(path), path.stem, source, max_points, progress, base_dir=path.parent, window=window)


def run_recorded(
    scenario: Scenario,
    name: str,
    source: str,
    max_points: int,
    progress: Say,
    *,
    base_dir: Path,
    seed: int = 1,
    lane: Lane | None = None,
    window: Window | None = None,
) -> Run:
    """Run a scenario with recording on.

    Parameters
    ----------
    scenario
        The scenario.
    name, source
        Name in the HTML report, and where the scenario comes from.
    max_points
        Maximum number of packets in each direction, and of samples per series, in the HTML report.
    progress
        Shows progress.
    base_dir
        Directory that files named in the scenario are relative to.
    seed
        Seed of the run.
    lane
        How it runs in the kernel lane; `None` for the sim lane.
    window
        Time to which the report is limited; `None` for all.
    """
    runs: Callable[..., RunResult] = run_scenario if lane is None else lane.run
    with TemporaryDirectory(prefix="quiclab-inspect-") as folder:
        with progress("running", f"{name} with recording on") as step:
            recorded = recording(scenario.below(base_dir), lane)
            result = runs(recorded, seed, base_dir=base_dir, record_dir=folder, progress=step)
        origin = f"{source}, run for this page with recording on: {_what(result)}"
        run = Run(name, origin, result=result, points=_points(result, max_points), window=window)
        run.tables = {name: getattr(result, name) for name in TABLES}
        _read_ends(run, Path(folder), progress)
    return run


def recording(scenario: Scenario, lane: Lane | None = None) -> Scenario:
    """Return a scenario that records all that a page shows; this changes nothing in the run."""
    record = scenario.resolved(None if lane is None else lane.stacks()).to_dict().get("record") or {}
    flows = scenario.to_dict()["flows"].values()
    # stacks written in Python refuse qlog and acknowledgements, in the whole scenario
    observed = native_names() >= {stack for flow in flows for stack in _stacks(flow) if stack is not None}
    interval = record.get("series_interval") or SAMPLING
    wanted = {"qlog": observed, "acks": observed, "packets": True, "series_interval": interval}
    return scenario.with_value("record", wanted)


def _stacks(flow: Mapping[str, Any]) -> Iterator[str | None]:
    for table in (flow, flow.get("sender") or {}, flow.get("receiver") or {}):
        yield table.get("stack")
