"""`quiclab kernel host`: cost of the programs of the kernel lane on this machine."""

from __future__ import annotations

import os
import platform
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Self

import typer

from quiclab._base.files import write_atomically
from quiclab._base.libraries import check_scipy
from quiclab._base.progress import CountProgress
from quiclab.cli.lane import AdapterOption
from quiclab.cli.output import ForceOption, check_new, show_written
from quiclab.cli.values import JsonOption, integer
from quiclab.lane.calibration.host_file import write_hosts
from quiclab.lane.calibration.measure import measure, stack_of_interest
from quiclab.lane.calibration.syscalls import tracer
from quiclab.lane.run import Lane
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
    """Carry out `quiclab kernel host`."""
    check_scipy("`quiclab kernel host`")
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
