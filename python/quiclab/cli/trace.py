"""`quiclab trace`: makes traces of link rates, reads published ones, and shows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiclab import quantity
from quiclab.cli.values import integer
from quiclab.errors import RequestError
from quiclab.files import write_atomically
from quiclab.report import show
from quiclab.traces import library, model
from quiclab.traces.dataset import read_dataset
from quiclab.traces.describe import statistics
from quiclab.traces.trace import Trace, read, write

if TYPE_CHECKING:
    from collections.abc import Callable

NS_PER_S = 10**9

app = typer.Typer(help="Rates over time for links: make, import and show them.", no_args_is_help=True)

ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]


@app.command("generate")
def generate_command(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")],
    mean: Annotated[str, typer.Option(metavar="RATE", help="Mean of the trace.")] = "4.5 Mbit/s",
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long it is.")] = "200 s",
    step: Annotated[str, typer.Option(metavar="TIME", help="Time between two rates.")] = "1 s",
    seed: Annotated[
        int, typer.Option(parser=integer(0, model.MOST_SEED), metavar="N", help="Another seed, another trace.")
    ] = 1,
    force: ForceOption = False,
) -> None:
    """Make a synthetic cellular trace (docs/traces.md has the model)."""
    mean_bps = amount("--mean", mean, quantity.bits_per_second)
    duration_ns = nanoseconds("--duration", duration)
    trace = model.generate(mean_bps, duration_ns, nanoseconds("--step", step), seed)
    keep(out, force)
    write(out, trace)
    summary(trace, out)


@app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(metavar="DATASET.csv", help="A file of the 4G data set of Raca et al.")],
    start: Annotated[str, typer.Option(metavar="TIME", help="Where in the file the trace begins.")] = "0 s",
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long it is.")] = "200 s",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The file to write.")] = None,
    install: Annotated[
        str | None, typer.Option(metavar="NAME", help="Install it for studies under this name, such as lte.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Turn a file of the 4G data set into a trace."""
    if (out is None) == (install is None):
        raise RequestError("name either a file with --out or a name such as lte with --install")
    start_s, duration_s = whole_seconds("--start", start), whole_seconds("--duration", duration)
    trace = read_dataset(file, start_s, duration_s)
    target = library.path_of(install) if install is not None else out
    assert target is not None  # noqa: S101 (one of the two is there)
    keep(target, force)
    if install is not None:
        library.install(install, trace)
    else:
        write(target, trace)
    summary(trace, target)


@app.command("show")
def show_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace of format csv.")],
    picture: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE.svg|FILE.png", help="Also draw it into this file.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Print the statistics of a trace, and draw it."""
    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise RequestError(f"--figure {picture} has the ending `{picture.suffix}`; allowed are `.svg` and `.png`")
    trace = read(file)
    if picture is not None:
        from quiclab.report import figures  # noqa: PLC0415 - loads the chart library
        from quiclab.traces import figure  # noqa: PLC0415 - as above

        keep(picture, force)
        spec = figure.specification(trace)
        svg = picture.suffix == ".svg"
        write_atomically(picture, figures.to_svg(spec).encode() if svg else figures.to_png(spec))
    summary(trace, file)


def summary(trace: Trace, path: Path) -> None:
    """Print what a trace is and its statistics."""
    numbers = statistics(trace)
    lag = numbers.autocorrelation_time_s
    rows = {
        "length [s]": numbers.duration_s,
        "rates": numbers.samples,
        "mean [Mbit/s]": numbers.mean_mbps,
        "standard deviation [Mbit/s]": numbers.deviation_mbps,
        "coefficient of variation": numbers.coefficient_of_variation,
        "least [Mbit/s]": numbers.least_mbps,
        "10th percentile [Mbit/s]": numbers.p10_mbps,
        "90th percentile [Mbit/s]": numbers.p90_mbps,
        "largest [Mbit/s]": numbers.largest_mbps,
        "autocorrelation time [s]": lag,
        "time below half the mean [%]": 100 * numbers.below_half_mean,
        "longest pause [s]": numbers.longest_pause_s,
    }
    out = show.console()
    out.print(trace.title, style="bold", soft_wrap=True)
    out.print(str(path), soft_wrap=True)
    for note in trace.notes:
        out.print(note, soft_wrap=True)
    table = show.table("", ["", "value"])
    for name, value in rows.items():
        table.add_row(name, show.text(value))
    out.print(table)


def keep(path: Path, force: bool) -> None:
    """Check that nothing is overwritten.

    Raises
    ------
    RequestError
        If there is something at `path` and `force` does not allow to replace it, or it is a directory.
    """
    try:
        directory, there = path.is_dir(), path.exists() or path.is_symlink()
    except OSError as error:  # a directory that may not be read, a name that is too long
        raise RequestError(f"cannot write {path}: {error.strerror}") from error
    if directory:
        raise RequestError(f"cannot write {path}: it is a directory")
    if there and not force:
        raise RequestError(f"{path} is there already; --force overwrites it")


def amount(option: str, text: str, reader: Callable[[str], int]) -> int:
    """Read the quantity of an option.

    Raises
    ------
    RequestError
        If it is none.
    """
    try:
        return reader(text)
    except ValueError as error:
        raise RequestError(f"{option}: {error}") from error


def nanoseconds(option: str, text: str) -> int:
    """Read the time of an option [ns].

    Raises
    ------
    RequestError
        If it is none.
    """
    return amount(option, text, lambda value: round(quantity.seconds(value) * NS_PER_S))


def whole_seconds(option: str, text: str) -> int:
    """Read the time of an option in whole seconds, as the data set has them [s].

    Raises
    ------
    RequestError
        If it is none, or has a fraction.
    """
    value, rest = divmod(nanoseconds(option, text), NS_PER_S)
    if rest:
        raise RequestError(f"{option} is `{text}`; allowed are whole seconds")
    return value
