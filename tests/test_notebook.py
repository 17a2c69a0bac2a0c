"""What notebooks, `help` and libraries of tables get from objects of quiclab."""

from __future__ import annotations

import pydoc
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import altair as alt
import polars as pl
import pytest

import quiclab
from conftest import SMALL
from quiclab._base import notebook
from quiclab.errors import RequestError
from quiclab.report.figures.theme import FORMATS
from quiclab.result.metrics import metrics

#: What a representation may take in a notebook that is stored with its outputs.
MAX_BYTES = 20_000


class Fragment(HTMLParser):
    """Texts of the cells of a fragment; its elements have to be closed in order, and load nothing."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "img", "iframe")
        assert not {"src", "href", "onclick"} & {name for name, _ in attrs}
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


@pytest.fixture
def scenario(small: Path) -> quiclab.Scenario:
    return quiclab.load(small, [("record.series_interval", "10 ms")])


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> quiclab.SweepResult:
    file = tmp_path_factory.mktemp("sweep") / "small.toml"
    file.write_text(SMALL)
    return quiclab.sweep(file, {"flows.*.stack": ["quinn", "lab-tcp"], "links.down1.queue.packets": [5, 50]}, seeds=2)


def test_a_scenario_shows_links_and_flows_and_escapes_texts(scenario: quiclab.Scenario) -> None:
    hostile = scenario.with_values({"name": "<script>x</script>", "description": "<img src=x>"})
    cells = Fragment(hostile._repr_html_()).cells
    assert {"down1", "up1", "dc", "quinn", "20 Mbit/s", "drop_tail, packets 100"} <= {*cells}


def test_representations_of_large_objects_stay_small(scenario: quiclab.Scenario) -> None:
    plain = scenario.to_dict()
    flow, link = plain["flows"].pop("dc"), plain["links"]["down1"]
    plain["links"] |= {f"further{number}": link for number in range(100)}
    plain["flows"] = {f"f{number}": flow for number in range(100)}
    large = quiclab.Scenario(plain)
    result = quiclab.run(large.with_value("duration", "10 ms"))
    for shown in (large, result):
        html = shown._repr_html_()
        Fragment(html)
        assert len(html.encode()) < MAX_BYTES
    assert f"{100 - 8} further rows" in result._repr_html_()
    assert len(repr(result)) < 500


def test_a_run_shows_every_metric_of_its_ends_with_its_meaning(scenario: quiclab.Scenario) -> None:
    result = quiclab.run(scenario)
    html = result._repr_html_()
    flow = result.flows["dc"]
    assert {*flow.sender, *flow.receiver, *result.elements} <= {*Fragment(html).cells}
    meaning = next(metric.meaning for metric in metrics() if metric.in_flow and "packets_sent" in metric.names)
    assert f'title="{escape(notebook.cut(meaning, notebook.MAX_TEXT))}"' in html
    assert result.digest in html
    assert "dc completed" in repr(result)


def test_a_sweep_shows_the_rows_of_its_table(swept: quiclab.SweepResult) -> None:
    cells = Fragment(swept._repr_html_()).cells
    expected = [*swept.tables.heads, *(cell for row in swept.tables.rows() for cell in row)]
    assert cells == expected
    assert "4 settings, 8 runs" in repr(swept)


def test_a_table_that_is_cut_says_by_how_much() -> None:
    html = notebook.table(["a", "b"], [[str(index), "x" * 500] for index in range(30)], max_rows=3)
    assert len(Fragment(html).cells) == 2 + 3 * 2
    assert "27 further rows" in html
    assert notebook.table(["a"], []) == notebook.folded("nothing") == ""


def test_figures_load_nothing_and_leave_the_settings_of_altair(swept: quiclab.SweepResult) -> None:
    before = alt.renderers.active
    bundle = swept.plot()._repr_mimebundle_()
    svg = bundle.pop("image/svg+xml").replace('="http://www.w3.org/', "")
    assert svg.startswith("<svg")
    assert not any(word in svg for word in ("http:", "https:", "url(", "<script"))
    specification = next(value for name, value in bundle.items() if "vegalite" in name)
    assert specification["config"]
    assert "url" not in str(specification.get("data", {})) + str(specification.get("datasets", {}))
    assert alt.renderers.active == before


@pytest.mark.parametrize(("suffix", "magic"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_figures_are_written_in_the_format_of_the_suffix(
    scenario: quiclab.Scenario, tmp_path: Path, suffix: str, magic: bytes
) -> None:
    plot = quiclab.plot_series(quiclab.run(scenario), "cwnd_bytes", elements="dc.sender")
    plot.save(tmp_path / f"figure{suffix}")
    assert (tmp_path / f"figure{suffix}").read_bytes().startswith(magic)
    with pytest.raises(RequestError) as error:
        plot.save(tmp_path / "figure.gif")
    assert all(known in str(error.value) for known in FORMATS)


def test_series_are_drawn_of_the_elements_that_have_them(scenario: quiclab.Scenario) -> None:
    result = quiclab.run(scenario)
    panels = quiclab.plot_series(result, "queue_packets", "cwnd_bytes").to_dict()
    data = [panels["datasets"][panel["data"]["name"]] for panel in panels["vconcat"]]
    drawn = [{row["series"] for row in rows} for rows in data]
    assert drawn == [{"down1", "up1"}, {"dc.sender", "dc.receiver"}]
    for names, elements in [(("cwnd",), None), ((), None), (("cwnd_bytes",), "down1")]:
        with pytest.raises(RequestError):
            quiclab.plot_series(result, *names, elements=elements)
    with pytest.raises(RequestError, match="series_interval"):
        quiclab.plot_series(quiclab.run(scenario.with_value("record.series_interval", None)), "cwnd_bytes")


def test_libraries_of_tables_read_results_by_arrow(scenario: quiclab.Scenario, swept: quiclab.SweepResult) -> None:
    assert pl.DataFrame(swept).equals(swept.runs)
    result = quiclab.run(scenario)
    numbers = {(element, metric): value for element, metric, value in pl.DataFrame(result).iter_rows()}
    flow = result.flows["dc"]
    assert numbers["dc", "goodput_mbps"] == flow.goodput_mbps
    assert numbers["dc.sender", "packets_sent"] == flow.sender.packets_sent
    assert {element for element, _ in numbers} == {"dc", *result.elements}


def test_help_lists_what_is_public_with_a_line_each() -> None:
    before, _, _ = pydoc.plain(pydoc.render_doc(quiclab)).partition("PACKAGE CONTENTS")
    for name in quiclab.__all__:
        assert name in dir(quiclab)
        line = next(line for line in before.splitlines() if line.split()[:1] == [name])
        assert line.split(maxsplit=1)[1] == (getattr(quiclab, name).__doc__ or "").strip().partition("\n")[0]
