"""Writes pages of docs/studies from templates and stored results.

`docs/studies/templates/NAME.md.j2` is a page with placeholders, `docs/studies/data/NAME.json` the values that it reads,
with the number of runs, seeds and versions that they come from. `--results DIR` takes the values anew from the results
of the studies; studies without results there keep the values that are stored. Without it the page is written from the
stored values. `--run` makes the runs that the page reads and DIR lacks; verdicts need all runs of their studies, which
`quiclab study run` and `quiclab study ablate` make, and so are those of other engines than the default one of a study
(`quiclab study run --engines`). Placeholders:

- the names of the claims' predicates, such as `T('tcp', batch=100)`, and `under('VARIANT')`, which has them under a
  variant;
- `of(STUDY, METRIC, STATISTIC, VARIANT, ENGINE)`, whose result is called with a configuration and a value of each
  factor; `published(STUDY, METRIC, STATISTIC)`, the same of the published table;
- `criterion(CRITERION, ENGINE, CONFIGURATIONS)`, the assessment of a criterion from the values, of all configurations
  or of some;
- `median_difference(STUDY, CONFIGURATION, FACTOR=VALUE...)` from the published table, `map_score(STUDY, TITLE)`;
- `verdict(CLAIM)`, `claims(VERDICT)`, `supported(SUPPORT)`, `agreement()`, `skill(STUDY, SERIES...)`, `runs(STUDY)`,
  `available(STUDY)`;
- `pacing_choice()`, the tables of tools/pacing_choice.py, and `longest(STUDY, CONFIGURATION, SECOND_FACTOR)`, the
  largest burst or number of packets that costs at most 1 %;
- filters `figures(DIGITS)`, `signed(DIGITS)`, `percent(DIGITS)`, `share`, `listed`, and `largest` of the lines of a
  criterion.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import pacing_choice
from quiclab.errors import QuiclabError
from quiclab.identity import RESULTS
from quiclab.libraries import np
from quiclab.native import extension
from quiclab.progress import BeatingProgress
from quiclab.stats import Summary, reduced
from quiclab.study import agreement
from quiclab.study.ablate import make
from quiclab.study.claims import Verdict
from quiclab.study.compare import fidelity_rows, judgement_row, map_rows
from quiclab.study.criteria import Assessment, Line
from quiclab.study.evaluate import Evaluation
from quiclab.study.explanation import environment
from quiclab.study.findings import Grid, Key, Sample
from quiclab.study.manifest import Setting, setting_of
from quiclab.study.predicates import Reference
from quiclab.study.published import printed_findings, read_published
from quiclab.study.registry import find, find_all

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "studies"
SCHEMA = "quiclab.page/1"
COMMAND = "`python tools/study_pages.py --results results`"
NOTE = "<!-- Written by tools/study_pages.py from templates/{name}.md.j2 and data/{name}.json; edit the template. -->\n"
STALE = (
    "> **Values of an earlier version.** The mechanisms of the transports have changed since the runs of these studies "
    "were made: {studies}. `make study-pages` makes them again.\n\n"
)
"""Stands above a page with values that an earlier version of results made."""
STATISTICS = ("mean", "median", "std")
GROUPS = {"lanes": "validation", "linux_tcp": "validation", "pacing_beyond": "pacing"}
"""Group of the studies of a page; of pages that are not named, their name is that of the group."""


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
        self.used: dict[str, dict[str, Any]] = {"studies": {}, "values": {}, "claims": {}, "skill": {}, "maps": {}}

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
                found = self.stored.get(part, {}).get(name)
                source = self.stored.get("studies", {}).get(origin)
            else:
                source = _source(evaluation, engine)
            if found is None or source is None:
                raise QuiclabError(f"{name} is not stored; run the study, then {COMMAND}")
            self.used[part][name], self.used["studies"][origin] = found, source
        return self.used[part][name]

    def value(self, study: str, variant: str, metric: str, key: Key, engine: str = "") -> Mapping[str, Any]:
        """Return mean, median and deviation of a metric in a setting, the number of runs, and the first of them."""
        metric = metric or find(study).measures.metric.name
        name = f"{study}: {metric} of {', '.join(map(str, key))}" + (f", variant {variant}" if variant else "")
        name += of_engine(engine)

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

    def claim(self, study: str, identity: str) -> Mapping[str, Any]:
        """Return the verdict on a claim, as `verify --json` prints it, without its words."""

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

    def runs(self, study: str) -> int:
        """Return the number of runs of each setting of a study."""
        evaluation = self.evaluation(study)
        found = self.stored.get("studies", {}).get(study) if evaluation is None else _source(evaluation)
        if found is None:
            raise QuiclabError(f"the runs of {study} are not stored; run the study, then {COMMAND}")
        self.used["studies"][study] = found
        return int(found["runs"])

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
        """What is stored: the values that the page used, sorted."""
        return {
            "schema": SCHEMA,
            "quiclab": extension().version(),
            **{part: dict(sorted(found.items())) for part, found in self.used.items() if found},
        }


class Asked(Values):
    """Notes what a page asks for, in place of values: each is 1."""

    def __init__(self) -> None:
        super().__init__({}, None)
        self.needed: dict[tuple[str, str], set[Setting]] = {}

    def value(self, study: str, variant: str, metric: str, key: Key, engine: str = "") -> Mapping[str, Any]:
        """Note a setting."""
        del metric
        found = find(study)
        values = dict(zip(found.design.columns[1:], key[1:], strict=True))
        setting = setting_of(found, engine or found.design.default_engine, str(key[0]), values)
        self.needed.setdefault((study, variant), set()).add(setting)
        return {"runs": 5, "mean": 1.0, "median": 1.0, "std": 1.0}

    def claim(self, study: str, identity: str) -> Mapping[str, Any]:
        """Return a claim without a verdict of its own."""
        del identity
        return {"study": study, "verdict": Verdict.NOT_TESTED, "on_published": None, "numbers": {}, "support": None}

    def skill(self, study: str, series: Sequence[Any]) -> Mapping[str, Any]:
        """Return a fidelity without values."""
        del study, series
        return defaultdict(lambda: 1.0)

    def map_score(self, study: str, title: str) -> Mapping[str, Any]:
        """Return a score without values of a map that the study has."""
        if title not in {figure.title for figure in find(study).presentation.figures if figure.map is not None}:
            raise QuiclabError(f"{study} has no map `{title}`")
        return defaultdict(lambda: 1.0)

    def available(self, study: str) -> bool:
        """Return whether the simulator makes the runs of a study."""
        return all(engine.lane is None for engine in find(study).design.engines[:1])

    def runs(self, study: str) -> int:
        """Return a number of runs."""
        del study
        return 5


def of_engine(engine: str) -> str:
    """Return what follows the name of a study or value that another engine than the default one has made."""
    return f", engine {engine}" if engine else ""


def _source(evaluation: Evaluation, engine: str = "") -> dict[str, Any]:
    """Return where the values of a study come from."""
    engine = engine or evaluation.study.design.default_engine
    jobs = [job for job in evaluation.jobs if job.labels["engine"] == engine]
    return {
        "runs": evaluation.runs,
        "seed": evaluation.study.design.seed,
        "results": RESULTS,
        "versions": sorted({job.versions for job in jobs[:1]}),
    }


def _rounded(value: float) -> float | None:
    """Return a value with ten digits, which is the same for all machines; `None` for NaN."""
    return None if np.isnan(value) else float(f"{value:.10g}")


class PageFindings:
    """The values of a page under a variant, as predicates read them; there is one value of each, and no resample."""

    def __init__(self, values: Values, variant: str, engine: str = "") -> None:
        self._values, self._variant, self._engine = values, variant, engine
        self.index = 0

    def grid(self, study: str, metric: str) -> Grid:
        """Return the factors of a study without runs."""
        del metric
        design = find(study).design
        factors = {factor.name: factor.values for factor in design.factors}
        return Grid(factors, tuple(item.name for item in design.configurations), {}, known=tuple(design.labels))

    def value(self, study: str, metric: str, statistic: str, key: Key) -> float:
        """Return a statistic of the runs; NaN if it is not defined."""
        self.grid(study, metric).check(key)
        found = self._values.value(study, self._variant, metric, key, self._engine)[statistic]
        return np.nan if found is None else float(found)

    def series(self, study: str, metric: str, statistic: str, key: Key) -> Any:
        """Return the value as a series."""
        return np.array([self.value(study, metric, statistic, key)])

    def count(self, study: str, metric: str, key: Key) -> int:
        """Return the number of runs."""
        return int(self._values.value(study, self._variant, metric, key, self._engine)["runs"])


def names_of(group: str, values: Values) -> dict[str, Any]:
    """Return the names of the placeholders of the pages of a group."""

    @cache
    def readings(variant: str, engine: str = "") -> Sample:
        return Sample(PageFindings(values, variant, engine), find_all(group)[0].name)

    def of(study: str, metric: str = "", statistic: str = "mean", variant: str = "", engine: str = "") -> Sample:
        return readings(variant, engine).of(f"{group}/{study}", metric, statistic)  # type: ignore[arg-type]

    def published(study: str, metric: str = "", statistic: str = "mean") -> Sample:
        name = f"{group}/{study}"
        return Sample(printed_findings(find(name)), name, metric, statistic)  # type: ignore[arg-type]

    homes = {claim.identity: study.name for study in find_all(group) for claim in study.measures.claims}

    def criterion(identity: str, engine: str = "", configurations: Sequence[str] = ()) -> Assessment:
        measures = find(homes[identity]).measures
        item = next(one for one in measures.criteria if one.identity == identity)
        read = partial(of, homes[identity].removeprefix(f"{group}/"), item.metric, item.statistic)
        limits = {key: limit for key, limit in item.limits.items() if not configurations or key[0] in configurations}
        by = measures.table.engine
        reference = {key: read(engine=by).at(key) for key in limits} if by else item.reference
        judged = replace(item, limits=limits, reference=reference)
        return Assessment(judged, judged.lines(read(engine=engine).at))

    def every() -> list[dict[str, Any]]:
        return [{"identity": name, **values.claim(home, name)} for name, home in homes.items()]

    def summary(study: str, metric: str, key: Key) -> Summary:
        found = values.value(f"{group}/beyond_{study}", "", metric, key)
        mean, std = (np.nan if found[name] is None else float(found[name]) for name in ("mean", "std"))
        return Summary(int(found["runs"]), mean, std, np.nan, np.nan)

    claims = f"quiclab.studies.{group}.claims"
    reference: Reference | None = import_module(claims).REFERENCE if find_spec(claims) else None
    return {
        **({} if reference is None else reference.terms(readings)),
        "of": of,
        "published": published,
        "criterion": criterion,
        "longest": lambda study, configuration, other: pacing_choice.longest(
            pacing_choice.numbers_of(summary, study, configuration, other, "goodput_mbps")
        ),
        "pacing_choice": lambda: "\n".join(pacing_choice.tables(summary)),
        "verdict": lambda identity: Verdict(values.claim(homes[identity], identity)["verdict"]).word,
        "claim": lambda identity: values.claim(homes[identity], identity),
        "claims": lambda verdict="": [item["identity"] for item in every() if verdict in ("", item["verdict"])],
        "supported": lambda support: [item["identity"] for item in every() if item["support"] == support],
        "agreement": lambda: agreement.agreement(every()),
        "aims": {"agreed": agreement.AGREED_AIM, "undecided": agreement.UNDECIDED_AIM},
        "skill": lambda study, *series: values.skill(f"{group}/{study}", series),
        "median_difference": partial(_median_difference, group, values),
        "map_score": lambda study, title: values.map_score(f"{group}/{study}", title),
        "available": lambda study: values.available(f"{group}/{study}"),
        "runs": lambda study: values.runs(f"{group}/{study}"),
    }


def _median_difference(
    group: str, values: Values, study: str, configuration: str, variant: str = "", **at: Any
) -> float:
    """Return the median magnitude of measured / published - 1 over the printed settings with some values of factors."""
    found = find(f"{group}/{study}")
    names = [factor.name for factor in found.design.factors]
    rows = [
        row
        for row in read_published(found)
        if row.key[0] == configuration and at.items() <= dict(zip(names, row.key[1:], strict=True)).items()
    ]
    differences = [abs(values.value(found.name, variant, "", row.key)["mean"] / row.summary.mean - 1.0) for row in rows]
    return float(median(differences))


def listed(identities: Sequence[str]) -> str:
    """Write a list of claims; `none` without any."""
    return ", ".join(identities) or "none"


def largest(lines: Sequence[Line]) -> Line:
    """Return the setting that is furthest away, as a part of its limit."""
    return max(lines, key=lambda line: abs(line.difference) / line.limit)


def rendered(name: str, values: Values) -> str:
    """Return a page."""
    language = environment().overlay()
    language.filters = {**language.filters, "listed": listed, "largest": largest}
    text = (PAGES / "templates" / f"{name}.md.j2").read_text(encoding="utf-8")
    page = language.from_string(text).render(names_of(GROUPS.get(name, name), values))
    older = sorted(
        study for study, source in values.used["studies"].items() if source.get("results", RESULTS) != RESULTS
    )
    return NOTE.format(name=name) + (STALE.format(studies=", ".join(older)) if older else "") + page


def is_stale(data: Mapping[str, Any]) -> bool:
    """Return whether an earlier version of results made some of the stored values of a page."""
    return any(source["results"] != RESULTS for source in data["studies"].values())


def stored(name: str) -> dict[str, Any]:
    """Return the stored values of a page; nothing before the first time."""
    file = PAGES / "data" / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def written(data: Mapping[str, Any]) -> str:
    """Return values as a JSON file with a line for each of them."""
    parts = []
    for part, found in data.items():
        if isinstance(found, dict):
            lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in found.items()]
            parts.append(f" {json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n }")
        else:
            parts.append(f" {json.dumps(part)}: {json.dumps(found)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def pages() -> list[str]:
    """Return the names of the pages that have templates."""
    return sorted(path.name.removesuffix(".md.j2") for path in (PAGES / "templates").glob("*.md.j2"))


def made() -> list[str]:
    """Return the names of the pages that were written: those with stored values."""
    return [name for name in pages() if (PAGES / "data" / f"{name}.json").is_file()]


def main() -> None:
    """Write pages, and their values where results are given."""
    parser = argparse.ArgumentParser(description="Writes pages of docs/studies from templates and stored results.")
    parser.add_argument("name", nargs="*", help="pages, such as tunnel (default: all)")
    parser.add_argument("--results", type=Path, metavar="DIR", help="take the values from these results")
    parser.add_argument("--run", action="store_true", help="make the runs that the pages read and DIR lacks")
    parser.add_argument("--jobs", type=int, metavar="N", help="worker processes (default: one per CPU)")
    arguments = parser.parse_args()
    chosen = arguments.name or pages()
    if arguments.run and arguments.results is None:
        parser.error("--run needs --results DIR")
    for name in chosen if arguments.run else ():
        asked = Asked()
        rendered(name, asked)
        outcomes = make(asked.needed, arguments.results, arguments.jobs)
        if any(item.interrupted or item.failures for item in outcomes):
            sys.exit(f"{name}: not all runs were made")
    with BeatingProgress("pages", len(chosen), unit="pages") as progress:
        for name in chosen:
            data = stored(name)
            try:
                if arguments.results is not None:
                    values = Values(data, arguments.results)
                    rendered(name, values)
                    data = values.document
                page = rendered(name, Values(data, None))
            except QuiclabError as error:
                sys.exit(f"{name}: {error.message}")
            if arguments.results is not None:
                (PAGES / "data").mkdir(exist_ok=True)
                (PAGES / "data" / f"{name}.json").write_text(written(data), encoding="utf-8")
            (PAGES / f"{name}.md").write_text(page, encoding="utf-8")
            progress.advance()


if __name__ == "__main__":
    main()
