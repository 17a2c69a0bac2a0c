"""The satellite test of C4: 100 MB over 250 Mbit/s and 600 ms, with what an earlier connection has found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quiclab.study import (
    Configuration,
    Design,
    Factor,
    Figure,
    Measures,
    Metric,
    Presentation,
    Study,
)
from quiclab_studies.declarations import value_as
from quiclab_studies.remarks import assumed
from quiclab_studies.slow_start.alone import STACK
from quiclab_studies.slow_start.paths import Path
from quiclab_studies.slow_start.starts import CAREFUL_RESUME, STACKS, STARTS, Start, flow
from quiclab_studies.slow_start.stored.recorded import FLOW

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study import Changes

#: draft-huitema-ccwg-c4-test, "satellite": remembered window and RTT, and the time that the download may take [s].
PATH, QUEUE_BDP, SIZE = Path(250, 600), 1.0, "100 MB"
SAVED = {"window": "18750 kB", "rtt": "600.123 ms"}
LIMIT_S = 7.4
RUNS = 2


def one(start: Start) -> Configuration:
    """Return a download with a start."""

    def changes(given: Changes) -> Changes:
        rest = dict(given)
        main: dict[str, Any] = flow(str(rest.pop(STACK)), start, PATH, PATH.seconds)
        main["workload"] = {"kind": "download", "size": SIZE}
        if start.name == CAREFUL_RESUME:
            main["sender"]["saved_path"] = SAVED
        return {
            **rest,
            "duration": "60 s",
            "until": "workloads_done",
            "record": {},
            "links": PATH.links(QUEUE_BDP),
            "flows": {FLOW: main},
        }

    return Configuration(start.name, start.label, changes)


def seconds(result: RunResult) -> float:
    """Return the time of the download from the start of the handshake [s]."""
    found = result.flows[FLOW].download_time_s
    return math.nan if found is None else found


def lost_mb(result: RunResult) -> float:
    """Return what the queue dropped [MB]."""
    return float(result.elements["down"]["dropped"]["bytes"]) / 1e6


TIME = Metric("download_s", "Download", "s", seconds)
STUDY = Study(
    "slow_start/satellite",
    design=Design(
        scenario="scenarios/slow_start.toml",
        configurations=tuple(one(start) for start in STARTS),
        factors=(Factor("stack", "stack", "Stack", "", STACKS, value_as(STACK)),),
        runs=RUNS,
    ),
    measures=Measures(metric=TIME, further=(Metric("dropped_mb", "Dropped", "MB", lost_mb),)),
    presentation=Presentation(
        title="A download over a geostationary satellite",
        abstract="100 MB over 250 Mbit/s and 600 ms with a queue of one bandwidth-delay product, the satellite test of "
        "draft-huitema-ccwg-c4-test, in which Careful Resume remembers a window of 18.75 MB and an RTT of 600.123 ms.",
        source="draft-huitema-ccwg-c4-test (private-octopus/c4, doc/c4-tests.md)",
        figures=(Figure("Time of the download", "", "stack", "From the start of the handshake to the last byte."),),
        assumptions=assumed(__file__, "satellite"),
        limits=("The published time, 7.4 s, is a limit of the test, not a result.",),
    ),
)
