"""The studies of the multipath tunnel: networks, queues, schedulers."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from quiclab.study import Configuration, Design, Factor, Figure, Measures, Metric, Presentation, Study
from quiclab_studies.reductions import jain, mean
from quiclab_studies.remarks import assumed
from quiclab_studies.tunnel.beyond import BEYOND
from quiclab_studies.tunnel.claims import REFERENCE
from quiclab_studies.tunnel.common import (
    ASSUMPTIONS,
    CONFIGURATIONS,
    ENGINES,
    FURTHER,
    KEPT_SERIES,
    LENGTH_S,
    LINUX_FQ_CODEL,
    NO_TABLE,
    PUBLISHED_FQ_CODEL,
    RTT,
    RUNS,
    SCENARIO,
    SOURCE,
    START_S,
    VARIANTS,
    downloads,
    goodputs,
    networks,
    per_second_mbps,
    rate_mbps,
    rtts_ms,
    schedulers,
    series,
    table,
    tcp,
    variant,
)
from quiclab_studies.tunnel.printed import printed
from quiclab_studies.tunnel.views import views_of
from quiclab_studies.tunnel.where import FEW_BYTES, SOJOURN_SERIES, STEADY, WHERE_IT_WAITS, WINDOW_FALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.result import RunResult
    from quiclab.study import Changes, Value

SECOND_START_S = 5.0
INTERVALS_S = 0.2
TARGET_MS = 5.0
FIGURE_RTT = "The round-trip time of the ping under load."
FIGURE_IN_FLIGHT = "The most on a path, seconds 1 to 30, over its bandwidth-delay product."
FIGURE_WAITS = "Mean of seconds 5 to 30."


design = partial(
    Design, scenario=SCENARIO, configurations=CONFIGURATIONS, engines=ENGINES, runs=RUNS, variants=VARIANTS
)
measures = partial(Measures, metric=RTT, further=FURTHER, kept_series=KEPT_SERIES, table=NO_TABLE)
presentation = partial(
    Presentation,
    source=SOURCE,
    assumptions=ASSUMPTIONS,
    limits=(
        "The thesis shows its results in figures; published points are the numbers in its text, of one run each.",
        "Its machine, its kernel and the cost of its VPN are not known.",
    ),
)


def study(
    name: str, *, design: Design, measures: Measures, presentation: Presentation, changes: Changes | None = None
) -> Study:
    """Return a study of the tunnel with its claims and views; `changes` are those of all engines."""
    return Study(
        f"tunnel/{name}",
        replace(design, engine_changes=lambda _: changes or {}),
        replace(measures, claims=REFERENCE.claims(name)),
        replace(presentation, views=views_of(name)),
    )


def bar(title: str, source: str, x: str, caption: str, metric: str = "") -> Figure:
    """Return a figure of a metric over a factor."""
    return Figure(title, source, x, caption, metric=metric)


# --- Y01: where the queue is


PLACES = ("datagram_cc", "reserved", "link", "sockets")
PLACE_WORDS: dict[Value, str] = {
    "datagram_cc": "queue under congestion control",
    "reserved": "reserved queue",
    "link": "queue of the link",
    "sockets": "socket buffers",
}


def queue_bytes(result: RunResult, place: Value) -> float:
    """Mean of the bytes in a place where packets can wait at the proxy or behind it, seconds 5 to 30."""
    where = {
        "datagram_cc": ("vpn.server", "queue_bytes"),
        "reserved": ("vpn.server", "reserved_bytes"),
        "link": ("down1", "queue_bytes"),
        "sockets": ("vpn.server", "receive_buffer_bytes"),
    }[str(place)]
    return mean([value for at_s, value in series(result, *where) if 5 <= at_s <= LENGTH_S])


def first(result: RunResult) -> float:
    """Mean of the first twenty pings."""
    return mean(rtts_ms(result)[:20])


def last(result: RunResult) -> float:
    """Mean of the last twenty pings."""
    return mean(rtts_ms(result)[-20:])


BOTTLENECK = study(
    "bottleneck",
    design=design(
        factors=(
            networks("single"),
            schedulers("rr"),
            Factor("place", "queue", "Place", "", PLACES, None, PLACE_WORDS),
        ),
    ),
    measures=measures(
        metric=Metric("queue_bytes", "Bytes that wait", "B", queue_bytes, of="place"),
        further=(
            *(metric for metric in FURTHER if metric.name != "share_a"),
            RTT,
            Metric("rate_5_10_mbps", "Rate in seconds 5 to 10", "Mbit/s", lambda run: rate_mbps(run, "down1", 5, 10)),
            Metric(
                "rate_25_30_mbps", "Rate in seconds 25 to 30", "Mbit/s", lambda run: rate_mbps(run, "down1", 25, 30)
            ),
            Metric("rtt_first_ms", "Ping, first 20", "ms", first),
            Metric("rtt_last_ms", "Ping, last 20", "ms", last),
        ),
    ),
    presentation=presentation(
        title="Where the queue of a tunnel is",
        abstract="One download through a tunnel over one path: in which of the places where packets can wait do they?",
        figures=(bar("Bytes in each place", "Figure 4.1", "place", "Mean over seconds 5 to 30, at the proxy."),),
    ),
    changes={f"links.{name}.queue": LINUX_FQ_CODEL for name in ("down1", "up1")},
)

# --- Y02 to Y05: downloads

SINGLE = study(
    "single",
    design=design(
        factors=(networks("homo"), schedulers("rr", "lowrtt")),
    ),
    measures=measures(
        further=(*FURTHER, *STEADY),
        kept_series=(*KEPT_SERIES, *SOJOURN_SERIES),
        table=printed("single_tcp_and_icmp"),
    ),
    presentation=presentation(
        title="One download through the tunnel",
        abstract="One TCP download and a ping over two equal paths, with one queue for all or one for each flow.",
        figures=(
            bar("Ping with one download", "Figures 6.1a, B.1", "sched", FIGURE_RTT),
            bar("Goodput of one download", "Figure 6.1a", "sched", "Both paths together.", "goodput_mbps"),
        ),
    ),
)


def second_share(result: RunResult) -> float:
    """Share of the second download in seconds 6 to 8: it starts at 5."""
    one, two = (rate_mbps(result, flow, SECOND_START_S + 1, SECOND_START_S + 3) for flow in ("down1", "down2"))
    return two / (one + two) if one + two else math.nan


def late_jain(result: RunResult) -> float:
    """Mean of Jain's index of the seconds from 12 on."""
    pairs = zip(*(per_second_mbps(result, flow)[12:] for flow in ("down1", "down2")), strict=True)
    return mean([jain(pair) for pair in pairs])


