"""The report page in headless Chromium: no complaint on the console, the figure, the table; light, dark and narrow."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
import vl_convert

from conftest import BROWSER, ROOT
from quiclab import cli
from quiclab._base.native import build_id
from quiclab.errors import QuiclabError
from quiclab.report import figures
from quiclab.report.html import bundle, responsive
from quiclab.report.show_comparison import published_decimals
from quiclab.report.study_page import write_page
from quiclab.study.compare import compare_document
from quiclab.study.evaluate import Evaluation
from quiclab.study.registry import find

STUDY = "tiny/rate"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--v=0",
    # the clock of the page: it jumps when the page waits, so that drawing ends before the page is read
    "--virtual-time-budget=20000",
)
DARK = "--blink-settings=preferredColorScheme=0"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed (apt-get install chromium)"),
]


@dataclass
class Shown(HTMLParser):
    """What a page shows: texts of the table's rows, and what is drawn in the first chart."""

    open: list[tuple[str, str]] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    charts: list[dict[str, str]] = field(default_factory=list)
    fills: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def inside(self, tag: str, identity: str) -> bool:
        return (tag, identity) in self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag not in ("meta", "link", "br", "img", "input", "hr"):
            self.open.append((tag, values.get("id", "")))
        if self.inside("table", "comparison"):
            if tag == "tr":
                self.rows.append([])
            if tag in ("td", "th"):
                self.rows[-1].append("")
        if self.inside("div", "chart-1") and not self.inside("details", ""):
            if tag == "svg" and values.get("class") == "marks":
                self.charts.append(values)
            if values.get("fill", "none") not in ("none", "transparent"):
                self.fills.add(values["fill"])

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.inside("table", "comparison") and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data
        if self.inside("div", "chart-1") and any(tag == "svg" for tag, _ in self.open):
            self.texts.append(data)


def browse(page: Path, profile: Path, *flags: str, titles: list[str] | None = None) -> tuple[Shown, list[str]]:
    """Open a page; returns what it shows and what the console says, and adds its title to `titles`."""
    assert BROWSER is not None
    done = subprocess.run(
        [BROWSER, *FLAGS, *flags, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    shown = Shown()
    shown.feed(done.stdout)
    if titles is not None:
        titles += re.findall(r"<title>(.*?)</title>", done.stdout)
    return shown, [line for line in done.stderr.splitlines() if re.search(r"CONSOLE", line)]


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """The tiny study of the tests, run and reported."""
    out = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICLAB_STUDIES", str(ROOT / "tests" / "data" / "tiny" / "studies"))
        assert cli.invoke(["study", "run", STUDY, "--out", str(out)]) == 0
        assert cli.invoke(["study", "report", STUDY, "--out", str(out)]) == 0
        evaluation = Evaluation(find(STUDY), out)
        assert evaluation.table.height > 0  # read while the study can be found
        return evaluation


@pytest.fixture(autouse=True)
def tiny_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICLAB_STUDIES", str(ROOT / "tests" / "data" / "tiny" / "studies"))


@pytest.fixture
def page(evaluation: Evaluation) -> Path:
    return evaluation.directory / "report.html"


@pytest.mark.parametrize("writable", [True, False])
def test_the_script_of_pages_is_put_together_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writable: bool
) -> None:
    """It takes seconds, and is kept where that is possible."""
    made: list[str] = []
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda _: made.append("draw();") or made[-1])  # type: ignore[func-returns-value]
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path if writable else tmp_path / "file"))
    for _ in range(2):
        bundle.cache_clear()  # as in another process
        assert bundle() == "draw();"
    bundle.cache_clear()
    assert len(made) == (1 if writable else 2)


def test_the_console_is_watched(tmp_path: Path) -> None:
    """The other tests see errors: here are two."""
    page = tmp_path / "bad.html"
    page.write_text("<script>console.error('first'); absent();</script><p>text</p>")
    _, console = browse(page, tmp_path / "profile")
    assert any("first" in line for line in console)
    assert any("absent is not defined" in line for line in console)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figure_and_colours(scheme: str, page: Path, tmp_path: Path) -> None:
    shown, console = browse(page, tmp_path / "profile", *([DARK] if scheme == "dark" else []))
    assert console == []
    assert len(shown.charts) == 1
    assert int(shown.charts[0]["width"]) > 300
    assert int(shown.charts[0]["height"]) > 200
    # the axis is labelled with name and unit, the legend with the series
    text = " ".join(shown.texts)
    for part in ("Rate [Mbit/s]", "Goodput [Mbit/s]", "5 ms away", "<50 ms> & away", "published", "measured"):
        assert part in text, part
    light, dark = ({colour} for colour in ("#24292f", "#e6e8eb"))
    assert light | dark <= set(re.findall(r"#[0-9a-f]{6}", f"{figures.LIGHT}{figures.DARK}"))
    assert (light if scheme == "light" else dark) <= shown.fills
    assert not (dark if scheme == "light" else light) & shown.fills


