"""Stacks, hosts and links of the pacing thesis.

First part of the study of pacing and acknowledgements; `pacing` has the studies themselves. What the thesis leaves open
is in `ASSUMPTIONS`, each with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.study import Changes, Configuration, Engine, Factor, Value
from quiclab.study.ran import implementation
from quiclab_studies.hosts import AIOQUIC_DATAGRAM, C_DATAGRAM, C_SEND_CALL, GO_DATAGRAM, GO_SEND_CALL
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from collections.abc import Mapping

SCENARIO = "scenarios/pacing.toml"
SOURCE = "Keller, Analysis of the Pacing Mechanism in Current QUIC Protocol Stacks, thesis, TU Munich, 2021"
RUNS = 10
DURATION_S = 125
"""A download of at least two minutes, and the 5 s that are skipped."""
RATES_MBPS = (10, 100)
DELAY_S = 0.025
NETEM_PACKETS = 1000
FULL_FRAME_BYTES = 1514

# --- hosts

C_HOST = {
    "send_call": C_SEND_CALL,
    "timer_slack": {"mean": "55 us", "deviation": "5 us", "distribution": "normal"},
}
"""A program in C: a system call for each packet, and a timer that Linux lets be 50 us late (prctl(2))."""
COARSE_TIMER = {"mean": "0.5 ms", "deviation": "0.5 ms", "distribution": "uniform"}
"""A wait in epoll, in whole milliseconds: those of Python's `selectors` and of Go's runtime are rounded up."""
GO_HOST = {"send_call": GO_SEND_CALL, "timer_slack": COARSE_TIMER}
PYTHON_HOST = {
    "send_datagram": AIOQUIC_DATAGRAM,
    "receive_datagram": AIOQUIC_DATAGRAM,
    "timer_slack": COARSE_TIMER,
}

# --- stacks


def quic(profile: str, host: Mapping[str, Any], control: str = "", **receiver: object) -> dict[str, Any]:
    """Return both ends of a download over QUIC; further options are those of the client."""
    end = {"profile": profile, "host": "user"}
    sender = {**end, "congestion_control": control} if control else end
    return {
        "hosts.user": dict(host),
        "flows.main.stack": "lab-quic",
        "flows.main.sender": sender,
        "flows.main.receiver": {**end, **receiver},
    }


def tcp(control: str = "cubic", pacing: Mapping[str, object] | None = None, *, tls: bool = False) -> dict[str, Any]:
    """Return both ends of a download over the TCP of Linux 4.19, which is no user of its host."""
    end: dict[str, Any] = {"profile": "linux-4.19", **({"tls": {"version": "1.3"}} if tls else {})}
    sender = {**end, "congestion_control": control, **({"pacing": dict(pacing)} if pacing else {})}
    return {"flows.main.stack": "lab-tcp", "flows.main.sender": sender, "flows.main.receiver": end}


def real(stack: str) -> dict[str, Any]:
    """Return both ends of a download over a QUIC library, on a host of C's costs."""
    end = {"host": "user"}
    return {
        "hosts.user": dict(C_HOST),
        "flows.main.stack": stack,
        "flows.main.sender": dict(end),
        "flows.main.receiver": dict(end),
    }


WIDE = {"stream_receive_window": "6 MiB", "connection_receive_window": "15 MiB"}
"""Windows that do not limit the sender at 100 Mbit/s: those of ngtcp2's client two years later."""
FILE_WINDOWS = {"stream_receive_window": "2 GiB", "connection_receive_window": "2 GiB"}
"""More than a download has at 100 Mbit/s. With the first data picoquicdemo opens its windows to the length of the file
(picohttp/democlient.c, picoquic_open_flow_control), and sends no MAX_DATA later."""
PICOQUIC_CLIENT = {"congestion_control": "bbr-picoquic", **FILE_WINDOWS}
"""picoquicdemo's default (picoquicfirst/picoquicdemo.c, bf84867). It decides how often the client acknowledges."""
QUARTER_RTT = {
    **FILE_WINDOWS,
    "congestion_control": "newreno",
    "pacing": {"kind": "none"},
    "quic": {"acknowledgement": {"kind": "rtt_fraction", "fraction": 0.25, "packets": 65535, "delay": "1 s"}},
}
"""Acknowledgements of a BBR whose timeout has ended STARTUP, as the thesis saw them beside CUBIC: after about a quarter
of the round trip time, however many packets."""
BOTTLENECK = "RATE"
"""Placeholder for the rate of the bottleneck in the changes of a configuration."""

