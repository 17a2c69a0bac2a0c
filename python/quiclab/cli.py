"""The command line: `quiclab` and `python -m quiclab`.

Results go to stdout, progress and messages to stderr. Exit codes: 0 fine, 1 something failed or is incomplete, 2 the
request was wrong. Every error is one sentence.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

try:  # loading takes a second, and Ctrl-C in it ends in a sentence, too
    import typer

    from quiclab import cli_kernel, cli_study, cli_trace, show
    from quiclab.cli_inspect import inspect_command
    from quiclab.cli_lane import (
        AdapterOption,
        ClockOption,
        DelayStageOption,
        EmulationOption,
        LaneOption,
        SyscallCostOption,
        lane_of,
    )
    from quiclab.cli_shell import shell_command
    from quiclab.cli_values import integer
    from quiclab.compare import VERIFY_SCHEMA, judgement_row, to_json
    from quiclab.errors import QuiclabError, RequestError
    from quiclab.evaluate import Evaluation, available_engines, results_directory
    from quiclab.native import build_id, engine
    from quiclab.progress import EvaluationProgress, RunProgress
    from quiclab.registry import find_all
    from quiclab.result import MOST_SEED, RunResult
    from quiclab.result import run as run_scenario
    from quiclab.scenario import Scenario, load
    from quiclab.store import write_atomically, write_parquet
except KeyboardInterrupt:
    sys.exit("quiclab: stopped")

app = typer.Typer(
    name="quiclab",
    help="A laboratory for QUIC and TCP over difficult networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
scenario_app = typer.Typer(help="Write, print and describe scenarios.", no_args_is_help=True)
stack_app = typer.Typer(help="Engines and profiles, with the source of each value.", no_args_is_help=True)
qlog_app = typer.Typer(help="qlog files of runs.", no_args_is_help=True)
app.add_typer(qlog_app, name="qlog")
app.add_typer(scenario_app, name="scenario")
app.add_typer(cli_kernel.app, name="kernel")
app.add_typer(cli_study.app, name="study")
app.add_typer(stack_app, name="stack")
app.add_typer(cli_trace.app, name="trace")

# what typer returns after Ctrl-C
STOPPED = 130
# the common base class of what the option parser raises; typer does not export it
ParserError: type[typer.BadParameter] = typer.BadParameter.__mro__[2]

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a value, such as bearers.dc.batch_packets=200."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_version(wanted: bool) -> None:
    """Print the version and end, if it is asked for."""
    if wanted:
        print(f"quiclab {engine().version()} (build {build_id()})")
        raise typer.Exit


app.command("shell")(shell_command)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Read the options that stand before a command."""
    del version  # its callback has done what there is to do


@app.command("run")
def run_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file.")],
    seed: Annotated[
        int, typer.Option(parser=integer(0, MOST_SEED), metavar="N", help="Seed of every random stream.")
    ] = 1,
    sets: SetOption = None,
    lane: LaneOption = "sim",
    clock: ClockOption = None,
    emulation: EmulationOption = None,
    adapters: AdapterOption = None,
    delay_stage: DelayStageOption = None,
    syscall_cost_ns: SyscallCostOption = None,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option(help="Directory for result.json and for what the scenario's table `record` asks for.")
    ] = None,
) -> None:
    """Run a scenario once."""
    kernel = lane_of(lane, clock, emulation, adapters, delay_stage, syscall_cost_ns)
    scenario = load(file, parse_sets(sets or []), kernel.stacks() if kernel else None)
    record = scenario.record
    if out is None and record is not None and (record.qlog or record.pcapng):
        raise RequestError(f"{file} asks for qlog or pcapng; name a directory for them with --out")
    if out is not None:
        make_directory(out)
    with RunProgress(scenario.name) as progress:
        if kernel:
            result = kernel.run(scenario, seed, base_dir=file.parent, record_dir=out, progress=progress)
        else:
            result = run_scenario(scenario, seed, base_dir=file.parent, record_dir=out, progress=progress)
    if out is not None:
        write_run(result, out)
    if as_json:
        print(result.to_json(indent=2))
    else:
        show.run_summary(result)
    if problem := result.not_a_result:
        raise QuiclabError(problem)
    failed = [name for name, flow in result.flows.items() if flow.failed]
    if failed:
        raise QuiclabError(f"flow {' and '.join(f'`{name}`' for name in failed)} failed")


