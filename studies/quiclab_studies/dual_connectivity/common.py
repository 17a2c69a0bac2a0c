"""Shared parts of the studies of QUIC over Dual Connectivity: sources, endpoints, configurations, assumptions."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from quiclab.errors import expected_got, shown
from quiclab.lane.job import SYSCTLS
from quiclab.lane.run import Lane
from quiclab.scenario.quantity import byte_count, parse
from quiclab.study import Changes, Configuration, Design, Engine, Presentation, Value, Variant
from quiclab.study.ran import implementation, option_bytes
from quiclab_studies.hosts import AIOQUIC_DATAGRAM
from quiclab_studies.remarks import assumed

THESIS = "thesis"
PAPER = "paper"
SOURCE = (
    "D. Hasselquist, QUIC over Dual Connectivity, thesis, Linköping University, 2020; "
    "D. Hasselquist et al., QUIC over Dual Connectivity, Computer Networks 219, 2022"
)
SCENARIO = "scenarios/dual_connectivity.toml"
REFERENCE = "dual_connectivity/reference"
FLOWS = ("dc", "sc1", "sc2")

DEFAULT_BUFFER_BYTES, LARGE_BUFFER_BYTES = 212_992, 33_554_432
PROFILES = {"aioquic": "aioquic-0.8.8", "ngtcp2": "ngtcp2-2020"}
TCP_PROFILES = ("linux-5.3", "linux-4.15")
"""Server and client of the testbed ran Linux 5.3 and 4.15."""


def host(receive_buffer_bytes: int, cost: str = AIOQUIC_DATAGRAM) -> dict[str, str]:
    """Return the client's host: its socket buffer, and the cost of a datagram."""
    buffer = f"{receive_buffer_bytes} B"
    return {"receive_buffer": buffer, "receive_datagram": cost, "memory_return": "in_quarters"}


AIOQUIC_TLS = {"version": "1.3", "certificate": "1832 B"}
"""The certificate of aioquic's examples, in the units of lab-quic.

`tests/ssl_cert.pem` of 0.8.8 and 0.9.0 is one certificate of 1525 bytes with an RSA key of 3072 bits, so a signature of
384 bytes; lab-quic has one of 72, and 5 bytes for a second certificate.
"""
PROXIES_MS = 2.0
PROXIES: Changes = {"links.proxies": {"delay": f"{PROXIES_MS} ms"}}
"""Delay added by the two proxies to the round trip (thesis, Table 5.1), before the bearer."""


DOWNLOAD: Changes = {**PROXIES, "duration": "900 s"}
"""Shared changes of all downloads: the proxies, and the duration."""


def quic_flow(engine: str, link: str, impl: str = "aioquic", control: str = "newreno") -> dict[str, object]:
    """Return a QUIC flow over a bearer or link with an engine at both ends, datagrams and first window as logged."""
    end: dict[str, object] = {"datagram_size": "1280 B"}
    sender: dict[str, object] = {**end, "congestion_control": control}
    if engine == "lab-quic":
        end["profile"] = sender["profile"] = PROFILES[impl]
        if impl == "aioquic":
            end["tls"] = sender["tls"] = AIOQUIC_TLS
    else:
        sender["initial_window"] = "12800 B"
    return {
        "stack": engine,
        "down": ["proxies", link],
        "up": ["up1"],
        "sender": sender,
        "receiver": {**end, "host": "client"},
    }


def tcp_flow(link: str, control: str = "newreno") -> dict[str, object]:
    """Return a flow of HTTP/2 over TLS 1.3 over Linux' TCP, whose segments have the size of the QUIC datagrams."""
    options = {"mss": "1280 B", "metrics": "warm_start"}
    end: dict[str, object] = {"tcp": options, "tls": {"version": "1.3"}}
    return {
        "stack": "lab-tcp",
        "down": ["proxies", link],
        "up": ["up1"],
        "sender": {**end, "profile": TCP_PROFILES[0], "congestion_control": control},
        "receiver": {**end, "profile": TCP_PROFILES[1]},
    }


def file_over(transport: str, size: str) -> dict[str, object]:
    """Return the workload of a file: a plain download over QUIC, HTTP/2 over TCP."""
    if transport == "tcp":
        return {"kind": "page", "html": size, "objects": []}
    return {"kind": "download", "size": size}


