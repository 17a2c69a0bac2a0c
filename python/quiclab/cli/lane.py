"""Options of the lane: `--lane`, `--clock`, `--emulation` and related options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import OptionInfo

from quiclab.cli.application import KERNEL_LANE
from quiclab.cli.values import integer
from quiclab.errors import RequestError, not_one_of, unexpected
from quiclab.lane.choices import CERTIFICATES, CLOCKS, DEFAULT_CERTIFICATE, DELAY_STAGES, EMULATIONS
from quiclab.scenario import load

if TYPE_CHECKING:
    from quiclab.lane.run import Lane
    from quiclab.scenario import Scenario

LANES = ("sim", "kernel")
#: Options that are not named as their parameter.
FLAGS = {"delay_stage": "--delay-stage", "adapters": "--adapter", "syscall_cost_ns": "--syscall-cost"}


def _one_of(flag: str, words: Iterable[str], text: str) -> OptionInfo:
    """Declare an option whose value is one of some words."""
    option: OptionInfo = typer.Option(flag, metavar="|".join(words), help=text, rich_help_panel=KERNEL_LANE)
    return option


LaneOption = Annotated[str, _one_of("--lane", LANES, "Lane: simulation in process, or real programs.")]
ClockOption = Annotated[
    str | None,
    _one_of("--clock", CLOCKS, "Clock: virtual in lane sim; real in lane kernel, or virtual in a guest."),
]
EmulationOption = Annotated[
    str | None,
    _one_of(
        "--emulation",
        EMULATIONS,
        "Network of lane kernel: quiclab's elements, or queueing disciplines of the kernel.",
    ),
]
DelayStageOption = Annotated[
    str | None,
    _one_of(
        "--delay-stage",
        DELAY_STAGES,
        "With netem, location of the delay: on the next hop, or in the queue, which it fills since Linux 6.12.",
    ),
]
CertificateOption = Annotated[
    str | None,
    _one_of(
        "--certificate",
        CERTIFICATES,
        f"Key of the certificate of servers of lane kernel, alone or with its chain (default: {DEFAULT_CERTIFICATE}).",
    ),
]
AdapterOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--adapter",
        metavar="FILE",
        help="Adapter of another program (docs/adapters.md).",
        rich_help_panel=KERNEL_LANE,
    ),
]
SyscallCostOption = Annotated[
    int | None,
    typer.Option(
        "--syscall-cost",
        parser=integer(0, 1_000_000),
        metavar="NS",
        help="Cost of each system call with the virtual clock, in nanoseconds.",
        rich_help_panel=KERNEL_LANE,
    ),
]


@dataclass(frozen=True)
class LaneOptions:
    """Options of the lane, as of the command line."""

    lane: LaneOption = "sim"
    clock: ClockOption = None
    emulation: EmulationOption = None
    adapters: AdapterOption = None
    delay_stage: DelayStageOption = None
    syscall_cost_ns: SyscallCostOption = None
    certificate: CertificateOption = None

    def chosen(self) -> Lane | None:
        """Return the kernel lane with its options; None for lane sim.

        Raises
        ------
        RequestError
            If the lane is unknown, or does not support the clock or the emulation.
        """
        if self.lane not in LANES:
            raise not_one_of("--lane", self.lane, LANES)
        given: dict[str, Any] = {
            name: value for name, value in vars(self).items() if name != "lane" and value not in (None, [])
        }
        if self.lane == "sim":
            if given.pop("clock", "virtual") != "virtual":
                raise unexpected("--clock", '"virtual" in lane sim', self.clock)
            for name in given:
                raise RequestError(f"{FLAGS.get(name, f'--{name}')}: not supported in lane sim; use --lane kernel")
            return None
        known = {"clock": CLOCKS, "emulation": EMULATIONS, "delay_stage": DELAY_STAGES, "certificate": CERTIFICATES}
        for name, words in known.items():
            if (value := given.get(name)) is not None and value not in words:
                raise not_one_of(FLAGS.get(name, f"--{name}"), value, words)
        if self.syscall_cost_ns is not None and self.clock != "virtual":
            raise RequestError("--syscall-cost requires --clock virtual")
        if self.delay_stage is not None and self.emulation != "netem":
            raise RequestError("--delay-stage requires --emulation netem")
        from quiclab.lane.run import Lane  # noqa: PLC0415 - most commands run in lane sim

        return Lane(**{**given, "adapters": tuple(self.adapters or ())})


def load_either(file: Path, sets: Sequence[tuple[str, str]]) -> Scenario:
    """Read a scenario of either lane; its stacks may be those of either."""
    from quiclab.lane.run import Lane  # noqa: PLC0415 - as above

    try:
        return load(file, sets)
    except RequestError:
        return load(file, sets, Lane().stacks())