def write_run(result: RunResult, out: Path) -> None:
    """Write `result.json` and tables to a directory; what an older run left there and this one has not goes.

    Only files go that the older `result.json` accounts for; nothing that somebody else put there.
    """
    path = out / "result.json"
    taps = {f"tap-{name}.parquet": frame for name, frame in result.taps.items()}
    frames = {"series.parquet": result.series, "packets.parquet": result.packets, "acks.parquet": result.acks, **taps}
    written = {name: frame for name, frame in frames.items() if not frame.is_empty()}
    try:
        for name in older_files(path) - set(written) - recordings(result):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise RequestError(f"cannot write to {out}: {error.strerror}") from error
    for name, frame in written.items():
        write_parquet(out / name, frame)
    write_atomically(path, (result.to_json(indent=2) + "\n").encode())


def older_files(path: Path) -> set[str]:
    """Return the names of the files that belong to the `result.json` at `path`, if there is one."""
    try:
        names = {path.name, *recorded_files(read_result(path))}
    except RequestError:
        return set()
    return {name for name in names if Path(name).name == name}  # whoever wrote it, files elsewhere are not its own


def recorded_files(result: RunResult) -> set[str]:
    """Return the names of all files that a run may have written beside its `result.json`."""
    taps = {f"tap-{name}.parquet" for name in result.data["scenario"].get("taps") or {}}
    return {"series.parquet", "packets.parquet", "acks.parquet", *taps, *recordings(result)}


def recordings(result: RunResult) -> set[str]:
    """Return the names of the qlog and pcapng files of a run: one for each end of each flow."""
    record = result.data["scenario"].get("record") or {}
    kinds = [ending for key, ending in (("qlog", "sqlog"), ("pcapng", "pcapng")) if record.get(key)]
    return {f"{flow}.{end}.{kind}" for flow in result.flows for end in ("sender", "receiver") for kind in kinds}


@app.command("diff")
def diff_command(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="result.json, or a directory with one.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="The other.")],
    base: Annotated[
        Path | None, typer.Option(help="Directory that traces are relative to; that of each result without it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the first packet where two runs part, and their summaries side by side."""
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
            f"{made}, and quiclab {engine().version()}, build {build_id()}, does not repeat what was recorded there: "
            "packet events are those of this build, summaries and digests those of the files"
        )


def repeat(result: RunResult, base: Path, name: str) -> str:
    """Run a recorded scenario again, without recording; returns the digest."""
    scenario = Scenario.from_dict({**result.data["scenario"], "record": {}})
    with RunProgress(name) as progress:
        return run_scenario(scenario, result.seed, base_dir=base, progress=progress).digest


def first_difference(results: list[RunResult], folders: list[Path]) -> dict[str, Any]:
    """Return the first packet event in which two runs part when this build repeats them."""
    native = engine()
    (a, b), (base_a, base_b) = results, map(str, folders)
    scenarios = [json.dumps(result.data["scenario"]) for result in (a, b)]
    try:
        text = native.first_difference(scenarios[0], a.seed, scenarios[1], b.seed, base_a, base_b)
    except native.ScenarioError as error:
        raise RequestError(str(error)) from error
    found: dict[str, Any] = json.loads(text)
    return found


def version_of(result: RunResult) -> str:
    """Name the version and build that made a result."""
    versions = result.data.get("versions")
    versions = versions if isinstance(versions, dict) else {}
    return f"quiclab {versions.get('quiclab', '(unknown)')}, build {versions.get('build', '(not noted)')}"


app.command("inspect")(inspect_command)


@qlog_app.command("export")
def qlog_export_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="qlog files (.sqlog) of a run.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
) -> None:
    """Convert qlog files to one file of qlog 0.3, which qvis opens."""
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        traces, events = engine().export_qlog([str(file) for file in files], str(temporary))
        temporary.replace(out)
    except (OSError, ValueError) as error:
        temporary.unlink(missing_ok=True)
        raise RequestError(str(error).replace(str(temporary), str(out))) from error
    print(f"{out}: {traces} traces, {events} events")


@app.command("verify")
def verify_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A study or a group; all without it.")] = None,
    as_json: JsonOption = False,
    engines: cli_study.EnginesOption = "default",
    out: cli_study.OutOption = Path("results"),
) -> None:
    """Print claims and their verdicts, with numbers."""
    studies = find_all(name)
    absent = [study for study in studies if not (results_directory(study, out) / "sweep.json").is_file()]
    claims: list[dict[str, Any]] = []
    missing: dict[str, int] = {}
    unusable = []
    with EvaluationProgress(f"verify {name or 'all'}", len(studies) - len(absent)) as progress:
        for study in studies:
            compared = [name for name in study.chosen_engines(engines) if name != study.table.engine]
            present, _ = available_engines(study, compared)
            if study in absent:
                continue
            try:
                _judge(Evaluation(study, out), present, claims, missing)
            except QuiclabError as error:  # the other studies have their verdicts all the same
                unusable.append(error.sentence)
            progress.advance()
    if as_json:
        print(to_json({"schema": VERIFY_SCHEMA, "runs_missing": sum(missing.values()), "claims": claims}))
    else:
        show.claims(claims)
    if absent:
        unusable.append(f"not run yet: {', '.join(study.name for study in absent)}")
    incomplete = [f"{count} runs of {study}" for study, count in missing.items() if count]
    if incomplete:
        unusable.append(f"missing: {', '.join(incomplete)}; `quiclab study run` with the name of the study continues")
    if unusable:
        raise QuiclabError("; ".join(unusable))


