"""Random scenarios in the sim lane and on the kernel: how far the TCP model is from Linux without tuning.

Each case is a network and one to four TCP downloads, drawn from the seed of the study (`--seed`). The kernel lane with
the virtual clock runs the same elements with Linux TCP. Whoever changes a mechanism runs the study with a new seed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from quiclab.lane.run import Lane
from quiclab.study import (
    Configuration,
    Design,
    Engine,
    Figure,
    Metric,
    Presentation,
    Study,
    Table,
)
from quiclab.study.criteria import Criterion
from quiclab_studies.declarations import measures_of_criteria, numbered_cases
from quiclab_studies.reductions import jain, mean
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.blind_cases import CASES, draw_case
from quiclab_studies.validation.blind_starts import STARTS
from quiclab_studies.validation.blind_views import Views

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study.findings import Key

MODEL, KERNEL = "lab-tcp", "kernel-virtual"
SOURCE = "the kernel lane with the virtual clock, the same elements as the network"
RUNS = 2
GOODPUT, MEDIAN_GOODPUT, ROUND_TRIP_TIME, SHARE = 0.05, 0.005, 0.05, 0.95
FIRST_SEED = 1


def goodput_mbps(result: RunResult) -> float:
    """Return the goodput of all flows from their start to the end of the run, added up [Mbit/s]."""
    end_s = result.data["run"]["network_time_s"]
    flows = result.flows.values()
    return math.fsum(8e-6 * flow.delivered_bytes / (end_s - flow.start_s) for flow in flows if flow.start_s is not None)


def srtt_ms(result: RunResult) -> float:
    """Return the smoothed RTT of the senders, mean over time and flows [ms]."""
    return _over_flows(result, "mean")


def largest_srtt_ms(result: RunResult) -> float:
    """Return the largest smoothed RTT of each sender, mean over the flows [ms]."""
    return _over_flows(result, "largest")


def retransmissions(result: RunResult) -> float:
    """Return the segments sent again, as a share of all [%]."""
    senders = [flow.sender for flow in result.flows.values()]
    sent = math.fsum(sender["packets_sent"] for sender in senders)
    return 100 * math.fsum(sender["retransmitted_packets"] for sender in senders) / sent if sent else math.nan


def fairness(result: RunResult) -> float:
    """Return Jain's index over the goodputs of the flows; 1 for one flow."""
    end_s = result.data["run"]["network_time_s"]
    flows = result.flows.values()
    return jain(flow.delivered_bytes / (end_s - flow.start_s) for flow in flows if flow.start_s is not None)


def _over_flows(result: RunResult, statistic: Literal["mean", "largest"]) -> float:
    values = [result.over_time(f"{name}.sender", "srtt_ms", statistic) for name in result.flows]
    return mean([value for value in values if not math.isnan(value)])


METRIC = Metric("goodput_mbps", "Goodput of all flows", "Mbit/s", goodput_mbps)
FURTHER = (
    Metric("srtt_ms", "Mean smoothed RTT", "ms", srtt_ms),
    Metric("largest_srtt_ms", "Largest smoothed RTT", "ms", largest_srtt_ms),
    Metric("retransmissions_percent", "Segments sent again", "%", retransmissions),
    Metric("jfi", "Jain's fairness index", "", fairness),
)
METRICS = (METRIC, *FURTHER)
RELATIVE = frozenset({METRIC.name, "srtt_ms", "largest_srtt_ms"})
VIEWS = Views(MODEL, KERNEL, METRICS, RELATIVE, lambda seed, key: draw_case(seed, int(key[1])).description)


_KEYS: list[Key] = [("tcp", number) for number in range(1, CASES + 1)]
CRITERIA = (
    Criterion(
        "VB-1",
        "Goodput is within 5 % in at least 95 % of the cases, and within 0.5 % in the median.",
        {},
        dict.fromkeys(_KEYS, GOODPUT),
        median_limit=MEDIAN_GOODPUT,
        share=SHARE,
    ),
    Criterion(
        "VB-2",
        "Mean RTT is within 5 % in at least 95 % of the cases.",
        {},
        dict.fromkeys(_KEYS, ROUND_TRIP_TIME),
        "srtt_ms",
        share=SHARE,
    ),
)


def blind(seed: int) -> Study:
    """Return the study with the cases of a seed."""
    return Study(
        "validation/blind",
        design=Design(
            scenario="scenarios/linux_tcp.toml",
            configurations=(Configuration("tcp", "TCP", {}),),
            factors=(numbered_cases(CASES, lambda number: draw_case(seed, number).changes),),
            engines=(Engine(MODEL), Engine(KERNEL, lane=Lane(clock="virtual"), stacks={MODEL: "linux"})),
            variants=STARTS,
            runs=RUNS,
            seed=seed,
        ),
        measures=measures_of_criteria(METRICS, CRITERIA, Table("", SOURCE, engine=KERNEL)),
        presentation=Presentation(
            title="Random scenarios: the TCP model and Linux",
            abstract=f"{CASES} networks and one to four TCP downloads each, drawn at random: Reno, CUBIC and BBR over "
            "links of 1 to 200 Mbit/s with round trip times of 2 to 600 ms, queues of 0.1 to 10 bandwidth-delay "
            "products, queue disciplines, loss, jitter, and split bearers; in the sim lane and on the kernel with the "
            "virtual clock.",
            source="quiclab: no publication",
            figures=(
                VIEWS.figure(SOURCE, "cases", "the kernel"),
                Figure("Goodput", SOURCE, "", "Mean over the runs.", "VB-1", pairs=True),
                Figure("Mean RTT", SOURCE, "", "Mean over time, flows and runs.", "VB-2", pairs=True),
            ),
            text_tables=VIEWS.tables,
            assumptions=assumed(__file__, "blind"),
            limits=(
                "Many cases are sensitive to small differences: the kernel's two runs, which differ in the seed, are "
                "as far apart as the table says.",
                "The guest has an infinitely fast CPU, and so has the model.",
            ),
        ),
        drawn=blind,
    )


STUDY = blind(FIRST_SEED)
STUDIES = (STUDY,)
