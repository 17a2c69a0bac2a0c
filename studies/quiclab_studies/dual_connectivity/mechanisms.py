"""Experiments P1, P2, U1, U2 and F9, and the reordering at the receiver: what happens inside a run."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quiclab.result import RunResult
from quiclab.study import (
    Assumption,
    Changes,
    Configuration,
    Engine,
    Factor,
    Figure,
    Measures,
    Metric,
    Study,
    Table,
    Value,
)
from quiclab.study.published import csv_rows
from quiclab_studies.declarations import batch_factor
from quiclab_studies.dual_connectivity.alone import DROPS, EXPIRIES, THROUGHPUT
from quiclab_studies.dual_connectivity.common import (
    ASSUMPTIONS,
    DEFAULT_BUFFER,
    DEFAULT_BUFFER_BYTES,
    ENGINES,
    LARGE_BUFFER,
    LARGE_BUFFER_BYTES,
    PAPER,
    REFERENCE,
    THESIS,
    alone,
    client,
    design,
    file_over,
    host,
    no_pacer,
    one_link,
    presentation,
    quic_flow,
    split,
    tcp_flow,
    variant,
    without_jitter,
)
from quiclab_studies.dual_connectivity.fairness import FAIRNESS_ASSUMPTIONS, SECONDS, per_second_mbps
from quiclab_studies.reductions import jain, mean, series

SPREAD = "Mean and standard deviation."
TIMER_SLACK = {"mean": "0.7 ms", "deviation": "0.3 ms", "distribution": "normal"}
NO_JITTER_ASSUMPTION = Assumption(
    "The timers of the server's process fire 0.7 ms late on average, with a deviation of 0.3 ms.",
    "Measured with aioquic in the kernel lane; without jitter it is the only difference between runs.",
)


def without_jitter_late_timers(changes: Changes) -> Changes:
    """Take the jitter of the links away, and let the timers of the server be late."""
    still = dict(without_jitter(changes))
    return {**still, "hosts.server": {"timer_slack": TIMER_SLACK}, "flows.dc.sender.host": "server"}


def sender_statistic(name: str) -> Callable[[RunResult], float]:
    """Return a statistic of the data's sender."""
    return lambda result: float(result.flows["dc"].sender.get(name, math.nan))


def mean_rtt_ms(result: RunResult) -> float:
    """Mean smoothed RTT over the run [ms]."""
    return result.over_time("dc.sender", "srtt_ms", "mean")


def events_per_1000(result: RunResult) -> float:
    """How often a packet started t-Reordering, for a thousand packets."""
    receiver = result.elements["dc.egress"]
    return float(1000 * receiver["statistics"]["reordering_events"] / receiver["received"]["packets"])


def spurious_share(result: RunResult) -> float:
    """Share of the packets declared lost that were acknowledged after all; NaN without losses, or if not counted."""
    sender = result.flows["dc"].sender
    return (
        float(sender.get("spurious_losses", math.nan) / sender["lost_packets"]) if sender["lost_packets"] else math.nan
    )


def reordered_per_1000(result: RunResult) -> float:
    """Packets that arrived with a number below one already seen, of a thousand."""
    receiver = result.elements["dc.egress"]
    return float(1000 * receiver["statistics"]["overtaken_packets"] / receiver["received"]["packets"])


def bearer_without_pdcp(shares: Sequence[int]) -> Changes:
    """Number packets and take the numbers off again: the proxies' switch for no reordering."""
    return {
        "bearers.dc": {
            "links": ["down1", "down2"],
            "batch_packets": 100,
            "shares": list(shares),
            "reordering": {"enabled": False, "timer": "200 ms", "sequence_bits": 16},
        }
    }


def over(name: str, label: str, changes: Changes) -> Configuration:
    """Return a variant of the bearer, with the default buffer and without jitter."""
    return Configuration(
        name, label, lambda given: without_jitter_late_timers({**given, **client(DEFAULT_BUFFER_BYTES), **changes})
    )


