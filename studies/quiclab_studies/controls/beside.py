"""Two senders in one queue, each with each: shares, Jain's index, and harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.result.stats import reduced
from quiclab.study import (
    Configuration,
    Design,
    Factor,
    Measures,
    Metric,
    Presentation,
    Study,
)
from quiclab_studies import bottleneck
from quiclab_studies.controls.alone import kept_mbps
from quiclab_studies.controls.senders import (
    QUIC_BBR1,
    QUIC_BBR3,
    QUIC_C4,
    QUIC_CUBIC,
    QUIC_NEWRENO,
    TCP_BBR1,
    TCP_BBR3,
    TCP_C4,
    TCP_CUBIC,
    TCP_NEWRENO,
)
from quiclab_studies.controls.stored.late_goodput import after_20s
from quiclab_studies.controls.views import matrix
from quiclab_studies.declarations import drawn_figure
from quiclab_studies.reductions import jain
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study import Changes, Value
    from quiclab.study.evaluate import Evaluation

SENDERS = (
    TCP_NEWRENO,
    TCP_CUBIC,
    TCP_BBR1,
    TCP_BBR3,
    TCP_C4,
    QUIC_NEWRENO,
    QUIC_CUBIC,
    QUIC_BBR1,
    QUIC_BBR3,
    QUIC_C4,
)
BY_NAME = {sender.name: sender for sender in SENDERS}
LABELS = {sender.name: sender.label for sender in SENDERS}
#: The second sender of a flow that has the link to itself.
NOBODY = "nobody"
RATE_MBPS, RTT_MS, QUEUES_BDP = 50.0, 40.0, (0.5, 1, 4)
SECONDS, START_S = 90.0, 3.0
RUNS = 2


def network(queue: Value) -> Changes:
    """Return the links for a queue in bandwidth-delay products."""
    return {"duration": f"{SECONDS:g} s", "links": bottleneck.links(RATE_MBPS, RTT_MS, float(str(queue)))}


def first(name: Value) -> Changes:
    """Return the flow that is there from the beginning."""
    return {"flows.bbr": None, "flows.cubic": None, "flows.first": BY_NAME[str(name)].flow(SECONDS)}


def second(name: Value) -> Changes:
    """Return the flow that starts later."""
    if name == NOBODY:
        return {}
    return {"flows.second": BY_NAME[str(name)].flow(SECONDS - START_S, START_S)}


def first_mbps(result: RunResult) -> float:
    """Return the goodput of the first flow after 20 s [Mbit/s]."""
    return kept_mbps(result, "first")


def second_mbps(result: RunResult) -> float:
    """Return that of the second [Mbit/s]; 0 if there is none."""
    return kept_mbps(result, "second")


def share_percent(result: RunResult) -> float:
    """Return the share of the first flow of both goodputs [%]."""
    both = first_mbps(result) + second_mbps(result)
    return 100 * first_mbps(result) / both if both else 50.0


def fairness(result: RunResult) -> float:
    """Return Jain's index of both goodputs."""
    return jain((first_mbps(result), second_mbps(result)))


METRIC = Metric("first_mbps", "Goodput of the first flow", "Mbit/s", first_mbps)
FURTHER = (
    Metric("second_mbps", "Goodput of the second flow", "Mbit/s", second_mbps),
    Metric("share_percent", "Share of the first flow", "%", share_percent),
    Metric("jfi", "Jain's fairness index", "", fairness),
)
Found = dict[tuple[str, str, str], float]


def shares(evaluation: Evaluation, engine: str) -> Found:
    """Return the share of the first flow by both senders and queue [%]."""
    return _means(evaluation, engine, "share_percent")


def indices(evaluation: Evaluation, engine: str) -> Found:
    """Return Jain's index by both senders and queue."""
    return _means(evaluation, engine, "jfi")


def harms(evaluation: Evaluation, engine: str) -> Found:
    """Return the harm that the second sender does to the first, by both and queue [%].

    It is the part of its goodput alone that the first flow loses (Ware et al., "Beyond Jain's Fairness Index", HotNets
    2019): half where they share evenly.
    """
    rates = _means(evaluation, engine, METRIC.name)
    return {
        (one, other, queue): 100 * (1 - rate / alone)
        for (one, other, queue), rate in rates.items()
        if (alone := rates.get((one, NOBODY, queue), 0.0)) and other != NOBODY
    }


def _means(evaluation: Evaluation, engine: str, metric: str) -> Found:
    samples = evaluation.samples(engine, metric=metric)
    found = {(str(key[2]), str(key[3]), str(key[1])): reduced(values, "mean") for key, values in samples.items()}
    return found if metric == METRIC.name else {key: value for key, value in found.items() if key[1] != NOBODY}


QUEUES: tuple[str, tuple[str, ...]] = ("Queue [BDP]", tuple(map(str, QUEUES_BDP)))
STUDY = Study(
    "controls/beside",
    design=Design(
        scenario="scenarios/bbr_v3.toml",
        configurations=(Configuration("pair", "pair", {}),),
        factors=(
            Factor("queue", "queue_bdp", "Queue", "BDP", QUEUES_BDP, network),
            Factor("first", "first", "First flow", "", tuple(BY_NAME), first),
            Factor("second", "second", "Second flow", "", (*BY_NAME, NOBODY), second),
        ),
        engine_changes=lambda _: {"record.series_interval": "1 s"},
        runs=RUNS,
    ),
    measures=Measures(metric=METRIC, further=FURTHER, keep=after_20s),
    presentation=Presentation(
        title="Congestion controls beside each other",
        abstract="Two downloads through one queue, each of ten senders with each: TCP and QUIC with NewReno, CUBIC, "
        "BBR versions 1 and 3 and C4, at 50 Mbit/s and 40 ms with queues of 0.5 to 4 bandwidth-delay products.",
        source="quiclab: no publication",
        figures=(
            drawn_figure(
                "Share of the first flow",
                "Goodput after 20 s of the sender in a row beside that in a column, of both [%].",
                matrix(shares, "Share of the first flow [%]", LABELS, QUEUES, (0, 100), diverging=True),
            ),
            drawn_figure(
                "Harm",
                "What the sender in a row loses of its goodput alone beside that in a column [%]; half where they "
                "share evenly (Ware et al. 2019).",
                matrix(harms, "Harm [%]", LABELS, QUEUES, (0, 100)),
            ),
            drawn_figure(
                "Fairness",
                "Jain's index of both goodputs.",
                matrix(indices, "Jain's index", LABELS, QUEUES, (0.5, 1), digits=2),
            ),
        ),
        assumptions=assumed(__file__, "beside"),
        limits=("One rate and one round trip time; two flows.",),
    ),
)
