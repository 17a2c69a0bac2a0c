"""The documentation site: navigation from the map, pages of sources, its check, its search; figures of the gallery."""

from __future__ import annotations

import filecmp
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import BROWSER, ROOT, tool
from quiclab import cli

pages = tool("site_pages")
check = tool("site_check")
build = tool("site_build")
gallery = tool("gallery")
ZENSICAL = ROOT / ".tools" / "site" / "venv" / "bin" / "zensical"
FILES = pages.tracked()
DOCUMENTS = build.documents(FILES)


def paths(nav: list[Any]) -> list[str]:
    """Return the pages of a navigation."""
    found: list[str] = []
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            found += paths(value) if isinstance(value, list) else [value]
    return found


def test_each_document_is_once_in_the_navigation() -> None:
    known = pages.parts(DOCUMENTS[pages.MAP], FILES)
    shown = paths(pages.navigation([*known, pages.project(known, list(DOCUMENTS))]))
    assert sorted(shown) == sorted(DOCUMENTS)


MAP = """\
# Documentation

| page | content |
| --- | --- |
| [elsewhere.md](elsewhere.md) | before the first part |

## Guides

| page | content |
| --- | --- |
| [a.md](a.md) | of [no](b.md) group |
| **Products** | |
| [../vpn/README.md](../vpn/README.md) | with pages of its own |

## Why

Findings:

| page | content |
| --- | --- |
| [decisions/](decisions/) | a folder |
"""


def test_the_map_has_parts_groups_and_pages() -> None:
    guides, why = pages.parts(MAP, ["vpn/README.md", "vpn/docs/use.md", "vpn/docs/data/x.md", "vpn/docs/x.png"])
    named = {
        part.title: {group.title: [(page.path, page.content) for page in group.pages] for group in part.groups}
        for part in (guides, why)
    }
    assert named == {
        "Guides": {
            "": [("docs/a.md", "of no group")],
            "Products": [("vpn/README.md", "with pages of its own"), ("vpn/docs/use.md", "")],
        },
        "Why": {"Findings": [("docs/decisions/README.md", "a folder")]},
    }


def test_links_to_sources_lead_to_pages_with_them() -> None:
    text = "[program](../tools/site_check.py) [folder](../python/quiclab/lane/adapters) [documents](decisions/)"
    rest = "[web](https://example.org/a.py) [section](a.md#b) `[code](../tools/site_check.py)`"
    made = pages.with_sources({"docs/x.md": f"{text} {rest}"}, FILES)
    linked = "[program](../tools/site_check.py.md) [folder](../python/quiclab/lane/adapters/index.md) "
    assert made["docs/x.md"] == f"{linked}[documents](decisions/README.md) {rest}"
    assert (ROOT / "tools" / "site_check.py").read_text(encoding="utf-8") in made["tools/site_check.py.md"]
    assert "[linux.toml](linux.toml.md)" in made["python/quiclab/lane/adapters/index.md"]
    assert "python/quiclab/lane/adapters/linux.toml.md" in made
    assert "python/quiclab/lane/adapters/key-p-256.pem.md" not in made


