"""`quiclab study decide` and `quiclab study ablate`: runs that decide claims, and that explain refuted ones."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from quiclab.cli.study_options import NameArgument, OutOption
from quiclab.cli.values import JobsOption, JsonOption, integer
from quiclab.errors import QuiclabError
from quiclab.experiment.repetitions import MIN_RUNS
from quiclab.scenario.tree import to_json
from quiclab.study.ablate import make, needed
from quiclab.study.decide import MAX_RUNS, OPEN, Rounds
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import read_manifest
from quiclab.study.plan import RESULTS, results_directory
from quiclab.study.registry import find_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.experiment.execute import Outcome
    from quiclab.study.claims import Verdict
    from quiclab.study.decide import Decisions


MaxRunsOption = Annotated[
    int, typer.Option(parser=integer(MIN_RUNS, 1000), metavar="N", help="No setting gets more runs.")
]


def decide_command(
    name: NameArgument,
    max_runs: MaxRunsOption = MAX_RUNS,
    jobs: JobsOption = None,
    out: OutOption = RESULTS,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab study decide`."""
    claimed = [study for study in find_all(name) if study.measures.claims]
    studies = [study for study in claimed if read_manifest(results_directory(study, out)) is not None]
    if absent := [study.name for study in claimed if study not in studies]:
        if not studies:
            raise QuiclabError(f"no results of {', '.join(absent)} in {out}; run them with `quiclab study run`")
        print(f"{name}: skipped, without results: {', '.join(absent)}", file=sys.stderr)
    for study in studies:
        Evaluation(study, out)  # before the first round: an error if its results are of another version
    found, outcome = Rounds(studies, out, partial(say, name), max_runs, workers=jobs).decide()
    check_complete(outcome)
    if as_json:
        print(to_json({"schema": "quiclab.decide/1", "study": name, **verdicts(found, lambda item: item.value)}))
    else:
        print(f"{name}: {told(found)}")


def say(name: str, text: str) -> None:
    """Print a sentence about a study or group to stderr."""
    print(f"{name}: {text}", file=sys.stderr)


def check_complete(outcome: Outcome) -> None:
    """Check that nothing has failed or was stopped.

    Raises
    ------
    QuiclabError
        Otherwise.
    """
    outcome.check_finished()
    if outcome.failed:
        raise QuiclabError(f"{outcome.failed} runs failed; the output above has the commands that replay them")


def verdicts(found: Decisions, word: Callable[[Verdict], str]) -> dict[str, list[str]]:
    """Return the claims that were open: those that are decided now, and the others by their verdicts."""
    decided = [identity for identity in found.opened if found.judged[identity].verdict not in OPEN]
    return {"decided": decided} | {word(verdict): found.with_verdict(verdict) for verdict in reversed(OPEN)}


def told(found: Decisions) -> str:
    """Return what has become of open claims, in words."""
    lists = verdicts(found, lambda item: item.word)
    named = "; ".join(f"{word}: {', '.join(identities)}" for word, identities in lists.items() if identities)
    return named or "no claim was open"


def ablate_command(
    name: NameArgument, jobs: JobsOption = None, out: OutOption = RESULTS, as_json: JsonOption = False
) -> None:
    """Carry out `quiclab study ablate`."""
    found = needed(find_all(name))
    if not found:
        print(f"{name}: no claim has an ablation", file=sys.stderr)
    outcome = make(found, out, jobs)
    check_complete(outcome)
    if found:
        done = f"{outcome.done} of {outcome.total} runs complete, {outcome.executed} of them new"
        print(f"{name}: {done}", file=sys.stderr)
    if as_json:
        counts = {part: count for part, count in outcome.counts.items() if part != "runs_failed"}
        print(to_json({"schema": "quiclab.ablate/1", "study": name, **counts}))
