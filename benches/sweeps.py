"""What sweeps cost beside their runs, and what a million of them take, as JSON.

    python benches/sweeps.py --out benches/sweeps.json
    python tools/scale_page.py --write

The second command writes docs/scale.md from the first one's file. Times are wall-clock and CPU seconds on this
machine, which should do nothing else meanwhile; memory is the largest resident set of the coordinating process, and
of its largest worker.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl

import quiclab
from quiclab import cli
from quiclab._base.native import extension
from quiclab.experiment.execute import execute
from quiclab.experiment.executors import Processes, loop
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.experiment.sweeps import Plan
from quiclab.experiment.sweeps.session import probe
from quiclab.result import run_resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quiclab.experiment.executors import Executor

HERE = Path(__file__).resolve().parent
TINY = HERE / "tiny.toml"
#: Runs of some tenths of a second, for the speed-up.
LONGER = HERE / "bulk_tcp.toml"
LONGER_RUNS, LONGER_SIZE = 60, "1 GB"
RUNS = 1_000_000
SEEDS = 1000
SHARDS = 10
#: Tasks that do nothing, one a batch.
BATCHES = 2000
METRICS = "goodput,elements.down.dropped.packets"


def main() -> None:
    """Measure, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file to write (default: standard output)")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"tiny runs (default: {RUNS})")
    parser.add_argument("--inside", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside is not None:
        inside(arguments.inside)
        return
    with TemporaryDirectory(prefix="quiclab-bench-") as directory:
        found = measured(Path(directory), arguments.runs)
    text = json.dumps(found, indent=2) + "\n"
    if arguments.out is None:
        print(text, end="")
    else:
        arguments.out.write_text(text, encoding="utf-8")


def measured(directory: Path, runs: int) -> dict[str, Any]:
    """Measure everything in a directory."""
    found: dict[str, Any] = {"quiclab": extension().version(), "cores": os.cpu_count()}
    out = directory / "many"
    many = [*sweep_of(runs), "--out", str(out)]
    found["bare_run_s"] = round(bare(min(runs, 5000)), 7)
    found["dry_run"] = command("sweep", *many, "--dry-run")
    found["sweep"] = command("sweep", *many)
    found["again"] = command("sweep", *many)
    found["list"] = command("store", "ls", str(out))
    table = pl.scan_parquet(out / "runs.parquet")
    found["runs"], found["settings"] = table.select(pl.len(), pl.col("setting").n_unique().alias("n")).collect().row(0)
    found["store_bytes"] = sum(path.stat().st_size for path in (out / "shards").iterdir())
    found["table_bytes"] = (out / "runs.parquet").stat().st_size
    found["shards"] = in_shards(directory, runs)
    found["batch"] = {name: batches(name) for name in ("processes", "ray")}
    found["speed_up"] = speed_up(directory)
    return found


def sweep_of(runs: int) -> list[str]:
    """Return the options of a sweep of the smallest scenario over ten rates and many shares of loss."""
    seeds = min(SEEDS, max(1, runs // 100))
    losses = max(2, runs // seeds // 10)
    rates = ["--vary", "links.down.rate=2..20Mbit/s:lin10"]
    return [
        str(TINY),
        *rates,
        "--vary",
        f"links.down.loss=0.01..0.5:lin{losses}",
        "--seeds",
        str(seeds),
        "--metric",
        METRICS,
    ]


def command(*arguments: str) -> dict[str, float]:
    """Run a command of quiclab in a process of its own; returns what it took."""
    print(f"measuring: quiclab {' '.join(arguments)}", file=sys.stderr, flush=True)
    line = [sys.executable, str(Path(__file__).resolve()), "--inside", *arguments]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def inside(arguments: list[str]) -> None:
    """Run a command in this process, and print what it took as the last line."""
    begin = time.monotonic()
    if code := cli.invoke(arguments):
        sys.exit(code)
    wall = time.monotonic() - begin
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "wall_s": round(wall, 2),
        "cpu_s": round(own.ru_utime + own.ru_stime, 2),
        "workers_cpu_s": round(others.ru_utime + others.ru_stime, 2),
        "memory_mib": round(own.ru_maxrss / 1024),
        "worker_memory_mib": round(others.ru_maxrss / 1024),
    }
    print("\n" + json.dumps(found))


def bare(runs: int) -> float:
    """Return the CPU time of a tiny run in a loop, without a sweep [s]."""
    scenario = quiclab.load(TINY).to_json()
    run_resolved(scenario, 1, HERE)
    begin = time.process_time()
    for seed in range(runs):
        run_resolved(scenario, seed, HERE)
    return (time.process_time() - begin) / runs


def in_shards(directory: Path, runs: int) -> dict[str, Any]:
    """Measure shards one after the other, and their merge."""
    plan = directory / "many.plan.json"
    command("sweep", "plan", *sweep_of(runs), "--to", str(plan))
    each = [command("shard", str(plan), "--index", str(index), "--of", str(SHARDS)) for index in range(SHARDS)]
    merge = command("sweep", "merge", str(plan), "--out", str(directory / "merged"))
    return {"runs": runs, "shards": SHARDS, "wall_s": round(sum(item["wall_s"] for item in each), 2), "merge": merge}


def batches(name: str) -> dict[str, float]:
    """Measure what batches of one task, which does nothing, cost the coordinating process, and their time."""
    limit = loop.MAX_BATCH
    loop.MAX_BATCH = 1  # type: ignore[misc]
    try:
        with executor(name, 1) as where, where:
            loop.run_batches(where, range(100), list, len, lambda *_: None)
            begin, cpu = time.monotonic(), time.process_time()
            loop.run_batches(where, range(BATCHES), list, len, lambda *_: None)
            wall, used = time.monotonic() - begin, time.process_time() - cpu
    finally:
        loop.MAX_BATCH = limit  # type: ignore[misc]
    return {"wall_s": round(wall / BATCHES, 6), "cpu_s": round(used / BATCHES, 6)}


@contextmanager
def executor(name: str, workers: int) -> Iterator[Executor]:
    """Give an executor with one or two workers, not entered; those of Ray are nodes of a cluster on this machine."""
    if name == "processes":
        yield Processes(workers)
        return
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - of the extra

    from quiclab.experiment.executors.ray import Ray  # noqa: PLC0415 - loads Ray

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(workers - 1):
        cluster.add_node(num_cpus=1)
    try:
        yield Ray(f"ray:{cluster.address}")
    finally:
        cluster.shutdown()


def speed_up(directory: Path) -> dict[str, Any]:
    """Measure one sweep with one and two workers, and on one and two nodes of Ray with a worker each [s]."""
    size = ("flows.flow.workload.size", LONGER_SIZE)
    plan = Plan(file=LONGER, text=LONGER.read_text(encoding="utf-8"), sets=(size,), seeds=LONGER_RUNS)
    found: dict[str, Any] = {"runs": LONGER_RUNS, "run_s": round(probe(plan).seconds, 4)}
    for name in ("processes", "ray"):
        for workers in (1, 2):
            print(f"measuring: {LONGER_RUNS} runs, {name}, {workers}", file=sys.stderr, flush=True)
            with executor(name, workers) as where:
                begin = time.monotonic()
                execute(Runs.of(plan), Store(directory / f"{name}-{workers}"), where)
                found[f"{name}_{workers}_s"] = round(time.monotonic() - begin, 2)
    return found


if __name__ == "__main__":
    main()
