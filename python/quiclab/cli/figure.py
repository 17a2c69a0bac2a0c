"""The file of the option `--figure`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiclab._base.files import write_atomically
from quiclab.cli.output import check_new
from quiclab.report import figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


FigureOption = Annotated[
    Path | None,
    typer.Option(
        "--figure", metavar="FILE.svg|.png|.pdf", help="Also draw the figure (of the first metric) into this file."
    ),
]


def check_figure(file: Path, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Check that a figure can be drawn into a file, before the work that it shows.

    Parameters
    ----------
    file
        The file.
    force, inputs
        As of `check_new`.

    Raises
    ------
    RequestError
        If its suffix is no format, or the file may not be written.
    """
    figures.check_format(file, "--figure")
    check_new(file, force, inputs, "--figure")


def draw_figure(file: Path, specification: Mapping[str, Any]) -> None:
    """Draw a figure, as Vega-Lite specifies it, into a file that `check_figure` has checked."""
    write_atomically(file, figures.in_format(specification, file))