def _judge(evaluation: Evaluation, engines: list[str], claims: list[dict[str, Any]], missing: dict[str, int]) -> None:
    """Add the verdicts of a study with each engine, and how many of its runs are missing."""
    study = evaluation.study
    for name in engines:
        verdicts = [{**judgement_row(study.name, item), "engine": name} for item in evaluation.judgements(name)]
        missing[study.name if name == study.default_engine else f"{study.name} with {name}"] = evaluation.missing(name)
        claims += verdicts


@scenario_app.command("new")
def scenario_new() -> None:
    """Print a commented scenario that can be run as it is."""
    print(engine().template(), end="")


@scenario_app.command("show")
def scenario_show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file.")],
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a scenario with every default filled in."""
    scenario = load(file, parse_sets(sets or []))
    if as_json:
        print(to_json(scenario.to_dict()))
    else:
        print(engine().to_toml(scenario.to_json()), end="")


@scenario_app.command("schema")
def scenario_schema() -> None:
    """Print the JSON schema of scenario files."""
    print(engine().schema())


@stack_app.command("list")
def stack_list(as_json: JsonOption = False) -> None:
    """List the engines."""
    stacks = json.loads(engine().stacks())
    if as_json:
        print(to_json({"schema": "quiclab.stacks/1", "stacks": stacks}))
    else:
        show.stacks(stacks)


@stack_app.command("show")
def stack_show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of an engine.")], as_json: JsonOption = False
) -> None:
    """Print the options of an engine with the source of each default."""
    stacks = {stack["name"]: stack for stack in json.loads(engine().stacks())}
    if name not in stacks:
        raise RequestError(f"there is no stack `{name}`; there are {', '.join(stacks)}")
    if as_json:
        print(to_json({"schema": "quiclab.stack/1", **stacks[name]}))
    else:
        show.stack(stacks[name])


def parse_sets(sets: list[str]) -> list[tuple[str, str]]:
    """Divide `path=value` texts.

    Raises
    ------
    RequestError
        If there is no `=`.
    """
    pairs = []
    for text in sets:
        path, equals, value = text.partition("=")
        if not equals or not path:
            raise RequestError(f"--set {text} needs the form path=value, such as bearers.dc.batch_packets=200")
        pairs.append((path, value))
    return pairs


def make_directory(path: Path) -> None:
    """Make a directory for results and check that files can be written there.

    Raises
    ------
    RequestError
        If it cannot be made or written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
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
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RequestError(f"cannot read the result {path}: {reason}") from error
    return RunResult.from_json(text, str(path))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(invoke(arguments))


def invoke(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; every error becomes one sentence on stderr."""
    try:
        code = app(args=arguments, standalone_mode=False)
    except QuiclabError as error:
        return fail(error.sentence, error.exit_code)
    except ParserError as error:
        sentence = error.format_message()
        return fail(sentence, 2) if sentence else 2  # without a command the help is the answer, and it is printed
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except BrokenPipeError:
        # the reader of stdout has gone (`| head`); Python must not complain when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if code == STOPPED:
        return fail("stopped", 1)
    return code if isinstance(code, int) else 0


def fail(sentence: str, code: int) -> int:
    """Write an error to stderr and return its exit code."""
    print(f"quiclab: {' '.join(sentence.split())}", file=sys.stderr)
    return code
