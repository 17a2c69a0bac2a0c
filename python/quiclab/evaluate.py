"""From a study to its runs, and from its runs to samples, tables and judgements."""

from __future__ import annotations

import csv
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from quiclab import sweep, tree
from quiclab.claims import Claim, Judgement, Key, Sample, judge
from quiclab.criteria import Assessment, Criterion
from quiclab.errors import QuiclabError
from quiclab.fidelity import Fidelity, assess
from quiclab.native import engine as native_engine
from quiclab.registry import root
from quiclab.result import RunResult
from quiclab.scenario import load
from quiclab.stats import Summary, reduced, summarise
from quiclab.store import write_atomically
from quiclab.study import BASE, Point, Study

MANIFEST = "sweep.json"
PRINTED_DECIMALS = 4


def results_directory(study: Study, out: Path) -> Path:
    """Return where a study's results are."""
    return out / study.name


def available_engines(study: Study, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide engines of a study into those that can run here and those that cannot."""
    present = {str(stack["name"]) for stack in json.loads(native_engine().stacks())}

    def runs(name: str) -> bool:
        engine = study.engine(name)
        return (engine.needs or name) in present if engine.lane is None else engine.lane.problem() is None

    return [name for name in names if runs(name)], [name for name in names if not runs(name)]


def jobs_of(study: Study, points: Sequence[Point]) -> list[sweep.Job]:
    """Turn settings into runs, in the order of the sweep: settings, then repetitions.

    The commands that replay them name the scenario as seen from the current directory, or by its whole path.
    """
    file = root() / study.scenario
    here = Path.cwd()
    shown = file.relative_to(here) if file.is_relative_to(here) else file
    base = load(file)
    jobs = []
    for point in points:
        scenario = base
        arguments = []
        for path, value in point.changes.items():
            plain = tree.to_plain(value)
            scenario = scenario.with_value(path, plain)
            arguments += [f"--set {shlex.quote(f'{key}={text}')}" for key, text in tree.flattened(path, plain)]
        lane = study.engine(point.engine).lane
        resolved = scenario.resolved_json(None if lane is None else lane.stacks())
        arguments += [] if lane is None else lane.arguments()
        for index in range(point.runs):
            seed = study.seed + index
            replay = " ".join(["quiclab run", shlex.quote(str(shown)), *arguments, f"--seed {seed}"])
            jobs.append(sweep.Job({**point.labels, "run": index}, resolved, seed, replay, str(file.parent), lane))
    return jobs


@dataclass(frozen=True)
class PublishedRow:
    """One row of a published table: its cells as printed, its place in the study, and its result."""

    cells: Mapping[str, str]
    key: Key
    summary: Summary


@dataclass(frozen=True)
class Comparison:
    """A published row beside what was measured there."""

    published: PublishedRow
    measured: Summary


class Evaluation:
    """The stored runs of a study and what follows from them.

    Parameters
    ----------
    study
        The study.
    out
        Directory given as `--out`.
    """

    def __init__(self, study: Study, out: Path) -> None:
        self.study = study
        self.directory = results_directory(study, out)
        manifest = read_manifest(self.directory)
        if manifest is None:
            raise QuiclabError(
                f"there are no results of {study.name} in {self.directory}; make them with `quiclab study run "
                f"{study.name}`"
            )
        self.runs = manifest.runs

    @cached_property
    def points(self) -> list[Point]:
        """Every setting of the study, all engines."""
        engines, _ = available_engines(self.study, self.study.chosen_engines("all"))
        return list(self.study.points(tuple(engines), self.runs))

    @cached_property
    def jobs(self) -> list[sweep.Job]:
        """Every run of the study, all engines."""
        return jobs_of(self.study, self.points)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row a stored run: labels, seed, identity, digest, the metric and the result as JSON."""
        frame = sweep.collect(self.jobs, self.directory)
        if frame.is_empty():
            raise QuiclabError(
                f"the runs in {self.directory} were made by another build or scenario; run `quiclab study run "
                f"{self.study.name}` again"
            )
        results = [RunResult.from_json(text) for text in frame["result"]]
        for metric in self.study.metrics:
            values = [metric.measure(result) for result in results]
            frame.insert_column(-1, pl.Series(metric.name, values, dtype=pl.Float64))
        return frame

    def samples(self, engine: str, variant: str = BASE, metric: str = "") -> dict[Key, list[float]]:
        """Return the values of the runs by (configuration, value of each factor); of the study's metric by default."""
        chosen = self.table.filter((pl.col("engine") == engine) & (pl.col("variant") == variant))
        columns = ["configuration", *(factor.column for factor in self.study.factors)]
        samples: dict[Key, list[float]] = {}
        for row in chosen.iter_rows(named=True):
            samples.setdefault(tuple(row[column] for column in columns), []).append(
                row[metric or self.study.metric.name]
            )
        return samples

    def summaries(self, engine: str, variant: str = BASE, metric: str = "") -> dict[Key, Summary]:
        """Return mean and spread by (configuration, value of each factor); of the study's metric by default."""
        return {key: summarise(values) for key, values in self.samples(engine, variant, metric).items()}

    def missing(self, engine: str) -> int:
        """Return how many runs of the published settings are not done."""
        wanted = sum(point.runs for point in self.points if point.engine == engine and point.variant == BASE)
        return wanted - sum(len(values) for values in self.samples(engine).values())

    @cached_property
    def missing_anywhere(self) -> int:
        """How many runs of the engines that were used are not done, variants included."""
        used = set(self.table["engine"].to_list())
        return sum(1 for job in self.jobs if job.labels["engine"] in used) - self.table.height

    @cached_property
    def published(self) -> list[PublishedRow]:
        """The published table."""
        return self.reference()

    def reference(self, metric: str = "") -> list[PublishedRow]:
        """Return what is compared with: the published table, or what the engine in its place has measured.

        Parameters
        ----------
        metric
            Name of a further metric; the study's own by default.
        """
        if not self.study.table.engine:
            return read_published(self.study, metric)
        columns = ["configuration", *(factor.column for factor in self.study.factors)]
        summaries = self.summaries(self.study.table.engine, metric=metric)
        return [
            PublishedRow(dict(zip(columns, map(str, key), strict=True)), key, _as_printed(summary))
            for key, summary in summaries.items()
            if not math.isnan(summary.mean)
        ]

    def comparisons(self, engine: str, metric: str = "") -> list[Comparison]:
        """Return the published rows that can be run, each beside its measurement (n = 0 where it is missing).

        Rows without a published value of a further metric are left out.
        """
        measured = self.summaries(engine, metric=metric)
        nothing = summarise([])
        available = {configuration.name for configuration in self.study.configurations}
        rows = self.reference(metric) if metric else self.published
        return [Comparison(row, measured.get(row.key, nothing)) for row in rows if row.key[0] in available]

    def criteria(self, engine: str) -> list[Assessment]:
        """Return each criterion of the study with the settings that it judges, beside what was measured."""
        found = []
        for item in self.study.criteria:
            scatter = {row.key: row.summary for row in self.reference(item.metric)}
            found.append(self._referenced(item).assess(self.samples(engine, metric=item.metric), scatter))
        return found

    def _referenced(self, criterion: Criterion) -> Criterion:
        """Give a criterion its reference, if that is another engine."""
        if not self.study.table.engine:
            return criterion
        runs = self.samples(self.study.table.engine, metric=criterion.metric)
        return replace(criterion, reference={key: reduced(values, criterion.statistic) for key, values in runs.items()})

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of the study; those that are criteria know their reference."""
        criteria = {item.identity: item for item in self.study.criteria}
        return tuple(
            self._referenced(criteria[claim.identity]).claim(claim.source) if claim.identity in criteria else claim
            for claim in self.study.claims
        )

    def fidelity(self, engine: str) -> dict[str, Fidelity]:
        """Return the fidelity of each configuration whose series is complete."""
        result: dict[str, Fidelity] = {}
        if not self.study.is_series:
            return result
        for configuration in self.study.configurations:
            rows = [item for item in self.comparisons(engine) if item.published.key[0] == configuration.name]
            if rows and all(math.isfinite(item.measured.mean) for item in rows):
                result[configuration.name] = assess(
                    [item.published.summary for item in rows], [item.measured for item in rows]
                )
        return result

    def judgements(self, engine: str) -> list[Judgement]:
        """Return the study's claims with their verdicts."""
        factors = {factor.name: factor.values for factor in self.study.factors}
        names = tuple(dict.fromkeys(row.cells["configuration"] for row in self.published))
        means = {row.key: row.summary.mean for row in self.published}
        published, nothing = Sample(means, factors, names), Sample({}, factors, names)
        available = tuple(configuration.name for configuration in self.study.configurations)
        found = []
        for claim in self.claims:
            samples = self.samples(engine, metric=claim.metric)
            # the means of the table are those of the study's metric only
            printed = nothing if claim.metric or claim.statistic != "mean" else published
            found.append(judge(claim, samples, printed, factors, available))
        return found


def _as_printed(summary: Summary) -> Summary:
    """Round what stands in the place of a published table."""
    return replace(summary, mean=round(summary.mean, PRINTED_DECIMALS), std=round(summary.std, PRINTED_DECIMALS))


def read_published(study: Study, metric: str = "") -> list[PublishedRow]:
    """Read the published table of a study.

    Parameters
    ----------
    study
        The study.
    metric
        Name of a further metric, of which rows may have no value; the study's own by default.

    Raises
    ------
    QuiclabError
        If it cannot be read.
    """
    path = root() / study.table.file
    stem = metric or study.metric.name
    rows = []
    try:
        for cells in (study.table.read or _rows)(path):
            if metric and not cells.get(f"{stem}_mean"):
                continue
            key: Key = (cells["configuration"], *(number(cells[factor.column]) for factor in study.factors))
            mean, std, n = float(cells[f"{stem}_mean"]), float(cells[f"{stem}_std"]), int(cells["n_runs"])
            rows.append(PublishedRow(cells, key, Summary(n, mean, std, mean, mean)))
    except (OSError, KeyError, ValueError) as error:
        raise QuiclabError(f"cannot read the published table {path}: {error}") from error
    return rows


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text: str) -> str | int | float:
    """Read a cell: an integer or a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True)
class Manifest:
    """What a results directory is to hold.

    Attributes
    ----------
    runs
        Runs of each setting.
    partial
        Whether only partial sweeps (`--only`) were made, so that no full one has fixed the number.
    """

    runs: int
    partial: bool


def read_manifest(directory: Path) -> Manifest | None:
    """Read the manifest of a results directory; `None` if there is none.

    Raises
    ------
    QuiclabError
        If there is something else in its place.
    """
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        runs = content["runs"]
        if not isinstance(runs, int) or runs < 1:
            raise ValueError
        return Manifest(runs, bool(content.get("partial", False)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise QuiclabError(f"{path} is not the list of a sweep; delete it and run the study again") from error


def write_manifest(study: Study, directory: Path, runs: int, partial: bool) -> int:
    """Note how many runs of each setting there are to be, beside the shards; returns the number that counts now.

    A partial sweep (`--only`) changes no number that a full one has fixed: it must not make a complete study
    incomplete. Nothing lowers a number, which would hide runs that are done, but the first full sweep after partial
    ones.
    """
    before = read_manifest(directory)
    if before is not None:
        fixed = partial and not before.partial
        first_full = before.partial and not partial
        if fixed or (before.runs >= runs and not first_full):
            return before.runs
    content = {"schema": "quiclab.sweep/1", "study": study.name, "runs": runs, "seed": study.seed, "partial": partial}
    write_atomically(directory / MANIFEST, (json.dumps(content, indent=2) + "\n").encode())
    return runs
