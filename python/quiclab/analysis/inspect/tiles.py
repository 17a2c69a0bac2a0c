"""Columns of the page: small ones whole, large ones as an overview, and all rows in blocks that are read when zoomed.

Nothing in an overview is invented: of a step line it has the first, lowest, highest and last sample of each part of the
time, as they were recorded; of packets the range of their numbers in each part, and some packets with both ends.

| name | content |
| --- | --- |
| `of` | number of all rows |
| `tiles` | rows in blocks, in the order of time: `first` block, time `t` and number `n` of rows of each; without it all rows are in the columns themselves |
"""  # noqa: E501 - a table

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import np
from quiclab.analysis.inspect.blocks import encode
from quiclab.analysis.inspect.columns import Flags, Integers, differences

if TYPE_CHECKING:
    from collections.abc import Mapping

INLINE_ROWS = 20_000
"""Columns up to this are whole in the JSON of the page."""
TILE_ROWS = 16_384
OVERVIEW_BINS = 2_048
"""Parts of the time in an overview: more than a chart has pixels."""
OVERVIEW_ARROWS = 4_000
FIRST_ARROWS = 60
"""Packets at the beginning that are in the overview, too: the page shows them first."""
OVERVIEW_FRAMES = 40_000

Columns = dict[str, Any]


class Blocks:
    """The blocks of one side of the page.

    Attributes
    ----------
    texts
        The blocks, in base64; the page has each in an element of its own.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, columns: Mapping[str, Integers], time: str) -> Columns:
        """Divide columns into blocks; return what the page must know of them."""
        rows = len(columns[time])
        starts = range(0, rows, TILE_ROWS)
        first = len(self.texts)
        self.texts += [encode({name: all_[at : at + TILE_ROWS] for name, all_ in columns.items()}) for at in starts]
        counts = [min(TILE_ROWS, rows - at) for at in starts]
        return {"first": first, "t": differences(columns[time][::TILE_ROWS]), "n": counts}


def samples(blocks: Blocks, time_us: Integers, values: Integers) -> Columns:
    """Return a step line."""
    if len(values) <= INLINE_ROWS:
        return {"t": differences(time_us), "v": differences(values)}
    kept = extremes(time_us, values, OVERVIEW_BINS)
    overview = {"t": differences(time_us[kept]), "v": differences(values[kept])}
    return {**overview, "of": len(values), "tiles": blocks.add({"t": time_us, "v": values}, "t")}


def arrows(blocks: Blocks, rows: Mapping[str, Integers], bad: Flags, numbered: Flags) -> Columns:
    """Return packets.

    Parameters
    ----------
    blocks
        The blocks of the page.
    rows
        Columns of the packets, in the order of time.
    bad
        Which were dropped or declared lost: they stay in the overview.
    numbered
        Which are in the chart of packet numbers.
    """
    count = len(rows["time"])
    if count <= INLINE_ROWS:
        return {name: differences(column) for name, column in rows.items()}
    step = -(-count // OVERVIEW_ARROWS)
    kept = rows["number"] % step == 0
    kept[:FIRST_ARROWS] = True
    lost = np.flatnonzero(bad)
    kept[lost[:: max(1, -(-len(lost) // OVERVIEW_ARROWS))]] = True
    overview: Columns = {name: differences(column[kept]) for name, column in rows.items()}
    overview |= {"of": count, "step": step, "tiles": blocks.add(rows, "time")}
    overview["longest"] = int(np.abs(rows["flight"]).max())
    good = numbered & ~bad
    overview["range"] = ranges(rows["time"][good], rows["number"][good], OVERVIEW_BINS)
    return overview


def frames(blocks: Blocks, rows: Mapping[str, Integers]) -> Columns:
    """Return frames of all streams, in the order of time."""
    count = len(rows["t"])
    if count <= INLINE_ROWS:
        return {name: differences(column) for name, column in rows.items()}
    streams = int(rows["stream"].max()) + 1
    bins = bin_of(rows["t"], max(1, min(OVERVIEW_BINS, OVERVIEW_FRAMES // (2 * streams))))
    # one frame, and one that was retransmitted, of each stream in each part of the time
    keys = (bins * streams + rows["stream"]) * 2 + rows["again"]
    kept = np.sort(np.unique(keys, return_index=True)[1])
    overview: Columns = {name: differences(column[kept]) for name, column in rows.items()}
    return overview | {"of": count, "tiles": blocks.add(rows, "t")}


def bin_of(time_us: Integers, bins: int) -> Integers:
    """Return for each row in which of equal parts of the time it is."""
    span = int(time_us[-1] - time_us[0]) + 1
    part: Integers = (time_us - time_us[0]) * bins // span
    return part


def extremes(time_us: Integers, values: Integers, bins: int) -> Integers:
    """Return which samples are the first, lowest, highest or last in equal parts of the time."""
    part = bin_of(time_us, bins)
    first = np.flatnonzero(np.diff(part, prepend=-1))
    last = np.append(first[1:], len(part)) - 1
    by_value = np.lexsort((values, part))
    return np.unique(np.concatenate((first, last, by_value[first], by_value[last])))


def ranges(time_us: Integers, values: Integers, bins: int) -> Columns:
    """Return the lowest and the highest value in equal parts of the time, and how many there are; empty parts lack."""
    if not len(values):
        return {"t": [], "low": [], "high": [], "n": [], "width": 1}
    part = bin_of(time_us, bins)
    first = np.flatnonzero(np.diff(part, prepend=-1))
    span = int(time_us[-1] - time_us[0]) + 1
    start = time_us[0] + part[first] * span // bins
    return {
        "t": differences(start),
        "low": differences(np.minimum.reduceat(values, first)),
        "high": differences(np.maximum.reduceat(values, first)),
        "n": np.diff(np.append(first, len(part))).tolist(),
        "width": -(-span // bins),
    }
