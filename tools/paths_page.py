"""Writes the tables of docs/paths.md from the files of the named paths and from stored measurements.

    python tools/paths_page.py [--run]

`--run` measures all paths and stores the results in docs/data/paths.json. Without it, only the page is written.
"""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quiclab.result import run
from quiclab.scenario import Scenario
from quiclab.sources import paths
from quiclab.sources.paths.agreement import compare
from quiclab.sources.paths.library import DIRECTIONS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "paths.md"
DATA = ROOT / "docs" / "data" / "paths.json"
#: Runs of each download, as in the draft.
RUNS = 100
#: Congestion controls, and the paths that are made from networks of the draft.
CONTROLS = ("cubic", "bbr-v3", "c4")
DOWNLOADED = ("wifi-bad", "wifi-fade")
DOWNLOAD_BITS = 8 * 10_000_000


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


def download(path: str, control: str, seed: int) -> float:
    """Return the time that a download of 10 MB takes [s]."""
    plain = {
        "version": 1,
        "name": f"10 MB over {path}",
        "network": f"paths/{path}",
        "duration": "300 s",
        "flows": {
            "main": {
                "stack": "lab-quic",
                "sender": {"congestion_control": control},
                "down": ["down"],
                "up": ["up"],
                "workload": {"kind": "download", "size": "10 MB"},
            }
        },
    }
    flow = run(Scenario.from_dict(plain).resolved(), seed=seed).flows["main"]
    if flow.finish_s is None:
        raise RuntimeError(f"{path}, {control}, seed {seed}: not complete after 300 s")
    return flow.finish_s


def downloads() -> list[dict[str, Any]]:
    """Return the times of the downloads of draft-huitema-ccwg-c4-test, as rows."""
    seeds = range(1, RUNS + 1)
    return [
        {"path": path, "control": control, "times_s": [download(path, control, seed) for seed in seeds]}
        for path in DOWNLOADED
        for control in CONTROLS
    ]


def least_s(path: str) -> float:
    """Return how long the link of a path takes for the payload alone [s]."""
    left = float(DOWNLOAD_BITS)
    for part in paths.read(path).links["down"].over(1000.0):
        bits = part.rate_mbps * 1e6 * (part.end_s - part.start_s)
        if bits >= left:
            return part.start_s + left / (part.rate_mbps * 1e6)
        left -= bits
    raise ValueError(path)


def downloaded(rows: list[dict[str, Any]]) -> str:
    """Return the table of the downloads."""
    lines = [
        "| path | congestion control | runs | mean [s] | 90th percentile [s] | least possible [s] |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        times = sorted(row["times_s"])
        mean, high = sum(times) / len(times), times[math.ceil(0.9 * len(times)) - 1]
        least = least_s(row["path"])
        lines.append(f"| {row['path']} | {row['control']} | {len(times)} | {mean:.2f} | {high:.2f} | {least:.2f} |")
    return "\n".join(lines)


def page(text: str, stored: dict[str, list[dict[str, Any]]]) -> str:
    """Return the page with its tables."""
    tables = {
        "list": listed(),
        "measured": measured(stored["agreement"]),
        "downloads": downloaded(stored["downloads"]),
    }
    for name, table in tables.items():
        block = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
        whole = f"<!-- {name} -->\n{table}\n<!-- end -->".replace("\\", r"\\")
        text = block.sub(whole, text, count=1)
    return text


def main() -> None:
    """Write data and page."""
    if "--run" in sys.argv[1:]:
        DATA.parent.mkdir(exist_ok=True)
        stored = {"agreement": measure(), "downloads": downloads()}
        DATA.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
