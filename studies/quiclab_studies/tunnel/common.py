"""The networks, traffic and pipelines of the tunnel thesis, and what its studies measure.

First part of the study of the multipath QUIC tunnel; `tunnel` has the studies themselves.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from quiclab.errors import expected_got, shown
from quiclab.result.series import by_flow
from quiclab.study import Changes, Configuration, Engine, Factor, Metric, Table, Value, Variant
from quiclab.study.libraries import pl
from quiclab_studies.reductions import jain, mean
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quiclab.result import RunResult

SCENARIO = "scenarios/tunnel_published.toml"
SOURCE = (
    "Andersson Johansson, Applying FQ-CoDel for Packet Schedulers in Tunneled Transport Layer Access Bundling, thesis, "
    "Karlstad University, 2020"
)
START_S, LENGTH_S = 2.0, 30.0
TCP_HEADERS = 52  # bytes: IPv4, TCP and timestamps
UDP_HEADERS = 28  # bytes: IPv4 and UDP
RUNS = 10
ENGINES = (Engine("lab-quic"),)

# the tunnel's queues; the published FQ-CoDel as the thesis words it (section 4.3, Table 4.2)
FIFO = {"kind": "head_drop", "bytes": "10 MB"}
PUBLISHED_FQ_CODEL = {
    "kind": "fq_codel",
    "flows": 1024,
    "memory": "10 MB",
    "drop_batch": 1,
    "quantum": "1400 B",
    "target": "5 ms",
    "interval": "100 ms",
    "ecn": False,
    "least_backlog": "0 B",
}
LINUX_FQ_CODEL = {"kind": "fq_codel"}
CONFIGURATIONS = (
    Configuration("fifo", "PQUIC, FIFO", {"tunnels.vpn.queue": FIFO}),
    Configuration("fq", "PQUIC, FQ-CoDel", {"tunnels.vpn.queue": PUBLISHED_FQ_CODEL}),
    Configuration(
        "direct_fifo",
        "nothing behind the queue, FIFO",
        {"tunnels.vpn.pipeline": {"kind": "direct"}, "tunnels.vpn.queue": FIFO},
    ),
    Configuration(
        "direct_fq",
        "nothing behind the queue, FQ-CoDel",
        {"tunnels.vpn.pipeline": {"kind": "direct"}, "tunnels.vpn.queue": LINUX_FQ_CODEL},
    ),
)

HETERO = {
    "links.down1.delay": "5 ms",
    "links.up1.delay": "5 ms",
    "links.down2.rate": "10 Mbit/s",
    "links.up2.rate": "10 Mbit/s",
    "tunnels.vpn.windows": ["25000 B", "25000 B"],
}
SINGLE = {
    "links.down2": None,
    "links.up2": None,
    "tunnels.vpn.windows": ["50000 B"],
    "tunnels.vpn.paths": [{"down": ["down1"], "up": ["up1"]}],
}
NETWORKS: dict[str, Changes] = {"homo": {}, "hetero": HETERO, "single": SINGLE}
SCHEDULERS = {"rr": "round_robin", "lowrtt": "lowest_rtt"}
# the names of the thesis are those of its tables, and of `--only`
NETWORK_WORDS: dict[Value, str] = {"homo": "equal paths", "hetero": "unequal paths", "single": "one path"}
SCHEDULER_WORDS: dict[Value, str] = {"rr": "round robin", "lowrtt": "lowest RTT"}


def networks(*names: str) -> Factor:
    """Return the factor of the networks of sections 4.2 and 5."""
    return Factor("net", "network", "Network", "", names, lambda value: NETWORKS[str(value)], NETWORK_WORDS)


def schedulers(*names: str) -> Factor:
    """Return the factor of the path schedulers."""
    return Factor(
        "sched",
        "scheduler",
        "Path scheduler",
        "",
        names,
        lambda value: {"tunnels.vpn.scheduler": SCHEDULERS[str(value)]},
        SCHEDULER_WORDS,
    )


def tcp(*, upload: bool = False, start_s: float = START_S) -> dict[str, Any]:
    """Return a TCP flow through the tunnel, from the web node to the client or back, until the end of the test."""
    end = {"profile": "linux-4.15", "tcp": {"mss": "1348 B"}}
    route = (
        {"down": ["vpn.client", "back"], "up": ["vpn.server"]} if upload else {"down": ["vpn", "out"], "up": ["vpn"]}
    )
    return {
        "stack": "lab-tcp",
        "sender": {**end, "congestion_control": "cubic"},
        "receiver": end,
        **route,
        "workload": {"kind": "download", "duration": f"{START_S + LENGTH_S - start_s} s"},
        "start": f"{start_s} s",
    }


def downloads(count: int, uploads: int = 0) -> Changes:
    """Return several concurrent downloads and uploads."""
    changes: dict[str, object] = {f"flows.down{number}": tcp() for number in range(2, count + 1)}
    changes |= {f"flows.up{number}": tcp(upload=True) for number in range(1, uploads + 1)}
    return changes | ({"taps.back": {}} if uploads else {})


KEPT_SERIES = (
    "rtt_ms",
    "passed_bytes",
    "passed_packets",
    "sojourn_least_ms",
    "sojourn_longest_ms",
    "queue_bytes",
    "reserved_bytes",
    "receive_buffer_bytes",
    *(f"path{path}_{what}_bytes" for path in (1, 2) for what in ("cwnd", "in_flight")),
)


def series(result: RunResult, element: str, metric: str) -> list[tuple[float, float]]:
    """Return a time series: seconds since the start of the test, and the value."""
    frame = result.series if not result.taps else pl.concat([by_name(result.series), by_flow(result)])
    if frame.is_empty():
        return []
    mine = frame.filter((pl.col("element") == element) & (pl.col("metric") == metric))
    return [(round(time - START_S, 6), value) for time, value in mine.select("time_s", "value").iter_rows()]


def by_name(frame: Any) -> Any:
    """Return a table with names in place of categories."""
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


def payload(result: RunResult, flow: str) -> list[tuple[float, float]]:
    """Bytes of payload that have left the tunnel for a flow, over the test duration, including retransmissions."""
    stack = result.data["scenario"]["flows"][flow].get("stack")
    headers = TCP_HEADERS if stack == "lab-tcp" else UDP_HEADERS
    packets = dict(series(result, f"out:{flow}", "passed_packets"))
    total = series(result, f"out:{flow}", "passed_bytes")
    return [(at_s, value - headers * packets[at_s]) for at_s, value in total]


def rates_mbps(result: RunResult, flow: str, edges_s: Sequence[float]) -> list[float]:
    """Mean rate of a flow between each two of some times [Mbit/s of payload]."""
    steps = payload(result, flow)
    until = [max((value for at_s, value in steps if at_s <= edge + 1e-6), default=0.0) for edge in edges_s]
    spans = zip(edges_s, edges_s[1:], until, until[1:], strict=False)
    return [8 * (after - before) / (end - start) / 1e6 for start, end, before, after in spans]


def rate_mbps(result: RunResult, flow: str, start_s: float, end_s: float) -> float:
    """Mean rate of a flow within a part of the test [Mbit/s of payload]."""
    return rates_mbps(result, flow, (start_s, end_s))[0]


def per_second_mbps(result: RunResult, flow: str) -> list[float]:
    """Rate of a flow in each second of the test [Mbit/s of payload]."""
    return rates_mbps(result, flow, [float(second) for second in range(int(LENGTH_S) + 1)])


def flows_of(result: RunResult, kind: str) -> list[str]:
    """Return the downloads or uploads of a run by name."""
    return sorted(name for name in result.flows if name.startswith(kind))


def goodputs(result: RunResult, kind: str = "down") -> list[float]:
    """Mean rates of all downloads, or of all uploads [Mbit/s]."""
    return [result.flows[name].goodput_mbps for name in flows_of(result, kind)]


def rtts_ms(result: RunResult) -> list[float]:
    """Round trip times of the pings, in their order; a sample is taken at the arrival of a reply."""
    return [value for at_s, value in series(result, "ping.receiver", "rtt_ms") if at_s <= LENGTH_S + 1]


def share_a(result: RunResult) -> float:
    """Part of the tunnel's bytes down that was sent on path A."""
    sent = result.elements["vpn.server"]["statistics"]
    first, second = sent["path1_sent_bytes"], sent.get("path2_sent_bytes", 0.0)
    return float(first / (first + second))