def test_the_two_sources_are_separate_and_ticks_are_measured_values(evaluation: Evaluation) -> None:
    [spec] = [figures.specification(evaluation, figure, "quinn") for figure in evaluation.study.presentation.figures]
    shifts: dict[str, set[float]] = {}
    for layer in spec["layer"]:
        if "transform" in layer:
            shifts.setdefault(layer["transform"][0]["filter"], set()).add(layer["mark"]["xOffset"])
            assert layer["encoding"]["x"]["axis"]["values"] == [5, 20]
    assert sorted(shifts.values(), key=max) == [{-figures.SHIFT}, {figures.SHIFT}]
    svg = figures.to_svg(spec)
    for symbol in ("published", "measured", "5 ms away", "Moon"):
        assert f">{symbol}<" in svg


@pytest.mark.parametrize(("low", "high", "zero"), [(0.0, 1.0, True), (22.0, 38.0, False), (15.0, 38.0, True)])
def test_the_axis_starts_at_zero_where_values_differ_by_more_than_two(low: float, high: float, zero: bool) -> None:
    assert figures.starts_at_zero(pl.DataFrame({"low": [low], "high": [high]})) is zero


def test_thresholds_seeds_and_builds_are_on_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for part in (
        "on 2000 resamples",
        "at least 97.5 %",
        "at most 2.5 % refuted",
        "larger of 2 % and 2 standard errors",
    ):
        assert part in text, part
    assert "seed 1 + i; here: 1 to 3" in text
    assert f"<dt>version: build</dt><dd>{build_id()}</dd>" in text


def test_published_values_keep_the_decimals_that_were_printed() -> None:
    def printed(*pairs: tuple[float, float]) -> tuple[int, int]:
        return published_decimals({"published_mean": mean, "published_std": std} for mean, std in pairs)

    assert printed((31.0, 0.28), (35.5, 1.3)) == (1, 2)
    assert printed((9.14, 0.0)) == (2, 2)
    assert printed((12.0, 3.0)) == printed() == (0, 0)


def test_a_report_without_runs_of_the_engine_says_so(evaluation: Evaluation) -> None:
    before = sorted(evaluation.directory.iterdir())
    with pytest.raises(QuiclabError, match="has no runs with noq, only with quinn"):
        write_page(evaluation, "noq")
    assert sorted(evaluation.directory.iterdir()) == before


def test_table(evaluation: Evaluation, page: Path, tmp_path: Path) -> None:
    shown, console = browse(page, tmp_path / "profile")
    assert console == []
    head, *rows = shown.rows
    expected = compare_document(evaluation, "quinn")["rows"]
    labels = evaluation.study.design.labels
    shown_rows: list[tuple[str, list[str]]] = []
    for cells in rows:  # a row with one cell names the configuration of those below it
        if len(cells) == 1:
            label = cells[0].strip()
        else:
            assert len(cells) == len(head)
            shown_rows.append((label, cells))
    assert len(shown_rows) == len(expected) == 4
    for (label, cells), row in zip(shown_rows, expected, strict=True):
        assert (label, cells[0]) == (labels[row["configuration"]], str(row["rate_mbps"]))
        # as printed in the published table, which has one decimal for both
        assert cells[1] == f"{row['published_mean']:.1f} ± {row['published_std']:.1f}"
        mean, deviation = row["measured_mean"], row["measured_std"]
        decimals = max(2, 1 - math.floor(math.log10(deviation))) if deviation else 2  # two digits of the deviation
        assert cells[2] == f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"
        assert cells[-1].strip() == str(row["measured_n"])


def test_on_a_phone_nothing_is_wider_than_the_window(page: Path, tmp_path: Path) -> None:
    width = 500  # headless Chromium has no narrower window
    probe = tmp_path / "probe.html"
    measure = (
        "<script>addEventListener('load', () => setTimeout(() => { document.title = 'width ' + "
        "document.documentElement.scrollWidth + ' of ' + innerWidth; }, 5000));</script>"
    )
    # the last one: the chart library has another inside
    head, end, tail = page.read_text(encoding="utf-8").rpartition("</body>")
    probe.write_text(head + measure + end + tail, encoding="utf-8")
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER,
            *FLAGS,
            f"--window-size={width},900",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            probe.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"<title>width (\d+) of (\d+)</title>", done.stdout)
    assert found is not None
    assert int(found[1]) <= int(found[2]) <= width
    shown = Shown()
    shown.feed(done.stdout)
    assert int(shown.charts[0]["width"]) <= width


def test_a_chart_in_rows_has_a_width_of_its_own() -> None:
    rows = {"facet": {"row": {"field": "stack"}}, "spec": {"width": 400}}
    assert responsive(rows) == rows
    assert responsive({"mark": "line"})["width"] == "container"
