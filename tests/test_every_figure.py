"""Each kind of figure on a page: as narrow as a phone, without black in dark mode, with names of quantities."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab._base.libraries import alt
from quiclab.report import figures
from quiclab.report.figures.heatmap import ink
from quiclab.report.figures.theme import BESIDE_NAME, LEGEND_WIDTH, LETTER, legend_columns
from quiclab.report.html import drawing, environment
from quiclab.report.panels import Panel, panels
from quiclab.sources.page.figure import PHASES, waterfall
from quiclab_studies.controls.views import grid
from quiclab_studies.pacing.figures import in_rows
from quiclab_studies.slow_start.paths import PATHS
from quiclab_studies.slow_start.starts import LABELS
from quiclab_studies.slow_start.views import _chart as curves
from quiclab_studies.validation import loss_detection_views
from quiclab_studies.validation.loss_detection_cases import BY_NAME

PHONE = 390
STARTS = list(LABELS.values())
PAGE = """{% extends "base.html.j2" %}{% block eval %} 'unsafe-eval'{% endblock %}
{% block body %}<main><div class="chart" id="chart-1"></div></main>{% include "charts.html.j2" %}{% endblock %}"""


def map_over_paths() -> Any:
    """The map of `slow_start/alone`: as many starts, stacks, queues and paths."""
    names, queues = [path.name for path in PATHS], ["0.2", "0.5", "1", "2", "4"]
    rows = [
        {"x": start, "y": name, "row": queue, "column": stack, "value": 12.3}
        for start in STARTS
        for name in names
        for queue in queues
        for stack in ("lab-quic", "lab-tcp")
    ]
    return grid(
        rows,
        "Time lost [round trips]",
        x=("Start", STARTS),
        y=("Path", names),
        row=("Queue [BDP]", queues),
        column=("Stack", ["lab-quic", "lab-tcp"]),
        domain=(0, 15),
        digits=1,
    )


def map_of_networks() -> Any:
    """The map of `controls/alone`: wide in columns."""
    queues = ["0.25", "1", "2", "8"]
    rows = [
        {"x": rtt, "y": rate, "row": label, "column": queue, "value": 93.0}
        for rtt in ("2", "20", "200")
        for rate in ("1", "10", "100", "1000")
        for label in ("BBR version 3, lab-quic", "CUBIC, lab-tcp")
        for queue in queues
    ]
    return grid(
        rows,
        "Goodput [%]",
        x=("RTT [ms]", ["2", "20", "200"]),
        y=("Rate [Mbit/s]", ["1000", "100", "10", "1"]),
        row=("Sender", ["BBR version 3, lab-quic", "CUBIC, lab-tcp"]),
        column=("Queue [BDP]", queues),
        domain=(50, 100),
    )


def small_curves() -> Any:
    rows = [
        {"start": start, "place": path.name, "t": t, "bytes": t / 2}
        for start in STARTS
        for path in PATHS
        for t in (1, 20)
    ]
    return curves(rows, [path.name for path in PATHS])


def rows_of_stacks() -> Any:
    rows = [
        {"stack": stack, "ms": ms, "percent": 50} for stack in ("aioquic", "TCP, SO_MAX_PACING_RATE") for ms in (1, 9)
    ]
    area = alt.Chart({"values": rows}).mark_area().encode(x=alt.X("ms:Q", title="Interval [ms]"), y="percent:Q")
    return in_rows(area, ["aioquic", "TCP, SO_MAX_PACING_RATE"])


def lines_over_time() -> Any:
    line = [(0.0, 1.0), (10.0, 1000.0)]
    return panels([Panel({"slow start": line}, "QUICv1, N = 1, 10x100", "Window [kB]", level=500) for _ in range(2)])


def load() -> Any:
    times = {name: 100.0 * index for index, name in enumerate(("wanted_ms", "connected_ms", "asked_ms"), start=1)}
    row = {**times, "first_byte_ms": 700.0, "complete_ms": 2340.0, "size_bytes": 1, "kind": "image", "origin": "o"}
    rows = [{**row, "resource": number} for number in range(40)]
    assert len(PHASES) == 4
    return waterfall(rows, 4279.4, {number: f"product{number}.webp" for number in range(40)})


def matrix_of_losses() -> Any:
    """The matrix of `validation/loss_detection`: many engines and more cases, with two numbers a cell."""
    engines = ["lab-quic, chromium-gquic37", "quinn (the library)"]
    cells = [
        {
            "engine": engine,
            "case": case.label,
            "agreement": agreement,
            "text": "10|10",
            "lines": "10\n10",
            "ink": ink(loss_detection_views.AGREEMENT[agreement]),
        }
        for engine, agreement in zip(engines, loss_detection_views.AGREEMENT, strict=False)
        for case in BY_NAME.values()
    ]
    return loss_detection_views.matrix_of(cells, engines)


def shapes_and_texts() -> Any:
    """What no other has: a legend of shapes alone, texts and rules without a colour of their own."""
    base = alt.Chart({"values": [{"a": 1, "b": "published"}, {"a": 2, "b": "measured"}]}).encode(x="a:Q")
    return alt.layer(base.mark_point().encode(shape="b:N"), base.mark_text().encode(text="b:N"), base.mark_rule())


KINDS: dict[str, Callable[[], Any]] = {
    found.__name__: found
    for found in (
        map_over_paths,
        map_of_networks,
        small_curves,
        rows_of_stacks,
        lines_over_time,
        load,
        matrix_of_losses,
        shapes_and_texts,
    )
}
BLACK = re.compile(r'(?:fill|stroke)="(?:black|#000|#000000)"')


@pytest.mark.parametrize("kind", KINDS)
def test_specifications_follow_the_schema_of_vega_lite(kind: str) -> None:
    """Pages do not check them: it takes longer than drawing."""
    KINDS[kind]().to_dict(validate=True)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_black_in_dark_mode(kind: str) -> None:
    """Vega draws names of facets and symbols of legends in black, unless the theme has a colour for them.

    White and black texts in the cells of a map are chosen for the colour of the cell.
    """
    svg = figures.to_svg(figures.declaration(KINDS[kind]()), figures.DARK)
    cells = "mark-text role-mark"
    marked = [part for part in svg.split("<g class=") if not part.startswith(f'"{cells}') or "map" not in kind]
    assert not [part[:200] for part in marked if BLACK.search(part)]


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_is_cut_in_a_file(kind: str) -> None:
    assert "…" not in figures.to_svg(figures.declaration(KINDS[kind]()))


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_is_no_wider_than_a_phone(kind: str, browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    spec = figures.declaration(KINDS[kind]())
    page.write_text(environment().from_string(PAGE).render(**drawing({"chart-1": spec})), encoding="utf-8")
    shown = browser.new_page(viewport={"width": PHONE, "height": 900})
    shown.goto(page.as_uri())
    shown.wait_for_function("document.getElementById('chart-1').dataset.drawn")
    assert shown.evaluate("document.documentElement.scrollWidth") == PHONE
    right = "document.querySelector('#chart-1 svg.marks').getBoundingClientRect().right"
    assert shown.evaluate(right) <= PHONE
    shown.close()


@pytest.mark.browser
def test_numbers_of_the_matrix_of_losses_have_room_on_a_phone(browser: Any, tmp_path: Path) -> None:
    page, spec = tmp_path / "page.html", figures.declaration(matrix_of_losses())
    page.write_text(environment().from_string(PAGE).render(**drawing({"chart-1": spec})), encoding="utf-8")
    for width in (PHONE, 1400):
        shown = browser.new_page(viewport={"width": width, "height": 900})
        shown.goto(page.as_uri())
        shown.wait_for_function("document.getElementById('chart-1').dataset.drawn")
        boxes = "part => [...document.querySelectorAll(part)].map(item => item.getBoundingClientRect().width)"
        cells, numbers = (
            shown.evaluate(boxes, f".{part} > *") for part in ("mark-rect.layer_0_marks", "mark-text.layer_1_marks")
        )
        assert len(cells) == len(numbers) == 2 * len(BY_NAME)
        assert max(numbers) < min(cells)
        assert sum(cells) / 2 > 0.6 * min(width, 960), "slanted names would leave the cells little"
        names = shown.evaluate("[...document.querySelectorAll('.role-axis-label text')].map(item => item.textContent)")
        assert set(names) >= {case.label for case in BY_NAME.values()}, "none is cut"
        shown.close()


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Return the calls of `alt.NAME`."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ) and node.func.value.id == "alt":
            yield node.func.attr, node


def test_tooltips_and_axes_name_quantities() -> None:
    """A tooltip without a title has the name of a column; titles begin like those of all other axes."""
    bare, lower = [], []
    for file in sorted((ROOT / "python" / "quiclab").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "alt." not in text:
            continue
        tree = ast.parse(text)
        for name, call in calls(tree):
            titles = [keyword.value for keyword in call.keywords if keyword.arg == "title"]
            if name == "Tooltip" and not titles:
                bare.append(f"{file.name}:{call.lineno}")
            if name in ("X", "Y", "Tooltip", "Legend"):
                texts = [title.value for title in titles if isinstance(title, ast.Constant)]
                lower += [f"{file.name}: {title}" for title in texts if isinstance(title, str) and title[:1].islower()]
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "tooltip" and isinstance(node.value, ast.List):
                bare += [f"{file.name}:{item.lineno}" for item in node.value.elts if isinstance(item, ast.Constant)]
    assert not bare
    assert [title for title in lower if "p-value" not in title] == []


def test_a_legend_is_no_wider_than_its_plot() -> None:
    """Four names of 27 letters at most were cut at the edge of the page; they have two rows."""
    names = ["PQUIC, FIFO", "PQUIC, FQ-CoDel", "nothing behind the queue, FIFO", "nothing behind the queue, FQ-CoDel"]
    columns = legend_columns(names)
    assert columns * (LETTER * max(map(len, names)) + BESIDE_NAME) <= LEGEND_WIDTH
    assert legend_columns(["QUIC, default buffer", "QUIC, large buffer", "TCP"]) == 3
    assert legend_columns(["x" * 200]) == 1
    assert legend_columns([]) == 0
