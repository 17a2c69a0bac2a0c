"""Times of packets in a bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.study.libraries import pl

if TYPE_CHECKING:
    from pathlib import Path

    from quiclab.result import RunResult

BOTTLENECK = "bottleneck"
#: Times are those of packets that arrive later [s]: slow start overshoots once in each run.
SETTLED_S = 5.0


def sojourns(result: RunResult, directory: Path) -> dict[str, float | None]:
    """Return what a study stores of the packets of a run.

    Parameters
    ----------
    result
        A run with records of packets.
    directory
        Not needed.

    Returns
    -------
    dict
        `mean_ms`: time from arrival at the bottleneck to departure from it, mean over packets; `flow2_p99_ms`: its 99th
        percentile over packets of the second flow. None without any.
    """
    del directory
    packets = result.packets.filter(pl.col("element").cast(pl.String) == BOTTLENECK)
    arrived, left = (
        packets.filter(pl.col("event").cast(pl.String) == event).select(
            "packet_id", pl.col("flow").cast(pl.String), pl.col("time_ns").alias(event)
        )
        for event in ("arrival", "departure")
    )
    times = (
        arrived.filter(pl.col("arrival") >= 1e9 * SETTLED_S)
        .join(left, on=["packet_id", "flow"])
        .with_columns(((pl.col("departure") - pl.col("arrival")) / 1e6).alias("ms"))
    )
    second = times.filter(pl.col("flow") == "flow2")["ms"]
    return {"mean_ms": _known(times["ms"].mean()), "flow2_p99_ms": _known(second.quantile(0.99, "nearest"))}


def _known(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
