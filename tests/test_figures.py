"""Figures of studies of all shapes: settings without an order, parts of runs, estimates; no runs are made."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from quiclab.report import figures
from quiclab.report.panels import Panel, panels
from quiclab.result.stats import Summary, summarise
from quiclab.study import (
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    Measures,
    Metric,
    Model,
    Presentation,
    Study,
    Table,
)
from quiclab.study.evaluate import Evaluation
from quiclab.study.findings import Key
from quiclab.study.published import PublishedRow

ENGINE = "lab-quic"


def nothing(*_: object) -> Any:
    """Stand for what no figure calls."""


RATE = Metric("rate_mbps", "Rate", "Mbit/s", nothing)
OF_FLOW = replace(RATE, of="flow")
INDEX = Metric("jfi", "Index", "", nothing)
FLOW = Factor("flow", "flow", "Flow", "", ("dc", "sc1", "sc2"), None)
BATCH = Factor("batch", "batch", "Batch", "packets", (2, 10, 50), lambda value: {"batch": value})
PROXY = Factor("proxy", "proxy", "Proxies", "", ("false", "true"), lambda value: {"proxy": value})
FIGURE = Figure("A title", "a figure", "", "What it shows.")


def study(**changes: Any) -> Study:
    """Return a study with some changes of its design and measures."""
    design: dict[str, Any] = {
        "scenario": "",
        "configurations": (Configuration("one", "first kind", {}), Configuration("two", "second kind", {})),
        "engines": (Engine(ENGINE),),
        "runs": 2,
    }
    measures: dict[str, Any] = {"metric": RATE, "table": Table("", "a figure")}
    for name, value in changes.items():
        (design if name in Design.__dataclass_fields__ else measures)[name] = value
    return Study(
        "fake/one", Design(**design), Measures(**measures), Presentation(title="Fake", abstract="", figures=(FIGURE,))
    )


class Stored:
    """What figures read of an evaluation."""

    def __init__(
        self, study: Study, runs: Mapping[Any, Sequence[float]], printed: Mapping[Any, float] | None = None
    ) -> None:
        self.study, self.runs, self.printed = study, runs, printed or {}

    def reference(self, metric: str = "") -> list[PublishedRow]:
        del metric
        return [PublishedRow({}, key, Summary(10, mean, 0.5, mean, mean)) for key, mean in self.printed.items()]

    def summaries(self, engine: str, variant: str = "", metric: str = "") -> dict[Key, Summary]:
        del engine, variant, metric
        return {key: summarise(values) for key, values in self.runs.items()}


def drawn(stored: Stored, figure: Figure = FIGURE) -> tuple[dict[str, Any], str, str]:
    """Return specification, SVG and caption of a figure."""
    evaluation = cast(Evaluation, stored)
    spec = figures.specification(evaluation, figure, ENGINE)
    json.dumps(spec, allow_nan=False)
    return spec, figures.to_svg(spec), figures.caption(evaluation, figure, ENGINE)


def marks(spec: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the layers with a kind of mark that shows something."""
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == kind and layer["mark"].get("size") != 0]


def test_configurations_without_a_factor_are_rows_and_nothing_is_called_published() -> None:
    spec, svg, caption = drawn(Stored(study(), {("one",): [1.0, 3.0], ("two",): [8.0, 8.0]}))
    for text in ("first kind", "second kind", "Rate [Mbit/s]"):
        assert f">{text}<" in svg
    assert "published" not in svg
    assert "No published numbers of this figure are stored (a figure); all points are measured." in caption
    [mark] = marks(spec, "point")
    assert mark["mark"]["shape"] == "circle"
    assert mark["encoding"]["y"]["sort"] == ["first kind", "second kind"]


def test_published_values_are_next_to_names() -> None:
    one = study(configurations=(Configuration("one", "first kind", {}),), factors=(PROXY,))
    runs = {("one", "false"): [18.0, 19.0], ("one", "true"): [17.0, 17.5]}
    printed = {("one", "false"): 18.3, ("one", "true"): 17.0}
    spec, svg, caption = drawn(Stored(one, runs, printed), replace(FIGURE, x="proxy"))
    for text in ("no", "yes", "Proxies", "published", "measured"):
        assert f">{text}<" in svg
    assert caption.startswith("Squares: published (a figure). Circles: measured with lab-quic.")
    assert caption.endswith("The horizontal axis does not start at zero.")
    published, measured = marks(spec, "point")
    assert (published["mark"]["shape"], measured["mark"]["shape"]) == ("square", "circle")
    assert published["mark"]["yOffset"] == -measured["mark"]["yOffset"] < 0


def test_values_that_hardly_differ_stand_on_an_axis_from_zero() -> None:
    spec, _, caption = drawn(Stored(study(), {("one",): [0.999, 0.998], ("two",): [0.997, 0.998]}))
    assert marks(spec, "point")[0]["encoding"]["x"]["scale"]["zero"] is True
    assert "start at zero" not in caption


