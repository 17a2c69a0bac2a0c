"""The recipes for Rust of CONTRIBUTING are followed: their examples are applied to a copy of the tree and built.

The other recipes have examples that other tests run: a Python stack (`test_python_stacks.py`), a program
(`test_kernel_adapters.py`, which reads it from docs/adapters.md) and a study (`test_documents.py`, from
docs/write-a-study.md).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "examples" / "recipes"
#: The copy, and what cargo builds of it.
COPY, TARGET = ROOT / "target" / "recipes" / "tree", ROOT / "target" / "recipes" / "built"
# with other packages, dependencies would have other features and be built again
PACKAGES = ("-p", "quiclab-core", "-p", "quiclab-transport", "--lib")
# to optimise takes four times as long as the tests save
NOT_OPTIMISED = ("--config", 'profile.dev.package."*".opt-level=0')
PASSED = re.compile(r"test result: ok\. (\d+) passed")
PARTS = ("Cargo.toml", "Cargo.lock", "crates", "tunnel", "playground", "adapters")
# git looks for no repository around the copy
ENVIRONMENT = os.environ | {
    "GIT_CEILING_DIRECTORIES": str(COPY.parent),
    "CARGO_TARGET_DIR": str(TARGET),
    "CARGO_INCREMENTAL": "0",
    "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("recipes")]


@dataclass(frozen=True)
class Recipe:
    """An example, and the tests that have to cover it."""

    name: str
    tests: tuple[str, ...]


RECIPES = (
    Recipe("queue_discipline", ("queue::blue::tests::", "queue::tests::properties::")),
    Recipe("congestion_control", ("congestion::scalable::tests::", "congestion::")),
    Recipe("path_scheduler", ("scheduler::tests::the_window_with_the_most_room", "scheduler::tests::")),
)


def call(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy; its output is the message where it fails."""
    done = subprocess.run(
        command, cwd=COPY, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return done


@pytest.fixture(scope="module")
def patched() -> Path:
    """Return a copy of the tree with all examples, and the tests of its crates built."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, COPY / part, ignore=shutil.ignore_patterns("bin", "target", "__pycache__"))
        else:
            shutil.copy2(ROOT / part, COPY / part)
    for recipe in RECIPES:
        call("git", "apply", "--whitespace=error", str(EXAMPLES / f"{recipe.name}.patch"))
    call("cargo", "test", "--quiet", *NOT_OPTIMISED, *PACKAGES, "--no-run")
    return COPY


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_the_example_of_a_recipe_passes_its_tests(patched: Path, recipe: Recipe) -> None:
    assert patched.is_dir()
    for tests in recipe.tests:
        out = call("cargo", "test", "--quiet", *NOT_OPTIMISED, *PACKAGES, "--", tests).stdout
        assert set(PASSED.findall(out)) - {"0"}, f"no test has a name with {tests}"


def test_scenarios_need_no_change_for_the_examples(patched: Path) -> None:
    assert patched.is_dir()
    call("cargo", "check", "--quiet", *NOT_OPTIMISED, "-p", "quiclab-scenario")


def test_the_examples_apply_after_what_a_contributor_appends(tmp_path: Path) -> None:
    """A row at the end of each list is what a recipe asks for: it must not be where an example has its own."""
    ends = {
        "quiclab-core/src/element.rs": ('    Pie = "pie",\n', '    /// Mine.\n    Mine = "mine",\n'),
        "quiclab-core/src/queue.rs": ("    pie: Pie => PieQueue,\n", "    mine: Mine => MineQueue,\n"),
        "quiclab-core/src/scheduler.rs": ("mod weighted_round_robin;\n", "mod mine;\n"),
        "quiclab-transport/src/congestion.rs": ("pub mod newreno;\n", "pub mod mine;\n"),
    }
    shutil.copytree(ROOT / "crates", tmp_path / "crates", ignore=shutil.ignore_patterns("bin", "target"))
    for name, (end, mine) in ends.items():
        file = tmp_path / "crates" / name
        text = file.read_text(encoding="utf-8")
        assert end in text
        file.write_text(text.replace(end, end + mine), encoding="utf-8")
    git = shutil.which("git")
    assert git is not None
    for recipe in RECIPES:
        done = subprocess.run(
            [git, "apply", "--check", str(EXAMPLES / f"{recipe.name}.patch")],
            cwd=tmp_path,
            env=ENVIRONMENT | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_the_recipes_name_their_examples() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [recipe.name for recipe in RECIPES if f"examples/recipes/{recipe.name}.patch" not in text] == []
