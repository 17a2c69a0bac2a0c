"""An endpoint from a trace of a qlog file, as `inspect_qlog` of the engine gives it (schema 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quiclab._base.libraries import np
from quiclab.analysis.inspect.columns import Integers, changes, grouped, integers
from quiclab.analysis.inspect.ends import METRICS, ONE_RTT, End, Packets, Samples

US_PER_MS = 1000
DERIVED = ("goodput_mbps", "loss_percent", "mean_rtt_ms", "ack_ratio")
WORDS = {
    "series": "samples of recovery",
    "acks": "acknowledgements",
    "lost": "losses",
    "stream_frames": "stream frames",
    "flow_control": "changes of flow control",
}
UNREAD = {
    "packets_without_number": "packets without a packet number, only counted",
    "events_of_connections_not_shown": "events of further connections of the file",
}
COUNTS = ("packets_sent", "packets_received", "packets_lost", "bytes_sent", "bytes_received", "acks_received")


def end_of(trace: Mapping[str, Any]) -> End:
    """Return the endpoint of a qlog trace."""
    counts = trace.get("counts") or {}
    sampling = trace.get("sampling") or {}
    end = End(role=str(trace.get("vantage") or "unknown"))
    end.sent, end.received = (_packets(trace, name) for name in ("packets_sent", "packets_received"))
    end.complete, end.acks_complete = _all(sampling.get("packets")), _all(sampling.get("acks"))
    lost = trace.get("lost") or {}
    times = integers(lost.get("time_ms", []), US_PER_MS)
    end.lost = (times, integers(lost.get("number", [])), integers(lost.get("space", [])), _paths(lost, len(times)))
    end.acks, paths = _acks(trace.get("acks") or {})
    end.acks_complete = end.acks_complete and paths <= 1
    end.metrics = _metrics(trace.get("recovery") or {})
    credit = trace.get("flow_control") or {}
    end.credit = (integers(credit.get("time_ms", []), US_PER_MS), integers(credit.get("change", [])))
    end.phases = [(round(phase["time_ms"] * US_PER_MS), str(phase["state"])) for phase in trace.get("phases") or []]
    end.streams = list(trace.get("streams") or [])
    kinds: Mapping[str, Any] = trace.get("frame_kinds") or {}
    end.frame_kinds = {kind: (int(entry["count"]), int(entry["bytes"])) for kind, entry in kinds.items()}
    end.sizes = {int(row["bytes"]): (int(row["sent"]), int(row["received"])) for row in trace.get("packet_sizes") or []}
    end.parameters = {whose: dict(values) for whose, values in (trace.get("transport_parameters") or {}).items()}
    end.facts = _facts(trace, end)
    if counts.get("truncated_at_byte") is not None:
        end.ends_us = end.last_us
    end.notes = [*_left_out(trace), *_unread(counts)]
    return end


def _packets(trace: Mapping[str, Any], name: str) -> Packets:
    columns = trace.get(name)
    if not columns:
        return Packets()
    return Packets(
        integers(columns["time_ms"], US_PER_MS),
        integers(columns["number"]),
        integers(columns["space"], missing=ONE_RTT),
        integers(columns["bytes"], missing=0),
        integers(columns["frames"], missing=0),
        [str(text) for text in trace["frame_sets"]],
        _paths(columns, len(columns["time_ms"])),
    )


def _paths(columns: Mapping[str, Any], rows: int) -> Integers:
    """Return the path ID of each row: 0 without Multipath QUIC."""
    return integers(columns["path"]) if "path" in columns else np.zeros(rows, dtype=np.int64)


def _acks(columns: Mapping[str, Any]) -> tuple[Samples, int]:
    """Return time and largest number of each acknowledgement of 1-RTT packets, and of how many paths they are.

    Other spaces count from 0 again, and so does each path: acknowledgements of several paths are points, not a line.
    """
    space = integers(columns.get("space", []))
    here = space == ONE_RTT
    times, largest = integers(columns.get("time_ms", []), US_PER_MS)[here], integers(columns.get("largest", []))[here]
    return (times, largest), len(np.unique(_paths(columns, len(space))[here]))


def _metrics(recovery: Mapping[str, Any]) -> dict[str, tuple[Integers, Integers]]:
    """Return the metrics that have a value, each only where it changes."""
    times = integers(recovery.get("time_ms", []), US_PER_MS)
    found = {}
    for name, scale in METRICS.items():
        values = np.asarray(recovery.get(name, []), dtype=np.float64)
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


def _all(entry: Mapping[str, Any] | None) -> bool:
    return entry is None or int(entry["shown"]) >= int(entry["of"])


def _left_out(trace: Mapping[str, Any]) -> list[str]:
    """Return messages about data that the reader omitted in long files."""
    found = []
    for name, entry in (trace.get("sampling") or {}).items():
        if not _all(entry):
            what = WORDS.get(name, name)
            found.append(f"read: {grouped(entry['shown'], entry['of'])} {what}: {entry.get('how')}")
    if more := (trace.get("streams_more") or {}).get("count"):
        found.append(f"{more} streams with fewer bytes are omitted")
    return found


def _unread(counts: Mapping[str, Any]) -> list[str]:
    """Return notes about contents of the file that the HTML report omits."""
    found = []
    if skipped := counts.get("skipped"):
        names = ", ".join(f"{name} ({count})" for name, count in sorted(skipped.items()))
        found.append(f"events that the page does not use: {names}")
    for name, text in UNREAD.items():
        if count := counts.get(name):
            found.append(f"{text}: {count}")
    if malformed := counts.get("malformed"):
        found.append(f"{malformed} malformed {'record was' if malformed == 1 else 'records were'} skipped")
    if (byte := counts.get("truncated_at_byte")) is not None:
        found.append(f"the file is truncated at byte {byte}; the preceding events are shown")
    return found
