"""Stacks, hosts and links of the pacing thesis.

First part of the study of pacing and acknowledgements; `pacing` has the studies themselves. What the thesis leaves open
is in `ASSUMPTIONS`, each with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.study import Assumption, Changes, Configuration, Engine, Factor, Value
from quiclab.study.ran import implementation
from quiclab_studies.hosts import AIOQUIC_DATAGRAM, C_DATAGRAM, C_SEND_CALL, GO_DATAGRAM, GO_SEND_CALL

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

HOST_ASSUMPTIONS = (
    Assumption(
        f"Programs in C take {C_SEND_CALL} for a packet that they send, one system call each, quic-go {GO_SEND_CALL}. "
        f"For one that they receive clients take {C_DATAGRAM} and {GO_DATAGRAM} where links are filled (study "
        "`utilisation`), its part of the ACKs included, and nothing elsewhere.",
        "Section 6.3.1: ngtcp2 leaves at least 8 us between packets, one system call a packet; section 7.1 states "
        "about 5 us for QUIC in general. quic-go took 1.6 and 1.4 times the CPU time of ngtcp2 "
        "(reference/utilisation_real.csv, 1 Gbit/s). A bottleneck of 100 Mbit/s leaves about 100 us between packets.",
    ),
    Assumption(
        f"aioquic takes {AIOQUIC_DATAGRAM} for a datagram in either direction, as in all studies.",
        "Measured for a receiving call of its server. The least published utilisation of 10 Gbit/s, 0.47 %, is 225 us "
        "a packet of 1322 bytes, its part of the acknowledgements included: the testbed was slower (variant "
        "`slow_python`).",
    ),
    Assumption(
        "Timers of programs in C are 55 us late, with a standard deviation of 5 us; those of Python and Go up to a "
        "millisecond.",
        "Linux lets a wait be 50 us late by default (prctl(2), PR_SET_TIMERSLACK), and waking takes a "
        "few more; the deviation is an assumption, small, so that waits are not all equal; Python's "
        "asyncio waits in whole milliseconds (selectors.EpollSelector), and so does Go's runtime (netpoll_epoll.go).",
    ),
    Assumption(
        "picoquic's client has BBR, the default of its example program, which paces its acknowledgements. Beside "
        "CUBIC it acknowledges after a quarter of the round trip time, however many packets have come.",
        "picoquic_prepare_packet_ready looks for an acknowledgement when the pacer lets a packet go "
        "(reference/picoquic_program.csv has what the program does). Beside CUBIC a timeout ends STARTUP of the "
        "client's BBR, since packets that are older than the timeout give no RTT samples; that is not modelled. "
        "Without the pacer it would be every second packet, or 10 ms (variant `picoquic_every_second`).",
    ),
    Assumption(
        "The windows of picoquic's client are as large as the file, 2 GiB here.",
        "picoquicdemo opens them to its length with the first data, one MAX_DATA. With windows that grow as the file "
        "arrives, one of their MAX_DATA at 100 Mbit/s is not acknowledged in time while the server is in STARTUP: the "
        "timeout ends the STARTUP of the client's BBR, and it acknowledges less often (variant `growing_windows`).",
    ),
    Assumption(
        "ngtcp2's client has the flow-control windows of its release of 2022, 6 and 15 MiB; those without an "
        "assumption have their own.",
        "With the 256 KiB of 2020 a stream gets 42 Mbit/s at 50 ms; the thesis sees 100. Command lines are not given.",
    ),
)
ASSUMPTIONS = (
    Assumption(
        "The queue of the bottleneck is 1000 packets at both rates, those within netem's 25 ms included: 979 and 794 "
        "of 1514 bytes behind it.",
        "Listing 5.1 puts netem below tbf, where it takes the place of the queue that `latency 200ms` has made; what "
        "tbf drops is what its child does not take (net/sched/sch_tbf.c). The text means 4 BDP (variant `four_bdp`); "
        "only 1000 packets give the published 150 to 300 ms between picoquic's acknowledgements, which are a quarter "
        "of the round trip time.",
    ),
    Assumption(
        "25 ms of delay in each direction; token bucket and queue towards the client only.",
        "The text does not say on which interfaces the commands ran; 200 ms are 4 BDP of 50 ms.",
    ),
    *HOST_ASSUMPTIONS,
    Assumption(
        "BBR runs with netcat; the sender with SO_MAX_PACING_RATE uses CUBIC; TCP's buffers are Linux' defaults.",
        "Not said.",
    ),
    Assumption(
        "Captures show single segments: no offload merges sent packets.",
        "The tap is on the fibre, behind the server's card.",
    ),
    Assumption(
        "A burst is of packets that follow each other within half of the time that the bottleneck takes for one, and "
        "answers an ACK if it begins that soon after it.",
        "The thesis has no definition. Faster is twice the rate of the bottleneck, which no pacer has after slow "
        "start. In proportion to the packet's time, so that what a program costs its host does not decide.",
    ),
    Assumption(
        "What is compared with published bursts has a fixed gap of 0.04 ms in its place; intervals of acknowledgements "
        "have the width from their 1 % to their 99 % quantile.",
        "0.04 ms lies between packets sent in one batch (8 us) and the shortest interval of a pacer (84 us).",
    ),
    Assumption(
        "The link in front of the router and the way back never queue: 10 Gbit/s and 1 Gbit/s.",
        "The fastest link of the thesis has 10 Gbit/s; the rate of the return path is not stated, and "
        "acknowledgements use a small share of it.",
    ),
    Assumption(
        "Peaks of a distribution are those that `quiclab pacing analyse` finds: between two there is a valley of half "
        "the lower one, and each has at least 1 % of the intervals.",
        "The thesis sees them in its figures.",
    ),
)
LINK_ASSUMPTIONS = (
    Assumption(
        "There is no router: server and client are at the ends of one link, 0.1 ms in each direction.",
        "The text gives the rate of the link alone; the delay is quiclab's assumption, that of two hosts side by side.",
    ),
    Assumption(
        "At 10 and 100 Mbit/s the queue is that of tbf, 200 ms and the bucket of 1600 bytes; above, it has the 1000 "
        "packets of a card.",
        "Section 5.4 without its netem; 1000 packets are the default txqueuelen of Linux.",
    ),
    Assumption(
        "The link is used for 40 s at 10 and 100 Mbit/s, for 4 s at 1 Gbit/s and for 1 s at 10 Gbit/s.",
        "It is at least 40 s in the thesis; a second of the fast links has a hundred thousand packets and more, and "
        "slow start is over in a part of it.",
    ),
    *HOST_ASSUMPTIONS,
)
"""Of the study `utilisation`, whose network is that of `link`; its hosts are those of the others."""
