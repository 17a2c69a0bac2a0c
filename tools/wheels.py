"""Builds the wheels of quiclab, and checks what indexes and users require of them.

    make wheels                                  # for all platforms
    make wheels TARGETS=aarch64-apple-darwin     # for one of them
    python tools/wheels.py --native              # for machines like this one, by its own compiler

zig compiles and links for other platforms, with Rust's own libraries (`rustup target add TARGET`). A wheel for Linux
has the program of the kernel lane, quiclab-live, linked statically. Each has the list of all crates in it (CycloneDX,
PEP 770).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TOOLS: Final = Path(sys.executable).parent
#: What maturin installs beside Python; it finds the folder by the name of the extension.
SCRIPTS: Final = ROOT / "quiclab._quiclab.data" / "scripts"
LIVE: Final = "quiclab-live"
MAX_WHEEL_BYTES: Final = 25_000_000


@dataclass(frozen=True)
class Platform:
    """A platform for which there is a wheel.

    Attributes
    ----------
    target
        Of the extension; None: that of this machine.
    live
        Target of quiclab-live.
    tag
        Start of the platforms in the name of the wheel.
    """

    target: str | None
    live: str | None
    tag: str

    @property
    def is_linux(self) -> bool:
        """Whether it has a kernel lane."""
        return "linux" in self.tag


PLATFORMS: Final = {
    "x86_64-unknown-linux-gnu": Platform("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "manylinux2014"),
    "aarch64-unknown-linux-gnu": Platform("aarch64-unknown-linux-gnu", "aarch64-unknown-linux-musl", "manylinux2014"),
    "x86_64-unknown-linux-musl": Platform("x86_64-unknown-linux-musl", "x86_64-unknown-linux-musl", "musllinux_1_2"),
    "aarch64-unknown-linux-musl": Platform("aarch64-unknown-linux-musl", "aarch64-unknown-linux-musl", "musllinux_1_2"),
    "aarch64-apple-darwin": Platform("aarch64-apple-darwin", None, "pypi"),
}
NATIVE: Final = Platform(None, None, "linux" if sys.platform == "linux" else "pypi")


def main() -> None:
    """Build the wheels of the targets named on the command line."""
    parser = argparse.ArgumentParser(description="Build and check wheels of quiclab.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(PLATFORMS)} (default: all)")
    parser.add_argument("--native", action="store_true", help="for machines like this one")
    parser.add_argument("--profile", default="release", help="profile of Cargo.toml (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    given = parser.parse_args()
    for target in given.targets:
        if target not in PLATFORMS:
            parser.error(f"TARGET: expected one of {', '.join(PLATFORMS)}, got {target}")
    chosen = [NATIVE] if given.native else [PLATFORMS[target] for target in given.targets or PLATFORMS]
    for target in sorted({target for platform in chosen for target in (platform.target, platform.live) if target}):
        check_target(target)
    for platform in chosen:
        wheel = build(platform, given.profile, given.out)
        check(wheel, platform)
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)


def check_target(target: str) -> None:
    """End with advice if Rust's libraries for a target are missing."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    if not Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()).is_dir():
        raise SystemExit(f"Rust for {target} is missing: `rustup target add {target}`")


def build(platform: Platform, profile: str, out: Path) -> Path:
    """Build a wheel and return it."""
    # cargo-zigbuild and maturin look for zig on PATH
    environment = os.environ | {"PATH": f"{TOOLS}:{os.environ['PATH']}"}

    def call(*command: str) -> None:
        subprocess.run(command, cwd=ROOT, env=environment, check=True)

    def of(target: str | None) -> list[str]:
        return ["--quiet", "--profile", profile, *(["--target", target] if target else [])]

    shutil.rmtree(SCRIPTS.parent, ignore_errors=True)
    try:
        if platform.is_linux:
            print(f"building {LIVE} for {platform.live or 'this machine'}", file=sys.stderr)
            call("cargo", "zigbuild" if platform.live else "build", *of(platform.live), "-p", LIVE)
            SCRIPTS.mkdir(parents=True)
            shutil.copy2(ROOT.joinpath("target", platform.live or "", profile, LIVE), SCRIPTS)
        print(f"building the wheel for {platform.target or 'this machine'}", file=sys.stderr)
        before = set(out.glob("quiclab-*.whl"))
        zig = ["--zig", "--compatibility", platform.tag] if platform.target else []
        call("maturin", "build", *of(platform.target), *zig, "--out", str(out))
    finally:
        shutil.rmtree(SCRIPTS.parent, ignore_errors=True)
    wheels = set(out.glob("quiclab-*.whl"))
    return max(wheels - before or wheels, key=lambda wheel: wheel.stat().st_mtime_ns)


def check(wheel: Path, platform: Platform) -> None:
    """End if a wheel lacks a part, is too large, or needs newer libraries than its name says."""
    names = zipfile.ZipFile(wheel).namelist()
    wanted = ["_quiclab", "cyclonedx.json", *([f"scripts/{LIVE}"] if platform.is_linux else [])]
    if missing := [part for part in wanted if not any(part in name for name in names)]:
        raise SystemExit(f"{wheel.name}: expected {', '.join(missing)} in it")
    if (size := wheel.stat().st_size) > MAX_WHEEL_BYTES:
        raise SystemExit(f"{wheel.name}: expected at most {MAX_WHEEL_BYTES} B, got {size} B")
    if platform.is_linux and platform.target:  # auditwheel knows wheels for Linux only
        shown = subprocess.run([TOOLS / "auditwheel", "show", wheel], capture_output=True, text=True, check=True).stdout
        tag = platform.tag.replace("manylinux2014", "manylinux_2_17")
        if f'"{tag}' not in shown:
            raise SystemExit(f"{wheel.name}: expected {tag}, but auditwheel says\n{shown}")


if __name__ == "__main__":
    main()
