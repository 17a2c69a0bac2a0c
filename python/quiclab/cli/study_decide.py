"""`quiclab study decide` and `quiclab study ablate`: runs that decide claims, and that explain refuted ones."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from quiclab.cli.study_options import JobsOption, NameArgument, OutOption
from quiclab.cli.values import JsonOption, integer
from quiclab.errors import QuiclabError, StoppedError
from quiclab.repetitions import MIN_RUNS
from quiclab.study.ablate import make, needed
from quiclab.study.decide import MAX_RUNS, OPEN, decide
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import read_manifest
from quiclab.study.plan import RESULTS, results_directory
from quiclab.study.registry import find_all
from quiclab.tree import to_json


def decide_command(
    name: NameArgument,
    max_runs: Annotated[
        int, typer.Option(parser=integer(MIN_RUNS, 1000), metavar="N", help="No setting has more runs.")
    ] = MAX_RUNS,
    jobs: JobsOption = None,
    out: OutOption = RESULTS,
    as_json: JsonOption = False,
) -> None:
    """Add runs to the settings that undecided claims read, until each claim is decided."""
    claimed = [study for study in find_all(name) if study.measures.claims]
    studies = [study for study in claimed if read_manifest(results_directory(study, out)) is not None]
    if absent := [study.name for study in claimed if study not in studies]:
        if not studies:
            raise QuiclabError(f"no results of {', '.join(absent)} in {out}; run them with `quiclab study run`")
        print(f"{name}: skipped, without results: {', '.join(absent)}", file=sys.stderr)
    for study in studies:
        Evaluation(study, out)  # before the first round: an error if its results are of another version
    found = decide(studies, out, lambda text: print(f"{name}: {text}", file=sys.stderr), most=max_runs, workers=jobs)
    if found.interrupted:
        raise StoppedError("stopped: complete runs are stored; repeat the command to continue", found.interrupted)
    if found.failed:
        raise QuiclabError(f"{found.failed} runs failed; the output above has the commands that replay them")
    decided = [identity for identity in found.opened if found.judged[identity].verdict not in OPEN]
    lists = {"decided": decided} | {
        verdict.value if as_json else verdict.word: found.with_verdict(verdict) for verdict in reversed(OPEN)
    }
    if as_json:
        print(to_json({"schema": "quiclab.decide/1", "study": name, **lists}))
        return
    told = "; ".join(f"{word}: {', '.join(identities)}" for word, identities in lists.items() if identities)
    print(f"{name}: {told or 'no claim was open'}")


def ablate_command(
    name: NameArgument, jobs: JobsOption = None, out: OutOption = RESULTS, as_json: JsonOption = False
) -> None:
    """Make the runs that explanations of refuted claims rest on; `quiclab verify` says what they support."""
    found = needed(find_all(name))
    if not found:
        print(f"{name}: no claim has an ablation", file=sys.stderr)
    outcomes = make(found, out, jobs) if found else []
    done, total, new = (sum(getattr(item, part) for item in outcomes) for part in ("done", "total", "executed"))
    if number := max((item.interrupted for item in outcomes), default=0):
        stored = f"{done} of {total} runs are complete and stored"
        raise StoppedError(f"stopped: {stored}; repeat the command to continue", number)
    if failures := sum(item.failed for item in outcomes):
        raise QuiclabError(f"{failures} runs failed; the output above has the commands that replay them")
    if found:
        print(f"{name}: {done} of {total} runs complete, {new} of them new", file=sys.stderr)
    if as_json:
        counts = {"runs": total, "runs_complete": done, "runs_new": new}
        print(to_json({"schema": "quiclab.ablate/1", "study": name, **counts}))
