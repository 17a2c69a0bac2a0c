"""`quiclab inspect`: an HTML report about the packets of one run, or of two side by side."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiclab._base.files import write_atomically
from quiclab._base.progress import RunProgress, StepProgress
from quiclab.analysis.inspect import DEFAULT_POINTS, open_run, render, side
from quiclab.analysis.inspect.join import joined
from quiclab.analysis.inspect.source import MAX_POINTS, MIN_POINTS, Step, inputs_of, run_recorded
from quiclab.analysis.inspect.view import Side, limits_of
from quiclab.analysis.inspect.window import Window, window
from quiclab.cli.output import ForceOption, check_new, show_written
from quiclab.cli.values import JsonOption, integer, nanoseconds
from quiclab.result.recordings import RESULT_FILE
from quiclab.scenario import Scenario

if TYPE_CHECKING:
    from quiclab.lane.run import Lane

QUIET_S = 2.0

#: Options of all commands that write a page about packets.
MaxPointsOption = Annotated[
    int,
    typer.Option(
        "--max-points",
        parser=integer(MIN_POINTS, MAX_POINTS),
        metavar="N",
        help="Maximum number of packets in each direction of a connection, and of samples per series. Of more, "
        "the report shows an even part, and says so.",
    ),
]
FromOption = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Show only from this time on, such as '12.5 s': all packets."),
]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="Show only up to this time, such as '13 s'.")
]


def window_of(from_: str | None, to: str | None) -> Window | None:
    """Read `--from` and `--to`.

    Raises
    ------
    RequestError
        If one is not a time, or the second is not after the first.
    """
    first, last = (
        None if text is None else nanoseconds(option, text) for option, text in (("--from", from_), ("--to", to))
    )
    return window(first, last)


def inspect_command(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A", help="A run: directory or result.json of `run --out`, scenario file, or qlog file."
        ),
    ],
    b: Annotated[
        Path | None,
        typer.Argument(
            metavar="[B]", help="Second run, shown side by side; or the qlog file of the other end of the connection."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="HTML file to write (default: inspect-A-B.html).")
    ] = None,
    max_points: MaxPointsOption = DEFAULT_POINTS,
    from_: FromOption = None,
    to: ToOption = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab inspect`."""
    paths = [path for path in (a, b) if path is not None]
    page = out or Path(f"inspect-{'-'.join(_word(path) for path in paths)}.html")
    part = window_of(from_, to)
    check_new(page, force, [read for path in paths for read in inputs_of(path)])
    runs = joined([open_run(path, max_points, report_progress, part) for path in paths])
    sides = [side(run) for run in runs]
    with report_progress("writing", page):
        write_atomically(page, render(sides).encode())
    say_answers(sides)
    show_written([page], as_json)


def say_answers(sides: Sequence[Side]) -> None:
    """Print what happened in each run; on stderr, as stdout has the names of files."""
    for item in sides:
        for line in item.data["answer"]:
            print(f"{item.name}: {line}" if len(sides) > 1 else line, file=sys.stderr)


def _word(path: Path) -> str:
    """Return the part of a path that is used in the name of the report."""
    whole = path.resolve()
    name = whole.parent.name if whole.name == RESULT_FILE else whole.name if whole.is_dir() else whole.stem
    return re.sub(r"[^\w.-]+", "_", name) or "run"


@contextmanager
def report_progress(kind: Step, name: object, *, announced: bool = True) -> Iterator[Callable[..., None]]:
    """Show a slow step on stderr: a run by its network time and, if announced, its name; others by their share."""
    text = f"{kind} {name}"
    if kind == "running":
        if announced:
            print(text, file=sys.stderr)
        with RunProgress(str(name)) as run:
            yield run
    else:
        with StepProgress(QUIET_S) as step:
            yield partial(step, text)


def limits_of_run(scenario: Mapping[str, Any], file: Path, seed: int, lane: Lane | None) -> dict[str, dict[str, float]]:
    """Return the share of each cause that limited the sender of a flow [%]: of the same run, with recording on."""
    progress = partial(report_progress, announced=False)
    run = run_recorded(
        *(Scenario.from_dict(scenario), scenario["name"], str(file), DEFAULT_POINTS, progress),
        base_dir=file.parent,
        seed=seed,
        lane=lane,
    )
    return limits_of(run)
