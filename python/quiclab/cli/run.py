"""`quiclab run` and `quiclab diff`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiclab._base.files import compress_file, read_text, write_atomically, write_parquet
from quiclab._base.native import MAX_SEED, build_id, extension, resolve_file
from quiclab._base.plugins import function_names
from quiclab._base.progress import RunProgress
from quiclab.cli.application import with_groups
from quiclab.cli.lane import LaneOptions
from quiclab.cli.output import ForceOption, beside, claim_directory, publish, replacing
from quiclab.cli.values import JsonOption, SetOption, integer, parse_sets
from quiclab.errors import QuiclabError, RequestError, ScenarioError
from quiclab.lane.choices import files_of
from quiclab.report import show
from quiclab.report.percentiles import step_of
from quiclab.report.summary import run_summary
from quiclab.result import TABLES, RunResult, run_resolved
from quiclab.result.recordings import ENDS, QLOG, RECORDINGS, RESULT_FILE
from quiclab.result.series import values_of
from quiclab.scenario import Scenario
from quiclab.scenario.tree import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.lane.run import Lane

SHORT_RUN = 200_000
"""A run of so many events without code in Python takes about a second: it is made twice without being asked to."""


@with_groups
def run_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file.")],
    seed: Annotated[
        int, typer.Option(parser=integer(0, MAX_SEED), metavar="N", help="Seed of every random stream.")
    ] = 1,
    seeds: Annotated[
        int | None,
        typer.Option(
            parser=integer(2, 100_000), metavar="N", help="Run N times, with seeds from --seed on; prints means."
        ),
    ] = None,
    sets: SetOption = None,
    *,
    lane: LaneOptions,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory for result.json and the recordings that the scenario's table `record` requests.",
        ),
    ] = None,
    compress: Annotated[
        bool,
        typer.Option("--compress", help="Compress qlog files with gzip: FLOW.END.sqlog.gz, below a tenth of the size."),
    ] = False,
    force: ForceOption = False,
    limits: Annotated[
        bool | None,
        typer.Option(
            "--limits/--no-limits",
            help="Run once more with recording on, and say what limited each sender, as `inspect` does; "
            f"the default for simulated runs of up to {SHORT_RUN:,} events.",
        ),
    ] = None,
) -> None:
    """Carry out `quiclab run`."""
    kernel = lane.chosen()
    text = resolve_file(file, parse_sets(sets), kernel.stacks() if kernel else None)
    scenario = json.loads(text)
    if seeds is not None:
        if out is not None:
            raise RequestError("--seeds and --out contradict each other; `quiclab sweep` stores the runs of many seeds")
        if compress or force:
            raise RequestError(f"{'--compress' if compress else '--force'} requires --out, which contradicts --seeds")
        from quiclab.cli.repeated import run_many  # noqa: PLC0415 - the machinery of sweeps, for this option only

        run_many(file, seed, seeds, parse_sets(sets), kernel, as_json=as_json)
        return
    record = scenario["record"]
    if out is None and (record["qlog"] or record["pcapng"]):
        raise RequestError(f"{file} records qlog or pcapng files; choose a directory for them with --out")
    if compress and (out is None or not record["qlog"]):
        raise RequestError("--compress requires --out and qlog, such as --set record.qlog=true")
    one = _OneRun(file, text, scenario, seed, kernel, summary=not as_json)
    result = one.run() if out is None else run_into(one, out, force=force, compress=compress)
    if as_json:
        print(result.to_json(indent=2))
    else:
        if limits is None:
            limits = kernel is None and result.events <= SHORT_RUN and one.is_native()
        shares = None
        if limits:
            from quiclab.cli.inspect import limits_of_run  # noqa: PLC0415 - what reads recordings, for limits only

            shares = limits_of_run(one.scenario, file, seed, kernel)
        run_summary(result, one.samples, one.step, shares)
    if problem := result.invalid_reason:
        raise QuiclabError(problem)
    failed = [(name, flow.failure) for name, flow in result.flows.items() if flow.failed]
    if failed:
        raise QuiclabError("; ".join(f"flow `{name}` failed" + (f": {why}" if why else "") for name, why in failed))


@dataclass
class _OneRun:
    """A run, and the samples of which its summary is made.

    Attributes
    ----------
    file, text, scenario
        Scenario file, and the resolved scenario as JSON and as a tree.
    seed, lane
        Seed; kernel lane, or None.
    summary
        Whether a summary is printed, so that a run without time series is sampled for it.
    samples, step
        After the run: element -> metric -> values of time series, and their step; empty without.
    """

    file: Path
    text: str
    scenario: dict[str, Any]
    seed: int
    lane: Lane | None
    summary: bool
    samples: dict[str, Any] = field(default_factory=dict)
    step: str = ""

    def run(self, folder: Path | None = None) -> RunResult:
        """Run it; recordings go to a directory."""
        record = self.scenario["record"]
        self.step = record.get("series_interval") or ""
        base = self.file.parent
        with RunProgress(self.scenario["name"]) as progress:
            if self.lane is not None:
                resolved = Scenario.from_dict(self.scenario)
                result = self.lane.run(resolved, self.seed, base_dir=base, record_dir=folder, progress=progress)
                if self.step and not result.series.is_empty():
                    self.samples = values_of(result.series)
                return result
            text, sampled = self.text, self.summary and not self.step
            if sampled:
                self.step = step_of(self.scenario)
                text = json.dumps({**self.scenario, "record": {**record, "series_interval": self.step}})
            result = run_resolved(
                text, self.seed, base, record_dir=folder, progress=progress, on_series=self.samples.update
            )
        return result.without_series(record) if sampled else result

    def is_native(self) -> bool:
        """Whether no code in Python runs for packets: no stack, plugin or splitter."""
        native = {str(stack["name"]) for stack in json.loads(extension().native_stacks())}
        ends = [table for flow in self.scenario["flows"].values() for table in (flow, flow["sender"], flow["receiver"])]
        named = {table["stack"] for table in ends if table.get("stack")}
        return named <= native and not function_names(self.scenario)


def run_into(one: _OneRun, out: Path, *, force: bool, compress: bool) -> RunResult:
    """Run a scenario and write its result and its recordings to a directory, all of them or none.

    Raises
    ------
    RequestError
        If the directory has files of an earlier run that `force` does not permit to replace, also one that ended while
        this one ran, or the scenario is one of the files that would be replaced.
    """
    names = files_of_run(one.scenario, "sim" if one.lane is None else "kernel")
    inputs = [one.file, *(one.lane.adapters if one.lane is not None else ())]
    earlier = claim_directory(out, names | older_files(out), force, inputs=inputs)
    written: set[str] = set()
    if one.lane is not None:  # its programs write to the directory while they run, for who looks into one that hangs
        written = names
    with beside(out) as folder, replacing(out, earlier if written else (), written, RESULT_FILE):
        result = one.run(folder if one.lane is None else out)
        write_run(result, folder)
        if compress and one.lane is None:
            compress_qlog(folder)
        earlier = claim_directory(out, (names | older_files(out)) - written, force)
        publish(folder, out, earlier, RESULT_FILE)
    if compress and one.lane is not None:
        compress_qlog(out)
    return result


def write_run(result: RunResult, folder: Path) -> None:
    """Write `result.json` and the tables of a run to a directory."""
    taps = {f"tap-{name}.parquet": frame for name, frame in result.taps.items()}
    frames = {**{f"{name}.parquet": getattr(result, name) for name in TABLES}, **taps}
    for name, frame in frames.items():
        if not frame.is_empty():
            write_parquet(folder / name, frame)
    write_atomically(folder / RESULT_FILE, (result.to_json(indent=2) + "\n").encode())


def compress_qlog(folder: Path) -> None:
    """Compress the qlog files of a run."""
    for file in sorted(folder.glob(f"*{QLOG}")):
        compress_file(file)


def older_files(out: Path) -> set[str]:
    """Return the names of the files that a directory has of the run in its `result.json`; none without such a file."""
    try:
        data = read_result(out / RESULT_FILE).data
        names = files_of_run(data["scenario"], str(data.get("lane", "sim")))
        return names & {path.name for path in out.iterdir()}  # no files in other directories
    except (RequestError, OSError):
        return set()


def files_of_run(scenario: Mapping[str, Any], lane: str) -> set[str]:
    """Return the names of all files that a run of a resolved scenario may write to the directory of `--out`."""
    flows = scenario["flows"]
    record = scenario.get("record") or {}
    kinds = [ending for key, endings in RECORDINGS.items() if record.get(key) for ending in endings]
    recordings = {f"{flow}.{end}{kind}" for flow in flows for end in ENDS for kind in kinds}
    tables = {*(f"{name}.parquet" for name in TABLES), *(f"tap-{name}.parquet" for name in scenario.get("taps") or {})}
    programs = files_of(flows) if lane == "kernel" else ()
    return {RESULT_FILE, *tables, *recordings, *programs}


def diff_command(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="result.json, or a directory with one.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Second run.")],
    base: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Base directory of trace files (default: each result's directory)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab diff`."""
    paths = [path / RESULT_FILE if path.is_dir() else path for path in (run_a, run_b)]
    names = (str(run_a), str(run_b))
    results = [read_result(path) for path in paths]
    folders = [base or path.parent for path in paths]
    repeated = [repeat(*run) for run in zip(results, folders, names, strict=True)]
    difference: dict[str, Any] = {"identical": True, "index": None, "a": None, "b": None}
    if repeated[0] != repeated[1]:
        difference = first_difference(results, folders)
    if as_json:
        flows = [{name: result.data["flows"][name] for name in result.flows} for result in results]
        digests = [result.digest for result in results]
        document = {"schema": "quiclab.diff/1", **difference, "digests": digests, "repeated_digests": repeated}
        print(to_json({**document, "flows": flows}))
    else:
        show.difference(difference, results[0], results[1], names)
    changed = [item for item in zip(names, results, repeated, strict=True) if item[1].digest != item[2]]
    if changed:
        made = " and ".join(f"{name} was made by {version_of(result)}" for name, result, _ in changed)
        raise QuiclabError(
            f"{made}, and quiclab {extension().version()}, build {build_id()}, does not reproduce the recording: "
            "packet events are those of this build, summaries and digests those of the files"
        )


