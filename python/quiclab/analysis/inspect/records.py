"""An endpoint from the tables of a run: packets, time series and acknowledgements, where there is no qlog.

Packet records have lengths and fates of packets, not their contents. For TCP they still distinguish data from headers:
a segment longer than all headers together carries data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab._base.libraries import np, pl
from quiclab.analysis.inspect.columns import Integers, changes, integers
from quiclab.analysis.inspect.ends import ACK_BYTES, LITTLE, METRICS, NO_SPACE, UNKNOWN, End, Packets
from quiclab.result.series import phases

if TYPE_CHECKING:
    from quiclab.analysis.inspect.source import Run

LOCAL_BITS = 40
"""A packet's identity is the number of the endpoint that made it, then which of its packets it is: 40 bits."""
CONTENTS = [LITTLE, "data"]
COUNTERS = {"timeouts": "timeouts", "tail_loss_probes": "ptos"}
"""Counters of TCP and their labels in the overview: a tail loss probe is TCP's probe timeout (RFC 8985, section 7)."""


def fill(end: End, run: Run, flow: str, name: str) -> None:
    """Add to an endpoint what its trace does not have, from the tables of the run.

    Parameters
    ----------
    end
        Values from kernel tracing; empty without it.
    run
        The run.
    flow, name
        The flow, and which end of it: `sender` or `receiver`.
    """
    element = run.element(flow, name)
    if not len(end.sent) and not len(end.received) and (packets := run.table("packets")) is not None:
        _fill_packets(end, packets, flow, element, run.stack(flow, name) == "lab-tcp")
    if (series := run.table("series")) is not None:
        _fill_series(end, series.filter(pl.col("element") == element))
    if not len(end.acks[0]) and (acks := run.table("acks")) is not None:
        _fill_acks(end, acks.filter(pl.col("element") == element))


def _fill_packets(end: End, table: pl.DataFrame, flow: str, element: str, tcp: bool) -> None:
    rows = table.filter(pl.col("flow") == flow)
    here = rows.filter(pl.col("element") == element)
    sent, received = (here.filter(pl.col("event") == event) for event in ("departure", "arrival"))
    dropped = rows.filter(pl.col("event") == "drop")
    end.facts |= {"packets_sent": sent.height, "packets_received": received.height}
    end.facts |= {"bytes_sent": int(sent["size_bytes"].sum()), "bytes_received": int(received["size_bytes"].sum())}
    sizes = [dict(part["size_bytes"].value_counts().iter_rows()) for part in (sent, received)]
    end.sizes = {size: (sizes[0].get(size, 0), sizes[1].get(size, 0)) for size in sorted(sizes[0] | sizes[1])}
    own = set(sent["packet_id"].to_list())
    fates = zip(dropped["packet_id"].to_list(), dropped["time_ns"].to_list(), dropped["element"].to_list(), strict=True)
    end.drops = {_local(identity): (round(time / 1000), place) for identity, time, place in fates if identity in own}
    end.sent, end.received = _packets(sent, tcp), _packets(received, tcp)
    end.cover(end.sent.time_us)
    end.cover(end.received.time_us)
    end.notes.append("packets are IP packets, from the packet records of the run; their contents are unknown")


def _local(identity: int) -> int:
    return identity & ((1 << LOCAL_BITS) - 1)


def _packets(rows: pl.DataFrame, tcp: bool) -> Packets:
    number = rows["packet_id"].to_numpy().astype(np.int64) & ((1 << LOCAL_BITS) - 1)
    size = rows["size_bytes"].to_numpy().astype(np.int64)
    time_us = np.rint(rows["time_ns"].to_numpy() / 1000).astype(np.int64)
    frames = ((size > ACK_BYTES) & tcp).astype(np.int64)
    space = np.full(len(size), NO_SPACE, dtype=np.int64)
    return Packets(time_us, number, space, size, frames, CONTENTS if tcp else [UNKNOWN])


def _samples(series: pl.DataFrame, metric: str, scale: float) -> tuple[Integers, Integers]:
    rows = series.filter(pl.col("metric") == metric)
    return integers(rows["time_s"].to_numpy(), 1e6), integers(rows["value"].to_numpy(), scale)


def _fill_series(end: End, series: pl.DataFrame) -> None:
    for name, scale in METRICS.items():
        time_us, values = _samples(series, name, scale)
        if len(values) and name not in end.metrics:
            end.metrics[name] = changes(time_us, values)
            end.cover(time_us)
    _fill_phases(end, series)
    time_us, lost = _samples(series, "lost_packets", 1)
    if len(lost) and not len(end.lost[0]):
        when = time_us[np.diff(lost, prepend=0) > 0]
        number, space, path = (np.full(len(when), value, dtype=np.int64) for value in (-1, NO_SPACE, 0))
        end.lost = (when, number, space, path)
        end.cover(when)
    if len(lost) and end.facts.get("packets_lost") is None:
        end.facts["packets_lost"] = int(lost[-1])
    sent = end.facts.get("packets_sent")
    if end.facts.get("loss_percent") is None and sent and len(lost):
        end.facts["loss_percent"] = 100 * int(lost[-1]) / sent
    for metric, fact in COUNTERS.items():
        _, count = _samples(series, metric, 1)
        if len(count) and end.facts.get(fact) is None:
            end.facts[fact] = int(count[-1])
    _fill_rtt(end, series)


def _fill_phases(end: End, series: pl.DataFrame) -> None:
    if end.phases:
        return
    time_us, codes = changes(*_samples(series, "phase", 1))
    names, last = phases(), -1
    for time, code in zip(time_us.tolist(), codes.tolist(), strict=True):
        if code != last:
            end.phases.append((time, names[code] if 0 <= code < len(names) else str(code)))
        last = code


def _fill_rtt(end: End, series: pl.DataFrame) -> None:
    _, smoothed = _samples(series, "srtt_ms", 1000)
    _, least = _samples(series, "min_rtt_ms", 1000)
    if len(smoothed) and end.facts.get("mean_rtt_ms") is None:
        end.facts["mean_rtt_ms"] = float(smoothed.mean()) / 1000
    if len(least) and end.facts.get("min_rtt_ms") is None:
        end.facts["min_rtt_ms"] = int(least.min()) / 1000


def _fill_acks(end: End, acks: pl.DataFrame) -> None:
    if acks.is_empty():
        return
    if end.facts.get("acks_received") is None:
        end.facts["acks_received"] = acks.height
    times = np.rint(acks["time_ns"].to_numpy() / 1000).astype(np.int64)
    end.acks = (times, acks["packets"].to_numpy().astype(np.int64).cumsum())
    end.acks_are = "count"
    end.cover(times)
