"""Real programs of the pacing study in the kernel lane: Linux TCP in its variants, and QUIC stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.lane.run import Lane
from quiclab.scenario.quantity import megabits_per_second
from quiclab.study import Changes, Configuration, Engine, Factor
from quiclab_studies.pacing.common import rates
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from collections.abc import Mapping

RUNS = 3
SECONDS = {10: 65, 100: 25}
"""Duration at each rate, including the 5 s that are skipped."""
ENGINES = (Engine("programs", lane=Lane(clock="virtual")),)
WINDOWS = {"stream_receive_window": "16 MiB", "connection_receive_window": "32 MiB"}
"""Windows above the 3.1 MB in flight at 100 Mbit/s with a full queue."""
QUINN_WINDOWS = {"stream_receive_window": "4 MiB", "connection_receive_window": "8 MiB"}
"""quinn closes a connection with more than 1024 gaps in a stream (quinn-proto 0.11.19, assembler.rs); its slow start
makes 2400 at 100 Mbit/s if its window lets it."""
SEND_BUFFER, RECEIVE_BUFFER = {"max_send_buffer": "16 MiB"}, {"max_receive_buffer": "32 MiB"}
PAYLOAD_SHARE = 1448 / 1514
"""Of full frames what the kernel paces by: the payload. Paced to the rate of the bottleneck, frames are therefore sent
4.6 % too fast."""
PACED: Mapping[str, tuple[str, float]] = {
    "linux_so_max_pacing_rate": ("linux", 1.0),
    "linux_so_max_payload_rate": ("linux", PAYLOAD_SHARE),
    "linux_fq_max_rate": ("fq", 1.0),
}
"""Who paces by SO_MAX_PACING_RATE, and to which share of the bottleneck's rate."""
TCP: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "linux_unpaced": ("Linux, unpaced", "cubic", {}),
    "linux_fq": ("Linux, fq", "cubic", {"pacing": {"kind": "fq"}}),
    "linux_so_max_pacing_rate": ("Linux, SO_MAX_PACING_RATE", "cubic", {}),
    "linux_so_max_payload_rate": ("Linux, SO_MAX_PACING_RATE of the payload", "cubic", {}),
    "linux_fq_max_rate": ("Linux, fq and SO_MAX_PACING_RATE", "cubic", {}),
    "linux_bbr": ("Linux, BBR", "bbr-linux", {}),
    "linux_bbr_fq": ("Linux, BBR and fq", "bbr-linux", {"pacing": {"kind": "fq"}}),
}
"""Linux TCP: label, congestion control, pacing."""
QUIC: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "aioquic": ("aioquic", "newreno", WINDOWS),
    "aioquic-0.9": ("aioquic 0.9", "newreno", WINDOWS),
    "quinn": ("quinn", "cubic", QUINN_WINDOWS),
    "quic-go": ("quic-go", "newreno", WINDOWS),
    "ngtcp2": ("ngtcp2", "cubic", WINDOWS),
}
"""Programs of QUIC: label, congestion control (the published one where the program has it), windows of the receiver."""
RATE: Factor = rates(*SECONDS)
ASSUMPTIONS = assumed(__file__, "kernel")


def configurations() -> tuple[Configuration, ...]:
    """Return the programs, each as both ends of the flow."""
    names = {name: item[0] for name, item in (TCP | QUIC).items()}  # type: ignore[operator]
    return tuple(Configuration(name, label, _merged(name)) for name, label in names.items())


def _merged(name: str) -> Any:
    def changes(given: Changes) -> Changes:
        bucket: Any = given["links.bottleneck.rate"]
        return {**given, **flow(name, int(megabits_per_second(str(bucket["rate"]))))}

    return changes


def flow(name: str, rate_mbps: int) -> Changes:
    """Return what makes the flow `main` of the scenario one of a program.

    Parameters
    ----------
    name
        One of `TCP` or `QUIC`.
    rate_mbps
        Rate of the bottleneck. ngtcp2 requests the data of this time.
    """
    seconds = SECONDS[rate_mbps]
    workload: dict[str, str] = {"kind": "download", "duration": f"{seconds} s"}
    sender: dict[str, Any] = {}
    receiver: dict[str, Any]
    if name in TCP:
        _, control, options = TCP[name]
        if name in PACED:
            kind, share = PACED[name]
            # rounded down: not above the rate that is meant
            options = {"pacing": {"kind": kind, "max_rate": f"{int(rate_mbps * share * 1000)} kbit/s"}}
        stack, sender, receiver = "linux", {**options, "tcp": SEND_BUFFER}, {"tcp": RECEIVE_BUFFER}
    else:
        _, control, windows = QUIC[name]
        stack, receiver = name, dict(windows)
        if stack == "ngtcp2":
            workload = {"kind": "download", "size": f"{rate_mbps * seconds * 125} kB"}
    return {
        "duration": f"{seconds + 5} s",
        "until": "workloads_done",
        "record": {"pcapng": True},
        "flows.main.stack": stack,
        "flows.main.sender": {"congestion_control": control, **sender},
        "flows.main.receiver": receiver,
        "flows.main.workload": workload,
    }
