"""Beyond the pacing thesis: what pacing buys, with pacers exchanged and all else equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.study import Assumption, Configuration, Factor, Figure, Metric, Presentation, Study, Variant
from quiclab_studies.pacing.beyond import (
    ASSUMPTIONS,
    BUFFERS_BDP,
    BURST,
    BURST_P99,
    COVERED,
    EVEN,
    EVENTS,
    GOODPUT,
    JAIN,
    LOSS,
    NONE,
    PACED_SHARE,
    QUEUE_METRICS,
    QUIC_SENDERS,
    RETURNED,
    RUNS,
    SENDERS,
    SOJOURN,
    SOJOURN_P95,
    STARTUP,
    STARTUP_LOST,
    SYNCHRONY,
    VARIATION,
    Mix,
    bucket,
    buffer,
    buffers,
    design,
    measures,
    network,
    sharing,
)
from quiclab_studies.pacing.beyond_views import curves, dots, figure
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quiclab.study import Changes, Value

SPREAD = "Mean and standard deviation over the runs."


def beyond(
    name: str,
    title: str,
    abstract: str,
    *,
    configurations: tuple[Configuration, ...],
    factors: tuple[Factor, ...],
    further: tuple[Metric, ...],
    figures: tuple[Figure, ...],
    assumptions: tuple[Assumption, ...] = (),
    variants: tuple[Variant, ...] = (),
    runs: int = RUNS,
    changes: Mapping[str, object] | None = None,
) -> Study:
    """Return an experiment without a publication; `changes` are those of all engines, its assumptions further ones."""
    whole: Changes = {**network(), **(changes or {})}
    return Study(
        f"pacing/beyond_{name}",
        design(
            configurations=configurations,
            factors=factors,
            engine_changes=lambda _: whole,
            variants=variants,
            runs=runs,
        ),
        measures(further=further),
        Presentation(
            title=f"What pacing buys: {title}",
            abstract=abstract,
            source="quiclab",
            figures=figures,
            assumptions=(*ASSUMPTIONS, *assumptions),
        ),
    )


# --- pacers

EVERY_SECOND, RARE = "every second packet", "every 25 ms"
ACKS: Mapping[str, dict[str, object]] = {
    EVERY_SECOND: {},
    RARE: {"quic": {"acknowledgement": {"kind": "timer", "delay": "25 ms"}}},
}
"""A receiver as in RFC 9000, and one that acknowledges half a window at a time, as with merged ACKs."""


def acknowledged(name: Value) -> Changes:
    """Return the receiver of the flow."""
    return {"flows.main.receiver": {"profile": "rfc9002", **ACKS[str(name)]}}


RECEIVER = Factor("acks", "acknowledgements", "ACKs", "", tuple(ACKS), acknowledged)


def alone(name: str, control: str = "cubic") -> Configuration:
    """Return a pacer of one flow, whose receiver the factors may have set."""

    def changes(given: Changes) -> Changes:
        flow = SENDERS[name].flow(control)
        receiver = given.get("flows.main.receiver", flow["receiver"])
        without = {path: value for path, value in given.items() if path != "flows.main.receiver"}
        return {**without, "flows.main": {**flow, "receiver": receiver}}

    return Configuration(name, SENDERS[name].label, changes)


def newreno(given: Changes) -> Changes:
    """Let every sender use NewReno."""
    merged: dict[str, Any] = dict(given)
    for path, value in given.items():
        if path.startswith("flows.") and isinstance(value, dict):
            merged[path] = {**value, "sender": {**value["sender"], "congestion_control": "newreno"}}
    return merged


NEWRENO = Variant("newreno", "NewReno", "CUBIC grows without regard to the RTT.", newreno, RUNS)
QUIC = tuple(alone(name) for name in QUIC_SENDERS)
TCP = tuple(alone(name) for name in SENDERS if name not in QUIC_SENDERS)
PACERS = beyond(
    "pacers",
    "pacers and buffers",
    "One QUIC flow with CUBIC; the pacer, the buffer and how the receiver acknowledges are exchanged.",
    configurations=QUIC,
    factors=(buffers(*BUFFERS_BDP), RECEIVER),
    variants=(NEWRENO,),
    further=QUEUE_METRICS,
    figures=(
        figure("Goodput and losses", SPREAD, curves("buffer", GOODPUT, LOSS, STARTUP_LOST, columns="acks")),
        figure("Time in the bottleneck", SPREAD, curves("buffer", SOJOURN, SOJOURN_P95, columns="acks")),
        figure("Spacing", SPREAD, curves("buffer", BURST, VARIATION, columns="acks")),
    ),
)
PACERS_TCP = beyond(
    "pacers_tcp",
    "pacers of Linux and buffers",
    "One TCP flow with CUBIC: unpaced, TCP's internal pacing, and fq.",
    configurations=TCP,
    factors=(buffers(*BUFFERS_BDP),),
    variants=(NEWRENO,),
    further=QUEUE_METRICS,
    figures=(
        figure("Pacers of Linux", SPREAD, curves("buffer", GOODPUT, LOSS, STARTUP_LOST, SOJOURN, SOJOURN_P95, BURST)),
    ),
)

# --- bursts


def burst(packets: Value) -> Changes:
    """Say how long bursts are; the configuration makes them."""
    return {BURST_KEY: packets}


BURST_KEY = "burst"
BURST_FACTOR = Factor("burst", "burst_packets_asked", "Burst", "packets", (1, 2, 4, 8, 16, 32, 64), burst)


def forced(make: Callable[[int], tuple[Mapping[str, object], Mapping[str, object]]]) -> Callable[[Changes], Changes]:
    """Return what makes bursts: pacer and receiver for a number of packets."""

    def changes(given: Changes) -> Changes:
        rest = dict(given)
        pacing, receiver = make(int(str(rest.pop(BURST_KEY))))
        flow = SENDERS["unpaced"].flow("cubic")
        sender = {"profile": "rfc9002", "congestion_control": "cubic", "pacing": dict(pacing)}
        return {**rest, "flows.main": {**flow, "sender": sender, "receiver": dict(receiver)}}

    return changes


def every(packets: int) -> dict[str, object]:
    """Return a receiver that acknowledges every N packets."""
    return {"profile": "rfc9002", "quic": {"acknowledgement": {"kind": "every", "packets": packets, "delay": "100 ms"}}}


RARELY = {"profile": "rfc9002", **ACKS[RARE]}
BURSTS = beyond(
    "bursts",
    "bursts of 1 to 64 packets",
    "Senders are forced into bursts: by rare acknowledgements, and by a pacer that waits for whole bursts.",
    configurations=(
        Configuration("acks", "no pacer, an ACK for each burst", forced(lambda n: (NONE, every(n)))),
        Configuration("acks_even", "the same ACKs, even", forced(lambda n: (EVEN, every(n)))),
        Configuration(
            "whole",
            "whole bursts, ACKs every 25 ms",
            forced(lambda n: (bucket(n, wait_for_full_burst=True), RARELY)),
        ),
    ),
    factors=(BURST_FACTOR, buffers(0.1, 0.25, 1)),
    further=(LOSS, SOJOURN, SOJOURN_P95, STARTUP_LOST, BURST, BURST_P99, VARIATION),
    figures=(
        figure("What bursts cost", SPREAD, curves("burst", GOODPUT, LOSS, SOJOURN_P95, columns="buffer")),
        figure("The bursts that came out", SPREAD, curves("burst", BURST, BURST_P99, columns="buffer")),
    ),
    assumptions=assumed(__file__, "beyond_bursts"),
)

# --- acknowledgements

THRESHOLDS = (1, 2, 4, 10, 20, 50, 100)
ASKED_DELAYS_MS = (5, 25, 100)


def asked(threshold: Value) -> Changes:
    """Request an ACK for more than N packets; in the draft: N packets may remain unacknowledged."""
    return {"asked.threshold": threshold}


def asked_delay(delay_ms: Value) -> Changes:
    """Ask for a longest delay."""
    return {"asked.delay": delay_ms}


def asking(pacing: Mapping[str, object]) -> Callable[[Changes], Changes]:
    """Return a sender with a pacer that requests acknowledgements by ACK_FREQUENCY."""

    def changes(given: Changes) -> Changes:
        rest = dict(given)
        threshold, delay_ms = rest.pop("asked.threshold"), rest.pop("asked.delay")
        flow = SENDERS["unpaced"].flow("cubic")
        sender = {
            "profile": "rfc9002",
            "congestion_control": "cubic",
            "pacing": dict(pacing),
            "ack_frequency": {"ack_eliciting_threshold": int(str(threshold)) - 1, "max_ack_delay": f"{delay_ms} ms"},
        }
        receiver = {"profile": "rfc9002", "quic": {"acknowledgement": {"kind": "as_requested"}}}
        return {**rest, "flows.main": {**flow, "sender": sender, "receiver": receiver}}

    return changes


ACK_FREQUENCY = beyond(
    "ack_frequency",
    "acknowledgements asked for (ACK_FREQUENCY)",
    "The sender asks for an ACK for each 1 to 100 packets, within 5 to 100 ms; with and without a pacer; 0.5 BDP.",
    configurations=(
        Configuration("unpaced", "no pacer", asking(NONE)),
        Configuration("bucket_10", "leaky bucket, 10 packets", asking(bucket(10))),
        Configuration("bucket_2", "leaky bucket, 2 packets", asking(bucket(2))),
        Configuration("even", "even, no bursts", asking(EVEN)),
    ),
    factors=(
        Factor("threshold", "packets_per_ack_asked", "Requested packets per ACK", "", THRESHOLDS, asked),
        Factor("delay", "max_ack_delay_ms", "Longest ACK delay [ms]", "", ASKED_DELAYS_MS, asked_delay),
    ),
    changes=buffer(0.5),
    further=(LOSS, SOJOURN, SOJOURN_P95, STARTUP_LOST, BURST, VARIATION, COVERED, RETURNED),
    figures=(
        figure("Goodput and losses", SPREAD, curves("threshold", GOODPUT, LOSS, SOJOURN_P95, columns="delay")),
        figure("Bursts and returning packets", SPREAD, curves("threshold", BURST, RETURNED, columns="delay")),
    ),
)

# --- many flows

FAIR_BUFFERS = (0.25, 1, 4)


def flows(*counts: int, **parts: object) -> Factor:
    """Return the factor of the number of flows."""
    return Factor("flows", "flows", "Flows", "", counts, sharing("cubic", **parts))


MIXES: Mapping[str, Mix] = {
    "unpaced": Mix("all unpaced", NONE),
    "paced": Mix("all with a bucket of 10", bucket(10)),
    "even": Mix("all even", EVEN),
    "bucket_unpaced": Mix("half bucket of 10, half unpaced", bucket(10), NONE),
    "even_unpaced": Mix("half even, half unpaced", EVEN, NONE),
}
FAIRNESS = beyond(
    "fairness",
    "paced competing with unpaced flows",
    "Two and eight flows with CUBIC share the bottleneck for a minute; all, none or every second one is paced.",
    configurations=tuple(mix.configuration(name) for name, mix in MIXES.items()),
    factors=(buffers(*FAIR_BUFFERS), flows(2, 8, workload={"kind": "download", "duration": "60 s"})),
    changes=network(seconds=60),
    variants=(NEWRENO,),
    further=(JAIN, PACED_SHARE, LOSS, SOJOURN, SOJOURN_P95),
    figures=(
        figure("Who gets how much", SPREAD, curves("buffer", JAIN, PACED_SHARE, columns="flows")),
        figure("What all get", SPREAD, curves("buffer", GOODPUT, LOSS, columns="flows")),
    ),
)
WIDE_MBPS = 100


def wide_buffer(bdp: Value) -> Changes:
    """Return a queue of N bandwidth-delay products of 100 Mbit/s."""
    wide: Any = network(WIDE_MBPS)["links.bottleneck"]
    size = f"{round(float(bdp) * WIDE_MBPS * 50 * 125)} B"
    return {"links.bottleneck": {**wide, "queue": {"kind": "drop_tail", "bytes": size}}}


def many(count: Value) -> Changes:
    """Return N flows of NewReno that start at the same time, for 20 s."""
    return sharing("newreno", workload={"kind": "download", "duration": "20 s"})(count)


FLOWS = beyond(
    "flows",
    "1 to 100 concurrent flows",
    "Flows of NewReno start in the same instant over 100 Mbit/s, a BDP of 500 packets: Aggarwal, Savage and Anderson "
    "(INFOCOM 2000) saw paced ones lose together, and get less.",
    configurations=tuple(MIXES[name].configuration(name) for name in ("unpaced", "paced", "even")),
    factors=(
        Factor("flows", "flows", "Flows", "", (1, 3, 10, 30, 100), many),
        Factor("buffer", "buffer_bdp", "Buffer", "BDP", (0.25, 1), wide_buffer),
    ),
    changes=network(WIDE_MBPS, 20),
    runs=3,
    further=(STARTUP, SYNCHRONY, EVENTS, JAIN, LOSS, STARTUP_LOST, SOJOURN, SOJOURN_P95),
    figures=(
        figure("Goodput", SPREAD, curves("flows", GOODPUT, STARTUP, columns="buffer")),
        figure("Losing together", SPREAD, curves("flows", SYNCHRONY, LOSS, columns="buffer")),
        figure("Fairness and delay", SPREAD, curves("flows", JAIN, SOJOURN, columns="buffer")),
    ),
)

# --- what changes

STEPS = {"kind": "trace", "file": "traces/steps.csv", "format": "csv", "at_end": "loop"}
LTE = {"kind": "trace", "file": "traces/synthetic_lte.csv", "format": "csv", "at_end": "loop"}
CHANGING: Mapping[str, Changes] = {
    "nothing": {},
    "rate, steps of 5 s": {"links.bottleneck.rate": STEPS},
    "rate, synthetic LTE": {"links.bottleneck.rate": LTE},
    "RTT, each 2 s": {
        "links.far.delay": {"mean": "25 ms", "deviation": "20 ms", "distribution": "uniform", "every": "2 s"}
    },
}
CHANGE = Factor("change", "changing", "What changes", "", tuple(CHANGING), lambda name: CHANGING[str(name)])
CHANGES = beyond(
    "changing",
    "rates and round trip times that change",
    "Steps between 20 and 5 Mbit/s each 5 s, a synthetic LTE trace (4.5 Mbit/s), delays of 5 to 45 ms drawn each 2 s.",
    configurations=(*QUIC, *TCP),
    factors=(CHANGE,),
    further=QUEUE_METRICS,
    figures=(figure("Pacers and change", SPREAD, dots(GOODPUT, LOSS, SOJOURN, SOJOURN_P95)),),
    assumptions=assumed(__file__, "beyond_changes"),
)

BEYOND = (PACERS, PACERS_TCP, FAIRNESS, BURSTS, ACK_FREQUENCY, FLOWS, CHANGES)
