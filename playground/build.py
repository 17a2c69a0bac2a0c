"""Builds the playground: the WebAssembly module, and one static page with everything in it.

`make playground` calls it. The page is dist/playground.html; it opens from a file and requests nothing.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
PATHS = ROOT / "python/quiclab/scenario/paths"
#: Modules of the page, each after those that it imports.
MODULES = (
    *("quantity", "choices", "settings", "recording", "engine", "chart", "controls", "sequence"),
    *("form", "panels", "side", "player", "lessons", "outcome", "main"),
)
TARGET = "wasm32-unknown-unknown"
INSTALL = "rustc-web cargo-web rust-web-src lld-22"
#: Crates whose code runs for each packet: they are optimised for speed, all others for size.
FAST = ("quiclab-core", "quiclab-transport", "quiclab-sim")
#: Longest page.
MAX_BYTES = 3_000_000


class BuildError(Exception):
    """Something is missing; the message is a sentence that says what to do."""


def compiler() -> tuple[dict[str, str], list[str]]:
    """Return the environment and the options with which cargo builds for wasm32.

    By the Rust of this machine if it has the library for wasm32, else by Debian's with the source of the library.
    """
    size = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "s", "CARGO_PROFILE_RELEASE_PANIC": "abort"}
    if usual := shutil.which("rustc"):
        command = [usual, "--print", "target-libdir", "--target", TARGET]
        if Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()).is_dir():
            return os.environ | size, []
    rustc, cargo = Path("/usr/bin/rustc"), Path("/usr/bin/cargo")
    source = Path("/usr/lib/rustlib/src/rust/library/std/Cargo.toml")
    linkers = sorted(Path("/usr/bin").glob("wasm-ld-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    if not (rustc.exists() and cargo.exists() and source.exists() and linkers):
        raise BuildError(
            f"Rust for browsers is missing: `rustup target add {TARGET}`, or on Debian `apt-get install {INSTALL}`."
        )
    debian = {
        "PATH": f"/usr/bin:{os.environ['PATH']}",
        "RUSTC": str(rustc),
        # -Zbuild-std, with a compiler that is released
        "RUSTC_BOOTSTRAP": "1",
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER": linkers[-1].name,
    }
    return os.environ | size | debian, ["-Zbuild-std=std,panic_abort"]


def build_module(target: Path) -> bytes:
    """Compile the module; `target` is the folder of cargo."""
    environment, options = compiler()
    command = ["cargo", "build", "--release", "--locked", "--target", TARGET, "--package", "quiclab-wasm"]
    command += [*options, "--target-dir", str(target)]
    for crate in FAST:
        command += ["--config", f"profile.release.package.{crate}.opt-level=3"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    module = target / TARGET / "release/quiclab_wasm.wasm"
    if optimiser := shutil.which("wasm-opt"):
        small = module.with_suffix(".small")
        features = ["--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-sign-ext"]
        features += ["--enable-mutable-globals", "--enable-multivalue", "--enable-reference-types"]
        done = subprocess.run([optimiser, "-O2", "--strip-debug", *features, module, "-o", small], check=False)
        if done.returncode == 0:
            module = small
    return module.read_bytes()


def joined_script() -> str:
    """Return the modules of the page as one script: each is a function that returns what the module exports."""
    parts = []
    for name in MODULES:
        text = (FOLDER / f"page/{name}.js").read_text()
        exports = re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", text, flags=re.MULTILINE)
        text = re.sub(
            r"^import (\{[^}]*\}) from \"\./(\w+)\.js\";$", r"const \1 = \2_module;", text, flags=re.MULTILINE
        )
        text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        parts.append(f"const {name}_module = (() => {{\n{text}return {{ {', '.join(exports)} }};\n}})();")
    return "\n".join(parts)


def networks() -> dict[str, dict[str, str]]:
    """Return the named paths: text and description by the name that scenarios use."""
    found = {}
    for file in sorted(PATHS.glob("*.toml")):
        text = file.read_text()
        found[f"paths/{file.stem}"] = {"text": text, "description": tomllib.loads(text)["description"]}
    return found


def lessons() -> list[dict[str, object]]:
    """Return the lessons in the order of their files."""
    return [tomllib.loads(file.read_text()) for file in sorted((FOLDER / "lessons").glob("*.toml"))]


def build_page(module: bytes) -> str:
    """Return the page with the module and all data in it."""

    def embed(text: str) -> str:
        if "</script" in text.lower():
            raise BuildError("a part of the page contains the end of a script element")
        return text

    def embed_json(value: object) -> str:
        return embed(json.dumps(value).replace("<", "\\u003c"))

    parts = {
        "style": (FOLDER / "page/style.css").read_text(),
        "worker": embed((FOLDER / "page/worker.js").read_text()),
        "module": base64.b64encode(gzip.compress(module, 9, mtime=0)).decode(),
        "networks": embed_json(networks()),
        "lessons": embed_json(lessons()),
        "script": embed(joined_script()),
    }
    page = (FOLDER / "page/index.html").read_text()
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page)


def main() -> int:
    """Build; the exit code is 1 if something is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist/playground.html", help="the page")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "playground"
    parser.add_argument("--target", type=Path, default=target, help="folder of cargo")
    parser.add_argument("--module", type=Path, help="use this module instead of building one")
    arguments = parser.parse_args()
    try:
        module = arguments.module.read_bytes() if arguments.module else build_module(arguments.target)
        page = build_page(module).encode()
        if len(page) > MAX_BYTES:
            raise BuildError(f"page: expected at most {MAX_BYTES} B, got {len(page)} B")
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_bytes(page)
    print(f"{arguments.out}: {len(page)} B, of which the module {len(module)} B before compression")
    return 0


if __name__ == "__main__":
    sys.exit(main())
