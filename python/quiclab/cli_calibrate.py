"""`quiclab kernel host`: what a program costs on this machine, as hosts of the sim lane."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Annotated

import typer

from quiclab.cli_lane import AdapterOption
from quiclab.cli_values import integer
from quiclab.errors import RequestError
from quiclab.kernel.lane import Lane
from quiclab.progress import SweepProgress
from quiclab.scenario import load
from quiclab.store import write_atomically

MOST_RUNS = 1000


def host_command(
    stack: Annotated[str, typer.Argument(metavar="STACK", help="A program of the kernel lane, such as quinn.")],
    congestion_control: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the sender; without it that of the stack.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.toml", help="The file to write; stdout without it.")
    ] = None,
    adapters: AdapterOption = None,
    runs: Annotated[int, typer.Option(parser=integer(2, MOST_RUNS), metavar="N", help="Runs of each setting.")] = 5,
) -> None:
    """Measure what datagrams and system calls cost a program here, and write it as hosts for the sim lane."""
    # these load numpy and scipy
    from quiclab.kernel.calibration.host_file import write_hosts  # noqa: PLC0415
    from quiclab.kernel.calibration.measure import measure, stack_of_interest  # noqa: PLC0415
    from quiclab.kernel.calibration.trace import tracer  # noqa: PLC0415

    lane = Lane(adapters=tuple(adapters or ()))
    adapter = stack_of_interest(lane, stack)
    options = {} if congestion_control is None else {"congestion_control": congestion_control}
    if wrong := adapter.accepts(options):
        raise RequestError(wrong)
    tracer()  # before anything is measured: it may be missing
    if out is not None and not out.parent.is_dir():
        raise RequestError(f"cannot write {out}: there is no directory {out.parent}")
    with Steps(stack) as steps:
        measurement = measure(adapter, lane, options, runs, steps)
    text = write_hosts(stack, measurement, machine(), options)
    if out is None:
        print(text, end="")
        return
    write_atomically(out, text.encode())
    load(out)  # what is written can be used
    print(out)


class Steps:
    """Shows which run of a calibration goes on."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.progress: SweepProgress | None = None

    def __enter__(self) -> Steps:
        """Show nothing yet."""
        return self

    def __exit__(self, *reason: object) -> None:
        """Leave what is shown."""
        if self.progress is not None:
            self.progress.__exit__(None, None, None)

    def __call__(self, what: str, number: int, total: int) -> None:
        """Show the run before it begins."""
        if self.progress is None:
            self.progress = SweepProgress(self.title, total, 0)
            self.progress.__enter__()
        while self.progress.done < number:
            self.progress.advance()
        if number < total:
            self.progress.line(f"{self.title}: {what}")


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
