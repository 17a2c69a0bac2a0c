"""A connection as JSON of the page: facts of both ends, packets between them, and all that changes over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import np
from quiclab.analysis.inspect import limits, sequence, tiles
from quiclab.analysis.inspect.columns import differences, grouped, integers, thinned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.analysis.inspect.columns import Integers
    from quiclab.analysis.inspect.ends import End, Samples
    from quiclab.analysis.inspect.source import Run
    from quiclab.analysis.inspect.tiles import Blocks
    from quiclab.analysis.inspect.window import Window

MAX_STREAMS = 200
SHARE_BINS = 1024
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
    ("min_rtt_ms", "RTT, minimum [ms]"),
    ("acks_received", "Acknowledgements received"),
    ("ack_ratio", "Data packets per acknowledgement"),
    ("ptos", "Probe timeouts"),
    ("timeouts", "Retransmission timeouts"),
    *((f"limited_{cause}", f"Limited by {cause} [% of time]") for cause in limits.CAUSES[1:-1]),
    (f"limited_{limits.CAUSES[-1]}", "Limited by application, or not told apart [% of time]"),
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
    sender
        The endpoint at the sender's end of a flow; `None` if it is not that of a run.
    """

    name: str
    client: End | None
    server: End | None
    notes: list[str]
    sender: End | None = None


def connection(item: Connection, run: Run, blocks: Blocks) -> dict[str, Any]:
    """Return a connection as JSON; large columns go to `blocks`."""
    window = None if run.window is None else run.window.pair
    ends = (item.client, item.server)
    both = [sequence.arrows(*pair, run.points, window) for pair in (ends, ends[::-1])]
    notes = list(item.notes)
    for found, direction in zip(both, ("client to server", "server to client"), strict=True):
        if found.shown < found.of:
            which = f"one number in {found.step}, and those lost; --from and --to show all of a shorter time"
            notes.append(f"shown: {grouped(found.shown, found.of)} packets from {direction}: {which}")
        if found.one_end:
            notes.append(
                f"not shown: {grouped(found.one_end)} packets from {direction} that were read at one end only, "
                "because the recording is too long; --from and --to show all of a shorter time"
            )
    early = sum(found.early for found in both)
    if early:
        notes.append(f"{early} packets arrive before they are sent: the clocks of the endpoints differ.")
    return {
        "name": item.name,
        "notes": notes,
        "ends": [_end(end, run, blocks) for end in ends],
        "arrows": [_arrows(found, blocks) for found in both],
    }


def _arrows(found: sequence.Arrows, blocks: Blocks) -> dict[str, Any]:
    columns = tiles.arrows(blocks, found.rows, found.bad, found.numbered)
    return {"contents": found.contents, "sampled": found.step, **columns}


