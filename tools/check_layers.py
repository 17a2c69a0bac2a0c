"""Checks that imports point downwards only (ARCHITECTURE.md, section "Layers").

Between crates their manifests are compared, within crates the modules (`layers/graph.py` has the rule), and in Python
the imports of packages.
"""

from __future__ import annotations

import ast
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
    "quiclab-wasm": 6,
    "quiclab-fuzz": 7,
}
#: Folders of crates.
FOLDERS = ("crates", "tunnel/crates", "playground/crates")
#: Packages of python/quiclab: each imports only those before it, in functions and for types as well.
PACKAGES = (
    *("errors", "_base", "stacks", "scenario", "result", "lane", "experiment", "study"),
    *("report", "analysis", "sources", "cli"),
)
#: The package of the studies, which import public names of the lab only.
STUDIES = "quiclab_studies"
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
    """Find imports of the lab that do not point down, and imports of studies of private names of the lab."""
    package = ROOT / "python" / "quiclab"
    for file in sorted(package.rglob("*.py")):
        own = file.relative_to(package).parts[0].removesuffix(".py")
        for line, module in imported(file):
            place, (top, *rest) = f"{file.relative_to(ROOT)}:{line}", module.split(".")
            if top == STUDIES:
                yield f"{place}: imports a study, which is above it"
            elif top == "quiclab" and rest[:1] and {own, rest[0]} <= {*PACKAGES} and above(rest[0], own):
                yield f"{place}: {own} imports {module}, which is above it"
    tops = {path.name.removesuffix(".py") for path in package.iterdir() if path.suffix in (".py", "")}
    for name in sorted(tops - {*PACKAGES, "__init__", "__main__", "__pycache__"}):
        yield f"python/quiclab/{name}: has no layer in tools/check_layers.py"
    for file in sorted((ROOT / "studies").rglob("*.py")):
        for line, module in imported(file):
            if module.startswith("quiclab.") and "._" in module:
                yield f"{file.relative_to(ROOT)}:{line}: imports {module}, which is private"


def above(one: str, other: str) -> bool:
    """Whether a package of the lab is above another one."""
    return PACKAGES.index(one) > PACKAGES.index(other)


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """List line and module of each import, with the imported name; those in functions and of types, too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


if __name__ == "__main__":
    sys.exit(main())
