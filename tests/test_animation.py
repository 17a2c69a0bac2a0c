"""The animation of README.md is that of the run that it names."""

from __future__ import annotations

import re

import polars as pl
import pytest

import quiclab
from conftest import ROOT, tool
from quiclab.scenario import load

animation = tool("animation")


@pytest.fixture(scope="module")
def result() -> quiclab.RunResult:
    return quiclab.run(load(ROOT / animation.SCENARIO).with_value("record.packets", True), animation.SEED)


def test_the_picture_is_that_of_the_run(result: quiclab.RunResult) -> None:
    stored = animation.FILE.read_text(encoding="utf-8")
    named = f"scenario {animation.SCENARIO}, seed {animation.SEED}, digest {result.digest}"
    assert f"<metadata>{named}</metadata>" in stored
    assert animation.draw(result) == stored, "make animation"
    assert animation.FILE.stat().st_size < 1_500_000
    assert animation.FILE.relative_to(ROOT).as_posix() in (ROOT / "README.md").read_text(encoding="utf-8")


def dashes(path: str, *, left_of: int) -> int:
    """Return the number of packets that a path draws, all left or all right of a position."""
    runs = re.findall(r"M(\d+) 0h(\d+)", path)
    return sum((int(length) + 1) // animation.CELL for start, length in runs if int(start) < left_of)


def test_the_queue_drawn_has_the_packets_that_the_link_counts(result: quiclab.RunResult) -> None:
    element, metric = pl.col("element"), pl.col("metric")
    samples = result.series.filter(element == animation.BOTTLENECK, metric == "queue_packets")
    counted = {round(time * 1000): value for time, value in samples.select("time_s", "value").iter_rows()}
    pictures = list(animation.pictures(result))
    assert len(pictures) == animation.END_S * 1000 // animation.STEP_MS
    for number, picture in enumerate(pictures):
        drawn = sum(dashes(path, left_of=animation.LINK_X) for path in picture.values())
        every = sum(dashes(path, left_of=animation.WIDTH) for path in picture.values())
        # the packet in service is drawn as one that waits
        assert drawn - counted[number * animation.STEP_MS] in {0, 1}, number
        assert every - drawn <= animation.PACKETS_ON_LINK
