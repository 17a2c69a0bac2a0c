"""Options that say where something runs: `--lane`, `--clock`, `--emulation` and what belongs to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from quiclab.cli.values import integer
from quiclab.errors import RequestError
from quiclab.lane.run import CLOCKS, DELAY_STAGES, EMULATIONS, Lane
from quiclab.scenario import Scenario, load

LANES = ("sim", "kernel")


def _one_of(flag: str, words: Iterable[str], text: str) -> OptionInfo:
    """Declare an option whose value is one of some words."""
    option: OptionInfo = typer.Option(flag, metavar="|".join(words), help=text)
    return option


LaneOption = Annotated[str, _one_of("--lane", LANES, "Where it runs: here in process, or with real programs.")]
ClockOption = Annotated[
    str | None,
    _one_of("--clock", CLOCKS, "Its clock: virtual in the lane sim; real in the lane kernel, or virtual in a guest."),
]
EmulationOption = Annotated[
    str | None,
    _one_of(
        "--emulation",
        EMULATIONS,
        "The network of the lane kernel: our elements, or the kernel's queueing disciplines.",
    ),
]
DelayStageOption = Annotated[
    str | None,
    _one_of(
        "--delay-stage",
        DELAY_STAGES,
        "With netem, where packets are delayed: on the next hop; or where from Linux 6.12 on they fill the queue.",
    ),
]
AdapterOption = Annotated[
    list[Path] | None,
    typer.Option("--adapter", metavar="FILE", help="Adapter of another program (docs/adapters.md)."),
]
SyscallCostOption = Annotated[
    int | None,
    typer.Option(
        "--syscall-cost",
        parser=integer(0, 1_000_000),
        metavar="NS",
        help="With the virtual clock, what each system call takes, in nanoseconds.",
    ),
]


def lane_of(
    lane: str,
    clock: str | None,
    emulation: str | None,
    adapters: list[Path] | None,
    delay_stage: str | None = None,
    syscall_cost_ns: int | None = None,
) -> Lane | None:
    """Return how the kernel lane runs; None for the lane sim.

    Raises
    ------
    RequestError
        If there is no such lane, or it has no such clock or emulation.
    """
    if lane not in LANES:
        raise RequestError(f"the lane `{lane}` is not available; there are {' and '.join(LANES)}")
    if lane == "sim":
        if clock not in (None, "virtual"):
            raise RequestError(f"the clock `{clock}` is not available; the lane sim has the clock `virtual`")
        others = {"--emulation": emulation, "--adapter": adapters, "--delay-stage": delay_stage}
        for name, value in {**others, "--syscall-cost": syscall_cost_ns}.items():
            if value:
                raise RequestError(f"{name} is for the lane kernel; the lane sim has none")
        return None
    for name, value, known in (
        ("clock", clock, CLOCKS),
        ("emulation", emulation, EMULATIONS),
        ("delay stage", delay_stage, DELAY_STAGES),
    ):
        if value not in (None, *known):
            raise RequestError(f"the {name} `{value}` is not available; the lane kernel has {' and '.join(known)}")
    if syscall_cost_ns and clock != "virtual":
        raise RequestError("--syscall-cost is for the virtual clock; in real time a system call takes what it takes")
    if delay_stage is not None and emulation != "netem":
        raise RequestError("--delay-stage is for the emulation netem; our elements delay behind their queue")
    given = {"clock": clock, "emulation": emulation, "delay_stage": delay_stage, "syscall_cost_ns": syscall_cost_ns}
    chosen: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    return Lane(adapters=tuple(adapters or ()), **chosen)


def load_either(file: Path, sets: Sequence[tuple[str, str]]) -> Scenario:
    """Read a scenario of either lane: whose stacks it names is of no account."""
    try:
        return load(file, sets)
    except RequestError:
        return load(file, sets, Lane().stacks())