PDCP = Study(
    "dual_connectivity/pdcp",
    design=design(
        configurations=(
            over("single_link", "one link, no PDCP", bearer_without_pdcp([100, 0])),
            over("dc_without_pdcp", "two links, no PDCP", bearer_without_pdcp([50, 50])),
            over("dc_with_pdcp", "two links, PDCP", {}),
        ),
        engines=ENGINES[:3],
    ),
    measures=Measures(
        metric=THROUGHPUT,
        further=(
            Metric("loss_events", "Congestion events", "", sender_statistic("congestion_events")),
            Metric("lost_packets", "Packets declared lost", "", sender_statistic("lost_packets")),
            Metric("spurious_share", "Share of these that had arrived", "", spurious_share),
        ),
        table=Table("", f"{THESIS}, Fig. 5.1"),
    ),
    presentation=presentation(
        title="Dual Connectivity: with and without PDCP",
        abstract="One link, two links whose packets are not put in order, and two whose packets are. Published: "
        "without "
        "reordering two links are worse than one.",
        figures=tuple(
            Figure(title, f"{THESIS}, Fig. {number}", "", SPREAD, metric=metric)
            for title, number, metric in (
                ("Throughput with and without PDCP", "5.1", ""),
                ("Congestion events in 100 MB", "5.1", "loss_events"),
                ("Packets declared lost in 100 MB", "5.1", "lost_packets"),
            )
        ),
        assumptions=(*ASSUMPTIONS, NO_JITTER_ASSUMPTION),
    ),
)


def via_proxies(with_proxies: Value) -> Changes:
    """Lead the flow over link 1 through the proxies, which number it, or past them."""
    if with_proxies == "true":
        ordered = {"links": ["down1"], "reordering": {"timer": "200 ms", "sequence_bits": 16}}
        return {"bearers": {"dc": ordered}, "links": one_link(proxies=True, jitter=False)}
    return {"flows.dc.down": ["down1"], "bearers": {}, "links": one_link(proxies=False, jitter=False)}


def unordered(changes: Changes) -> Changes:
    """Number packets behind the proxies, and do not put them in order."""
    bearers: Any = changes["bearers"]
    if not bearers:
        return changes
    ordered = bearers["dc"]
    return {**changes, "bearers": {"dc": {**ordered, "reordering": {**ordered["reordering"], "enabled": False}}}}


def of_one_link(changes: Changes) -> Changes:
    """Give both ends their hosts; the links are those of the factor."""
    others = {path: value for path, value in changes.items() if not path.startswith("links.")}
    server = {"hosts.server": {"timer_slack": TIMER_SLACK}, "flows.dc.sender.host": "server"}
    return {**others, **client(DEFAULT_BUFFER_BYTES), **server}


def read_proxy(path: Path) -> Sequence[Mapping[str, str]]:
    """Read Table 5.1; it does not name the configuration."""
    return [{"configuration": DEFAULT_BUFFER.name, **row} for row in csv_rows(path)]


PROXY = Study(
    "dual_connectivity/proxy",
    design=design(
        configurations=(Configuration(DEFAULT_BUFFER.name, DEFAULT_BUFFER.label, of_one_link),),
        factors=(Factor("proxy", "pdcp_proxy", "Proxies", "", ("false", "true"), via_proxies),),
        engines=ENGINES[:3],
        engine_changes=lambda engine: {**alone(engine), "record.series_interval": "100 ms"},
        variants=(
            variant(
                "unordered",
                "proxies that do not put packets in order",
                "An ablation: the delay of the proxies without their stalls.",
                unordered,
            ),
        ),
    ),
    measures=Measures(
        metric=THROUGHPUT,
        further=(Metric("rtt_ms", "Mean smoothed RTT", "ms", mean_rtt_ms),),
        table=Table(f"{REFERENCE}/table_5_01_proxy_overhead.csv", f"{THESIS}, Table 5.1; {PAPER}, Table 2", read_proxy),
    ),
    presentation=presentation(
        title="Dual Connectivity: the proxies",
        abstract="One link with the proxies in the path, and without. Published: they add 2 ms and cost 7 % of the "
        "throughput.",
        figures=(
            Figure("Throughput with and without the proxies", f"{THESIS}, Table 5.1", "proxy", SPREAD),
            Figure(
                "Smoothed RTT with and without the proxies", f"{THESIS}, Table 5.1", "proxy", SPREAD, metric="rtt_ms"
            ),
        ),
        assumptions=(*ASSUMPTIONS, NO_JITTER_ASSUMPTION),
    ),
)

