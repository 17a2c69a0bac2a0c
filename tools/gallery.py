"""Draws the gallery of the site: each figure of site/gallery.toml with its scenario, its command and its data.

python tools/gallery.py --out dist/gallery
python tools/gallery.py --out /tmp/two --only slow_start,who_wins

All runs are made in the sim lane; the same version gives the same bytes. Kinds of figures:

| kind | figure | data |
| --- | --- | --- |
| `sweep` | that of `quiclab sweep` | settings as CSV, runs as Parquet |
| `time` | metrics of a run over time | samples as CSV, the page of `quiclab inspect` |
| `packets` | packets of a run at an element | packets as CSV, the same page |
| `study` | the first figure of a study | its table as CSV |
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import gallery_charts as charts
import quiclab
from quiclab._base.files import parquet_bytes
from quiclab.cli import invoke
from quiclab.cli.values import parse_sets
from quiclab.experiment.sweeps.plan import Plan
from quiclab.report import figures
from quiclab.report.sweeps.api import run_plan
from quiclab.report.sweeps.figure import Style, caption, specification
from quiclab.study.evaluate import Evaluation
from quiclab.study.registry import find

ROOT = Path(__file__).resolve().parent.parent
DECLARED = ROOT / "site" / "gallery.toml"
#: The scheme of each drawing; the page shows that of its reader.
SCHEMES = {
    # letters of a reader's browser may be wider than those that the drawing was measured with
    name: scheme | {"padding": {"left": 40, "right": 12, "top": 8, "bottom": 8}}
    for name, scheme in (("light", figures.LIGHT), ("dark", figures.DARK))
}
IDENTIFIER = re.compile(r"(?:(?<=id=\")|(?<=url\(#))([a-z_]+)\d+")
MAX_LINE = 90
INSPECT = "inspect.html"
ABOUT = {INSPECT: ": the run in the page of `quiclab inspect`"}
KINDS = ("sweep", "time", "packets", "study")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure as site/gallery.toml declares it.

    Attributes
    ----------
    name, title, mechanism
        File name; heading; one sentence on what causes what the figure shows.
    kind
        One of `KINDS`.
    scenario
        File; of a study none.
    sets
        Changes as of `--set`.
    vary, zipped, sample, seeds, metric, drawn
        Options of `quiclab sweep`; `drawn` is its `--kind`.
    column
        Column of the metric that is drawn, where it has one for each flow.
    panels
        Of `time`: tables with `metric` and `elements`.
    every
        Interval of goodput in panels.
    elements
        Of `packets`.
    start_s, end_s
        Times between which a run is shown; without an end, up to that of the run.
    study, runs, engine
        Name of a study, runs of each setting, engine that is drawn.
    """

    name: str
    title: str
    mechanism: str
    kind: str
    scenario: str = ""
    sets: list[str] = field(default_factory=list)
    vary: list[str] = field(default_factory=list)
    zipped: list[str] = field(default_factory=list)
    sample: str | None = None
    seeds: int = 1
    metric: str = "goodput"
    column: str | None = None
    drawn: str | None = None
    panels: list[dict[str, Any]] = field(default_factory=list)
    every: str = "500 ms"
    elements: list[str] = field(default_factory=list)
    start_s: float = 0.0
    end_s: float = 0.0
    study: str = ""
    runs: int = 1
    engine: str = "lab-quic"

    def commands(self) -> list[str]:
        """Return the commands that make the runs, and a page of them."""
        out = f"results/{self.name}"
        if self.kind == "study":
            named = ["study", "run", self.study, "--runs", str(self.runs), "--engines", self.engine]
            return [_line([*named, "--out", out]), _line(["study", "report", self.study, "--out", out])]
        words = [self.scenario, *_options("--set", self.sets)]
        if self.kind == "sweep":
            words += [*_options("--vary", self.vary), *_options("--zip", self.zipped)]
            words += _options("--sample", [self.sample] if self.sample else [])
            words += ["--seeds", str(self.seeds), "--metric", self.metric, "--out", out]
            return [_line(["sweep", *words, *(["--kind", self.drawn] if self.drawn else [])])]
        return [_line(["run", *words, "--out", out]), _line(["inspect", out])]


