"""Other readings of the pacing thesis' description: one assumption about the testbed changed at a time.

Each is a variant of all studies of `quiclab_studies.pacing.studies`, shown and not scored. Ablations of refuted claims
(`claims.toml`) read some of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.scenario.quantity import megabits_per_second
from quiclab.study import Changes, Variant
from quiclab_studies.hosts import AIOQUIC_DATAGRAM_SLOW
from quiclab_studies.pacing.common import FILE_WINDOWS, FULL_FRAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

WAKE_UP = {"mean": "67 us", "deviation": "66 us", "distribution": "uniform"}
"""Wake-up time of a sleeping processor."""
PAYLOAD_BYTES = 1448
"""Of a full frame of TCP: what the kernel's pacers count."""
INTERRUPT = "250 us"
"""Wait of a network card after a frame before its interrupt: 4000 interrupts in a second (`IGB_4K_ITR` of Intel's
driver of cards of 1 Gbit/s, drivers/net/ethernet/intel/igb)."""
MERGED = 64
"""Frames that one interrupt passes to TCP as one: more than arrive in the meantime."""
LATE_US = 10.0
"""Lateness of a kernel timer: what a processor of the testbed takes to leave C1E (drivers/idle/intel_idle.c,
`bdx_cstates`), the deepest state that pays off between two frames at 100 Mbit/s."""
SOCKET_BUFFER = "212992 B"
"""Receive buffer of a UDP socket whose program sets none (`net.core.rmem_default`)."""
AIOQUIC_SENT = "81 us"
"""A datagram that aioquic sends: 0.81 of the 100 us of one that it receives (tools/measure_aioquic_cost.py)."""


def without_hosts(changes: Changes) -> Changes:
    """Take the costs of the hosts away."""
    return {**changes, **({"hosts.user": {}} if "hosts.user" in changes else {})}


def late_processes(changes: Changes) -> Changes:
    """Delay the wake-up of programs after the arrival of a packet."""
    host: Mapping[str, Any] | None = changes.get("hosts.user")  # type: ignore[assignment]
    return changes if host is None else {**changes, "hosts.user": {**host, "wake_up": WAKE_UP}}


def four_bdp(changes: Changes) -> Changes:
    """Return a queue of 200 ms at the bottleneck's rate, and the bucket, as tbf makes it without a child."""
    bucket: Mapping[str, Any] = changes["links.bottleneck.rate"]  # type: ignore[assignment]
    queue_bytes = megabits_per_second(bucket["rate"]) * 1e6 * 0.2 / 8 + 1600
    return {**changes, "links.bottleneck.queue": {"kind": "drop_tail", "bytes": f"{queue_bytes:.0f} B"}}


def every_second(changes: Changes) -> Changes:
    """Let picoquic's client acknowledge without a pacer."""
    receiver: Mapping[str, Any] = changes["flows.main.receiver"]  # type: ignore[assignment]
    if receiver.get("profile") != "picoquic":
        return changes
    unpaced = {"congestion_control": "newreno", "pacing": {"kind": "none"}}
    kept = {key: value for key, value in receiver.items() if key != "quic"}
    return {**changes, "flows.main.receiver": {**kept, **unpaced}}


def growing_windows(changes: Changes) -> Changes:
    """Give picoquic's client the windows that its connections have at first, which grow with what it receives."""
    receiver: Mapping[str, Any] = changes["flows.main.receiver"]  # type: ignore[assignment]
    if receiver.get("profile") != "picoquic":
        return changes
    return {
        **changes,
        "flows.main.receiver": {key: value for key, value in receiver.items() if key not in FILE_WINDOWS},
    }


def payload_rate(changes: Changes) -> Changes:
    """Let the kernel's pacers be as slow as the bottleneck is, which also counts headers."""
    sender: Mapping[str, Any] = changes["flows.main.sender"]  # type: ignore[assignment]
    pacing = sender.get("pacing", {})
    if pacing.get("kind") not in ("fq", "linux"):
        return changes
    bucket: Mapping[str, Any] = changes["links.bottleneck.rate"]  # type: ignore[assignment]
    rate_kbps = int(megabits_per_second(str(bucket["rate"])) * 1e3 * PAYLOAD_BYTES / FULL_FRAME_BYTES)
    return {**changes, "flows.main.sender": {**sender, "pacing": {**pacing, "max_rate": f"{rate_kbps} kbit/s"}}}


def slow_python(changes: Changes) -> Changes:
    """Give aioquic the cost that the testbed had."""
    host: Mapping[str, Any] = changes.get("hosts.user", {})  # type: ignore[assignment]
    if "send_datagram" not in host:
        return changes
    slow = {"send_datagram": AIOQUIC_DATAGRAM_SLOW, "receive_datagram": AIOQUIC_DATAGRAM_SLOW}
    return {**changes, "hosts.user": {**host, **slow}}


