"""Shared parts of all figures: colours, symbols and their legends, the light and the dark scheme, formats of files.

The first colours are three of Okabe and Ito's palette and two of their kind, lightened or darkened so that each has a
contrast of at least 3:1 on white and on near black; they differ in lightness, too. Five more are for figures with many
series, and `palette` has further ones, so that no two series of a figure have the same colour.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from colorsys import hls_to_rgb
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from quiclab._base.libraries import alt, vl_convert
from quiclab.errors import QuiclabError, alternatives, unexpected

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Layers: TypeAlias = "alt.LayerChart | alt.FacetChart"
"""What layers become with a size: altair returns a union, although it stays a chart of layers."""

COLOURS = (
    *("#c8651b", "#2f80c3", "#2a9273", "#b0609a", "#8c7a1f"),
    *("#d6404e", "#7a6fe0", "#1f93a3", "#9a6a4f", "#6d8a2c"),
)
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
TEXT = "#24292f"
PUBLISHED, MEASURED, MODEL = "published", "measured", "model"
WIDTH = 680

# pixels by which the two sources stand beside their common value, so that their error bars can be told apart
SHIFT = 3.0
# height of a setting in the figure of a criterion, in pixels
STEP = 20
# what the legend shows of a source, as filled outlines in a box from -1 to 1: dashes with a hollow square between them,
# a line with a disc, dots
SYMBOLS = {
    PUBLISHED: "M-1,-.04H-.72V.04H-1ZM-.58,-.04H-.24V.04H-.58ZM.24,-.04H.58V.04H.24ZM.72,-.04H1V.04H.72Z"
    "M-.24,-.24H.24V.24H-.24ZM-.16,-.16V.16H.16V-.16Z",
    MEASURED: "M-1,-.06H1V.06H-1ZM-.24,0A.24,.24,0,1,1,.24,0A.24,.24,0,1,1,-.24,0Z",
    MODEL: "M-1,-.05H-.9V.05H-1ZM-.76,-.05H-.66V.05H-.76ZM-.52,-.05H-.42V.05H-.52ZM-.28,-.05H-.18V.05H-.28Z"
    "M-.04,-.05H.06V.05H-.04ZM.2,-.05H.3V.05H.2ZM.44,-.05H.54V.05H.44ZM.68,-.05H.78V.05H.68ZM.9,-.05H1V.05H.9Z",
}
NEUTRAL = "#808890"
# room of a legend next to names of settings, width of a letter, and that of symbol and padding, in pixels
LEGEND_WIDTH, LETTER, BESIDE_NAME = 520, 7, 34


def theme(text: str, grid: str, background: str | None) -> dict[str, Any]:
    """Return the Vega-Lite configuration of a colour scheme.

    It has a colour for all that Vega draws in black otherwise: names of facets, symbols of legends, texts, rules.
    """
    axis = {"labelColor": text, "titleColor": text, "tickColor": grid, "domainColor": grid, "gridColor": grid}
    return {
        "background": background,
        "font": FONT,
        "axis": {**axis, "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "gridOpacity": 0.6},
        # a label stands below its tick at the ends of an axis, too: moved inwards, it meets the next one
        "axisX": {"labelFlush": False},
        "header": {"labelColor": text, "titleColor": text, "labelFontSize": 12, "titleFontSize": 13},
        "legend": {
            "labelColor": text,
            "titleColor": text,
            "symbolBaseFillColor": NEUTRAL,
            "symbolBaseStrokeColor": NEUTRAL,
            "labelFontSize": 13,
            "labelLimit": LEGEND_WIDTH,
            "columnPadding": 16,
            "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 2}},
        },
        "title": {"color": text, "subtitleColor": text, "fontSize": 13, "fontWeight": "bold", "anchor": "start"},
        "text": {"color": text},
        "rule": {"color": NEUTRAL},
        "view": {"stroke": None},
    }


LIGHT = theme(TEXT, "#d4d8dd", "#ffffff")
DARK = theme("#e6e8eb", "#3b4149", None)
THUMBNAIL = theme("currentColor", "rgba(128, 136, 144, .4)", None) | {
    "padding": {"left": 12, "right": 12},
    "legend": {"disable": True},
}
"""A small figure inside a page, in the colour of the text around it."""


HUE_STEP = 0.381966
"""Part of the circle of hues from one further colour to the next: the golden section, which repeats none."""
LUMINANCES = (0.15, 0.26)
"""Relative luminances (WCAG 2.2) with a contrast of more than 3:1 on white and on near black."""


def palette(count: int) -> list[str]:
    """Return the colours of as many series: those of `COLOURS`, then hues between them, dark and light in turn."""
    further = (_of_luminance(index * HUE_STEP % 1, LUMINANCES[index % 2]) for index in range(count - len(COLOURS)))
    return [*COLOURS[:count], *further]


def _of_luminance(hue: float, wanted: float) -> str:
    """Return the colour of a hue (0 to 1) with this relative luminance."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if luminance(hls_to_rgb(hue, middle, 0.55)) < wanted else (low, middle)
    return "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue, (low + high) / 2, 0.55))


