"""Figures of sweeps: kinds on request, names in groups with intervals at any number of seeds, texts, formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from quiclab import cli
from quiclab.errors import RequestError
from quiclab.experiment.sweeps import Plan
from quiclab.experiment.sweeps.table import summary
from quiclab.experiment.table import FAILED, REASON
from quiclab.report.figures import declaration, to_svg
from quiclab.report.sweeps.figure import DRAW, Style, caption, chart
from quiclab.report.sweeps.labels import Labels
from quiclab.report.sweeps.layout import KINDS, MAX_COLOURS, MAX_DISTRIBUTIONS, layout
from quiclab.result.stats import half_widths

STACKS = "flows.*.stack=quinn,lab-tcp"
QUEUES = "links.down1.queue.kind=drop_tail,codel,fq_codel"
RATES = "links.down1.rate=5Mbit/s,20Mbit/s"
DELAYS = "links.down1.delay=1ms,2ms"
SEEDS = 8


def plan_of(small: Path, *varied: str, **given: Any) -> Plan:
    return Plan(file=small, text=small.read_text(), varied=varied, **{"seeds": SEEDS, **given})


def tables_of(plan: Plan) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Runs and settings of a sweep whose runs nobody has made: the goodput is the setting, and seeds differ by 0.1."""
    settings = pl.DataFrame({"setting": range(len(plan)), **plan.design.cells()})
    seeds = pl.DataFrame({"seed": range(plan.seeds)})
    runs = settings.join(seeds, how="cross").with_columns(goodput_mbps=1.0 + pl.col("setting") + 0.1 * pl.col("seed"))
    found = summary(runs, [factor.column for factor in plan.design.factors], plan.measures)
    return runs, found.with_columns(pl.lit(0).alias(FAILED), pl.lit(None, pl.String).alias(REASON))


def drawn(plan: Plan, style: Style | None = None) -> dict[str, Any]:
    return dict(declaration(chart(plan, *tables_of(plan), plan.measures[0], style)))