def test_parts_of_runs_are_rows_and_shared_values_one_row() -> None:
    one = study(
        configurations=(Configuration("one", "first kind", {}),), factors=(FLOW,), metric=OF_FLOW, further=(INDEX,)
    )
    runs = {("one", flow): [1.0, 2.0] for flow in FLOW.values}
    _, svg, _ = drawn(Stored(one, runs), replace(FIGURE, x="flow"))
    assert all(f">{flow}<" in svg for flow in ("dc", "sc1", "sc2", "Flow"))
    spec, svg, _ = drawn(Stored(one, runs), replace(FIGURE, x="flow", metric="jfi"))
    assert ">first kind<" in svg
    assert ">dc<" not in svg
    assert len(marks(spec, "point")[0]["encoding"]["y"]["sort"]) == 1


def test_several_configurations_with_parts_differ_in_shape_and_dash() -> None:
    both = study(factors=(BATCH, FLOW), metric=OF_FLOW)
    runs = {(name, batch, flow): [1.0, 2.0] for name in ("one", "two") for batch in (2, 10) for flow in FLOW.values}
    spec, svg, caption = drawn(Stored(both, runs), replace(FIGURE, x="batch"))
    assert all(f">{text}<" in svg for text in ("first kind", "second kind", "dc", "sc1", "sc2"))
    first, second = marks(spec, "point")
    assert first["mark"]["shape"] != second["mark"]["shape"]
    assert first["encoding"]["color"]["scale"]["domain"] == ["dc", "sc1", "sc2"]
    dashes = [tuple(line["mark"]["strokeDash"]) for line in marks(spec, "line")]
    assert len(set(dashes)) == 2
    assert "shape and dash distinguish the configurations" in caption


def test_a_figure_over_one_of_two_factors_has_a_line_for_each_level_of_the_other() -> None:
    loss = Factor("loss", "loss", "Loss", "%", (0, 1), lambda value: {"loss": value})
    one = study(configurations=(Configuration("one", "first kind", {}),), factors=(BATCH, loss))
    runs = {("one", batch, level): [1.0, 2.0] for batch in BATCH.values for level in loss.values}
    _, svg, _ = drawn(Stored(one, runs), replace(FIGURE, x="batch"))
    for text in ("first kind, loss 0", "first kind, loss 1"):
        assert f">{text}<" in svg


def test_a_model_is_a_dotted_line_of_the_main_metric() -> None:
    def estimate(configuration: str, values: Mapping[str, object]) -> float | None:
        return 10.0 + float(cast(float, values["batch"])) if configuration == "one" else None

    modelled = study(factors=(BATCH,), model=Model("window model", "docs/model.md", estimate), further=(INDEX,))
    runs = {(name, batch): [20.0, 21.0] for name in ("one", "two") for batch in (2, 10)}
    stored = Stored(modelled, runs)
    spec, svg, caption = drawn(stored, replace(FIGURE, x="batch"))
    assert ">window model<" in svg
    assert "Dotted: window model, an estimate without simulation (docs/model.md)." in caption
    dotted = [line for line in marks(spec, "line") if line["mark"]["strokeDash"] == [1.5, 3]]
    assert len(dotted) == 1
    data = figures.figure_data(cast(Evaluation, stored), replace(FIGURE, x="batch"), ENGINE)
    model = [(row["series"], row["x"], row["mean"]) for row in data.to_dicts() if row["source"] == "model"]
    assert model == [("first kind", 2, 12.0), ("first kind", 10, 20.0), ("first kind", 50, 60.0)]
    for figure in (replace(FIGURE, x="batch", metric="jfi"), FIGURE):
        assert "window model" not in drawn(stored, figure)[1]


def test_settings_without_a_value_are_left_out_and_none_says_so() -> None:
    runs = {("one", 2): [1.0, 2.0], ("one", 10): [math.nan, 1.0]}
    over = replace(FIGURE, x="batch")
    data = figures.figure_data(cast(Evaluation, Stored(study(factors=(BATCH,)), runs)), over, ENGINE)
    assert data["x"].to_list() == [2]
    for figure in (over, FIGURE):
        _, svg, _ = drawn(Stored(study(factors=(BATCH,)), {}), figure)
        assert "None of these settings has been run yet." in svg


def test_panels_share_axis_and_colours() -> None:
    shown = [Panel({"a": [(0.0, 1.0), (4.0, 2.0)]}, "first", "Mbit/s", level=2.0), Panel({"b": [(1.0, 3.0)]}, "", "ms")]
    spec = figures.declaration(panels(shown, "Time [s]"))
    lines = [layer for panel in spec["vconcat"] for layer in panel["layer"] if layer["mark"]["type"] == "line"]
    assert [line["encoding"]["x"]["scale"]["domain"] for line in lines] == [[0.0, 4.0]] * 2
    assert [line["encoding"]["color"]["scale"]["domain"] for line in lines] == [["a", "b"]] * 2
    assert [line["encoding"]["x"].get("title") for line in lines] == [None, "Time [s]"]
    assert "Time [s]" in figures.to_svg(spec)


@pytest.mark.parametrize("scheme", [figures.LIGHT, figures.DARK, figures.THUMBNAIL])
def test_every_scheme_draws(scheme: Mapping[str, Any]) -> None:
    spec, _, _ = drawn(Stored(study(), {("one",): [1.0, 3.0], ("two",): [8.0, 8.0]}))
    assert figures.to_svg(spec, scheme).startswith("<svg")
