"""Shared parts of the reports of studies: templates, formats of numbers and verdicts, charts."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from quiclab._base.files import cache_folder, write_atomically
from quiclab._base.libraries import jinja2, vl_convert
from quiclab._base.native import extension
from quiclab.errors import RequestError, lower_first
from quiclab.report.figures.theme import DARK, LIGHT
from quiclab.report.interaction import interactive
from quiclab.result.formats import between, figures, percent, places, share, signed, spread
from quiclab.study import with_unit
from quiclab.study.claims import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BUNDLE = "window.vegaEmbed = vegaEmbed;"
"""What pages need of the libraries that draw charts."""
BESIDE_PANELS = 72
"""Width of the vertical axis of panels with its title, and of the margins, in pixels."""
OWN = "quiclab"
"""How the sources of studies begin that follow no publication."""
CONTENTS = "<!-- contents -->"
UNIT = re.compile(r"\[[^\]\s]+\]")
UNITS = re.compile(f"({UNIT.pattern})")
HEADING = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>')


@cache
def environment() -> jinja2.Environment:
    """Return the templates, with their filters."""
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("quiclab", "report/templates"),
        autoescape=jinja2.select_autoescape(default=True, default_for_string=True),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "figures": figures,
        "signed": signed,
        "percent": percent,
        "share": share,
        "with_unit": with_unit,
        "lower_first": lower_first,
        "places": places,
        "spread": spread,
        "between": between,
        "code": code,
        "breakable": breakable,
        "unbroken": unbroken,
        "sentence": sentence,
        "after": after,
        "upper_first": lambda text: text[:1].upper() + text[1:],
    }
    found.globals["version"] = extension().version()
    return found


@cache
def bundle() -> str:
    """Return the script that draws charts, of 0.9 MB.

    The library takes seconds to put it together, and gives the same one each time: it is kept in the user's cache.
    """
    library, asked = version("vl-convert-python"), hashlib.sha256(BUNDLE.encode()).hexdigest()[:8]
    kept = cache_folder() / "pages" / f"vega-{library}-{asked}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        script: str = vl_convert.javascript_bundle(BUNDLE)
    with suppress(RequestError, OSError):  # a page needs no cache
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, script.encode())
    return script


def code(text: str) -> Markup:
    """Mark up what is between backticks as code; everything else is escaped."""
    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # a single backtick marks nothing
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part) for index, part in enumerate(parts)
    )


def breakable(text: str) -> Markup:
    """Let a path or a dotted name break after its slashes and dots, but not inside its unit."""
    return Markup("").join(
        _unit(part) if UNIT.fullmatch(part) else Markup("{}<wbr>").format(part) if part in "./" else escape(part)
        for part in re.split(f"({UNIT.pattern}|[./])", text)
        if part
    )


def unbroken(text: str) -> Markup:
    """Keep a unit in one line: browsers may break `[Mbit/s]` after its slash."""
    return Markup("").join(_unit(part) if UNIT.fullmatch(part) else escape(part) for part in UNITS.split(text))


def _unit(text: str) -> Markup:
    return Markup('<span class="unit">{}</span>').format(text)


def sentence(text: str) -> str:
    """Begin a remark with a capital letter and end it with a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def after(source: str) -> str:
    """Return the sentence that names the source of a study; one whose source is quiclab follows no publication."""
    if not source.startswith(OWN):
        return f"After {source}."
    return f"Made for quiclab{source.removeprefix(OWN).partition(':')[0]}; it follows no publication."


def counts(claims: Sequence[Mapping[str, Any]]) -> list[tuple[Verdict, int]]:
    """Return how many claims have each verdict, in the order of the verdicts."""
    found = [claim["verdict"] for claim in claims]
    return [(verdict, found.count(verdict)) for verdict in Verdict if verdict in found]


def by_verdict(claims: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return claims in the order of the verdicts: what was decided comes first, what was not tested last."""
    order = list(Verdict)
    return sorted(claims, key=lambda claim: order.index(claim["verdict"]))


def responsive(spec: dict[str, Any]) -> dict[str, Any]:
    """Let a chart take the width of the page; panels get theirs from the page's script.

    A chart in rows keeps its own width: Vega-Lite draws nothing where such a one is to be as wide as its container.
    """
    if "vconcat" in spec or "facet" in spec:
        return spec
    return {**spec, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def drawing(specs: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what `charts.html.j2` needs: the charts of a page by the identifier of their element."""
    return {
        "specs": inline_json({name: interactive(responsive(spec)) for name, spec in specs.items()}),
        "light": inline_json(LIGHT | {"background": None}),
        "dark": inline_json(DARK),
        "bundle": bundle(),
        "beside_panels": BESIDE_PANELS,
    }


def with_contents(page: str) -> str:
    """Write the contents of a page where its template has `CONTENTS`: links to its headings; nothing for only a few."""
    found = HEADING.findall(page.partition("<script>")[0])
    links = "\n".join(f'<li><a href="#{identity}">{title}</a></li>' for identity, title in found)
    contents = f'<nav class="contents" aria-label="Contents"><ul>\n{links}\n</ul></nav>' if len(found) > 2 else ""
    return page.replace(CONTENTS, contents, 1)


def inline_json(value: object) -> str:
    """Write JSON that is safe in a script element."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/").replace("<!--", "<\\!--")
