"""Installs wheels where nothing else of quiclab is, and uses them: in an empty environment, or in an empty Debian.

    python tools/try_wheel.py dist/*.whl
    python tools/try_wheel.py dist/*.whl --root /tmp/empty --json    # as root; mmdebstrap makes it, if it is missing

A study is run, compared, tabulated, verified and reported; a new scenario is run and swept. The libraries that quiclab
requires come from the package index. Nothing of the checkout is read: the programs start in another folder, without
environment variables of Python and quiclab, with `--root` without a compiler and without the files of this machine. The
last line says how long it took to the first figure, and how large the environment is.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STUDY: Final = "dual_connectivity/share"
#: The first command, which ends with a figure.
FIRST: Final = "demo --jobs 2"
#: Commands in the folder, what each has to print, and the files that it has to write.
STEPS: Final = (
    (FIRST, ("confirmed",), ("results/dual_connectivity/pdcp/report.html",)),
    ("study list", (STUDY, "pacing/", "page_load/", "tunnel/", "validation/"), ()),
    (f"study run {STUDY} --runs 2", (), (f"results/{STUDY}/sweep.json",)),
    (f"study compare {STUDY}", ("difference",), ()),
    (f"study table {STUDY}", ("throughput_mbps_mean",), ()),
    (f"verify {STUDY}", ("DC-", "undecided"), ()),
    (f"study report {STUDY}", ("report.html",), (f"results/{STUDY}/report.html",)),
    ("scenario new --out mine.toml", (), ("mine.toml",)),
    ("run mine.toml --seed 1", ("goodput",), ()),
    (
        "sweep mine.toml --vary flows.*.stack=quinn,lab-quic --seeds 2 --metric goodput",
        ("4 runs complete",),
        ("results/sweeps/mine/runs.parquet", "results/sweeps/mine/index.html"),
    ),
)
#: Packages of an empty Debian beyond the smallest that debootstrap makes.
PACKAGES: Final = "ca-certificates,python3,python3-venv"
#: With the file systems that each machine and container has.
CHROOT: Final = 'for name in proc dev; do mount --rbind /$name "$0/$name"; done; exec chroot "$0" "$@"'
CERTIFICATES: Final = "/etc/ssl/certs/ca-certificates.crt"


@dataclass(frozen=True)
class Place:
    """Where wheels are tried.

    Attributes
    ----------
    top
        The folder that programs see as `/`.
    folder
        Empty; home and working folder of the programs, as this process sees it.
    """

    top: Path
    folder: Path

    def inside(self, path: Path) -> str:
        """Return the path of a file in the folder as programs see it."""
        return f"/{path.relative_to(self.top)}"

    def call(self, command: Sequence[str | Path], *, kept: Sequence[str] = ("HOME", "LANG", "PATH")) -> str:
        """Run a command in the folder and return what it prints; it ends this program if it fails."""
        home = self.inside(self.folder)
        words = [self.inside(word) if isinstance(word, Path) else word for word in command]
        given = {name: value for name, value in os.environ.items() if name in kept or name.startswith("PIP_")}
        begin = [] if self.top == Path("/") else ["unshare", "--mount", "sh", "-c", CHROOT, str(self.top)]
        assigned = [f"{name}={value}" for name, value in (given | {"HOME": home}).items()]
        line = [*begin, "env", "-i", "-C", home, *assigned, *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
            raise SystemExit(f"{shlex.join(words)}: exit code {done.returncode}")
        return done.stdout + done.stderr


def main() -> None:
    """Try the wheels of the command line."""
    parser = argparse.ArgumentParser(description="Install the wheels of quiclab where nothing else is, and use them.")
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--root", type=Path, metavar="DIR", help="an empty Debian; made if it does not exist")
    parser.add_argument("--json", action="store_true", help="print what was measured as JSON")
    given = parser.parse_args()
    for wheel in given.wheels:
        if not wheel.is_file():
            parser.error(f"wheels: expected a file, got {wheel}")
    if given.root is not None and not given.root.exists():
        make_root(given.root)
    top = Path("/") if given.root is None else given.root.resolve()
    with tempfile.TemporaryDirectory(dir=top / "tmp") as folder:
        measured = tried(Place(top, Path(folder)), given.wheels)
    print(json.dumps(measured) if given.json else "the wheels work without the checkout")


def make_root(root: Path) -> None:
    """Make an empty Debian of the release of this machine, which reaches what this machine reaches."""
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    print(f"making an empty Debian in {root}", flush=True)
    options = ["--quiet", "--variant=minbase", f"--include={PACKAGES}"]
    subprocess.run(["mmdebstrap", *options, release["VERSION_CODENAME"], root], check=True)  # noqa: S607
    for name in ("/etc/resolv.conf", CERTIFICATES):
        shutil.copy(name, root / name[1:])


def tried(place: Place, wheels: Sequence[Path]) -> dict[str, float]:
    """Install wheels, carry out the steps, and return what was measured."""
    environment, home = place.folder / "environment", place.folder / "home"
    home.mkdir()
    own = [Path(shutil.copy(wheel, place.folder)) for wheel in wheels]
    began = time.monotonic()
    if place.top == Path("/"):
        venv.create(environment, with_pip=True)
    else:
        place.call(["python3", "-m", "venv", environment])
    print(f"installing {', '.join(wheel.name for wheel in own)}", flush=True)
    before = size_of(environment)
    # without bytecode, as installers other than pip do, and as it is counted
    pip = [environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    place.call([*pip, *own])
    measured = {"environment_mb": (size_of(environment) - before) / 1e6, "install_s": time.monotonic() - began}
    there = Place(place.top, home)
    for step, words, files in STEPS:
        print(f"quiclab {step}", flush=True)
        output = there.call([environment / "bin/quiclab", *shlex.split(step)])
        lacking = [word for word in words if word.lower() not in output.lower()]
        lacking += [name for name in files if not (home / name).is_file()]
        if lacking:
            raise SystemExit(f"quiclab {step}: expected {', '.join(lacking)}, got\n{output}")
        measured.setdefault("first_figure_s", time.monotonic() - began)
    return {name: round(value, 1) for name, value in measured.items()}


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_symlink())


if __name__ == "__main__":
    main()