def sojourn_after(result: RunResult) -> float:
    """Least sojourn time in the last step within two intervals after the target was exceeded; the worse flow [ms]."""
    found = []
    for flow in ("down1", "down2"):
        longest = series(result, f"vpn.server:{flow}", "sojourn_longest_ms")
        exceeded = next((at_s for at_s, value in longest if value > TARGET_MS), None)
        if exceeded is None:
            continue
        least = series(result, f"vpn.server:{flow}", "sojourn_least_ms")
        found += [value for at_s, value in least if at_s <= exceeded + INTERVALS_S + 1e-6][-1:]
    return max(found, default=math.nan)


DELAYED = study(
    "delayed",
    design=design(
        factors=(networks("homo"), schedulers("rr", "lowrtt")),
    ),
    measures=measures(
        further=(
            *FURTHER,
            Metric("second_share_6_8", "Share of the second download in seconds 6 to 8", "", second_share),
            Metric("jfi_12_30", "Jain's index of a second, from 12 s on", "", late_jain),
            Metric(
                "sojourn_after_two_intervals_ms",
                "Least sojourn time two intervals after the target was exceeded",
                "ms",
                sojourn_after,
            ),
        ),
    ),
    presentation=presentation(
        title="A second download five seconds later",
        abstract="Two TCP downloads over two equal paths; the second starts when the first has filled the tunnel.",
        figures=(
            bar("Share of the second download", "Figure 6.2a", "sched", "Seconds 6 to 8.", "second_share_6_8"),
            bar("Fairness of the seconds from 12 on", "Figure 6.2a", "sched", "Jain's index.", "jfi_12_30"),
        ),
    ),
    changes={
        "flows.down2": tcp(start_s=START_S + SECOND_START_S),
        "record.series_interval": "10 ms",  # the sojourn times right after an overshoot
    },
)


def light_load(given: Changes) -> Changes:
    """Offer less than the windows hold: flows of datagrams at 3 Mbit/s in place of the downloads, and of uploads."""

    def datagrams(route: Changes) -> Changes:
        return {
            "stack": "lab-udp",
            **route,
            "workload": {"kind": "datagrams", "rate": "3 Mbit/s", "size": "1372 B", "duration": f"{LENGTH_S} s"},
            "start": f"{START_S} s",
        }

    down, up = {"down": ["vpn", "out"], "up": ["vpn"]}, {"down": ["vpn.client", "back"], "up": ["vpn.server"]}
    uploads = {path: datagrams(up) for path in given if path.startswith("flows.up")}
    return {**given, **{f"flows.down{number}": datagrams(down) for number in range(1, 5)}, **uploads}


LIGHT_LOAD = variant(
    "light_load",
    "datagrams at 12 Mbit/s in place of the downloads, and of the uploads",
    "Path A alone carries them, and no window fills: the scheduler has a choice.",
    light_load,
)