def alone(engine: str, impl: str = "aioquic", control: str = "newreno") -> Changes:
    """Run one QUIC flow over the bearer."""
    return {**DOWNLOAD, "flows.dc": {**quic_flow(engine, "dc", impl, control), "workload": file_over("quic", "100 MB")}}


def client(receive_buffer_bytes: int) -> Changes:
    """Run the client on a host with this socket buffer."""
    return {"hosts.client": host(receive_buffer_bytes)}


def kernel_flow(stack: str, control: str) -> dict[str, object]:
    """Return a download by a program of the kernel lane over the bearer; the kernel itself has no TLS and no HTTP."""
    end: dict[str, object] = {"tcp": {"mss": "1280 B"}} if stack == "linux" else {}
    workload = {"kind": "download", "size": "100 MB", **({"request": "100 B"} if stack == "linux" else {})}
    sender = {**end, "congestion_control": control}
    flow: dict[str, object] = {"stack": stack, "down": ["proxies", "dc"], "up": ["up1"], "workload": workload}
    return {**flow, "sender": sender, **({"receiver": end} if end else {})}


def tcp(control: str = "newreno") -> Callable[[Changes], Changes]:
    """Run TCP in place of the QUIC flow, with the same file; the kernel's, where that is the engine."""

    def replaced(changes: Changes) -> Changes:
        size = str(changes.get("flows.dc.workload.size", "100 MB"))
        others = {path: value for path, value in changes.items() if not path.startswith("flows.dc.")}
        given = changes.get("flows.dc")
        if isinstance(given, Mapping) and given["stack"] == LINUX.name:
            return {**others, "flows.dc": kernel_flow("linux", control)}
        return {**others, "flows.dc": {**tcp_flow("dc", control), "workload": file_over("tcp", size)}}

    return replaced


def lowercase_title(label: str) -> str:
    """Return the title of an axis in lower case, except abbreviations."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


DEFAULT_BUFFER = Configuration("quic_default_buffer", "QUIC, default buffer", client(DEFAULT_BUFFER_BYTES))
LARGE_BUFFER = Configuration("quic_large_buffer", "QUIC, large buffer", client(LARGE_BUFFER_BYTES))
TCP = Configuration("tcp", "TCP", tcp())
CONFIGURATIONS = (DEFAULT_BUFFER, LARGE_BUFFER, TCP)
QUIC = (DEFAULT_BUFFER.name, LARGE_BUFFER.name)
LINUX = Engine("linux", runs=3, lane=Lane(clock="virtual"), configurations=("tcp", "tcp_cubic"))
"""The kernel itself, in virtual time, behind the same links and bearer."""
NGTCP2 = Engine("ngtcp2", runs=3, lane=Lane(clock="virtual"), configurations=("ngtcp2_newreno", "ngtcp2_cubic"))
"""The programs of ngtcp2, unmodified."""
ENGINES = (Engine("lab-quic"), Engine("quinn"), Engine("noq"), Engine("aioquic", runs=3))


def split(share_on_link_1: Value) -> Changes:
    """Divide each batch between the links by percent."""
    share = int(share_on_link_1)
    return {"bearers.dc.shares": [share, 100 - share]}


def rates(ratio: Value, sum_mbps: float = 40.0) -> Changes:
    """Give the links rates of a ratio to one with a constant sum."""
    first, second = split_by_ratio(ratio, sum_mbps)
    return {"links.down1.rate": f"{first:.6f} Mbit/s", "links.down2.rate": f"{second:.6f} Mbit/s"}


def delays(ratio: Value, sum_ms: float) -> Changes:
    """Give the links delays of a ratio to one with a constant sum, each with a tenth of it as deviation."""
    first, second = split_by_ratio(ratio, sum_ms)
    return {**delay("down1", first), **delay("down2", second)}


def delay(link: str, mean_ms: float, deviation_ms: float | None = None) -> Changes:
    """Give a link a normal delay; its deviation is a tenth of it by default."""
    deviation = 0.1 * mean_ms if deviation_ms is None else deviation_ms
    kind = "normal" if deviation else "constant"
    spread = {"deviation": f"{deviation:.6f} ms"} if deviation else {}
    return {f"links.{link}.delay": {"mean": f"{mean_ms:.6f} ms", **spread, "distribution": kind, "reorder": True}}


def one_link(*, proxies: bool, jitter: bool = True) -> dict[str, object]:
    """Return link 1 and the uplink alone, with the proxies' delay or without, as the table of links."""
    spread = {"deviation": "1 ms", "distribution": "normal", "reorder": True} if jitter else {}
    common = {"rate": "20 Mbit/s", "overhead_per_packet": "14 B", "delay": {"mean": "10 ms", **spread}}
    return {
        "down1": {**common, "queue": {"kind": "drop_tail", "packets": 100}},
        "up1": {**common, "queue": {"kind": "drop_tail", "packets": 10000}},
        **({"proxies": {"delay": f"{PROXIES_MS} ms"}} if proxies else {}),
    }


