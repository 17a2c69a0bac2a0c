#!/usr/bin/env python3
"""Measure what `make demo` takes once everything is set up, and write it into README.md.

    python tools/demo_time.py --measure   run the commands of the demo in a new directory, and store what they took
    python tools/demo_time.py --write     write the sentence of README.md from the stored measurement

The commands are read from the Makefile. CPU time is stored next to the elapsed time, because other programs on the
machine change the latter alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quiclab._base.native import extension
from quiclab._base.progress import duration

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "docs" / "data" / "demo.json"
README = ROOT / "README.md"
PLACE = re.compile(r"(<!-- demo -->).*?(<!-- /demo -->)", re.DOTALL)


def commands(makefile: str) -> list[str]:
    """Return the commands of the demo as they are in the Makefile."""
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    if recipe is None:
        message = "Makefile: expected a recipe of the target demo"
        raise ValueError(message)
    lines = (line.strip() for line in recipe[1].splitlines())
    return [line.removeprefix("$(RUN)/").replace(" --jobs $(JOBS)", "") for line in lines]


def measure() -> dict[str, Any]:
    """Run the commands in a new directory, and return what they took."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    steps, runs = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for command in commands(makefile):
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            program, *arguments = command.split()
            done = subprocess.run(
                [sys.executable, "-m", program, *arguments, "--out", folder],
                capture_output=True,
                text=True,
                check=True,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            elapsed_s = time.monotonic() - started
            steps.append({"command": command, "cpu_s": round(cpu_s, 1), "elapsed_s": round(elapsed_s, 1)})
            runs += sum(map(int, re.findall(r"(\d+) of \d+ runs complete", done.stderr)))
    return {
        "measured": datetime.now(UTC).date().isoformat(),
        "quiclab": extension().version(),
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "runs": runs,
        "steps": steps,
    }


def sentence(stored: dict[str, Any]) -> str:
    """Return what README.md says of a measurement."""
    cpu_s = sum(step["cpu_s"] for step in stored["steps"])
    return (
        f"its {stored['runs']} runs, verdicts and report take {duration(cpu_s)} of CPU time, which all CPUs share "
        f"(measured on {stored['measured']})"
    )


def written(readme: str, stored: dict[str, Any]) -> str:
    """Return README.md with the sentence about a measurement."""
    if len(PLACE.findall(readme)) != 1:
        message = "README.md: expected one place `<!-- demo -->...<!-- /demo -->`"
        raise ValueError(message)
    return PLACE.sub(lambda found: f"{found[1]}{sentence(stored)}{found[2]}", readme)


def main() -> int:
    """Measure, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="run the demo and store what it takes")
    parser.add_argument("--write", action="store_true", help="write README.md")
    arguments = parser.parse_args()
    if arguments.measure:
        STORED.write_text(json.dumps(measure(), indent=2) + "\n", encoding="utf-8")
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    new = written(README.read_text(encoding="utf-8"), stored)
    if arguments.write:
        README.write_text(new, encoding="utf-8")
    print(sentence(stored))
    return 0


if __name__ == "__main__":
    sys.exit(main())
