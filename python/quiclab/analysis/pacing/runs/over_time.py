"""What changes during a run: rate and acknowledgements second by second, and how exactly a pacer keeps an interval.

Everything is computed from the tap in front of the bottleneck and from the acknowledgements that reach the sender.
Times before `skip_s` are left out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import np, pl
from quiclab.analysis.pacing.runs.taps import ETHERNET_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.result import RunResult

#: Acknowledgements of fewer packets than this are frequent ones (Keller, section 6.2.2: "fewer than four").
FREQUENT_BELOW: Final = 4
#: As many of them in a row make a phase: fewer may be those around a loss.
PHASE_ACKS: Final = 4
#: Phases that are no farther apart than this are one [s]: "less than a second of ACKs for fewer than four packets".
SAME_PHASE_S: Final = 1.0
#: Density at which a cluster ends, as a part of all intervals in a bin (Keller, section 6.3.2; the bin is quiclab's).
DENSITY: Final = 0.0002
BIN_US: Final = 1.0
#: How far from the expected interval the centre of a cluster is looked for: half the width of the published windows.
WINDOW_US: Final = 100.0


def over_time(result: RunResult, flow: str, skip_s: float) -> dict[str, Any]:
    """Return the rate and the acknowledgements of a flow in each second.

    Parameters
    ----------
    result
        A run with the tap `at_sender`, and with `record.acks`.
    flow
        Name of the flow.
    skip_s
        Time excluded at the start [s], whole seconds.

    Returns
    -------
    dict
        Lists with a value for each whole second from `skip_s` on in which the run was going on: `rate_mbps` of the
        frames at the tap, `acks` and `duplicates` (acknowledgements that reach the sender; those that cover nothing
        new), `covered_median` (packets that the others cover; `None` in a second without one). `frequent` has the
        phases of frequent acknowledgements: `start_s` and `seconds` of each.
    """
    first, last = int(skip_s), int(result.network_time_s)
    frames = result.taps["at_sender"].filter((pl.col("flow") == flow) & (pl.col("direction") == "down"))
    sent = _seconds(frames["time_ns"])
    sizes = frames["size_bytes"].to_numpy().astype("f8") + ETHERNET_BYTES
    heard = result.acks.filter(pl.col("element") == f"{flow}.sender") if not result.acks.is_empty() else result.acks
    at_s = heard["time_ns"].to_numpy() / 1e9 if heard.height else np.empty(0)
    covered = heard["covered"].to_numpy() if heard.height else np.empty(0)
    steps = at_s.astype(int)
    return {
        "rate_mbps": [round(8e-6 * float(total), 6) for total in _totals(sent, sizes, first, last)],
        "acks": [int(count) for count in _totals(steps, np.ones(len(steps)), first, last)],
        "duplicates": [int(count) for count in _totals(steps, (covered == 0).astype("f8"), first, last)],
        "covered_median": _medians(steps[covered > 0], covered[covered > 0], first, last),
        "frequent": phases(at_s[(covered > 0) & (at_s >= skip_s)], covered[(covered > 0) & (at_s >= skip_s)]),
    }


def phases(at_s: np.ndarray[Any, Any], covered: np.ndarray[Any, Any]) -> list[dict[str, float]]:
    """Return the phases in which at least `PHASE_ACKS` acknowledgements in a row cover fewer than `FREQUENT_BELOW`.

    What is at most `SAME_PHASE_S` apart is one phase.

    Parameters
    ----------
    at_s
        Times of the acknowledgements of something new [s], ascending.
    covered
        Packets that each covers.
    """
    frequent = np.concatenate(([False], covered < FREQUENT_BELOW, [False])).astype(int)
    steps = np.diff(frequent)
    found: list[tuple[float, float]] = []
    for begin, end in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True):
        if end - begin < PHASE_ACKS:
            continue
        start_s, end_s = float(at_s[begin]), float(at_s[end - 1])
        if found and start_s - found[-1][1] <= SAME_PHASE_S:
            start_s = found.pop()[0]
        found.append((start_s, end_s))
    return [{"start_s": round(start_s, 6), "seconds": round(end_s - start_s, 6)} for start_s, end_s in found]


def half_widths(result: RunResult, flow: str, skip_s: float, expected_ms: Sequence[float]) -> list[float | None]:
    """Return how far from its centre a cluster of intervals ends, for each expected interval [us].

    The intervals between frames are counted in bins of 1 us. The centre of a cluster is the fullest bin within 100 us
    of the expected interval; on either side the cluster ends in front of the first bin with less than 0.02 % of all
    intervals; the half width is half of the whole. `None` if the fullest bin has less than that.

    Parameters
    ----------
    result
        A run with the tap `at_sender`.
    flow
        Name of the flow.
    skip_s
        Time excluded at the start [s].
    expected_ms
        The expected intervals [ms].
    """
    frames = result.taps["at_sender"].filter((pl.col("flow") == flow) & (pl.col("direction") == "down"))
    times_ns = frames["time_ns"].to_numpy()
    intervals_us = np.diff(times_ns[times_ns >= skip_s * 1e9]) / 1e3
    if not intervals_us.size:
        return [None for _ in expected_ms]
    top = int((max(expected_ms) * 1e3 + WINDOW_US) / BIN_US) + 1
    bins = np.minimum((intervals_us / BIN_US).astype(int), 2 * top)
    shares = np.bincount(bins, minlength=2 * top + 1) / intervals_us.size
    return [_half_width(shares, interval_ms * 1e3) for interval_ms in expected_ms]


def _half_width(shares: np.ndarray[Any, Any], expected_us: float) -> float | None:
    low = max(int((expected_us - WINDOW_US) / BIN_US), 0)
    centre = low + int(np.argmax(shares[low : int((expected_us + WINDOW_US) / BIN_US) + 1]))
    if shares[centre] < DENSITY:
        return None
    empty = np.flatnonzero(shares < DENSITY)
    below, above = empty[empty < centre], empty[empty > centre]
    begin = int(below[-1]) + 1 if below.size else 0
    end = int(above[0]) if above.size else len(shares)
    return (end - begin) * BIN_US / 2


def _seconds(times_ns: Any) -> np.ndarray[Any, Any]:
    return times_ns.to_numpy() // 1_000_000_000  # type: ignore[no-any-return]


def _totals(steps: np.ndarray[Any, Any], values: np.ndarray[Any, Any], first: int, last: int) -> np.ndarray[Any, Any]:
    """Return the sum of the values of each second from `first` up to `last`, without it."""
    inside = (steps >= first) & (steps < last)
    return np.bincount(steps[inside] - first, weights=values[inside], minlength=max(last - first, 0))


def _medians(steps: np.ndarray[Any, Any], values: np.ndarray[Any, Any], first: int, last: int) -> list[float | None]:
    """Return the median of the values of each second, ordered by time."""
    edges = np.searchsorted(steps, np.arange(first, last + 1)) if last > first else np.empty(0, int)
    return [float(np.median(values[begin:end])) if end > begin else None for begin, end in pairwise(edges)]
