"""What a sweep writes: `runs.parquet`, `settings.csv`, figures as SVG, and the page `index.html`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from quiclab.equal_runs import without_effect
from quiclab.errors import RequestError
from quiclab.experiment.table import FAILED, REASON, failed_runs
from quiclab.files import parquet_bytes
from quiclab.formats import counted, decimal
from quiclab.identity import note_on_builds
from quiclab.libraries import pl
from quiclab.made import check, write_files
from quiclab.store import SHARDS
from quiclab.sweeps.factors import plain
from quiclab.sweeps.table import HIGH, MEAN, PERCENT, N, differences, runs_table, summary, with_failed

if TYPE_CHECKING:
    from pathlib import Path

    from quiclab.experiment import Runs
    from quiclab.store import Store
    from quiclab.sweeps.design import Comparison
    from quiclab.sweeps.metrics import Measure
    from quiclab.sweeps.plan import Plan

RUNS: Final = "runs.parquet"
SETTINGS: Final = "settings.csv"
DIFFERENCES: Final = "differences.csv"
PAGE: Final = "index.html"
#: Rows of a table that a terminal or a page shows.
MAX_ROWS: Final = 200
DIGITS: Final = 4
#: Half an interval that is only rounding, of equal runs: over the mean, or whatever the mean, which may be 0.
NOISE: Final = 1e-12
#: Digits of half an interval.
HALF_DIGITS: Final = 2


@dataclass(frozen=True)
class Tables:
    """The results of a sweep.

    Attributes
    ----------
    plan
        The sweep.
    runs
        One row a run: see `table.runs_table`.
    settings
        One row a setting: see `table.summary`.
    notes
        What a reader of the numbers must know.
    compared
        What is compared; `None` for no comparison.
    """

    plan: Plan
    runs: pl.DataFrame
    settings: pl.DataFrame
    notes: tuple[str, ...] = ()
    compared: Comparison | None = None

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row a level that is compared: see `table.differences`; empty without a comparison."""
        if self.compared is None or self.runs.is_empty():
            return pl.DataFrame()
        factors = [factor.column for factor in self.plan.design.factors]
        found = differences(self.runs, factors, self.compared, self.plan.measures)
        levels = self.settings.filter(pl.col(self.compared.factor.column) != self.compared.reference).select(factors)
        counts = [pl.col(measure.column + N).fill_null(0) for measure in self.plan.measures]
        return levels.join(found, on=factors, how="left", maintain_order="left").with_columns(counts)

    def difference_rows(self, most: int = MAX_ROWS) -> list[list[str]]:
        """Return the first rows of the table of differences as texts."""
        return [self._cells(row) for row in self.differences.head(most).iter_rows(named=True)]

    def _cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of settings or differences as texts: factors, metrics, number of runs."""
        factors = [plain(row[factor.column]) for factor in self.plan.design.factors]
        metrics = []
        for measure in self.plan.measures:
            percent = row.get(measure.column + PERCENT)
            metrics.append(_interval(row, measure) + ("" if percent is None else f" ({percent:+.1f} %)"))
        return [*factors, *metrics, str(max(row[measure.column + N] for measure in self.plan.measures))]

    @classmethod
    def of(cls, plan: Plan, runs: Runs, store: Store, compared: Comparison | None = None) -> Tables:
        """Summarise the stored runs of a sweep."""
        table, builds = runs_table(plan, runs, store)
        settings = summary(table, [factor.column for factor in plan.design.factors], plan.measures)
        settings = with_failed(settings, failed_runs(runs, store), plan)
        notes = _notes(plan.name, table, settings, builds)
        if plan.sample is None:
            notes += without_effect(table, [factor.column for factor in plan.design.factors], _groups(plan))
        if compared is not None and len(table) and not (table[compared.factor.column] == compared.reference).any():
            notes.append(
                f"No run with {compared.factor.path} = {plain(compared.reference)} is stored: nothing is compared."
            )
        return cls(plan, table, settings, tuple(notes), compared)

    @property
    def heads(self) -> list[str]:
        """Heads of the table of settings: factors, metrics, number of runs, and if some failed, how many and why."""
        factors = [factor.title for factor in self.plan.design.factors]
        failed = [FAILED, REASON] if self.has_failed else []
        return [*factors, *(measure.title for measure in self.plan.measures), "runs", *failed]

    @property
    def has_failed(self) -> bool:
        """Whether a run of any setting has failed."""
        return bool(self.settings[FAILED].sum())

    @property
    def without_value(self) -> pl.DataFrame:
        """Rows of settings that have no value of any metric because runs failed."""
        nothing = [pl.col(measure.column + N) == 0 for measure in self.plan.measures]
        return self.settings.filter((pl.col(FAILED) > 0) & pl.all_horizontal(nothing))

    @property
    def difference_heads(self) -> list[str]:
        """Heads of the table of differences."""
        return [*self.heads[: len(self.plan.design.factors) + len(self.plan.measures)], "runs"]

    def rows(self, most: int = MAX_ROWS) -> list[list[str]]:
        """Return the first rows of the table of settings as texts."""
        rows = self.settings.head(most).iter_rows(named=True)
        if not self.has_failed:
            return [self._cells(row) for row in rows]
        return [[*self._cells(row), str(row[FAILED]), row[REASON] or "-"] for row in rows]


def _interval(row: dict[str, Any], measure: Measure) -> str:
    """Write a mean and half of its 95 % interval, both rounded to two digits of the half."""
    mean, high = row[measure.column + MEAN], row[measure.column + HIGH]
    if mean is None:
        return "-"
    if high is None or not high - mean > NOISE * max(1, abs(mean)):
        return decimal(mean, DIGITS)
    half = float(f"{high - mean:.{HALF_DIGITS}g}")
    places = HALF_DIGITS - 1 - math.floor(math.log10(half))  # negative: tens, hundreds and so on
    shown = max(0, places)
    return f"{round(mean, places) + 0.0:.{shown}f} ± {half:.{shown}f}"


def _notes(name: str, runs: pl.DataFrame, settings: pl.DataFrame, builds: set[str]) -> list[str]:
    notes = []
    if count := int(settings[FAILED].sum()):
        counts = [name for name in settings.columns if name.endswith(N)]
        without = settings.filter((pl.col(FAILED) > 0) & pl.all_horizontal(pl.col(name) == 0 for name in counts))
        some = f", all of {counted(len(without), 'setting')}" if len(without) else ""
        notes.append(f"{counted(count, 'run')} failed{some}: the reasons are in the table.")
    if runs.is_empty():
        return [*notes, "No run is stored."]
    unfinished = len(runs) - int(runs["finished"].sum())
    if unfinished:
        notes.append(
            f"{unfinished} of {len(runs)} runs ended before all flows had done their workload: their goodput is that "
            "of the time they had, and they have no download time."
        )
    digests = runs.group_by("setting", maintain_order=True).agg(pl.col("digest").n_unique(), pl.len())
    same = digests.filter((pl.col("digest") == 1) & (pl.col("len") > 1))
    if len(same):
        notes.append(
            f"All runs of {len(same)} of {len(settings)} settings are identical: nothing in them is random, so that "
            "one seed is enough and an interval says nothing."
        )
    if note := note_on_builds(builds, name):
        notes.append(note)
    return notes


def _groups(plan: Plan) -> list[tuple[str, set[str]]]:
    """Return the factors and their columns; those that go in step are one."""
    factors = plan.design.factors
    in_step = {text.partition("=")[0] for text in plan.zipped}
    together = [[factor for factor in factors if factor.path in in_step]]
    groups = [*filter(None, together), *([factor] for factor in factors if factor.path not in in_step)]
    return [(" and ".join(factor.path for factor in group), {factor.column for factor in group}) for group in groups]


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


def write(tables: Tables, directory: Path, command: str, *, distribution: bool = False) -> list[Path]:
    """Write all files of a sweep, and remove those of an earlier one; returns those to look at.

    `distribution` asks for figures of the distribution over runs, where names vary.
    """
    from quiclab.report import figures  # noqa: PLC0415 - loads the chart library
    from quiclab.report.html import drawing, environment, with_contents  # noqa: PLC0415 - as above
    from quiclab.sweeps import difference_map  # noqa: PLC0415 - as above
    from quiclab.sweeps.figure import caption, most_runs, specification  # noqa: PLC0415 - as above

    plan = tables.plan
    files = {RUNS: parquet_bytes(tables.runs), SETTINGS: tables.settings.write_csv().encode()}
    if tables.compared is not None:
        files[DIFFERENCES] = tables.differences.write_csv().encode()
    charts, specs = [], {}
    for number, measure in enumerate(plan.measures, start=1):
        spec = specification(plan, tables.runs, tables.settings, measure, distribution)
        svg = figures.to_svg(spec)
        files[figure_name(measure.column)] = svg.encode()
        charts.append({"measure": measure, "svg": svg})
        specs[f"chart-{number}"] = spec
    maps, compared = [], tables.compared
    if compared is not None and len(tables.differences) and difference_map.has_map(plan, compared):
        for number, measure in enumerate(plan.measures, start=1):
            spec = difference_map.specification(plan, compared, tables.differences, measure)
            svg = figures.to_svg(spec)
            files[figure_name(f"{measure.column}-differences")] = svg.encode()
            maps.append({"measure": measure, "svg": svg})
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
            caption=caption(plan, tables.runs, tables.without_value, distribution),
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
