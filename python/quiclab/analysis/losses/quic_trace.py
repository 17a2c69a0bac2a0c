"""Event log of a QUIC sender, from the qlog files of both ends of a flow.

Declared losses are the `packet_lost` events. lab-quic writes them itself. quinn and noq count their losses and do
not name them: their adapter names, at the moment at which the count goes up, the oldest packets beyond the packet
threshold first and then the oldest outstanding ones (`quiclab-stacks`, `observation.rs`). That is the rule of
RFC 9002, so names prove nothing there: count and times do.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from quiclab.analysis.losses.events import AckReceived, Lost, SenderLog, Sent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPACES = {"initial": "initial", "handshake": "handshake", "1RTT": "1RTT"}
SILENT = frozenset({"ack", "padding", "connection_close"})
"""Frames that are not ack-eliciting (RFC 9002 section 2)."""
NAMED = "packet_lost events of qlog"
COUNTED = "the stack's counter of lost packets: number and time only; the adapter chooses the packets (oldest first)"


def read(directory: Path, flow: str, stack: str) -> SenderLog:
    """Read the trace of a flow's sender.

    Parameters
    ----------
    directory
        Where the qlog files are.
    flow
        Name of the flow.
    stack
        Stack of its sender.
    """
    trace = SenderLog(told=NAMED if stack == "lab-quic" else COUNTED)
    sent_ms: dict[int, float] = {}
    for event in _records(directory / f"{flow}.sender.sqlog"):
        name, time_ms, data = event["name"], float(event["time"]), event["data"]
        if name not in ("quic:packet_sent", "quic:packet_received", "quic:packet_lost"):
            continue
        header = data["header"]
        space, number = SPACES.get(header["packet_type"]), header.get("packet_number")
        if space is None or number is None:
            continue
        if name == "quic:packet_lost":
            if space == "1RTT" and number in sent_ms:
                trace.lost.append(Lost(number, sent_ms[number], time_ms))
        elif name == "quic:packet_sent":
            if any(frame["frame_type"] not in SILENT for frame in data.get("frames", [])):
                trace.events.append(Sent(time_ms, number, space=space))
                if space == "1RTT":
                    sent_ms[number] = time_ms
        elif any(frame["frame_type"] == "connection_close" for frame in data.get("frames", [])):
            trace.closed_ms = time_ms
            break  # nothing is detected any more (RFC 9000 section 10.2.2)
        else:
            trace.events += _acks(time_ms, space, data)
    for event in _records(directory / f"{flow}.receiver.sqlog"):
        if event["name"] == "quic:packet_received" and event["data"]["header"]["packet_type"] == "1RTT":
            number = event["data"]["header"]["packet_number"]
            trace.arrived.add((number, sent_ms.get(number, -1.0)))
    return trace


def _acks(time_ms: float, space: str, data: dict[str, Any]) -> Iterator[AckReceived]:
    for frame in data.get("frames", []):
        if frame["frame_type"] == "ack":
            ranges = tuple((int(part[0]), int(part[-1])) for part in frame["acked_ranges"])
            yield AckReceived(time_ms, ranges, float(frame.get("ack_delay", 0.0)), space)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Return the events of a file of JSON text sequences (RFC 7464), without its header."""
    for record in path.read_text(encoding="utf-8").split("\x1e"):
        if record.strip() and "name" in (event := json.loads(record)):
            yield event
