"""More runs of the settings that undecided claims read, or whose intervals are wide, until that is decided.

Round by round, every setting that is open gets up to twice as many runs, and all are judged again. A
round is planned in the manifests before it is run, so that a sweep that was killed goes on where it was, to the same
results. What is still open with the most runs stays `undecided`, or `at_the_limit`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from quiclab.experiment import Outcome, until
from quiclab.progress import BeatingProgress
from quiclab.repetitions import MIN_RUNS, next_count, relative_width
from quiclab.store import Store
from quiclab.study.claims import Verdict
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import Setting, among, as_stored, read_manifest, setting_of, with_more, write_more
from quiclab.study.plan import Plan, results_directory
from quiclab.study.registry import find, find_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from quiclab.study import Study
    from quiclab.study.claims import Judgement

#: Number of runs that no setting exceeds unless the user says so.
MAX_RUNS: Final = 50
OPEN: Final = (Verdict.UNDECIDED, Verdict.AT_THE_LIMIT)


Wanted: TypeAlias = "dict[str, dict[Setting, int]]"
"""Number of runs that settings get, by study."""


@dataclass
class Decisions:
    """Claims before and after further runs.

    Attributes
    ----------
    opened
        Identities of the claims that were open at the start.
    judged
        The last judgement of each claim that was tested, by identity.
    """

    opened: list[str] = field(default_factory=list)
    judged: dict[str, Judgement] = field(default_factory=dict)

    def with_verdict(self, verdict: Verdict) -> list[str]:
        """Return the claims that have a verdict now, in the order of the studies."""
        return [identity for identity, item in self.judged.items() if item.verdict is verdict]


def decide(
    studies: Sequence[Study],
    out: Path,
    say: Callable[[str], None],
    *,
    most: int = MAX_RUNS,
    executor: str = "processes",
    workers: int | None = None,
) -> tuple[Decisions, Outcome]:
    """Add runs until the claims of studies are decided, with the default engine of each study.

    Parameters
    ----------
    studies, out, say, executor, workers
        As of `add_runs`.
    most
        Number of runs that no setting exceeds.
    """
    found: list[Decisions] = []

    def judge() -> tuple[list[str], Wanted]:
        judged, wanted = _judge(studies, out, most)
        is_open = [identity for identity, item in judged.items() if item.verdict in OPEN]
        found[:] = [Decisions(found[0].opened if found else is_open, judged)]
        return is_open, wanted

    outcome = add_runs(studies, out, say, judge, executor, workers)
    return (found or [Decisions()])[0], outcome


def narrow(
    studies: Sequence[Study],
    engines: Callable[[Study], Sequence[str]],
    out: Path,
    say: Callable[[str], None],
    precision: float,
    *,
    most: int = MAX_RUNS,
    executor: str = "processes",
    workers: int | None = None,
) -> Outcome:
    """Add runs until the 95 % intervals of the metric of each study are narrow.

    Parameters
    ----------
    studies, out, say, executor, workers
        As of `add_runs`.
    engines
        Engines of a study whose settings get runs.
    precision
        Half of an interval divided by the mean, at most.
    most
        Number of runs that no setting exceeds.
    """

    def judge() -> tuple[list[str], Wanted]:
        wanted = {study.name: _too_wide(Evaluation(study, out), engines(study), precision, most) for study in studies}
        return [f"intervals of {name}" for name, settings in wanted.items() if settings], wanted

    return add_runs(studies, out, say, judge, executor, workers)


def add_runs(
    studies: Sequence[Study],
    out: Path,
    say: Callable[[str], None],
    judge: Callable[[], tuple[Sequence[str], Wanted]],
    executor: str = "processes",
    workers: int | None = None,
) -> Outcome:
    """Add runs round by round; each round is planned in the manifests first.

    Parameters
    ----------
    studies
        The studies, which were run already.
    out
        Directory given as `--out`.
    say
        Called with a sentence about each round.
    judge
        Returns what is open, and the number of runs that settings get.
    executor, workers
        Where runs are made: see `executors.executor_of`.

    Raises
    ------
    QuiclabError
        If a study was not run.
    """
    groups = dict.fromkeys(study.name.rpartition("/")[0] or study.name for study in studies)
    planned: Wanted = {study.name: dict(_planned(study, out)) for group in groups for study in find_all(group)}
    number = 0

    def run() -> Outcome:
        # at first what an earlier call has planned and not finished; a round that is complete takes no time
        made = Outcome(0)
        for name, settings in planned.items():
            if settings and not made.interrupted:
                made.add(_run(_stored(name, out), out, settings, executor, workers))
        return made

    def more() -> bool:
        nonlocal planned, number
        is_open, wanted = judge()
        planned = {name: settings for name, settings in wanted.items() if settings}
        if not planned:
            return False
        number += 1
        count = sum(map(len, planned.values()))
        largest = max(runs for settings in planned.values() for runs in settings.values())
        say(f"round {number}: open are {', '.join(is_open)}; {count} settings get up to {largest} runs")
        for name, settings in planned.items():
            study = _stored(name, out)
            with Store(results_directory(study, out)).locked():
                write_more(study, results_directory(study, out), settings)
        return True

    return until(run, more)


def _stored(name: str, out: Path) -> Study:
    """Return a study with the seed of its stored runs."""
    return as_stored(find(name), results_directory(find(name), out))


def _too_wide(evaluation: Evaluation, engines: Sequence[str], precision: float, most: int) -> dict[Setting, int]:
    """Return the settings whose intervals are too wide, with the number of runs that they get."""
    study, found = evaluation.study, dict[Setting, int]()
    for engine in engines:
        for key, summary in evaluation.summaries(engine).items():
            ratio = relative_width(summary.mean, summary.high) / precision
            setting = setting_of(study, engine, key)
            now = max(evaluation.planned(setting), found.get(setting, 0))
            wanted = max(MIN_RUNS, next_count(now, most, now * ratio**2)) if ratio > 1 else now
            if (runs := min(wanted, most, study.design.engine(engine).runs or wanted)) > now:
                found[setting] = runs
    return found


def _planned(study: Study, out: Path) -> Mapping[Setting, int]:
    manifest = read_manifest(results_directory(study, out))
    return {} if manifest is None else manifest.more


def _judge(
    studies: Sequence[Study], out: Path, most: int
) -> tuple[dict[str, Judgement], dict[str, dict[Setting, int]]]:
    """Judge all claims; returns the judgements, and the runs that settings of open claims get, by study."""
    judged: dict[str, Judgement] = {}
    wanted: dict[str, dict[Setting, int]] = {}
    with BeatingProgress("claims", len(studies)) as progress:
        for study in studies:
            evaluation = Evaluation(study, out)
            for item in evaluation.judgements(study.design.default_engine):
                if item.least_runs is not None:
                    judged[item.claim.identity] = item
                if item.verdict in OPEN:
                    _want(evaluation, item, most, wanted)
            progress.advance()
    return judged, wanted


def _want(evaluation: Evaluation, item: Judgement, most: int, wanted: dict[str, dict[Setting, int]]) -> None:
    """Note the runs that the settings of an open claim get; none where they have been planned already."""
    target = min(most, max(MIN_RUNS, next_count(item.least_runs or 0, most)))
    for name, key in item.read:
        read = evaluation.for_study(name) if name else evaluation
        design = read.study.design
        engine = design.engine(design.default_engine)
        setting = setting_of(read.study, engine.name, key)
        runs = min(target, engine.runs or target)
        if runs > read.planned(setting):
            settings = wanted.setdefault(read.study.name, {})
            settings[setting] = max(runs, settings.get(setting, 0))


def _run(study: Study, out: Path, more: Mapping[Setting, int], executor: str, workers: int | None) -> Outcome:
    """Make the missing runs of settings."""
    engines = tuple(dict.fromkeys(engine for engine, _, _ in more))
    points = with_more(study, among(study, study.points(engines, 1, variants=()), more), more)
    store = Store(results_directory(study, out))
    return Plan(study, points).run(store, executor=executor, workers=workers)
