"""The file of the option `--figure`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab._base.files import write_atomically
from quiclab.cli.output import check_new
from quiclab.errors import unexpected
from quiclab.report import figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path


def write_figure(
    file: Path, specification: Callable[[], Mapping[str, Any]], force: bool, inputs: Iterable[Path] = ()
) -> None:
    """Draw a figure into a file, as SVG or PNG by its suffix.

    Parameters
    ----------
    file
        The file.
    specification
        Returns the Vega-Lite specification of the figure.
    force, inputs
        As of `check_new`.

    Raises
    ------
    RequestError
        If the suffix is another one, or the file may not be written.
    """
    if file.suffix not in (".svg", ".png"):
        raise unexpected("--figure", "a file name that ends with `.svg` or `.png`", file)
    check_new(file, force, inputs, "--figure")
    spec = specification()
    write_atomically(file, figures.to_svg(spec).encode() if file.suffix == ".svg" else figures.to_png(spec))
