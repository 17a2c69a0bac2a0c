"""Queues and rates of the links of a run, from its time series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import np, pl
from quiclab.analysis.inspect.columns import Integers, differences, integers
from quiclab.analysis.inspect.tiles import samples
from quiclab.scenario.quantity import parse

if TYPE_CHECKING:
    from quiclab.analysis.inspect.source import Run
    from quiclab.analysis.inspect.tiles import Blocks

QUEUES = {"queue_packets": "queue", "buffered_packets": "waiting for their turn"}


def elements(run: Run, max_points: int, blocks: Blocks) -> list[dict[str, Any]]:
    """Return queue, rate and drops of each link, and the buffer of each bearer; empty without time series.

    Columns with many samples go to `blocks`. Where there are more samples than `max_points`, a queue is the longest of
    equal groups, and a rate that over the whole group.
    """
    series = run.table("series")
    if series is None or run.result is None:
        return []
    links = run.result.data["scenario"].get("links") or {}
    found = []
    for part in series.partition_by("element", maintain_order=True):
        name = str(part["element"][0])
        if not part["metric"].cast(pl.String).is_in(list(QUEUES)).any():
            continue
        entry: dict[str, Any] = {"name": name, "capacity": capacity_kbps(links.get(name) or {})}
        for metric in QUEUES:
            time_us, values = _samples(part, metric)
            if len(values):
                entry["queue"] = _columns(run, blocks, *_longest(time_us, values, max_points))
        time_us, sent = _samples(part, "sent_bytes")
        if len(sent) > 1:
            entry["rate"] = _columns(run, blocks, *_rate_kbps(time_us, sent, max_points))
        drops = _drops(run, name)
        entry["drops"] = differences(drops[:: max(1, -(-len(drops) // max_points))])
        entry["changes"] = changes(run.result.data.get("changes", []), name)
        found.append(entry)
    return found


def capacity_kbps(link: dict[str, Any]) -> int | None:
    """Return the constant rate of a link [kbit/s]; `None` if it has none."""
    found = parse(link.get("rate"))
    return round(found[1] / 1000) if found is not None and found[0] == "bits_per_second" else None


def changes(recorded: list[dict[str, Any]], link: str) -> dict[str, list[Any]]:
    """Return when events have changed a link: times [µs], its rate from then on [kbit/s], and what holds, in words.

    The rate of a link without a constant one is 0.
    """
    own = [change for change in recorded if change["link"] == link]
    times = integers(np.array([change["time_s"] for change in own], dtype=np.float64), 1e6)
    rates = integers(np.array([(change.get("rate_mbps") or 0.0) for change in own], dtype=np.float64), 1000)
    return {"t": differences(times), "v": differences(rates), "text": [_in_words(change) for change in own]}


def _in_words(change: dict[str, Any]) -> str:
    rate = change.get("rate_mbps")
    values = [] if rate is None else [f"{rate:g} Mbit/s"]
    values += [f"{change['delay_ms']:g} ms", f"loss {100 * change['loss']:g} %"]
    if not change["up"]:
        values.append("down")
    return f"event {change['event']} {'begins' if change['begins'] else 'ends'}: {', '.join(values)}"


def _samples(part: pl.DataFrame, metric: str) -> tuple[Integers, Integers]:
    rows = part.filter(pl.col("metric") == metric)
    return integers(rows["time_s"].to_numpy(), 1e6), integers(rows["value"].to_numpy())


def _columns(run: Run, blocks: Blocks, time_us: Integers, values: Integers) -> dict[str, Any]:
    return samples(blocks, *((time_us, values) if run.window is None else run.window.held(time_us, values)))


def _edges(count: int, most: int) -> Integers:
    """Divide samples into at most `most` equal groups; returns where each begins."""
    return np.unique(np.linspace(0, count, min(count, most), endpoint=False).astype(np.int64))


def _longest(time_us: Integers, values: Integers, most: int) -> tuple[Integers, Integers]:
    first = _edges(len(values), most)
    return time_us[first], np.maximum.reduceat(values, first)


def _rate_kbps(time_us: Integers, sent: Integers, most: int) -> tuple[Integers, Integers]:
    """Return the rate from each sample to the next: kbit/s are bytes over µs times 8000."""
    kept = np.unique(np.append(_edges(len(sent), most), len(sent) - 1))
    times, totals = time_us[kept], sent[kept]
    rate = np.rint(8000 * np.diff(totals) / np.diff(times)).astype(np.int64)
    return times, np.append(rate, rate[-1])


def _drops(run: Run, element: str) -> Integers:
    packets = run.table("packets")
    if packets is None:
        return np.zeros(0, dtype=np.int64)
    rows = packets.filter((pl.col("element") == element) & (pl.col("event") == "drop"))
    times = np.rint(rows["time_ns"].to_numpy() / 1000).astype(np.int64)
    return times if run.window is None else times[run.window.within(times)]