def of_client(**fields: str) -> Callable[[Changes], Changes]:
    """Change the host of a QUIC client; TCP has none."""

    def changed(changes: Changes) -> Changes:
        given = {f"hosts.client.{name}": value for name, value in fields.items()}
        return {**changes, **given} if "hosts.client" in changes else changes

    return changed


def no_pacer(changes: Changes) -> Changes:
    """Take the pacer from the senders over QUIC; other stacks have no option for it."""

    def unpaced(flow: Mapping[str, Any]) -> dict[str, Any]:
        if flow.get("stack") != "lab-quic":
            return dict(flow)
        return {**flow, "sender": {**flow.get("sender", {}), "pacing": {"kind": "none"}}}

    found = dict(changes)
    for path, value in changes.items():
        if isinstance(value, Mapping) and path == "flows":
            found[path] = {name: unpaced(flow) for name, flow in value.items()}
        elif isinstance(value, Mapping) and path.startswith("flows.") and path.count(".") == 1:
            found[path] = unpaced(value)
    return found


def first_run(changes: Changes) -> Changes:
    """Start TCP without saved metrics."""

    def forget(end: Mapping[str, Any]) -> dict[str, Any]:
        return {**end, "tcp": {**end["tcp"], "metrics": "none"}}

    return {
        path: {**flow, "sender": forget(flow["sender"]), "receiver": forget(flow["receiver"])}
        if path.startswith("flows.") and isinstance(flow, Mapping) and flow.get("stack") == "lab-tcp"
        else flow
        for path, flow in changes.items()
    }


def without_jitter(changes: Changes) -> Changes:
    """Give all links constant delays: those that a setting has given them, or 10 ms."""
    constant: dict[str, object] = dict(changes)
    for link in ("down1", "down2", "up1"):
        given = changes.get(f"links.{link}.delay")
        constant[f"links.{link}.delay"] = given["mean"] if isinstance(given, Mapping) else "10 ms"
    return constant


def split_by_ratio(ratio: Value, total: float) -> tuple[float, float]:
    """Divide a sum in the ratio to one."""
    first = total * float(ratio) / (1 + float(ratio))
    return first, total - first


def loss(percent: Value) -> Changes:
    """Lose packets of both downlinks at random, each for itself."""
    return {f"links.{link}.loss": f"{percent} %" for link in ("down1", "down2")} if float(percent) else {}


ASSUMPTIONS = assumed(__file__, "common", aioquic_datagram=AIOQUIC_DATAGRAM.replace("us", "µs"))

LIMITS = (
    "Radio and MAC are not modelled: Dual Connectivity is the packet layer only.",
    "Deviations between runs come from the drawn delays and losses alone; a testbed has more sources.",
)

design = partial(Design, scenario=SCENARIO, engine_changes=alone, runs=10)
"""The design that most studies of QUIC over Dual Connectivity share; a call can replace each part."""
presentation = partial(Presentation, source=SOURCE, assumptions=ASSUMPTIONS, limits=LIMITS)
"""The presentation that most of them share."""

