"""The version of a release stands in many files, and is the same in all (`tools/release.py`)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import quiclab
from conftest import ROOT, tool
from quiclab.experiment.identity import OWN_STACKS, stack_version
from quiclab.stacks import catalogue

release = tool("release")
FILES = sorted({place.file for place in (release.SOURCE, *release.PLACES)} | {"CHANGELOG.md", "codemeta.json"})
VERSION, DAY = "9.8.7", "2031-02-03"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The files that state the version, written for a release."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("Cargo.toml", "pyproject.toml", "CITATION.cff"):  # no address of the repository
        text = (tmp_path / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(re.sub(r"(?mi)^repository(-code)? ?[=:].*\n", "", text), encoding="utf-8")
    release.write(VERSION, DAY, tmp_path)
    return tmp_path


def test_all_files_state_one_version() -> None:
    assert release.disagreements() == []
    assert release.SOURCE.found(ROOT) == [quiclab.__version__], "`make setup` builds the extension of this version"


def test_a_version_is_written_everywhere(root: Path) -> None:
    assert release.disagreements(root) == []
    assert {version for place in (release.SOURCE, *release.PLACES) for version in place.found(root)} == {VERSION}
    assert release.releases((root / "CHANGELOG.md").read_text())[0] == (VERSION, DAY)
    assert json.loads((root / "codemeta.json").read_text())["dateModified"] == DAY
    before = {name: (root / name).read_bytes() for name in FILES}
    release.write(VERSION, "2031-02-04", root)
    assert {name: (root / name).read_bytes() for name in FILES} == before, "the day is that of the changelog"


@pytest.mark.parametrize("name", ["Cargo.lock", "uv.lock"])
def test_packages_of_others_keep_their_versions(root: Path, name: str) -> None:
    before, after = (tomllib.loads((folder / name).read_text())["package"] for folder in (ROOT, root))
    changed = [old["name"] for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [package["name"] for package in before if package["name"].startswith("quiclab")]


@pytest.mark.parametrize("place", release.PLACES, ids=lambda place: f"{place.file} {place.field}")
def test_a_place_with_another_version_is_named(root: Path, place: object) -> None:
    assert isinstance(place, release.Place)
    place.write(root, "0.0.1")
    assert f"{place.file}: {place.field}: expected {VERSION}, got 0.0.1" in release.disagreements(root)


def test_changelog_dates_and_addresses_are_compared(root: Path) -> None:
    for name, old, new in (
        ("CHANGELOG.md", f"## {VERSION}", "## 9.8.6"),
        ("CITATION.cff", DAY, "2031-02-05"),
        ("Cargo.toml", "[workspace.package]", '[workspace.package]\nrepository = "https://example.org/quiclab"'),
    ):
        path = root / name
        path.write_text(path.read_text().replace(old, new))
    assert release.disagreements(root)[-4:] == [
        f"CHANGELOG.md: newest release: expected {VERSION}, got 9.8.6",
        f"CITATION.cff: date-released: expected {DAY}, got 2031-02-05",
        "pyproject.toml: project.urls.Repository: expected https://example.org/quiclab, got none",
        "CITATION.cff: repository-code: expected https://example.org/quiclab, got none",
    ]


def test_a_release_needs_changes_an_address_and_its_own_commit(root: Path) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True)  # noqa: S607

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "without an address")
    (line,) = release.unready(root)
    assert line.startswith("Cargo.toml: workspace.package.repository: expected")
    cargo, changelog = root / "Cargo.toml", root / "CHANGELOG.md"
    cargo.write_text(cargo.read_text().replace("[workspace.package]", '[workspace.package]\nrepository = "https://a"'))
    (line,) = release.unready(root)
    assert line.startswith("checkout: expected no change that is not committed, got 1, such as M Cargo.toml")
    git("tag", f"v{VERSION}")
    git("commit", "--quiet", "--all", "--message", "with it")
    (line,) = release.unready(root)
    assert line.startswith(f"tag v{VERSION}: expected this commit")
    git("tag", "--force", f"v{VERSION}")
    assert release.unready(root, f"v{VERSION}") == release.unready(root) == []
    assert release.unready(root, "v9.8.8") == [f"tag: expected v{VERSION}, got v9.8.8"]
    changelog.write_text(f"# Changelog\n\n## {VERSION} ({DAY})\n\n## 0.0.1 (2030-01-01)\n\n- A change.\n")
    git("commit", "--quiet", "--all", "--amend", "--message", "nothing in the changelog")
    git("tag", "--force", f"v{VERSION}")
    (line,) = release.unready(root)
    assert line.startswith("CHANGELOG.md: expected a section")


def test_the_citation_has_the_licence_and_the_authors() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert " OR ".join(citation["license"]) == project["license"]
    licence = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8")
    assert all(author["name"].removeprefix("The ") in licence for author in citation["authors"])


def test_the_paper_cites_what_it_lists() -> None:
    text, entries = ((ROOT / "paper" / name).read_text(encoding="utf-8") for name in ("paper.md", "paper.bib"))
    assert set(re.findall(r"@(\w+)[;\]]", text)) == set(re.findall(r"^@\w+\{(\w+),", entries, flags=re.M))
    heading = yaml.safe_load(text.split("---\n")[1])
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert [author["name"] for author in heading["authors"]] == [author["name"] for author in citation["authors"]]
    # results are on pages that are generated
    assert re.findall(r"\d+(?:\.\d+)? ?(?:%|[MG]bit/s|ms|packets)", text) == []


def test_a_release_that_computes_the_same_uses_stored_runs() -> None:
    """No identity of a run contains the version of quiclab, which changes at each release."""
    own = {stack["name"] for stack in catalogue() if stack["version"] == quiclab.__version__}
    assert own == OWN_STACKS.keys()
    assert {(stack_version(name) or "").partition("+")[0] for name in own} == set(OWN_STACKS.values())
