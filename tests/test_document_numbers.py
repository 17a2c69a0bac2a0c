"""Numbers that stand in sentences of documents are those of the code, or of the run that the sentence is about."""

from __future__ import annotations

import re
import tomllib

import polars as pl
import pytest

import quiclab
from conftest import ROOT, tool
from quiclab import stats
from quiclab.formats import share
from quiclab.inspect.source import DEFAULT_POINTS
from quiclab.native import extension
from quiclab.quantity import seconds
from quiclab.repetitions import MIN_RUNS
from quiclab.report.percentiles import STEP_MS
from quiclab.scenario import load
from quiclab.study import fidelity
from quiclab.study.claims import CONFIRMED_SHARE, REFUTED_SHARE
from quiclab.study.decide import MAX_RUNS

WORDS = {2: "two", 4: "four", 5: "five", 10: "ten", 10**6: "a million"}
TEMPLATE = tomllib.loads(extension().template())

#: Sentences of each document, with the numbers that the code has.
SENTENCES = [
    ("docs/reports.md", f"tested on {stats.RESAMPLES} resamples of the runs"),
    ("docs/reports.md", f"it holds in at least {share(CONFIRMED_SHARE)} of the resamples"),
    ("docs/reports.md", f"it holds in at most {share(REFUTED_SHARE)} of them"),
    ("docs/reports.md", f"fewer than {WORDS[MIN_RUNS]} runs of a setting that it reads"),
    ("docs/reports.md", f"adds runs, up to {MAX_RUNS} each"),
    (
        "docs/reports.md",
        f"within {share(fidelity.EQUIVALENCE_SHARE)} or {WORDS[int(fidelity.EQUIVALENCE_ERRORS)]} standard errors",
    ),
    ("docs/commands.md", f"sampled for the summary alone, every {STEP_MS} ms (less often"),
    ("docs/recordings.md", f"requests a time series every {TEMPLATE['record']['series_interval']}"),
    ("docs/recordings.md", f"Above {WORDS[DEFAULT_POINTS]} packets in a direction, `--from 12.5s --to 13s`"),
]


@pytest.mark.parametrize(("document", "sentence"), SENTENCES)
def test_numbers_in_sentences_are_those_of_the_code(document: str, sentence: str) -> None:
    assert sentence in " ".join((ROOT / document).read_text().split())


def test_the_first_packet_of_the_capture_arrives_after_the_delay() -> None:
    """The SYN of `scenarios/tcp_download.toml`, whose serialisation on the link is far below a millisecond."""
    said = " ".join((ROOT / "docs" / "recordings.md").read_text().split())
    delay = load(ROOT / "scenarios" / "tcp_download.toml").to_dict()["links"]["up1"]["delay"]
    mean = delay if isinstance(delay, str) else delay["mean"]
    assert f"the SYN, which reaches the server after {mean}" in said


def test_bbr_nearly_stops_when_the_readme_says() -> None:
    """The picture is of one run: its window falls to four packets once (ProbeRTT), and CUBIC gets ever more before."""
    text = " ".join((ROOT / "README.md").read_text().split())
    said = re.search(r"leaves more and more of the link to it\. At (\w+) seconds BBR nearly stops, to measure", text)
    assert said is not None
    at_s = {word: number for number, word in WORDS.items()}[said[1]]
    animation = tool("animation")
    result = quiclab.run(load(ROOT / animation.SCENARIO), animation.SEED)
    window = result.series.filter(pl.col("element") == "bbr.sender", pl.col("metric") == "cwnd_bytes")
    later = [(float(time), float(value)) for time, value in window.select("time_s", "value").iter_rows() if time > 1]
    least = [time for time, value in later if value == min(value for _, value in later)]
    step_s = seconds(str(result.scenario.to_dict()["record"]["series_interval"]))
    assert at_s - step_s <= least[0] <= least[-1] <= at_s + 0.6  # ProbeRTT lasts 200 ms and a round trip
    rates = result.goodput_over_time("cubic", "2 s").filter(pl.col("time_s").is_between(4, at_s))["goodput_mbps"]
    assert rates.is_sorted()
