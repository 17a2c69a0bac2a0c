"""Values of a page of docs/studies: those that are stored, and those taken from results as a template asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from page_sample import (
    ENGINE,
    Run,
    agree,
    chosen,
    earlier,
    first_runs,
    is_simulated,
    of_engine,
    origin_of,
    total_events,
)
from quiclab._base.libraries import np
from quiclab._base.native import extension
from quiclab.errors import QuiclabError
from quiclab.result.stats import reduced
from quiclab.study.claims import Verdict
from quiclab.study.compare import fidelity_rows, judgement_row, map_rows
from quiclab.study.evaluate import Evaluation
from quiclab.study.findings import Key
from quiclab.study.registry import find

SCHEMA = "quiclab.page/1"
COMMAND = "`python tools/study_pages.py --results results`"
STATISTICS = ("mean", "median", "std")
PARTS = ("studies", "values", "samples", "ranges", "claims", "skill", "maps")


def untested(study: str) -> dict[str, Any]:
    """Return a claim without a verdict."""
    return {"study": study, "verdict": Verdict.NOT_TESTED, "on_published": None, "numbers": {}, "support": None}


class Values:
    """The values of a page: those that are stored, and those taken from results as the page asks for them.

    Parameters
    ----------
    stored
        Values of before, as in the file.
    results
        Results directory; `None` to read only the stored values.
    """

    def __init__(self, stored: Mapping[str, Any], results: Path | None) -> None:
        self.stored, self.results = stored, results
        self.used: dict[str, dict[str, Any]] = {name: {} for name in PARTS}

    @cache  # noqa: B019 - one object a page
    def evaluation(self, study: str) -> Evaluation | None:
        """Return the results of a study, if there are any."""
        if self.results is None:
            return None
        try:
            found = Evaluation(find(study), self.results)
            _ = found.table
        except QuiclabError:
            return None
        return found

    def _read(self, part: str, name: str, study: str, make: Callable[[Evaluation], Any], engine: str = "") -> Any:
        """Return a value, made from results or stored, and note that it is used."""
        origin = study + of_engine(engine)
        if name not in self.used[part]:
            evaluation = self.evaluation(study)
            found = None if evaluation is None else make(evaluation)
            if evaluation is None or found is None:
                found, source = self.stored.get(part, {}).get(name), self._stored_source(study, engine)
            else:
                source = self._source(study, engine)
            if found is None or source is None:
                raise QuiclabError(f"{name} is not stored; run the study, then {COMMAND}")
            self.used[part][name], self.used["studies"][origin] = found, source
        return self.used[part][name]

    def _stored_source(self, study: str, engine: str) -> dict[str, Any] | None:
        """Return where the stored values of a study come from; `None` if its results must have made them again.

        A study has one source: next to results with other digests, values of an earlier version would pass for newer
        ones. Those of the kernel lane have the same versions of kernel and programs.
        """
        source: dict[str, Any] | None = self.stored.get("studies", {}).get(study + of_engine(engine))
        if source is None or not (runs := self._runs(study, engine)):
            return source
        if not is_simulated(study, engine):
            return source if source["versions"] == self._source(study, engine)["versions"] else None
        return source if agree(self._sampled(study + of_engine(engine)), runs) else None

    def _sampled(self, origin: str) -> list[Run]:
        """Return the runs of the stored sample that are of a study and an engine."""
        return [run for run in self.stored.get("digests", {}).values() if origin_of(run) == origin]

    @cache  # noqa: B019 - one object a page
    def _runs(self, study: str, engine: str) -> Sequence[Run]:
        """Return the first run of each setting in the results, if there are any of the engine."""
        evaluation = self.evaluation(study)
        return [] if evaluation is None else first_runs(evaluation, engine)

    @cache  # noqa: B019 - one object a page
    def _source(self, study: str, engine: str) -> dict[str, Any]:
        """Return where the values of a study with results come from."""
        evaluation = self.evaluation(study)
        if evaluation is None:
            raise QuiclabError(f"no results of {study}")
        name = engine or evaluation.study.design.default_engine
        last = {point.configuration: place for place, point in enumerate(evaluation.points) if point.engine == name}
        return {
            "runs": min(map(len, evaluation.by_seed(name).values()), default=0),
            "seed": evaluation.study.design.seed,
            "events": total_events(evaluation, self._runs(study, engine), engine),
            "versions": sorted({evaluation.plan.identity(place)[1] for place in last.values()}),
        }

    def value(self, study: str, variant: str, metric: str, key: Key, engine: str = "") -> Mapping[str, Any]:
        """Return mean, median and deviation of a metric in a setting, the number of runs, and the first of them."""
        metric = metric or find(study).measures.metric.name
        name = f"{study}: {metric} of {', '.join(map(str, key))}" + (f", variant {variant}" if variant else "")
        name += of_engine(engine)
        if find(study).drawn is not None and not variant:  # all of its settings are stored
            values = self.samples(study, metric, engine).get(key)
            if not values:
                raise QuiclabError(f"{name} is not stored; run the study, then {COMMAND}")
            return {"runs": len(values), **{item: reduced(values, item) for item in STATISTICS}}  # type: ignore[arg-type]

        def make(evaluation: Evaluation) -> dict[str, Any] | None:
            made_by = engine or evaluation.study.design.default_engine
            runs = evaluation.by_seed(made_by, variant, metric).get(key)
            if not runs:
                return None
            seed = min(runs)
            statistics = {item: _rounded(reduced(list(runs.values()), item)) for item in STATISTICS}  # type: ignore[arg-type]
            return {
                "study": study,
                "variant": variant,
                **({"engine": engine} if engine else {}),
                "metric": metric,
                "setting": list(key),
                "runs": len(runs),
                **statistics,
                "seed": seed,
                "first": _rounded(runs[seed]),
            }

        found: Mapping[str, Any] = self._read("values", name, study, make, engine)
        return found

    def samples(self, study: str, metric: str, engine: str = "") -> dict[Key, list[float]]:
        """Return the values of the runs of all settings: of studies that draw these from their seed."""

        def make(evaluation: Evaluation) -> dict[str, Any] | None:
            runs = evaluation.by_seed(engine or evaluation.study.design.default_engine, metric=metric)
            seeds = sorted({seed for values in runs.values() for seed in values})
            rows = [[*key, *(_rounded(values.get(seed, np.nan)) for seed in seeds)] for key, values in runs.items()]
            about = {"study": study, **({"engine": engine} if engine else {}), "metric": metric, "seeds": seeds}
            return {**about, "rows": rows} if rows else None

        found = self._read("samples", f"{study}: {metric}{of_engine(engine)}", study, make, engine)
        width = len(find(study).design.columns)
        return {tuple(row[:width]): [item for item in row[width:] if item is not None] for row in found["rows"]}

    def ranges(self, study: str, metric: str, engine: str = "") -> dict[Key, tuple[int, float, float]]:
        """Return how many runs there are in a setting, smallest and largest value of them.

        These are the settings of which variants were run, and their runs count; variants that are other interpretations
        do not. Of another engine than the default one, settings with several runs are among them, too. Settings without
        runs have those that are stored, if any.
        """
        name = f"{study}: {metric}{of_engine(engine)}"

        def make(evaluation: Evaluation) -> dict[str, Any]:
            runs = _repeated(evaluation, metric, engine)
            rows = [[*key, len(values), _rounded(min(values)), _rounded(max(values))] for key, values in runs.items()]
            before = self.stored.get("ranges", {}).get(name, {}).get("rows", [])
            before = before if self._stored_source(study, engine) is not None else []
            rows += [row for row in before if tuple(row[:-3]) not in runs]
            return {"study": study, **({"engine": engine} if engine else {}), "metric": metric, "rows": sorted(rows)}

        found = self._read("ranges", name, study, make, engine)
        return {tuple(key): (runs, least, most) for *key, runs, least, most in found["rows"]}

    def over_variants(self, study: str, metric: str, key: Key, engine: str) -> tuple[int, float, float]:
        """Return the mean over the variants of a setting with the default engine, and with another one.

        Variants that are other interpretations do not count, nor those that one of both engines has not run; the
        setting itself counts as one. Returns their number, and both means of the means over their runs.
        """
        variants = find(study).design.variants
        pairs = []
        for name in ("", *(variant.name for variant in variants if not variant.interpretation)):
            found = [self._mean(study, name, metric, key, by) for by in ("", engine)]
            pairs += [found] if None not in found else []
        model, other = (fmean(means) for means in zip(*pairs, strict=True))
        return len(pairs), model, other

    def _mean(self, study: str, variant: str, metric: str, key: Key, engine: str) -> float | None:
        """Return the mean of a metric in a setting; `None` if it was not run and is not stored."""
        try:
            return float(self.value(study, variant, metric, key, engine)["mean"])
        except QuiclabError:
            return None

    def claim(self, study: str, identity: str) -> Mapping[str, Any]:
        """Return the verdict on a claim, as `verify --json` prints it, without its words.

        A claim that is newer than the stored values is not tested.
        """
        older = self.results is None and study in earlier(self.stored)
        if older and identity not in self.stored["claims"]:
            return untested(study)

        def make(evaluation: Evaluation) -> dict[str, Any]:
            row = self._judged(evaluation.study.name)[identity]
            kept = ("study", "verdict", "share_true", "least_runs", "on_published", "limit", "numbers")
            ablation = row["ablation"]
            return {**{name: row[name] for name in kept}, "support": ablation and ablation["support"]}

        found: Mapping[str, Any] = self._read("claims", identity, study, make)
        return found

    @cache  # noqa: B019 - one object a page
    def _judged(self, study: str) -> dict[str, dict[str, Any]]:
        evaluation = self.evaluation(study)
        judged = [] if evaluation is None else evaluation.judgements(evaluation.study.design.default_engine)
        return {item.claim.identity: judgement_row(study, item) for item in judged}

    def skill(self, study: str, series: Sequence[Any]) -> Mapping[str, Any]:
        """Return the fidelity of a series, as `study compare --json` prints it."""

        def make(evaluation: Evaluation) -> dict[str, Any] | None:
            found = evaluation.fidelity(evaluation.study.design.default_engine)
            rows = dict(zip(found, fidelity_rows(evaluation.study, found), strict=True))
            return rows.get(tuple(series))

        found: Mapping[str, Any] = self._read("skill", f"{study}: {', '.join(map(str, series))}", study, make)
        return found

    def available(self, study: str) -> bool:
        """Return whether there are results or stored values of a study."""
        return study in self.stored.get("studies", {}) or self.evaluation(study) is not None

    def source(self, study: str, engine: str = "") -> Mapping[str, Any]:
        """Return where the values of a study come from: the least number of runs of a setting, the study's seed."""
        name = study + of_engine(engine)
        if name not in self.used["studies"]:
            evaluation = self.evaluation(study)
            found = self.stored.get("studies", {}).get(name) if evaluation is None else self._source(study, engine)
            if found is None:
                raise QuiclabError(f"the runs of {name} are not stored; run the study, then {COMMAND}")
            self.used["studies"][name] = found
        source: Mapping[str, Any] = self.used["studies"][name]
        return source

    def runs(self, study: str) -> int:
        """Return the number of runs of each setting of a study, some of which may have more."""
        return int(self.source(study)["runs"])

    def map_score(self, study: str, title: str) -> Mapping[str, Any]:
        """Return how a map of differences agrees with the published one, as `study compare --json` prints it."""

        def make(evaluation: Evaluation) -> dict[str, Any] | None:
            rows = map_rows(evaluation, evaluation.study.design.default_engine)
            found = next((row for row in rows if row["title"] == title), None)
            return found and {name: value for name, value in found.items() if name != "lines"}

        found: Mapping[str, Any] = self._read("maps", f"{study}: {title}", study, make)
        return found

    @property
    def document(self) -> dict[str, Any]:
        """What is stored: the values that the page used, sorted, and a sample of their runs."""
        studies: set[str] = set()
        kept: list[Run] = []
        runs: list[Run] = []
        for origin in self.used["studies"]:
            study, _, engine = origin.partition(ENGINE)
            studies.add(study)
            found = self._runs(study, engine) if is_simulated(study, engine) else []
            runs += found
            kept += [] if found else self._sampled(origin)
        sample = chosen(runs, kept)
        noted = [study for study in self.stored.get("earlier", ()) if study in studies]
        return {
            "schema": SCHEMA,
            "quiclab": extension().version(),
            **({"earlier": noted} if sample else {}),
            **{part: dict(sorted(found.items())) for part, found in self.used.items() if found},
            **({"digests": sample} if sample else {}),
        }


def _repeated(evaluation: Evaluation, metric: str, engine: str) -> dict[Key, list[float]]:
    """Return the values of the settings that `ranges` looks at."""
    design = evaluation.study.design
    names = ("", *(variant.name for variant in design.variants if not variant.interpretation))
    samples = [evaluation.samples(engine or design.default_engine, name, metric) for name in names]
    found = {key: [value for runs in samples for value in runs.get(key, [])] for key in {k for r in samples for k in r}}
    varied = {key for runs in samples[1:] for key in runs}
    return {key: found[key] for key in sorted(found) if key in varied or (engine and len(found[key]) > 1)}


def _rounded(value: float) -> float | None:
    """Return a value with ten digits, which is the same for all machines; `None` for NaN."""
    return None if np.isnan(value) else float(f"{value:.10g}")
