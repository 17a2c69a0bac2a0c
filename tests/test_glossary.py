"""The phrases of tests/data/phrases.toml are in no document, docstring or comment."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab.native import extension

PHRASES = ROOT / "tests" / "data" / "phrases.toml"
PYTHON = ("python/**/*.py", "python/**/*.pyi", "tools/**/*.py", "tunnel/[bp]*/**/*.py")
RUST = ("crates/*/src/**/*.rs", "tunnel/crates/*/src/**/*.rs")


@pytest.fixture(scope="module")
def phrases() -> dict[str, str]:
    """Return the rejected phrases, each with its replacement."""
    known: dict[str, str] = tomllib.loads(PHRASES.read_text(encoding="utf-8"))
    return known


def pattern(known: Iterable[str]) -> re.Pattern[str]:
    """Return what matches any of the phrases as whole words, also where a line ends between its words."""
    gap = r"(?:[ \t]+|[ \t]*\n[ \t]*)"
    any_phrase = "|".join(gap.join(map(re.escape, phrase.split())) for phrase in sorted(known, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{any_phrase})(?![\w-])", re.IGNORECASE)


# --- prose: the lines of a file with everything else blank, so that line numbers stay


def of_markdown(text: str) -> str:
    """Return the prose of a document, without code."""
    blank = re.compile(r"^```.*?^```$|(?<=\n\n)(?:    [^\n]*\n)+|`[^`\n]+(?:\n[^`\n]+)?`", re.M | re.S)
    return without_code(blank.sub(lambda found: "#" + "\n" * found[0].count("\n"), text))


def of_python(text: str) -> str:
    """Return the docstrings and comments of a module."""
    lines = [""] * (text.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = token.string.lstrip("#: ")
    for node in ast.walk(ast.parse(text)):
        for statement in getattr(node, "body", None) or [] if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                for number, line in enumerate(value.value.split("\n"), value.lineno - 1):
                    lines[number] = line
    return without_code("\n".join(lines))


def of_rust(text: str, elsewhere: str = "") -> str:
    """Return the comments of a module, without those whose whole text is also in `elsewhere`."""
    lines = [""] * (text.count("\n") + 1)
    block: list[int] = []
    for number, line in enumerate([*text.split("\n"), ""]):
        comment = re.search(r"(?:^|\s)//[/!]? ?(.*)$", line)
        whole_line = comment is not None and line.lstrip().startswith("///")
        if block and not whole_line:
            if elsewhere and joined(lines[item] for item in block) in elsewhere:
                for item in block:
                    lines[item] = ""
            block = []
        if comment is not None:
            lines[number] = comment[1]
            block += [number] if whole_line else []
    return without_code("\n".join(lines))


def without_code(text: str) -> str:
    """Return a text without code and quotations within a line."""
    return re.sub(r'`[^`\n]+`|"[^"\n]+"', "#", text)


def joined(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


def descriptions(value: Any) -> Iterator[str]:
    """Yield every text of a JSON document."""
    if isinstance(value, str):
        yield joined([value])
    elif isinstance(value, dict):
        for item in value.values():
            yield from descriptions(item)
    elif isinstance(value, list):
        for item in value:
            yield from descriptions(item)


def prose() -> Iterator[tuple[Path, str]]:
    """Yield each file with its prose."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("tunnel/**/*.md"))]:
        if path != ROOT / "CHANGELOG.md":
            yield path, of_markdown(path.read_text(encoding="utf-8"))
    for glob in PYTHON:
        for path in sorted(ROOT.glob(glob)):
            yield path, of_python(path.read_text(encoding="utf-8"))
    schemas = json.loads(extension().schema()), json.loads((ROOT / "docs/reference/vpn.schema.json").read_text())
    described = "\n".join(text for schema in schemas for text in descriptions(schema))
    for path in sorted(path for glob in RUST for path in ROOT.glob(glob)):
        yield path, of_rust(path.read_text(encoding="utf-8"), described)


def test_rejected_phrases_are_not_used(phrases: dict[str, str]) -> None:
    rejected = pattern(phrases)
    uses = {joined([phrase]).lower(): use for phrase, use in phrases.items()}
    problems = []
    for path, text in prose():
        name = path.relative_to(ROOT).as_posix()
        for found in rejected.finditer(text):
            phrase = joined([found[0]]).lower()
            line = text.count("\n", 0, found.start()) + 1
            problems.append(f'{name}:{line}: "{phrase}"; use: {uses[phrase]}')
    if problems:
        listed = "\n  ".join(problems)
        pytest.fail(f"{len(problems)} phrases that tests/data/phrases.toml rejects\n  {listed}", pytrace=False)


def test_no_replacement_is_rejected(phrases: dict[str, str]) -> None:
    assert len(phrases) > 50
    assert [use for use in phrases.values() if pattern(phrases).search(use)] == []


def test_phrases_are_found_in_prose_only() -> None:
    rejected = pattern(["cut off", "far end"])

    def lines(text: str) -> list[int]:
        return [text.count("\n", 0, found.start()) + 1 for found in rejected.finditer(text)]

    assert lines(
        of_markdown("Cut\noff, `cut off`.\n\n    cut off\n\n```\ncut off\n```\nThe far end, cut-off, cut\n\noff.\n")
    ) == [1, 9]
    python = 'X = "cut off"  # cut off\n\ndef f():\n    """Do.\n\n    The far\n    end: `cut off`.\n    """\n'
    assert lines(of_python(python)) == [1, 6]
    rust = '//! Cut\n//! off.\nlet x = "far end"; // "far end"\n/// At the far\n/// end.\nstruct X;\n'
    assert lines(of_rust(rust)) == [1, 4]
    assert lines(of_rust(rust, "At the far end.")) == [1]
