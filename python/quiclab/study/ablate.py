"""Makes the runs that explanations rest on: the settings and variants that ablations and placeholders read."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from quiclab.errors import QuiclabError
from quiclab.experiment.execute import Outcome, execute
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.study.ablation import Worlds
from quiclab.study.explanation import filled
from quiclab.study.findings import Resamples
from quiclab.study.manifest import Setting, among, as_stored, read_manifest, setting_of, with_more, write_manifest
from quiclab.study.plan import Plan, results_directory
from quiclab.study.registry import find
from quiclab.study.trial import everywhere

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from quiclab.study import Study
    from quiclab.study.claims import Claim

Needed: TypeAlias = "Mapping[tuple[str, str], set[Setting]]"
"""Settings by study and variant."""
#: Values of all settings with which predicates are evaluated to see what they read: each may stop at another part.
VALUES: Final = (1e-9, 1.0, 36.0)


def needed(studies: Sequence[Study]) -> Needed:
    """Return what the ablations and explanations of the claims of studies read."""
    found: dict[tuple[str, str], set[Setting]] = defaultdict(set)
    for study in studies:
        for claim in study.measures.claims:
            if claim.ablation is None and not (claim.explanation and claim.terms):
                continue
            for value in VALUES:
                for variant, runs in _read(study, claim, value).items():
                    for name, key in runs.read:
                        read = find(name) if name else study
                        found[read.name, variant].add(setting_of(read, read.design.default_engine, key))
    return found


def _read(study: Study, claim: Claim, value: float) -> dict[str, Resamples]:
    """Evaluate ablation and explanation of a claim where all settings have a value; returns what was read."""

    @cache
    def runs(variant: str) -> Resamples:
        made[variant] = Resamples(cache(lambda name, _metric: everywhere(find(name) if name else study, value)), 2)
        return made[variant]

    made: dict[str, Resamples] = {}
    worlds = Worlds(claim, runs)
    ablation = claim.ablation
    functions = [] if ablation is None else [ablation.check, ablation.numbers]
    for function in functions:
        if function is not None:
            function(worlds)
    if ablation is not None and ablation.check is None and claim.check is not None:
        claim.check(worlds(ablation.variant))
    if claim.terms is not None:
        filled(claim.explanation, claim.terms(worlds))
    return made


def make(found: Needed, out: Path, workers: int | None = None) -> Outcome:
    """Make the missing ones of these runs.

    Parameters
    ----------
    found
        What is needed.
    out
        Directory given as `--out`.
    workers
        Number of processes; by default the CPUs this process may use.

    Raises
    ------
    QuiclabError
        If a study lacks a variant that its explanations read.
    """
    made = Outcome()
    for (name, variant), settings in found.items():
        study = find(name)
        if variant and variant not in {item.name for item in study.design.variants}:
            raise QuiclabError(f"an explanation reads variant `{variant}` of {name}, which has no such variant")
        directory = results_directory(study, out)
        study = as_stored(study, directory)
        store = Store(directory)
        with store.locked():
            before = read_manifest(directory)
            runs = study.design.runs if before is None else before.runs
            names = (variant,) if variant else ()
            manifest = write_manifest(study, directory, runs, partial=True, variants=names)
            points = study.points((study.design.default_engine,), runs, variants=names)
            points = (point for point in points if point.variant == variant)
            wanted = with_more(study, among(study, points, settings), manifest.more)
            title = f"{name} with {variant}" if variant else name
            plan = Plan(study, wanted)
            made.add(execute(Runs.of(plan), store, plan.executor(workers=workers), title=title))
        if made.interrupted:
            break
    return made