def _end(end: End | None, run: Run, blocks: Blocks) -> dict[str, Any] | None:
    if end is None:
        return None
    notes = list(end.notes)
    window, most = run.window, run.points
    lost = _within(window, *end.lost[:2])
    lost_step = max(1, -(-len(lost[0]) // most))
    if lost_step > 1:
        which = f"one in {lost_step} of {grouped(len(lost[0]))} packets declared lost"
        notes.append(f"shown: {which}; --from and --to show all of a shorter time")
    shown, acks_complete = {}, end.acks_complete
    for name, columns in {**end.metrics, "acks": end.acks}.items():
        times, values = columns if window is None else window.held(*columns)
        kept = thinned(times, values, most)
        if len(kept[0]) < len(times):
            acks_complete = acks_complete and name != "acks"
            what = "acknowledgements" if name == "acks" else f"changes of {name}"
            notes.append(
                f"shown: {grouped(len(kept[0]), len(times))} {what}: first, minimum, maximum and last of equal groups"
            )
        shown[name] = tiles.samples(blocks, *kept)
    limited = _limited(end, window, blocks, notes)
    if window is not None:
        end.facts["duration_ms"] = _duration_ms(end, window)
    acks = shown.pop("acks")
    return {
        "role": end.role,
        "notes": notes,
        "facts": [[_label(name, label, window), _known(end.facts.get(name))] for name, label in FACTS],
        "parameters": end.parameters,
        "lost": {"t": differences(lost[0][::lost_step]), "n": differences(lost[1][::lost_step])},
        "acks": {**acks, "are": end.acks_are, "complete": acks_complete},
        "metrics": shown,
        "phases": end.phases,
        "limits": limited,
        "ends": end.ends_us,
        **_streams(end, run, blocks, notes),
        "kinds": [[kind, count or None, size] for kind, (count, size) in end.frame_kinds.items()],
        "kinds_note": end.contents_note,
        "rest": end.rest,
        "sizes": [[size, *count] for size, count in sorted(end.sizes.items())],
        "bytes": [end.facts.get("bytes_sent"), end.facts.get("bytes_received")],
    }


def _label(name: str, label: str, window: Window | None) -> str:
    """Return the label of a row of the overview; it says which numbers are not those of the whole run."""
    if window is None or not (name == "duration_ms" or name.startswith("limited_")):
        return label
    return label.replace("[ms]", "of the time shown [ms]").replace("of time]", "of the time shown]")


def _duration_ms(end: End, window: Window) -> float | None:
    """Return for how long an endpoint is active in a window."""
    if end.first_us is None or end.last_us is None:
        return None
    length_us = min(end.last_us, window.to_us) - max(end.first_us, window.from_us)
    return length_us / 1000 if length_us >= 0 else None


def _within(window: Window | None, times: Integers, values: Integers) -> Samples:
    if window is None:
        return times, values
    part = window.within(times)
    return times[part], values[part]


def _limited(end: End, window: Window | None, blocks: Blocks, notes: list[str]) -> dict[str, Any] | None:
    """Return what limits an endpoint, and add its shares to the facts."""
    found = limits.limits(end)
    if found is None:
        if not end.complete:
            notes.append("what limits the sender is known only if all packets are read: --from and --to read all")
        return None
    if window is not None:
        times, causes = window.held(found.time_us, found.cause)
        if not len(times):
            return None
        found = limits.Limits(times, causes, min(found.until_us, window.to_us), found.labels)
    for cause, percent in found.percent().items():
        end.facts[f"limited_{cause}"] = percent
    edges = np.linspace(found.time_us[0], found.until_us, SHARE_BINS + 1)
    whole = np.diff(edges)
    shares = np.rint(100 * found.time_of(edges) / np.where(whole > 0, whole, 1)).astype(int)
    columns = tiles.samples(blocks, found.time_us, found.cause)
    overview = {"from": edges[0], "to": edges[-1], "shares": shares.tolist()} if "tiles" in columns else {}
    return {**columns, **overview, "labels": found.labels, "until": found.until_us}


def _known(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _streams(end: End, run: Run, blocks: Blocks, notes: list[str]) -> dict[str, Any]:
    """Return the streams with most bytes, in the order of their numbers; omitted streams are added to the notes."""
    largest = sorted(end.streams, key=lambda stream: -int(stream["bytes"]))[:MAX_STREAMS]
    chosen = sorted(largest, key=lambda stream: (int(stream["id"]), str(stream["direction"])))
    if len(chosen) < len(end.streams):
        notes.append(f"shown: {grouped(len(chosen), len(end.streams))} streams with the most bytes")
    rows = _frames(chosen, end.offset_us, run.window)
    step = max(1, -(-len(rows["t"]) // run.points))
    if step > 1:
        notes.append(f"shown: one in {step} of {grouped(len(rows['t']))} stream frames")
        rows = {name: column[::step] for name, column in rows.items()}
    named = [{name: stream[name] for name in ("id", "direction", "bytes")} for stream in chosen]
    return {"streams": named, "frames": tiles.frames(blocks, rows)}


def _frames(streams: Sequence[Mapping[str, Any]], offset_us: int, window: Window | None) -> dict[str, Integers]:
    """Return the frames of streams in the order of time, each with the index of its stream."""
    parts = []
    for index, stream in enumerate(streams):
        frames = stream["frames"]
        times = integers(frames["time_ms"], 1000) + offset_us
        again = np.asarray(frames["retransmitted"], dtype=np.int64)
        number = np.full(len(times), index, dtype=np.int64)
        parts.append((times, number, integers(frames["offset"]), integers(frames["length"]), again))
    names = ("t", "stream", "offset", "length", "again")
    if not parts:
        return {name: np.zeros(0, dtype=np.int64) for name in names}
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    rows = {name: column[order] for name, column in zip(names, columns, strict=True)}
    part = slice(None) if window is None else window.within(rows["t"])
    return {name: column[part] for name, column in rows.items()}
