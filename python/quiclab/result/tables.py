"""The tables of a result as texts: the same on a terminal and in a notebook, without a library of tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quiclab._base import notebook
from quiclab.result.formats import number
from quiclab.result.metrics import metrics, pattern
from quiclab.result.recordings import ENDS
from quiclab.result.series import phases

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quiclab.result.document import FlowResult, RunResult

#: Counters of packets that every element has.
COUNTERS: Final = ("received", "created", "sent", "dropped", "consumed", "held")


@dataclass(frozen=True)
class Table:
    """Texts in rows.

    Attributes
    ----------
    title
        What it is about.
    heads, rows
        Its texts.
    left
        Number of columns that are texts; the others are numbers.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


def state(flow: FlowResult) -> str:
    """Return what has become of a flow."""
    return "failed" if flow.failed else "completed" if flow.completed else "unfinished"


def flows(result: RunResult) -> Table:
    """Return one row a flow: what it has delivered, and what it lost."""
    rows = []
    for name, flow in result.flows.items():
        took, goodput = text(flow.download_time_s), f"{flow.goodput_mbps:.3f}"
        lost = flow.sender.get("lost_packets")
        loss = [text(lost), share(lost, flow.sender.get("packets_sent"))]
        rows.append([name, state(flow), str(flow.delivered_bytes), took, goodput, *loss])
    heads = ["flow", "state", "delivered [B]", "time [s]", "goodput [Mbit/s]", "lost [packets]", "lost [%]"]
    return Table("Flows", heads, rows, left=2)


def end(result: RunResult, name: str) -> Table:
    """Return one row a metric of the senders or the receivers, and one column a flow."""
    found = sorted({key for flow in result.flows.values() for key in getattr(flow, name)})
    rows = [[key, *(_value(key, getattr(flow, name).get(key)) for flow in result.flows.values())] for key in found]
    return Table(name.capitalize(), ["metric", *result.flows], rows)


def elements(result: RunResult) -> Table:
    """Return one row an element, with its counters of packets."""
    counted = result.elements.items()
    rows = [[name, *(text(packets(element.get(key))) for key in COUNTERS)] for name, element in counted]
    return Table("Elements [packets]", ["element", *COUNTERS], rows)


def html(result: RunResult, name: str, most: int) -> str:
    """Return what a notebook shows of a run; of its flows at most so many."""
    run, shown = result.data["run"], flows(result)
    ended = f", ended by {run['ended_by'].replace('_', ' ')}" if "ended_by" in run else ""
    folded = []
    for table in (*(end(result, own) for own in ENDS), elements(result)):
        columns = most + 1 if table.heads[0] == "metric" else len(table.heads)
        rows = [row[:columns] for row in table.rows]
        inside = notebook.table(table.heads[:columns], rows, table.left, hints=meanings(row[0] for row in rows))
        folded.append(notebook.folded(f"{table.title} ({len(rows)})", inside))
    took = f"Seed {result.seed}, {result.network_time_s:.3f} s of network time, {result.events} events{ended}."
    return notebook.block(
        f"Run of {name}",
        notebook.sentence(took),
        *(notebook.sentence(f"Warning: {warning}") for warning in result.warnings[:most]),
        notebook.table(shown.heads, shown.rows, shown.left, max_rows=most),
        *folded,
        notebook.sentence(f"Digest {result.digest}", soft=True),
    )


def meanings(names: Iterable[str]) -> dict[str, str]:
    """Return the meaning of metrics of the ends of flows, by their name; of those that no end defines none."""
    defined = [(re.compile(pattern(name)), item.meaning) for item in metrics() if item.in_flow for name in item.names]
    found = {name: next((about for form, about in defined if form.fullmatch(name)), "") for name in names}
    return {name: about for name, about in found.items() if about}


def packets(counter: object) -> Any:
    """Return the packets of a counter."""
    return counter.get("packets") if isinstance(counter, dict) else counter


def share(part: float | None, whole: float | None) -> str:
    """Write a share in percent."""
    return "-" if part is None or not whole else number(100 * part / whole)


def text(value: object) -> str:
    """Write a cell."""
    if value is None:
        return "-"
    return number(value) if isinstance(value, float) else str(value)


def _value(metric: str, value: float | None) -> str:
    """Write the value of a metric: phases by name."""
    if metric != "phase" or value is None:
        return text(value)
    names = phases()
    return names[int(value)] if 0 <= value < len(names) else text(value)