def luminance(rgb: Iterable[float]) -> float:
    """Return the relative luminance of a colour in sRGB, whose parts are from 0 to 1."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def colours(series: Sequence[str], *, lines: bool = False) -> alt.Color:
    """Return the colour of each series, in their order; the legend shows squares, or strokes of bare lines."""
    drawn: dict[str, Any] = {"symbolType": "square", "symbolStrokeWidth": 0}
    if lines:
        drawn = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolSize": 250}
    legend = alt.Legend(
        title=None, orient="top", direction="horizontal", symbolOpacity=1, columns=legend_columns(series), **drawn
    )
    return alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(series), range=palette(len(series))),
        legend=legend,
    )


def legend_columns(names: Sequence[str]) -> int:
    """Return the columns of a legend above a plot: all names in a row, or as many of the longest as have room."""
    widths = [LETTER * len(name) + BESIDE_NAME for name in names]
    return len(names) if sum(widths) <= LEGEND_WIDTH else max(1, LEGEND_WIDTH // max(widths))


def legend_of_symbols(base: alt.Chart, symbols: Mapping[str, str]) -> alt.Chart:
    """Return a layer that draws nothing: it brings the legend that tells the values of `style` apart."""
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        symbolSize=900,
        symbolStrokeWidth=0,
        symbolOpacity=1,
    )
    shape = alt.Shape("style:N", scale=alt.Scale(domain=list(symbols), range=list(symbols.values())), legend=legend)
    layer: alt.Chart = base.mark_point(size=0, opacity=0, filled=True, color=NEUTRAL).encode(shape=shape)
    return layer


def empty_chart(why: str = "None of these settings has been run yet.") -> Layers:
    """Return a placeholder for a figure without data."""
    text = alt.Chart({"values": [{"text": why}]})
    return alt.layer(text.mark_text(align="left", x=0, color=NEUTRAL).encode(text="text:N")).properties(
        width=WIDTH, height=40
    )


def of_rows(chart: Layers, rows: int, step: int) -> Layers:
    """Give a chart its size, `step` pixels a row; `usermeta` tells the page, which makes rows taller on a phone."""
    return chart.properties(width=WIDTH, height=rows * step, usermeta={"row_height": step})


def declaration(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart, without a theme."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    return spec


def titled(chart: alt.TopLevelMixin, title: str, subtitle: Sequence[str], **size: float) -> dict[str, Any]:
    """Return the specification of a figure that stands alone: its title says what it shows."""
    text: dict[str, Any] = {"color": TEXT, "subtitleColor": TEXT, "fontWeight": "normal"}
    heading = alt.TitleParams(
        title, subtitle=list(subtitle), anchor="start", fontSize=15, subtitleFontSize=12, offset=12, **text
    )
    return declaration(chart.properties(title=heading, **size))


def to_svg(spec: Mapping[str, Any], config: Mapping[str, Any] = LIGHT) -> str:
    """Render a specification as SVG."""
    return str(_rendered("svg", spec, config))


def to_png(spec: Mapping[str, Any], config: Mapping[str, Any] = LIGHT, scale: float = 2.0) -> bytes:
    """Render a specification as PNG with `scale` pixels a point."""
    return bytes(_rendered("png", spec, config, scale=scale))


def to_pdf(spec: Mapping[str, Any], config: Mapping[str, Any] = LIGHT) -> bytes:
    """Render a specification as PDF."""
    return bytes(_rendered("pdf", spec, config))


def _rendered(form: str, spec: Mapping[str, Any], config: Mapping[str, Any], **options: float) -> Any:
    render = getattr(vl_convert, f"vegalite_to_{form}")
    try:
        return render(json.dumps(spec), config=dict(config), **options)
    except ValueError as error:
        raise QuiclabError(f"the figure cannot be drawn: {error}") from error


#: Formats of files by the suffix of their name.
FORMATS: Final[Mapping[str, Callable[[Mapping[str, Any]], bytes]]] = {
    ".svg": lambda spec: to_svg(spec).encode(),
    ".png": to_png,
    ".pdf": to_pdf,
}


def check_format(file: Path, option: str) -> None:
    """Check that the suffix of a file names a format.

    Raises
    ------
    RequestError
        If it does not.
    """
    if file.suffix not in FORMATS:
        raise unexpected(option, f"a file name that ends with {alternatives(FORMATS)}", file)


def in_format(spec: Mapping[str, Any], file: Path) -> bytes:
    """Render a specification in the format of a file, which `check_format` has checked."""
    return FORMATS[file.suffix](spec)
