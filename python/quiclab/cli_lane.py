"""Options that say where something runs: `--lane`, `--clock`, `--emulation` and what belongs to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiclab.errors import RequestError
from quiclab.kernel.lane import CLOCKS, EMULATIONS, Lane

LANES = ("sim", "kernel")

LaneOption = Annotated[
    str, typer.Option("--lane", metavar="|".join(LANES), help="Where it runs: here in process, or with real programs.")
]
ClockOption = Annotated[
    str | None,
    typer.Option(
        "--clock",
        metavar="|".join(CLOCKS),
        help="Its clock: virtual in the lane sim; real in the lane kernel, or virtual in a guest.",
    ),
]
EmulationOption = Annotated[
    str | None,
    typer.Option(
        "--emulation",
        metavar="|".join(EMULATIONS),
        help="The network of the lane kernel: our elements, or the kernel's queueing disciplines.",
    ),
]
AdapterOption = Annotated[
    list[Path] | None,
    typer.Option("--adapter", metavar="FILE", help="Adapter of another program (docs/adapters.md)."),
]


def lane_of(lane: str, clock: str | None, emulation: str | None, adapters: list[Path] | None) -> Lane | None:
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
        for name, value in (("--emulation", emulation), ("--adapter", adapters)):
            if value:
                raise RequestError(f"{name} is for the lane kernel; the lane sim has none")
        return None
    if clock not in (None, *CLOCKS):
        raise RequestError(f"the clock `{clock}` is not available; the lane kernel has {' and '.join(CLOCKS)}")
    if emulation not in (None, *EMULATIONS):
        raise RequestError(f"the emulation `{emulation}` is not available; there are {' and '.join(EMULATIONS)}")
    chosen = Lane(adapters=tuple(adapters or ()))
    return Lane(clock or chosen.clock, emulation or chosen.emulation, chosen.adapters)  # type: ignore[arg-type]
