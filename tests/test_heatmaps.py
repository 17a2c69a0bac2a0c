"""Maps of differences with significance: p-values, cells, colours, scores; no runs are made."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from scipy import stats as scipy_stats

from conftest import ROOT
from quiclab.report import figures, study_page
from quiclab.report.figures.heatmap import PALETTES, UNTESTED, WHITE, annotation, colour, ink, limit_of
from quiclab.result.stats import Summary, pairs_of, pearson, percent_difference, spearman, summarise, t_test_p, welch_p
from quiclab.study import (
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    HeatMap,
    Measures,
    Metric,
    Presentation,
    Study,
    Table,
)
from quiclab.study.compare import map_rows
from quiclab.study.evaluate import Evaluation
from quiclab.study.findings import Key
from quiclab.study.maps import Cell, cells_of, map_of, score
from quiclab.study.published import PublishedRow

ENGINE = "lab-quic"
RATES, SIZES = (10, 50, 100), (5, 10, 100, 200, 500, 1000, 10000)


def printed(mean: float, std: float, n: int = 20) -> Summary:
    return Summary(n, mean, std, mean, mean)


def test_p_of_hand_computed_numbers() -> None:
    # means 10 and 12, variances 4 and 4, n = 8 each: t = 2 / sqrt(0.5 + 0.5) = 2, and the degrees of freedom are those
    # of equal variances, 14; Student's t gives 0.0653
    assert welch_p(printed(10, 2, 8), printed(12, 2, 8)) == pytest.approx(0.0653, abs=5e-5)
    # a side without scatter leaves the other alone: t = 3 / (3 / sqrt(9)) = 3 with 8 degrees of freedom, 0.01707
    assert welch_p(printed(10, 0, 9), printed(13, 3, 9)) == pytest.approx(0.01707, abs=5e-6)


def test_p_is_that_of_scipy() -> None:
    first, second = [100.0, 104.0, 97.0, 101.0, 99.5], [101.0, 125.0, 96.0, 140.0, 118.0, 107.0, 122.0]
    expected: Any = scipy_stats.ttest_ind(first, second, equal_var=False).pvalue
    assert welch_p(summarise(first), summarise(second)) == pytest.approx(expected, rel=1e-10)
    # QUIC and TCP at 10 Mbit/s, 36 ms, 10 MB (Table B.1): 0.5 % apart and significant all the same
    expected = scipy_stats.ttest_ind_from_stats(8567.22, 2.18, 20, 8612.22, 1.97, 20, equal_var=False).pvalue
    assert welch_p(printed(8567.22, 2.18), printed(8612.22, 1.97)) == pytest.approx(expected, rel=1e-6)


def test_without_scatter_or_runs_there_is_no_p() -> None:
    # the deviation of 0.1 three times is not exactly zero in floating point
    for first, second in (
        ([5.0, 5.0], [6.0, 6.0]),
        ([0.1, 0.1, 0.1], [0.7, 0.7, 0.7]),
        ([5.0], [6.0, 7.0]),
        ([], [6.0, 7.0]),
    ):
        assert math.isnan(welch_p(summarise(first), summarise(second))), first


def test_runs_with_equal_seeds_are_compared_in_pairs() -> None:
    # the load of a seed moves both settings by tens, their difference is about one
    first, second = {1: 10.0, 2: 50.0, 3: 90.0, 4: 30.0}, {4: 31.2, 3: 90.9, 2: 51.1, 1: 10.8}
    pairs = pairs_of(first, second)
    assert pairs is not None
    assert pairs.differences.mean == pytest.approx(1.0)
    expected = scipy_stats.ttest_rel([10.8, 51.1, 90.9, 31.2], [10, 50, 90, 30]).pvalue
    assert t_test_p(pairs.differences) == pytest.approx(expected)
    assert Cell(10, 5, pairs.first, pairs.second, pairs.differences).significant
    assert not Cell(10, 5, summarise(list(first.values())), summarise(list(second.values()))).significant
    assert pairs_of(first, {seed + 3: value for seed, value in second.items()}) is None
    assert pairs_of({1: 1.0}, {1: 2.0}) is None
    assert [t_test_p(summarise(values)) for values in ([0.0, 0.0], [2.0, 2.0])] == [1.0, 0.0]


def test_a_cell_without_one_run_of_a_side_is_that_of_the_others() -> None:
    first, second = (("quic1", "base", 10, 5), ("tcp", "base", 10, 5))
    whole: dict[Key, dict[int, float]] = {first: {1: 10.0, 2: 50.0, 3: 90.0}, second: {1: 10.8, 2: 51.1, 3: 90.9}}
    more: dict[Key, dict[int, float]] = {**whole, first: {**whole[first], 4: 5000.0}}

    def only(runs: dict[Key, dict[int, float]]) -> Cell:
        summaries = {name: summarise(list(values.values())) for name, values in runs.items()}
        assert FIGURE.map is not None
        (found,) = cells_of(STUDY, FIGURE.map, summaries, runs)
        return found

    assert only(more) == only(whole)
    assert only(more).significant


def test_differences_and_correlations_hand_computed() -> None:
    assert percent_difference(100, 150) == 50  # the first takes two thirds of the time
    assert percent_difference(100, 50) == -50
    assert math.isnan(percent_difference(0, 50))
    # deviations (-1, 0, 1) and (-2, 1, 1): 3 / sqrt(2 * 6)
    assert pearson([1, 2, 3], [0, 3, 3]) == pytest.approx(3 / math.sqrt(12))
    # ranks 1, 2, 3 and 1, 2.5, 2.5: deviations (-1, 0, 1) and (-1, .5, .5)
    assert spearman([1, 20, 300], [0, 3, 3]) == pytest.approx(1.5 / math.sqrt(2 * 1.5))
    assert spearman([1, 2, 3, 4], [9, 7, 5, -80]) == pytest.approx(-1)
    assert math.isnan(pearson([1, 2], [1, 2]))
    assert math.isnan(pearson([1, 2, 3], [4, 4, 4]))


def cell(first: tuple[float, float], second: tuple[float, float]) -> Cell:
    return Cell(10, 5, printed(*first), printed(*second))


def test_the_score_of_a_map_hand_computed() -> None:
    # differences: published 50, -20, 10, 1 (of deviation 50: not significant); measured 40, -10, -5, -3
    ours, theirs = (100.0, 1.0), ((150.0, 1.0), (80.0, 1.0), (110.0, 1.0), (101.0, 50.0))
    measured = ((140.0, 1.0), (90.0, 40.0), (95.0, 1.0), (97.0, 1.0))
    found = score([(cell(ours, one), cell(ours, other)) for one, other in zip(theirs, measured, strict=True)])
    assert (found.cells, found.significant, found.right_sign) == (4, 3, 2)
    # of the two right ones, that of deviation 40 is not significant: t = 10 / sqrt(80.05) with about 19 degrees
    assert found.also_significant == 1
    assert found.sign_share == pytest.approx(2 / 3)
    # deviations from the means 10.25 and 5.5: sums of squares 2580.75 and 1613, of products 1921.5
    assert found.correlation == pytest.approx(1921.5 / math.sqrt(2580.75 * 1613))


def test_a_score_of_nothing_is_nothing() -> None:
    found = score([])
    assert (found.cells, found.significant) == (0, 0)
    assert math.isnan(found.correlation)
    assert math.isnan(found.sign_share)


def test_annotations_have_two_significant_digits() -> None:
    assert [annotation(value) for value in (72.43, 231.4, 0.5253, -12.29, 99.6)] == [
        "72", "230", "0.53", "−12", "100",
    ]  # fmt: skip


def test_colours_grow_from_white_to_the_end_of_the_scale() -> None:
    for palette, (above, below) in PALETTES.items():
        assert colour(0, palette, 100) == WHITE
        assert colour(100, palette, 100) == colour(231, palette, 100) == above[-1]
        assert colour(-50, palette, 100) == below[1]
        assert colour(-100, palette, 100) == below[-1]
    # half-way between white and the middle of the reds: (255 + 244) / 2, (255 + 165) / 2, (255 + 130) / 2
    assert colour(25, "red and blue", 100) == "#fad2c0"
    assert ink("#ffffff") != ink("#2166ac")


class Stored:
    """What a map reads of an evaluation."""

    def __init__(self, runs: Mapping[Any, Sequence[float]], printed: Mapping[Any, Summary]) -> None:
        self.study = STUDY
        self.runs, self.printed = runs, printed
        self.common_seeds = False

    def reference(self, metric: str = "") -> list[PublishedRow]:
        del metric
        return [PublishedRow({}, key, summary) for key, summary in self.printed.items()]

    def by_seed(self, engine: str, variant: str = "", metric: str = "") -> dict[Key, dict[int, float]]:
        del engine, variant, metric
        return {
            key: dict(enumerate(values, 0 if self.common_seeds else 1000 * number))
            for number, (key, values) in enumerate(self.runs.items())
        }


FIGURE = Figure(
    "QUIC and TCP, 36 ms",
    "Figure 4.6a",
    "",
    "",
    map=HeatMap("quic1", "tcp", "rate", "size", {"network": "base"}, limit=100),
)
STUDY = Study(
    "fake/map",
    design=Design(
        scenario="",
        configurations=(Configuration("quic1", "QUIC", {}), Configuration("tcp", "TCP", {})),
        factors=(
            Factor("network", "network", "Network", "", ("base", "loss"), lambda value: {"x": value}),
            Factor("rate", "bandwidth_mbps", "Bandwidth", "Mbit/s", RATES, lambda value: {"y": value}),
            Factor("size", "object_size_kb", "Object size", "KB", SIZES, lambda value: {"z": value}),
        ),
        engines=(Engine(ENGINE),),
        runs=2,
    ),
    measures=Measures(
        metric=Metric("plt_ms", "Page load time", "ms", lambda _: math.nan),
        table=Table("", "Table B.1"),
    ),
    presentation=Presentation(
        title="Fake",
        abstract="",
        source="nobody",
        figures=(FIGURE,),
        assumptions=(),
    ),
)


def table_b1() -> dict[Key, Summary]:
    with (ROOT / "studies/quiclab_studies/page_load/reference" / "table_b01_plt.csv").open(encoding="utf-8") as file:
        return {
            (row["stack"], "base", int(row["bandwidth_mbps"]), int(row["object_size_kb"])): printed(
                float(row["plt_ms_mean"]), float(row["plt_ms_std"]), int(row["n_runs"])
            )
            for row in csv.DictReader(file)
        }


def stored() -> Stored:
    """Return runs like the published, but for three cells: not significant, without scatter, missing."""
    runs: dict[Any, list[float]] = {
        key: [summary.mean * (1.02 if key[0] == "tcp" else 1) + wobble for wobble in (-1.0, 0.0, 1.0, 0.5)]
        for key, summary in table_b1().items()
    }
    runs["quic1", "base", 10, 5] = [100.0, 180.0, 150.0, 120.0]
    runs["quic1", "base", 50, 5], runs["tcp", "base", 50, 5] = [100.0] * 3, [180.0] * 3
    del runs["tcp", "base", 100, 5]
    # another network is not shown
    runs["quic1", "loss", 10, 5], runs["tcp", "loss", 10, 5] = [1.0, 1.1], [9.0, 9.1]
    return Stored(runs, table_b1())


def drawn(found: Stored) -> tuple[dict[str, Any], str]:
    spec = figures.specification(cast(Evaluation, found), FIGURE, ENGINE)
    json.dumps(spec, allow_nan=False)
    return spec, figures.caption(cast(Evaluation, found), FIGURE, ENGINE)


def values(spec: Mapping[str, Any], panel: int) -> dict[tuple[str, str], dict[str, Any]]:
    rows = spec["datasets"][spec["vconcat"][panel]["data"]["name"]]
    return {(row["row"], row["column"]): row for row in rows}


def test_layout_is_the_published_one() -> None:
    spec, _ = drawn(stored())
    measured, published, difference, _scale = spec["vconcat"]
    for panel in (measured, published, difference):
        encoding = panel["layer"][0]["encoding"]
        assert encoding["y"]["sort"] == ["10", "50", "100"]
        assert encoding["x"]["sort"] == [str(size) for size in SIZES]
    cells = values(spec, 1)
    assert len(cells) == 21
    # Table B.1: (183.41 - 106.37) / 106.37 and (8612.22 - 8567.22) / 8567.22
    assert (cells["10", "5"]["text"], cells["10", "10000"]["text"]) == ("72", "0.53")
    assert cells["10", "5"]["fill0"] == colour(72.43, "red and blue", 100)
    # measured means are 102.48 + 0.125 and 1.02 * 175.84 + 0.125: 74.93 %, and published were 71.58 %
    assert values(spec, 2)["50", "10"]["text"] == "3.3"


def test_cells_that_say_nothing_are_white_and_those_without_a_p_are_grey() -> None:
    spec, caption = drawn(stored())
    cells = values(spec, 0)
    assert (cells["10", "5"]["fill0"], cells["10", "5"]["fill1"], cells["10", "5"]["bold"]) == (WHITE, WHITE, False)
    assert cells["10", "5"]["text"].startswith("3")  # the number stands there all the same
    untested = cells["50", "5"]
    assert (untested["fill0"], untested["fill1"], untested["text"], untested["p"]) == (
        UNTESTED,
        UNTESTED,
        "80 *",
        "none",
    )
    assert ("100", "5") not in cells
    assert ("100", "5") not in values(spec, 2)
    assert "Grey with an asterisk" in caption
    assert "White: not significant (Welch's t-test, p ≥ 0.01)." in caption


def test_the_svg_has_the_colours_and_the_page_a_switch() -> None:
    spec, _ = drawn(stored())
    svg = figures.to_svg(spec)
    assert svg.count(f'fill="{UNTESTED}"') == 1
    assert f'fill="{colour(72.43, "red and blue", 100)}"' in svg
    [switch] = [item for item in spec["params"] if item["name"] == "palette"]
    assert switch["bind"]["labels"] == list(PALETTES)
    other = json.loads(json.dumps(spec))
    other["params"][0]["value"] = 1
    assert f'fill="{colour(72.43, "orange and purple", 100)}"' in figures.to_svg(other)


def test_a_scale_of_one_of_its_own_holds_all_cells_and_names_the_metric() -> None:
    found = stored()
    found.common_seeds = True
    figure = replace(FIGURE, map=HeatMap("quic1", "tcp", "rate", "size", {"network": "base"}))
    shown = map_of(cast(Evaluation, found), figure, ENGINE)
    largest = max(abs(cell.difference) for cell in (*shown.measured, *shown.published))
    assert largest <= limit_of(shown) < 2.5 * largest
    spec = figures.specification(cast(Evaluation, found), figure, ENGINE)
    axis = spec["vconcat"][-1]["layer"][0]["encoding"]["x"]
    assert axis["scale"]["domain"] == [-limit_of(shown), limit_of(shown)]
    # two lines: one was cut on a phone
    assert axis["title"] == ["Significant difference [%]", "Page load time lower with TCP below zero, with QUIC above"]
    assert "Student's t-test of runs paired by seed" in figures.caption(cast(Evaluation, found), figure, ENGINE)


def test_without_a_published_table_there_is_one_map() -> None:
    spec, caption = drawn(Stored(stored().runs, {}))
    assert len(spec["vconcat"]) == 2  # the map, and the scale
    assert "publication" not in caption  # the study has no published table
    nothing, caption = drawn(Stored({}, {}))
    assert "None of these settings has been run yet." in json.dumps(nothing)
    assert caption == ""


def test_a_map_in_the_comparison_and_on_a_card() -> None:
    evaluation = cast(Evaluation, stored())
    [row] = map_rows(evaluation, ENGINE)
    json.dumps(row, allow_nan=False)
    assert (row["cells"], row["significant"], row["right_sign"]) == (20, 20, 20)
    assert row["correlation"] > 0.9
    by_place = {(line["rate"], line["size"]): line for line in row["lines"]}
    assert by_place[50, 5]["measured_p"] is None
    assert by_place[100, 5]["measured_difference"] is None
    assert by_place[100, 5]["published_significant"] is True
    assert map_of(evaluation, FIGURE, ENGINE).score.cells == 20
    spec, _ = drawn(stored())
    assert figures.to_svg(study_page._small(spec), figures.THUMBNAIL).startswith("<svg")
