"""Shared parts of the studies `validation/lab_quic`: networks, lab-quic in them, metrics, limits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from quiclab.result import RunResult
from quiclab.study import Changes, Configuration, Metric
from quiclab.study.criteria import Criterion
from quiclab.study.findings import Key
from quiclab_studies.validation.network import Network

DATAGRAM_BYTES, FRAME_BYTES = 1280, 1322
WITHOUT_LOSS, WITH_LOSS, EVENTS = 0.03, 0.08, 0.10
"""Limits: goodput, packets and acknowledgements without and with random loss; congestion events."""
LOSSES_PERCENT = (0.0, 0.1, 1.0)
ROUND_TRIPS = 5000
"""Round trips that a run with random loss or jitter lasts, wherever lab-quic is compared with an engine."""
CLEAN_SECONDS = 30
"""How long a run without either lasts: it is the same with every seed."""


@dataclass(frozen=True)
class Chain:
    """The network between server and client: a bottleneck, then a delay."""

    rate_mbps: int
    rtt_ms: int
    loss_percent: float
    jitter: bool

    @property
    def name(self) -> str:
        """Name of the setting, such as `20mbit_20ms_loss0.1_jitter`."""
        parts = [f"{self.rate_mbps}mbit", f"{self.rtt_ms}ms"]
        if self.loss_percent:
            parts.append(f"loss{self.loss_percent:g}")
        if self.jitter:
            parts.append("jitter")
        return "_".join(parts)

    @property
    def is_random(self) -> bool:
        """Whether runs with different seeds differ."""
        return bool(self.loss_percent) or self.jitter

    @property
    def queue_packets(self) -> int:
        """One bandwidth-delay product of full frames."""
        return round(1e3 * self.rate_mbps * self.rtt_ms / (8 * FRAME_BYTES))

    @property
    def seconds(self) -> float:
        """Duration of a run that is compared with another engine.

        A window of NewReno at a loss rate of 0.1 % is some 40 packets (RFC 5348 section 3.1: 1.22 / sqrt(p)), hence
        5000 round trips have 200 random losses, ten runs 2000. With more loss, or with jitter, there are more.
        """
        return ROUND_TRIPS * self.rtt_ms / 1000 if self.is_random else CLEAN_SECONDS

    @property
    def goodput_limit(self) -> float:
        """How far goodput may be off."""
        return WITH_LOSS if self.loss_percent else WITHOUT_LOSS

    def changes(self, seconds: float) -> Changes:
        """Return what makes `scenarios/quic_path.toml` this chain, for a run of that time."""
        time, network = f"{seconds:g} s", Network(self.rate_mbps, self.rtt_ms, self.queue_packets, self.loss_percent)
        return {
            **network.chain("normal 1ms down" if self.jitter else "none"),
            "duration": time,
            "until": "duration_over",
            "flows.main.workload": {"kind": "download", "duration": time, "request": "16 B"},
            "record": {"series_interval": "10 ms" if not self.is_random else "100 ms"},
        }


CHAINS = {
    chain.name: chain
    for rate, rtt in ((20, 20), (100, 36), (10, 112))
    for loss in LOSSES_PERCENT
    for jitter in (False, True)
    for chain in [Chain(rate, rtt, loss, jitter)]
}


def lab_quic(flow: str, profile: str, certificate_bytes: int) -> Changes:
    """Return the changes that run lab-quic with a profile at both ends of a flow.

    Parameters
    ----------
    flow
        Name of the flow.
    profile
        Name of the profile.
    certificate_bytes
        Length of the certificates [B], chosen so that the server's handshake messages have the length of those of the
        stack that lab-quic is compared with.
    """
    tls = {"version": "1.3", "certificate": f"{certificate_bytes} B"}
    found: dict[str, object] = {f"flows.{flow}.stack": "lab-quic"}
    for end in ("sender", "receiver"):
        found |= {f"flows.{flow}.{end}.profile": profile, f"flows.{flow}.{end}.tls": tls}
    return found


def goodput_mbps(result: RunResult) -> float:
    """Bits delivered in order in the run, handshake and slow start included, over its time [Mbit/s]."""
    return 8 * result.flows["main"].delivered_bytes / result.network_time_s / 1e6


def counts(flow: str) -> tuple[Metric, ...]:
    """Return the metrics of what both ends of a flow count."""
    return tuple(
        Metric(name, label, "", lambda result, end=end, key=key: float(getattr(result.flows[flow], end)[key]))
        for name, label, end, key in (
            ("data_packets", "Datagrams of the server", "sender", "packets_sent"),
            ("client_packets", "Datagrams of the client", "receiver", "packets_sent"),
            ("lost_packets", "Packets declared lost", "sender", "lost_packets"),
            ("congestion_events", "Congestion events", "sender", "congestion_events"),
        )
    )


METRICS = (
    Metric("goodput_mbps", "Goodput", "Mbit/s", goodput_mbps),
    *counts("main"),
    Metric("srtt_ms", "Mean smoothed RTT", "ms", lambda result: result.over_time("main.sender", "srtt_ms", "mean")),
    Metric(
        "cwnd_packets",
        "Mean congestion window",
        "packets",
        lambda result: result.over_time("main.sender", "cwnd_bytes", "mean") / DATAGRAM_BYTES,
    ),
)


def criteria(
    prefix: str, other: str, configurations: Iterable[Configuration], reference: Mapping[str, Mapping[Key, float]]
) -> tuple[Criterion, ...]:
    """Return the criteria of a part over all chains.

    Parameters
    ----------
    prefix
        How their identities begin, such as `LQ-Q`.
    other
        The reference of lab-quic.
    configurations
        Configurations of the part.
    reference
        Values by metric, then by setting; empty where the reference is an engine.
    """
    keys: dict[Key, Chain] = {(item.name, name): chain for item in configurations for name, chain in CHAINS.items()}

    def of(metric: str) -> Mapping[Key, float]:
        return reference.get(metric, {})

    limits = {key: chain.goodput_limit for key, chain in keys.items()}
    shares = "3 %, under random loss 8 %"
    return (
        Criterion(
            f"{prefix}1",
            f"Goodput is within 3 % of {other} wherever no packet is lost at random.",
            of("goodput_mbps"),
            {key: WITHOUT_LOSS for key, chain in keys.items() if not chain.loss_percent},
        ),
        Criterion(
            f"{prefix}2",
            f"Goodput is within 8 % of {other} under random loss, in the mean over the runs.",
            of("goodput_mbps"),
            {key: WITH_LOSS for key, chain in keys.items() if chain.loss_percent},
        ),
        Criterion(
            f"{prefix}3",
            f"The server sends as many datagrams as {other}, within {shares}.",
            of("data_packets"),
            limits,
            "data_packets",
        ),
        Criterion(
            f"{prefix}4",
            f"The client sends as many datagrams, nearly all of them acknowledgements, as {other}, within {shares}.",
            of("client_packets"),
            limits,
            "client_packets",
        ),
        Criterion(
            f"{prefix}5",
            f"There are as many congestion events as with {other}, within 10 %, where losses or delays are random.",
            of("congestion_events"),
            {key: EVENTS for key, chain in keys.items() if chain.is_random},
            "congestion_events",
        ),
    )
