"""Algorithms of the start, in the two stacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quiclab_studies.slow_start.paths import Path

QUIC, TCP = "lab-quic", "lab-tcp"
STACKS = (QUIC, TCP)
#: More than any path of these studies and its queue hold.
AMPLE = "512 MiB"
#: As in Chromium and Linux: slow start sends a window in half of a round trip, as section 1 of Rapid Start supposes.
#: At the 1.25 of RFC 9002 section 7.7 it grows by g in a round trip, where g ln g is 1.25 times the growth by what is
#: acknowledged: by 1.89 for 2, and 2.61 for 3.
PACED = {"kind": "leaky_bucket", "factor": 1.25, "slow_start_factor": 2.0, "burst_packets": 10}
#: Receive window without scaling (RFC 9293 section 3.1), to which a receiver lets a sender jump.
UNSCALED_WINDOW_BYTES = 65_535
NONE, CAREFUL_RESUME, JUMP_START = "none", "careful-resume", "jump-start"


@dataclass(frozen=True)
class Start:
    """An algorithm of the start.

    Attributes
    ----------
    name
        As `slow_start_exit` in scenarios, and in results.
    label
        Its name in figures.
    """

    name: str
    label: str

    def options(self, path: Path) -> dict[str, Any]:
        """Return the options of a sender on a path; an earlier connection has found the whole path without a queue."""
        options: dict[str, Any] = {"congestion_control": "cubic", "slow_start_exit": self.name}
        if self.name == CAREFUL_RESUME:
            options["saved_path"] = {"window": f"{path.bdp_bytes} B", "rtt": f"{path.rtt_ms:g} ms"}
        if self.name == JUMP_START:
            options["max_jump"] = f"{UNSCALED_WINDOW_BYTES} B"
        return options


STARTS = (
    Start(NONE, "slow start"),
    Start("hystart-linux", "HyStart (Linux)"),
    Start("hystart-plus-plus", "HyStart++"),
    Start("search", "SEARCH"),
    Start("rapid-start", "Rapid Start"),
    Start(CAREFUL_RESUME, "Careful Resume"),
    Start(JUMP_START, "Jump Start"),
)
LABELS = {start.name: start.label for start in STARTS}


def flow(stack: str, start: Start, path: Path, seconds: float, after_s: float = 0.0) -> dict[str, Any]:
    """Return a download as a flow of a scenario: CUBIC with pacing, and windows that limit nothing."""
    sender = start.options(path)
    receiver: dict[str, Any]
    if stack == TCP:
        sender |= {"tcp": {"max_send_buffer": AMPLE}, "pacing": {"kind": "fq"}}
        receiver = {"tcp": {"receive_buffer": AMPLE, "max_receive_buffer": AMPLE}}
    else:
        sender |= {"send_window": AMPLE, "pacing": PACED}
        receiver = {"stream_receive_window": AMPLE, "connection_receive_window": AMPLE}
    return {
        "stack": stack,
        "down": ["down"],
        "up": ["up"],
        "start": f"{after_s:g} s",
        "workload": {"kind": "download", "duration": f"{seconds:g} s"},
        "sender": sender,
        "receiver": receiver,
    }
