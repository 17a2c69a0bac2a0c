"""The summary that `quiclab run` prints, without a library of tables: to load one takes longer than a short run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quiclab.result import RunResult

BOLD, YELLOW, _PLAIN = "\033[1m", "\033[33m", "\033[0m"
COUNTERS = ("received", "created", "sent", "dropped", "consumed", "held")


def run_summary(result: RunResult) -> None:
    """Print a run: flows, elements, digest."""
    data = result.data
    _print(f"{data['scenario']['name']}: seed {result.seed}, lane {data['lane']}", BOLD)
    _print(
        f"{result.network_time_s:.3f} s of network time, {result.events} events, ended by "
        f"{str(data['run']['ended_by']).replace('_', ' ')}"
    )
    flows = []
    for name, flow in result.flows.items():
        state = "failed" if flow.failed else "completed" if flow.completed else "unfinished"
        took, goodput = text(flow.download_time_s), f"{flow.goodput_mbps:.3f}"
        flows.append([name, state, str(flow.delivered_bytes), took, goodput])
    _table("Flows", ["flow", "state", "delivered [B]", "time [s]", "goodput [Mbit/s]"], flows, left=2)
    for end in ("sender", "receiver"):
        metrics = sorted({key for flow in result.flows.values() for key in getattr(flow, end)})
        rows = [[key, *(text(getattr(flow, end).get(key)) for flow in result.flows.values())] for key in metrics]
        if rows:
            _table(end.capitalize(), ["metric", *result.flows], rows)
    elements = []
    for name, element in result.elements.items():
        counters = [element[key] for key in COUNTERS]
        elements.append([name, *(text(c["packets"] if isinstance(c, dict) else c) for c in counters)])
    _table("Elements [packets]", ["element", *COUNTERS], elements)
    for warning in result.warnings:
        _print(f"warning: {warning}", YELLOW)
    print(f"digest {result.digest}")


def text(value: object) -> str:
    """Write a cell."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.4g}"
    return str(value)


def _print(line: str, style: str = "") -> None:
    print(f"{style}{line}{_PLAIN}" if style and sys.stdout.isatty() else line)


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print a table; the first `left` columns are to the left, the others, which are numbers, to the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f" {'   '.join(padded)}".rstrip()

    _print(title, BOLD)
    print()
    _print(line(heads), BOLD)
    print(f" {'─' * (sum(widths) + 3 * (len(widths) - 1))}")
    for row in rows:
        print(line(row))
    print()
