"""Each type of page: as narrow as a phone, in both schemes, with no value that a reader cannot read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.experiment.sweeps.table import HIGH, MEAN
from quiclab.experiment.sweeps.tables import _interval
from quiclab.report.figures.theme import DARK, LIGHT, NEUTRAL, palette
from quiclab.report.html import after, breakable, code, sentence, unbroken
from quiclab.report.overview import write_overview
from quiclab.report.reports import write_report
from quiclab.result.formats import between, places, spread
from quiclab.study.evaluate import Evaluation
from quiclab.study.registry import find

PHONE = 390
SCENARIOS = ROOT / "scenarios"
TEMPLATES = ROOT / "python" / "quiclab" / "report" / "templates"
NOT_DRAWN = ".chart:not([data-drawn])"
ODD = re.compile(r"\bNone\b|\bnan\b|\bNaN\b|± –|– to –|\bundefined\b|`")
WIDE = """() => [...document.querySelectorAll("body *")].filter(
  element => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".scroll, details:not([open])")
).map(element => `${element.tagName} ${element.className.baseVal ?? element.className} ${element.id}`)"""
WORDS = """() => [...document.querySelectorAll("thead th")].flatMap(head => {
  const texts = document.createTreeWalker(head, NodeFilter.SHOW_TEXT), characters = [];
  while (texts.nextNode()) [...texts.currentNode.data].forEach((_, at) => characters.push([texts.currentNode, at]));
  function line([node, at]) {
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + 1);
    return range.getBoundingClientRect().bottom;
  }
  // paths break after their dots, words after their hyphens, units nowhere
  return [...head.textContent.matchAll(/\\[[^\\]\\s]+\\]|[^\\s.\\[-]+/g)].filter(
    ({0: word, index}) => line(characters[index]) !== line(characters[index + word.length - 1])
  ).map(([word]) => word);
})"""
CUT = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"


def sweep(out: Path) -> Path:
    varied = ["--vary", "links.down1.rate=10Mbit/s,20Mbit/s", "--vary", "flows.*.stack=lab-quic,lab-tcp"]
    varied += ["--vary", "links.down1.delay=5ms,20ms", "--compare", "flows.*.stack"]
    metrics = "goodput,rtt_p99,retransmissions,flows.main.receiver.first_byte_ms"
    short = ["--set", "flows.main.workload.size=200 kB", "--metric", metrics, "--seeds", "1"]
    scenario = str(SCENARIOS / "single_link.toml")
    assert cli.invoke(["sweep", scenario, *varied, *short, "--out", str(out / "sweep")]) == 0
    return out / "sweep" / "index.html"


def pacing(out: Path) -> Path:
    record = ["--set", "record.pcapng=true", "--set", "flows.main.workload.size=200 kB"]
    assert cli.invoke(["run", str(SCENARIOS / "tcp_download.toml"), *record, "--out", str(out / "run")]) == 0
    page = out / "pacing.html"
    assert cli.invoke(["pacing", "analyse", str(out / "run"), "--bottleneck", "20 Mbit/s", "--out", str(page)]) == 0
    return page


def load(out: Path) -> Path:
    recorded, network = SCENARIOS / "pages" / "shop.har", SCENARIOS / "page_http2.toml"
    page = out / "page.html"
    stacks = ["--stacks", "lab-tcp,chromium-quic1", "--runs", "1"]
    assert cli.invoke(["page", str(recorded), "--network", str(network), *stacks, "--out", str(page)]) == 0
    return page


def study(out: Path) -> Path:
    once = ["--runs", "1", "--engines", "quinn", "--out", str(out)]
    assert cli.invoke(["study", "run", "tiny/rate", *once]) == 0
    assert cli.invoke(["study", "report", "tiny/rate", "--out", str(out)]) == 0
    return out / "tiny" / "rate" / "report.html"


def overview(out: Path) -> Path:
    study(out)
    found = find("tiny/rate")
    return write_overview("tiny", [found], [write_report(Evaluation(found, out), "quinn")], out)


PAGES: dict[str, Callable[[Path], Path]] = {page.__name__: page for page in (sweep, pacing, load, study, overview)}


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        if request.param in ("study", "overview"):
            patch.setenv("QUICLAB_STUDIES", str(ROOT / "tests" / "data" / "tiny" / "studies"))
        return PAGES[request.param](tmp_path_factory.mktemp(request.param))


def test_a_page_has_no_odd_values_and_says_which_version_wrote_it(page: Path) -> None:
    text = re.sub(r"<script.*?</script>|<style.*?</style>|<noscript>.*?</noscript>|<pre.*?</pre>|<[^>]+>", " ",
                  page.read_text(encoding="utf-8"), flags=re.DOTALL)  # fmt: skip
    assert [line.strip() for line in text.splitlines() if ODD.search(line)] == []
    assert re.search(r"Written by quiclab \d+\.\d+\.\d+", text)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_no_wider_than_a_phone(page: Path, browser: Any, scheme: str) -> None:
    shown = browser.new_page(viewport={"width": PHONE, "height": 900}, color_scheme=scheme)
    console: list[str] = []
    shown.on("console", lambda message: console.append(message.text))
    shown.goto(page.as_uri())
    shown.wait_for_selector(f"{NOT_DRAWN}:visible", state="detached")
    assert shown.evaluate("document.documentElement.scrollHeight") < 12_000
    # folded charts have a width, and are drawn, once they are unfolded
    shown.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
    shown.wait_for_selector(NOT_DRAWN, state="detached")
    assert shown.evaluate("document.documentElement.scrollWidth") == PHONE
    assert shown.evaluate(WIDE) == []
    # heads of columns break between words only
    assert shown.evaluate(WORDS) == []
    assert console == []
    shown.close()


@pytest.mark.browser
def test_tables_that_fit_on_a_screen_are_not_cut(page: Path, browser: Any) -> None:
    shown = browser.new_page(viewport={"width": 1400, "height": 900})
    shown.goto(page.as_uri())
    assert shown.evaluate(CUT) == []
    shown.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
    assert shown.evaluate(WORDS) == []
    shown.close()


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2.1."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def schemes() -> dict[str, dict[str, str]]:
    """Return the variables of the light and of the dark scheme."""
    style = (TEMPLATES / "base.html.j2").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    return {
        name: dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part)) for name, part in (("light", light), ("dark", dark))
    }


def test_the_contrast_of_hand_computed_colours() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the well-known grey just below 4.5


def test_no_two_series_have_the_same_colour() -> None:
    """Ten colours were repeated from the eleventh series on."""
    for count in (3, 10, 11, 40):
        assert len(set(palette(count))) == count


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_a_contrast_of_4_5_and_marks_of_3(scheme: str) -> None:
    """WCAG 2.1, success criteria 1.4.3 and 1.4.11, on the page and on panels."""
    found = schemes()[scheme]
    for name in ("text", "soft", "accent", "good", "bad", "open", "none"):
        for ground in ("page", "panel"):
            assert contrast(found[name], found[ground]) >= 4.5, (name, ground)
    theme = {"light": LIGHT, "dark": DARK}[scheme]
    for text in (theme["axis"]["labelColor"], theme["header"]["labelColor"], theme["title"]["subtitleColor"]):
        assert contrast(text, found["page"]) >= 4.5
    for colour in (*palette(40), NEUTRAL):
        assert contrast(colour, found["page"]) >= 3, colour


@pytest.mark.parametrize(
    ("mean", "high", "text"),
    [
        (107.7, 151.7, "108 ± 44"),
        (51.7, 52.01, "51.70 ± 0.31"),
        (9.098, 9.1017, "9.0980 ± 0.0037"),
        (7.541, 7.541, "7.541"),
        (0.1 + 0.2, 0.30000000000000010, "0.3"),
        (1_481_474.0, 1_900_000.0, "1480000 ± 420000"),
        (1234.0, 1357.0, "1230 ± 120"),
        (50.0, 149.6, "50 ± 100"),
        (-3.2, 996.8, "0 ± 1000"),
        (0.0, 1e-17, "0"),
        (0.0, 0.0012, "0.0000 ± 0.0012"),
        (8.0, None, "8"),
        (8.0, float("nan"), "8"),
        (None, None, "-"),
    ],
)
def test_a_mean_has_the_decimals_of_its_interval(mean: float | None, high: float | None, text: str) -> None:
    measure: Any = SimpleNamespace(column="goodput")
    assert _interval({"goodput" + MEAN: mean, "goodput" + HIGH: high}, measure) == text


def test_numbers_and_sentences() -> None:
    assert spread(1.0, 0.25) == "1.00 ± 0.25"
    assert spread(1.0, float("nan")) == spread(1.0, None) == "1.00"
    assert spread(None, None) == between(None, None) == "–"
    assert spread(24.78, 0.5, 2, 3) == "24.78 ± 0.500"
    assert [places(12_000.0, std) for std in (0.0, 0.3, 12.0, None, math.nan)] == [0, 2, 0, 0, 0]
    assert [places(1.5, std, 3) for std in (0.0, 0.5, 0.00012)] == [3, 3, 5]
    assert places(None, None) == places(math.nan, 0.5) == 2
    assert between(1.0, 2.0, 1) == "1.0 to 2.0"
    assert code("as `a<b`, `c`") == "as <code>a&lt;b</code>, <code>c</code>"
    assert code("one ` only <") == "one ` only &lt;"
    assert breakable("a.b/<c>") == "a.<wbr>b/<wbr>&lt;c&gt;"
    unit = '<span class="unit">[Mbit/s]</span>'
    assert breakable("a.rate [Mbit/s]") == f"a.<wbr>rate {unit}"
    assert unbroken("<Rate> [Mbit/s]") == f"&lt;Rate&gt; {unit}"
    assert sentence("read instead of a.qlog") == "Read instead of a.qlog."
    assert after("Keller, 2021") == "After Keller, 2021."
    assert after("quiclab: no publication") == after("quiclab") == "Made for quiclab; it follows no publication."
