"""The layer check finds cycles between modules, and only those (tools/check_layers.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import check_layers
from conftest import ROOT
from layers import graph, rust


def rust_cycles(folder: Path, files: dict[str, str]) -> list[str]:
    """The cycles that the check finds in a crate of these files."""
    for name, text in files.items():
        file = folder / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return list(graph.cycles("crate", rust.references(folder / "src" / "lib.rs", folder)))


def test_a_cycle_is_reported_with_a_place_for_each_arrow(tmp_path: Path) -> None:
    found = rust_cycles(
        tmp_path,
        {
            "lib.rs": "mod a; mod b; mod c;",
            "a.rs": "// the next line is the arrow\nuse crate::{c, b::{self, Thing}};",
            "b.rs": "pub struct Thing;\n\nfn f() {\n    super::a::g()\n}",
            "c.rs": "",
        },
    )
    assert found == [
        "crate: modules depend on each other: a, b",
        "    a -> b: src/a.rs:2",
        "    b -> a: src/b.rs:4",
    ]


def test_names_lead_to_the_module_that_defines_them(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a; mod b; mod names; pub use a::Thing; use names::*;",
        "a.rs": "pub struct Thing; use super::Name;",
        "b.rs": 'use crate::Thing; #[serde(with = "crate::a::text")] struct B;',
        "names.rs": "mod inner; pub use inner::Name;",
        "names/inner.rs": "pub struct Name; use crate::a;",
    }
    assert [line.split(": src")[0].strip() for line in rust_cycles(tmp_path, files)] == [
        "crate: modules depend on each other: a, names",
        "a -> names",
        "names -> a",
    ]


@pytest.mark.parametrize(
    "code",
    [
        "#[cfg(test)]\nmod tests { use crate::b; }",
        '#[cfg(test)]\n#[path = "a_tests.rs"]\nmod tests;',
        "#[cfg(test)]\nuse crate::b::X;",
        "// crate::b::X\n/* crate::b::X */",
        'const TEXT: &str = "see crate::b::X";',
        "pub(in crate::b) struct X;",
        "use other::b::X;",
    ],
)
def test_tests_comments_and_other_crates_make_no_arrow(tmp_path: Path, code: str) -> None:
    assert rust_cycles(tmp_path, {"lib.rs": "mod a; mod b;", "a.rs": code, "b.rs": "use crate::a::A;"}) == []
    used = {"lib.rs": "mod a; mod b;", "a.rs": code + "\nuse crate::b::X;", "b.rs": "use crate::a::A;"}
    assert len(rust_cycles(tmp_path, used)) == 3


def test_parent_and_child_may_use_each_other(tmp_path: Path) -> None:
    files = {
        "lib.rs": "pub struct Top; mod a; use a::A;",
        "a.rs": "mod left; mod right; pub struct A; use left::L; use right::R; use crate::Top;",
        "a/left.rs": "use super::A; pub struct L;",
        "a/right.rs": "use crate::a::{A, left::L}; pub struct R;",
    }
    assert rust_cycles(tmp_path, files) == []
    assert rust_cycles(tmp_path, files | {"a/left.rs": "use super::right::R; pub struct L;"}) == [
        "crate/a: modules depend on each other: left, right",
        "    left -> right: src/a/left.rs:1",
        "    right -> left: src/a/right.rs:1",
    ]


def test_the_imports_of_this_tree_point_downwards() -> None:
    wrong = [*check_layers.wrong_crates(), *check_layers.wrong_modules(), *check_layers.wrong_python()]
    assert wrong == []


def test_packages_of_the_table_are_those_of_the_check_from_above() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## The Python package")[1]
    cells = re.findall(r"^\| `(\w+)/?` \|", text.split("\n## ")[0], re.MULTILINE)
    assert cells == list(reversed(check_layers.PACKAGES))


PYTHON = {
    "python/quiclab/result/a.py": "def f():\n    from quiclab.study import Study\n",
    "python/quiclab/study/b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from quiclab import cli\n",
    "python/quiclab/report/c.py": "from quiclab.study import Study\nimport quiclab_studies.tunnel\n",
    "python/quiclab/other.py": "",
    "studies/quiclab_studies/d.py": "from quiclab import _base\nfrom quiclab.study import Study\n",
    "studies/quiclab_studies/e.py": "from quiclab._base.files import hash_of\n",
}


def test_imports_of_python_packages_point_downwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in PYTHON.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(check_layers, "ROOT", tmp_path)
    assert list(check_layers.wrong_python()) == [
        "python/quiclab/report/c.py:2: imports a study, which is above it",
        "python/quiclab/result/a.py:2: result imports quiclab.study.Study, which is above it",
        "python/quiclab/study/b.py:3: study imports quiclab.cli, which is above it",
        "python/quiclab/other: has no layer in tools/check_layers.py",
        "studies/quiclab_studies/d.py:1: imports quiclab._base, which is private",
        "studies/quiclab_studies/e.py:1: imports quiclab._base.files.hash_of, which is private",
    ]
