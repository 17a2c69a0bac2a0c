"""All that the page shows of one side, as JSON: connections with their two ends and arrows, links, notes.

Times are integers in µs from the start of the run, or from the first event of a qlog file that is no run's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiclab.inspect import links, qlog, records, sequence
from quiclab.inspect.columns import Integers, counted, differences, integers, thinned
from quiclab.inspect.ends import End
from quiclab.libraries import pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.inspect.source import Run

SCHEMA = "quiclab.inspect/1"
MAX_STREAMS = 200
FACTS = (
    ("stack", "Stack"),
    ("duration_ms", "Duration [ms]"),
    ("download_ms", "Download time [ms]"),
    ("handshake_ms", "First 1-RTT packet arrived after [ms]"),
    ("goodput_mbps", "Goodput [Mbit/s]"),
    ("packets_sent", "Packets sent"),
    ("packets_received", "Packets received"),
    ("packets_lost", "Packets declared lost"),
    ("loss_percent", "Declared lost [% of sent]"),
    ("bytes_sent", "Bytes sent [B]"),
    ("bytes_received", "Bytes received [B]"),
    ("mean_rtt_ms", "RTT, mean [ms]"),
    ("min_rtt_ms", "RTT, least [ms]"),
    ("acks_received", "Acknowledgements received"),
    ("ack_ratio", "Data packets per acknowledgement"),
    ("ptos", "Probe timeouts"),
    ("timeouts", "Retransmission timeouts"),
)
"""Rows of the overview: name and label. Rows that no endpoint has are omitted."""


@dataclass
class Connection:
    """A connection on the page.

    Attributes
    ----------
    name
        Name of the flow; empty in a qlog file with one connection.
    client, server
        Its endpoints; `None` if unknown. An endpoint of unknown role is placed by its traffic.
    notes
        Notes for the reader.
    """

    name: str
    client: End | None
    server: End | None
    notes: list[str]


@dataclass
class Side:
    """One side of the page.

    Attributes
    ----------
    name
        How it is called.
    data
        Its part of the JSON of the page.
    """

    name: str
    data: dict[str, Any]


def side(run: Run) -> Side:
    """Return the data of a run for the report."""
    connections = _of_run(run) if run.result is not None else _of_traces(run)
    shown = links.elements(run, run.points)
    last = [end.last_us or 0 for item in connections for end in (item.client, item.server) if end]
    if run.result is not None:
        last.append(round(run.result.network_time_s * 1e6))
    data = {
        "name": run.name,
        "origin": run.origin,
        "duration": max([*last, 1]),
        "connections": [_connection(item, run.points) for item in connections],
        "links": shown,
        "links_note": "" if shown else _no_links(run),
        "warnings": list(run.result.warnings) if run.result else [],
    }
    return Side(run.name, data)


def _no_links(run: Run) -> str:
    if run.result is None:
        return "A qlog file covers its endpoint only; queues and links are in the time series of a quiclab run."
    return "The run has no time series: set `record.series_interval`, such as 10 ms."


def _of_run(run: Run) -> list[Connection]:
    assert run.result is not None  # noqa: S101 - the caller has looked
    found = []
    for flow, outcome in run.result.flows.items():
        ends = {}
        for name in ("sender", "receiver"):
            trace = run.traces.get((flow, name))
            end = qlog.end_of(trace) if trace else End(role="unknown")
            records.fill(end, run, flow, name)
            if not end.frame_kinds and end.sizes:
                _delivered(end, outcome.delivered_bytes)
            end.facts["stack"] = _stack(run, flow, name)
            if end.first_us is not None and end.last_us is not None:
                end.facts["duration_ms"] = (end.last_us - end.first_us) / 1000
            end.facts["goodput_mbps"] = outcome.goodput_mbps
            if outcome.download_time_s is not None:
                end.facts["download_ms"] = 1000 * outcome.download_time_s
            ends[name] = end
        client = _client(run, flow, ends)
        server = "receiver" if client == "sender" else "sender"
        ends[client].role, ends[server].role = "client", "server"
        notes = [f"The flow failed: {outcome.failure}"] if outcome.failed else []
        found.append(Connection(flow, ends[client], ends[server], notes + _missing(run, ends)))
    return found


def _delivered(end: End, size: int) -> None:
    """Set what reached the application against all that was on the wire, where contents are not known."""
    end.frame_kinds = {"delivered to the application": (0, size)}
    end.rest = "headers, handshake, acknowledgements, retransmissions"
    end.contents_note = "IP packets in both directions, at this endpoint."


def _missing(run: Run, ends: Mapping[str, End]) -> list[str]:
    """Return notes about missing recordings."""
    if all(len(end.sent) + len(end.received) for end in ends.values()):
        return []
    if run.table("packets") is None:
        return ["Packets were not recorded: set `record.qlog`, or `record.packets` for stacks without qlog."]
    return []


def _client(run: Run, flow: str, ends: Mapping[str, End]) -> str:
    """Return the end that opened the connection: it sent the first packet."""
    for name, end in ends.items():
        if end.role == "client":
            return name
    if (packets := run.table("packets")) is not None:
        places = [run.element(flow, name) for name in ends]
        made = packets.filter((pl.col("event") == "departure") & pl.col("element").cast(pl.String).is_in(places))
        if made.height:
            return str(made["element"][0]).rpartition(".")[2]
    return "receiver"  # a download, the usual workload


def _stack(run: Run, flow: str, end: str) -> str:
    """Name stack, profile and congestion control of an end, as far as the scenario does."""
    assert run.result is not None  # noqa: S101 - the caller has looked
    options = run.result.data["scenario"]["flows"][flow].get(end) or {}
    name = run.stack(flow, end)
    version = run.result.data.get("versions", {}).get(name)
    words = [f"{name} {version}" if isinstance(version, str) else name]
    words += [str(options[key]) for key in ("profile", "congestion_control") if isinstance(options.get(key), str)]
    return ", ".join(words)


def _of_traces(run: Run) -> list[Connection]:
    """Return the connections of a qlog file; a single client and a single server are the two ends of one."""
    ends = [qlog.end_of(trace) for trace in run.traces.values()]
    titles = [str(trace.get("title") or "") for trace in run.traces.values()]
    if sorted(end.role for end in ends) == ["client", "server"]:
        client, server = sorted(ends, key=lambda end: end.role)
        _to_zero([client, server])
        note = "The file has a trace of a client and one of a server, assumed to be the endpoints of one connection."
        return [Connection(titles[0], client, server, [note])]
    found = []
    for index, (end, title) in enumerate(zip(ends, titles, strict=True), start=1):
        _to_zero([end])
        name = f"{index}: {title or end.role}" if len(ends) > 1 else title
        at_client = end.role == "client" or (end.role != "server" and _received_more(end))
        notes = [f"The file covers one endpoint ({end.role}): the other end of an arrow is unknown."]
        found.append(Connection(name, end if at_client else None, None if at_client else end, notes))
    return found


def _received_more(end: End) -> bool:
    return int(end.received.size_bytes.sum()) > int(end.sent.size_bytes.sum())


def _to_zero(ends: list[End]) -> None:
    """Let time begin with the first event."""
    known = [end.first_us for end in ends if end.first_us is not None]
    start = min(known, default=0)
    for end in ends:
        end.shift(-start)


def _connection(item: Connection, most: int) -> dict[str, Any]:
    both = [sequence.arrows(item.client, item.server, most), sequence.arrows(item.server, item.client, most)]
    notes = list(item.notes)
    for found, direction in zip(both, ("client to server", "server to client"), strict=True):
        if found.shown < found.of:
            which = f"one number in {found.step}, and those lost"
            notes.append(f"shown: {counted(found.shown, found.of)} packets from {direction}: {which}")
    early = sum(found.early for found in both)
    if early:
        notes.append(f"{early} packets arrive before they are sent: the clocks of the endpoints differ.")
    return {
        "name": item.name,
        "notes": notes,
        "ends": [_end(item.client, most), _end(item.server, most)],
        "arrows": [found.columns for found in both],
    }


def _end(end: End | None, most: int) -> dict[str, Any] | None:
    if end is None:
        return None
    notes = list(end.notes)
    lost = slice(None, None, max(1, -(-len(end.lost[0]) // most)))
    samples = {name: thinned(*columns, most) for name, columns in end.metrics.items()}
    samples["acks"] = thinned(*end.acks, most)
    for name, (times, _) in samples.items():
        of = len(end.acks[0] if name == "acks" else end.metrics[name][0])
        if len(times) < of:
            what = "acknowledgements" if name == "acks" else f"changes of {name}"
            notes.append(f"shown: {counted(len(times), of)} {what}: first, minimum, maximum and last of equal groups")
    acks = samples.pop("acks")
    return {
        "role": end.role,
        "notes": notes,
        "facts": [[label, _known(end.facts.get(name))] for name, label in FACTS],
        "parameters": end.parameters,
        "lost": {"t": differences(end.lost[0][lost]), "n": differences(end.lost[1][lost])},
        "acks": {"t": differences(acks[0]), "v": differences(acks[1]), "are": end.acks_are},
        "metrics": {name: {"t": differences(t), "v": differences(v)} for name, (t, v) in samples.items()},
        "phases": end.phases,
        "streams": _streams(end, most, notes),
        "kinds": [[kind, count or None, size] for kind, (count, size) in end.frame_kinds.items()],
        "kinds_note": end.contents_note,
        "rest": end.rest,
        "sizes": [[size, *count] for size, count in sorted(end.sizes.items())],
        "bytes": [end.facts.get("bytes_sent"), end.facts.get("bytes_received")],
    }


def _known(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _streams(end: End, most: int, notes: list[str]) -> list[dict[str, Any]]:
    """Return the streams with most bytes, in the order of their numbers; omitted streams are added to the notes."""
    largest = sorted(end.streams, key=lambda stream: -int(stream["bytes"]))[:MAX_STREAMS]
    chosen = sorted(largest, key=lambda stream: (int(stream["id"]), str(stream["direction"])))
    if len(chosen) < len(end.streams):
        notes.append(f"shown: {counted(len(chosen), len(end.streams))} streams with the most bytes")
    frames = sum(len(stream["frames"]["time_ms"]) for stream in chosen)
    step = max(1, -(-frames // most))
    if step > 1:
        notes.append(f"shown: one in {step} of {counted(frames)} stream frames")
    return [_stream(stream, end.offset_us, step) for stream in chosen]


def _stream(stream: Mapping[str, Any], offset_us: int, step: int) -> dict[str, Any]:
    frames = {name: values[::step] for name, values in stream["frames"].items()}
    again: Integers = integers([float(bool(value)) for value in frames["retransmitted"]])
    return {
        "id": int(stream["id"]),
        "direction": str(stream["direction"]),
        "bytes": int(stream["bytes"]),
        "t": differences(integers(frames["time_ms"], 1000) + offset_us),
        "offset": differences(integers(frames["offset"])),
        "length": differences(integers(frames["length"])),
        "again": again.nonzero()[0].tolist(),
    }
