"""An endpoint from a trace of a qlog file, as `inspect_qlog` of the engine gives it (schema 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiclab.inspect.columns import Integers, changes, integers
from quiclab.inspect.ends import METRICS, End, Packets

US_PER_MS = 1000
ONE_RTT = 3
DERIVED = ("goodput_mbps", "loss_percent", "mean_rtt_ms", "ack_ratio")
COUNTS = ("packets_sent", "packets_received", "packets_lost", "bytes_sent", "bytes_received", "acks_received")


def end_of(trace: Mapping[str, Any]) -> End:
    """Return the endpoint that a trace tells of."""
    counts = trace.get("counts") or {}
    sampling = trace.get("sampling") or {}
    end = End(role=str(trace.get("vantage") or "unknown"))
    end.sent, end.received = _packets(trace.get("packets_sent")), _packets(trace.get("packets_received"))
    end.complete = _share(sampling.get("packets"))[0] >= _share(sampling.get("packets"))[1]
    lost = trace.get("lost") or {}
    times = integers(lost.get("time_ms", []), US_PER_MS)
    end.lost = (times, integers(lost.get("number", [])), integers(lost.get("space", [])))
    acks = trace.get("acks") or {}
    end.acks = (integers(acks.get("time_ms", []), US_PER_MS), integers(acks.get("largest", [])))
    end.metrics = _metrics(trace.get("recovery") or {})
    end.phases = [(round(phase["time_ms"] * US_PER_MS), str(phase["state"])) for phase in trace.get("phases") or []]
    end.streams = list(trace.get("streams") or [])
    kinds: Mapping[str, Any] = trace.get("frame_kinds") or {}
    end.frame_kinds = {kind: (int(entry["count"]), int(entry["bytes"])) for kind, entry in kinds.items()}
    end.sizes = {int(row["bytes"]): (int(row["sent"]), int(row["received"])) for row in trace.get("packet_sizes") or []}
    end.facts = _facts(trace, end)
    end.notes = [*_left_out(sampling), *_unread(counts)]
    return end


def _packets(columns: Mapping[str, Any] | None) -> Packets:
    if not columns:
        return Packets()
    frames = [str(text or "") for text in columns["frames"]]
    contents = list(dict.fromkeys(frames))
    codes = {text: code for code, text in enumerate(contents)}
    return Packets(
        integers(columns["time_ms"], US_PER_MS),
        integers(columns["number"]),
        integers(columns["space"], missing=ONE_RTT),
        integers(columns["bytes"], missing=0),
        np.array([codes[text] for text in frames], dtype=np.int64),
        contents,
    )


def _metrics(recovery: Mapping[str, Any]) -> dict[str, tuple[Integers, Integers]]:
    """Return the metrics that have a value, each only where it changes."""
    times = integers(recovery.get("time_ms", []), US_PER_MS)
    found = {}
    for name, scale in METRICS.items():
        values = np.asarray(recovery.get(name) or [], dtype=np.float64)
        known = ~np.isnan(values)
        if len(values) == len(times) and known.any():
            found[name] = changes(times[known], integers(values[known], scale))
    return found


def _facts(trace: Mapping[str, Any], end: End) -> dict[str, Any]:
    counts, derived = trace.get("counts") or {}, trace.get("derived") or {}
    facts: dict[str, Any] = {
        "stack": trace.get("stack"),
        "duration_ms": trace.get("duration_ms"),
        **{name: counts.get(name) for name in COUNTS},
        **{name: derived.get(name) for name in DERIVED},
        "handshake_ms": _handshake_ms(end),
    }
    for name in ("ptos", "pto_count"):
        if name in derived or name in counts:
            facts["ptos"] = derived.get(name, counts.get(name))
    if "min_rtt_ms" in end.metrics:
        facts["min_rtt_ms"] = int(end.metrics["min_rtt_ms"][1].min()) / US_PER_MS
    if "packets_sent" in facts and not facts["packets_sent"] and not facts["packets_received"]:
        # a trace without packets, such as one of lab-tcp: its zeros are not counts
        facts |= dict.fromkeys((*COUNTS, "loss_percent", "ack_ratio", "goodput_mbps"))
    return facts


def _handshake_ms(end: End) -> float | None:
    """Return the time from the first packet to the first 1-RTT packet that arrives: keys are there then."""
    arrived = end.received.time_us[end.received.space == ONE_RTT]
    first = end.first_us
    if not len(arrived) or first is None or not (end.received.space < ONE_RTT).any():
        return None  # the trace begins after the handshake
    starts = [packets.time_us[0] for packets in (end.sent, end.received) if len(packets)]
    return int(arrived[0] - min(starts)) / US_PER_MS


def _share(entry: Mapping[str, Any] | None) -> tuple[int, int]:
    return (int(entry["shown"]), int(entry["of"])) if entry else (0, 0)


def _left_out(sampling: Mapping[str, Any]) -> list[str]:
    found = []
    for name, what in (("packets", "packets"), ("series", "samples of recovery")):
        shown, of = _share(sampling.get(name))
        if shown < of:
            found.append(f"shown: {shown:,} of {of:,} {what}: {sampling[name].get('how')}".replace(",", "\u202f"))
    return found


def _unread(counts: Mapping[str, Any]) -> list[str]:
    """Say what of the file is not on the page."""
    found = []
    if skipped := counts.get("skipped"):
        names = ", ".join(f"{name} ({count})" for name, count in sorted(skipped.items()))
        found.append(f"events that the page does not use: {names}")
    if malformed := counts.get("malformed"):
        found.append(f"{malformed} malformed {'record was' if malformed == 1 else 'records were'} skipped")
    if (byte := counts.get("truncated_at_byte")) is not None:
        found.append(f"the file is cut off at byte {byte}; what stands before is shown")
    return found
