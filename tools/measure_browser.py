"""Measures browser.csv: Chromium over HTTP/2 and HTTP/3, behind networks of the page-load study.

    python tools/measure_browser.py WORK_DIRECTORY [--loads 20] [--clock real|virtual] [--write]

Needs what `quiclab browse` needs, and root or user namespaces. It takes about ten minutes in real time, and then run
nothing else beside; half an hour with the virtual clock. Each cell that is done stays in WORK_DIRECTORY, so that a
measurement that was interrupted goes on; with `--write` the tables of all cells that are there, of both clocks, are
written to studies/quiclab_studies/page_load/reference.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quiclab._base.files import write_atomically
from quiclab._base.progress import RunProgress
from quiclab.errors import QuiclabError
from quiclab.lane.browser.compare import compared
from quiclab.lane.browser.load import PageLoad
from quiclab.lane.browser.runner import load_pages
from quiclab.lane.choices import CLOCKS
from quiclab.scenario import Scenario

FOLDER = Path(__file__).resolve().parents[1] / "studies/quiclab_studies/page_load/reference"
RTT_MS = 36
LOSS_PERCENT = {"X01": 0, "X05": 1}
RATES_MBPS = (10, 50)
SIZES_KB = (10, 100, 1000)
HTML_BYTES = 1000


def scenario(loss_percent: int, rate_mbps: int, size_kb: int) -> Scenario:
    """Return a cell: delay and rate both ways, a queue of 2 x BDP, loss of what the server sends."""
    queue_bytes = 2 * rate_mbps * 1_000_000 * RTT_MS // 8000
    link = {
        "rate": f"{rate_mbps} Mbit/s",
        "delay": f"{RTT_MS // 2} ms",
        "queue": {"kind": "drop_tail", "bytes": f"{queue_bytes} B"},
    }
    page = {"kind": "page", "html": f"{HTML_BYTES} B", "objects": [{"count": 1, "size": f"{size_kb} kB"}]}
    down = {**link, "loss": f"{loss_percent} %"} if loss_percent else link
    return Scenario.from_dict(
        {
            "version": 1,
            "name": f"{size_kb} kB, {rate_mbps} Mbit/s, {loss_percent} %",
            "duration": "120 s",
            "links": {"down": down, "up": link},
            "flows": {"page": {"stack": "chromium", "down": ["down"], "up": ["up"], "workload": page}},
        }
    )


def measure(experiment: str, rate_mbps: int, size_kb: int, loads: int, seed: int, clock: str) -> dict[str, Any]:
    """Return the rows of a cell: one for each protocol (`cells`), and one for each load (`loads`)."""
    loss_percent = LOSS_PERCENT[experiment]
    page = scenario(loss_percent, rate_mbps, size_kb)
    with RunProgress(page.name) as progress:
        found = load_pages(page, loads, seed=seed, clock=clock, progress=progress)
    setting = {
        "clock": clock,
        "experiment": experiment,
        "bandwidth_mbps": rate_mbps,
        "rtt_ms": RTT_MS,
        "loss_percent": loss_percent,
        "object_size_kb": size_kb,
        "object_count": 1,
    }
    together = compared(found)
    if together.difference is None:
        raise QuiclabError("there are not both protocols")
    cells = []
    for protocol, summary in together.protocols.items():
        numbers = {
            name: round(value, 3) if isinstance(value, float) else value for name, value in summary.to_dict().items()
        }
        difference = {
            "percent_difference": round(together.difference["percent"], 2),
            "welch_p": f"{together.difference['p']:.3g}",
            "significant": together.difference["significant"],
        }
        extra = {"left_out": len(found.left_out) if protocol == "h3" else 0}
        kernel = found.result.data["run"]["kernel"]
        network = {"lateness_p999_ms": kernel["lateness"]["p999_ms"], "kept_up": kernel["kept_up"]}
        cells.append({**setting, "protocol": protocol, **numbers, **extra, **difference, **network})
    rows = [{**setting, **_row(load)} for load in found.counted]
    return {"cells": cells, "loads": rows, "versions": {**found.clients, **found.result.data["versions"]}}


def _row(load: PageLoad) -> dict[str, Any]:
    """Return a load with times to the microsecond, without those that say when it was."""
    left_out = ("client", "started_ns", "connected_ns", "finished_ns")
    values = {name: value for name, value in asdict(load).items() if name not in left_out}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}


def csv_of(rows: list[dict[str, Any]]) -> str:
    """Return rows as CSV, with the names of the first one as heads."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def table(rows: list[dict[str, Any]], file: Path) -> None:
    """Write rows as CSV."""
    write_atomically(file, csv_of(rows).encode())


def finish(rows: list[dict[str, Any]], name: str, *, write: bool) -> int:
    """Write rows to the reference file `name`, or print them; return the exit code."""
    if write:
        table(rows, FOLDER / name)
    else:
        print(csv_of(rows), end="")
    return 0


def main() -> int:
    """Measure the missing cells; print the existing ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--clock", choices=CLOCKS, default="real")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    settings = [(name, rate, size) for name in LOSS_PERCENT for rate in RATES_MBPS for size in SIZES_KB]
    failed = False
    for seed, (experiment, rate_mbps, size_kb) in enumerate(settings, start=1):
        file = arguments.work / f"{arguments.clock}-{experiment}-{rate_mbps}-{size_kb}.json"
        if not file.exists():
            try:
                cell = measure(experiment, rate_mbps, size_kb, arguments.loads, seed, arguments.clock)
            except QuiclabError as error:
                print(f"{file.stem}: {error.message}", file=sys.stderr, flush=True)
                failed = True
                continue
            write_atomically(file, json.dumps(cell, indent=1).encode())
        cell = json.loads(file.read_text(encoding="utf-8"))
        h2, h3 = cell["cells"]
        print(
            f"{file.stem}: h2 {h2['page_load_ms']:.1f} ms, h3 {h3['page_load_ms']:.1f} ms, "
            f"{h3['percent_difference']} %, p = {h3['welch_p']}, kept up: {h3['kept_up']}",
            flush=True,
        )
    names = [f"{clock}-{name}-{rate}-{size}.json" for clock in CLOCKS for name, rate, size in settings]
    files = [arguments.work / name for name in names if (arguments.work / name).exists()]
    if arguments.write and files:
        done = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        table([row for cell in done for row in cell["cells"]], FOLDER / "browser.csv")
        table([row for cell in done for row in cell["loads"]], FOLDER / "browser_loads.csv")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