@pytest.mark.parametrize(
    ("piece", "found"),
    [
        ('<a href="b.html#there">b</a><a href="https://example.org">x</a><a href="mailto:a@b.c">m</a>', ""),
        ('<img src="data:image/png;base64,AA=="><link rel="canonical" href="https://example.org/a.html">', ""),
        ('<a href="#here">a</a><h2 id="here">Here</h2>', ""),
        ('<a href="c.html">c</a>', "a.html: c.html: no such file"),
        ('<a href="sub/">a folder</a>', "a.html: sub/: no such file"),
        ('<a href="b.html#not-there">b</a>', "a.html: b.html#not-there: no such section"),
        ('<a href="/b.html">b</a>', "a.html: /b.html: a path of the host, not of the site"),
        ('<img src="none.png">', "a.html: none.png: no such file"),
        ('<script src="https://unpkg.com/x"></script>', "a.html: requests https://unpkg.com/x"),
        ('<link rel="stylesheet" href="//fonts.example.org/x">', "a.html: requests //fonts.example.org/x"),
        ('<img src="b.html" srcset="http://example.org/x.png 2x">', "a.html: requests http://example.org/x.png"),
        ("<style>@import 'https://example.org/x.css'</style>", "a.html: requests https://example.org/x.css"),
    ],
)
def test_the_check_finds_dead_links_and_requests(piece: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(f"<html><body>{piece}</body></html>")
    (tmp_path / "b.html").write_text("<html><body><h2 id='there'>There</h2></body></html>")
    assert check.problems(tmp_path) == ([found] if found else [])


def test_the_check_reads_styles(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("a{background:url(x.png)} b{src:url('https://example.org/f.woff2')}")
    assert check.problems(tmp_path) == ["a.css: requests https://example.org/f.woff2"]


FIGURES = gallery.declared()
#: Figures that are drawn here, one of several runs and one of a single run.
SAMPLE = [figure for figure in FIGURES if figure.name in ("slow_start_exits", "bbr_and_cubic")]


def test_figures_of_the_gallery_are_declared_whole() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)
    assert {figure.kind for figure in FIGURES} == set(gallery.KINDS)
    for figure in FIGURES:
        assert figure.study or (ROOT / figure.scenario).is_file(), figure.name
        # numbers are in the figure; names such as BBRv3 and L4S may have some
        assert re.findall(r"(?<![A-Za-z])\d", figure.mechanism) == [], figure.name
        assert re.fullmatch(r"[A-Z][^.]*\.", figure.mechanism), figure.name


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gallery with two figures."""
    folder: Path = tmp_path_factory.mktemp("gallery") / "drawn"
    gallery.write(folder, SAMPLE, 1)
    return folder


@pytest.mark.slow
def test_figures_repeat_to_the_byte(drawn: Path, tmp_path: Path) -> None:
    gallery.write(tmp_path, SAMPLE, 2)
    files = sorted(str(path.relative_to(drawn)) for path in drawn.rglob("*") if path.is_file())
    assert len(files) > 2 * len(SAMPLE)
    assert filecmp.cmpfiles(drawn, tmp_path, files, shallow=False) == (files, [], [])


@pytest.mark.slow
@pytest.mark.parametrize("figure", SAMPLE, ids=lambda figure: figure.name)
def test_the_commands_of_a_figure_give_its_data(
    figure: Any, drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    text = (drawn / f"{figure.name}.md").read_text(encoding="utf-8")
    commands = re.search(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert commands is not None
    for line in commands[1].replace("\\\n", "").splitlines():
        program, *words = shlex.split(line)
        assert program == "quiclab"
        assert cli.invoke(words) == 0
    out = tmp_path / "results" / figure.name
    if figure.kind == "sweep":
        made, shown = out / "settings.csv", drawn / figure.name / "settings.csv"
        assert made.read_bytes() == shown.read_bytes()
    else:
        digest = re.search(r"digest `(\w+)`", text)
        assert digest is not None
        assert digest[1] in (out / "result.json").read_text(encoding="utf-8")


def test_versions_are_in_their_order() -> None:
    versions = ["1.0", "0.10.0", "0.10.0rc2", "0.9.0", "0.10.0rc1"]
    assert sorted(versions, key=build.order) == ["0.9.0", "0.10.0rc1", "0.10.0rc2", "0.10.0", "1.0"]


@pytest.fixture(scope="module")
def site(drawn: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with two figures of the gallery."""
    if not ZENSICAL.is_file():
        pytest.skip("zensical is not installed: make site")
    folder = tmp_path_factory.mktemp("site")
    names = (
        "--zensical",
        ZENSICAL,
        "--work",
        folder / "work",
        "--out",
        folder / "out",
        "--version",
        "9.9",
        "--gallery",
        drawn,
    )
    command = [sys.executable, ROOT / "tools" / "site_build.py", *names]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return folder / "out" / "9.9"


@pytest.mark.slow
def test_the_site_is_whole(site: Path) -> None:
    """The build ends with the check, and fails where it finds something."""
    assert {page.name for page in (site / "docs" / "reference").glob("*.html")} >= {"scenario.html", "errors.html"}
    for line in (site / "llms.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("- ["):
            title, _, rest = line.removeprefix("- [").partition("](")
            assert title
            assert (site / rest.partition(")")[0]).is_file()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")
def test_search_works_from_a_file_without_a_request(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "docs" / "tutorial.html").as_uri())
        page.keyboard.press("Control+k")
        page.keyboard.type("t-Reordering")
        page.get_by_role("link", name="Glossary").first.wait_for()
        browser.close()
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []
