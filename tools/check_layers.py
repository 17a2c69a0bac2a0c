"""Checks that imports point downwards only (ARCHITECTURE.md, section "Layers").

Between crates their manifests are compared, within crates the modules (`layers/graph.py` has the rule).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from layers import graph, rust

ROOT = Path(__file__).resolve().parent.parent
#: Layer of each crate; a crate may depend on crates of lower layers only.
CRATES = {
    "quiclab-core": 0,
    "quiclab-config": 1,
    "quiclab-transport": 1,
    "quiclab-connect-ip": 1,
    "quiclab-scenario": 2,
    "quiclab-stacks": 2,
    "quiclab-trace": 3,
    "quiclab-carrier": 3,
    "quiclab-sim": 4,
    "quiclab-live": 5,
    # a product beside the program of the lab: neither may use the other
    "quiclab-tunnel": 6,
    "quiclab-py": 6,
    "quiclab-fuzz": 7,
}
#: Folders of crates.
FOLDERS = ("crates", "tunnel/crates")
#: Crates without clock, I/O, threads: their clippy.toml forbids these.
PURE = ("quiclab-core", "quiclab-config", "quiclab-transport", "quiclab-scenario", "quiclab-connect-ip")


def main() -> int:
    """Print each forbidden arrow; the exit code is 1 if there is one."""
    wrong = [*wrong_crates(), *wrong_modules(), *wrong_python()]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"layers: {'wrong' if wrong else 'imports point downwards only'}")
    return bool(wrong)


def folders() -> list[Path]:
    """Return the folder of each crate."""
    return sorted(path.parent for folder in FOLDERS for path in ROOT.glob(f"{folder}/*/Cargo.toml"))


def wrong_crates() -> Iterator[str]:
    """Arrows between crates that do not point down, and pure crates without their lint."""
    for folder in folders():
        manifest, crate = folder / "Cargo.toml", folder.name
        if crate not in CRATES:
            yield f"{crate}: has no layer in tools/check_layers.py; give it one of 0 to {max(CRATES.values())}"
            continue
        table = tomllib.loads(manifest.read_text())
        for dependency in table.get("dependencies", {}):
            if dependency in CRATES and CRATES[dependency] >= CRATES[crate]:
                yield f"{crate}: depends on {dependency}, which is not below it"
        if crate in PURE and not (folder / "clippy.toml").exists():
            yield f"{crate}: is pure, but has no clippy.toml that forbids clocks and threads"


def wrong_modules() -> Iterator[str]:
    """Cycles among the modules of each crate."""
    for crate in folders():
        for root in ("lib.rs", "main.rs"):
            if (file := crate / "src" / root).exists():
                yield from graph.cycles(crate.name, rust.references(file, ROOT))


def wrong_python() -> Iterator[str]:
    """Python files of the lab that import studies, and those of studies that import something private of the lab."""
    for file in sorted((ROOT / "python").rglob("*.py")):
        if re.search(r"^\s*(from|import) quiclab_studies\b", file.read_text(), re.MULTILINE):
            yield f"{file.relative_to(ROOT)}: imports a study, which is above it"
    for file in sorted((ROOT / "studies").rglob("*.py")):
        if match := re.search(r"^\s*(from|import) (quiclab\.(.*[. ])?_.*)$", file.read_text(), re.MULTILINE):
            yield f"{file.relative_to(ROOT)}: imports {match[2]}, which is private"


if __name__ == "__main__":
    sys.exit(main())
