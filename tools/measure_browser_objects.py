"""Measures browser_objects.csv: what a request and an object cost Chromium, from the HAR of pages of many images.

    PATH=.venv/bin:$PATH python tools/measure_browser_objects.py WORK_DIRECTORY [--loads 20] [--write]

Needs what `quiclab browse` needs, and root or user namespaces. It takes about five minutes in real time; run nothing
else beside. A megabyte in 1 to 200 images, over HTTP/2 and HTTP/3, at 50 Mbit/s and 36 ms. The columns, medians over
the loads:

- `issue_ms`: time from the first image that the page asks for to the last, for each;
- `request_ms`: time from the first image asked for until nine of ten requests are sent, for each image;
- `object_ms`: time from the median request sent to the load event, without a round trip, for each image. Where the
  network is the bottleneck (few images), this is the network's time, not the browser's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from statistics import median, stdev
from typing import Any

from measure_browser import HTML_BYTES, RTT_MS, finish, scenario
from quiclab._base.files import write_atomically
from quiclab._base.progress import RunProgress
from quiclab.errors import QuiclabError
from quiclab.lane.browser.runner import load_pages, write_hars

RATE_MBPS = 50
TOTAL_KB = 1000
#: Of the HTML, for each image.
LINE_BYTES = 20
COUNTS = (1, 10, 50, 100, 200)
TIMES = ("issue_ms", "request_ms", "object_ms")


def clock_ms(text: str) -> float:
    """Return a time of a HAR in milliseconds."""
    return datetime.fromisoformat(text).timestamp() * 1e3


def loads(har: Path) -> Iterator[tuple[list[dict[str, Any]], float]]:
    """Yield the images of each measured load and the time of its load event."""
    log = json.loads(har.read_text())["log"]
    for page in log["pages"][1:]:
        entries = [entry for entry in log["entries"] if entry["pageref"] == page["id"]]
        yield entries, page["pageTimings"]["onLoad"]


def times_ms(entries: list[dict[str, Any]], load_ms: float) -> dict[str, float]:
    """Return the times of a load."""
    begin = clock_ms(entries[0]["startedDateTime"])
    images = entries[1:]
    started = sorted(clock_ms(image["startedDateTime"]) - begin for image in images)
    waits = [sum(max(0.0, image["timings"][of]) for of in ("blocked", "connect")) for image in images]
    sent = sorted(clock_ms(image["startedDateTime"]) - begin + wait for image, wait in zip(images, waits, strict=True))
    count = len(images)
    return {
        "issue_ms": (started[-1] - started[0]) / max(1, count - 1),
        "request_ms": (sent[9 * count // 10] - started[0]) / count,
        "object_ms": (load_ms - sent[count // 2] - RTT_MS) / count,
    }


def measure(count: int, loads_each: int, folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a page: one for each protocol."""
    size_kb = TOTAL_KB // count
    changes = {"objects": [{"count": count, "size": f"{size_kb} kB"}], "html": f"{HTML_BYTES + LINE_BYTES * count} B"}
    page = scenario(0, RATE_MBPS, size_kb).with_values(
        {f"flows.page.workload.{name}": value for name, value in changes.items()}
    )
    folder.mkdir(parents=True, exist_ok=True)
    with RunProgress(page.name) as progress:
        write_hars(load_pages(page, loads_each, progress=progress), folder)
    rows = []
    for protocol in ("h2", "h3"):
        found = list(loads(folder / f"{protocol}.har"))
        load_ms = [time for _, time in found]
        times = [times_ms(*load) for load in found]
        row = {"protocol": protocol, "object_count": count, "object_size_kb": size_kb, "loads": len(found)}
        row |= {"page_load_ms": round(median(load_ms), 1), "page_load_sd_ms": round(stdev(load_ms), 1)}
        rows.append(row | {name: round(median(time[name] for time in times), 3) for name in TIMES})
    return rows


def main() -> int:
    """Measure all pages that are not in the work directory yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    for count in COUNTS:
        file = options.directory / f"objects_{count}.json"
        if not file.exists():
            print(f"{count} images", flush=True)
            write_atomically(file, json.dumps(measure(count, options.loads, options.directory / str(count))).encode())
        rows += json.loads(file.read_text())
    return finish(rows, "browser_objects.csv", write=options.write)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except QuiclabError as error:
        sys.exit(f"{Path(__file__).name}: {error}")
