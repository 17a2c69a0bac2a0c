"""What a sweep writes: `runs.parquet`, `settings.csv`, figures as SVG, and the page `index.html`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quiclab._base.files import parquet_bytes
from quiclab._base.libraries import pl
from quiclab._base.made import check, write_files
from quiclab.errors import RequestError
from quiclab.experiment.store import SHARDS
from quiclab.experiment.table import FAILED
from quiclab.report import figures
from quiclab.report.html import drawing, environment, with_contents
from quiclab.report.sweeps import difference_map
from quiclab.report.sweeps.figure import Style, caption, most_runs, specification

if TYPE_CHECKING:
    from pathlib import Path

    from quiclab.experiment.sweeps.plan import Plan
    from quiclab.experiment.sweeps.tables import Tables

RUNS: Final = "runs.parquet"
SETTINGS: Final = "settings.csv"
DIFFERENCES: Final = "differences.csv"
PAGE: Final = "index.html"


def check_directory(directory: Path) -> None:
    """Check that a directory is one of results, or has no file that a sweep writes.

    Raises
    ------
    RequestError
        If files of the user would be replaced.
    """
    check(directory)
    if not directory.is_dir() or (directory / SHARDS).is_dir():
        return
    there = [name for name in (RUNS, SETTINGS, DIFFERENCES, PAGE) if (directory / name).exists()]
    there += sorted(path.name for path in directory.glob(figure_name("*")))
    if there:
        raise RequestError(
            f"{directory} is not a results directory, but has {', '.join(there)}, which a sweep would replace; choose "
            "another directory with --out",
            path="--out",
            kind="Conflict",
        )


def figure_name(column: str) -> str:
    """Return the name of the file with the figure of a metric."""
    return f"figure-{column}.svg"


def write(tables: Tables, directory: Path, command: str, style: Style | None = None) -> list[Path]:
    """Write all files of a sweep, and remove those of an earlier one; returns those to look at.

    `style` has what is requested of the figures.
    """
    plan, style = tables.plan, style or Style()
    files = {RUNS: parquet_bytes(tables.runs), SETTINGS: tables.settings.write_csv().encode()}
    if tables.compared is not None:
        files[DIFFERENCES] = tables.differences.write_csv().encode()
    charts, specs = [], {}
    for number, measure in enumerate(plan.measures, start=1):
        spec = specification(plan, tables.runs, tables.settings, measure, style)
        svg = figures.to_svg(spec)
        files[figure_name(measure.column)] = svg.encode()
        charts.append({"measure": measure, "title": style.labels.metric(measure), "svg": svg})
        specs[f"chart-{number}"] = spec
    maps, compared = [], tables.compared
    if compared is not None and len(tables.differences) and difference_map.has_map(plan, compared):
        for number, measure in enumerate(plan.measures, start=1):
            spec = difference_map.specification(plan, compared, tables.differences, measure, style.labels)
            svg = figures.to_svg(spec)
            files[figure_name(f"{measure.column}-differences")] = svg.encode()
            maps.append({"measure": measure, "title": style.labels.metric(measure), "svg": svg})
            specs[f"differences-{number}"] = spec
    rows = tables.rows()
    page = (
        environment()
        .get_template("sweep.html.j2")
        .render(
            plan=plan,
            charts=charts,
            maps=maps,
            map_caption=difference_map.CAPTION,
            caption=caption(plan, tables.runs, tables.without_value, style),
            heads=tables.heads,
            difference_heads=tables.difference_heads,
            rows=rows,
            compared=tables.compared,
            difference_rows=tables.difference_rows(),
            factors=len(plan.design.factors),
            settings=len(plan.design.settings),
            runs=len(tables.runs),
            most_runs=most_runs(tables.runs),
            notes=tables.notes,
            command=command,
            versions=_versions(plan, tables.runs),
            **drawing(specs),
        )
    )
    files[PAGE] = with_contents(page).encode()
    write_files(directory, "sweep", files)
    return [directory / name for name in files]


def _versions(plan: Plan, runs: pl.DataFrame) -> list[str]:
    """Return the versions of what has computed any of the runs."""
    settings = [] if runs.is_empty() else runs["setting"].unique().to_list()
    return sorted({version for index in settings for version in plan.identity(index)[1].split(", ")})


def document(tables: Tables) -> dict[str, Any]:
    """Return what `quiclab sweep --json` prints (schema `quiclab.sweep/1`)."""
    return {
        "schema": "quiclab.sweep/1",
        "scenario": tables.plan.name,
        "factors": [factor.column for factor in tables.plan.design.factors],
        "metrics": [measure.column for measure in tables.plan.measures],
        "runs": len(tables.runs),
        "runs_failed": int(tables.settings[FAILED].sum()),
        "settings": tables.settings.to_dicts(),  # null where there is no value: JSON has no NaN
        "differences": tables.differences.to_dicts(),
        "notes": list(tables.notes),
    }
