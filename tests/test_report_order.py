"""What a report says and in which order; legends that choose, tooltips near marks, and widths."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.report import figures, study_page
from quiclab.report.html import with_contents
from quiclab.report.interaction import FADED, NEAR, interactive
from quiclab.report.misfit import misfit
from quiclab.study.evaluate import Evaluation
from quiclab.study.registry import find

STUDY = "tiny/rate"
SAME_SEEDS = "has the same seed in every setting"
PHONE = 390


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """The tiny study of the tests with five runs, run and reported."""
    out = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICLAB_STUDIES", str(ROOT / "tests" / "data" / "tiny" / "studies"))
        assert cli.invoke(["study", "run", STUDY, "--runs", "5", "--engines", "quinn", "--out", str(out)]) == 0
        assert cli.invoke(["study", "report", STUDY, "--out", str(out)]) == 0
        found = Evaluation(find(STUDY), out)
        assert found.table.height > 0
        return found


@pytest.fixture(autouse=True)
def tiny_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICLAB_STUDIES", str(ROOT / "tests" / "data" / "tiny" / "studies"))


@pytest.fixture
def text(evaluation: Evaluation) -> str:
    return (evaluation.directory / "report.html").read_text(encoding="utf-8").partition("<script>")[0]


def written(evaluation: Evaluation, study: Any) -> str:
    """Write the report of another study with the same runs, and return it."""
    copy = Evaluation.__new__(Evaluation)
    copy.__dict__ |= evaluation.__dict__ | {"study": study}
    for name in ("claims", "points", "plan", "all_runs"):
        copy.__dict__.pop(name, None)
    page = evaluation.directory / "report.html"
    before = page.read_bytes()
    study_page.write_page(copy, "quinn")
    found = page.read_text(encoding="utf-8").partition("<script>")[0]
    page.write_bytes(before)
    return found


def test_question_figure_verdicts_misfit_numbers_provenance(text: str) -> None:
    parts = ["<h1>", 'id="figures"', 'id="chart-1"', 'id="verdicts"', 'id="misfit"', 'id="claims"', 'id="comparison"']
    places = [text.index(part) for part in [*parts, "digest of the digests"]]
    assert places == sorted(places)
    headings = re.findall(r'<h2 id="([^"]+)">', text)
    assert headings[-1] == "run"
    assert re.findall(r'<li><a href="#([^"]+)">', text.partition("</nav>")[0]) == headings


def test_no_section_is_empty(evaluation: Evaluation) -> None:
    study = evaluation.study
    bare = replace(
        study,
        measures=replace(study.measures, claims=(), further=()),
        presentation=replace(study.presentation, figures=(), limits=(), assumptions=(), views=()),
    )
    page = written(evaluation, bare)
    for section in re.findall(r"<section.*?</section>", page, re.DOTALL):
        heading, content = section.split("</h2>")
        assert re.sub(r"<[^>]+>|\s", "", content), heading
    assert not re.search(r'id="(claims|limits|assumptions|views|further)"', page)
    assert "The whole predicate" not in page


def test_a_report_names_the_stacks_that_have_run(
    evaluation: Evaluation, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stacks(facts: list[tuple[str, str]]) -> list[str]:
        assert "engine" not in dict(facts)
        return [value for name, value in facts if name == "stacks"]

    assert "<dt>stacks</dt><dd>quinn</dd>" in text
    assert stacks(study_page._facts(evaluation, "quinn")) == ["quinn"]
    # a study whose engine is lab-quic, while each configuration has a library at both ends
    monkeypatch.delenv("QUICLAB_STUDIES")
    name = "pacing/matrix_libraries"
    only = [part for one in ("configuration=quinn", "receiver=noq", "rate=10") for part in ("--only", one)]
    assert cli.invoke(["study", "run", name, *only, "--runs", "1", "--out", str(tmp_path)]) == 0
    assert stacks(study_page._facts(Evaluation(find(name), tmp_path), "lab-quic")) == ["noq, quinn"]


def test_seeds_are_said_to_be_the_same_only_where_they_are(evaluation: Evaluation, text: str) -> None:
    assert SAME_SEEDS in text
    study = evaluation.study
    own = written(evaluation, replace(study, design=replace(study.design, own_seeds=True)))
    assert SAME_SEEDS not in own
    assert "same in every setting" not in own
    assert "each setting&#39;s own" in own


def test_a_page_says_how_far_its_worst_setting_is(evaluation: Evaluation) -> None:
    def row(relative: float | None, rate: int) -> dict[str, Any]:
        return {"configuration": "near", "rate_mbps": rate, "relative_difference": relative}

    study = evaluation.study
    rows = [row(0.014, 5), row(-0.099, 20), row(0.01, 40), row(None, 80)]
    label = study.design.labels["near"]
    assert misfit(study, rows) == (
        "Measured and published mean of 3 settings: the median difference is 1.4 %, the largest −9.9 % "
        f"({label}, rate: 20 Mbit/s); 1 differs by more than 5 %."
    )
    assert misfit(study, [row(None, 5)]) == ""


def test_the_median_of_a_series_does_not_stand_alone(evaluation: Evaluation, text: str) -> None:
    table = text.partition('id="fidelity-table"')[2].partition("</table>")[0]
    assert "Largest difference" in table
    assert "Deviations, measured / published" in table
    for fidelity in evaluation.fidelity("quinn").values():
        assert abs(fidelity.largest_relative_difference) >= fidelity.median_relative_difference


def test_few_headings_need_no_contents() -> None:
    assert with_contents('<!-- contents --><h2 id="a">A</h2>') == '<h2 id="a">A</h2>'


def unit(**encoding: Any) -> dict[str, Any]:
    series = {"field": "series", "type": "nominal"}
    return {"mark": {"type": "point", "opacity": 1}, "encoding": {"x": {"field": "t"}, "color": series, **encoding}}


def test_a_legend_is_bound_once_in_a_chart_and_fades_all_series() -> None:
    spec = interactive({"vconcat": [{"layer": [unit(), unit()]}, unit()]})
    units = [*spec["vconcat"][0]["layer"], spec["vconcat"][1]]
    assert [len(item.get("params", [])) for item in units] == [1, 0, 0]
    assert units[0]["params"][0]["bind"] == "legend"
    assert [item["encoding"]["opacity"]["value"] for item in units] == [FADED] * 3
    assert [item["encoding"]["opacity"]["condition"]["value"] for item in units] == [1] * 3
    # without names, nothing is chosen
    plain = {"mark": "bar", "encoding": {"x": {"field": "a"}, "color": {"field": "b", "type": "quantitative"}}}
    assert interactive(plain) == plain


def test_a_small_mark_has_a_large_invisible_disc_with_its_tooltip() -> None:
    marked = unit(tooltip=[{"field": "t"}])
    for spec in (interactive(marked), interactive({"layer": [marked]})):
        *_, disc = spec["layer"]
        assert disc["mark"]["size"] == NEAR
        assert disc["mark"]["opacity"] == 0
        assert disc["encoding"] == {"x": {"field": "t"}, "tooltip": [{"field": "t"}]}


WIDE = """() => [...document.querySelectorAll("body *")].filter(
  element => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".scroll, .chart svg")
).map(element => `${element.tagName} ${element.className.baseVal ?? element.className} ${element.id}`)"""


def opened(browser: Any, page: Path, width: int) -> Any:
    shown = browser.new_page(viewport={"width": width, "height": 900})
    shown.goto(page.as_uri())
    shown.wait_for_selector("#chart-1 svg.marks")
    return shown


@pytest.mark.browser
def test_nothing_is_wider_than_a_phone(evaluation: Evaluation, browser: Any) -> None:
    shown = opened(browser, evaluation.directory / "report.html", PHONE)
    assert shown.evaluate("document.documentElement.scrollWidth") == PHONE
    assert shown.evaluate(WIDE) == []
    assert shown.evaluate("document.querySelector('#chart-1 svg.marks').getBoundingClientRect().width") <= PHONE


@pytest.mark.browser
def test_a_click_on_a_legend_leaves_one_series_and_a_tooltip_appears_near_a_mark(
    evaluation: Evaluation, browser: Any
) -> None:
    shown = opened(browser, evaluation.directory / "report.html", 1000)
    faded = f"document.querySelectorAll('#chart-1 svg.marks path[opacity=\"{FADED}\"]').length"
    assert shown.evaluate(faded) == 0
    shown.locator("#chart-1 .role-legend-label text").first.click()
    shown.wait_for_function(f"{faded} > 0")
    mark = shown.locator("#chart-1 .mark-symbol.role-mark path").first.bounding_box()
    assert mark is not None
    shown.mouse.move(mark["x"] + mark["width"] / 2 + 11, mark["y"] + mark["height"] / 2)
    shown.wait_for_selector("#vg-tooltip-element.visible")


@pytest.mark.browser
@pytest.mark.slow
def test_the_page_of_loss_detection_is_short_and_narrow(
    tmp_path: Path, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nineteen figures are folded: the page had 32,000 pixels, and was 625 wide on a phone."""
    monkeypatch.delenv("QUICLAB_STUDIES")
    name = "validation/loss_detection"
    only = ["--only", "configuration=lab-quic:rfc9002"]
    assert cli.invoke(["study", "run", name, *only, "--out", str(tmp_path)]) == 0
    assert cli.invoke(["study", "report", name, "--out", str(tmp_path)]) == 0
    shown = opened(browser, tmp_path / name / "report.html", PHONE)
    assert shown.evaluate("document.documentElement.scrollWidth") == PHONE
    assert shown.evaluate(WIDE) == []
    assert shown.evaluate("document.documentElement.scrollHeight") < 10_000
    shown.locator("details.figure summary").first.click()
    shown.wait_for_selector("#chart-2 svg.marks")
    assert shown.evaluate("document.documentElement.scrollWidth") == PHONE


def test_a_figure_without_data_is_a_sentence(evaluation: Evaluation) -> None:
    """An axis without data has no domain, and its drawing no size: the report failed."""
    from altair import Chart  # noqa: PLC0415 - it takes a second

    def nothing(_: Evaluation, __: str) -> Any:
        return Chart({"values": []}).mark_line().encode(x="a:Q", y="b:Q")

    [figure] = evaluation.study.presentation.figures
    spec = figures.specification(evaluation, replace(figure, draw=nothing), "quinn")
    assert "None of these settings has been run yet." in figures.to_svg(spec)


def test_the_note_says_from_where_on_means_have_no_decimals(
    evaluation: Evaluation, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here from 10 on, which some of the means of the study exceed."""
    assert "none from" not in text
    monkeypatch.setattr(study_page, "LARGE", 10.0)
    monkeypatch.setitem(study_page._BOUNDS, "large", 10.0)
    page = written(evaluation, evaluation.study)
    assert "two decimals, none from 10 on, and more where" in page
