"""Writes the tables of docs/paths.md from the files of the named paths and from stored measurements.

    python tools/paths_page.py [--run]

`--run` measures all paths and stores the results in docs/data/paths.json. Without it, only the page is written.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quiclab import paths
from quiclab.paths.agreement import compare
from quiclab.paths.library import DIRECTIONS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "paths.md"
DATA = ROOT / "docs" / "data" / "paths.json"


def measure() -> list[dict[str, Any]]:
    """Return what probes measure over all paths, as rows."""
    return [asdict(compare(paths.read(name), link)) for name in paths.names() for link in DIRECTIONS]


def number(value: float) -> str:
    """Write a number with three figures."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def listed() -> str:
    """Return the table of the paths."""
    rows = [f"| `{name}` | {paths.read(name).description} |" for name in paths.names()]
    return "\n".join(["| path | network |", "| --- | --- |", *rows])


def measured(rows: list[dict[str, Any]]) -> str:
    """Return the table of definition and measurement."""
    pairs = ["rate [Mbit/s]", "least delay [ms]", "mean delay [ms]", "lost [%]"]
    head = f"| path | link | {' | '.join(f'{name} | measured' for name in pairs)} |"
    lines = [head, "| --- | --- |" + " --- |" * 8]
    for row in rows:
        values = [
            row["defined_rate_mbps"],
            row["measured_rate_mbps"],
            row["defined_least_ms"],
            row["measured_least_ms"],
            row["defined_mean_ms"],
            row["measured_mean_ms"],
            100 * row["defined_loss"],
            100 * row["measured_loss"],
        ]
        lines.append(f"| {row['path']} | {row['link']} | {' | '.join(number(value) for value in values)} |")
    return "\n".join(lines)


def page(text: str, rows: list[dict[str, Any]]) -> str:
    """Return the page with its tables."""
    for name, table in (("list", listed()), ("measured", measured(rows))):
        block = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
        text = block.sub(lambda _, name=name, table=table: f"<!-- {name} -->\n{table}\n<!-- end -->", text, count=1)
    return text


def main() -> None:
    """Write data and page."""
    if "--run" in sys.argv[1:]:
        DATA.parent.mkdir(exist_ok=True)
        DATA.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
