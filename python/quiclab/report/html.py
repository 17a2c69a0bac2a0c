"""Shared parts of the reports of studies: templates, formats of numbers and verdicts, charts."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from quiclab.formats import figures, percent, share, signed
from quiclab.libraries import vl_convert
from quiclab.report.figures.theme import DARK, LIGHT
from quiclab.study import with_unit
from quiclab.study.claims import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BUNDLE = "window.vegaEmbed = vegaEmbed;"
"""The script that draws charts."""


@cache
def environment() -> Environment:
    """Return the templates, with their filters."""
    found = Environment(
        loader=PackageLoader("quiclab", "report/templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "figures": figures,
        "signed": signed,
        "percent": percent,
        "share": share,
        "with_unit": with_unit,
        "lower_first": lambda text: text[:1].lower() + text[1:],
        "upper_first": lambda text: text[:1].upper() + text[1:],
    }
    return found


def counts(claims: Sequence[Mapping[str, Any]]) -> list[tuple[Verdict, int]]:
    """Return how many claims have each verdict, in the order of the verdicts."""
    found = [claim["verdict"] for claim in claims]
    return [(verdict, found.count(verdict)) for verdict in Verdict if verdict in found]


def responsive(spec: dict[str, Any]) -> dict[str, Any]:
    """Let a chart take the width of the page; panels get theirs from the page's script.

    A chart in rows keeps its own width: Vega-Lite draws nothing where such a one is to be as wide as its container.
    """
    if "vconcat" in spec or "facet" in spec:
        return spec
    return {**spec, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def drawing(specs: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Return what `charts.html.j2` needs: the charts of a page by the identifier of their element."""
    return {
        "specs": inline_json({name: responsive(spec) for name, spec in specs.items()}),
        "light": inline_json(LIGHT),
        "dark": inline_json(DARK),
        "bundle": vl_convert.javascript_bundle(BUNDLE),
    }


def inline_json(value: object) -> str:
    """Write JSON that is safe in a script element."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/").replace("<!--", "<\\!--")
