"""The waterfall: waiting times of a browser, one row per resource."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt
from quiclab.report.figures.theme import COLOURS, NEUTRAL, WIDTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.report.figures.theme import Layers

#: Phases of a request, in the order in which they follow each other, with their colours.
PHASES: Final = {
    "waiting for the connection": NEUTRAL,
    "waiting for a free stream": COLOURS[4],
    "request to first byte": COLOURS[1],
    "download": COLOURS[0],
}
STEP: Final = 7
LABELLED: Final = 150
"""Rows have their names next to them if there are no more; more would be too small to read."""
LABELLED_STEP: Final = 11
LABEL_WIDTH: Final = 190
MAX_LABELS: Final = 45
TICKS: Final = 10


def phases(row: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Return the phases of a request: name, begin and end in ms. What takes no time, or was not reached, has none.

    Parameters
    ----------
    row
        As in `typical.requests` of `quiclab page --json`.
    """
    wanted, connected, asked, first, complete = (
        row[name] for name in ("wanted_ms", "connected_ms", "asked_ms", "first_byte_ms", "complete_ms")
    )
    connection, stream, request, download = PHASES
    if wanted is None:
        return []
    ready = wanted if connected is None else max(wanted, connected)
    edges = [(connection, wanted, ready), (stream, ready, asked), (request, asked, first), (download, first, complete)]
    return [(name, begin, end) for name, begin, end in edges if begin is not None and end is not None and end > begin]


def waterfall(rows: Sequence[Mapping[str, Any]], longest_ms: float, labels: Mapping[int, str]) -> Layers:
    """Declare the waterfall of one load.

    Parameters
    ----------
    rows
        Its requests, as in `typical.requests` of `quiclab page --json`.
    longest_ms
        End of the axis: the same for all stacks, so that the charts are aligned.
    labels
        Label of a row, by number of the resource.
    """
    order = sorted(rows, key=lambda row: (row["wanted_ms"] or 0.0, row["resource"]))
    place = {row["resource"]: number for number, row in enumerate(order)}
    bars = [
        {
            "row": place[row["resource"]],
            "label": labels[row["resource"]],
            "phase": phase,
            "begin": round(begin, 2),
            "end": round(end, 2),
            "size": row["size_bytes"],
            "kind": row["kind"],
            "origin": row["origin"],
        }
        for row in rows
        for phase, begin, end in phases(row)
    ]
    base = alt.Chart({"values": bars})
    across = alt.X(
        "begin:Q",
        title="Time since the navigation began [ms]",
        scale=alt.Scale(domain=[0, longest_ms], nice=False),
        axis=alt.Axis(tickCount=TICKS),
    )
    labelled = len(order) <= LABELLED
    names = [labels[row["resource"]] for row in order]
    axis = alt.Axis(
        labelExpr=f"{json.dumps(names)}[datum.value]",
        labelFontSize=9,
        labelLimit=LABEL_WIDTH,
        ticks=False,
        domain=False,
    )
    down = alt.Y(
        "row:O",
        title=None,
        axis=axis if labelled else None,
        scale=alt.Scale(domain=list(range(len(order))), paddingInner=0.15),
    )
    colour = alt.Color(
        "phase:N",
        scale=alt.Scale(domain=list(PHASES), range=list(PHASES.values())),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", symbolType="square", columns=4),
    )
    drawn = base.mark_bar().encode(
        x=across,
        x2="end:Q",
        y=down,
        color=colour,
        tooltip=[
            alt.Tooltip("label:N", title="Resource"),
            alt.Tooltip("origin:N", title="Server"),
            alt.Tooltip("kind:N", title="Kind"),
            alt.Tooltip("size:Q", title="Body [B]"),
            alt.Tooltip("phase:N", title="Phase"),
            alt.Tooltip("begin:Q", title="From [ms]"),
            alt.Tooltip("end:Q", title="To [ms]"),
        ],
    )
    loaded = max((row["complete_ms"] for row in rows if row["complete_ms"] is not None), default=0.0)
    end = alt.Chart({"values": [{"at": loaded}]}).mark_rule(color=NEUTRAL, strokeDash=[5, 3]).encode(x="at:Q")
    return alt.layer(drawn, end).properties(width=WIDTH, height=len(order) * (LABELLED_STEP if labelled else STEP))


def short(url: str) -> str:
    """Return the end of an URL's path, as people know a file."""
    name = url.partition("?")[0].rstrip("/").rpartition("/")[2] or url
    return name if len(name) <= MAX_LABELS else f"…{name[-MAX_LABELS:]}"
