"""Measures the playground's speed in Chromium: virtual seconds per second of a flow at 20 Mbit/s, as JSON.

`python playground/measure.py`, with playwright installed, after `make playground`. The whole is what a page takes that
shows the run; the engine is its share in the module.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

PAGE = Path(__file__).resolve().parent.parent / "dist/playground.html"
RUNS = 5
#: One run of the page's first setting, a download at 20 Mbit/s, with pictures on the way.
RUN = """async () => {
  const { engine, player, shown } = window.playground;
  player.speed = Infinity;
  await player.load(shown);
  const [started, worked] = [performance.now(), engine.elapsedMs];
  await player.play();
  const seconds = player.endS;
  return { whole: seconds / (performance.now() - started) * 1000, engine: seconds / (engine.elapsedMs - worked) * 1000 };
}"""


def main() -> None:
    """Print the median of a few runs."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(PAGE.as_uri())
        page.wait_for_selector("body[data-ready]")
        runs = [page.evaluate(RUN) for _ in range(RUNS)]
        browser.close()
    medians = {name: round(sorted(run[name] for run in runs)[RUNS // 2], 1) for name in ("whole", "engine")}
    print(json.dumps({f"virtual_seconds_per_second_{name}": value for name, value in medians.items()}))


if __name__ == "__main__":
    main()
