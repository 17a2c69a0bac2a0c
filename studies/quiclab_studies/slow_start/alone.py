"""One connection with each algorithm of the start over paths and queues, in QUIC and TCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from quiclab_studies.slow_start.measures import AREA, FURTHER, LOSSES, LOST
from quiclab_studies.slow_start.paths import BY_NAME, PATHS, SAMPLES
from quiclab_studies.slow_start.starts import QUIC, STACKS, STARTS, Start, flow
from quiclab_studies.slow_start.stored.recorded import FLOW, start_of
from quiclab_studies.slow_start.views import curves, over_paths, thresholds

if TYPE_CHECKING:
    from quiclab.study import Changes

QUEUES_BDP = (0.2, 0.5, 1, 2, 4)
RUNS = 1
STACK, PATH, QUEUE = "stack", "path", "queue_bdp"


def one(start: Start) -> Configuration:
    """Return a start with nothing else on the path."""

    def changes(given: Changes) -> Changes:
        rest = dict(given)
        stack, name, queue = (str(rest.pop(key)) for key in (STACK, PATH, QUEUE))
        path = BY_NAME[name]
        return {
            **rest,
            "duration": f"{path.seconds:g} s",
            "record": {"series_interval": f"{path.rtt_ms / SAMPLES:g} ms"},
            "links": path.links(float(queue)),
            "flows": {FLOW: flow(stack, start, path, path.seconds)},
        }

    return Configuration(start.name, start.label, changes)


COMMON = assumed(__file__, "common")
STUDY = Study(
    "slow_start/alone",
    design=Design(
        scenario="scenarios/slow_start.toml",
        configurations=tuple(one(start) for start in STARTS),
        factors=(
            Factor("stack", "stack", "Stack", "", STACKS, value_as(STACK)),
            Factor("queue", "queue_bdp", "Queue", "BDP", QUEUES_BDP, value_as(QUEUE)),
            Factor("path", "path", "Path", "", tuple(path.name for path in PATHS), value_as(PATH)),
        ),
        runs=RUNS,
    ),
    measures=Measures(metric=LOST, further=FURTHER, keep=start_of),
    presentation=Presentation(
        title="Starts of connections, alone",
        abstract="The first 30 round trips of a download with slow start, HyStart of Linux, HyStart++, SEARCH, Rapid "
        "Start, Careful Resume and Jump Start, in QUIC and TCP, over 1 to 1000 Mbit/s, 2 to 600 ms and queues "
        "of 0.2 to 4 bandwidth-delay products: delivered bytes over time against the full rate from the first round "
        "trip on.",
        source="quiclab: no publication",
        figures=(
            drawn_figure(
                "Delivered bytes",
                "Bytes delivered by QUIC over round trips after the first byte can arrive, in bandwidth-delay "
                "products, behind a queue of one; the thin line is the full rate.",
                curves(QUIC, 1),
            ),
            drawn_figure(
                "Time lost",
                "Round trips of the full rate by which delivered bytes are behind after 30 round trips.",
                over_paths(LOST.name, (0, 15), digits=1),
            ),
            drawn_figure(
                "Integral of delivered bytes",
                "Integral of delivered bytes over 30 round trips, of that at the full rate [%].",
                over_paths(AREA.name, (0, 100), reverse=True),
            ),
            drawn_figure(
                "Thresholds",
                "Threshold a round trip after the end of slow start, in bandwidth-delay products; the lines are the "
                "path without its queue, and with it. A start without a dot has not ended.",
                thresholds(),
            ),
            drawn_figure(
                "Losses",
                "Bytes found lost until two round trips after the end of slow start, in bandwidth-delay products.",
                over_paths(LOSSES.name, (0, 2), digits=1),
            ),
        ),
        assumptions=COMMON,
        limits=(
            "One run of each setting: chance is only in the jitter of acknowledgements, 10 us.",
            "A queue has at least four full packets: at 1 Mbit/s more than a fifth of the bandwidth-delay product.",
        ),
    ),
)
