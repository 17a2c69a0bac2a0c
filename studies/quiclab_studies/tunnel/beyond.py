"""Beyond the tunnel thesis: which path scheduler and which queue for which paths, with mixed traffic inside."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab.study import (
    Changes,
    Configuration,
    Design,
    Factor,
    Figure,
    Measures,
    Metric,
    Presentation,
    Study,
    Value,
    Variant,
)
from quiclab_studies.reductions import mean
from quiclab_studies.remarks import assumed
from quiclab_studies.tunnel.common import (
    ENGINES,
    FIFO,
    KEPT_SERIES,
    LENGTH_S,
    LINUX_FQ_CODEL,
    NO_TABLE,
    SCENARIO,
    START_S,
    reordered,
    rtts_ms,
    share_a,
    tcp,
)

if TYPE_CHECKING:
    from quiclab.result import RunResult

RATE_MBPS, DELAY_MS = 20, 10
SCHEDULERS: dict[str, tuple[str, object]] = {
    "rr": ("round robin", "round_robin"),
    "lowrtt": ("lowest RTT", "lowest_rtt"),
    "cheapest": ("cheapest first", {"kind": "cheapest_first", "order": [0, 1]}),
    "blest": ("BLEST", "blest"),
    "ecf": ("ECF", "ecf"),
    "arrival": ("earliest arrival", "earliest_arrival"),
}
CONFIGURATIONS = tuple(
    Configuration(name, label, {"tunnels.vpn.scheduler": scheduler}) for name, (label, scheduler) in SCHEDULERS.items()
)


def windows(*paths: tuple[float, float]) -> list[str]:
    """Return windows of 1.25 bandwidth-delay products; each path is its rate [Mbit/s] and its one-way delay [ms]."""
    return [f"{round(1.25 * rate * 1e6 / 8 * 2 * delay / 1e3)} B" for rate, delay in paths]


def path_b(rate_mbps: float, delay_ms: float) -> Changes:
    """Return path B with this rate and one-way delay; path A has 20 Mbit/s and 10 ms."""
    return {
        "links.down2.rate": f"{rate_mbps:g} Mbit/s",
        "links.up2.rate": f"{rate_mbps:g} Mbit/s",
        "links.down2.delay": f"{delay_ms:g} ms",
        "links.up2.delay": f"{delay_ms:g} ms",
        "tunnels.vpn.windows": windows((RATE_MBPS, DELAY_MS), (rate_mbps, delay_ms)),
    }


def through(stack: str, **parts: object) -> dict[str, object]:
    """Return a flow down through the tunnel."""
    return {"stack": stack, "down": ["vpn", "out"], "up": ["vpn"], "start": f"{START_S} s", **parts}


MIX: Changes = {
    "tunnels.vpn.pipeline": {"kind": "direct"},
    "tunnels.vpn.carrier": "connections",
    "tunnels.vpn.queue": LINUX_FQ_CODEL,
    "flows.down1": tcp(),
    "flows.quic": through(
        "lab-quic",
        sender={"congestion_control": "cubic", "datagram_size": "1350 B"},
        receiver={"datagram_size": "1350 B"},
        workload={"kind": "download", "duration": f"{LENGTH_S} s"},
    ),
    "flows.media": through(
        "lab-udp",
        workload={
            "kind": "media",
            "max_rate": "4 Mbit/s",
            "start_rate": "1 Mbit/s",
            "ramp_up_speed": "1 Mbit/s",
            "duration": f"{LENGTH_S} s",
        },
    ),
    "flows.page": {
        **through(
            "lab-tcp",
            workload={"kind": "page", "html": "50 kB", "objects": [{"count": 20, "size": "25 kB"}]},
            sender={"congestion_control": "cubic", "tcp": {"mss": "1348 B"}},
            receiver={"tcp": {"mss": "1348 B"}},
        ),
        "start": f"{START_S + 20} s",
    },
}


def page_ms(result: RunResult) -> float:
    """Load time of the page with the other flows; NaN if it was not complete at the end."""
    page = result.flows["page"]
    return math.nan if page.download_time_s is None else 1000 * page.download_time_s


METRICS = (
    Metric("rtt_ms", "Round trip time of the ping", "ms", lambda result: mean(rtts_ms(result))),
    Metric(
        "rtt_p95_ms", "95th percentile of the ping", "ms", lambda run: float(run.flows["ping"].receiver["rtt_ms_p95"])
    ),
    Metric(
        "goodput_mbps",
        "Goodput of all flows",
        "Mbit/s",
        lambda run: math.fsum(run.flows[name].goodput_mbps for name in ("down1", "quic", "media")),
    ),
    Metric("tcp_mbps", "Goodput of TCP", "Mbit/s", lambda run: run.flows["down1"].goodput_mbps),
    Metric("quic_mbps", "Goodput of QUIC", "Mbit/s", lambda run: run.flows["quic"].goodput_mbps),
    Metric("media_mbps", "Goodput of media", "Mbit/s", lambda run: run.flows["media"].goodput_mbps),
    Metric("page_ms", "Load time of a page", "ms", page_ms),
    Metric("share_a", "Part of path A", "", share_a),
    Metric("reordered", "Packets out of order", "", reordered),
)
ASSUMPTIONS = assumed(__file__, "beyond")
VARIANTS = (
    Variant(
        "fifo",
        "one queue of 1 MB for all",
        "Benefit of per-flow queues.",
        {"tunnels.vpn.queue": {**FIFO, "bytes": "1 MB"}},
        runs=3,
    ),
    Variant(
        "resequenced",
        "in order, with a wait of up to 50 ms",
        "Benefit and cost of in-order delivery for the flows.",
        {"tunnels.vpn.resequencing": "50 ms"},
        runs=3,
    ),
)


def beyond(name: str, title: str, abstract: str, factor: Factor) -> Study:
    """Return a study of all schedulers over one property of the paths."""
    figure = "The whole test of 30 s; path A has 20 Mbit/s and 10 ms each way."
    return Study(
        f"tunnel/beyond_{name}",
        design=Design(
            scenario=SCENARIO,
            configurations=CONFIGURATIONS,
            factors=(factor,),
            engines=ENGINES,
            engine_changes=lambda _: MIX,
            runs=3,
            variants=VARIANTS,
        ),
        measures=Measures(
            metric=METRICS[0],
            further=METRICS[1:],
            kept_series=KEPT_SERIES,
            table=NO_TABLE,
        ),
        presentation=Presentation(
            title=title,
            abstract=abstract,
            source="quiclab",
            figures=(
                Figure("Latency by path scheduler", "", factor.name, figure),
                Figure("Goodput by path scheduler", "", factor.name, figure, metric="goodput_mbps"),
                Figure("Page load by path scheduler", "", factor.name, figure, metric="page_ms"),
            ),
            assumptions=ASSUMPTIONS,
        ),
    )


def loss(percent: Value) -> Changes:
    """Return random loss on path B, both ways."""
    equal = path_b(RATE_MBPS, DELAY_MS)
    lost = {} if not percent else {"links.down2.loss": f"{percent} %", "links.up2.loss": f"{percent} %"}
    return {**equal, **lost}


BEYOND = (
    beyond(
        "delay",
        "Path schedulers over paths of unequal delay",
        "Path B has up to twenty times the delay of path A.",
        Factor(
            "ratio",
            "delay_ratio",
            "Delay of path B over that of path A",
            "",
            (1, 2, 5, 10, 20),
            lambda ratio: path_b(RATE_MBPS, DELAY_MS * float(ratio)),
        ),
    ),
    beyond(
        "rate",
        "Path schedulers over paths of unequal rate",
        "Path B has down to a tenth of the rate of path A.",
        Factor(
            "ratio",
            "rate_ratio",
            "Rate of path A over that of path B",
            "",
            (1, 2, 5, 10),
            lambda ratio: path_b(RATE_MBPS / float(ratio), DELAY_MS),
        ),
    ),
    beyond(
        "loss",
        "Path schedulers with loss on one path",
        "Path B loses packets at random, in both directions.",
        Factor("loss", "loss_percent", "Loss on path B", "%", (0, 0.5, 1, 2, 5), loss),
    ),
)
