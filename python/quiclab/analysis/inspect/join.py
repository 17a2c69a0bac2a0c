"""Traces of two ends that are one connection: by its original connection ID, their clocks by their reference times.

The original connection ID is what the client first called the server (RFC 9000, section 7.2). Stacks write it as
`ODCID` or `group_id` of a trace, as the destination of the first Initial packet, or in the transport parameters; any of
them counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.analysis.inspect.source import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.analysis.inspect.ends import End

US_PER_MS = 1000
ENDS = ("client", "server")


def pairs(traces: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Return which traces are client and server of one connection, by their places.

    Where no trace tells an ID, a single client and a single server are taken for the ends of one.
    """
    clients, servers = ([i for i, trace in enumerate(traces) if trace.get("vantage") == end] for end in ENDS)
    found: list[tuple[int, int]] = []
    for client in clients:
        for server in servers:
            taken = any(server == other for _, other in found)
            if not taken and shared(traces[client], traces[server]):
                found.append((client, server))
                break
    alone = len(clients) == len(servers) == 1 and len(traces) == 2
    told = [bool(trace.get("originals")) for trace in traces]
    if not found and alone and not all(told):
        found.append((clients[0], servers[0]))
    return found


def shared(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """Return the original connection ID that two traces share."""
    common = set(one.get("originals") or ()) & set(other.get("originals") or ())
    return min(common, default=None)


def joined(runs: list[Run]) -> list[Run]:
    """Return two qlog files of the ends of one connection as one run, in whatever order; all others as they are."""
    if len(runs) != 2 or any(run.result is not None for run in runs):
        return runs
    traces = [trace for run in runs for trace in run.traces.values()]
    first = len(runs[0].traces)
    across = [(client < first) != (server < first) for client, server in pairs(traces)]
    if not across or not all(across) or not any(_id(traces, pair) for pair in pairs(traces)):
        return runs
    one, other = runs
    numbered = {("", str(index)): trace for index, trace in enumerate(traces)}
    origin = f"{one.origin} and {other.origin}"
    return [Run(f"{one.name}, {other.name}", origin, numbered, points=one.points, window=one.window)]


def _id(traces: Sequence[Mapping[str, Any]], pair: tuple[int, int]) -> str | None:
    return shared(traces[pair[0]], traces[pair[1]])


def to_one_clock(ends: Sequence[End], traces: Sequence[Mapping[str, Any]]) -> list[str]:
    """Let the times of ends count from one instant, that of the first event; return notes.

    Calendar times of the traces say how far apart their zeros are, `time_offset` moves them. Where they are not known,
    or the two ends would not have been active at the same time, the zeros of the traces are one instant.
    """
    clocks = [trace.get("clock") or {} for trace in traces]
    zeros = [float(clock["zero_ms"]) for clock in clocks if clock.get("zero_ms") is not None]
    moved = [round(float(clock.get("offset_ms") or 0) * US_PER_MS) for clock in clocks]
    notes = []
    if len(ends) > 1 and len(zeros) == len(ends):
        base = [round(zero * US_PER_MS) + more for zero, more in zip(zeros, moved, strict=True)]
        if _overlap(ends, base):
            moved = base
        else:
            apart = (max(base) - min(base)) / 1e6
            notes.append(
                f"The reference times of the traces are {apart:g} s apart, so that their ends were never active at "
                "the same time: they are ignored, and each trace starts at zero."
            )
    for end, offset in zip(ends, moved, strict=True):
        end.shift(offset)
    start = min((end.first_us for end in ends if end.first_us is not None), default=0)
    for end in ends:
        end.shift(-start)
    return notes


def _overlap(ends: Sequence[End], base: Sequence[int]) -> bool:
    """Return whether all ends with events are active at some common instant, if their times are moved."""
    spans = [
        (end.first_us + offset, end.last_us + offset)
        for end, offset in zip(ends, base, strict=True)
        if end.first_us is not None and end.last_us is not None
    ]
    return not spans or max(first for first, _ in spans) <= min(last for _, last in spans)