REORDERING = Study(
    "dual_connectivity/reordering",
    design=design(
        configurations=(
            Configuration(
                LARGE_BUFFER.name,
                LARGE_BUFFER.label,
                lambda given: without_jitter_late_timers({**given, **client(LARGE_BUFFER_BYTES)}),
            ),
        ),
        factors=(batch_factor((2, 10, 50, 100, 200, 500)),),
        engines=ENGINES[:3],
    ),
    measures=Measures(
        metric=Metric("reordered_per_1000", "Packets overtaken, of 1000", "", reordered_per_1000),
        further=(Metric("events_per_1000", "Reordering events, of 1000 packets", "", events_per_1000), EXPIRIES, DROPS),
        table=Table("", f"{THESIS} §5.2.1"),
    ),
    presentation=presentation(
        title="Dual Connectivity: reordering at the receiver",
        abstract="How many packets arrive at the client's proxy with a number below one already seen, over the batch "
        "size; "
        "without jitter, so that it is the split that reorders.",
        figures=(
            Figure(
                "Packets overtaken over the batch size",
                f"{THESIS} §5.2.1",
                "batch",
                "Of a thousand packets at the client's proxy; mean and standard deviation.",
            ),
        ),
        assumptions=(*ASSUMPTIONS, NO_JITTER_ASSUMPTION),
    ),
)

BIN_S = 0.01
FIRST_S = 3.0
LINK_MBPS = 20.0
ETHERNET = 14 / 1324
AT_CAPACITY = 0.95


def link_rates(result: RunResult, link: str) -> list[float]:
    """Rate of a link in bins of 10 ms over the first 3 s after the handshake [part of its capacity].

    Empty if the stack does not report the end of the handshake.
    """
    start = float(result.flows["dc"].sender.get("handshake_complete_ms", math.nan)) / 1e3
    rows = series(result, link, "sent_bytes")
    bytes_at = dict(zip(rows["time_s"].to_list(), rows["value"].to_list(), strict=True))
    times = [time for time in bytes_at if start <= time <= start + FIRST_S + BIN_S]
    counts = [bytes_at[after] - bytes_at[before] for before, after in itertools.pairwise(times)]
    return [8 * count * (1 + ETHERNET) / BIN_S / 1e6 / LINK_MBPS for count in counts]


def both_busy(result: RunResult) -> float:
    """Share of the bins in which both links carry more than half their rate."""
    pairs = list(zip(link_rates(result, "down1"), link_rates(result, "down2"), strict=True))
    return mean([one > 0.5 and other > 0.5 for one, other in pairs])


def utilisation(result: RunResult, link: str) -> float:
    """Mean rate of a link, of its capacity."""
    return mean(link_rates(result, link))


def bins_at_capacity(result: RunResult, link: str) -> float:
    """Share of the bins in which a link carries 95 % of its rate or more."""
    return mean([rate >= AT_CAPACITY for rate in link_rates(result, link)])


def monitored_configuration(name: str, label: str, changes: Changes) -> Configuration:
    """Return a setting whose links are watched."""
    return Configuration(name, label, {**client(LARGE_BUFFER_BYTES), **changes})


UTILISATION = Study(
    "dual_connectivity/utilisation",
    design=design(
        configurations=(
            *(
                monitored_configuration(f"batch_{batch}", f"batches of {batch}", {"bearers.dc.batch_packets": batch})
                for batch in (50, 200, 500)
            ),
            monitored_configuration("share_90", "90 % on link 1", split(90)),
        ),
        engines=ENGINES[:3],
        engine_changes=lambda engine: {
            **alone(engine),
            "duration": "4 s",
            "until": "duration_over",
            "record.series_interval": "10 ms",
        },
        variants=(
            variant(
                "queue_50",
                "queues of 50 packets",
                "An ablation: queues that do not bridge the pauses of a batch.",
                {"links.down1.queue.packets": 50, "links.down2.queue.packets": 50},
            ),
        ),
    ),
    measures=Measures(
        metric=Metric("both_busy", "Time in which both links carry more than half their rate", "", both_busy),
        further=(
            *(
                Metric(
                    f"utilisation_{link}",
                    f"Utilisation of {link}",
                    "",
                    lambda result, name=link: utilisation(result, name),
                )
                for link in ("down1", "down2")
            ),
            *(
                Metric(
                    f"at_capacity_{link}",
                    f"Time in which {link} carries 95 % of its rate",
                    "",
                    lambda result, name=link: bins_at_capacity(result, name),
                )
                for link in ("down1", "down2")
            ),
        ),
        table=Table("", f"{THESIS}, Fig. 5.6 to 5.8 and 5.10; {PAPER}, Fig. 4b, 4c and 6"),
        kept_series=("sent_bytes",),
    ),
    presentation=presentation(
        title="Dual Connectivity: use of the links",
        abstract="Rate of each link in bins of 10 ms over the first 3 s. Published: with small batches both are busy "
        "together, "
        "with large ones they take turns; at a split of 9 to 1 the second is hardly used.",
        figures=(
            Figure(
                "Time in which both links are busy",
                f"{THESIS}, Fig. 5.6 to 5.8",
                "",
                "More than half of each link's rate in bins of 10 ms, first 3 s after the handshake.",
            ),
        ),
    ),
)


