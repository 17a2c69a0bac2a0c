"""From a study to its runs, and from its runs to samples, tables and judgements."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from quiclab._base.libraries import pl
from quiclab.errors import QuiclabError
from quiclab.experiment.failures import read_failures
from quiclab.experiment.identity import BUILD
from quiclab.experiment.own_code import own_code
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import IDENTITY, Store
from quiclab.experiment.table import SEED, SETTING, failed_runs, stored_runs
from quiclab.result.stats import Summary, reduced, summarise
from quiclab.study import BASE, Point, Study, derived
from quiclab.study.ablation import Support, Worlds, judge_ablation
from quiclab.study.claims import Claim, Judgement, Verdict, judge
from quiclab.study.criteria import Assessment, Criterion
from quiclab.study.explanation import filled, left_out
from quiclab.study.fidelity import Fidelity, assess
from quiclab.study.findings import Grid, Key, Resamples
from quiclab.study.manifest import NotRunError, Setting, as_stored, read_manifest, with_more
from quiclab.study.plan import Plan, available_engines, results_directory, sweep_command
from quiclab.study.published import PublishedRow, as_printed, printed_findings, read_published
from quiclab.study.recording import result_of
from quiclab.study.registry import find
from quiclab.study.tables import read_columns, read_table, write_table
from quiclab.study.trial import measured


@dataclass(frozen=True)
class Comparison:
    """A published row with the measured values."""

    published: PublishedRow
    measured: Summary


@dataclass(frozen=True)
class Failed:
    """How many runs of a setting failed, and why the first of them did."""

    runs: int
    reason: str


@dataclass(frozen=True)
class Kept:
    """A document made from stored runs, with what users have to know about these.

    Attributes
    ----------
    evaluation
        The runs.
    document
        The document.
    missing
        Missing runs of the published settings by engine.
    builds
        Builds that made the runs.
    """

    evaluation: Evaluation
    document: Any
    missing: Mapping[str, int]
    builds: Sequence[str | None]


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
        self.out = out
        self._others: dict[str, Evaluation] = {study.name: self}
        self._asked: set[str] = set()
        self.directory = results_directory(study, out)
        self.study = study = as_stored(study, self.directory)
        manifest = read_manifest(self.directory)
        if manifest is None:
            raise NotRunError(f"no results of {study.name} in {self.directory}; run {sweep_command(study, out)}")
        self.runs, self.more = manifest.runs, manifest.more
        names = {variant.name for variant in study.design.variants}
        self._variants = None if manifest.variants is None else tuple(v for v in manifest.variants if v in names)

    @cached_property
    def points(self) -> list[Point]:
        """Every setting of the study, all engines."""
        points = list(self.study.points(tuple(self._available), self.runs, variants=self._variants))
        return with_more(self.study, points, self.more)

    @cached_property
    def plan(self) -> Plan:
        """The plan of every setting."""
        return Plan(self.study, self.points)

    @cached_property
    def all_runs(self) -> Runs:
        """Every run of the study, all engines."""
        return Runs.of(self.plan)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row a stored run: labels, seed, identity, digest, the metric and the result as JSON."""
        if (stored := read_table(self.directory, self._key)) is not None:
            return stored
        found = self._measure()
        write_table(self.directory, self._key, found)
        return found

    @cached_property
    def _key(self) -> str:
        return derived.state_of(self.study, self.directory, self._available)

    def kept(
        self, kind: str, engines: Sequence[str], make: Callable[[], Any], valid: Callable[[Any], bool] = bool
    ) -> Kept:
        """Return a document that is made from stored runs; read from disk while what it was made from is the same.

        Parameters
        ----------
        kind
            Kind of the document.
        engines
            Engines whose runs it is about.
        make
            Makes it: a non-empty tree that JSON can hold.
        valid
            Whether a stored one can be used.
        """
        path = self.file_of(kind, engines)
        found = derived.read(path, self._state)
        if found is None or not valid(found["document"]):
            document = make()
            builds = self._numbers[BUILD].unique(maintain_order=True).to_list()
            found = {"document": document, "missing": {name: self.missing(name) for name in engines}, "builds": builds}
            states = {name: self._state(name) for name in sorted({self.study.name, *self._asked})}
            derived.write(path, states, found)
        return Kept(self, **found)

    def file_of(self, kind: str, engines: Sequence[str]) -> Path:
        """Return the file of a document that `kept` keeps."""
        return self.directory / derived.FOLDER / f"{'-'.join([kind, *engines])}.json"

    def _state(self, name: str) -> str:
        """Return the state of this study, or of another one in the same results directory."""
        if name == self.study.name:
            return self._key
        try:
            other = find(name)
        except QuiclabError:
            return ""
        available, _ = available_engines(other, other.chosen_engines("all"))
        return derived.state_of(other, results_directory(other, self.out), available)

    @cached_property
    def _available(self) -> list[str]:
        """Engines of the study that can run here."""
        return available_engines(self.study, self.study.chosen_engines("all"))[0]

    def _measure(self) -> pl.DataFrame:
        columns = {BUILD: pl.String, "result": pl.String, "series": pl.Binary}
        stored = stored_runs(self.all_runs, Store(self.directory), columns)
        if stored.is_empty() and (found := [item for items in self._failed.values() for item in items.values()]):
            count = sum(item.runs for item in found)
            raise QuiclabError(f"all {count} runs of {self.study.name} failed, the first: {found[0].reason}")
        if stored.is_empty():
            raise QuiclabError(
                f"the runs in {self.directory} were made by another version or scenario; run "
                f"{sweep_command(self.study, self.out)} again"
            )
        firsts = [self.study.design.first_seed(point) for point in self.points]
        labels = [
            {**self.points[place].labels, "run": seed - firsts[place]}
            for place, seed in stored.select(SETTING, SEED).iter_rows()
        ]
        values = {metric.name: [math.nan] * len(stored) for metric in self.study.measures.metrics}
        digests = [""] * len(stored)
        places: dict[str, list[int]] = {}
        for place, identity in enumerate(stored[IDENTITY]):
            places.setdefault(identity, []).append(place)
        for same in places.values():  # settings that are parts of one run; no more than one is read at a time
            row = stored.row(same[0], named=True)
            result = result_of(row["result"], row["series"])
            for place in same:
                digests[place] = result.digest
                for name, column in values.items():
                    column[place] = measured(self.study, name, labels[place], row[SEED], result)
        return pl.DataFrame(labels, infer_schema_length=None).with_columns(
            *stored.select(pl.col(SEED).cast(pl.Int64), IDENTITY, BUILD),
            pl.Series("digest", digests),
            *(pl.Series(name, column, dtype=pl.Float64) for name, column in values.items()),
            *stored.select("result", "series"),
        )

    @cached_property
    def _numbers(self) -> pl.DataFrame:
        """The table without results; where it is stored, these are not read."""
        kept = read_columns(self.directory, self._key, lambda name: name not in ("result", "series"))
        return self.table.drop("result", "series") if kept is None else kept

    @cached_property
    def _rows(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        """The table without results, by engine and variant."""
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in self._numbers.iter_rows(named=True):
            found.setdefault((row["engine"], row["variant"]), []).append(row)
        return found

    def scenarios(self, engine: str) -> dict[Key, Mapping[str, Any]]:
        """Return the resolved scenario of each setting that has runs, by (configuration, value of each factor)."""
        columns = self.study.design.columns
        rows = self.table.filter((pl.col("engine") == engine) & (pl.col("variant") == BASE))
        firsts = rows.unique(columns, keep="first", maintain_order=True)
        return {
            tuple(row[column] for column in columns): json.loads(row["result"])["scenario"]
            for row in firsts.iter_rows(named=True)
        }

    def by_seed(self, engine: str, variant: str = BASE, metric: str = "") -> dict[Key, dict[int, float]]:
        """Return the value of each run by (configuration, value of each factor) and seed; as `samples`."""
        found: dict[Key, dict[int, float]] = {}
        for row in self._rows.get((engine, variant), []):
            key = tuple(row[column] for column in self.study.design.columns)
            found.setdefault(key, {})[row["seed"]] = row[metric or self.study.measures.metric.name]
        return found

    def samples(self, engine: str, variant: str = BASE, metric: str = "") -> dict[Key, list[float]]:
        """Return the values of the runs by (configuration, value of each factor); of the study's metric by default."""
        return {key: list(runs.values()) for key, runs in self.by_seed(engine, variant, metric).items()}

    def grid(self, engine: str, variant: str = BASE, metric: str = "") -> Grid:
        """Return the runs of an engine as claims read them; runs with equal seeds are resampled together."""
        runs = self.by_seed(engine, variant, metric)
        seeds = {key: tuple(values) for key, values in runs.items()}
        configurations = tuple(item.name for item in self.study.design.configurations)
        samples = {key: list(values.values()) for key, values in runs.items()}
        study = self.study
        return Grid(self._values, configurations, samples, seeds, tuple(study.design.labels), study.setting_label)

    @property
    def _values(self) -> dict[str, tuple[str | int | float, ...]]:
        """Values of each factor by its short name."""
        return {factor.name: factor.values for factor in self.study.design.factors}

    def summaries(self, engine: str, variant: str = BASE, metric: str = "") -> dict[Key, Summary]:
        """Return mean and spread by (configuration, value of each factor); of the study's metric by default."""
        return {key: summarise(values) for key, values in self.samples(engine, variant, metric).items()}

    def planned(self, setting: Setting) -> int:
        """Return how many runs of a setting are planned."""
        return max(min(self.runs, self.study.design.engine(setting[0]).runs or self.runs), self.more.get(setting, 0))

    def missing(self, engine: str) -> int:
        """Return how many runs of the published settings are not done."""
        wanted = sum(point.runs for point in self.points if point.engine == engine and point.variant == BASE)
        return wanted - sum(len(values) for values in self.samples(engine).values())

    @cached_property
    def _failed(self) -> dict[tuple[str, str], dict[Key, Failed]]:
        """Settings of which runs failed, by engine and variant."""
        found: dict[tuple[str, str], dict[Key, Failed]] = {}
        if not read_failures(self.directory):  # nothing is resolved for nothing
            return found
        for place, count, reason in failed_runs(self.all_runs, Store(self.directory)).iter_rows():
            point = self.points[place]
            found.setdefault((point.engine, point.variant), {})[point.key] = Failed(count, reason)
        return found

    def failed(self, engine: str, variant: str = BASE) -> Mapping[Key, Failed]:
        """Return the settings of which runs failed, by (configuration, value of each factor)."""
        return self._failed.get((engine, variant), {})

    @cached_property
    def missing_anywhere(self) -> int:
        """How many runs of the engines that were used are not done, variants included."""
        used = set(self._numbers.select("engine", "variant").iter_rows())
        wanted = sum(point.runs for point in self.points if (point.engine, point.variant) in used)
        return wanted - self._numbers.height

    @cached_property
    def published(self) -> list[PublishedRow]:
        """The published table."""
        return self.reference()

    def reference(self, metric: str = "") -> list[PublishedRow]:
        """Return the reference: the published table, or the values of the reference engine.

        Parameters
        ----------
        metric
            Name of a further metric; the study's own by default.
        """
        if not self.study.measures.table.engine:
            return read_published(self.study, metric)
        summaries = self.summaries(self.study.measures.table.engine, metric=metric)
        return [
            PublishedRow(dict(zip(self.study.design.columns, map(str, key), strict=True)), key, as_printed(summary))
            for key, summary in summaries.items()
            if not math.isnan(summary.mean)
        ]

    def comparisons(self, engine: str, metric: str = "") -> list[Comparison]:
        """Return the settings, each with what was published and what was measured there (n = 0 where nothing was).

        Of further metrics, and where another engine is the reference, settings without its value are left out.
        """
        measured = self.summaries(engine, metric=metric)
        nothing = summarise([])
        failed = {*self.failed(engine), *self.failed(self.study.measures.table.engine)}
        published = {row.key: row for row in (self.reference(metric) if metric else self.published)}
        keys = [point.key for point in self.points if point.engine == engine and point.variant == BASE]
        return [
            Comparison(published.get(key) or PublishedRow({}, key, nothing), measured.get(key, nothing))
            for key in keys
            if key in published or key in failed or not (metric or self.study.measures.table.engine)
        ]

    def criteria(self, engine: str) -> list[Assessment]:
        """Return each criterion of the study with the settings that it judges, with the measured values."""
        found = []
        for item in self.study.measures.criteria:
            scatter = {row.key: row.summary for row in self.reference(item.metric)}
            found.append(self._referenced(item).assess(self.samples(engine, metric=item.metric), scatter))
        return found

    def _referenced(self, criterion: Criterion) -> Criterion:
        """Give a criterion its reference, if that is another engine."""
        if not self.study.measures.table.engine:
            return criterion
        runs = self.samples(self.study.measures.table.engine, metric=criterion.metric)
        return replace(criterion, reference={key: reduced(values, criterion.statistic) for key, values in runs.items()})

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of the study; those that are criteria hold their reference."""
        criteria = {item.identity: item for item in self.study.measures.criteria}
        return tuple(
            self._referenced(criteria[claim.identity]).claim(claim.source) if claim.identity in criteria else claim
            for claim in self.study.measures.claims
        )

    def fidelity(self, engine: str) -> dict[Key, Fidelity]:
        """Return the fidelity of each series that is complete, by its configuration and part of the run."""
        result: dict[Key, Fidelity] = {}
        if not self.study.is_series:
            return result
        series: dict[Key, list[Comparison]] = {}
        for item in self.comparisons(engine, self.study.measures.scored):
            if item.published.summary.n:
                series.setdefault(self.study.series_key(item.published.key), []).append(item)
        for key, rows in series.items():
            if all(math.isfinite(item.measured.mean) for item in rows):
                result[key] = assess([item.published.summary for item in rows], [item.measured for item in rows])
        return result

    def for_study(self, name: str) -> Evaluation:
        """Return the evaluation of another study in the same results directory."""
        self._asked.add(name)
        if name not in self._others:
            found = Evaluation(find(name), self.out)
            found._others = self._others  # they share what they have read
            self._others[name] = found
        return self._others[name]

    def findings(self, engine: str, variant: str = BASE, *, strict: bool = False) -> Resamples:
        """Return the runs of an engine, and those of other studies, as claims read them.

        Another study is read with the same engine where it has that, or else with its default one; and with the same
        variant where it has that. Where it must have it (`strict`), nothing was measured otherwise.
        """

        def nothing(study: Study) -> Grid:
            factors = {factor.name: factor.values for factor in study.design.factors}
            return Grid(factors, (), {}, name=study.setting_label)

        def grid(name: str, metric: str) -> Grid:
            try:
                other = self.for_study(name) if name else self
                names = [item.name for item in other.study.design.engines]
                chosen = engine if engine in names and engine != self.study.design.default_engine else None
                variants = [item.name for item in other.study.design.variants]
                if strict and variant and variant not in variants:
                    return nothing(other.study)
                return other.grid(
                    engine if not name else chosen or other.study.design.default_engine,
                    variant if not name or variant in variants else BASE,
                    metric,
                )
            except QuiclabError:
                if not name:
                    raise
                # no results of that study: nothing was measured
                return nothing(find(name))

        return Resamples(cache(grid))

    def judgements(self, engine: str, variant: str = BASE) -> list[Judgement]:
        """Return the study's claims with their verdicts."""
        runs, printed = self.findings(engine, variant), printed_findings(self.study, self.published)
        found = []
        for claim in self.claims:
            with own_code(f"study {self.study.name}, claim {claim.identity}"):
                judgement = judge(claim, runs, printed)
                explain = judgement.verdict is Verdict.REFUTED and variant == BASE
                found.append(self._explained(judgement, engine) if explain else judgement)
        return found

    def _explained(self, judgement: Judgement, engine: str) -> Judgement:
        """Add the explanation of a refuted claim, and what its ablation says of it."""
        claim = judgement.claim

        @cache
        def runs(variant: str) -> Resamples:
            return self.findings(engine, variant, strict=True)

        command = sweep_command(self.study, self.out).replace("study run", "study ablate")
        text, is_short = claim.explanation, False
        if text and claim.terms is not None:
            text, is_short = filled(text, claim.terms(Worlds(claim, runs)))
        if is_short:
            text = f"{text} {left_out(command)}".lstrip()
        result = judge_ablation(claim, runs, "" if is_short else command)
        supported = result is None or result.support is not Support.NOT_SUPPORTED
        return replace(judgement, explanation=text if supported else "", ablation=result)
