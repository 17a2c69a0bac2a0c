"""Numbers that stand in sentences of documents are those of the code, or of the run that the sentence is about."""

from __future__ import annotations

import re
import tomllib

import polars as pl
import pytest

import quiclab
from conftest import ROOT, tool
from quiclab._base.native import extension
from quiclab.analysis.inspect.source import DEFAULT_POINTS
from quiclab.experiment.repetitions import MIN_RUNS
from quiclab.report.percentiles import STEP_MS
from quiclab.result import stats
from quiclab.result.formats import share
from quiclab.scenario import load
from quiclab.scenario.quantity import seconds
from quiclab.study import fidelity
from quiclab.study.claims import CONFIRMED_SHARE, REFUTED_SHARE
from quiclab.study.decide import MAX_RUNS
from quiclab_studies.hosts import AIOQUIC_DATAGRAM

WORDS = {2: "two", 4: "four", 5: "five", 10: "ten", 10**6: "a million"}
TEMPLATE = tomllib.loads(extension().template())

#: Numbers that documents state, each with its words around it and its value in the code.
NUMBERS = [
    ("docs/reports.md", r"on (\d+) resamples", stats.RESAMPLES),
    ("docs/reports.md", r"at least (\S+ %) of the resamples", share(CONFIRMED_SHARE)),
    ("docs/reports.md", r"at most (\S+ %) of them", share(REFUTED_SHARE)),
    ("docs/reports.md", r"fewer than (\w+) runs", WORDS[MIN_RUNS]),
    ("docs/reports.md", r"runs, up to (\d+) each", MAX_RUNS),
    ("docs/reports.md", r"points within (\S+ %) or", share(fidelity.EQUIVALENCE_SHARE)),
    ("docs/reports.md", r"or (\w+) standard errors", WORDS[int(fidelity.EQUIVALENCE_ERRORS)]),
    ("docs/commands.md", r"summary alone, every (\d+) ms", STEP_MS),
    ("docs/recordings.md", r"time series every (\d+ \w+)", TEMPLATE["record"]["series_interval"]),
    ("README.md", r"the (\S+ µs) that aioquic's client", AIOQUIC_DATAGRAM.replace("us", "µs")),
    ("docs/recordings.md", r"Above (\w+ \w+) packets", WORDS[DEFAULT_POINTS]),
]


@pytest.mark.parametrize(("document", "words", "value"), NUMBERS)
def test_numbers_of_documents_are_those_of_the_code(document: str, words: str, value: object) -> None:
    assert set(re.findall(words, " ".join((ROOT / document).read_text().split()))) == {str(value)}


def test_the_first_packet_of_the_capture_arrives_after_the_delay() -> None:
    """The SYN of `scenarios/tcp_download.toml`, whose serialisation on the link is far below a millisecond."""
    text = " ".join((ROOT / "docs" / "recordings.md").read_text().split())
    delay = load(ROOT / "scenarios" / "tcp_download.toml").to_dict()["links"]["up1"]["delay"]
    mean = delay if isinstance(delay, str) else delay["mean"]
    assert re.findall(r"SYN.{0,40} after (\d+ \w+)", text) == [mean]


def test_bbr_nearly_stops_when_the_readme_says() -> None:
    """The picture is of one run: its window falls to four packets once (ProbeRTT), and CUBIC gets ever more before."""
    text = " ".join((ROOT / "README.md").read_text().split())
    said = re.search(r"At (\w+) seconds BBR nearly stops", text)
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