@dataclass(frozen=True)
class Drawn:
    """A drawn figure.

    Attributes
    ----------
    specification
        In Vega-Lite, without colours of a scheme.
    marks
        What its marks mean.
    files
        Data by file name.
    digest
        Digest of the run; empty if there are several.
    """

    specification: Mapping[str, Any]
    marks: str
    files: Mapping[str, bytes]
    digest: str = ""


def declared() -> list[Figure]:
    """Return the figures of the gallery."""
    return [Figure(**table) for table in tomllib.loads(DECLARED.read_text(encoding="utf-8"))["figure"]]


def draw(figure: Figure, jobs: int) -> Drawn:
    """Make the runs of a figure and draw it.

    Raises
    ------
    ValueError
        If its kind is unknown.
    """
    if figure.kind not in KINDS:
        raise ValueError(f"{figure.name}: kind: expected {', '.join(KINDS)}, got {figure.kind}")
    if figure.kind == "sweep":
        return _sweep(figure, jobs)
    if figure.kind == "study":
        return _study(figure, jobs)
    result = quiclab.run(quiclab.load(ROOT / figure.scenario, parse_sets(figure.sets)), 1)
    if figure.kind == "packets":
        data = charts.packets(result, figure.elements, figure.start_s, figure.end_s)
        marks = "One mark for each packet."
        files = {"packets.csv": data.write_csv().encode(), INSPECT: _inspected(figure)}
        return Drawn(charts.scatter(data), marks, files, result.digest)
    panels = []
    for panel in figure.panels:
        data = charts.series(result, panel["metric"], panel["elements"], figure.every)
        panels.append((panel["metric"], charts.between(data, figure.start_s, figure.end_s)))
    files = {f"{metric}.csv": data.write_csv().encode() for metric, data in panels}
    files[INSPECT] = _inspected(figure)
    return Drawn(charts.time(panels, figure.start_s), "One run.", files, result.digest)


def _sweep(figure: Figure, jobs: int) -> Drawn:
    file = ROOT / figure.scenario
    plan = Plan(
        file=file,
        text=file.read_text(encoding="utf-8"),
        sets=tuple(parse_sets(figure.sets)),
        varied=tuple(figure.vary),
        zipped=tuple(figure.zipped),
        sample=figure.sample,
        seeds=figure.seeds,
        metrics=(figure.metric,),
    )
    result = run_plan(plan, plan.executor("processes", jobs))
    column = figure.column or result.metrics[0]
    measure = plan.measures[result.metrics.index(column)]
    files = {"settings.csv": result.settings.write_csv().encode(), "runs.parquet": parquet_bytes(result.runs)}
    style = Style(figure.drawn)
    drawn = specification(plan, result.runs, result.settings, measure, style)
    return Drawn(drawn, caption(plan, result.runs, style=style), files)


def _inspected(figure: Figure) -> bytes:
    """Return the page that `quiclab inspect` writes of the run of a figure."""
    # the page names the directory as it was given
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        _invoke("run", ROOT / figure.scenario, *_options("--set", figure.sets), "--out", figure.name)
        _invoke("inspect", figure.name, "--out", INSPECT)
        return Path(INSPECT).read_bytes()


