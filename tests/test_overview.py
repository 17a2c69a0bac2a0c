"""The overview of a group, and the views of single runs."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import BROWSER, ROOT
from quiclab import cli
from quiclab.errors import QuiclabError
from quiclab.report import views
from quiclab.report.overview import UNFOLDED_STUDIES, render
from quiclab.study.registry import about, find, find_all
from test_report_page import DARK, browse

OTHER = '''"""A second file: small studies (of nobody).

Its second
paragraph.
"""

from dataclasses import replace

from .tiny import RATE

from quiclab.study.claims import Claim
from quiclab.study import Figure, Metric, Study, Table, View


def draw(results):
    """Draw how much each run has delivered, over time."""
    from quiclab.report.panels import Panel, panels

    def line(result):
        rows = result.series.filter(
            (result.series["element"] == "down1") & (result.series["metric"] == "sent_bytes")
        )
        return list(rows.select("time_s", "value").iter_rows())

    return panels([Panel({"link 1": line(result)}, label, "Bytes") for label, result in results.items()], "Time [s]")


FLAT = Study(
    "tiny/flat",
    replace(RATE.design, factors=(), engines=RATE.design.engines[:1], variants=(), unavailable=()),
    replace(
        RATE.measures,
        table=Table("", "a figure"),
        further=(Metric("packets", "Packets", "", lambda result: 7.0),),
        claims=(
            Claim("FL-1", "§1", "It is slow.", lambda t: t("near") < 0, explanation="It is <fast>: nothing slows it."),
            Claim("FL-2", "§2", "It is polite.", reason="not available yet"),
        ),
    ),
    replace(
        RATE.presentation,
        title="Tiny: two distances",
        figures=(Figure("Goodput", "a figure", "", "Mean."),),
        views=(
            View(
                "What arrives",
                "a figure",
                "Bytes so far.",
                {"5 ms away": ("near", {}), "far": ("far", {})},
                {"record.series_interval": "10 ms"},
                draw,
            ),
        ),
    ),
)
NEVER = replace(RATE, name="tiny/never", presentation=replace(RATE.presentation, title="Tiny: never run"))
STUDIES = (FLAT, NEVER)
'''


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A laboratory with three small studies, of which two have results."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "tests" / "data" / "tiny", home, dirs_exist_ok=True)
    (home / "studies" / "other.py").write_text(OTHER, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICLAB_STUDIES", str(home / "studies"))
        for name, runs in (("tiny/rate", "2"), ("tiny/flat", "5")):
            arguments = ["study", "run", name, "--runs", runs, "--engines", "quinn", "--out", str(home / "results")]
            assert cli.invoke(arguments) == 0
    return home


@pytest.fixture(autouse=True)
def studies(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICLAB_STUDIES", str(lab / "studies"))


@pytest.fixture
def page(lab: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The overview, written again."""
    assert cli.invoke(["study", "report", "tiny", "--out", str(lab / "results")]) == 1
    captured = capsys.readouterr()
    *pages, last = map(Path, captured.out.splitlines())
    assert last == lab / "results" / "tiny" / "index.html"
    assert [path.parent.name for path in pages] == ["flat", "rate"]
    errors = [line for line in captured.err.splitlines() if line.startswith("quiclab:")]
    assert len(errors) == 1
    # it was not run, which is no failure
    assert "1 of 3 studies not run: tiny/never; `quiclab study run`" in errors[0]
    assert "failed" not in errors[0]
    return last


def test_paragraphs_of_the_files() -> None:
    title, paragraphs = about([find("tiny/flat")])
    assert title == "A second file: small studies"
    assert paragraphs == ["Its second paragraph."]
    # the title of one file is not said of the studies of all: these have no package in common
    assert about(find_all("tiny")) == ("", [])


def test_a_group_of_several_modules_has_the_title_of_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUICLAB_STUDIES")
    title, _ = about(find_all("validation"))
    assert title.startswith("quiclab compared with what it models")
    title, _ = about(find_all("validation/aqm"))
    assert not title.startswith("quiclab compared with what it models")