ENDS: Mapping[str, Mapping[str, Any]] = {
    "aioquic": quic("aioquic-0.8.8", PYTHON_HOST),
    "picoquic_bbr": quic("picoquic", C_HOST, "bbr-picoquic", **PICOQUIC_CLIENT),
    "picoquic_cubic": quic("picoquic", C_HOST, "cubic", **QUARTER_RTT),
    "quic-go": quic("quic-go", GO_HOST, "cubic"),
    "ngtcp2": quic("ngtcp2-2020", C_HOST, **WIDE),
    "netcat": tcp(),
    "apache": tcp(tls=True),
    "bbr": tcp("bbr-linux"),
    "fq": tcp(pacing={"kind": "fq"}),
    "so_max_pacing_rate": tcp(pacing={"kind": "linux", "max_rate": BOTTLENECK}),
    "custom": tcp(),
    "quinn": real("quinn"),
    "noq": real("noq"),
}
LABELS: Mapping[str, str] = {
    "aioquic": "aioquic",
    "picoquic_bbr": "picoquic, BBR",
    "picoquic_cubic": "picoquic, CUBIC",
    "quic-go": "quic-go",
    "ngtcp2": "ngtcp2",
    "netcat": "TCP, netcat",
    "apache": "TCP, Apache",
    "bbr": "TCP, BBR",
    "fq": "TCP, fq",
    "so_max_pacing_rate": "TCP, SO_MAX_PACING_RATE",
    "quinn": "quinn",
    "noq": "noq",
    "custom": "TCP, own sender",
}
QUIC = ("aioquic", "picoquic_bbr", "picoquic_cubic", "quic-go", "ngtcp2")
TCP = ("netcat", "apache", "bbr", "fq", "so_max_pacing_rate")
REAL = ("quinn", "noq")

# --- network


def rate(value: Value) -> Changes:
    """Return the bottleneck's rate, and the queue that the published commands leave there."""
    in_delay = float(value) * 1e6 * DELAY_S / 8 / FULL_FRAME_BYTES
    return {
        "links.bottleneck.rate": {"kind": "token_bucket", "rate": f"{value} Mbit/s", "burst": "1600 B"},
        "links.bottleneck.queue": {"kind": "drop_tail", "packets": NETEM_PACKETS - round(in_delay)},
    }


def rates(*rates_mbps: int) -> Factor:
    """Return the factor of the rates."""
    return Factor("rate", "bottleneck_rate_mbps", "Bottleneck", "Mbit/s", rates_mbps, rate)


RATE = rates(*RATES_MBPS)
LINK_S = {10: 40, 100: 40, 1000: 4, 10000: 1}
"""How long a link is filled: at least 40 s in the thesis, less where a second has a hundred thousand packets."""
SHAPED_MBPS = 100
"""Up to this rate a token bucket shapes; above it is the link's own."""


