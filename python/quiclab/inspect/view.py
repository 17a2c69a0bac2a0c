"""All that the page shows of one side, as JSON: connections with their two ends and arrows, links, notes.

Times are integers in µs from the start of the run, or from the first event of a qlog file that is no run's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from quiclab.inspect import links, qlog, records, sequence
from quiclab.inspect.columns import Integers, differences, integers
from quiclab.inspect.ends import End

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.inspect.source import Run

SCHEMA = "quiclab.inspect/1"
MOST_STREAMS = 200
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
    ("ack_ratio", "Acknowledgements per packet"),
    ("ptos", "Probe timeouts"),
    ("timeouts", "Retransmission timeouts"),
)
"""Rows of the overview: name and label. A row that no endpoint has is left out."""


@dataclass
class Connection:
    """A connection on the page.

    Attributes
    ----------
    name
        Name of the flow; empty in a qlog file with one connection.
    client, server
        Its ends; `None` if nothing is known of one. An end of unknown role stands where its traffic puts it.
    notes
        What the reader should know, in sentences.
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
    """Return what the page shows of a run."""
    connections = _of_run(run) if run.result is not None else _of_traces(run)
    shown = links.elements(run, run.points)
    last = [end.last_us or 0 for item in connections for end in (item.client, item.server) if end]
    if run.result is not None:
        last.append(round(run.result.network_time_s * 1e6))
    data = {
        "name": run.name,
        "origin": run.origin,
        "duration": max([*last, 1]),
        "connections": [_connection(item) for item in connections],
        "links": shown,
        "links_note": "" if shown else _no_links(run),
        "warnings": list(run.result.warnings) if run.result else [],
    }
    return Side(run.name, data)


def _no_links(run: Run) -> str:
    if run.result is None:
        return "A qlog file knows its endpoint only: queues and links are in the time series of a quiclab run."
    return "The run has no time series: set `record.series_interval`, such as 10 ms."


def _of_run(run: Run) -> list[Connection]:
    assert run.result is not None  # noqa: S101 - the caller has looked
    found = []
    for flow, outcome in run.result.flows.items():
        ends = {}
        for name in ("sender", "receiver"):
            trace = run.traces.get((flow, name))
            end = qlog.end_of(trace) if trace else End(role="unknown")
            records.fill(end, run, flow, name, run.points)
            end.facts["stack"] = _stack(run, flow, name)
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


def _missing(run: Run, ends: Mapping[str, End]) -> list[str]:
    """Say what the run did not record."""
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
        places = [f"{flow}.{name}" for name in ends]
        made = packets.filter((pl.col("event") == "departure") & pl.col("element").cast(pl.String).is_in(places))
        if made.height:
            return str(made["element"][0]).rpartition(".")[2]
    return "receiver"  # a download, the usual workload


def _stack(run: Run, flow: str, end: str) -> str:
    """Name stack, profile and congestion control of an end, as far as the scenario does."""
    assert run.result is not None  # noqa: S101 - the caller has looked
    table = run.result.data["scenario"]["flows"][flow]
    options = table.get(end) or {}
    name = options.get("stack") or table.get("stack") or "unknown"
    version = run.result.data.get("versions", {}).get(name)
    words = [f"{name} {version}" if isinstance(version, str) else name]
    words += [str(options[key]) for key in ("profile", "congestion_control") if isinstance(options.get(key), str)]
    return ", ".join(words)


def _of_traces(run: Run) -> list[Connection]:
    """Return the connections of a qlog file; a client and a server alone are taken for two ends of one."""
    ends = [qlog.end_of(trace) for trace in run.traces.values()]
    titles = [str(trace.get("title") or "") for trace in run.traces.values()]
    if sorted(end.role for end in ends) == ["client", "server"]:
        client, server = sorted(ends, key=lambda end: end.role)
        _to_zero([client, server])
        note = "The file has a trace of a client and one of a server: they are taken for the two ends of one connection."
        return [Connection(titles[0], client, server, [note])]
    found = []
    for index, (end, title) in enumerate(zip(ends, titles, strict=True), start=1):
        _to_zero([end])
        name = f"{index}: {title or end.role}" if len(ends) > 1 else title
        at_client = end.role == "client" or (end.role != "server" and _received_more(end))
        notes = [f"The file knows one end ({end.role}): the other end of an arrow is not known."]
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


def _connection(item: Connection) -> dict[str, Any]:
    both = [sequence.arrows(item.client, item.server), sequence.arrows(item.server, item.client)]
    notes = list(item.notes)
    early = sum(sequence.early(columns) for columns in both)
    if early:
        notes.append(f"{early} packets arrive before they are sent: the clocks of the two ends differ.")
    return {
        "name": item.name,
        "notes": notes,
        "ends": [_end(item.client), _end(item.server)],
        "arrows": both,
    }


def _end(end: End | None) -> dict[str, Any] | None:
    if end is None:
        return None
    most = sorted(end.streams, key=lambda stream: -int(stream["bytes"]))[:MOST_STREAMS]
    chosen = sorted(most, key=lambda stream: (int(stream["id"]), str(stream["direction"])))
    notes = list(end.notes)
    if len(chosen) < len(end.streams):
        notes.append(f"shown: {len(chosen)} of {len(end.streams)} streams: those with the most bytes")
    return {
        "role": end.role,
        "notes": notes,
        "facts": [[label, end.facts.get(name)] for name, label in FACTS],
        "lost": {"t": differences(end.lost[0]), "n": differences(end.lost[1])},
        "acks": {"t": differences(end.acks[0]), "v": differences(end.acks[1]), "are": end.acks_are},
        "metrics": {name: {"t": differences(t), "v": differences(v)} for name, (t, v) in end.metrics.items()},
        "phases": end.phases,
        "streams": [_stream(stream, end.offset_us) for stream in chosen],
        "kinds": [[kind, count, size] for kind, (count, size) in end.frame_kinds.items()],
        "sizes": [[size, *count] for size, count in sorted(end.sizes.items())],
        "bytes": [end.facts.get("bytes_sent"), end.facts.get("bytes_received")],
    }


def _stream(stream: Mapping[str, Any], offset_us: int) -> dict[str, Any]:
    frames = stream["frames"]
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