def test_overview_has_cards_claims_and_missing_studies(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<h1>tiny</h1>" in text
    assert "<strong>Not run yet:</strong> 1 of 3 experiments: never." in text
    for link in ("flat/report.html", "rate/report.html"):
        assert f'href="{link}"' in text
        assert (page.parent / link).is_file()
    assert text.count('<li class="card">') == 2
    assert text.count("<svg") == 2
    assert "No published numbers are stored (a figure)." in text
    assert re.findall(r'<article class="claim \w+" id="([\w-]+)"', text) == [
        "FL-1",
        "FL-2",
        "TI-1",
        "TI-2",
        "TI-3",
    ]
    assert "It is &lt;fast&gt;: nothing slows it." in text
    assert '<dt>claims</dt><dd>5: <span class="verdict refuted">1 refuted</span>' in text
    # TI-2 fails on the printed means
    contradictions = text.split('id="contradictions"')[1].split("</section>")[0]
    assert re.findall(r'href="#([\w-]+)"', contradictions) == ["TI-2"]


def test_many_studies_that_were_not_run_are_folded_in_their_order() -> None:
    one = find("tiny/never")
    for number, folded in ((UNFOLDED_STUDIES, False), (UNFOLDED_STUDIES + 1, True)):
        names = [f"part/{letter}" for letter in "gfedcba"[:number]]
        text = render("tiny", [replace(one, name=f"tiny/{name}") for name in names], [])
        note = f"<strong>Not run yet:</strong> {number} of {number} experiments"
        assert text.partition(note)[0].endswith('<details class="note"><summary>' if folded else '<p class="note">')
        assert re.sub("<[^>]+>|:", "", text.partition(note)[2]).split(".")[0].strip() == ", ".join(names)


def test_one_study_has_no_overview(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["study", "report", "tiny/flat", "--out", str(lab / "results")]) == 0
    assert capsys.readouterr().out.splitlines() == [str(lab / "results" / "tiny" / "flat" / "report.html")]


def test_page_of_a_study_without_factor_and_numbers(page: Path) -> None:
    text = (page.parent / "flat" / "report.html").read_text(encoding="utf-8")
    assert '<th scope="col">Published</th>' not in text
    assert "published (" not in text.split("<script>")[0]
    assert "No published numbers of this figure are stored (a figure); all points are measured." in text
    assert "<strong>Explanation.</strong> It is &lt;fast&gt;: nothing slows it." in text
    assert "<td>7.000 ± 0.000</td>" in text  # the further metric, of which nothing was printed either
    assert '<h2 id="views">Inside single runs</h2>' in text
    assert (
        "<strong>What arrives.</strong> Bytes so far. Compare a figure. Runs shown: quinn, seed 1.</figcaption>" in text
    )
    assert "with the seed" not in text.partition('id="views"')[2].partition("</p>")[0]


def test_views_are_files_and_the_same_each_time(page: Path) -> None:
    assert (page.parent / "flat" / "what_arrives.png").read_bytes().startswith(b"\x89PNG")
    svg = (page.parent / "flat" / "what_arrives.svg").read_text(encoding="utf-8")
    assert all(f">{text}<" in svg for text in ("5 ms away", "far", "Time [s]", "Bytes", "link 1"))
    first, second = (views.draw(find("tiny/flat")) for _ in range(2))
    assert [item.spec for item in first] == [item.spec for item in second]
    rows = first[0].spec["datasets"][first[0].spec["vconcat"][0]["data"]["name"]]
    assert [row["x"] for row in rows[:3]] == [0.0, 0.01, 0.02]
    assert rows[-1]["y"] > rows[0]["y"]


def test_a_view_names_the_stacks_and_seeds_of_the_runs_that_it_shows() -> None:
    study = find("tiny/flat")
    tcp = {f"flows.dc.{end}.stack": "lab-tcp" for end in ("sender", "receiver")}
    near, far = study.design.configurations
    far = replace(far, changes=lambda given: {**given, **tcp})
    design = replace(study.design, configurations=(near, far), engine_changes=lambda _: {}, own_seeds=True)
    own = replace(study, design=design)
    [drawn] = views.draw(own)
    seeds = {point.configuration: design.first_seed(point) for point in own.points(("quinn",), 1, variants=())}
    assert len({1, *seeds.values()}) == 3
    assert drawn.runs == f"Runs shown: 5 ms away (quinn, seed {seeds['near']}); far (lab-tcp, seed {seeds['far']})."


def test_a_view_of_a_setting_that_is_not_there_says_so() -> None:
    study = find("tiny/flat")
    view = replace(study.presentation.views[0], shown={"moon": ("moon", {"rate": 5})})
    wrong = replace(study, presentation=replace(study.presentation, views=(view,)))
    with pytest.raises(QuiclabError, match=r"the view `What arrives` of tiny/flat .* does not have: moon, rate=5"):
        views.draw(wrong)


def test_views_say_how_far_they_are_when_they_take_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    views.draw(find("tiny/flat"))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(views, "QUIET_S", -1.0)
    views.draw(find("tiny/flat"))
    assert capsys.readouterr().err.splitlines() == [
        "tiny/flat: views: 1 of 2 runs made again",
        "tiny/flat: views: 2 of 2 runs made again",
    ]


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed (apt-get install chromium)")
@pytest.mark.parametrize("flags", [(), (DARK, "--window-size=500,900")])
def test_pages_in_a_browser(flags: tuple[str, ...], page: Path, tmp_path: Path) -> None:
    """No complaints, panels are drawn, and the buttons choose claims."""
    shown, console = browse(page.parent / "flat" / "report.html", tmp_path / "profile", *flags)
    assert console == []
    assert len(shown.charts) == 1
    probe = tmp_path / "probe.html"
    script = (
        "<script>document.querySelector('[data-show=not_tested]').click(); document.title = "
        "[...document.querySelectorAll('.claim')].filter(claim => claim.offsetParent).map(claim => claim.id).join(' ') "
        "+ '; ' + document.getElementById('shown').textContent + '; ' "
        "+ (document.documentElement.scrollWidth <= innerWidth);</script></body>"
    )
    probe.write_text(page.read_text(encoding="utf-8").replace("</body>", script), encoding="utf-8")
    titles: list[str] = []
    shown, console = browse(probe, tmp_path / "profile", *flags, titles=titles)
    assert console == []
    assert titles == ["FL-2 TI-3; 2 of 5 claims; true"]
