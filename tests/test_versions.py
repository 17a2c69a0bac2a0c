"""The version of results: while it is the same, so is the digest of every run."""

from __future__ import annotations

import json

import pytest

import quiclab
from conftest import ROOT
from quiclab.identity import RESULTS
from quiclab.stacks import catalogue

RECORDED = ROOT / "tests" / "data" / "digests.json"
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))


def digests() -> dict[str, str]:
    """Return the digest of each scenario of the repository with the seed 1."""
    return {path.name: quiclab.run(quiclab.load(path), seed=1).digest for path in SCENARIOS}


def test_digests_change_only_with_the_version_of_results() -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    known = {str(stack["name"]): str(stack["version"]) for stack in catalogue()}
    versions = {name: known[name] for name in recorded["stacks"]}
    if recorded["stacks"] != versions:
        pytest.skip(f"the digests were recorded with {recorded['stacks']}, these stacks are {versions}")
    found = digests()
    changed = [name for name, digest in found.items() if recorded["digests"].get(name) != digest]
    same_version = recorded["version"] == RESULTS
    assert same_version, f"version {RESULTS} is not recorded: `python tools/record_digests.py`"
    assert not changed, (
        f"{', '.join(changed)} have other digests: raise RESULTS in python/quiclab/identity.py, so that stored runs "
        "are made again, then run `python tools/record_digests.py`"
    )
