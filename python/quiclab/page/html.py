"""The page with waterfalls: offline, one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import vl_convert

from quiclab.page.figure import short, waterfall
from quiclab.report import figures
from quiclab.report.html import environment, inline_json, responsive

if TYPE_CHECKING:
    from collections.abc import Mapping

BUNDLE = "window.vegaEmbed = vegaEmbed;"


def render(document: Mapping[str, Any]) -> str:
    """Return the HTML for what `quiclab page --json` prints."""
    longest = max((row["complete_ms"] or 0.0 for row in _rows(document)), default=1.0)
    charts = []
    for number, stack in enumerate(document["stacks"], start=1):
        rows = stack["typical"]["requests"] if stack["typical"] else []
        spec = figures.declaration(waterfall(rows, longest, {row["resource"]: short(row["url"]) for row in rows}))
        shown = {"spec": inline_json(responsive(spec)), "svg": figures.to_svg(spec)} if rows else {}
        charts.append({"number": number, "stack": stack, "rows": rows, **shown})
    fastest = min((stack["page_load_ms_mean"] for stack in document["stacks"] if stack["n_runs"]), default=None)
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            document=document,
            page=document["page"],
            charts=charts,
            fastest=fastest,
            short=short,
            light=inline_json(figures.LIGHT),
            dark=inline_json(figures.DARK),
            bundle=vl_convert.javascript_bundle(BUNDLE),
        )
    )


def _rows(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [row for stack in document["stacks"] if stack["typical"] for row in stack["typical"]["requests"]]
