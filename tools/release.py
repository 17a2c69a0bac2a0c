"""The version of a release: written and checked wherever it stands, from its one source in Cargo.toml.

    python tools/release.py set 0.2.0 [--date 2026-12-01]   write it everywhere, and date the changelog
    python tools/release.py check                           does everything state the same version?
    python tools/release.py check --release [--tag v0.2.0]  and is this commit ready to be published as that release?

`set` also writes the date of the release into CITATION.cff, from the changelog, and codemeta.json, from CITATION.cff
and pyproject.toml. A version has three numbers: cargo and Python write pre-releases differently.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parent.parent
VERSION: Final = r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
HEADING: Final = re.compile(rf"^## ({VERSION}) \((\d{{4}}-\d{{2}}-\d{{2}})\)$", re.M)
UNRELEASED: Final = "## Unreleased\n"


@dataclass(frozen=True)
class Place:
    """Where the version stands in a file.

    Attributes
    ----------
    file, field
        Its file and what it is there.
    pattern
        What precedes a version there and, as the second group, the version; every match counts.
    """

    file: str
    field: str
    pattern: str

    def found(self, root: Path) -> list[str]:
        """Return the versions there."""
        return [match[2] for match in self._expression().finditer((root / self.file).read_text(encoding="utf-8"))]

    def write(self, root: Path, version: str) -> None:
        """Write a version there."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        path.write_text(self._expression().sub(lambda match: match[1] + version, text), encoding="utf-8")

    def _expression(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.M)


SOURCE: Final = Place(
    "Cargo.toml", "workspace.package.version", r'(^\[workspace\.package\]\n(?:\w.*\n)*?version = ")([^"]*)'
)
DATE: Final = Place("CITATION.cff", "date-released", r"(^date-released: )(\S+)")
#: A package of this workspace has no `source` in the lock file of cargo, and is editable in that of uv.
PLACES: Final = (
    Place("Cargo.lock", "version of crates", r'(^name = "quiclab[\w-]*"\nversion = ")([^"]*)(?="\n(?!source))'),
    Place("pyproject.toml", "project.version", r'(^\[project\]\n(?:\w.*\n)*?version = ")([^"]*)'),
    Place("pyproject.toml", "project.dependencies", r'("quiclab-studies==)([^"]*)'),
    Place("studies/pyproject.toml", "project.version", r'(^\[project\]\n(?:\w.*\n)*?version = ")([^"]*)'),
    Place(
        "uv.lock", "version of packages", r'(^name = "quiclab[\w-]*"\nversion = ")([^"]*)(?="\nsource = \{ editable)'
    ),
    Place("CITATION.cff", "version", r"(^version: )(\S+)"),
)


def codemeta(root: Path) -> str:
    """Return codemeta.json (CodeMeta 3.0): what CITATION.cff and pyproject.toml say, in terms of schema.org."""
    citation: dict[str, Any] = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    released = citation.get("date-released")
    systems = [name.rpartition(" :: ")[2] for name in project["classifiers"] if name.startswith("Operating System")]
    document = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": citation["title"],
        "description": citation["abstract"].strip(),
        "version": str(citation["version"]),
        "dateModified": released and str(released),
        "author": [{"@type": "Organization", "name": author["name"]} for author in citation["authors"]],
        "license": [f"https://spdx.org/licenses/{name}" for name in citation["license"]],
        "keywords": citation["keywords"],
        "programmingLanguage": ["Rust", "Python"],
        "runtimePlatform": f"Python {project['requires-python']}",
        "operatingSystem": systems,
        "codeRepository": citation.get("repository-code"),
    }
    return json.dumps({key: value for key, value in document.items() if value}, indent=2, ensure_ascii=False) + "\n"


def releases(changelog: str) -> list[tuple[str, str]]:
    """Return version and date of the releases in a changelog, newest first."""
    return [(match[1], match[2]) for match in HEADING.finditer(changelog)]


