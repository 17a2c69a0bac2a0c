"""Workflows and forms of issues: they parse, name what exists, and have no more rights than they need."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE/config.yml"})
CONTAINER = ROOT / ".devcontainer/devcontainer.json"
TARGETS = {
    target
    for makefile in ("Makefile", "tunnel/tunnel.mk")
    for target in re.findall(r"^\.PHONY: (.+)$", (ROOT / makefile).read_text(encoding="utf-8"), flags=re.M)
    for target in target.split()
} | {".tools/bin/uv"}
#: Rights that a job may have beyond reading the checkout: those of publishing.
RIGHTS = {"pages": "write", "id-token": "write", "attestations": "write"}


def document(path: Path) -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in document(path)["jobs"].values():
        yield from job["steps"]


def missing(command: str) -> list[str]:
    """Targets of make and files of the repository that a command names and that do not exist."""
    targets = [
        word
        for words in re.findall(r"(?:^|[;&|]) *make((?: +[^\s;&|]+)+)", command, flags=re.M)
        for word in words.split()
        if "=" not in word and word not in TARGETS
    ]
    folders = "|".join(sorted({path.name for path in ROOT.iterdir() if path.is_dir()} - {"results", "dist", "target"}))
    files = re.findall(rf"(?<![\w./])(?:{re.escape('.ci')}|{folders})/[\w./-]+", command)
    made = (".venv/", ".tools/")
    return targets + [file for file in files if not file.startswith(made) and not (ROOT / file).exists()]


def test_what_does_not_exist_is_found() -> None:
    assert missing("make nothing TAG=x && python tools/no_such.py dist/*.whl\nmake setup check") == [
        "nothing",
        "tools/no_such.py",
    ]
    assert missing("make .tools/bin/uv PYTHON=python\n.ci/run") == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_commands_and_paths_of_workflows_exist(path: Path) -> None:
    commands = [step["run"] for step in steps(path) if "run" in step]
    assert commands
    assert [name for command in commands for name in missing(command)] == []
    triggers = document(path)[True]  # YAML 1.1 reads `on` so
    for pattern in (triggers.get("pull_request") or {}).get("paths", ()):
        assert any(ROOT.glob(pattern)), pattern


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_no_more_rights_than_they_need(path: Path) -> None:
    workflow = document(path)
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert job["permissions"].items() <= (RIGHTS | {"contents": "read"}).items(), name
        assert job["timeout-minutes"] <= 360, name
    for step in steps(path):
        # what is inserted by `${{ }}` is code; a variable is not
        assert "${{" not in step.get("run", "")
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_each_action_has_one_commit_and_names_its_version() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    found = set(re.findall(r"uses: (\S+)@(\S+)(.*)$", text, flags=re.M))
    assert len({name for name, *_ in found}) == len(found)
    for name, commit, version in found:
        assert re.fullmatch(r"[0-9a-f]{40}", commit), name
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", version), name


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_ask_for_what_an_answer_needs(path: Path) -> None:
    form = document(path)
    assert form.keys() == {"name", "description", "labels", "body"}
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert all(part["attributes"]["label"] for part in asked)
    assert len({part["id"] for part in asked}) == len(asked)
    assert any(part.get("validations", {}).get("required") for part in asked)


def test_the_development_container_builds_with_a_target_that_exists() -> None:
    assert missing(json.loads(CONTAINER.read_text(encoding="utf-8"))["postCreateCommand"]) == []
