"""More runs of the settings that undecided claims read, or whose intervals are wide, until that is decided.

Round by round, every setting that is open gets up to twice as many runs, and all are judged again. A
round is planned in the manifests before it is run, so that a sweep that was killed goes on where it was, to the same
results. What is still open with the most runs stays `undecided`, or `at_the_limit`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from quiclab._base.progress import BeatingProgress
from quiclab.experiment.execute import Outcome, execute, until
from quiclab.experiment.repetitions import MIN_RUNS, next_count, relative_width
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.study.claims import Verdict
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import Setting, among, as_stored, read_manifest, setting_of, with_more, write_more
from quiclab.study.plan import Plan, results_directory
from quiclab.study.registry import find, find_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
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


@dataclass(frozen=True)
class Rounds:
    """Rounds of further runs; each is planned in the manifests before it is run.

    Attributes
    ----------
    studies
        The studies, which were run already.
    out
        Directory given as `--out`.
    say
        Called with a sentence about each round.
    most
        Number of runs that no setting exceeds.
    executor, workers
        Where runs are made: see `executors.executor_of`.
    new
        What became of the further runs of each study; a run that is stored already is not among them.
    """

    studies: Sequence[Study]
    out: Path
    say: Callable[[str], None]
    most: int = MAX_RUNS
    executor: str = "processes"
    workers: int | None = None
    new: dict[str, Outcome] = field(default_factory=dict)

    def decide(self) -> tuple[Decisions, Outcome]:
        """Add runs until the claims are decided, with the default engine of each study.

        Raises
        ------
        QuiclabError
            If a study was not run.
        """
        found: list[Decisions] = []

        def judge() -> tuple[list[str], Wanted]:
            judged, wanted = self._judge()
            is_open = [identity for identity, item in judged.items() if item.verdict in OPEN]
            found[:] = [Decisions(found[0].opened if found else is_open, judged)]
            return is_open, wanted

        outcome = self._add(judge)
        return (found or [Decisions()])[0], outcome

    def narrow(self, chosen: Callable[[Study], Collection[Setting]], precision: float) -> Outcome:
        """Add runs until the 95 % intervals of the metric of each study are narrow.

        Parameters
        ----------
        chosen
            Settings of a study that get runs.
        precision
            Half of an interval divided by the mean, at most.

        Raises
        ------
        QuiclabError
            If a study was not run.
        """

        def judge() -> tuple[list[str], Wanted]:
            wanted = {study.name: self._too_wide(study, chosen(study), precision) for study in self.studies}
            return [f"intervals of {name}" for name, settings in wanted.items() if settings], wanted

        return self._add(judge)

    def _add(self, judge: Callable[[], tuple[Sequence[str], Wanted]]) -> Outcome:
        """Add runs round by round, until `judge` returns nothing that is open with settings that get runs."""
        groups = dict.fromkeys(study.name.rpartition("/")[0] or study.name for study in self.studies)
        manifests = {
            study.name: read_manifest(results_directory(study, self.out))
            for group in groups
            for study in find_all(group)
        }
        # at first what an earlier call has planned and not finished; a round that is complete takes no time
        planned: Wanted = {name: dict(found.more) for name, found in manifests.items() if found is not None}
        number = 0

        def run() -> Outcome:
            made = Outcome()
            for name, settings in planned.items():
                if settings and not made.interrupted:
                    outcome = self._run(self._stored(name), settings)
                    made_now = outcome.executed
                    further = Outcome(made_now + outcome.failed, made_now, made_now, outcome.failed)
                    self.new.setdefault(name, Outcome()).add(further)
                    made.add(outcome)
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
            self.say(f"round {number}: open are {', '.join(is_open)}; {count} settings get up to {largest} runs")
            for name, settings in planned.items():
                study = self._stored(name)
                with Store(results_directory(study, self.out)).locked():
                    write_more(study, results_directory(study, self.out), settings)
            return True

        return until(run, more)

    def _stored(self, name: str) -> Study:
        """Return a study with the seed of its stored runs."""
        return as_stored(find(name), results_directory(find(name), self.out))

    def _run(self, study: Study, more: Mapping[Setting, int]) -> Outcome:
        """Make the missing runs of settings."""
        engines = tuple(dict.fromkeys(engine for engine, _, _ in more))
        points = with_more(study, among(study, study.points(engines, 1, variants=()), more), more)
        store = Store(results_directory(study, self.out))
        plan = Plan(study, points)
        return execute(Runs.of(plan), store, plan.executor(self.executor, self.workers))

    def _judge(self) -> tuple[dict[str, Judgement], Wanted]:
        """Judge all claims; returns the judgements, and the runs that settings of open claims get, by study."""
        judged: dict[str, Judgement] = {}
        wanted: Wanted = {}
        with BeatingProgress("claims", len(self.studies)) as progress:
            for study in self.studies:
                evaluation = Evaluation(study, self.out)
                for item in evaluation.judgements(study.design.default_engine):
                    if item.least_runs is not None:
                        judged[item.claim.identity] = item
                    if item.verdict in OPEN:
                        self._want(evaluation, item, wanted)
                progress.advance()
        return judged, wanted

    def _want(self, evaluation: Evaluation, item: Judgement, wanted: Wanted) -> None:
        """Note the runs that the settings of an open claim get; none where they have been planned already."""
        target = min(self.most, max(MIN_RUNS, next_count(item.least_runs or 0, self.most)))
        for name, key in item.read:
            read = evaluation.for_study(name) if name else evaluation
            engine = read.study.design.engines[0]
            self._note(read, setting_of(read.study, engine.name, key), target, wanted.setdefault(read.study.name, {}))

    def _too_wide(self, study: Study, chosen: Collection[Setting], precision: float) -> dict[Setting, int]:
        """Return the settings whose intervals are too wide, with the number of runs that they get."""
        evaluation, found = Evaluation(study, self.out), dict[Setting, int]()
        for engine in dict.fromkeys(engine for engine, _, _ in chosen):
            for key, summary in evaluation.summaries(engine).items():
                ratio = relative_width(summary.mean, summary.high) / precision
                setting = setting_of(evaluation.study, engine, key)
                now = evaluation.planned(setting)
                if ratio > 1 and setting in chosen:
                    target = max(MIN_RUNS, next_count(now, self.most, now * ratio**2))
                    self._note(evaluation, setting, min(self.most, target), found)
        return found

    def _note(self, evaluation: Evaluation, setting: Setting, target: int, wanted: dict[Setting, int]) -> None:
        """Note that a setting gets more runs, as far as its engine may have them and they are not planned."""
        runs = min(target, evaluation.study.design.engine(setting[0]).runs or target)
        if runs > evaluation.planned(setting):
            wanted[setting] = max(runs, wanted.get(setting, 0))