def disagreements(root: Path = ROOT) -> list[str]:
    """Return where a file states something else than the source of the version, one line each."""
    (version,) = SOURCE.found(root)
    lines = []
    for place in PLACES:
        if not (found := place.found(root)):
            lines.append(f"{place.file}: {place.field}: expected {version}, found none")
        lines += [f"{place.file}: {place.field}: expected {version}, got {it}" for it in sorted({*found} - {version})]
    if (root / "codemeta.json").read_text(encoding="utf-8") != codemeta(root):
        lines.append(f"codemeta.json: expected what CITATION.cff and pyproject.toml say: {again(version)}")
    known = releases((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if known and known[0][0] != version:
        lines.append(f"CHANGELOG.md: newest release: expected {version}, got {known[0][0]}")
    if (dates := DATE.found(root)) != (wanted := [day for _, day in known[:1]]):
        lines.append(
            f"CITATION.cff: date-released: expected {', '.join(wanted) or 'none'}, got {', '.join(dates) or 'none'}"
        )
    address = repository(root)
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    for file, field, found in (
        ("pyproject.toml", "project.urls.Repository", project.get("urls", {}).get("Repository")),
        ("CITATION.cff", "repository-code", citation.get("repository-code")),
    ):
        if found != address:
            lines.append(f"{file}: {field}: expected {address or 'none'}, got {found or 'none'}")
    return lines


def repository(root: Path) -> str | None:
    """Return the address of the repository, as Cargo.toml has it; `None` if it has none."""
    package = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    address: str | None = package.get("repository")
    return address


def unready(root: Path = ROOT, tag: str | None = None) -> list[str]:
    """Return why this commit cannot be published as the release of its version, one line each.

    Parameters
    ----------
    root
        The checkout.
    tag
        The tag from which it is to be published; without it, one that exists must be that of this commit.
    """
    (version,) = SOURCE.found(root)
    lines = []
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = dict(zip((name for name, _ in releases(changelog)), HEADING.split(changelog)[3::3], strict=True))
    if not sections.get(version, "").strip():
        lines.append(
            f"CHANGELOG.md: expected a section `## {version} (DATE)` with changes, found none: {again(version)}"
        )
    if repository(root) is None:
        lines.append(
            "Cargo.toml: workspace.package.repository: expected the public address of the repository, got none"
        )
    expected = f"v{version}"
    if tag is not None and tag != expected:
        lines.append(f"tag: expected {expected}, got {tag}")
    here = git(root, "rev-parse", "HEAD")
    if (tagged := git(root, "rev-list", "--max-count=1", expected)) and tagged != here:
        lines.append(f"tag {expected}: expected this commit, {here[:12]}, got {tagged[:12]}")
    if changed := git(root, "status", "--porcelain").splitlines():
        lines.append(
            f"checkout: expected no change that is not committed, got {len(changed)}, such as {changed[0].strip()}"
        )
    return lines


def git(root: Path, *arguments: str) -> str:
    """Return what git prints; nothing if it fails, as for a tag that does not exist."""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)  # noqa: S607
    return done.stdout.strip() if done.returncode == 0 else ""


def again(version: str) -> str:
    """Return the command that writes everything anew."""
    return f"`make version VERSION={version}`"


def write(version: str, day: str, root: Path = ROOT) -> None:
    """Write a version everywhere, and its heading into the changelog unless it is there.

    Parameters
    ----------
    version, day
        The version, and the day of its release.
    root
        The checkout.
    """
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if (dated := dict(releases(text)).get(version)) is None:
        text = text.replace(UNRELEASED, f"{UNRELEASED}\n## {version} ({day})\n", 1)
        changelog.write_text(text, encoding="utf-8")
    for place in (SOURCE, *PLACES):
        place.write(root, version)
    citation = root / "CITATION.cff"
    lines = [
        line for line in citation.read_text(encoding="utf-8").splitlines() if not line.startswith(f"{DATE.field}:")
    ]
    lines.insert(lines.index(f"version: {version}") + 1, f"{DATE.field}: {dated or day}")
    citation.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (root / "codemeta.json").write_text(codemeta(root), encoding="utf-8")


def main() -> int:
    """Check or write; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    setting = commands.add_parser("set", help="write a version everywhere")
    setting.add_argument("version", help="three numbers, such as 0.2.0")
    setting.add_argument("--date", default=str(datetime.now(UTC).date()), help="day of the release (default: today)")
    checking = commands.add_parser("check", help="compare all places")
    checking.add_argument("--release", action="store_true", help="also check changelog, tag and checkout for a release")
    checking.add_argument("--tag", help="tag from which it is published")
    arguments = parser.parse_args()
    if arguments.command == "set":
        if not re.fullmatch(VERSION, arguments.version):
            parser.error(f"version: expected three numbers, such as 0.2.0, got {arguments.version}")
        try:
            date.fromisoformat(arguments.date)
        except ValueError:
            parser.error(f"--date: expected a day, such as 2026-12-01, got {arguments.date}")
        write(arguments.version, arguments.date)
    lines = disagreements() + (unready(tag=arguments.tag) if arguments.command == "check" and arguments.release else [])
    print("\n".join(lines) or f"quiclab {SOURCE.found(ROOT)[0]}: all files agree")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