FOUR = study(
    "four",
    design=design(
        factors=(networks("homo", "hetero"), schedulers("rr", "lowrtt")),
        variants=(*VARIANTS, LIGHT_LOAD),
    ),
    measures=measures(table=printed("four_tcp_and_icmp")),
    presentation=presentation(
        title="Four downloads through the tunnel",
        abstract="Four TCP downloads and a ping over equal and over unequal paths, with round robin and lowest RTT.",
        figures=(
            bar("Ping with four downloads", "Figures 6.3, 6.4, B.2, B.3", "net", FIGURE_RTT),
            bar("Goodput of four downloads", "Figures 6.3, 6.4", "net", "All together.", "goodput_mbps"),
            bar("Part of path A", "Figures 6.3, 6.4", "net", "Of the bytes that the proxy sends.", "share_a"),
            bar("Packets out of order", "Section 6.3", "net", "At the client.", "reordered"),
        ),
    ),
    changes=downloads(4),
)

# --- Y06: response under load

RRUL = study(
    "rrul",
    design=design(
        factors=(networks("homo", "hetero"), schedulers("rr", "lowrtt")),
        variants=(*VARIANTS, LIGHT_LOAD),
    ),
    measures=measures(
        further=(
            *FURTHER,
            Metric(
                "goodput_up_mbps",
                "Goodput of the uploads together",
                "Mbit/s",
                lambda run: math.fsum(goodputs(run, "up")),
            ),
            Metric("jfi_up", "Jain's index of the uploads", "", lambda run: jain(goodputs(run, "up"))),
        ),
    ),
    presentation=presentation(
        title="Response under load",
        abstract="Four downloads, four uploads and a ping: Flent's test of realtime response under load, without its "
        "markings.",
        figures=(
            bar("Ping with four downloads and four uploads", "Figures 6.5, B.4 to B.6", "net", FIGURE_RTT),
            bar("Fairness of the downloads", "Figure 6.5", "net", "Jain's index.", "jfi"),
            bar("Goodput of the downloads", "Figure 6.5", "net", "All together.", "goodput_mbps"),
        ),
    ),
    changes=downloads(4, uploads=4),
)

# --- Y07: windows


def controlled(control: str, *, backs_off: bool = True) -> Callable[[Changes], Changes]:
    """Change the congestion control of both ends: one with windows of its own.

    With `backs_off` false lost datagrams do not reduce them, as in PQUIC.
    """
    changes: dict[str, object] = {
        "tunnels.vpn.queue": PUBLISHED_FQ_CODEL,
        "tunnels.vpn.windows": None,
        "tunnels.vpn.server.pacing": None,
        "tunnels.vpn.client.pacing": None,
        "tunnels.vpn.server.congestion_control": control,
        "tunnels.vpn.client.congestion_control": control,
    }
    if not backs_off:
        changes |= {f"tunnels.vpn.{end}.quic.datagram_back_off": False for end in ("server", "client")}
    return lambda given: {**given, **changes}


WINDOW = study(
    "window",
    design=design(
        configurations=(
            Configuration("static", "window of one bandwidth-delay product", {"tunnels.vpn.queue": PUBLISHED_FQ_CODEL}),
            *(
                Configuration(control, label, controlled(control))
                for control, label in (("newreno", "NewReno"), ("cubic", "CUBIC"), ("bbr-linux", "BBR"))
            ),
            *(
                Configuration(f"{control}_grows", f"{label} without back-off", controlled(control, backs_off=False))
                for control, label in (("newreno", "NewReno"), ("cubic", "CUBIC"))
            ),
        ),
        factors=(networks("homo", "hetero"), schedulers("rr", "lowrtt")),
        variants=(),
    ),
    measures=measures(further=(*FURTHER, *WHERE_IT_WAITS, WINDOW_FALLS)),
    presentation=presentation(
        title="Windows that never change against congestion control",
        abstract="PQUIC does not reduce windows for lost datagrams (`cubic_grows`, `newreno_grows`), so the thesis has "
        "windows of one bandwidth-delay product. Where congestion control also works for datagrams: what do CUBIC, "
        "NewReno and BBR do with the paths' queues?",
        figures=(
            bar(
                "Data in flight by congestion control of the paths",
                "Section 4.5",
                "net",
                FIGURE_IN_FLIGHT,
                "in_flight_bdp",
            ),
            bar(
                "Queue of the tunnel by congestion control of the paths",
                "Section 4.5",
                "net",
                FIGURE_WAITS,
                "tunnel_queue_bytes",
            ),
            bar(
                "Queues of the paths by congestion control of the paths",
                "Section 4.5",
                "net",
                FIGURE_WAITS,
                "path_queue_bytes",
            ),
            bar("Ping by congestion control of the paths", "Section 4.5", "net", FIGURE_RTT),
            bar("Goodput by congestion control of the paths", "Section 4.5", "net", "All together.", "goodput_mbps"),
        ),
    ),
    changes=downloads(4),
)

