"""Networks of the kernel lane, which are measured before runs in real time: a wrong one makes results invalid."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, TextIO

from quiclab.errors import QuiclabError
from quiclab.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quiclab.experiment.plan import Plan


def check_networks(plan: Plan, settings: Iterable[int], stream: TextIO | None = None) -> None:
    """Measure each network of settings in real time, once for each lane and network.

    Parameters
    ----------
    plan, settings
        The plan, and the indices of its settings.
    stream
        Output stream of messages (default: stderr).

    Raises
    ------
    QuiclabError
        If a network does not match.
    """
    seen: set[tuple[object, ...]] = set()
    for index in settings if plan.in_real_time else ():
        if (lane := plan.lane_of(index)) is None or lane.clock != "real":
            continue
        from quiclab.lane.calibration.network import calibrate, networks, verdict  # noqa: PLC0415 - for this lane only

        scenario, base_dir = json.loads(plan.scenario(index)), plan.setting(index)[0].base_dir
        found = {(lane.emulation, lane.delay_stage, base_dir, key) for key in networks(scenario)}
        if found <= seen:
            continue
        seen |= found
        checks = calibrate(
            Scenario.from_dict(scenario),
            lane,
            lambda text: print(text, file=stream or sys.stderr, flush=True),
            base_dir,
        )
        if problem := verdict(checks):
            raise QuiclabError(f"{problem}; no run was started")