def rows_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The data of all layers."""
    return list(spec["datasets"][spec["data"]["name"]])


def test_names_are_drawn_as_means_with_intervals_in_groups_of_the_second_factor(small: Path) -> None:
    plan = plan_of(small, STACKS, QUEUES)
    spec = drawn(plan)
    rows = rows_of(spec)
    assert [(row["group"], row["colour"]) for row in rows] == [
        (queue, stack) for stack in ("quinn", "lab-tcp") for queue in ("drop_tail", "codel", "fq_codel")
    ]
    values = np.arange(SEEDS) / 10
    (half,) = half_widths(np.array([SEEDS]), np.array([values.std(ddof=1)]))
    for index, row in enumerate(rows):
        assert row["mean"] == pytest.approx(1 + index + values.mean())
        assert row["high"] - row["mean"] == pytest.approx(half)
    bars, marks = spec["layer"]
    assert (bars["encoding"]["x"]["field"], bars["encoding"]["x2"]["field"]) == ("low", "high")
    assert marks["encoding"]["yOffset"]["field"] == marks["encoding"]["color"]["field"] == "colour"
    assert caption(plan, tables_of(plan)[0]).startswith("Means over the runs of a setting; bars are 95 % intervals")


def test_groups_name_settings_without_a_value_with_the_reason(small: Path) -> None:
    plan = plan_of(small, STACKS, QUEUES)
    runs, settings = tables_of(plan)
    last = pl.col("setting") == 5
    settings = settings.with_columns(
        pl.when(last).then(0).otherwise(pl.col("goodput_mbps.n")).alias("goodput_mbps.n"),
        *(
            pl.when(~last).then(pl.col(f"goodput_mbps.{name}")).alias(f"goodput_mbps.{name}")
            for name in ("mean", "low", "high")
        ),
        pl.when(last).then(SEEDS).otherwise(0).alias(FAILED),
        pl.when(last).then(pl.lit("too slow")).alias(REASON),
    )
    svg = to_svg(declaration(chart(plan, runs, settings, plan.measures[0])))
    assert "no value: too slow" in svg


def test_a_factor_with_many_levels_makes_the_groups_and_not_the_colours(small: Path) -> None:
    many = "flows.*.name=" + ",".join("abcdefghi")
    found = layout(plan_of(small, many, STACKS))
    assert found.y is not None
    assert found.colour is not None
    assert (found.kind, found.y.path, found.colour.path) == ("groups", "flows.*.name", "flows.*.stack")
    assert len(found.y.levels) > MAX_COLOURS


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_drawn_on_request_and_has_a_caption(small: Path, kind: str) -> None:
    plan = plan_of(small, RATES, DELAYS)
    assert layout(plan, kind).kind == kind
    assert to_svg(drawn(plan, Style(kind))).startswith("<svg")
    assert caption(plan, tables_of(plan)[0], style=Style(kind))
    assert set(DRAW) == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "varied", "given"),
    [
        ("lines", (STACKS,), {}),
        ("map", (STACKS, RATES), {}),
        ("groups", (STACKS,), {}),
        ("groups", ("flows.*.name=" + ",".join("abcdefg"), "links.down1.queue.packets=1..7:lin7"), {}),
        ("rows", ("links.down1.rate=5..20Mbit/s", STACKS), {"sample": "lhs:4"}),
        ("marks", (STACKS, QUEUES), {}),
        ("distribution", ("flows.*.name=" + ",".join("abcdefghi"),), {}),
        ("bars", (STACKS,), {}),
    ],
)
def test_a_kind_that_the_sweep_does_not_allow_is_refused_with_what_it_needs(
    small: Path, kind: str, varied: tuple[str, ...], given: dict[str, Any]
) -> None:
    with pytest.raises(RequestError) as error:
        layout(plan_of(small, *varied, **given), kind)
    assert kind in str(error.value)
    if kind in KINDS:
        assert KINDS[kind].needs in str(error.value)
    assert str(MAX_DISTRIBUTIONS) in KINDS["distribution"].needs


def test_labels_replace_names_of_factors_levels_and_metrics(small: Path) -> None:
    plan = plan_of(small, STACKS, QUEUES)
    options = ["flows.*.stack=Stack", "flows.*.stack.lab-tcp=TCP = Linux", "links.down1.queue.kind=Queue", "goodput=G"]
    spec = drawn(plan, Style(labels=Labels.read(plan, options)))
    assert {row["colour"] for row in rows_of(spec)} == {"quinn", "TCP = Linux"}
    encoding = spec["layer"][1]["encoding"]
    titles = encoding["x"]["title"], encoding["y"]["title"], encoding["color"]["legend"]["title"]
    assert titles == ("G", "Queue", "Stack")
    panels = drawn(plan_of(small, STACKS, QUEUES, RATES, DELAYS), Style(labels=Labels({"links.down1.delay": "Delay"})))
    assert "Delay = 1" in str(panels)


@pytest.mark.parametrize(
    "options",
    [["Stack"], ["flows.*.stak=Stack"], ["flows.*.stack.noq=x"], ["flows.*.stack.quinn=lab-tcp"], ["rtt_p99=x"]],
)
def test_a_label_of_nothing_or_of_two_levels_is_refused(small: Path, options: list[str]) -> None:
    with pytest.raises(RequestError, match="label"):
        Labels.read(plan_of(small, STACKS), options)


def test_the_command_writes_the_figure_of_the_first_metric_in_any_format(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = tmp_path / "figure.pdf"
    shared = ["sweep", str(small), "--vary", STACKS, "--seeds", "2", "--jobs", "1", "--out", str(tmp_path / "out")]
    style = ["--kind", "distribution", "--label", "flows.*.stack=Stack"]
    assert cli.invoke([*shared, *style, "--figure", str(figure)]) == 0
    assert figure.read_bytes().startswith(b"%PDF")
    assert "Share of runs at or below" in (tmp_path / "out" / "figure-goodput_mbps.svg").read_text()
    for wrong in (["--figure", "x.gif"], ["--kind", "lines"], ["--label", "x=y"]):
        capsys.readouterr()
        assert cli.invoke([*shared, *wrong]) == 2
        assert wrong[0] in capsys.readouterr().err
    assert cli.invoke([*shared, "--figure", str(figure)]) == 2
    assert "--force" in capsys.readouterr().err
