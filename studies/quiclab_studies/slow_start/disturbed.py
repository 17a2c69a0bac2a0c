"""A start beside a flow that is there already, or with jitter as on Wi-Fi."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.study import (
    Configuration,
    Design,
    Factor,
    Measures,
    Presentation,
    Study,
)
from quiclab_studies.declarations import drawn_figure, value_as
from quiclab_studies.remarks import assumed
from quiclab_studies.slow_start.alone import COMMON, PATH, STACK
from quiclab_studies.slow_start.measures import FURTHER, LOSSES, LOST
from quiclab_studies.slow_start.paths import SAMPLES, Path
from quiclab_studies.slow_start.starts import NONE, QUIC, STACKS, STARTS, TCP, Start, flow
from quiclab_studies.slow_start.stored.recorded import FLOW, start_of
from quiclab_studies.slow_start.views import curves_disturbed, over_disturbances

if TYPE_CHECKING:
    from quiclab.study import Changes

PATHS = (Path(10, 20), Path(10, 100), Path(100, 20), Path(100, 100))
BY_NAME = {path.name: path for path in PATHS}
QUEUE_BDP, RUNS = 1.0, 3
CROSS, JITTER, CALM = "TCP flow", "jitter", "none"
DISTURBANCES = (CALM, CROSS, JITTER)
DISTURBANCE = "disturbance"
#: Average jitter of the "bad Wi-Fi" test of draft-huitema-ccwg-c4-test [ms].
JITTER_MS = 7.0
#: When the start begins beside a TCP flow, in round trips: it has left slow start and its queue is there.
LATER_ROUND_TRIPS = 150
OTHER = Start(NONE, "slow start")


def one(start: Start) -> Configuration:
    """Return a start with a disturbance."""

    def changes(given: Changes) -> Changes:
        rest = dict(given)
        stack, name, disturbance = (str(rest.pop(key)) for key in (STACK, PATH, DISTURBANCE))
        path = BY_NAME[name]
        crossed = disturbance == CROSS
        after_s = LATER_ROUND_TRIPS * path.rtt_ms / 1e3 if crossed else 0.0
        whole_s = after_s + path.seconds
        flows: dict[str, Any] = {FLOW: flow(stack, start, path, path.seconds, after_s)}
        if crossed:
            flows["other"] = flow(TCP, OTHER, path, whole_s)
        return {
            **rest,
            "duration": f"{whole_s:g} s",
            "record": {"series_interval": f"{path.rtt_ms / SAMPLES:g} ms"},
            "links": path.links(QUEUE_BDP, JITTER_MS if disturbance == JITTER else 0.0),
            "flows": flows,
        }

    return Configuration(start.name, start.label, changes)


STUDY = Study(
    "slow_start/disturbed",
    design=Design(
        scenario="scenarios/slow_start.toml",
        configurations=tuple(one(start) for start in STARTS),
        factors=(
            Factor("stack", "stack", "Stack", "", STACKS, value_as(STACK)),
            Factor("disturbance", "disturbance", "Disturbance", "", DISTURBANCES, value_as(DISTURBANCE)),
            Factor("path", "path", "Path", "", tuple(BY_NAME), value_as(PATH)),
        ),
        runs=RUNS,
        own_seeds=True,
    ),
    measures=Measures(metric=LOST, further=FURTHER, keep=start_of),
    presentation=Presentation(
        title="Starts of connections, disturbed",
        abstract="The first 30 round trips of a download with seven algorithms of the start, in QUIC and TCP, beside "
        "a flow of TCP CUBIC that is there already, or with jitter of 7 ms, behind a queue of one bandwidth-delay "
        "product.",
        source="quiclab: no publication",
        figures=(
            drawn_figure(
                "Time lost",
                "Round trips of the full rate by which delivered bytes are behind after 30 round trips; beside the TCP "
                "flow the full rate is half of the link's.",
                over_disturbances(LOST.name, (0, 25), digits=1),
            ),
            drawn_figure(
                "Losses",
                "Bytes found lost until two round trips after the end of slow start, in bandwidth-delay products.",
                over_disturbances(LOSSES.name, (0, 2), digits=2),
            ),
            drawn_figure(
                "Delivered bytes",
                "Bytes delivered by QUIC at 100 Mbit/s and 100 ms, mean of the runs, in bandwidth-delay products; the "
                "thin line is the full rate.",
                curves_disturbed(QUIC, "100 Mbit/s, 100 ms"),
            ),
        ),
        assumptions=(
            *COMMON,
            *assumed(__file__, "disturbed"),
        ),
        limits=("One queue; one other flow.",),
    ),
)