# --- Y08: media

MEDIA_RATE = "40 Mbit/s"
OUTSIDE = {"down": ["down1", "out"], "up": ["up1"]}


def traffic(kind: Value) -> Changes:
    """Return a media flow, or one of constant rate, in place of the download."""
    workload = (
        {
            "kind": "media",
            "max_rate": MEDIA_RATE,
            "start_rate": "1 Mbit/s",
            "ramp_up_speed": "2 Mbit/s",
            "duration": f"{LENGTH_S} s",
        }
        if kind == "media"
        else {"kind": "datagrams", "rate": MEDIA_RATE, "size": "1200 B", "duration": f"{LENGTH_S} s"}
    )
    return {
        "flows.down1": {
            "stack": "lab-udp",
            "down": ["vpn", "out"],
            "up": ["vpn"],
            "workload": workload,
            "start": f"{START_S} s",
        },
        "flows.ping": None,
        "flows.side": {  # keeps the tunnel in use where the flow is outside of it
            "stack": "lab-udp",
            "down": ["vpn"],
            "up": ["vpn"],
            "workload": {"kind": "ping", "count": 1, "size": "1372 B", "protocol": "icmp"},
        },
    }


def highest_second(result: RunResult) -> float:
    """Rate of the flow in its best second [Mbit/s]."""
    return max(per_second_mbps(result, "down1"))


def outside(given: Changes) -> Changes:
    """Lead the flow over path A alone, without the tunnel."""
    flow = table(given["flows.down1"])
    return {**given, "flows.down1": {**flow, **OUTSIDE}}


MEDIA = study(
    "media",
    design=design(
        configurations=(*CONFIGURATIONS, Configuration("outside", "path A without a tunnel", outside)),
        factors=(
            networks("homo"),
            schedulers("rr"),
            Factor("traffic", "traffic", "Traffic", "", ("media", "udp"), traffic),
        ),
        variants=(
            *(item for item in VARIANTS if item.name in ("acks_carry", "at_once", "no_cost", "window_162500")),
            variant(
                "ramp_rfc",
                "ramp-up of 200 kbit/s per second",
                "The value of RFC 8298: then 30 s are too short.",
                lambda given: {**given, **slow_ramp(given)},
            ),
            variant(
                "udp_1mbit",
                "datagrams at 1 Mbit/s",
                "The thesis does not state the rate that is offered: iperf offers 1 Mbit/s unless told otherwise.",
                lambda given: {**given, **offered_by_default(given)},
            ),
        ),
    ),
    measures=measures(
        metric=Metric("goodput_mbps", "Goodput", "Mbit/s", lambda run: rate_mbps(run, "down1", 0, LENGTH_S)),
        further=(
            Metric("highest_second_mbps", "Rate in the best second", "Mbit/s", highest_second),
            Metric(
                "late_mbps", "Rate in seconds 20 to 30", "Mbit/s", lambda run: rate_mbps(run, "down1", 20, LENGTH_S)
            ),
            *FEW_BYTES,
        ),
        kept_series=(*KEPT_SERIES, *SOJOURN_SERIES),
    ),
    presentation=presentation(
        title="A media flow through the tunnel",
        abstract="One flow of real-time media under SCReAM, or one of datagrams at 40 Mbit/s, over two equal paths. "
        "The thesis "
        "finds that media reach only a small part of the capacity.",
        assumptions=(
            *ASSUMPTIONS,
            *assumed(__file__, "media"),
        ),
        figures=(
            bar("Goodput of one flow", "Figures 6.6, B.7", "traffic", "Mean over the test."),
            bar("Best second of one flow", "Figure 6.6", "traffic", "Highest rate.", "highest_second_mbps"),
        ),
    ),
)


def slow_ramp(given: Changes) -> Changes:
    """Ramp media up as RFC 8298 does by default."""
    flow = table(given["flows.down1"])
    workload = flow["workload"]
    if workload["kind"] != "media":
        return {}
    return {"flows.down1": {**flow, "workload": {**workload, "ramp_up_speed": "200 kbit/s"}}}


def offered_by_default(given: Changes) -> Changes:
    """Offer datagrams at the default rate of iperf."""
    flow = table(given["flows.down1"])
    workload = flow["workload"]
    if workload["kind"] != "datagrams":
        return {}
    return {"flows.down1": {**flow, "workload": {**workload, "rate": "1 Mbit/s"}}}


STUDIES = (BOTTLENECK, SINGLE, DELAYED, FOUR, RRUL, WINDOW, MEDIA, *BEYOND)
