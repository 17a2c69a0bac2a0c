"""`quiclab inspect`: a page that looks inside one run, or two side by side."""

from __future__ import annotations

import re
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from quiclab.cli.values import integer
from quiclab.files import write_atomically
from quiclab.inspect import MOST_POINTS, open_run, render, side
from quiclab.progress import LINE_INTERVAL_S, RunProgress

FEWEST_POINTS, LARGEST_POINTS = 100, 1_000_000


def inspect_command(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A", help="A run: directory or result.json of `run --out`, scenario file, or qlog file."
        ),
    ],
    b: Annotated[Path | None, typer.Argument(metavar="[B]", help="Another, to stand beside it.")] = None,
    out: Annotated[Path | None, typer.Option(help="The page; inspect-A-B.html here without it.")] = None,
    max_points: Annotated[
        int,
        typer.Option(
            parser=integer(FEWEST_POINTS, LARGEST_POINTS),
            metavar="N",
            help="Most packets, and most samples of a series, of each endpoint; the page says what it leaves out.",
        ),
    ] = MOST_POINTS,
) -> None:
    """Write a page that looks inside one run, or two side by side; it works offline."""
    paths = [path for path in (a, b) if path is not None]
    page = out or Path(f"inspect-{'-'.join(_word(path) for path in paths)}.html")
    sides = [side(open_run(path, max_points, _progress)) for path in paths]
    with _progress(f"writing {page}"):
        write_atomically(page, render(sides).encode())
    print(page)


def _word(path: Path) -> str:
    """Return what a path is called in the name of the page."""
    whole = path.resolve()
    name = whole.parent.name if whole.name == "result.json" else whole.name if whole.is_dir() else whole.stem
    return re.sub(r"[^\w.-]+", "_", name) or "run"


def _progress(text: str) -> AbstractContextManager[Any]:
    """Show a step on stderr once it takes a while: a run with a bar, anything else with a line."""
    if text.startswith("running "):
        print(text, file=sys.stderr)
        return RunProgress(text.removeprefix("running "))
    return nullcontext(_Lines(text))


class _Lines:
    """Lines on stderr with how far a file is read, once it takes a while."""

    FIRST_LINE_S = 2.0

    def __init__(self, text: str) -> None:
        self.text = text
        self.next_line = time.monotonic() + self.FIRST_LINE_S

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is."""
        now = time.monotonic()
        if now >= self.next_line:
            self.next_line = now + LINE_INTERVAL_S
            print(f"{self.text}: {100 * done / max(total, 1):.0f} %", file=sys.stderr, flush=True)
