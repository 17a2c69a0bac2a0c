"""`quiclab kernel host` and `calibrate`: cost of programs, and validation of an emulated network."""

from __future__ import annotations

import os
import platform
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Self

import typer

from quiclab._base.files import write_atomically
from quiclab._base.libraries import check_libraries
from quiclab._base.progress import CountProgress
from quiclab.cli.lane import AdapterOption, ClockOption, EmulationOption, LaneOptions
from quiclab.cli.output import ForceOption, check_new, show_written
from quiclab.cli.values import JsonOption, SetOption, integer, parse_sets
from quiclab.errors import QuiclabError
from quiclab.lane.calibration.network import calibrate, verdict
from quiclab.lane.run import Lane
from quiclab.report import show
from quiclab.report.summary import text as cell
from quiclab.scenario import load
from quiclab.scenario.tree import to_json

MAX_RUNS = 1000


def host_command(
    stack: Annotated[str, typer.Argument(metavar="STACK", help="A program of the kernel lane, such as quinn.")],
    congestion_control: Annotated[
        str | None, typer.Option(metavar="NAME", help="Congestion control of the sender (default: that of the stack).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.toml", help="Output file (default: stdout).")
    ] = None,
    adapters: AdapterOption = None,
    runs: Annotated[int, typer.Option(parser=integer(2, MAX_RUNS), metavar="N", help="Runs of each setting.")] = 5,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Measure the cost of datagrams and system calls for a program, and write it as host templates for lane sim."""
    # these load numpy and scipy
    from quiclab.lane.calibration.host_file import write_hosts  # noqa: PLC0415
    from quiclab.lane.calibration.measure import measure, stack_of_interest  # noqa: PLC0415
    from quiclab.lane.calibration.syscalls import tracer  # noqa: PLC0415

    check_libraries("`quiclab kernel host`", "scipy")
    if out is not None:
        check_new(out, force, adapters or ())
    lane = Lane(adapters=tuple(adapters or ()))
    adapter = stack_of_interest(lane, stack)
    options = {} if congestion_control is None else {"congestion_control": congestion_control}
    if wrong := adapter.refuses(options):
        raise wrong
    tracer()  # before anything is measured: it may be missing
    with Steps(stack) as steps:
        measurement = measure(adapter, lane, options, runs, steps)
    text = write_hosts(stack, measurement, machine(), options)
    if out is None:
        print(to_json(tomllib.loads(text)) if as_json else text, end="\n" if as_json else "")
        return
    write_atomically(out, text.encode())
    load(out)  # the written file must be valid
    show_written([out], as_json)


def calibrate_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file.")],
    sets: SetOption = None,
    clock: ClockOption = None,
    emulation: EmulationOption = None,
    adapters: AdapterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the network of a scenario with a ping, bursts of datagrams and TCP; compare it with the scenario."""
    lane = LaneOptions("kernel", clock, emulation, adapters).chosen()
    assert lane is not None  # noqa: S101 - it is that of the kernel
    scenario = load(file, parse_sets(sets), lane.stacks())
    checks = calibrate(scenario, lane, lambda message: print(message, file=sys.stderr, flush=True), file.parent)
    if as_json:
        print(to_json({"schema": "quiclab.calibration/1", "checks": [check.to_dict() for check in checks]}))
    else:
        shown = show.table("", ["flow", "what", "unit", "verdict", "note", "wanted", "achieved", "difference"], left=5)
        for check in checks:
            known = check.wanted is not None and check.achieved is not None
            difference = check.achieved - check.wanted if known else None  # type: ignore[operator]
            word = "-" if check.ok is None else "yes" if check.ok else "no"
            numbers = (cell(value) for value in (check.wanted, check.achieved, difference))
            shown.add_row(check.flow, check.what, check.unit, word, check.note, *numbers)
        show.console().print(shown)
    if problem := verdict(checks):
        raise QuiclabError(problem)


class Steps(CountProgress):
    """Shows the current run of a calibration."""

    def __init__(self, title: str) -> None:
        super().__init__(title, 0)

    def __enter__(self) -> Self:
        """Show nothing until the number of runs is known."""
        return self

    def __call__(self, what: str, number: int, total: int) -> None:
        """Show the run before it begins."""
        self.done, self.total = number, total
        self.beat()
        if number < total:
            self.line(f"{self.title}: {what}")


def machine() -> dict[str, str]:
    """Return facts about the machine that costs depend on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "machine": f"{len(os.sched_getaffinity(0))} CPUs, {models[0] if models else platform.machine()}",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
    }
