"""Samples of the runs of pages of docs/studies, which say whether the pages are current.

A page is current while its sample, made again with the present code, has the digests that the results had from which
the page's values were taken. The rule of a sample is `chosen`. Runs of the kernel lane are not sampled: their values
are as current as the simulated ones beside them, and the versions of kernel and programs are stored with them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from quiclab._base.libraries import np, pl
from quiclab._base.progress import duration
from quiclab.errors import QuiclabError
from quiclab.experiment.execute import execute
from quiclab.experiment.plan import Plan as ExperimentPlan
from quiclab.experiment.plan import Recipe, Sets
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.experiment.table import SETTING, stored_runs
from quiclab.study.evaluate import Evaluation
from quiclab.study.plan import Plan, available_engines
from quiclab.study.recording import Whole
from quiclab.study.registry import find

Run: TypeAlias = Mapping[str, Any]
"""A run: `study`, `variant`, `engine` if that is not the default one, `setting`, `seed`, `digest`, `events`."""

EVENTS = 10_000_000
"""Events of the sample of a page; a core simulates about a million a second."""
SMALL_EVENTS = 500_000
"""Events of a run that is small."""


ENGINE = ", engine "
"""Stands between a study and an engine that is not its default one."""


def of_engine(engine: str) -> str:
    """Return what follows the name of a study or value that another engine than the default one has made."""
    return ENGINE + engine if engine else ""


def origin_of(run: Run) -> str:
    """Return the study of a run, with the engine if that is not the default one: a key of `studies` of a page."""
    return str(run["study"]) + of_engine(run.get("engine", ""))


def name_of(run: Run) -> str:
    """Return the name of a run: study, setting, variant and engine."""
    variant = f", variant {run['variant']}" if run["variant"] else ""
    return f"{run['study']}: {', '.join(map(str, run['setting']))}{variant}{of_engine(run.get('engine', ''))}"


def first_runs(evaluation: Evaluation, engine: str = "") -> list[Run]:
    """Return the first stored run of each setting of a study, variants included; of the default engine by default.

    Raises
    ------
    QuiclabError
        If there are no results.
    """
    design = evaluation.study.design
    rows = evaluation.table.filter(pl.col("engine") == (engine or design.default_engine), pl.col("run") == 0)
    return [
        {
            "study": evaluation.study.name,
            "variant": row["variant"],
            **({"engine": engine} if engine else {}),
            "setting": [row[column] for column in design.columns],
            "seed": row["seed"],
            "digest": row["digest"],
            "events": int(json.loads(row["result"])["run"]["events"]),
        }
        for row in rows.unique("identity", keep="first", maintain_order=True).iter_rows(named=True)
    ]


def total_events(evaluation: Evaluation, runs: Sequence[Run], engine: str = "") -> int:
    """Return about how many events all runs of an engine of a study have, from the first runs of its settings."""
    made = evaluation.table.filter(pl.col("engine") == (engine or evaluation.study.design.default_engine))
    return round(fmean(run["events"] for run in runs) * made["identity"].n_unique()) if runs else 0


def is_simulated(study: str, engine: str = "") -> bool:
    """Return whether an engine of a study runs in virtual time, without programs of the kernel lane."""
    design = find(study).design
    return design.engine(engine or design.default_engine).lane is None


def chosen(runs: Iterable[Run], kept: Sequence[Run] = ()) -> dict[str, Run]:
    """Return the sample among the first runs of all settings of a page, by name.

    Small runs come in the order of a hash, so that they are not the simplest ones, then the others by their number of
    events. A run is in the sample if none before it has its study, its variant, its configuration, or a name that is
    the value of one of its factors, such as that of a path or of a second stack. With `EVENTS` in the sample only runs
    with another configuration follow.

    Parameters
    ----------
    runs
        Runs to choose from.
    kept
        Runs that are in the sample already.
    """
    found = {name_of(run): run for run in kept}
    covered = {item for run in kept for item in _covered(run)}
    events = sum(run["events"] for run in kept)
    for run in sorted(runs, key=_order):
        new = _covered(run) - covered
        if new and (_configuration(run) in new or events + run["events"] <= EVENTS):
            found[name_of(run)] = run
            covered |= new
            events += run["events"]
    return dict(sorted(found.items()))


def _order(run: Run) -> tuple[int, str]:
    larger = run["events"] if run["events"] > SMALL_EVENTS else 0
    return larger, hashlib.sha256(name_of(run).encode()).hexdigest()


def _configuration(run: Run) -> tuple[str, ...]:
    return "configuration", run.get("engine", ""), str(run["setting"][0])


def _covered(run: Run) -> set[tuple[str, ...]]:
    names = {("value", value) for value in run["setting"][1:] if isinstance(value, str)}
    return {("study", origin_of(run)), ("variant", run["study"], run["variant"]), _configuration(run), *names}


def agree(stored: Iterable[Run], runs: Iterable[Run]) -> bool:
    """Return whether runs of a sample are among others, and have their digests."""
    digests = {name_of(run): run["digest"] for run in runs}
    pairs = [(run["digest"], digests[name]) for run in stored if (name := name_of(run)) in digests]
    return bool(pairs) and all(was == now for was, now in pairs)


def plan_of(run: Run, seed: int) -> Plan:
    """Return the plan that makes a run again.

    Parameters
    ----------
    run
        The run, or a value of a page, whose first run it is.
    seed
        Seed of the study whose results the page has.

    Raises
    ------
    QuiclabError
        If the study has no such setting.
    """
    study = find(run["study"])
    if seed != study.design.seed:
        study = study.with_seed(seed)
    only = {name: (str(value),) for name, value in zip(study.design.columns, run["setting"], strict=True)}
    variants = (run["variant"],) if run["variant"] else ()
    points = study.points((run.get("engine") or study.design.default_engine,), 1, only, variants)
    chosen_points = [point for point in points if point.variant == run["variant"]]
    if not chosen_points:
        raise QuiclabError(f"{run['study']} has no variant {run['variant']}")
    return Plan(study, chosen_points[:1])


class Sample(ExperimentPlan):
    """The first run of each of some plans."""

    name, counts, recording = "", 1, Whole()
    first_seeds: Any = 1
    recipes: Any = ()

    def __init__(self, name: str, plans: Sequence[Plan]) -> None:
        self.name, self.plans = name, plans
        self.first_seeds = np.array([plan.first_seeds[0] for plan in plans], np.uint64)
        self.recipes = [plan.setting(0)[0] for plan in plans]

    def __len__(self) -> int:
        """Return the number of plans."""
        return len(self.plans)

    def setting(self, index: int) -> tuple[Recipe, Sets]:
        """Return the first setting of a plan."""
        return self.plans[index].setting(0)


@dataclass(frozen=True)
class Repeated:
    """A sample that was made again.

    Attributes
    ----------
    runs
        Number of its runs; those of stacks that are not installed are left out.
    different
        Runs with another digest by study, as lines of text.
    event_s
        Processor time of an event [s]; 0 without runs.
    """

    runs: int
    different: Mapping[str, Sequence[str]]
    event_s: float


def repeat(
    name: str, data: Mapping[str, Any], most_events: float = float("inf"), workers: int | None = None
) -> Repeated:
    """Make the sample of a page again.

    Parameters
    ----------
    name
        The page, for the progress.
    data
        Its stored values.
    most_events
        Events of the runs that are made: the smallest ones of the sample.
    workers
        Number of processes; by default the CPUs this process may use.

    Raises
    ------
    QuiclabError
        If it is stopped.
    """
    different: dict[str, list[str]] = {}
    plans: list[tuple[Run, Plan]] = []
    events = 0
    for run in sorted(data.get("digests", {}).values(), key=lambda run: (run["events"], name_of(run))):
        study = find(run["study"])
        events += run["events"]
        if events > most_events:
            break
        if available_engines(study, [run.get("engine") or study.design.default_engine])[1]:
            continue
        try:
            plans.append((run, plan_of(run, data["studies"][origin_of(run)]["seed"])))
        except QuiclabError as error:
            different.setdefault(run["study"], []).append(f"{name_of(run)}: {error.message}")
    before = _worker_time_s()
    digests = _digests(name, [plan for _, plan in plans], workers)
    spent_s = _worker_time_s() - before
    for (run, _), digest in zip(plans, digests, strict=True):
        if digest != run["digest"]:
            line = f"{name_of(run)}: expected digest {run['digest']}, got {digest}"
            different.setdefault(run["study"], []).append(line)
    made = sum(run["events"] for run, _ in plans)
    return Repeated(len(plans), different, spent_s / made if made else 0.0)


def _worker_time_s() -> float:
    """Return the processor time of all worker processes that have ended [s]."""
    times = os.times()
    return times.children_user + times.children_system


def _digests(name: str, plans: Sequence[Plan], workers: int | None) -> list[str]:
    """Return the digest of the first run of each plan; `none` of runs that fail."""
    if not plans:
        return []
    sample = Sample(f"sample of {name}", plans)
    runs = Runs.of(sample)
    with TemporaryDirectory(prefix="quiclab-sample-") as folder:
        store = Store(Path(folder))
        if execute(runs, store, sample.executor(workers=workers)).interrupted:
            raise QuiclabError("stopped")
        stored = stored_runs(runs, store, {"result": pl.String}).select(SETTING, "result")
    found = {place: str(json.loads(result)["digest"]) for place, result in stored.iter_rows()}
    return [found.get(place, "none") for place in range(len(plans))]


def earlier(data: Mapping[str, Any]) -> list[str]:
    """Return the studies whose values are of an earlier version: their runs differ, or the page has no sample."""
    if data.get("digests"):
        return list(data.get("earlier", ()))
    origins = (origin.partition(ENGINE) for origin in data.get("studies", ()))
    return sorted({study for study, _, engine in origins if is_simulated(study, engine)})


def problems(name: str, data: Mapping[str, Any], found: Repeated, whole: bool = True) -> list[str]:
    """Return how the runs of a sample contradict what the page says of its values; nothing for a page that is right.

    Parameters
    ----------
    name, data
        The page and its stored values.
    found
        Its sample.
    whole
        Whether this is all of it.
    """
    if not data.get("digests"):
        return []
    noted = set(data.get("earlier", ()))
    lines = [f"{name}: {line}" for study, some in found.different.items() if study not in noted for line in some]
    if lines:
        lines.append(f"{name}: {again(name, data, found)}")
    if whole and (same := sorted(noted - found.different.keys())):
        command = f"`python tools/study_pages.py {name}`"
        lines.append(f"{name}: values of {', '.join(same)} are current, but the page says otherwise: {command}")
    return lines


def again(name: str, data: Mapping[str, Any], found: Repeated) -> str:
    """Return the commands after a change of results, and the time that they take."""
    events = sum(source.get("events", 0) for source in data["studies"].values())
    time_s = f", about {duration(events * found.event_s)} of processor time" if events and found.event_s else ""
    real = any(not is_simulated(*origin.split(ENGINE)) for origin in data["studies"])
    programs = ", besides the runs of the kernel lane" if real else ""
    note = f"`python tools/study_pages.py {name}` notes it on the page"
    return f"`make {name}-page` makes the page again{time_s}{programs}; {note}"
