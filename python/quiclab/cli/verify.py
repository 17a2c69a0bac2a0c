"""`quiclab verify`: claims and their verdicts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

import typer

from quiclab._base.progress import BeatingProgress
from quiclab.cli import completion
from quiclab.cli.study_group import listed, say_builds
from quiclab.cli.study_options import EnginesOption, OutOption
from quiclab.cli.values import JsonOption
from quiclab.errors import QuiclabError
from quiclab.report import show_claims
from quiclab.scenario.tree import to_json
from quiclab.study.agreement import agreement, document
from quiclab.study.claims import Verdict
from quiclab.study.compare import VERIFY_SCHEMA, judgement_row
from quiclab.study.decide import OPEN
from quiclab.study.evaluate import Evaluation, Kept
from quiclab.study.manifest import MANIFEST
from quiclab.study.plan import RESULTS, available_engines, results_directory, sweep_command
from quiclab.study.registry import find_all


def verify_command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Study or group (default: all).", autocompletion=completion.studies),
    ] = None,
    as_json: JsonOption = False,
    engines: EnginesOption = "default",
    out: OutOption = RESULTS,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 as well if a claim that can be tested is not decided.")
    ] = False,
) -> None:
    """Carry out `quiclab verify`."""
    studies = find_all(name)
    absent = [study for study in studies if not (results_directory(study, out) / MANIFEST).is_file()]
    claims: list[dict[str, Any]] = []
    missing: dict[str, int] = {}
    unusable = []
    judged: list[Kept] = []
    with BeatingProgress(f"verify {name or 'all'}", len(studies) - len(absent)) as progress:
        for study in studies:
            compared = [name for name in study.chosen_engines(engines) if name != study.measures.table.engine]
            present, _ = available_engines(study, compared)
            if study in absent:
                continue
            try:
                judged.append(_judge(Evaluation(study, out), present, claims, missing))
            except QuiclabError as error:  # the other studies still have their verdicts
                unusable.append(error.message)
            progress.advance()
    say_builds(judged, name or "all studies")
    if as_json:
        found = {"runs_missing": sum(missing.values()), "agreement": document(agreement(claims)), "claims": claims}
        print(to_json({"schema": VERIFY_SCHEMA, **found}))
    elif claims or not (absent or unusable):  # claims that were not judged are no lack of claims
        show_claims.claims(claims)
    if len(absent) == 1:
        unusable.append(f"no runs of {absent[0].name} in {out}; run {sweep_command(absent[0], out)}")
    elif absent:
        names = listed([study.name for study in absent])
        unusable.append(f"no runs in {out} of {names}; `quiclab study run` with the name of a study or group runs it")
    incomplete = [f"{count} runs of {study}" for study, count in missing.items() if count]
    if incomplete:
        unusable.append(f"missing: {', '.join(incomplete)}; `quiclab study run` with the name of the study continues")
    untestable = {claim.identity for study in studies for claim in study.measures.claims if claim.check is None}
    if strict and (undecided := open_claims(claims, untestable)):
        unusable.append(f"not decided: {', '.join(undecided)}")
    if unusable:
        raise QuiclabError("; ".join(unusable))


def open_claims(claims: list[dict[str, Any]], untestable: Collection[str]) -> list[str]:
    """Return the claims that are not decided, but for those that cannot be tested, whatever the runs."""
    undecided = (*OPEN, Verdict.NOT_TESTED)
    return [
        claim["identity"] for claim in claims if claim["verdict"] in undecided and claim["identity"] not in untestable
    ]


def _judge(evaluation: Evaluation, engines: list[str], claims: list[dict[str, Any]], missing: dict[str, int]) -> Kept:
    """Add the verdicts of a study with each engine, and the number of missing runs; returns what they are made from."""
    study = evaluation.study

    def verdicts() -> dict[str, Any]:
        rows = [(name, item) for name in engines for item in evaluation.judgements(name)]
        return {"claims": [{**judgement_row(study.name, item), "engine": name} for name, item in rows]}

    kept = evaluation.kept("verify", engines, verdicts)
    for name, count in kept.missing.items():
        missing[study.name if name == study.design.default_engine else f"{study.name} with {name}"] = count
    claims += kept.document["claims"]
    return kept
