"""`quiclab run` and `quiclab diff`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiclab.cli.lane import (
    AdapterOption,
    ClockOption,
    DelayStageOption,
    EmulationOption,
    LaneOption,
    SyscallCostOption,
    lane_of,
)
from quiclab.cli.values import JsonOption, SetOption, integer, parse_sets
from quiclab.errors import QuiclabError, RequestError, ScenarioError, unexpected
from quiclab.files import write_atomically, write_parquet
from quiclab.native import MAX_SEED, build_id, extension, resolve_file
from quiclab.progress import RunProgress
from quiclab.report import show
from quiclab.report.summary import run_summary
from quiclab.result import TABLES, RunResult, run_resolved
from quiclab.tree import to_json

if TYPE_CHECKING:
    from quiclab.lane.run import Lane

#: What `--seeds` prints of each flow.
REPEATED_METRICS = ("goodput", "download_time", "retransmissions", "congestion_events", "srtt", "min_rtt")


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
    lane: LaneOption = "sim",
    clock: ClockOption = None,
    emulation: EmulationOption = None,
    adapters: AdapterOption = None,
    delay_stage: DelayStageOption = None,
    syscall_cost_ns: SyscallCostOption = None,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for result.json and the recordings that the scenario's table `record` requests."),
    ] = None,
) -> None:
    """Carry out `quiclab run`."""
    kernel = lane_of(lane, clock, emulation, adapters, delay_stage, syscall_cost_ns)
    text = resolve_file(file, parse_sets(sets), kernel.stacks() if kernel else None)
    scenario = json.loads(text)
    if seeds is not None:
        if out is not None:
            raise RequestError("--seeds and --out contradict each other; `quiclab sweep` stores the runs of many seeds")
        run_many(file, seed, seeds, parse_sets(sets), kernel, as_json=as_json)
        return
    record = scenario["record"]
    if out is None and (record["qlog"] or record["pcapng"]):
        raise RequestError(f"{file} records qlog or pcapng files; choose a directory for them with --out")
    older: set[str] = set()
    if out is not None:
        make_directory(out)
        older = older_files(out)
    with RunProgress(scenario["name"]) as progress:
        if kernel:
            from quiclab.scenario import Scenario  # noqa: PLC0415 - lane sim does not require its classes

            resolved = Scenario.from_dict(scenario)
            result = kernel.run(resolved, seed, base_dir=file.parent, record_dir=out, progress=progress)
        else:
            result = run_resolved(text, seed, file.parent, record_dir=out, progress=progress)
    if out is not None:
        write_run(result, out, older)
    if as_json:
        print(result.to_json(indent=2))
    else:
        run_summary(result)
    if problem := result.invalid_reason:
        raise QuiclabError(problem)
    failed = [(name, flow.failure) for name, flow in result.flows.items() if flow.failed]
    if failed:
        raise QuiclabError("; ".join(f"flow `{name}` failed" + (f": {why}" if why else "") for name, why in failed))


def run_many(
    file: Path, seed: int, seeds: int, sets: list[tuple[str, str]], lane: Lane | None, *, as_json: bool
) -> None:
    """Run a scenario with several seeds, and print the mean of each metric with its 95 % interval."""
    from quiclab import sweeps  # noqa: PLC0415 - for this option only
    from quiclab.sweeps.output import document  # noqa: PLC0415 - as above

    plan = sweeps.Plan(
        file=file,
        text=file.read_text(encoding="utf-8"),
        sets=tuple(sets),
        seeds=seeds,
        first_seed=seed,
        metrics=REPEATED_METRICS,
        lane=lane,
    )
    result = sweeps.run_plan(plan)
    if as_json:
        print(to_json(document(result.tables)))
    else:
        show.repetitions(result.settings.row(0, named=True), plan.measures, result.tables.notes)


def write_run(result: RunResult, out: Path, older: set[str]) -> None:
    """Write `result.json` and tables to a directory; files of an older run that this run does not have are removed."""
    path = out / "result.json"
    taps = {f"tap-{name}.parquet": frame for name, frame in result.taps.items()}
    frames = {**{f"{name}.parquet": getattr(result, name) for name in TABLES}, **taps}
    written = {name: frame for name, frame in frames.items() if not frame.is_empty()}
    try:
        for name in older - set(written) - recordings(result):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise RequestError(f"cannot write to {out}: {error.strerror}") from error
    for name, frame in written.items():
        write_parquet(out / name, frame)
    write_atomically(path, (result.to_json(indent=2) + "\n").encode())


def older_files(out: Path) -> set[str]:
    """Return the names of the files in a directory that belong to its `result.json`; none if that is no result."""
    try:
        names = {"result.json", *recorded_files(read_result(out / "result.json"))}
        return names & {path.name for path in out.iterdir() if not path.is_dir()}  # no files in other directories
    except (RequestError, OSError):
        return set()


def recorded_files(result: RunResult) -> set[str]:
    """Return the names of all files that a run may have written next to its `result.json`."""
    taps = {f"tap-{name}.parquet" for name in result.data["scenario"].get("taps") or {}}
    return {*(f"{name}.parquet" for name in TABLES), *taps, *recordings(result)}


def recordings(result: RunResult) -> set[str]:
    """Return the names of the qlog and pcapng files of a run: one for each end of each flow."""
    record = result.data["scenario"].get("record") or {}
    kinds = [ending for key, ending in (("qlog", "sqlog"), ("pcapng", "pcapng")) if record.get(key)]
    return {f"{flow}.{end}.{kind}" for flow in result.flows for end in ("sender", "receiver") for kind in kinds}


def diff_command(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="result.json, or a directory with one.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Second run.")],
    base: Annotated[
        Path | None, typer.Option(help="Base directory of trace files (default: that of each result).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab diff`."""
    paths = [path / "result.json" if path.is_dir() else path for path in (run_a, run_b)]
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


def make_directory(path: Path, option: str = "--out") -> None:
    """Make a directory for results and check that files can be written there; `option` is what names it.

    Raises
    ------
    RequestError
        If it cannot be made or written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise unexpected(option, "a directory", str(path), "it is a file", kind="WrongType") from error
    except OSError as error:
        raise RequestError(f"cannot write to {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise RequestError(f"cannot write to {path}: Permission denied")


def read_result(path: Path) -> RunResult:
    """Read a `result.json`.

    Raises
    ------
    RequestError
        If it cannot be read or is not a result.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise RequestError(f"cannot read the result {path}: {reason}") from error
    return RunResult.from_json(text, str(path))
