"""The lint of words reads documents, comments and docstrings (tools/phrases.py), at their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import tool

if TYPE_CHECKING:
    from pathlib import Path

PHRASES = tool("phrases")
PYTHON = '''"""Nobody reads this."""

VALUE = "nobody"  # ours


def f() -> str:
    """Return ours.

    A `code` of "nobody".
    """
    # nobody
    return "nobody"
'''


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.py", PYTHON, [(1, "nobody"), (7, "ours"), (11, "nobody")]),
        ("a.rs", "/// Nobody.\nlet x = 1; // no\n// ours\n", [(1, "nobody"), (3, "ours")]),
        ("a.md", "Nobody\n\n```sh\nnobody\n```\n\nours `nobody`\n", [(1, "nobody"), (7, "ours")]),
    ],
)
def test_phrases_are_found_at_their_lines(name: str, text: str, lines: list[tuple[int, str]], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    found = PHRASES.prose(tmp_path / name).lower().split("\n")
    words = [(number, word) for number, line in enumerate(found, 1) for word in ("nobody", "ours") if word in line]
    assert words == lines
