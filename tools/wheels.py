"""Builds the wheels of quiclab, and checks what indexes and users require of them.

    make wheels                          # for Linux, on all processors
    make wheels PROCESSORS=aarch64       # on one of them
    python tools/wheels.py --native      # for machines like this one, by its own compiler: macOS, too

zig compiles and links for any Linux of 2014 and later, with Rust's own libraries (`rustup target add TARGET`); it lacks
the frameworks of macOS. A wheel for Linux has the program of the kernel lane, quiclab-live; zig links it statically.
Each has the list of all crates in it (CycloneDX, PEP 770). There is none for musl, for which vl-convert has no wheel.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TOOLS: Final = Path(sys.executable).parent
#: What maturin installs beside Python; it finds the folder by the name of the extension.
SCRIPTS: Final = ROOT / "quiclab._quiclab.data" / "scripts"
LIVE: Final = "quiclab-live"
#: Where cargo builds.
TARGET: Final = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
PROCESSORS: Final = ("x86_64", "aarch64")
TAG: Final = "manylinux2014"
#: The same by its newer name (PEP 600), which auditwheel uses.
NEWER_TAG: Final = "manylinux_2_17"
MAX_WHEEL_BYTES: Final = 25_000_000


def main() -> None:
    """Build the wheels of the processors named on the command line."""
    parser = argparse.ArgumentParser(description="Build and check wheels of quiclab.")
    parser.add_argument("processors", nargs="*", metavar="PROCESSOR", help=f"{' or '.join(PROCESSORS)} (default: both)")
    parser.add_argument("--native", action="store_true", help="for machines like this one")
    parser.add_argument("--profile", default="release", help="profile of Cargo.toml (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    given = parser.parse_args()
    given.out = given.out.resolve()
    for processor in given.processors:
        if processor not in PROCESSORS:
            parser.error(f"PROCESSOR: expected one of {', '.join(PROCESSORS)}, got {processor}")
    chosen = [None] if given.native else given.processors or PROCESSORS
    for processor in filter(None, chosen):
        for libc in ("gnu", "musl"):
            check_target(linux(processor, libc))
    for processor in chosen:
        wheel = build(processor, given.profile, given.out)
        check(wheel, processor)
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)


def linux(processor: str, libc: str) -> str:
    """Return the target of rustc for Linux on a processor."""
    return f"{processor}-unknown-linux-{libc}"


def check_target(target: str) -> None:
    """End with advice if Rust's libraries for a target are missing."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    if not Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()).is_dir():
        raise SystemExit(f"Rust for {target} is missing: `rustup target add {target}`")


def build(processor: str | None, profile: str, out: Path) -> Path:
    """Build the wheel for a processor, or for this machine, and return it."""
    # cargo-zigbuild and maturin look for zig on PATH
    environment = os.environ | {"PATH": f"{TOOLS}:{os.environ['PATH']}"}

    def call(*command: str) -> None:
        subprocess.run(command, cwd=ROOT, env=environment, check=True)

    def of(libc: str) -> list[str]:
        return ["--quiet", "--profile", profile, *(["--target", linux(processor, libc)] if processor else [])]

    shutil.rmtree(SCRIPTS.parent, ignore_errors=True)
    try:
        if processor or sys.platform == "linux":
            call("cargo", "zigbuild" if processor else "build", *of("musl"), "-p", LIVE)
            SCRIPTS.mkdir(parents=True)
            shutil.copy2(TARGET.joinpath(linux(processor, "musl") if processor else "", profile, LIVE), SCRIPTS)
        before = set(out.glob("quiclab-*.whl"))
        call(
            "maturin", "build", *of("gnu"), *(["--zig", "--compatibility", TAG] if processor else []), "--out", str(out)
        )
    finally:
        shutil.rmtree(SCRIPTS.parent, ignore_errors=True)
    wheels = set(out.glob("quiclab-*.whl"))
    return max(wheels - before or wheels, key=lambda wheel: wheel.stat().st_mtime_ns)


def check(wheel: Path, processor: str | None) -> None:
    """End if a wheel lacks a part, is too large, or needs newer libraries than its name says."""
    names = zipfile.ZipFile(wheel).namelist()
    wanted = ["_quiclab", "cyclonedx.json", *([f"scripts/{LIVE}"] if "linux" in wheel.name else [])]
    if missing := [part for part in wanted if not any(part in name for name in names)]:
        raise SystemExit(f"{wheel.name}: expected {', '.join(missing)} in it")
    if (size := wheel.stat().st_size) > MAX_WHEEL_BYTES:
        raise SystemExit(f"{wheel.name}: expected at most {MAX_WHEEL_BYTES} B, got {size} B")
    if processor:
        shown = subprocess.run([TOOLS / "auditwheel", "show", wheel], capture_output=True, text=True, check=True).stdout
        if f'"{NEWER_TAG}_{processor}"' not in shown:
            raise SystemExit(f"{wheel.name}: expected {NEWER_TAG}_{processor}, but auditwheel says\n{shown}")


if __name__ == "__main__":
    main()
