"""Further starts of the flows in random scenarios: outcomes that chance decides.

Hosts count time in ticks: TCP's timestamps in milliseconds, timers in the kernel's ticks or in milliseconds. When in a
tick a flow begins is chance, as random losses are, and a few microseconds may decide between two outcomes.
"""

from __future__ import annotations

import re
from functools import partial

from quiclab.scenario.quantity import nanoseconds
from quiclab.study import Changes, Variant

#: Steps within a millisecond [us], and runs of each.
STEP_US, RUNS = 50, 2
#: A change that makes a flow.
FLOW = re.compile(r"flows\.\w+")
#: The flow of a scenario whose cases make none.
ONLY_FLOW = {"flows.main": {"start": "0 s"}}


def _later(microseconds: int, changes: Changes) -> Changes:
    """Return the changes of a setting whose flows all start later."""
    flows = {name: value for name, value in changes.items() if FLOW.fullmatch(name) and isinstance(value, dict)}
    starts = {f"{name}.start": nanoseconds(value["start"]) for name, value in (flows or ONLY_FLOW).items()}
    return {**changes, **{path: f"{start + 1000 * microseconds} ns" for path, start in starts.items()}}


STARTS = tuple(
    Variant(
        f"start_{microseconds}us",
        f"flows start {microseconds} us later",
        "When in the ticks of the hosts' clocks a flow starts is chance.",
        partial(_later, microseconds),
        RUNS,
        interpretation=False,
    )
    for microseconds in range(STEP_US, 1000, STEP_US)
)
