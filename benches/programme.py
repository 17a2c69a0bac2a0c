"""Times of the commands that answer from stored results, for all studies of Dual Connectivity, as JSON.

    python benches/programme.py --out results

Missing runs are made first; `run` is the time from an empty directory, or null. Each command is timed with nothing
derived from the runs (`cold`), and then again (`warm`, the median of three): wall-clock seconds, and CPU seconds of the
process and its children.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from quiclab.study.derived import FOLDER
from quiclab.study.tables import KEY, TABLE

GROUP = "dual_connectivity"
#: Runs of each setting, as published.
RUNS = 10
WARM = 3
COMMANDS = (["study", "table"], ["study", "compare"], ["verify"], ["study", "report"])


def main() -> None:
    """Measure and print the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="results directory (default: results)")
    out = parser.parse_args().out
    empty = not (out / GROUP).exists()
    made = timed(["study", "run"], out, "--runs", str(RUNS))
    figures: dict[str, Any] = {"run": made if empty else None}
    for command in COMMANDS:
        forget(out)
        name = " ".join(command)
        figures[name] = {"cold": timed(command, out)}
        warm = [timed(command, out) for _ in range(WARM)]
        figures[name]["warm"] = {key: statistics.median(figure[key] for figure in warm) for key in warm[0]}
    print(json.dumps(figures, indent=2))


def timed(command: list[str], out: Path, *options: str) -> dict[str, float]:
    """Run a command over the group; return its seconds."""
    print(f"measuring: quiclab {' '.join(command)} {GROUP}", file=sys.stderr, flush=True)
    start, before = time.monotonic(), os.times()
    line = [sys.executable, "-m", "quiclab", *command, GROUP, *options, "--out", str(out)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall_seconds": round(wall, 2), "cpu_seconds": round(used, 2)}


def forget(out: Path) -> None:
    """Remove everything that was derived from the runs."""
    for study in (out / GROUP).iterdir():
        shutil.rmtree(study / FOLDER, ignore_errors=True)
        for name in (TABLE, KEY):
            (study / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
