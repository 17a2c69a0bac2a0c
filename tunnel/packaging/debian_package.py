"""Build the Debian package of quiclab-tunnel with dpkg-deb; the version is that of the workspace in Cargo.toml.

python tunnel/packaging/debian_package.py --program target/release/quiclab-tunnel --out dist
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

PACKAGING = Path(__file__).resolve().parent
ROOT = PACKAGING.parents[1]
#: Where each shell looks for completions of installed programs.
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/quiclab-tunnel",
    "zsh": "usr/share/zsh/vendor-completions/_quiclab-tunnel",
    "fish": "usr/share/fish/vendor_completions.d/quiclab-tunnel.fish",
}
DOCUMENTATION = "usr/share/doc/quiclab-tunnel"
#: Files as they are, with their place.
FILES = {
    PACKAGING / "sysusers.conf": "usr/lib/sysusers.d/quiclab-tunnel.conf",
    PACKAGING / "examples" / "server.toml": f"{DOCUMENTATION}/examples/server.toml",
    PACKAGING / "examples" / "client.toml": f"{DOCUMENTATION}/examples/client.toml",
    PACKAGING / "container" / "Containerfile": f"{DOCUMENTATION}/examples/Containerfile",
    PACKAGING / "container" / "compose.yaml": f"{DOCUMENTATION}/examples/compose.yaml",
    PACKAGING / "grafana" / "quiclab-tunnel.json": f"{DOCUMENTATION}/grafana.json",
}
#: Pages, each with its place in the package: those of the tunnel, and those that they refer to.
PAGES = {
    f"tunnel/docs/{name}.md": f"{name}.md"
    for name in ("tunnel", "operation", "router", "protocol", "faults", "benchmark")
} | {
    f"docs/{name}.md": f"{name}.md"
    for name in (
        "reference/vpn",
        "reference/scenario",
        "decisions/0149-repair-in-tunnels",
        "decisions/0151-connect-ip",
    )
}
LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")
SCRIPTS = ("postinst", "prerm", "postrm")


def version() -> str:
    """Return the version of the workspace."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    return str(manifest["workspace"]["package"]["version"])


def dependencies(program: bytes) -> str:
    """Return what the program is linked with: nothing, or the C library with the latest of its symbols."""
    symbols = [tuple(map(int, match)) for match in re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", program)]
    if not symbols:
        return ""
    major, minor = max(symbols)
    return f"Depends: libc6 (>= {major}.{minor}), libgcc-s1\n"


def control(program: bytes, size: int) -> str:
    """Return the control file of a package whose files have so many bytes."""
    command = ["dpkg", "--print-architecture"]
    architecture = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return (
        f"Package: quiclab-tunnel\nVersion: {version()}\nArchitecture: {architecture}\n"
        "Maintainer: quiclab developers <quiclab@localhost>\nSection: net\nPriority: optional\n"
        # in KiB (deb-control(5))
        f"Installed-Size: {-(-size // 1024)}\n"
        f"{dependencies(program)}Recommends: iproute2\nSuggests: nftables\n"
        "Description: VPN over several paths, with FQ-CoDel in front of them\n"
        " Carries IP packets between two hosts in QUIC datagrams over all uplinks at the same\n"
        " time. A download does not delay a call, and a path that fails interrupts nothing.\n"
    )


def copyright_text() -> str:
    """Return who may do what."""
    return (
        "quiclab-tunnel is a part of quiclab, under the Apache License 2.0 or the MIT license, as you choose.\n"
        "The former is /usr/share/common-licenses/Apache-2.0; the latter:\n\n" + (ROOT / "LICENSE-MIT").read_text()
    )


def packaged(source: str, made: Mapping[str, str]) -> str:
    """Return a page as the package has it: its links lead to the places of the other pages.

    `made` has the text of pages that are not in the repository.
    """

    def link(found: re.Match[str]) -> str:
        place = PAGES.get(os.path.normpath(Path(source).parent / found[1]))
        if place is None:
            return found[0]
        return f"]({os.path.relpath(place, Path(PAGES[source]).parent)}{found[2] or ''})"

    return LINK.sub(link, made.get(source) or (ROOT / source).read_text())


def stage(program: Path, root: Path, made: Mapping[str, str]) -> None:
    """Write the files of the package below `root`; `made` as of `packaged`."""

    def place(name: str, content: bytes, mode: int = 0o644) -> None:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode)

    place("usr/bin/quiclab-tunnel", program.read_bytes(), 0o755)
    for source, name in FILES.items():
        place(name, source.read_bytes())
    for document, name in PAGES.items():
        place(f"{DOCUMENTATION}/{name}", packaged(document, made).encode())
    for unit in sorted((PACKAGING / "systemd").iterdir()):
        text = unit.read_text().replace("/usr/local/bin/", "/usr/bin/")
        place(f"usr/lib/systemd/system/{unit.name}", text.encode())
    place(f"{DOCUMENTATION}/copyright", copyright_text().encode())
    place(f"{DOCUMENTATION}/changelog.gz", gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0))
    for shell, name in COMPLETIONS.items():
        command: list[str | Path] = [program, "completions", shell]
        place(name, subprocess.run(command, check=True, capture_output=True).stdout)
    with tempfile.TemporaryDirectory() as pages:
        subprocess.run([program, "man", pages], check=True)
        for page in sorted(Path(pages).iterdir()):
            place(f"usr/share/man/man8/{page.name}.gz", gzip.compress(page.read_bytes(), mtime=0))
    # of the package, so that it goes with it when it is empty
    (root / "etc/quiclab-tunnel").mkdir(parents=True)
    size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file())
    place("DEBIAN/control", control(program.read_bytes(), size).encode())
    for script in SCRIPTS:
        place(f"DEBIAN/{script}", (PACKAGING / "debian" / script).read_bytes(), 0o755)


def build(program: Path, out: Path, made: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Build the package in the folder `out`, and return its file; `made` as of `packaged`."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "package"
        root.mkdir(mode=0o755)
        stage(program, root, made)
        for file in [root, *root.rglob("*")]:
            if file.is_dir():
                file.chmod(0o755)
        environment = {"SOURCE_DATE_EPOCH": "0", **os.environ}
        build_package: list[str | Path] = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, out]
        subprocess.run(build_package, check=True, stdout=subprocess.DEVNULL, env=environment)
    (package,) = out.glob(f"quiclab-tunnel_{version()}_*.deb")
    return package


def main() -> None:
    """Build the package that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="the program, built for this machine")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the package")
    arguments = parser.parse_args()
    if shutil.which("dpkg-deb") is None:
        sys.exit("dpkg-deb is missing: packages are built on Debian or Ubuntu")
    if not arguments.program.is_file():
        sys.exit(f"--program: expected a file, got {arguments.program}")
    subprocess.run(["make", "reference"], cwd=ROOT, check=True)  # noqa: S607 - the one in the path
    print(build(arguments.program.resolve(), arguments.out))


if __name__ == "__main__":
    main()
