"""The playground (`make playground`) in Chromium: the same digests as the command, lessons, links, a narrow screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quiclab

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "dist/playground.html"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGE.exists(), reason="dist/playground.html is not built (make playground)"),
]
#: Scenarios of stacks that the page has, of all kinds of network, and without further files.
SCENARIOS = (
    *(
        "accurate_ecn",
        "ack_filter",
        "bbr_v3",
        "c4",
        "cake",
        "datagrams_and_ping",
        "ecn",
        "events",
        "live",
        "loss_detection",
    ),
    *("multipath_quic", "named_path", "on_off", "page_http2", "page_load", "plugins", "policer", "red", "slow_start"),
    "tcp_overrides",
)
#: Runs a scenario to its end in parts; returns its digest.
RUN = """async ([text, seed]) => {
  const { engine, networks } = window.playground;
  const texts = Object.fromEntries(Object.entries(networks).map(([name, { text }]) => [name, text]));
  const scenario = { text, format: "toml", networks: texts };
  const { run } = await engine.call("start", { scenario, seed, metrics: [] });
  for (let part = 1; ; part += 1) {
    const { ended_by: endedBy } = await engine.call("advance", { run, until_ns: part * 1_000_000_000 });
    if (endedBy !== null) return (await engine.call("finish", { run })).digest;
  }
}"""


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    """Open the page from its file on a narrow screen; nothing is requested, and the console has no error."""
    found = browser.new_context(viewport={"width": 390, "height": 800}).new_page()
    requests: list[str] = []
    errors: list[str] = []
    found.on("request", lambda request: requests.append(request.url))
    found.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    found.on("pageerror", lambda error: errors.append(str(error)))
    found.goto(PAGE.as_uri())
    found.wait_for_selector("body[data-ready]")
    yield found
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []
    assert errors == []
    found.context.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_in_the_page_has_the_digest_of_the_command(page: Any, name: str) -> None:
    file = ROOT / f"scenarios/{name}.toml"
    assert page.evaluate(RUN, [file.read_text(), 3]) == quiclab.run(quiclab.load(file), 3).digest


def test_the_downloaded_scenario_has_the_digest_that_the_page_shows(page: Any, tmp_path: Path) -> None:
    page.select_option("#speed", "Infinity")
    page.click("#play")
    page.wait_for_selector("body[data-state=ended]", timeout=120_000)
    with page.expect_download() as download:
        page.click("#side-A button:text('Download')")
    file = tmp_path / "scenario.toml"
    download.value.save_as(file)
    command = page.inner_text("#side-A .command").split()
    assert command[:3] == ["quiclab", "run", "scenario.toml"]
    assert quiclab.run(quiclab.load(file), int(command[4])).digest == page.inner_text("#side-A .digest")


def test_each_lesson_runs_and_its_answer_holds(page: Any) -> None:
    lessons = page.evaluate("window.playground.lessons.map(({ title }) => title)")
    assert len(lessons) == len(list((ROOT / "playground/lessons").glob("*.toml")))
    for number, title in enumerate(lessons):
        answer = page.evaluate(f"window.playground.answer(window.playground.lessons[{number}])")
        assert answer["failed"] == [], title
        assert "{" not in answer["text"], title


def test_a_wrong_scenario_is_refused_in_a_sentence_and_the_page_goes_on(page: Any) -> None:
    text = (ROOT / "scenarios/tcp_overrides.toml").read_text().replace('stack = "lab-tcp"', 'stack = "lab-tpc"', 1)
    refused = page.evaluate(f"({RUN})({[text, 1]!r}).catch((error) => error.details)")
    assert refused["path"].endswith(".stack")
    assert refused["line"] > 1
    assert page.evaluate("window.playground.engine.call('catalogue').then(({ version }) => version)")


def test_a_link_brings_both_settings_back(page: Any) -> None:
    page.evaluate("window.playground.teach(window.playground.lessons[0])")
    settings = page.evaluate("window.playground.shown.map(({ setting }) => setting)")
    page.evaluate("window.playground.share()")
    page.wait_for_function("location.hash.startsWith('#s=')")
    page.evaluate("window.playground.change(0, { scenario: window.playground.sides[1].scenario, seed: 9 })")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("body[data-ready]")
    assert other.evaluate("window.playground.shown.map(({ setting }) => setting)") == settings
    other.close()


def test_a_narrow_page_does_not_scroll_sideways(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
