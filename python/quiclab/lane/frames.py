"""Tables of programs that run outside the engine, and tables together."""

from __future__ import annotations

from collections.abc import Mapping

from quiclab._base.libraries import pl


def rows(rows: list[tuple[float, str, str, float]]) -> pl.DataFrame:
    """Return time series from rows of `time_s`, `element`, `metric`, `value`."""
    columns = {"time_s": pl.Float64, "element": pl.String, "metric": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def together(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Return tables with the same columns as one, in the order of time; empty ones do not count."""
    filled = [part.with_columns(pl.col(pl.Categorical).cast(pl.String)) for part in parts if not part.is_empty()]
    if not filled:
        return pl.DataFrame()
    names = pl.col(pl.String).cast(pl.Categorical)
    return pl.concat(filled).sort(filled[0].columns[0], maintain_order=True).with_columns(names)


def traced(flow: str, columns: Mapping[str, list[float | None]]) -> pl.DataFrame:
    """Return the values that the kernel traces at each acknowledgement that arrives at the sender of a flow.

    Parameters
    ----------
    columns
        `time_s` and the state of the sender then, such as `cwnd_bytes`.
    """
    if not columns:
        return pl.DataFrame()
    state = pl.DataFrame(dict(columns), schema=dict.fromkeys(columns, pl.Float64))
    time_ns = (pl.col("time_s") * 1e9).round().cast(pl.Int64)
    return state.select(
        time_ns=time_ns,
        flow=pl.lit(flow),
        element=pl.lit(f"{flow}.sender"),
        gap_ms=time_ns.diff() / 1e6,
        **{name: pl.col(name) for name in columns if name != "time_s"},
    )
