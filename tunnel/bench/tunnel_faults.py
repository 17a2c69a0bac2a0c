"""Stores what faults cost the VPN and what it does over a long time, and writes tunnel/docs/faults.md from that.

The tests `table::faults`, `table::pairs` and `soak` of quiclab-tunnel print lines of JSON, which this reads:
`make tunnel-faults` and `make tunnel-soak`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

DOCUMENTS = Path(__file__).resolve().parents[1] / "docs"
FIGURES, PAGE = DOCUMENTS / "data/faults.json", DOCUMENTS / "faults.md"
TEMPLATE = Path(__file__).with_name("faults.md.j2")
#: Of the soak, in seconds: rows are those of one such time together.
WINDOW = 600
#: How rows of one window become one.
TOGETHER: dict[str, Callable[[list[float]], float]] = {
    "goodput_mbps": lambda values: sum(values) / len(values),
    "longest_gap_ms": max,
    "longest_gap_disturbed_ms": max,
    "server_kib": max,
    "client_kib": max,
    "server_descriptors": max,
    "server_cpu_seconds": sum,
}


def main() -> int:
    """Store what standard input has, or nothing, and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "part", choices=["faults", "soak", "page"], help="what standard input has; page: nothing is read"
    )
    parser.add_argument("--profile", default="release", help="profile that quiclab-tunnel was built with")
    arguments = parser.parse_args()
    found = json.loads(FIGURES.read_text(encoding="utf-8"))
    if arguments.part != "page":
        rows = [json.loads(line) for line in sys.stdin if line.startswith("{")]
        if not rows:
            print("no results: the test needs root", file=sys.stderr)
            return 1
        found |= {name: measured(rows, arguments.profile) for name, rows in by_table(rows, arguments.part).items()}
        FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(rendered(found), encoding="utf-8")
    return 0


def by_table(rows: list[dict[str, Any]], part: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table; those that name none are of `part`."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        tables.setdefault(row.pop("table", part), []).append(row)
    return tables


def measured(rows: list[dict[str, Any]], profile: str) -> dict[str, Any]:
    """Return rows with where and when they were measured."""
    return {
        "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpus": os.cpu_count(),
        "kernel": platform.release().split("-")[0],
        "profile": profile,
        "rows": rows,
    }


def rendered(found: dict[str, Any]) -> str:
    """Return the page."""
    environment = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown
        trim_blocks=True,
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    tables = {name: found[name] for name in ("faults", "pairs", "soak")}
    return template.render(**tables, windows=windows(found["soak"]["rows"]))


def windows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each `WINDOW` of the soak, named by the seconds at its end."""
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(min(row["seconds"] - 1, rows[-1]["seconds"] // WINDOW * WINDOW - 1) // WINDOW, []).append(row)
    return [
        {"seconds": group[-1]["seconds"]}
        | {name: together([row[name] for row in group]) for name, together in TOGETHER.items()}
        for group in groups.values()
    ]


if __name__ == "__main__":
    sys.exit(main())
