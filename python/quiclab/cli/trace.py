"""`quiclab trace`: makes traces of link rates, reads published ones, and shows them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from quiclab._base.native import MAX_SEED
from quiclab.cli.figure import FigureOption, check_figure, draw_figure
from quiclab.cli.output import ForceOption, check_new, make_directory
from quiclab.cli.values import JsonOption, bits_per_second, integer, nanoseconds
from quiclab.errors import RequestError, unexpected
from quiclab.report import show
from quiclab.result.tables import text as cell
from quiclab.scenario.tree import to_json
from quiclab.sources.traces import figure, library, model
from quiclab.sources.traces.dataset import read_dataset
from quiclab.sources.traces.describe import statistics
from quiclab.sources.traces.trace import Trace, read, write

NS_PER_S = 10**9


def generate_command(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Output file.")],
    mean: Annotated[str, typer.Option(metavar="RATE", help="Mean rate.")] = "4.5 Mbit/s",
    duration: Annotated[str, typer.Option(metavar="TIME", help="Duration of the trace.")] = "200 s",
    step: Annotated[str, typer.Option(metavar="TIME", help="Time between two rates.")] = "1 s",
    seed: Annotated[int, typer.Option(parser=integer(0, MAX_SEED), metavar="N", help="Seed of the trace.")] = 1,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab trace generate`."""
    mean_bps = bits_per_second("--mean", mean)
    duration_ns = nanoseconds("--duration", duration)
    trace = model.generate(mean_bps, duration_ns, nanoseconds("--step", step), seed)
    check_new(out, force)
    write(out, trace)
    summary(trace, out, as_json)


def import_command(
    file: Annotated[Path, typer.Argument(metavar="DATASET.csv", help="File of the 4G data set (Raca et al.).")],
    start: Annotated[str, typer.Option(metavar="TIME", help="Start of the trace within the file.")] = "0 s",
    duration: Annotated[str, typer.Option(metavar="TIME", help="Duration of the trace.")] = "200 s",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Output file.")] = None,
    install: Annotated[
        str | None, typer.Option(metavar="NAME", help="Install it for studies under this name, such as lte.")
    ] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab trace import`."""
    if (out is None) == (install is None):
        raise RequestError("expected either --out FILE or --install NAME, such as lte")
    start_s, duration_s = whole_seconds("--start", start), whole_seconds("--duration", duration)
    trace = read_dataset(file, start_s, duration_s)
    target = library.path_of(install) if install is not None else out
    assert target is not None  # noqa: S101 (one of the two is there)
    if install is not None:
        library.check_published(install, trace)
        make_directory(target.parent, "--install")
    check_new(target, force, [file], "--out" if install is None else "--install")
    if install is not None:
        library.install(install, trace)
    else:
        write(target, trace)
    summary(trace, target, as_json)


def show_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace of format csv.")],
    picture: FigureOption = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab trace show`."""
    trace = read(file)
    if picture is not None:
        check_figure(picture, force, [file])
        draw_figure(picture, figure.specification(trace))
    summary(trace, file, as_json)


def summary(trace: Trace, path: Path, as_json: bool) -> None:
    """Print title, origin and statistics of a trace."""
    numbers = statistics(trace)
    if as_json:
        about = {"file": str(path), "title": trace.title, "origin": trace.origin, "notes": list(trace.notes)}
        print(to_json({"schema": "quiclab.trace/1", **about, "statistics": asdict(numbers)}))
        return
    lag = numbers.autocorrelation_time_s
    rows = {
        "length [s]": numbers.duration_s,
        "rates": numbers.samples,
        "mean [Mbit/s]": numbers.mean_mbps,
        "standard deviation [Mbit/s]": numbers.deviation_mbps,
        "coefficient of variation": numbers.coefficient_of_variation,
        "minimum [Mbit/s]": numbers.least_mbps,
        "10th percentile [Mbit/s]": numbers.p10_mbps,
        "90th percentile [Mbit/s]": numbers.p90_mbps,
        "maximum [Mbit/s]": numbers.largest_mbps,
        "autocorrelation time [s]": lag,
        "time below half the mean [%]": 100 * numbers.below_half_mean,
        "longest pause [s]": numbers.longest_pause_s,
    }
    out = show.console()
    out.print(trace.title, style="bold", soft_wrap=True)
    out.print(str(path), soft_wrap=True)
    for note in trace.notes:
        out.print(note, soft_wrap=True)
    out.print(show.table("", ["", "value"], ((name, cell(value)) for name, value in rows.items())))


def whole_seconds(option: str, text: str) -> int:
    """Parse the time of an option in whole seconds, the resolution of the data set [s].

    Raises
    ------
    RequestError
        If the value is not a time, or has a fraction.
    """
    value, rest = divmod(nanoseconds(option, text), NS_PER_S)
    if rest:
        raise unexpected(option, "whole seconds", text)
    return value