def pair(first: str, second: str) -> Callable[[Changes], Changes]:
    """Run two flows of these transports over link 1."""

    def changed(given: Changes) -> Changes:
        engine = str(given["flows.first.stack"])
        changes: dict[str, object] = {
            "links": one_link(proxies=True),
            "bearers": {},
            "duration": f"{SECONDS} s",
            "until": "duration_over",
            "record.series_interval": "1 s",
            "hosts.client": host(LARGE_BUFFER_BYTES),
        }
        flows: dict[str, Any] = {}
        for name, kind in (("first", first), ("second", second)):
            changes[f"bearers.{name}"] = {"links": ["down1"], "reordering": {"timer": "200 ms", "sequence_bits": 16}}
            flow = quic_flow(engine, name) if kind == "quic" else tcp_flow(name)
            flows[name] = {**flow, "workload": file_over(kind, "1 GB")}
        return {**changes, "flows": flows}

    return changed


def pair_jfi(result: RunResult) -> float:
    """Jain's index of the two flows over the whole run."""
    return jain([result.flows[name].delivered_bytes for name in ("first", "second")])


def short_term_gap_mbps(result: RunResult) -> float:
    """Mean absolute difference of the two flows in bins of 1 s [Mbit/s]."""
    both = zip(per_second_mbps(result, "first"), per_second_mbps(result, "second"), strict=True)
    return math.fsum(gaps := [abs(one - other) for one, other in both]) / len(gaps)


PAIRS = Study(
    "dual_connectivity/pairs",
    design=design(
        configurations=tuple(
            Configuration(f"{first}_{second}", f"{first.upper()} and {second.upper()}", pair(first, second))
            for first, second in (("quic", "quic"), ("quic", "tcp"), ("tcp", "tcp"))
        ),
        engines=(Engine("lab-quic"), Engine("quinn", runs=3)),
        engine_changes=lambda engine: {"flows.first.stack": engine},
        variants=(variant("no_pacer", "QUIC without pacer", "An ablation: what pacing makes.", no_pacer),),
    ),
    measures=Measures(
        metric=Metric("jfi", "Jain's fairness index", "", pair_jfi),
        further=(
            Metric("short_term_gap_mbps", "Mean difference of the flows in 1 s", "Mbit/s", short_term_gap_mbps),
            *(
                Metric(
                    f"throughput_{name}_mbps",
                    f"Throughput of the {name} flow",
                    "Mbit/s",
                    lambda result, flow=name: 8 * result.flows[flow].delivered_bytes / result.network_time_s / 1e6,
                )
                for name in ("first", "second")
            ),
        ),
        table=Table("", f"{THESIS}, Fig. 5.14a to c; {PAPER}, Fig. 23"),
        kept_series=("sent_bytes",),
    ),
    presentation=presentation(
        title="Dual Connectivity: two flows on one link",
        abstract="Two flows over link 1 for 180 s: QUIC and QUIC, QUIC and TCP, TCP and TCP. Published: all share "
        "fairly; QUIC with QUIC is the steadiest.",
        figures=(
            Figure("Fairness of two flows", f"{THESIS}, Fig. 5.14", "", SPREAD),
            Figure(
                "Difference of the two flows within a second",
                f"{PAPER}, Fig. 23",
                "",
                SPREAD,
                metric="short_term_gap_mbps",
            ),
        ),
        assumptions=FAIRNESS_ASSUMPTIONS,
    ),
)


MECHANISMS = (PDCP, PROXY, REORDERING, UTILISATION)
