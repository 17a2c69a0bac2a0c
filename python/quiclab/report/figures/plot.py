"""A figure in Python: a notebook shows it without a network, and it writes itself to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.files import write_atomically
from quiclab._base.libraries import alt
from quiclab.report.figures.theme import LIGHT, check_format, declaration, in_format, to_svg

if TYPE_CHECKING:
    from collections.abc import Collection


#: Room around the figure in a notebook, whose font may be wider than the one by which the figure was laid out.
PADDING: Final = {"left": 24, "right": 12, "top": 6, "bottom": 6}


class Plot:
    """A figure that notebooks show without a network: as SVG, or by their own Vega-Lite.

    altair shows its charts by scripts that it loads from the network; this is an altair chart that does not, in the
    colours of quiclab. `plot.chart` is the chart, and `Plot(chart)` makes a figure of any other.

    Parameters
    ----------
    chart
        An altair chart.
    """

    def __init__(self, chart: alt.TopLevelMixin) -> None:
        self.chart = chart

    def __repr__(self) -> str:
        """Say what the axes are."""
        return f"<Plot: {', '.join(_titles(self.to_dict())) or 'no axes'}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the specification in Vega-Lite, with its data and without colours of axes and texts."""
        return declaration(self.chart)

    def to_svg(self) -> str:
        """Return the figure as SVG."""
        return to_svg(self.to_dict(), LIGHT | {"padding": PADDING})

    def save(self, file: str | Path) -> None:
        """Write the figure as SVG, PNG or PDF.

        Parameters
        ----------
        file
            Its suffix names the format; a file of this name is replaced.

        Raises
        ------
        RequestError
            If the suffix is another one, or the file cannot be written.
        """
        check_format(Path(file), "file")
        write_atomically(Path(file), in_format(self.to_dict(), Path(file)))

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Return what a notebook chooses from: SVG, and the specification for a Vega-Lite of its own."""
        del include, exclude  # IPython takes what it wants
        spec = self.to_dict()
        version = alt.SCHEMA_VERSION.partition(".")[0]
        return {
            "image/svg+xml": self.to_svg(),
            f"application/vnd.vegalite.{version}+json": {**spec, "config": LIGHT},
            "text/plain": repr(self),
        }


def _titles(part: Any) -> list[str]:
    """Return the titles of the axes of a specification, each once."""
    if isinstance(part, list):
        found = [title for item in part for title in _titles(item)]
    elif isinstance(part, dict):
        channels = (part.get("encoding", {}).get(name, {}) for name in ("x", "y"))
        own = [str(channel["title"]) for channel in channels if channel.get("title")]
        below = [part[name] for name in ("layer", "vconcat", "hconcat", "concat", "spec") if name in part]
        found = [*own, *(title for item in below for title in _titles(item))]
    else:
        found = []
    return list(dict.fromkeys(found))
