"""Options that the commands of `quiclab sweep` share: from them to a plan, and from stored runs to what is shown."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiclab._base.files import read_text
from quiclab._base.native import EXAMPLES, MAX_SEED
from quiclab.cli import completion
from quiclab.cli.figure import FigureOption, check_figure, draw_figure
from quiclab.cli.output import ForceOption
from quiclab.cli.values import SetOption, integer, options_for, parse_sets
from quiclab.errors import QuiclabError, RequestError, unexpected
from quiclab.experiment.sweeps import Plan
from quiclab.experiment.sweeps.plan import MAX_SEEDS
from quiclab.experiment.sweeps.tables import Tables
from quiclab.report import show
from quiclab.report.sweeps.figure import Style, specification
from quiclab.report.sweeps.labels import Labels
from quiclab.report.sweeps.layout import KINDS, layout
from quiclab.report.sweeps.output import document, write
from quiclab.result import TABLES
from quiclab.scenario.tree import to_json

if TYPE_CHECKING:
    from quiclab.experiment.execute import Outcome
    from quiclab.lane.run import Lane


OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Results directory, to which runs are added (default: results/sweeps/NAME)."
    ),
]


_KINDS = "; ".join(f"{name}: {kind.meaning}" for name, kind in KINDS.items())


@dataclass(frozen=True)
class FigureOptions:
    """Options of the figures of a sweep."""

    kind: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(KINDS),
            help=f"Figures are (default: by what varies) {_KINDS}.",
        ),
    ] = None
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=TEXT",
            help="Text in figures in place of a name: the path of a factor, PATH.LEVEL for a level of it, or a metric.",
        ),
    ] = None
    figure: FigureOption = None
    force: ForceOption = False

    def style(self, plan: Plan) -> Style:
        """Return what is requested of the figures, after a check that the sweep has such, and that `--figure` is new.

        Raises
        ------
        RequestError
            If it has not, or the file may not be written.
        """
        with options_for("kind", "label"):
            style = Style(self.kind, Labels.read(plan, self.label or ()))
            layout(plan, self.kind)
        if self.figure is not None:
            check_figure(self.figure, self.force, [plan.file])
        return style


@dataclass(frozen=True)
class PlanOptions:
    """Options that describe a sweep."""

    scenario: Annotated[Path | None, typer.Argument(metavar="SCENARIO", help="Scenario file.")] = None
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUES",
            autocompletion=completion.fields,
            help="A factor: values joined by commas, or a range such as 10..200:log5 (5 values at equal ratios) or "
            "10..50:lin5. `*` in a path stands for any name. Several factors are combined.",
        ),
    ] = None
    zipped: Annotated[
        list[str] | None,
        typer.Option(
            "--zip",
            metavar="PATH=VALUES",
            help="Factors that change together: first with first.",
            autocompletion=completion.fields,
        ),
    ] = None
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="lhs:N|sobol:N",
            help="Draw N settings instead of all combinations; ranges are 10..200 or 10..200:log then.",
        ),
    ] = None
    seeds: Annotated[
        int, typer.Option(parser=integer(1, MAX_SEEDS), metavar="N", help="Runs of each setting, with seeds in a row.")
    ] = 5
    first_seed: Annotated[
        int, typer.Option(parser=integer(0, MAX_SEED - MAX_SEEDS), metavar="N", help="Seed of the first run.")
    ] = 1
    metric: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="What is measured: names of --list-metrics, or paths in a result.",
            autocompletion=completion.metrics,
        ),
    ] = "goodput"
    keep: Annotated[
        str,
        typer.Option(
            metavar="TABLE,TABLE", help=f"Keep these tables of each run as Parquet files: {', '.join(TABLES)}."
        ),
    ] = ""
    sets: SetOption = None

    def plan(self, lane: Lane | None = None) -> Plan:
        """Return the sweep.

        Raises
        ------
        RequestError
            If the scenario is not named, or cannot be read.
        """
        if self.scenario is None:
            raise unexpected("SCENARIO", "scenario file", hint="usage: quiclab sweep SCENARIO --vary PATH=VALUES")
        return Plan(
            file=self.scenario,
            text=read_text(self.scenario, hint=EXAMPLES),
            sets=tuple(parse_sets(self.sets)),
            varied=tuple(self.vary or ()),
            zipped=tuple(self.zipped or ()),
            sample=self.sample,
            seeds=self.seeds,
            first_seed=self.first_seed,
            metrics=names_in(self.metric),
            keep=tuple(dict.fromkeys(names_in(self.keep))) if self.keep else (),
            lane=lane,
        )


def names_in(text: str) -> tuple[str, ...]:
    """Return the names that commas join."""
    return tuple(name.strip() for name in text.split(","))


def show_results(
    tables: Tables, directory: Path, *, as_json: bool, style: Style | None = None, figure: Path | None = None
) -> None:
    """Write the files of a sweep and print its table, or JSON.

    Parameters
    ----------
    tables, directory
        The sweep, and its results directory.
    as_json
        Whether to print JSON.
    style
        As of `output.write`.
    figure
        A further file for the figure of the first metric.

    Raises
    ------
    QuiclabError
        If the files cannot be written, for instance because the disk is full.
    """
    try:
        paths = write(tables, directory, command_line(), style)
        if figure is not None:
            plan = tables.plan
            draw_figure(figure, specification(plan, tables.runs, tables.settings, plan.measures[0], style))
            paths.append(figure)
    except RequestError as error:
        raise QuiclabError(f"{error}; all runs are stored: repeat the command to write the results") from error
    if as_json:
        print(to_json(document(tables)))
    else:
        factors = len(tables.plan.design.factors)
        show.sweep(tables.heads, tables.rows(), factors, len(tables.settings), tables.notes)
        if tables.compared is not None:
            title = f"Differences from the first level of {tables.compared.factor.path}, paired by seed"
            show.table_of(title, tables.difference_heads, tables.difference_rows(), factors)
    for path in paths:
        print(path, file=sys.stderr if as_json else sys.stdout)


def report_failures(outcome: Outcome) -> None:
    """Count the runs that failed.

    Raises
    ------
    QuiclabError
        If there are any.
    """
    if outcome.failed:
        raise QuiclabError(f"{outcome.failed} of {outcome.total} runs failed; the first of them are listed above")


def command_line() -> str:
    """Return the command as it was given."""
    return " ".join(["quiclab", *(shlex.quote(word) for word in sys.argv[1:])])
