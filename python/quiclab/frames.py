"""Packed columns of the engine as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quiclab.libraries import np, pl

EVENTS = ("arrival", "departure", "drop")
DIRECTIONS = ("down", "up")


def _integers(columns: Mapping[str, Any], name: str, rows: int) -> np.ndarray[Any, np.dtype[Any]]:
    """Read a column of unsigned integers; their width follows from its length."""
    width = len(columns[name]) // rows if rows else 4
    return np.frombuffer(columns[name], dtype=f"<u{width}")


def _named(codes: np.ndarray[Any, np.dtype[Any]], names: list[str] | tuple[str, ...]) -> pl.Series:
    return pl.Series(names, dtype=pl.String).gather(codes.astype(np.uint32)).cast(pl.Categorical)


def _events(columns: Mapping[str, Any], *names: str) -> pl.DataFrame:
    """Return `time_ns` and the named columns; empty without rows. Columns with a list of names become categories."""
    time_ns = np.frombuffer(columns.get("time_ns", b""), dtype="<i8")
    rows = len(time_ns)
    if rows == 0:
        return pl.DataFrame()
    named = {"event": EVENTS, "direction": DIRECTIONS}
    found: dict[str, Any] = {"time_ns": time_ns}
    for name in names:
        values = _integers(columns, name, rows)
        words = named.get(name) or columns.get(f"{name}_names")
        found[name] = values if words is None else _named(values, words)
    return pl.DataFrame(found)


def series(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return time series: `time_s`, `element`, `metric`, `value`."""
    time_ns = np.frombuffer(columns.get("time_ns", b""), dtype="<i8")
    rows = len(time_ns)
    if rows == 0:
        return pl.DataFrame()
    return pl.DataFrame(
        {
            "time_s": time_ns / 1e9,
            "element": _named(_integers(columns, "element", rows), columns["element_names"]),
            "metric": _named(_integers(columns, "metric", rows), columns["metric_names"]),
            "value": np.frombuffer(columns["value"], dtype="<f8"),
        }
    )


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


def tap(columns: Mapping[str, Any], flow_names: list[str]) -> pl.DataFrame:
    """Return records of a tap: `time_ns`, `packet_id`, `flow`, `direction`, `size_bytes`."""
    time_ns = np.frombuffer(columns["time_ns"], dtype="<i8")
    rows = len(time_ns)
    return pl.DataFrame(
        {
            "time_ns": time_ns,
            "packet_id": _integers(columns, "packet_id", rows),
            "flow": _named(_integers(columns, "flow", rows), flow_names),
            "direction": _named(_integers(columns, "direction", rows), DIRECTIONS),
            "size_bytes": _integers(columns, "size_bytes", rows),
        }
    )


def packets(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return packet records: those of a tap, and `element`, `event`, `port`."""
    return _events(columns, "element", "event", "port", "flow", "direction", "size_bytes", "packet_id")


def acks(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return acknowledgements: `time_ns`, `flow`, `element`, `packets`, `covered`, `bytes`, `gap_ms`.

    `gap_ms` is the time since the acknowledgement before it at the same endpoint; null for the first one there.
    """
    frame = _events(columns, "flow", "element", "packets", "covered", "bytes")
    if frame.is_empty():
        return frame
    return frame.with_columns(gap_ms=pl.col("time_ns").diff().over("element") / 1e6)


TIMES = ("connecting", "connected", "wanted", "asked", "first_byte", "complete")


def requests(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return what happened to the requests of pages: `flow`, `resource`, `origin`, `size_bytes` and times in ms.

    The times are `connecting_ms` and `connected_ms` of the connection, then `wanted_ms`, `asked_ms`, `first_byte_ms`,
    `complete_ms` of the request; null for events that did not happen.
    """
    flows = np.frombuffer(columns.get("flow", b""), dtype="<u4")
    rows = len(flows)
    if rows == 0:
        return pl.DataFrame()
    times = {name: np.frombuffer(columns[f"{name}_ns"], dtype="<i8") for name in TIMES}
    frame = pl.DataFrame(
        {
            "flow": _named(flows, columns["flow_names"]),
            "resource": _integers(columns, "resource", rows),
            "origin": _integers(columns, "origin", rows),
            "size_bytes": _integers(columns, "size_bytes", rows),
            **{f"{name}_ms": values / 1e6 for name, values in times.items()},
        }
    )
    return frame.with_columns(pl.when(pl.col(f"{name}_ms") >= 0).then(pl.col(f"{name}_ms")) for name in TIMES)


def sojourns(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return how packets left queues of tunnels: `time_ns`, `element`, `flow`, `direction`, `sojourn_ms`, `outcome`.

    `outcome` is `sent`, or why the packet was dropped.
    """
    frame = _events(columns, "element", "flow", "direction", "outcome")
    if frame.is_empty():
        return frame
    sojourns_ms = np.frombuffer(columns["sojourn_ns"], dtype="<i8") / 1e6
    return frame.insert_column(frame.width - 1, pl.Series("sojourn_ms", sojourns_ms))
