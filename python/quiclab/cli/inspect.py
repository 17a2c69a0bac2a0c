"""`quiclab inspect`: an HTML report about the packets of one run, or of two side by side."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quiclab.cli.values import ForceOption, check_new, check_report, integer
from quiclab.files import write_atomically
from quiclab.inspect import DEFAULT_POINTS, open_run, render, side
from quiclab.inspect.source import Step
from quiclab.progress import RunProgress, StepProgress

MIN_POINTS, MAX_POINTS = 100, 1_000_000
QUIET_S = 2.0


def inspect_command(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A", help="A run: directory or result.json of `run --out`, scenario file, or qlog file."
        ),
    ],
    b: Annotated[Path | None, typer.Argument(metavar="[B]", help="Second run, shown side by side.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write (default: inspect-A-B.html; an older report is replaced).")
    ] = None,
    max_points: Annotated[
        int,
        typer.Option(
            parser=integer(MIN_POINTS, MAX_POINTS),
            metavar="N",
            help="Maximum number of packets, and of samples per series, for each endpoint.",
        ),
    ] = DEFAULT_POINTS,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab inspect`."""
    paths = [path for path in (a, b) if path is not None]
    page = out or Path(f"inspect-{'-'.join(_word(path) for path in paths)}.html")
    (check_report if out is None else check_new)(page, force)
    sides = [side(open_run(path, max_points, report_progress)) for path in paths]
    with report_progress("writing", page):
        write_atomically(page, render(sides).encode())
    print(page)


def _word(path: Path) -> str:
    """Return the part of a path that is used in the name of the report."""
    whole = path.resolve()
    name = whole.parent.name if whole.name == "result.json" else whole.name if whole.is_dir() else whole.stem
    return re.sub(r"[^\w.-]+", "_", name) or "run"


@contextmanager
def report_progress(kind: Step, name: object) -> Iterator[Callable[..., None]]:
    """Show a slow step on stderr: a run by its network time, other steps by their completed share."""
    text = f"{kind} {name}"
    if kind == "running":
        print(text, file=sys.stderr)
        with RunProgress(str(name)) as run:
            yield run
    else:
        with StepProgress(QUIET_S) as step:
            yield partial(step, text)
