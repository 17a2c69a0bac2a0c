"""Writes docs/scale.md from `benches/sweeps.json`; without `--write` it prints the page."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from quiclab._base.progress import duration
from quiclab.experiment.executors.loop import batch_s

ROOT = Path(__file__).resolve().parent.parent
FIGURES, PAGE, TEMPLATE = ROOT / "benches/sweeps.json", ROOT / "docs/scale.md", Path(__file__).with_name("scale.md.j2")
#: Cores and runs of the computed table, and durations of a run [s].
CORES, RUNS = 1000, 1_000_000
DURATIONS_S = (0.001, 0.01, 0.1, 1.0, 10.0)
MIN_DIGITS = 2


def main() -> None:
    """Print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/scale.md")
    page = rendered(json.loads(FIGURES.read_text(encoding="utf-8")))
    if parser.parse_args().write:
        PAGE.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)


def rendered(found: dict[str, Any]) -> str:
    """Return the page for the figures of `benches/sweeps.py`."""
    runs, sweep, again = found["runs"], found["sweep"], found["again"]
    parent = (sweep["cpu_s"] - again["cpu_s"]) / runs
    worker = sweep["workers_cpu_s"] / runs - found["bare_run_s"]
    # shards are merged by one process, as fast as those that were measured
    merging = found["shards"]["merge"]["wall_s"] / found["shards"]["runs"]
    steps = [
        ("all settings checked, the cost estimated (`--dry-run`)", found["dry_run"]),
        ("all runs, table, figures and page", sweep),
        ("the same command again: nothing to run", again),
        ("`quiclab store ls`", found["list"]),
    ]
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - Markdown
    environment.filters |= {"time": duration, "size": size, "memory": memory, "micro": micro, "ratio": ratio}
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        found,
        settings=found["settings"],
        steps=steps,
        bare=found["bare_run_s"],
        worker=worker,
        parent=parent,
        batch_s=batch_s(1),
        many_batch_s=batch_s(CORES),
        many=CORES,
        thousand=[thousand(run, parent, worker, found["batch"]["ray"]["cpu_s"], merging) for run in DURATIONS_S],
    )


def thousand(run: float, parent: float, worker: float, batch: float, merging: float) -> dict[str, Any]:
    """Return the times of a million runs of one duration [s]: the slower of the cores and the coordinating process."""
    cores = RUNS * (run + worker) / CORES
    batches = RUNS / max(1.0, batch_s(CORES) / (run + worker))
    coordinating = RUNS * parent + batches * batch
    return {
        "run": run,
        "alone": RUNS * (run + worker + parent),
        "ray": max(cores, coordinating),
        "limit": "the cores" if cores >= coordinating else "the coordinating process",
        "shards": cores + RUNS * (parent / CORES + merging),
    }


def digits(value: float) -> str:
    """Write a number with at least two digits, and no more after the point than that takes."""
    return f"{value:.0f}" if value >= 10**MIN_DIGITS else f"{value:.{MIN_DIGITS}g}"


def size(count: float) -> str:
    """Write a size."""
    return f"{digits(count / 1e6)} MB"


def memory(mebibytes: float) -> str:
    """Write the memory of workers, if there were any."""
    return f"{mebibytes:.0f} MiB" if mebibytes else "–"


def micro(seconds: float) -> str:
    """Write a short time."""
    return f"{digits(seconds * 1e6)} µs"


def ratio(before: float, after: float) -> str:
    """Write a speed-up."""
    return f"{before / after:.2f}"


if __name__ == "__main__":
    main()
