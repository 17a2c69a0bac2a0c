#!/usr/bin/env python3
"""Add runs to the settings of a study whose runs scatter, in all engines that were used.

    python tools/scattered_runs.py validation/blind_quic --results results --beyond 0.04 --runs 8

A setting scatters if the values of the study's metric, in any engine, reach over more than this share of their mean.
The choice does not look at differences between engines, so that it favours none. Runs that are stored are reused.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import fmean

from quiclab.store import Store
from quiclab.study import sweep
from quiclab.study.evaluate import Evaluation
from quiclab.study.findings import Key
from quiclab.study.manifest import Setting, setting_of, with_more, write_more
from quiclab.study.plan import jobs_of
from quiclab.study.registry import find


def scattered(evaluation: Evaluation, beyond: float) -> set[Key]:
    """Return the settings, by configuration and value of each factor, whose runs reach over more than this share."""
    return {
        key
        for engine in evaluation.study.design.engines
        for key, values in evaluation.samples(engine.name).items()
        if (mean := fmean(values)) and (max(values) - min(values)) / mean > beyond
    }


def settings_of(evaluation: Evaluation, keys: set[Key], runs: int) -> dict[Setting, int]:
    """Return the settings of all engines with their number of runs."""
    design = evaluation.study.design
    return {
        setting_of(
            evaluation.study, engine.name, str(key[0]), dict(zip(design.columns[1:], key[1:], strict=True))
        ): runs
        for engine in design.engines
        for key in keys
        if key in evaluation.samples(engine.name)
    }


def main() -> int:
    """Choose the settings and run them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", metavar="STUDY")
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument("--beyond", type=float, default=0.04, metavar="SHARE")
    parser.add_argument("--runs", type=int, default=8, metavar="N")
    parser.add_argument("--jobs", type=int, metavar="N", help="worker processes (default: one per CPU)")
    arguments = parser.parse_args()
    evaluation = Evaluation(find(arguments.study), arguments.results)
    keys = scattered(evaluation, arguments.beyond)
    more = settings_of(evaluation, keys, arguments.runs)
    print(f"{len(keys)} of {len(evaluation.samples(evaluation.study.design.default_engine))} settings scatter")
    study = evaluation.study
    store = Store(evaluation.directory)
    with store.locked():
        write_more(study, evaluation.directory, more)
        engines = tuple(engine.name for engine in study.design.engines)
        points = with_more(study, list(study.points(engines, 1, variants=())), more)
        chosen = [point for point in points if point.runs > 1]
        outcome = sweep.execute(jobs_of(study, chosen), store, title=study.name, workers=arguments.jobs)
    return 1 if outcome.failures or outcome.interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
