"""The page of `quiclab pacing analyse`: its points and bars by hand, and the page in headless Chromium."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import pacing_documents as made
from conftest import BROWSER
from quiclab.analysis.pacing import BBR_GAINS, Analysis, Failure, Settings, axes, figure, series
from quiclab.analysis.pacing.document import Intervals
from quiclab.analysis.pacing.html import PARTS, render
from quiclab.analysis.pacing.labels import flows_of
from test_inspect_page import probe
from test_report_page import DARK

PACKETS = 400
TEN = Settings(bottleneck_mbps=10.0, gains=BBR_GAINS)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed (apt-get install chromium)")


def counted(bins: dict[float, int]) -> Intervals:
    """Return a distribution with these bins."""
    return {**made.intervals([]), "count": sum(bins.values()), "at_ms": list(bins), "counts": list(bins.values())}


def test_steps_of_a_density_hand_computed() -> None:
    """64 bins a decade: 1 and 1.03 ms are in bin 0 (to 10^(1/64) = 1.0366), 10 ms begins bin 64; zeros beside both."""
    bins = series.density(counted({1.0: 1, 1.03: 2, 10.0: 1}))
    assert [round(math.log10(part.from_ms) * 64) for part in bins] == [-1, 0, 1, 63, 64, 65]
    assert [part.share for part in bins] == [0.0, 0.75, 0.0, 0.0, 0.25, 0.0]
    assert all(part.to_ms == pytest.approx(part.from_ms * 10 ** (1 / 64)) for part in bins)


def test_equal_stamps_stand_at_the_floor() -> None:
    bins = series.density(counted({0.0: 3, 1e-5: 1, 1.0: 4}))
    assert {round(part.from_ms, 6): part.share for part in bins if part.share} == {0.0001: 0.5, 1.0: 0.5}
    assert series.distribution(counted({0.0: 1, 1.0: 1}))[:2] == [(series.FLOOR_MS, 0.0), (series.FLOOR_MS, 0.5)]


def test_a_distribution_function_is_thinned_and_ends_at_one() -> None:
    """10 000 bins of one interval each: steps of 0.0005 leave 2000 points and the first."""
    points = series.distribution(counted({1.0 + number / 1000: 1 for number in range(10_000)}))
    assert len(points) == 2001
    assert [*points[0], *points[-1]] == pytest.approx([1.0, 0.0, 10.999, 1.0])


def test_the_axis_leaves_out_the_rarest() -> None:
    """1 of 2001 at 1000 ms is less than 0.1 %; a decade at least, around the middle."""
    assert series.span([counted({1.0: 2000, 1000.0: 1})]) == pytest.approx((1 / math.sqrt(10), math.sqrt(10)))
    assert series.span([counted({1.0: 1, 1000.0: 1})]) == pytest.approx((1 / 1.5, 1500.0))
    assert series.span([counted({1.0: 1})], [100.0])[1] == 150.0


def test_ticks_are_round() -> None:
    assert series.ticks(0.0009, 12.0) == [0.001, 0.01, 0.1, 1.0, 10.0]
    assert series.ticks(0.4, 40.0) == [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
    assert series.ticks(0.45, 4.5) == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 2.0, 3.0, 4.0]


def test_bins_of_one_percent_fall_to_zero_in_gaps() -> None:
    points = series.detail(counted({0.5: 1, 1.0: 1, 1.01: 1, 2.0: 1}), 0.9, 3.0)
    assert [share for _, share in points] == [0.0, 0.25, 0.25, 0.0, 0.0, 0.25, 0.0]
    assert [at_ms for at_ms, share in points if share] == [1.0, 1.01, 2.0]


def test_bars_hand_computed() -> None:
    """Bursts of 1, 2 and 40: of 4 bursts half have one packet; of 44 packets 2 stand alone, 2 in a pair, 40 in one."""
    counts = {"1": 2, "2": 1, "40": 1}
    bars = series.groups(counts)
    assert bars == [*((number, number) for number in range(1, 17)), (17, 32), (33, 64)]
    assert [share for share in series.in_groups(counts, bars) if share] == [0.5, 0.25, 0.25]
    assert [share for share in series.in_groups(counts, bars, by_size=True) if share] == [2 / 44, 2 / 44, 40 / 44]
    assert series.groups({"0": 1, "2": 1})[0] == (0, 0)
    assert len(series.groups({"1": 5})) == 8
    assert series.groups({}) == []


def test_rates_over_a_long_time_are_means() -> None:
    """2500 whole steps of 0.1 s become 834 means of three; the last, incomplete step is left out."""
    points, over_s = series.rates([3.0, 6.0, 9.0] * 833 + [4.0, 0.0], 0.1)
    assert over_s == pytest.approx(0.3)
    assert [*points[0], *points[1], *points[-1]] == pytest.approx([0.0, 6.0, 0.3, 6.0, 249.9, 4.0])
    assert series.rates([5.0], 0.1) == ([(0.0, 5.0)], 0.1)


def test_flows_are_distinguished_by_colour_and_dashes() -> None:
    styles = [axes.style(number) for number in range(axes.MAX_DRAWN)]
    assert len(set(styles)) == axes.MAX_DRAWN == 15


def figures_of(analysis: Analysis) -> dict[str, Any]:
    """Return the figures by their titles, as Vega-Lite or the message instead."""
    drawn = figure.figures(flows_of(analysis.captures), analysis.settings)
    return {item.title: item.chart if isinstance(item.chart, str) else item.chart.to_dict() for item in drawn}


def data_of(chart: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all rows of a figure."""
    return [row for rows in chart["datasets"].values() for row in rows]