VARIANT_RUNS = 5
"""Runs of other readings: as many as a verdict on an ablation needs."""
variant = partial(Variant, runs=VARIANT_RUNS)
"""Another reading, with as many."""
VARIANTS = (
    variant(
        "slow_receiver",
        "300 µs per datagram",
        "At the rate of both links a process has 290 µs for a datagram: the slowest that the large buffer admits.",
        of_client(receive_datagram="300 us"),
    ),
    variant(
        "fast_receiver",
        "35 µs per datagram",
        "Cost per packet in aioquic without system calls.",
        of_client(receive_datagram="35 us"),
    ),
    variant(
        "memory_at_once",
        "socket memory free when read",
        "Kernels before 4.10, and nearly so those from 5.5 on.",
        of_client(memory_return="at_once"),
    ),
    variant(
        "first_run",
        "TCP without metrics of a run before",
        "Hosts that were started afresh, or tcp_no_metrics_save = 1.",
        first_run,
    ),
    variant(
        "queue_81",
        "81 packets of queue",
        "The rest of `limit 100` in kernels since 6.12, which also count packets in the delay stage.",
        {"links.down1.queue.packets": 81, "links.down2.queue.packets": 81},
    ),
    variant(
        "timer_190",
        "t-Reordering 190 ms",
        "The 200 ms counted from when the missing packet would have come, not from the first one after the gap.",
        {"bearers.dc.reordering.timer": "190 ms"},
    ),
    variant(
        "free_proxies",
        "proxies without delay",
        "Section 4.1 of the paper has about 1 ms for both proxies, its section 4.3 2 ms.",
        {"links.proxies.delay": "0 ms"},
    ),
    variant(
        "no_jitter",
        "constant delays",
        "The printed 1 ms is left out in two of the experiments; here everywhere.",
        without_jitter,
    ),
)
QUEUE_300 = variant(
    "queue_300",
    "queues of 300 packets",
    "An ablation: queues that hold half a batch of 500, and do not overflow.",
    {"links.down1.queue.packets": 300, "links.down2.queue.packets": 300},
)
"""Of the studies over the batch size."""


def describe(scenario: Mapping[str, Any], labels: Mapping[str, Value]) -> dict[str, object]:
    """Return the columns of the published tables for a setting, from its resolved scenario."""
    flow, bearer = scenario["flows"]["dc"], scenario["bearers"].get("dc")
    name = implementation(flow)
    columns: dict[str, object] = {
        "configuration": labels["configuration"],
        "impl": f"{name}_tcp" if name == "linux" else name,
        "cc": flow["sender"]["congestion_control"],
        "recv_buffer_default_bytes": receive_buffer_bytes(scenario, flow),
    }
    if bearer is not None:
        shares = bearer.get("shares") or [1, 1]
        copied = bearer["mode"] == "duplicate"
        percent = [100.0 if copied else round(100 * share / sum(shares), 2) for share in shares]
        columns |= {
            "dc_batch_packets": None if copied else bearer["batch_packets"],
            "link1_share_percent": plain(percent[0]),
            "link2_share_percent": plain(percent[-1]),
        }
    for number, name in enumerate(("down1", "down2"), 1):
        if name in scenario["links"] and isinstance(scenario["links"][name]["rate"], str):
            columns[f"link{number}_rate_mbps"] = amount(scenario["links"][name]["rate"])
    for number, name in enumerate(("down1", "down2"), 1):
        if name in scenario["links"]:
            columns[f"link{number}_delay_ms"] = amount(mean_delay(scenario["links"][name]))
    lost = scenario["links"]["down1"].get("loss")
    columns |= {
        "loss_percent_per_link": round(100 * float(probability(lost)), 6),
        "duplicate": bearer is not None and bearer["mode"] == "duplicate",
        "file_size_mb": plain(amount(flow["workload"].get("size") or flow["workload"]["html"])),
    }
    return columns


def receive_buffer_bytes(scenario: Mapping[str, Any], flow: Mapping[str, Any]) -> int | None:
    """Return the receive buffer with which the receiver of a flow starts [B]; `None` if it is the program's own."""
    if implementation(flow, "receiver") != "linux":
        host_name = flow["receiver"].get("host")
        return None if host_name is None else byte_count(scenario["hosts"][host_name]["receive_buffer"])
    if flow["stack"] == "linux":  # the kernel itself, as the job sets it up
        return int(SYSCTLS["net.ipv4.tcp_rmem"].split()[1])
    return option_bytes(flow, "receiver", "tcp.receive_buffer")


def mean_delay(link: Mapping[str, Any]) -> str:
    """Return the mean delay of a resolved link."""
    delay = link["delay"]
    return str(delay["mean"] if isinstance(delay, Mapping) else delay)


def plain(value: float) -> float | int:
    """Return a whole number as one."""
    return int(value) if value == int(value) else value


def amount(text: str) -> float:
    """Read a resolved quantity, in Mbit/s, ms or MB."""
    found = parse(text)
    if found is None:
        raise ValueError(expected_got("a quantity", shown(text)))
    return round(found[1] / 1e6, 4)  # of bit/s, ns or B


def probability(loss: object) -> float:
    """Return the probability of independent loss of a resolved link."""
    if loss is None:
        return 0.0
    if isinstance(loss, Mapping):
        return probability(loss["probability"])
    text = str(loss)
    return float(text.rstrip(" %")) / 100 if text.endswith("%") else float(text)