def repeat(result: RunResult, base: Path, name: str) -> str:
    """Run a recorded scenario again, without recording; returns the digest."""
    scenario = result.scenario.with_value("record", None)
    with RunProgress(name) as progress:
        return run_resolved(scenario.to_json(), result.seed, base, progress=progress).digest


def first_difference(results: list[RunResult], folders: list[Path]) -> dict[str, Any]:
    """Return the first packet event at which two runs differ when this build repeats them."""
    native = extension()
    (a, b), (base_a, base_b) = results, map(str, folders)
    scenarios = [json.dumps(result.data["scenario"]) for result in (a, b)]
    try:
        text = native.first_difference(scenarios[0], a.seed, scenarios[1], b.seed, base_a, base_b)
    except native.ScenarioError as error:
        raise ScenarioError.of(error) from error
    found: dict[str, Any] = json.loads(text)
    return found


def version_of(result: RunResult) -> str:
    """Name the version and build that made a result."""
    versions = result.data.get("versions")
    versions = versions if isinstance(versions, dict) else {}
    return f"quiclab {versions.get('quiclab', '(unknown)')}, build {versions.get('build', '(not noted)')}"


def read_result(path: Path) -> RunResult:
    """Read a `result.json`.

    Raises
    ------
    RequestError
        If it cannot be read or is not a result.
    """
    return RunResult.from_json(read_text(path, "the result"), str(path))