def reordered(result: RunResult) -> float:
    """Part of the packets that left the tunnel at the client after a later one of their flow."""
    counts = result.elements["vpn.client"]["statistics"]
    return float(counts["reordered_packets"] / max(counts["delivered_packets"], 1.0))


def dropped(reason: str) -> Callable[[RunResult], float]:
    """Packets that the queue at the proxy has dropped, for a reason."""
    return lambda result: float(result.elements["vpn.server"]["statistics"][reason])


def largest_in_flight(result: RunResult) -> float:
    """Maximum number of bytes in flight on a path, relative to its window; seconds 1 to 30 of the test."""
    found = []
    for path in (1, 2):
        window = dict(series(result, "vpn.server", f"path{path}_cwnd_bytes"))
        in_flight = series(result, "vpn.server", f"path{path}_in_flight_bytes")
        found += [value / window[at_s] for at_s, value in in_flight if 1 <= at_s <= LENGTH_S and window.get(at_s)]
    return max(found, default=math.nan)


RTT = Metric("rtt_ms", "Round trip time of the ping", "ms", lambda result: mean(rtts_ms(result)))
FURTHER = (
    Metric(
        "rtt_p95_ms",
        "95th percentile of the ping",
        "ms",
        lambda result: float(result.flows["ping"].receiver["rtt_ms_p95"]),
    ),
    Metric("goodput_mbps", "Goodput of the downloads together", "Mbit/s", lambda result: math.fsum(goodputs(result))),
    Metric("jfi", "Jain's index of the downloads", "", lambda result: jain(goodputs(result))),
    Metric("share_a", "Part of path A", "", share_a),
    Metric("reordered", "Packets out of order", "", reordered),
    Metric("overflow_drops", "Packets dropped at a limit", "", dropped("overflow_drops")),
    Metric("codel_drops", "Packets dropped by CoDel", "", dropped("codel_drops")),
    Metric("sojourn_ms", "Mean sojourn time in the queue at the proxy", "ms", dropped("queue_sojourn_ms")),
    Metric("in_flight", "Most data in flight on a path over its window", "", largest_in_flight),
)
NO_TABLE = Table("", "the thesis shows figures without printed values")
ASSUMPTIONS = assumed(__file__, "common")
LEAVES_WITH_ACKS = {"tunnels.vpn.pipeline": {"kind": "pquic", "leaves": "full_or_acknowledging"}}
LEAVES_AT_ONCE = {"tunnels.vpn.pipeline": {"kind": "pquic", "leaves": "at_once"}}