def link(value: Value) -> Changes:
    """Return a link between server and client without a router: its rate, its queue, and for how long it is used."""
    rate_mbps = int(value)
    shaped: dict[str, object] = {"kind": "token_bucket", "rate": f"{value} Mbit/s", "burst": "1600 B"}
    queue = {"kind": "drop_tail", "bytes": f"{rate_mbps * 25_000 + 1600} B"}
    card = {"kind": "drop_tail", "packets": 1000}
    is_shaped = rate_mbps <= SHAPED_MBPS
    return {
        "links.bottleneck": {
            "rate": shaped if is_shaped else f"{value} Mbit/s",
            "queue": queue if is_shaped else card,
            "overhead_per_packet": "14 B",
            "delay": "0.1 ms",
        },
        "links.back.rate": "10 Gbit/s",
        "links.back.delay": "0.1 ms",
        "flows.main.down": ["bottleneck", "at_sender", "fast"],
        "duration": f"{LINK_S[rate_mbps]} s",
        "flows.main.workload": {"kind": "download", "duration": f"{LINK_S[rate_mbps]} s"},
    }


LINK = Factor("rate", "link_rate_mbps", "Link", "Mbit/s", tuple(LINK_S), link)
LONG: Changes = {
    "duration": f"{DURATION_S} s",
    "flows.main.workload": {"kind": "download", "duration": f"{DURATION_S} s"},
}


def with_rate(changes: Changes) -> Changes:
    """Replace the placeholder of a configuration by the rate of the bottleneck."""
    merged = dict(changes)
    sender: Mapping[str, Any] = merged["flows.main.sender"]  # type: ignore[assignment]
    pacing = sender.get("pacing", {})
    if pacing.get("max_rate") == BOTTLENECK:
        bucket: Mapping[str, Any] = merged["links.bottleneck.rate"]  # type: ignore[assignment]
        merged["flows.main.sender"] = {**sender, "pacing": {**pacing, "max_rate": bucket["rate"]}}
    return merged


def configuration(name: str, changes: Changes | None = None) -> Configuration:
    """Return a download over one of the stacks."""
    own = {**ENDS[name], **(changes or {})}
    return Configuration(name, LABELS[name], lambda given: with_rate({**given, **own}))


def configurations(*names: str) -> tuple[Configuration, ...]:
    """Return several of them."""
    return tuple(configuration(name) for name in names)


def filling(*names: str) -> tuple[Configuration, ...]:
    """Return several of them, whose clients take time for what they receive: a fast link leaves little."""
    return tuple(configuration(name, receiving(name)) for name in names)


def receiving(name: str) -> Changes:
    """Return the client's host of a program in C or Go; its cost of a packet has that of the ACKs in it."""
    host: Mapping[str, Any] = ENDS[name].get("hosts.user", {})
    if "send_call" not in host:
        return {}
    cost = GO_DATAGRAM if host["send_call"] == GO_SEND_CALL else C_DATAGRAM
    return {
        "hosts.client": {"receive_datagram": cost, "timer_slack": host["timer_slack"]},
        "flows.main.receiver": {**ENDS[name]["flows.main.receiver"], "host": "client"},
    }


ENGINES = (Engine("lab-quic"),)


def describe(scenario: Mapping[str, Any], labels: Mapping[str, Value]) -> dict[str, object]:
    """Return the columns of the published tables."""
    del labels
    flow = scenario["flows"]["main"]
    name = implementation(flow)
    return {"impl": "tcp" if name == "linux" else name, "cc": flow["sender"]["congestion_control"]}


# --- readings

HOST_ASSUMPTIONS = assumed(
    __file__,
    "common_host",
    c_send_call=C_SEND_CALL,
    go_send_call=GO_SEND_CALL,
    c_datagram=C_DATAGRAM,
    go_datagram=GO_DATAGRAM,
    aioquic_datagram=AIOQUIC_DATAGRAM,
)
ASSUMPTIONS = (
    *assumed(__file__, "common_network"),
    *HOST_ASSUMPTIONS,
    *assumed(__file__, "common_definitions"),
)
LINK_ASSUMPTIONS = (
    *assumed(__file__, "common_link"),
    *HOST_ASSUMPTIONS,
)
"""Of the study `utilisation`, whose network is that of `link`; its hosts are those of the others."""
