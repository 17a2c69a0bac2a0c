"""The summary that `quiclab run` prints, without a library of tables: to load one takes longer than a short run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from quiclab.report.answer import answer
from quiclab.report.percentiles import PERCENTILES, percentiles, waits_ms
from quiclab.result import tables
from quiclab.result.recordings import ENDS
from quiclab.result.tables import packets, share, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from quiclab.report.percentiles import Samples
    from quiclab.result import RunResult

BOLD, YELLOW, _PLAIN = "\033[1m", "\033[33m", "\033[0m"
_HEADS = ["median", *(f"{percent} %" for percent in PERCENTILES[1:])]


def run_summary(
    result: RunResult, samples: Samples, step: str = "", limits: Mapping[str, Mapping[str, float]] | None = None
) -> None:
    """Print a run: flows with their loss, round-trip times, links with their loss and delays, metrics, digest.

    Parameters
    ----------
    result
        The run.
    samples
        Its time series, element -> metric -> values; empty if it has none.
    step
        Their step.
    limits
        Share of each cause that limited the sender of a flow [%], by flow, if known.
    """
    data = result.data
    _print(f"{data['scenario']['name']}: seed {result.seed}, lane {data['lane']}", BOLD)
    _print(
        f"{result.network_time_s:.3f} s of network time, {result.events} events, ended by "
        f"{str(data['run']['ended_by']).replace('_', ' ')}"
    )
    for line in answer(result, limits):
        print(line)
    _print_table(tables.flows(result))
    _round_trips(result, samples)
    _links(result, samples)
    if samples:
        print(
            "Over all packets: the wait of each before its serialisation.\n"
            f"Over time: percentiles of samples every {step}, of the smoothed RTT and of the time to transmit the\n"
            "backlog, the packet in service included (of the sojourn time, if the queue discipline measures it);\n"
            "these can exceed the maximum over all packets.\n"
        )
    for end in ENDS:
        _print_table(tables.end(result, end))
    _print_table(tables.elements(result))
    for warning in result.warnings:
        _print(f"warning: {warning}", YELLOW)
    print(f"digest {result.digest}")


def _round_trips(result: RunResult, samples: Samples) -> None:
    """Print the round-trip times that the senders have measured; nothing if no sender measures them."""
    rows = []
    for name, flow in result.flows.items():
        if flow.sender.get("min_rtt_ms") is not None:
            over_time = percentiles(samples.get(f"{name}.sender", {}).get("srtt_ms", []))
            rows.append([name, *map(text, [flow.sender["min_rtt_ms"], *over_time, flow.sender.get("srtt_ms")])])
    if rows:
        groups = (("", 2), ("smoothed, over time", len(_HEADS)), ("", 1))
        _table("Round-trip time [ms]", ["flow", "minimum", *_HEADS, "at the end"], rows, groups=groups)


def _links(result: RunResult, samples: Samples) -> None:
    """Print the loss of each link and the delay of its queue."""
    rows = []
    for name in result.data["scenario"].get("links", {}):
        element = result.elements.get(name, {})
        numbers = element.get("statistics", {})
        dropped = packets(element.get("dropped"))
        used = numbers.get("utilisation_share")
        rows.append(
            [
                name,
                text(dropped),
                share(dropped, packets(element.get("received"))),
                text(numbers.get("queueing_mean_ms")),
                text(numbers.get("queueing_longest_ms")),
                *map(text, percentiles(waits_ms(result.data, name, samples))),
                "-" if used is None else f"{100 * used:.1f}",
            ]
        )
    if rows:
        heads = ["link", "lost [packets]", "lost [%]", "mean", "maximum", *_HEADS, "utilisation [%]"]
        groups = (("", 3), ("over all packets [ms]", 2), ("over time [ms]", len(_HEADS)), ("", 1))
        _table("Links: loss, and delay in the queue", heads, rows, groups=groups)


def _print(line: str, style: str = "") -> None:
    print(f"{style}{line}{_PLAIN}" if style and sys.stdout.isatty() else line)


def _print_table(table: tables.Table) -> None:
    """Print a table of a result; nothing without rows."""
    if table.rows:
        _table(table.title, table.heads, table.rows, table.left)


def _table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: int = 1,
    groups: Sequence[tuple[str, int]] = (),
) -> None:
    """Print a table; the first `left` columns are to the left, the others, which are numbers, to the right.

    `groups` has names of groups of columns, each with the number of its columns; an empty name is not printed.
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    above = _group_heads(widths, groups)

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f" {'   '.join(padded)}".rstrip()

    _print(title, BOLD)
    print()
    if above:
        _print(above, BOLD)
    _print(line(heads), BOLD)
    print(f" {'─' * (sum(widths) + 3 * (len(widths) - 1))}")
    for row in rows:
        print(line(row))
    print()


def _group_heads(widths: list[int], groups: Sequence[tuple[str, int]]) -> str:
    """Return the line of the names of groups of columns; a group that is narrower than its name is widened."""
    parts, first = [], 0
    for name, columns in groups:
        width = sum(widths[first : first + columns]) + 3 * (columns - 1)
        label = f"─ {name} ─" if name else ""
        widths[first] += max(0, len(label) - width)
        parts.append(f" {name} ".center(max(width, len(label)), "─") if name else " " * width)
        first += columns
    return f" {'   '.join(parts)}".rstrip()
