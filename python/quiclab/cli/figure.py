"""The file of the option `--figure`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiclab._base.files import write_atomically
from quiclab._base.libraries import check_libraries
from quiclab.cli.output import check_new
from quiclab.report import figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


FigureOption = Annotated[
    Path | None,
    typer.Option("--figure", metavar="FILE.svg|.png|.pdf", help="Also draw it into this file."),
]


def write_figure(
    file: Path, specification: Callable[[], Mapping[str, Any]], force: bool, inputs: Iterable[Path] = ()
) -> None:
    """Draw a figure into a file, as SVG, PNG or PDF by its suffix.

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
        If the suffix is another one, a library is missing, or the file may not be written.
    """
    figures.check_format(file, "--figure")
    check_libraries("`--figure`")
    check_new(file, force, inputs, "--figure")
    write_atomically(file, figures.in_format(specification(), file))
