"""Lint of words: documents, comments and docstrings without the phrases of tools/phrases.toml.

python tools/phrases.py
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Blank in documents: blocks of code, code in a line, quotations.
CODE = re.compile(r'^```.*?^```$|^    [^\n]*$|`[^`]+`|"[^"\n]+"', re.MULTILINE | re.DOTALL)
READ = re.compile(
    r"(?!CHANGELOG)[^/]*\.md$|(?:adapters|docs|tunnel|tools|python|studies)/(?!.*(?:tests|reference)/)|crates/[^/]*/src/"
)
COMMENT = re.compile(r"^\s*(?://[/!]?|#:?) (.*)$")


def prose(path: Path) -> str:
    """Return the text of a document, or the comments and docstrings of a source file, at their lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".md":
        lines = text.split("\n")
        found = [match[1] if (match := COMMENT.match(line)) else "" for line in lines]
        for first, last in docstrings(text) if path.suffix == ".py" else ():
            found[first - 1 : last] = [line.strip().strip('"') for line in lines[first - 1 : last]]
        text = "\n".join(found)
    return CODE.sub(lambda code: "#" + "\n" * code[0].count("\n"), text)


def docstrings(source: str) -> list[tuple[int, int]]:
    """Return the first and the last line of each string that is a statement, which are the docstrings."""
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


def main() -> int:
    """Print each use with its replacement; 1 if there is one."""
    phrases: dict[str, str] = tomllib.loads((ROOT / "tools" / "phrases.toml").read_text(encoding="utf-8"))
    words = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in sorted(phrases, key=len, reverse=True))
    rejected = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)
    command = ["git", "ls-files", "*.md", "*.py", "*.rs"]
    files = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    uses = 0
    for name in files.split():
        if not READ.match(name) or not (ROOT / name).is_file():
            continue
        text = prose(ROOT / name)
        for found in rejected.finditer(text):
            phrase = " ".join(found[0].split())
            print(f'{name}:{text.count(chr(10), 0, found.start()) + 1}: "{phrase}"; use: {phrases[phrase.lower()]}')
            uses += 1
    return min(uses, 1)


if __name__ == "__main__":
    sys.exit(main())
