"""The page with waterfalls: offline, one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.report import figures
from quiclab.report.html import drawing, environment, with_contents
from quiclab.sources.page.figure import short, waterfall
from quiclab.sources.page.rules import told

if TYPE_CHECKING:
    from collections.abc import Mapping


def render(document: Mapping[str, Any]) -> str:
    """Return the HTML for what `quiclab page --json` prints."""
    longest = max((row["complete_ms"] or 0.0 for row in _rows(document)), default=1.0)
    charts, specs = [], {}
    for number, stack in enumerate(document["stacks"], start=1):
        rows = stack["typical"]["requests"] if stack["typical"] else []
        spec = figures.declaration(waterfall(rows, longest, {row["resource"]: short(row["url"]) for row in rows}))
        charts.append({"number": number, "stack": stack, "rows": rows, "svg": figures.to_svg(spec) if rows else ""})
        if rows:
            specs[f"chart-{number}"] = spec
    fastest = min((stack["page_load_ms_mean"] for stack in document["stacks"] if stack["n_runs"]), default=None)
    return with_contents(
        environment()
        .get_template("page.html.j2")
        .render(
            document=document,
            page=document["page"],
            charts=charts,
            fastest=fastest,
            short=short,
            left_out=told(document["page"]["entries"], document["page"]["left_out"]),
            **drawing(specs),
        )
    )


def _rows(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [row for stack in document["stacks"] if stack["typical"] for row in stack["typical"]["requests"]]