def receive_card(changes: Changes) -> Changes:
    """Let the client's card wait before it interrupts; it merges segments of TCP meanwhile (GRO), not of UDP."""
    receiver: Mapping[str, Any] = changes["flows.main.receiver"]  # type: ignore[assignment]
    host: Mapping[str, Any] = changes.get("hosts.user", {"receive_batch": MERGED})  # type: ignore[assignment]
    return {
        **changes,
        "hosts.client": {**host, "wake_up": INTERRUPT},
        "flows.main.receiver": {**receiver, "host": "client"},
    }


def late_pacers(changes: Changes) -> Changes:
    """Let the kernel's pacers send pairs, and begin each `LATE_US` late: later than the bottleneck takes for a pair."""
    sender: Mapping[str, Any] = changes["flows.main.sender"]  # type: ignore[assignment]
    pacing = sender.get("pacing", {})
    if pacing.get("kind") not in ("fq", "linux"):
        return changes
    bucket: Mapping[str, Any] = changes["links.bottleneck.rate"]  # type: ignore[assignment]
    pair_us = 2 * 8 * FULL_FRAME_BYTES / megabits_per_second(str(bucket["rate"]))
    rate_kbps = int(2 * 8e3 * PAYLOAD_BYTES / (pair_us + LATE_US))
    paced = {**sender, "pacing": {**pacing, "max_rate": f"{rate_kbps} kbit/s"}, "tcp": {"gso_segments": 2}}
    return {**changes, "flows.main.sender": paced}


def socket_buffer(changes: Changes) -> Changes:
    """Give programs the receive buffer of Linux in place of an unlimited one."""
    host: Mapping[str, Any] | None = changes.get("hosts.user")  # type: ignore[assignment]
    return changes if host is None else {**changes, "hosts.user": {**host, "receive_buffer": SOCKET_BUFFER}}


def measured_python(changes: Changes) -> Changes:
    """Give programs that receive buffer, and let aioquic send faster than it receives, as it does."""
    limited = socket_buffer(changes)
    host: Mapping[str, Any] = limited.get("hosts.user", {})  # type: ignore[assignment]
    return {**limited, "hosts.user": {**host, "send_datagram": AIOQUIC_SENT}} if "send_datagram" in host else limited


SLOW_PYTHON = Variant(
    "slow_python",
    "180 us a datagram in Python",
    "The testbed's cost, from the least published utilisation of 10 Gbit/s.",
    slow_python,
    5,
)
VARIANTS = (
    SLOW_PYTHON,
    Variant(
        "payload_rate",
        "fq and SO_MAX_PACING_RATE limited to what of the bottleneck's rate is payload",
        "Linux counts the payload, tbf whole frames: paced to the rate of the bottleneck, a sender overfills it by 5 "
        "%. Timers of Linux 4.19 that are late are not made good, which would slow it down by as much.",
        payload_rate,
        5,
    ),
    Variant(
        "ideal_hosts", "hosts that cost nothing", "The remaining effects are those of the transports.", without_hosts, 3
    ),
    Variant(
        "late_processes",
        "programs that run up to 133 us after a packet has arrived",
        "The idle states of the testbed's processors, Broadwell-DE, take 2 to 133 us to leave "
        "(drivers/idle/intel_idle.c, `bdx_cstates`); which ones they were in is not known.",
        late_processes,
        5,
    ),
    Variant("four_bdp", "queue of 200 ms", "Section 5.4 says 4 BDP: the meaning of the latency of tbf.", four_bdp, 3),
    Variant(
        "picoquic_every_second",
        "picoquic acknowledges every second packet, or after 10 ms",
        "So it does where no pacer holds acknowledgements back.",
        every_second,
        3,
    ),
    Variant(
        "growing_windows",
        "picoquic's client gives credit as it receives",
        "So it does where the length of the file is not known.",
        growing_windows,
        3,
    ),
    Variant(
        "receive_card",
        "a card of the client that waits 250 us after a frame, and merges segments of TCP",
        "The client's card and its settings are not given, nor whether offloads were on. 250 us are 4000 interrupts "
        "in a second, a value of Intel's driver for cards of 1 Gbit/s.",
        receive_card,
        5,
    ),
    Variant(
        "receive_card_late_pacers",
        "the same card, and pacers of the kernel that send pairs, each 10 us late",
        "The internal pacing of Linux 4.19 does not make good what its timer is late, its fq does up to half of the "
        "wait; 10 us is the time to leave the state of rest C1E. Pairs are what the thesis sees of the socket option "
        "at both rates. From 8 us on, three frames in a row take longer than the card waits.",
        lambda changes: receive_card(late_pacers(changes)),
        5,
    ),
    Variant(
        "socket_buffer",
        "programs with the default receive buffer of Linux",
        "Command lines are not given; a socket whose program sets no buffer has 212992 B.",
        socket_buffer,
        5,
    ),
    Variant(
        "measured_python",
        "the same buffer, and 81 us for a datagram that aioquic sends, 100 us for one that it receives",
        "Sending takes 0.81 of receiving (tools/measure_aioquic_cost.py). With equal costs the sender is as slow as "
        "the receiver, whose buffer then never fills.",
        measured_python,
        5,
    ),
)