def _invoke(*words: object) -> None:
    """Carry out a command.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    with redirect_stdout(StringIO()):
        code = invoke([str(word) for word in words])
    if code != 0:
        raise RuntimeError(f"{shlex.join(['quiclab', *map(str, words)])}: expected exit code 0, got {code}")


def _study(figure: Figure, jobs: int) -> Drawn:
    study = find(figure.study)
    with tempfile.TemporaryDirectory() as directory:
        words = ["study", "run", figure.study, "--runs", figure.runs, "--engines", figure.engine]
        _invoke(*words, "--jobs", jobs, "--out", directory)
        evaluation = Evaluation(study, Path(directory))
        shown = study.presentation.figures[0]
        data = figures.figure_data(evaluation, shown, figure.engine)
        drawn = figures.specification(evaluation, shown, figure.engine)
        return Drawn(
            drawn, figures.caption(evaluation, shown, figure.engine), {"points.csv": data.write_csv().encode()}
        )


def page(figure: Figure, drawn: Drawn) -> str:
    """Return the page of a figure."""
    pictures = _pictures(figure)
    lines = [f"# {figure.title}", "", figure.mechanism, "", pictures, "", f"*{drawn.marks}*", "", "## Repeat it", ""]
    lines += ["```sh", *figure.commands(), "```", ""]
    if drawn.digest:
        lines += [f"The run has the digest `{drawn.digest}`.", ""]
    lines += ["## Data", "", *(f"- [{name}]({figure.name}/{name}){ABOUT.get(name, '')}" for name in drawn.files)]
    lines += [f"- the figure as SVG: [{scheme}]({figure.name}/{scheme}.svg)" for scheme in SCHEMES]
    if figure.scenario:
        text = (ROOT / figure.scenario).read_text(encoding="utf-8")
        lines += ["", "## Scenario", "", f"`{figure.scenario}`:", "", "```toml", text.rstrip("\n"), "```"]
    return "\n".join(lines) + "\n"


def overview(shown: Iterable[Figure]) -> str:
    """Return the page with all figures."""
    lines = [
        "---",
        "hide: [toc]",
        "---",
        "# Gallery",
        "",
        "Each figure has its scenario, the command that makes it, and its data.",
        "",
    ]
    lines += ['<div class="gallery" markdown>', ""]
    for figure in shown:
        shown_in_link = _pictures(figure).replace("\n", "")
        linked = f"[{shown_in_link}]({figure.name}.md)"
        lines += ["<div markdown>", "", linked, "", f"[{figure.title}]({figure.name}.md)", "", "</div>", ""]
    return "\n".join([*lines, "</div>"]) + "\n"


def _pictures(figure: Figure) -> str:
    """Return the drawings of both schemes, one a line."""
    return "\n".join(f"![{figure.title}]({figure.name}/{scheme}.svg#only-{scheme})" for scheme in SCHEMES)


def _numbered(svg: str) -> str:
    """Return a drawing whose identifiers count from its beginning, not from that of the process."""
    names: dict[str, str] = {}
    return IDENTIFIER.sub(lambda found: names.setdefault(found[0], f"{found[1]}{len(names)}"), svg)


def _options(name: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (name, value)]


def _line(words: list[str]) -> str:
    """Return a command with an option a line, if it is long."""
    line = shlex.join(["quiclab", *words])
    return line if len(line) <= MAX_LINE else line.replace(" --", " \\\n    --")


def write(out: Path, chosen: list[Figure], jobs: int) -> None:
    """Draw figures into a folder, with a page each and one with all."""
    if out.exists() and not (out / "index.md").is_file() and any(out.iterdir()):
        raise SystemExit(f"--out: expected a new folder or an earlier gallery, got {out}")
    shutil.rmtree(out, ignore_errors=True)
    for figure in chosen:
        drawn = draw(figure, jobs)
        folder = out / figure.name
        folder.mkdir(parents=True)
        for scheme, config in SCHEMES.items():
            svg = _numbered(figures.to_svg(drawn.specification, config))
            (folder / f"{scheme}.svg").write_text(svg, encoding="utf-8")
        for name, content in drawn.files.items():
            (folder / name).write_bytes(content)
        (out / f"{figure.name}.md").write_text(page(figure, drawn), encoding="utf-8")
        print(figure.name, flush=True)
    (out / "index.md").write_text(overview(chosen), encoding="utf-8")


def main() -> int:
    """Draw all figures, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder, whose content is replaced")
    parser.add_argument("--only", metavar="A,B", help="names of the figures to draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    known = {figure.name: figure for figure in declared()}
    names = asked.only.split(",") if asked.only else list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"--only: expected names of {DECLARED.name} ({', '.join(known)}), got {', '.join(unknown)}")
    write(asked.out, [known[name] for name in names], asked.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