def table(value: object) -> dict[str, Any]:
    """Return a value of a change that is a table."""
    if not isinstance(value, dict):
        raise TypeError(expected_got("a table", shown(value)))
    return value


def published_only(changes: Changes) -> Callable[[Changes], Changes]:
    """Change the published pipeline only: with another pipeline, the setting is unchanged."""

    def apply(given: Changes) -> Changes:
        pipeline = table(given.get("tunnels.vpn.pipeline", {"kind": "pquic"}))
        return {**given, **changes} if pipeline["kind"] == "pquic" else given

    return apply


def fifo_of(size: str) -> Callable[[Changes], Changes]:
    """Change the limit of the FIFO, where there is one."""

    def apply(given: Changes) -> Changes:
        queue = table(given.get("tunnels.vpn.queue", FIFO))
        return {**given, "tunnels.vpn.queue": {**queue, "bytes": size}} if queue["kind"] == "head_drop" else given

    return apply


def code_fq_codel(given: Changes) -> Changes:
    """Change the published FQ-CoDel to that of the public code."""
    queue = given.get("tunnels.vpn.queue", FIFO)
    if queue != PUBLISHED_FQ_CODEL:
        return given
    code = {"flows": 128, "hash": "field_sum", "control_law": "inverse_count", "restart": "minus_two"}
    return {**given, "tunnels.vpn.queue": {**PUBLISHED_FQ_CODEL, **code}}


def windows(each: str) -> Callable[[Changes], Changes]:
    """Give all paths the same window."""
    return lambda given: {**given, "tunnels.vpn.windows": [each] * (1 if given.get("tunnels.vpn.paths") else 2)}


def link_queues(given: Changes) -> Changes:
    """Put FQ-CoDel on all links that there are."""
    single = given.get("links.down2", "") is None
    return {f"links.{name}.queue": LINUX_FQ_CODEL for name in ("down1", "up1", *(() if single else ("down2", "up2")))}


def cost(each: str) -> Changes:
    """Return another cost of each read and write of the VPN."""
    return {"hosts.vpn.receive_call": each, "hosts.vpn.send_call": each}


variant = partial(Variant, runs=5)
"""Another reading, of which five runs are enough."""

VARIANTS = (
    variant("fifo_1mb", "FIFO of 1 MB", "The limit of the FIFO is not published.", fifo_of("1 MB")),
    variant("fifo_3mb", "FIFO of 3 MB", "The limit of the FIFO is not published.", fifo_of("3 MB")),
    variant(
        "acks_carry",
        "acknowledgements carry what waits",
        "Acknowledgements are packets as well: a datagram that waits could leave with one.",
        published_only(LEAVES_WITH_ACKS),
    ),
    variant(
        "at_once", "packets leave immediately", "Without the rule of full packets.", published_only(LEAVES_AT_ONCE)
    ),
    variant(
        "code_fq_codel",
        "FQ-CoDel of the public code",
        "The code has 128 queues, a sum of fields as key (0 for ICMP), and interval / count as its control law.",
        code_fq_codel,
    ),
    variant(
        "fq_codel_links",
        "FQ-CoDel on all links",
        "The discipline of the links is stated for one test only.",
        lambda given: {**given, **link_queues(given)},
    ),
    variant("no_cost", "reads and writes cost nothing", "The cost is not published.", cost("0 s")),
    variant("twice_the_cost", "reads and writes cost 80 µs", "The cost is not published.", cost("80 us")),
    variant(
        "windows_50000",
        "windows of 50 000 B on all paths",
        "The windows were set manually between tests: those of the equal paths may have stayed for the unequal ones.",
        windows("50000 B"),
    ),
    variant(
        "window_162500",
        "windows of 162 500 B",
        "One version of the public code has this window (50 Mbit/s for 26 ms): it was changed manually between tests.",
        windows("162500 B"),
    ),
)
