"""All that the page shows of one side, as JSON: connections with their two ends and arrows, links, notes.

Times are integers in µs from the start of the run, or from the first event of a qlog file that is no run's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import pl
from quiclab.analysis.inspect import join, links, qlog, records
from quiclab.analysis.inspect.connection import Connection, connection
from quiclab.analysis.inspect.ends import End
from quiclab.analysis.inspect.limits import CAUSES, labels, limits
from quiclab.analysis.inspect.tiles import Blocks
from quiclab.errors import RequestError
from quiclab.report.answer import answer, limited
from quiclab.result.recordings import ENDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.analysis.inspect.source import Run

SCHEMA = "quiclab.inspect/2"


@dataclass
class Side:
    """One side of the page.

    Attributes
    ----------
    name
        How it is called.
    data
        Its part of the JSON of the page.
    blocks
        Its compressed columns, which the page reads when they are shown.
    """

    name: str
    data: dict[str, Any]
    blocks: list[str] = field(default_factory=list)


def side(run: Run) -> Side:
    """Return the data of a run for the report."""
    connections = _of_run(run) if run.result is not None else _of_traces(run)
    blocks = Blocks()
    shown = links.elements(run, run.points, blocks)
    last = [end.last_us or 0 for item in connections for end in (item.client, item.server) if end]
    if run.result is not None:
        last.append(round(run.result.network_time_s * 1e6))
    duration = max([*last, 1])
    start = 0
    if run.window is not None:
        if run.window.from_us >= duration:
            got = f"{run.window.from_us / 1e6:g} s"
            raise RequestError(f"--from: expected a time before the end of {run.name}, {duration / 1e6:g} s, got {got}")
        start, duration = run.window.from_us, min(duration, run.window.to_us)
    shown_connections = [connection(item, run, blocks) for item in connections]
    data = {
        "name": run.name,
        "origin": run.origin,
        "answer": _answer(run, connections),
        "start": start,
        "duration": duration,
        "part": [start, duration] if run.window else None,
        "connections": shown_connections,
        "links": shown,
        "links_note": "" if shown else _no_links(run),
        "warnings": list(run.result.warnings) if run.result else [],
    }
    return Side(run.name, data, blocks.texts)


def _answer(run: Run, connections: list[Connection]) -> list[str]:
    """Return what happened, in sentences: of a run, or of each endpoint of a qlog file that sends data."""
    if run.result is not None:
        return answer(run.result, {item.name: _shares(item.sender) for item in connections if item.sender is not None})
    ends = [(item.name, end) for item in connections for end in (item.client, item.server) if end is not None]
    said = [(name, end.role, limited(_shares(end))) for name, end in ends]
    return [f"{name or 'The connection'}: its {role} was limited by: {why}." for name, role, why in said if why]


def _shares(end: End) -> dict[str, float]:
    """Return the share of time of each cause that limited a sender [%], as the page shows it."""
    named = zip(CAUSES, labels(end), strict=True)
    return {label: end.facts[key] for cause, label in named if (key := f"limited_{cause}") in end.facts}


def limits_of(run: Run) -> dict[str, dict[str, float]]:
    """Return the share of each cause that limited the sender of a flow of a run [%], as the page shows it."""
    found = {}
    for item in _of_run(run):
        known = None if item.sender is None else limits(item.sender)
        found[item.name] = {} if known is None else dict(zip(known.labels[1:], known.percent().values(), strict=False))
    return found


def _no_links(run: Run) -> str:
    if run.result is None:
        return "A qlog file covers its endpoint only; queues and links are in the time series of a quiclab run."
    return "The run has no time series: set `record.series_interval`, such as 10 ms."


def _of_run(run: Run) -> list[Connection]:
    assert run.result is not None  # noqa: S101 - the caller has looked
    found = []
    for flow, outcome in run.result.flows.items():
        ends = {}
        for name in ENDS:
            trace = run.traces.get((flow, name))
            end = _of_trace(run, trace) if trace else End(role="unknown")
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
        notes += _missing(run, flow, ends)
        found.append(Connection(flow, ends[client], ends[server], notes, ends["sender"]))
    return found


def _delivered(end: End, size: int) -> None:
    """Set what reached the application against all that was on the wire, where contents are not known."""
    end.frame_kinds = {"delivered to the application": (0, size)}
    end.rest = "headers, handshake, acknowledgements, retransmissions"
    end.contents_note = "IP packets in both directions, at this endpoint."


def _missing(run: Run, flow: str, ends: Mapping[str, End]) -> list[str]:
    """Return notes about missing recordings, and about a time without packets."""
    if run.window is not None:
        times = [packets.time_us for end in ends.values() for packets in (end.sent, end.received)]
        recorded = run.table("packets") is not None or all((flow, name) in run.traces for name in ends)
        if recorded and not any(len(part[run.window.within(part)]) for part in times):
            return ["There are no packets in this time."]
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
    """Return the connections of qlog files; traces of a client and a server that are the ends of one are joined."""
    traces = list(run.traces.values())
    ends = [_of_trace(run, trace) for trace in traces]
    titles = [str(trace.get("title") or "") for trace in traces]
    found, pairs = [], join.pairs(traces)
    taken = {place for pair in pairs for place in pair}
    many = len(traces) - len(pairs) > 1
    for client, server in pairs:
        both = [traces[client], traces[server]]
        original = join.shared(*both)
        why = (
            f"The traces of a client and a server have the same original connection ID, {original}."
            if original
            else "The file has a trace of a client and one of a server, assumed to be the endpoints of one connection."
        )
        notes = [why, *join.to_one_clock([ends[client], ends[server]], both)]
        title = titles[client] or titles[server]
        name = f"{min(client, server) + 1}: {title or original or 'connection'}" if many else title
        found.append((min(client, server), Connection(name, ends[client], ends[server], notes)))
    for index, (end, title) in enumerate(zip(ends, titles, strict=True)):
        if index in taken:
            continue
        join.to_one_clock([end], [traces[index]])
        name = f"{index + 1}: {title or end.role}" if many else title
        at_client = end.role == "client" or (end.role != "server" and _received_more(end))
        notes = [f"The file covers one endpoint ({end.role}): the other end of an arrow is unknown."]
        alone = Connection(name, end if at_client else None, None if at_client else end, notes)
        found.append((index, alone))
    return [connection for _, connection in sorted(found, key=lambda item: item[0])]


def _of_trace(run: Run, trace: Mapping[str, Any]) -> End:
    """Return the endpoint of a qlog trace; of one that was read in part with the time of the whole."""
    end = qlog.end_of(trace)
    # without events it has no span, but 0 and 0 in its place
    if run.window is not None and trace["counts"]["events"]:
        start_ms = float(trace["start_ms"])
        end.whole_us = round(1000 * start_ms), round(1000 * (start_ms + float(trace["duration_ms"])))
        if end.ends_us is not None:
            end.ends_us = end.last_us
    return end


def _received_more(end: End) -> bool:
    return int(end.received.size_bytes.sum()) > int(end.sent.size_bytes.sum())
