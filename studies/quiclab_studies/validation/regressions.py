"""Settings in which lab-tcp once differed from Linux: whether the differences that were fixed stay away.

Each setting stands for a difference that was found in a scenario of its kind. The kernel lane with the virtual clock
runs the same elements with Linux TCP. Whoever changes a mechanism runs the study in the sim lane, and compares it with
the stored runs of the kernel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab.lane.run import Lane
from quiclab.study import (
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    Metric,
    Presentation,
    Study,
    Table,
    TextTable,
)
from quiclab.study.criteria import Criterion
from quiclab_studies.declarations import drawn_figure, measures_of_criteria
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.blind import KERNEL, MODEL, SOURCE, srtt_ms
from quiclab_studies.validation.regressions_cells import BY_NAME, CELLS
from quiclab_studies.validation.regressions_views import HEADS, LIMIT, Views

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study.findings import Key

RUNS = 2
DATA_LINKS = ("bottleneck", "down1", "down2")


def goodput_mbps(result: RunResult) -> float:
    """Return the goodput of all flows over the run [Mbit/s]."""
    delivered = math.fsum(flow.delivered_bytes for flow in result.flows.values())
    end_s: float = result.data["run"]["network_time_s"]
    return 8e-6 * delivered / end_s


def late_goodput_mbps(result: RunResult) -> float:
    """Return the goodput of the flow that starts last, from its start [Mbit/s]; NaN where there is one flow."""
    if len(result.flows) < 2:
        return math.nan
    flow = list(result.flows.values())[-1]
    if flow.start_s is None:
        return math.nan
    end_s: float = result.data["run"]["network_time_s"]
    return 8e-6 * flow.delivered_bytes / (end_s - flow.start_s)


def retransmissions(result: RunResult) -> float:
    """Return the number of segments that the senders sent again."""
    return math.fsum(flow.sender["retransmitted_packets"] for flow in result.flows.values())


def acknowledgements(result: RunResult) -> float:
    """Return the number of packets that the senders received: acknowledgements, but for the handshake and requests."""
    return math.fsum(flow.sender["packets_received"] for flow in result.flows.values())


def drops(result: RunResult) -> float:
    """Return the packets that the links in the direction of data dropped, in queues and at random."""
    elements = result.data["elements"]
    return math.fsum(elements[name]["dropped"]["packets"] for name in DATA_LINKS if name in elements)


METRICS = (
    Metric("goodput_mbps", "Goodput of all flows", "Mbit/s", goodput_mbps),
    Metric("late_goodput_mbps", "Goodput of the flow that starts late", "Mbit/s", late_goodput_mbps),
    Metric("srtt_ms", "Mean smoothed RTT", "ms", srtt_ms),
    Metric("retransmissions", "Retransmissions", "packets", retransmissions),
    Metric("acks", "Acknowledgements received", "packets", acknowledgements),
    Metric("drops", "Drops", "packets", drops),
)
VIEWS = Views(MODEL, KERNEL, METRICS)


_KEYS: list[Key] = [("tcp", cell.name) for cell in CELLS]
_LATE: list[Key] = [("tcp", cell.name) for cell in CELLS if len(cell.case.flows) > 1]
CRITERIA = (
    Criterion("VR-1", "Goodput is within 5 % in every setting.", {}, dict.fromkeys(_KEYS, LIMIT)),
    Criterion("VR-2", "Mean RTT is within 5 % in every setting.", {}, dict.fromkeys(_KEYS, LIMIT), "srtt_ms"),
    Criterion(
        "VR-3",
        "The number of acknowledgements is within 5 % in every setting.",
        {},
        dict.fromkeys(_KEYS, LIMIT),
        "acks",
    ),
    Criterion(
        "VR-4",
        "Goodput of a flow that starts late is within 5 %.",
        {},
        dict.fromkeys(_LATE, LIMIT),
        "late_goodput_mbps",
    ),
)

STUDY = Study(
    "validation/regressions",
    design=Design(
        scenario="scenarios/linux_tcp.toml",
        configurations=(Configuration("tcp", "TCP", {}),),
        factors=(Factor("cell", "cell", "Setting", "", tuple(BY_NAME), lambda name: BY_NAME[str(name)].changes),),
        engines=(Engine(MODEL), Engine(KERNEL, lane=Lane(clock="virtual"), stacks={MODEL: "linux"})),
        runs=RUNS,
    ),
    measures=measures_of_criteria(METRICS, CRITERIA, Table("", SOURCE, engine=KERNEL)),
    presentation=Presentation(
        title="Differences that were fixed: the TCP model and Linux",
        abstract=f"{len(CELLS)} settings, one for each difference from Linux that was found in lab-tcp and fixed: "
        "CUBIC after steps of the rate, over a split bearer and in a short queue, BBR behind rate limits and with "
        "losses, NewReno over jittered links, numbers of acknowledgements, a flow that starts behind a full queue.",
        source="quiclab: no publication",
        figures=(
            drawn_figure(
                "Differences by setting",
                "Means over the runs, relative to Linux; grey: the second run in the kernel lane compared with the "
                "first.",
                VIEWS.chart,
                SOURCE,
            ),
            Figure("Goodput", SOURCE, "", "Mean over the runs.", "VR-1", pairs=True),
            Figure("Mean RTT", SOURCE, "", "Mean over time, flows and runs.", "VR-2", pairs=True),
        ),
        text_tables=(TextTable("Settings", HEADS, VIEWS.listing),),
        assumptions=assumed(__file__, "regressions"),
        limits=(
            "Two runs of each setting show large differences only; counts of losses in a short transfer are small "
            "numbers.",
            "The guest has an infinitely fast CPU, and so has the model.",
        ),
    ),
)

STUDIES = (STUDY,)
