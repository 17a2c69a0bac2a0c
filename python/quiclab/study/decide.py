"""More runs of the settings that undecided claims read, until each claim is decided or its settings have enough.

Round by round, every setting that an open claim reads gets up to twice as many runs, and all claims are judged again. A
round is planned in the manifests before it is run, so that a sweep that was killed goes on where it was, to the same
results. What is still open with the most runs stays `undecided`, or `at_the_limit`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from quiclab.progress import BeatingProgress
from quiclab.repetitions import MIN_RUNS, next_count
from quiclab.store import Store
from quiclab.study import BASE
from quiclab.study.claims import Verdict
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import Setting, as_stored, read_manifest, setting_of, with_more, write_more
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


@dataclass
class Decisions:
    """Result of the rounds.

    Attributes
    ----------
    opened
        Identities of the claims that were open at the start.
    judged
        The last judgement of each claim that was tested, by identity.
    rounds
        Number of rounds that were run.
    failed
        Number of runs that failed.
    interrupted
        The signal that ended it; 0 if none did.
    """

    opened: list[str] = field(default_factory=list)
    judged: dict[str, Judgement] = field(default_factory=dict)
    rounds: int = 0
    failed: int = 0
    interrupted: int = 0

    def with_verdict(self, verdict: Verdict) -> list[str]:
        """Return the claims that have a verdict now, in the order of the studies."""
        return [identity for identity, item in self.judged.items() if item.verdict is verdict]


def decide(
    studies: Sequence[Study],
    out: Path,
    say: Callable[[str], None],
    *,
    most: int = MAX_RUNS,
    workers: int | None = None,
) -> Decisions:
    """Add runs until the claims of studies are decided, with the default engine of each study.

    Parameters
    ----------
    studies
        The studies, which were run already.
    out
        Directory given as `--out`.
    say
        Called with a sentence about each round.
    most
        Number of runs that no setting exceeds.
    workers
        Number of processes; by default the CPUs this process may use.

    Raises
    ------
    QuiclabError
        If a study was not run.
    """
    found = Decisions()
    groups = dict.fromkeys(study.name.rpartition("/")[0] or study.name for study in studies)
    planned = {study.name: dict(_planned(study, out)) for group in groups for study in find_all(group)}
    while True:
        # at first what an earlier call has planned and not finished; a round that is complete takes no time
        for name, settings in planned.items():
            if settings and not _run(
                as_stored(find(name), results_directory(find(name), out)), out, settings, workers, found
            ):
                return found
        found.judged, planned = _judge(studies, out, most)
        is_open = [identity for identity, item in found.judged.items() if item.verdict in OPEN]
        if not found.rounds:
            found.opened = is_open
        planned = {name: settings for name, settings in planned.items() if settings}
        if not planned or found.failed:
            return found
        found.rounds += 1
        count = sum(map(len, planned.values()))
        largest = max(runs for settings in planned.values() for runs in settings.values())
        say(f"round {found.rounds}: open are {', '.join(is_open)}; {count} settings get up to {largest} runs")
        for name, settings in planned.items():
            study = as_stored(find(name), results_directory(find(name), out))
            with Store(results_directory(study, out)).locked():
                write_more(study, results_directory(study, out), settings)


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
        values = dict(zip(design.columns[1:], key[1:], strict=True))
        setting = setting_of(read.study, engine.name, str(key[0]), values)
        runs = min(target, engine.runs or target)
        if runs > read.planned(setting):
            settings = wanted.setdefault(read.study.name, {})
            settings[setting] = max(runs, settings.get(setting, 0))


def _run(study: Study, out: Path, more: Mapping[Setting, int], workers: int | None, found: Decisions) -> bool:
    """Make the missing runs of settings; returns whether it was not interrupted."""
    directory = results_directory(study, out)
    engines = tuple(dict.fromkeys(engine for engine, _, _ in more))
    points = [
        point
        for point in with_more(study, list(study.points(engines, 1, variants=())), more)
        if point.variant == BASE and setting_of(study, point.engine, point.configuration, point.values) in more
    ]
    outcome = Plan(study, points).run(Store(directory), workers=workers)
    found.failed += outcome.failed
    found.interrupted = outcome.interrupted
    return not outcome.interrupted
