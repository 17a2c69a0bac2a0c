"""Real programs of the pacing study in the kernel lane: Linux TCP in its variants, and QUIC stacks."""

from collections.abc import Mapping
from typing import Any

from quiclab.kernel.lane import Lane
from quiclab.study import Changes, Engine

LANE = Lane(clock="virtual")
#: Room for what 100 Mbit/s and a full queue have under way, 3.1 MB, and more.
WINDOWS = {"stream_receive_window": "16 MiB", "connection_receive_window": "32 MiB"}
#: quinn closes a connection with more than 1024 gaps in a stream (quinn-proto 0.11.19, assembler.rs), and its slow
#: start makes 2400 at 100 Mbit/s if its window lets it: 4 MiB is what the path holds, and 700 gaps.
QUINN_WINDOWS = {"stream_receive_window": "4 MiB", "connection_receive_window": "8 MiB"}
SEND_BUFFER, RECEIVE_BUFFER = {"max_send_buffer": "16 MiB"}, {"max_receive_buffer": "32 MiB"}
#: Of full frames, 1514 B, what the kernel paces by: the payload. Paced to the rate of the bottleneck, segments are
#: therefore sent 4.6 % too fast: its queue overflows, and ACKs clock the sender (11 % of them duplicates at 10 Mbit/s).
#: Paced to the payload's share of it there is no loss, and pairs leave every 2.42 ms, as published.
PAYLOAD_SHARE = 1448 / 1514
#: Engines that pace by SO_MAX_PACING_RATE: who paces, and to which share of the bottleneck's rate.
PACED_TO_RATE = {
    "linux_so_max_pacing_rate": ("linux", 1.0),
    "linux_so_max_payload_rate": ("linux", PAYLOAD_SHARE),
    "linux_fq_max_rate": ("fq", 1.0),
}
#: Those of Linux TCP: congestion control and pacing.
TCP: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "linux_unpaced": ("cubic", {}),
    "linux_fq": ("cubic", {"pacing": {"kind": "fq"}}),
    "linux_so_max_pacing_rate": ("cubic", {}),
    "linux_so_max_payload_rate": ("cubic", {}),
    "linux_fq_max_rate": ("cubic", {}),
    "linux_bbr": ("bbr-linux", {}),
    "linux_bbr_fq": ("bbr-linux", {"pacing": {"kind": "fq"}}),
}
#: Programs of QUIC: congestion control (the published one where the program has it) and windows of the receiver.
QUIC: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "aioquic": ("newreno", WINDOWS),
    "aioquic-0.9": ("newreno", WINDOWS),
    "quinn": ("cubic", QUINN_WINDOWS),
    "quic-go": ("newreno", WINDOWS),
    "ngtcp2": ("cubic", WINDOWS),
}
ENGINES = tuple(Engine(name, lane=LANE) for name in (*TCP, *QUIC))


def flow(engine: str, rate_mbps: int, seconds: int) -> Changes:
    """Return what makes the flow `main` of the scenario that of an engine.

    Parameters
    ----------
    engine
        One of `ENGINES`.
    rate_mbps
        Rate of the bottleneck.
    seconds
        How long it sends. ngtcp2 is asked for what the link carries in that time.
    """
    workload: dict[str, str] = {"kind": "download", "duration": f"{seconds} s"}
    if engine in TCP:
        control, options = TCP[engine]
        if engine in PACED_TO_RATE:
            kind, share = PACED_TO_RATE[engine]
            # rounded down: not above the rate that is meant
            options = {"pacing": {"kind": kind, "max_rate": f"{int(rate_mbps * share * 1000)} kbit/s"}}
        stack = "linux"
        sender: dict[str, Any] = {**options, "tcp": SEND_BUFFER}
        receiver: dict[str, Any] = {"tcp": RECEIVE_BUFFER}
    else:
        stack, sender = engine, {}
        control, windows = QUIC[engine]
        receiver = {**windows}
        if stack == "ngtcp2":
            workload = {"kind": "download", "size": f"{rate_mbps * seconds * 125} kB"}
    return {
        "flows.main.stack": stack,
        "flows.main.sender": {"congestion_control": control, **sender},
        "flows.main.receiver": receiver,
        "flows.main.workload": workload,
    }
