"""One sender through one bottleneck, over rates, round trip times and queues."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab.scenario.quantity import megabits_per_second
from quiclab.study import (
    Configuration,
    Design,
    Engine,
    Factor,
    Measures,
    Metric,
    Presentation,
    Study,
)
from quiclab_studies import bottleneck
from quiclab_studies.controls.senders import (
    NOQ_BBR3,
    QUIC_BBR3,
    QUIC_C4,
    QUINN_BBR3,
    TCP_BBR1,
    TCP_BBR3,
    TCP_C4,
    TCP_CUBIC,
    Sender,
)
from quiclab_studies.controls.stored.late_goodput import after_5s
from quiclab_studies.controls.views import over_networks
from quiclab_studies.declarations import drawn_figure, value_as
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study import Changes

SENDERS = (TCP_BBR3, QUIC_BBR3, NOQ_BBR3, QUINN_BBR3, TCP_BBR1, TCP_CUBIC, TCP_C4, QUIC_C4)
RATES_MBPS, RTTS_MS, QUEUES_BDP = (1, 10, 100, 1000), (2, 20, 200), (0.25, 1, 8)
#: Duration by rate [s]: several probes for the RTT each, which come every five or ten seconds.
SECONDS = {1: 60.0, 10: 60.0, 100: 30.0, 1000: 20.0}
RUNS = 2
RATE, RTT, QUEUE = "links.down.rate", "rtt_ms", "queue_bdp"


def network(given: Changes) -> Changes:
    """Return the links for rate, round trip time and queue, which the factors have put in `given`."""
    rest = dict(given)
    rate, rtt, queue = (float(str(rest.pop(name))) for name in (RATE, RTT, QUEUE))
    return {**rest, "links": bottleneck.links(rate, rtt, queue)}


def one(sender: Sender) -> Configuration:
    """Return a sender alone."""

    def changes(given: Changes) -> Changes:
        seconds = SECONDS[int(str(given[RATE]))]
        return {**network(given), "duration": f"{seconds:g} s", "flows": {"main": sender.flow(seconds)}}

    return Configuration(sender.name, sender.label, changes)


def kept_mbps(result: RunResult, flow: str) -> float:
    """Return the stored goodput of a flow [Mbit/s]; 0 if there is no such flow, NaN if it delivered nothing in time."""
    value = result.data["kept"].get(flow, 0.0)
    return math.nan if value is None else float(value)


def utilisation(result: RunResult) -> float:
    """Return the goodput after startup, as a share of the rate [%]; headers are the rest of a full link."""
    return 100 * kept_mbps(result, "main") / megabits_per_second(result.data["scenario"]["links"]["down"]["rate"])


def queueing_ms(result: RunResult) -> float:
    """Return the smoothed RTT above the smallest, mean over time [ms]."""
    mean = result.over_time("main.sender", "srtt_ms", "mean")
    least = result.over_time("main.sender", "min_rtt_ms", "least")
    return mean - least


def queueing_share(result: RunResult) -> float:
    """Return the same as a share of the smallest RTT [%]."""
    least = result.over_time("main.sender", "min_rtt_ms", "least")
    return 100 * queueing_ms(result) / least if least else math.nan


def loss_percent(result: RunResult) -> float:
    """Return the packets that the queue dropped, of all that came [%]."""
    link = result.elements["down"]
    dropped, received = (float(link[name]["packets"]) for name in ("dropped", "received"))
    return 100 * dropped / max(received, 1.0)


METRIC = Metric("utilisation_percent", "Goodput of the rate", "%", utilisation)
QUEUEING = Metric("queueing_percent", "Queueing delay of the round trip time", "%", queueing_share)
LOSS = Metric("loss_percent", "Packets dropped", "%", loss_percent)
FURTHER = (QUEUEING, Metric("queueing_ms", "Queueing delay", "ms", queueing_ms), LOSS)

STUDY = Study(
    "controls/alone",
    design=Design(
        scenario="scenarios/bbr_v3.toml",
        configurations=tuple(one(sender) for sender in SENDERS),
        factors=(
            Factor("queue", "queue_bdp", "Queue", "BDP", QUEUES_BDP, value_as(QUEUE)),
            Factor("rate", "rate_mbps", "Rate", "Mbit/s", RATES_MBPS, value_as(RATE)),
            Factor("rtt", "rtt_ms", "Round trip time", "ms", RTTS_MS, value_as(RTT)),
        ),
        engines=(Engine("sim", needs="noq"),),
        engine_changes=lambda _: {"record.series_interval": "100 ms"},
        runs=RUNS,
    ),
    measures=Measures(metric=METRIC, further=FURTHER, keep=after_5s),
    presentation=Presentation(
        title="BBR version 3 in four stacks, and C4, alone",
        abstract="One download with BBR version 3 in lab-tcp, lab-quic, noq and quinn, with BBR version 1 and CUBIC of "
        "Linux beside it, and with C4 in lab-tcp and lab-quic, over 1 to 1000 Mbit/s, 2 to 200 ms and queues of 0.25 "
        "to 8 bandwidth-delay products.",
        source="quiclab: no publication",
        figures=(
            drawn_figure("Goodput", "Goodput after 5 s, of the rate [%].", over_networks(METRIC.name, (50, 100))),
            drawn_figure(
                "Queueing delay",
                "Mean smoothed RTT above the smallest, of the smallest [%].",
                over_networks(QUEUEING.name, (0, 200)),
            ),
            drawn_figure("Losses", "Packets that the queue dropped [%].", over_networks(LOSS.name, (0, 5), digits=1)),
        ),
        assumptions=assumed(__file__, "alone"),
        limits=("Two runs differ by the jitter of acknowledgements alone, 10 us.",),
    ),
)