def analysis_of(*rules: str, settings: Settings = TEN) -> Analysis:
    """Return an analysis of one capture for each rule."""
    return Analysis(
        settings, tuple(made.capture(f"{rule}.pcapng", made.flow(rule, settings, PACKETS)) for rule in rules)
    )


def test_expected_intervals_are_marked() -> None:
    """1514 B at 10 Mbit/s: 1.2112 ms, over 1.25 and 0.75: 0.96896 and 1.61493; windows of 0.1 ms on both sides."""
    rows = data_of(figures_of(analysis_of("bbr"))["Intervals between packets: density"])
    marked = {row["gain"]: row for row in rows if "gain" in row}
    assert {gain: round(row["at"], 5) for gain, row in marked.items()} == {1.25: 0.96896, 1.0: 1.2112, 0.75: 1.61493}
    assert (marked[1.0]["from"], marked[1.0]["to"]) == pytest.approx((1.1112, 1.3112))
    assert {row["text"] for row in rows if "text" in row} == {"gain 1.25", "gain 1", "gain 0.75"}


def test_clusters_that_were_found_stand_above_their_peak() -> None:
    analysis = analysis_of("pairs")
    rows = data_of(figures_of(analysis)["Intervals between packets: density"])
    found = analysis.captures[0]["flows"][0]["data"]["clusters"]["found"]
    assert sorted(row["at"] for row in rows if "inside" in row and "gain" not in row) == [
        peak["centre_ms"] for peak in found
    ]
    assert len(found) == 2
    highest = next(row for row in rows if row.get("inside") and row["at"] == found[0]["centre_ms"])
    assert highest["share"] == pytest.approx(200 / 399)  # all intervals inside pairs are one value


def test_without_a_bottleneck_nothing_is_expected() -> None:
    drawn = figures_of(analysis_of("even", settings=Settings()))
    assert "Intervals around the expected ones" not in drawn
    assert not [row for row in data_of(drawn["Intervals between packets: density"]) if "gain" in row]


def test_a_flow_of_nothing_has_sentences_for_figures() -> None:
    drawn = figures_of(Analysis(TEN, (made.capture("nothing.pcap", made.of_nothing(TEN)),)))
    assert all(isinstance(chart, str) for chart in drawn.values())
    page = render(Analysis(TEN, (made.capture("nothing.pcap", made.of_nothing(TEN)),)))
    assert "No ACK was seen" in page
    assert "Only 1 packet of the sender" in page
    assert "vegaEmbed" not in page


