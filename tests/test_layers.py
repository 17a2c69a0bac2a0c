"""The layer check finds cycles between modules, and only those (tools/check_layers.py)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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
        "names/mod.rs": "mod inner; pub use inner::Name;",
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
        "a/mod.rs": "mod left; mod right; pub struct A; use left::L; use right::R; use crate::Top;",
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


def python_rows() -> list[list[str]]:
    """The packages of each row of the table of ARCHITECTURE.md, from above."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## The Python package")[1]
    cells = re.findall(r"^\| (`.+?) \|", text.split("\n## ")[0], re.MULTILINE)
    return [re.findall(r"`(\w+)/?`", cell) for cell in cells if not cell.startswith("package of")]


def imported(file: Path) -> Iterator[str]:
    """The packages of quiclab that a file imports, but for those of types alone."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    types = {child for guard in guards for node in guard.body for child in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in types and (node.module or "").startswith("quiclab"):
            package, _, rest = (node.module or "").partition(".")
            if package == "quiclab":
                yield from [rest.split(".")[0]] if rest else [alias.name for alias in node.names]


def test_the_table_of_python_packages_is_complete_and_imports_point_downwards() -> None:
    levels = {name: level for level, row in enumerate(python_rows()) for name in row}
    package = ROOT / "python" / "quiclab"
    tops = {path: path.relative_to(package).parts[0].removesuffix(".py") for path in sorted(package.rglob("*.py"))}
    named = {top for top in tops.values() if not top.startswith("_")}
    assert set(levels) == named
    upwards = [
        f"{path.relative_to(package)} imports {name}"
        for path, top in tops.items()
        for name in (imported(path) if top in levels else ())
        if name in levels and name != top and levels[name] < levels[top]
    ]
    assert not upwards
