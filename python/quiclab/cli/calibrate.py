"""`quiclab kernel calibrate`: validation of an emulated network."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from quiclab.cli.lane import AdapterOption, ClockOption, EmulationOption, LaneOptions
from quiclab.cli.values import JsonOption, SetOption, parse_sets
from quiclab.errors import QuiclabError
from quiclab.lane.calibration.network import calibrate, verdict
from quiclab.report import show
from quiclab.result.tables import text as cell
from quiclab.scenario import load
from quiclab.scenario.tree import to_json


def calibrate_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file.")],
    sets: SetOption = None,
    clock: ClockOption = None,
    emulation: EmulationOption = None,
    adapters: AdapterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab kernel calibrate`."""
    lane = LaneOptions("kernel", clock, emulation, adapters).chosen()
    assert lane is not None  # noqa: S101 - it is that of the kernel
    scenario = load(file, parse_sets(sets), lane.stacks())
    checks = calibrate(scenario, lane, lambda message: print(message, file=sys.stderr, flush=True), file.parent)
    if as_json:
        print(to_json({"schema": "quiclab.calibration/1", "checks": [asdict(check) for check in checks]}))
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