@pytest.mark.parametrize("settings", [TEN, Settings()])
def test_each_part_of_a_page_is_progress(settings: Settings) -> None:
    """As many as are announced, with and without the figure of expected intervals; and for a page without figures."""
    for analysis in (analysis_of("even", settings=settings), Analysis(settings, (made.capture("arp.pcap"),))):
        steps: list[None] = []
        render(analysis, lambda steps=steps: steps.append(None))  # type: ignore[misc]
        assert len(steps) == PARTS


def test_a_page_without_a_flow_says_so() -> None:
    page = render(Analysis(TEN, (made.capture("arp.pcap", frames=12),), (Failure("x.bin", "it is empty"),)))
    assert "<strong>No flow:</strong> arp.pcap" in page
    assert "<strong>Not read:</strong> x.bin: it is empty." in page
    assert '<h2 id="figures">' not in page


def test_names_of_a_file_are_text_and_cautions_come_first() -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    flow = made.flow("even", TEN, PACKETS, name=evil, notes=[evil])
    flow["data"].update({"oversized": 3, "backwards": 2})
    page = render(Analysis(TEN, (made.capture(f"{evil}.pcap", flow, flow, notes=[evil], problems={evil: 1}),)))
    assert page.index("An offload joined segments") < page.index('<h2 id="flows">')
    assert page.index("The clock ran backwards") < page.index('<h2 id="flows">')
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert "<img" not in markup
    assert "default-src 'none'" in markup
    assert not re.search(r'(src|href)="(?!data:|#)', markup)


def test_what_is_said_of_several_flows_is_said_once() -> None:
    flows = [made.flow("even", TEN, 12, name=f"flow {number}") for number in range(3)]
    page = render(Analysis(TEN, (made.capture("many.pcap", *flows),)))
    assert page.count('<p class="caution"><strong>Few packets</strong>') == 1
    assert re.search(r"Few packets</strong> \([^)]*flow 0[^)]*flow 2", page)


def test_a_report_of_many_flows_draws_distinguishable_flows() -> None:
    flows = [made.flow("even", TEN, 120, name=f"flow {number}") for number in range(17)]
    page = render(Analysis(TEN, (made.capture("many.pcap", *flows),)))
    assert "The figures show the first 15 flows" in page
    assert len(re.findall(r'<button type="button"', page)) == 15
    assert page.count('<article class="card"') == 17


PROBE = """
  const all = (index, what) => [...document.querySelectorAll(`#chart-${index} svg.marks ${what}`)];
  const marks = (index) => all(index, "path").length;
  const line = (index) => all(index, ".mark-line path").filter((path) => path.getAttribute("d")).length;
  await drawn(); await drawn();
  probe.charts = document.querySelectorAll(".chart svg.marks").length;
  probe.marks = [1, 2, 3, 4, 5, 6, 7, 8].map(marks);
  probe.lines = line(1);
  probe.wide = document.documentElement.scrollWidth - innerWidth;
  document.querySelector(".legend button").click();
  await drawn(); await drawn();
  probe.fewer = line(1);
  probe.pressed = document.querySelector(".legend button").getAttribute("aria-pressed");
  document.querySelector(".legend button").click();
  await drawn(); await drawn();
  probe.again = line(1);
"""


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("flags", [[], [DARK]])
def test_the_page_draws_and_hides_flows(tmp_path: Path, flags: list[str]) -> None:
    """Eight figures of two flows; nothing on the console; a press on a name takes its line away, another brings it."""
    page = tmp_path / "page.html"
    page.write_text(render(analysis_of("bbr", "pairs")), encoding="utf-8")
    found, complaints = probe(page, tmp_path / "profile", PROBE, *flags)
    assert complaints == []
    assert found["charts"] == 8
    assert min(found["marks"]) > 2
    assert found["wide"] <= 0
    assert (found["lines"], found["fewer"], found["again"]) == (2, 1, 2), json.dumps(found)
    assert found["pressed"] == "false"
