"""Installs wheels in an empty environment and uses them in an empty folder, without a checkout.

    python tools/try_wheel.py dist/*.whl

A study is run, compared, tabulated, verified and reported; a new scenario is run and swept. The libraries that quiclab
requires come from the package index. Nothing of the checkout is read: the programs start in another folder, without
environment variables of Python and quiclab.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Final

STUDY: Final = "dual_connectivity/share"
#: Commands in the folder, what each has to print, and the files that it has to write.
STEPS: Final = (
    ("study list", (STUDY, "pacing/", "page_load/", "tunnel/", "validation/"), ()),
    (f"study run {STUDY} --runs 2", (), (f"results/{STUDY}/sweep.json",)),
    (f"study compare {STUDY}", ("difference",), ()),
    (f"study table {STUDY}", ("throughput_mbps_mean",), ()),
    (f"verify {STUDY}", ("DC-", "undecided"), ()),
    (f"study report {STUDY}", ("report.html",), (f"results/{STUDY}/report.html",)),
    ("run mine.toml --seed 1", ("goodput",), ()),
    (
        "sweep mine.toml --vary flows.*.stack=quinn,lab-quic --seeds 2 --metric goodput",
        ("4 runs complete",),
        ("results/sweeps/mine/runs.parquet", "results/sweeps/mine/index.html"),
    ),
)


def main() -> None:
    """Try the wheels of the command line."""
    parser = argparse.ArgumentParser(description="Install the wheels of quiclab in an empty environment and use them.")
    parser.add_argument("wheels", nargs="+", type=Path)
    wheels = [wheel.resolve() for wheel in parser.parse_args().wheels]
    for wheel in wheels:
        if not wheel.is_file():
            parser.error(f"wheels: expected a file, got {wheel}")
    with tempfile.TemporaryDirectory() as folder:
        environment, home = Path(folder, "environment"), Path(folder, "home")
        home.mkdir()
        venv.create(environment, with_pip=True)
        print(f"installing {', '.join(wheel.name for wheel in wheels)}", flush=True)
        names = [f"{wheel}[report]" if wheel.name.startswith("quiclab-") else str(wheel) for wheel in wheels]
        call([str(environment / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", *names], home)
        program = str(environment / "bin/quiclab")
        (home / "mine.toml").write_text(call([program, "scenario", "new"], home), encoding="utf-8")
        for step, words, files in STEPS:
            print(f"quiclab {step}", flush=True)
            output = call([program, *shlex.split(step)], home)
            lacking = [word for word in words if word.lower() not in output.lower()]
            lacking += [name for name in files if not (home / name).is_file()]
            if lacking:
                raise SystemExit(f"quiclab {step}: expected {', '.join(lacking)}, got\n{output}")
    print("the wheels work without the checkout")


def call(command: list[str], home: Path) -> str:
    """Run a command in a folder and return what it prints; it ends this program if it fails."""
    own = ("PYTHON", "QUICLAB", "VIRTUAL_ENV", "XDG_")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(own)} | {"HOME": str(home)}
    done = subprocess.run(command, cwd=home, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise SystemExit(f"{shlex.join(command)}: exit code {done.returncode}")
    return done.stdout + done.stderr


if __name__ == "__main__":
    main()
