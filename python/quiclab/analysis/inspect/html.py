"""The page: one HTML file with its data, its style and its scripts in it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from quiclab._base.native import extension
from quiclab.analysis.inspect.view import SCHEMA
from quiclab.report.html import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.analysis.inspect.view import Side

SCRIPTS = (
    "blocks.js",
    "data.js",
    "theme.js",
    "window.js",
    "plot.js",
    "draw.js",
    "sequence.js",
    "limits.js",
    "congestion.js",
    "streams.js",
    "packets.js",
    "links.js",
    "overview.js",
    "main.js",
)
"""In the order in which they are put into the page: each uses those before it."""


def render(sides: Sequence[Side]) -> str:
    """Return the page with one side or two.

    Parameters
    ----------
    sides
        The runs, from left to right.
    """
    colours = {name: colour for name, colour, _ in extension().phases()}
    document = {"schema": SCHEMA, "phases": colours, "sides": [item.data for item in sides]}
    return (
        environment()
        .get_template("inspect/page.html.j2")
        .render(
            title=" and ".join(item.name for item in sides),
            sides=[
                {
                    "key": key,
                    "name": item.name,
                    "origin": item.data["origin"],
                    "answer": item.data["answer"],
                    "blocks": item.blocks,
                }
                for key, item in zip("AB"[: len(sides)], sides, strict=True)
            ],
            style=_asset("page.css"),
            scripts=[_asset(name) for name in SCRIPTS],
            data=_inline_json(document),
        )
    )


def _asset(name: str) -> str:
    return (files("quiclab.report") / "templates" / "inspect" / name).read_text(encoding="utf-8")


def _inline_json(value: object) -> str:
    """Write JSON that is safe in a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
