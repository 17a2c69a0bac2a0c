"""`quiclab sweep --compare`, `--adaptive` and the numbers of a plan: what is paired, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import quiclab
from quiclab import cli
from quiclab._base.native import MAX_SEED
from quiclab.errors import QuiclabError, RequestError
from quiclab.experiment import identity
from quiclab.experiment.execute import make_batch
from quiclab.experiment.executors import Processes
from quiclab.experiment.store import Store
from quiclab.experiment.sweeps import Plan, session
from quiclab.experiment.sweeps.design import Design
from quiclab.experiment.sweeps.factors import Level, parse
from quiclab.experiment.sweeps.metrics import Measure
from quiclab.experiment.sweeps.session import Session
from quiclab.experiment.sweeps.table import differences
from quiclab.report.figures.heatmap import UNTESTED, WHITE, look
from quiclab.report.sweeps import difference_map
from quiclab.report.sweeps.figure import _within, caption, chart
from quiclab.report.sweeps.labels import Labels
from quiclab.report.sweeps.layout import layout

Captured = pytest.CaptureFixture[str]
MEASURE = Measure("m", "m", "", lambda _: 0.0)
RATES = ("--vary", "links.down1.rate=5Mbit/s,20Mbit/s")
STACKS = ("--vary", "flows.*.stack=quinn,lab-tcp")


def invoke(*arguments: str | Path) -> int:
    return cli.invoke([str(argument) for argument in arguments])


def compared(rows: list[tuple[object, ...]], varied: list[str], zipped: list[str], path: str) -> pl.DataFrame:
    """Differences of rows of factors, seed and value."""
    design = Design.read(varied, zipped, None, {})
    columns = [factor.column for factor in design.factors]
    runs = pl.DataFrame(rows, schema=[*columns, "seed", "m"], orient="row")
    return differences(runs, columns, design.compared(path), [MEASURE])


# --- pairs


def test_what_changes_together_is_compared_together() -> None:
    rows: list[tuple[object, ...]] = [
        ("n", "x", "1", 1, 10.0), ("n", "x", "1", 2, 12.0), ("n", "y", "2", 1, 11.0), ("n", "y", "2", 2, 13.0),
    ]  # fmt: skip
    table = compared(rows, ["net=n"], ["stack=x,y", "rate=1,2"], "stack")
    assert table.select("stack", "rate", "m.n", "m.mean").rows() == [("y", "2", 2, 1.0)]


def test_the_first_level_is_the_one_given_first() -> None:
    rows: list[tuple[object, ...]] = [("b", 1, 10.0), ("c", 1, 20.0)]
    assert compared(rows, ["stack=a,b,c"], [], "stack").is_empty()
    table = compared([*rows, ("a", 1, 5.0)], ["stack=a,b,c"], [], "stack")
    assert table.select("stack", "m.mean").rows() == [("b", 5.0), ("c", 15.0)]


def test_the_percentage_is_of_the_runs_in_the_pairs() -> None:
    rows: list[tuple[object, ...]] = [("a", 1, 10.0), ("a", 2, 100.0), ("b", 1, 11.0), ("b", 2, math.nan)]
    row = compared(rows, ["stack=a,b"], [], "stack").row(0, named=True)
    assert (row["m.n"], row["m.mean"], row["m.percent"]) == (1, 1.0, 10.0)


def test_a_reference_of_zero_has_no_percentage_and_json_is_valid(small: Path, tmp_path: Path, capsys: Captured) -> None:
    arguments: list[str | Path] = ["sweep", small, *STACKS, "--compare", "flows.*.stack", "--metric", "drops"]
    rows: list[tuple[object, ...]] = [("a", 1, 0.0), ("b", 1, 3.0)]
    assert compared(rows, ["stack=a,b"], [], "stack")["m.percent"].to_list() == [None]
    assert invoke(*arguments, "--seeds", "2", "--jobs", "1", "--json", "--out", tmp_path) == 0
    json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*STACKS, "--sample", "lhs:4", "--compare", "flows.*.stack"), "--compare and --sample contradict each other"),
        (("--vary", "links.down1.rate=5Mbit/s,5000kbit/s"), "it is the same as 5Mbit/s"),
        ((*RATES, "--seeds", "12", "--adaptive", "5%", "--max-seeds", "3"), "--max-seeds: expected at least"),
        ((*RATES, "--seeds", "3", "--first-seed", str(MAX_SEED)), "first"),
    ],
)
def test_contradictions_are_one_sentence(
    small: Path, tmp_path: Path, capsys: Captured, arguments: tuple[str, ...], message: str
) -> None:
    assert invoke("sweep", small, *arguments, "--out", tmp_path / "out") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# --- numbers


@pytest.mark.parametrize("text", ["41..12345us:log5", "0.7%..99.999%:log4", "1e-4..1e-2:log3", "0.1..0.7:lin3"])
def test_a_range_ends_where_it_was_said_to_end(text: str) -> None:
    low, _, rest = text.partition("..")
    high, _, _ = rest.partition(":")
    levels = parse("--vary", f"x={text}", {}).levels
    unit = "us" if "us" in high else "%" if "%" in high else ""
    ends = [Level.read(f"{end.removesuffix(unit)}{unit}").number for end in (low, high)]
    assert [levels[0].number, levels[-1].number] == pytest.approx(ends, rel=1e-15)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": 0}, "seeds: expected an integer from 1"),
        ({"seeds": 2.5}, "seeds: expected an integer from 1"),
        ({"first_seed": -1}, "first seed: expected an integer from 0"),
        ({"first_seed": MAX_SEED, "seeds": 2}, "first seed: expected an integer from 0"),
        ({"adaptive": 0}, "adaptive: expected a number above 0, at most 1"),
        ({"adaptive": "2%"}, "adaptive: expected a number above 0, at most 1"),
        ({"adaptive": 0.1, "seeds": 5, "max_seeds": 3}, "max_seeds: expected at least the number of seeds, 5"),
    ],
)
def test_python_checks_what_the_command_line_checks(small: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        quiclab.sweep(small, {}, **changes)


# --- runs


def plan_of(small: Path, **changes: object) -> Plan:
    fields: dict[str, Any] = {"file": small, "text": small.read_text(), "seeds": 2, **changes}
    return Plan(**fields)


def test_no_run_is_tried_where_all_are_stored(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    arguments: list[str | Path] = ["sweep", small, "--seeds", "2", "--jobs", "1", "--out", tmp_path]
    assert invoke(*arguments) == 0
    monkeypatch.setattr(session, "probe", None)
    assert invoke(*arguments) == 0
    capsys.readouterr()
    assert invoke(*arguments, "--dry-run") == 0
    assert capsys.readouterr().out == "1 setting with 2 seeds: 2 runs, 2 stored.\n"


def test_a_dry_run_says_that_the_first_run_fails(small: Path, tmp_path: Path, capsys: Captured) -> None:
    lost = ["--set", "links.down1.loss=1"]
    assert invoke("sweep", small, *lost, "--seeds", "2", "--dry-run", "--out", tmp_path) == 1
    assert "The first run failed: " in capsys.readouterr().err


def test_a_node_with_other_files_is_refused(small: Path) -> None:
    plan = plan_of(small)
    with pytest.raises(
        QuiclabError, match=r"node .*small\.toml \(as it is\) uses files, stacks or programs that differ"
    ):
        make_batch([(plan.recipe, [], "0" * 64, [1])])
    assert len(make_batch([(plan.recipe, [], plan.identity(0)[0], [1])]).columns["digest"]) == 1


def test_a_worker_needs_no_working_directory(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small.parent)
    recipe = plan_of(small, file=Path("small.toml")).recipe
    assert recipe.base_dir == str(small.parent)


def test_shards_of_other_versions_are_named(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    assert invoke("sweep", "plan", small, "--seeds", "2") == 0
    plan = small.with_suffix(".plan.json")
    assert invoke("shard", plan, "--index", "0", "--of", "1", "--jobs", "1") == 0
    monkeypatch.setattr(identity, "RESULTS", identity.RESULTS + 1)
    assert invoke("sweep", "merge", plan, "--out", tmp_path / "out") == 1
    assert f"the shards hold runs of other versions (results {identity.RESULTS - 1}" in capsys.readouterr().err


def test_files_of_an_earlier_sweep_go(small: Path, tmp_path: Path) -> None:
    shared: list[str | Path] = ["sweep", small, *STACKS, "--seeds", "1", "--jobs", "1", "--out", tmp_path]
    assert invoke(*shared, "--metric", "goodput,min_rtt", "--compare", "flows.*.stack") == 0
    assert (tmp_path / "differences.csv").exists()
    assert invoke(*shared) == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "figure-goodput_mbps.svg", "index.html", "lock", "made.json", "runs.parquet", "settings.csv", "small.toml"
    ]  # fmt: skip


def test_a_random_design_has_a_figure_for_each_number(small: Path, tmp_path: Path) -> None:
    varied = ("links.down1.rate=5..20Mbit/s", "links.down1.delay=5..20ms", "flows.*.stack=quinn,lab-tcp")
    plan = plan_of(small, varied=varied, sample="lhs:4", seeds=1)
    session = Session(plan, Store(tmp_path / "out"), Processes(1))
    session.run()
    tables = session.tables()
    drawn = chart(plan, tables.runs, tables.settings, plan.measures[0]).to_dict()
    titles = [part["encoding"]["x"]["title"] for part in drawn["vconcat"]]
    assert titles == ["links.down1.rate [Mbit/s]", "links.down1.delay [ms]"]


def test_a_note_on_builds_is_about_the_runs_of_the_sweep(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "out")
    monkeypatch.setattr("quiclab.experiment.runs.build_id", lambda: "0123456789abcdef")
    Session(plan_of(small), store, Processes(1)).run()
    monkeypatch.undo()
    other = Session(plan_of(small, first_seed=7), store, Processes(1))
    other.run()
    assert "0123456789abcdef" not in " ".join(other.tables().notes)
    both = Session(replace(plan_of(small), seeds=8), store, Processes(1))
    both.run()
    assert "0123456789abcdef" in " ".join(both.tables().notes)


def test_files_that_no_list_has_stay(small: Path, tmp_path: Path) -> None:
    """Nothing says who has made or changed them."""
    shared: list[str | Path] = ["sweep", small, *STACKS, "--seeds", "1", "--jobs", "1", "--out", tmp_path]
    assert invoke(*shared, "--metric", "goodput,min_rtt") == 0
    (tmp_path / "made.json").unlink()
    (tmp_path / "figure-min_rtt_ms.svg").write_text("mine")
    assert invoke(*shared) == 0
    assert (tmp_path / "figure-min_rtt_ms.svg").read_text() == "mine"


def test_a_list_of_the_user_is_not_replaced(small: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "made.json").write_text('{"mine": 1}')
    assert invoke("sweep", small, "--seeds", "1", "--jobs", "1", "--out", tmp_path / "out") == 2
    assert "made.json is not the list of files" in capsys.readouterr().err
    assert (tmp_path / "out" / "made.json").read_text() == '{"mine": 1}'


def test_intervals_are_cut_at_zero_by_the_metric_not_by_the_sample(small: Path) -> None:
    plan = plan_of(small, metrics=("goodput", "flows.dc.sender.srtt_ms"), seeds=2)
    goodput, path = plan.measures
    low = pl.DataFrame({measure.column + ".low": [-1.0] for measure in plan.measures})
    assert _within(low, goodput).row(0) == (0.0, -1.0)
    assert _within(low, path).row(0) == (-1.0, -1.0)
    two, one = pl.DataFrame({"setting": [0, 0]}), pl.DataFrame({"setting": [0]})
    assert caption(plan, two).endswith("cut at zero, below which no value can be, but for paths.")
    assert caption(plan, one) == "One run of each setting."
    varied = ("links.down1.rate=5Mbit/s,10Mbit/s,20Mbit/s,40Mbit/s", "links.down1.delay=5ms,10ms,20ms,40ms")
    for metric, end in (("goodput", ", cut at zero, below which no value can be."), ("flows.dc.sender.srtt_ms", ".")):
        drawn = plan_of(small, varied=varied, metrics=(metric,), seeds=2)
        assert layout(drawn).kind == "map"
        assert caption(drawn, two).endswith(f"; under the pointer its 95 % interval by Student's t{end}")


def test_runs_of_each_setting_are_counted_by_setting(small: Path) -> None:
    """As many runs as settings may be several of one."""
    plan = plan_of(small, varied=("links.down1.rate=5Mbit/s,20Mbit/s",), seeds=2)
    assert caption(plan, pl.DataFrame({"setting": [0, 0]})).startswith("Means over the runs")
    assert caption(plan, pl.DataFrame({"setting": [1]})) == "At most one run of each setting."


# --- the map of differences


def test_a_comparison_over_two_further_factors_has_a_map(small: Path, tmp_path: Path) -> None:
    arguments = [*RATES, "--vary", "links.down1.delay=5ms,10ms", *STACKS, "--compare", "flows.*.stack"]
    losses = ["--set", "links.down1.loss=0.5 %", "--seeds", "2", "--jobs", "1", "--metric", "goodput"]
    assert invoke("sweep", small, *arguments, *losses, "--out", tmp_path / "out") == 0
    svg = (tmp_path / "out" / "figure-goodput_mbps-differences.svg").read_text(encoding="utf-8")
    assert "flows.*.stack: lab-tcp compared with quinn" in svg
    assert 'id="differences-1"' in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def map_of(varied: list[str], zipped: list[str], rows: list[tuple[object, ...]]) -> dict[str, Any]:
    """Return the specification of a map over stacks a and b."""
    design = Design.read(varied, zipped, None, {})
    plan: Any = SimpleNamespace(design=design)
    table = compared(rows, varied, zipped, "stack")
    assert difference_map.has_map(plan, design.compared("stack"))
    return difference_map.specification(plan, design.compared("stack"), table, MEASURE, Labels())


def test_factors_that_change_together_are_one_axis_or_panel() -> None:
    varied, zipped = ["stack=a,b", "rate=1,2", "delay=1,2"], ["loss=0,1", "queue=codel,fifo"]
    pairs = list(zip((0, 1), ("codel", "fifo"), strict=True))
    rows: list[tuple[object, ...]] = [
        (stack, rate, delay, loss, queue, seed, 10.0 + loss)
        for stack in "ab"
        for rate in (1, 2)
        for delay in (1, 2)
        for loss, queue in pairs
        for seed in (1, 2)
    ]
    spec = map_of(varied, zipped, rows)
    titles = [panel["title"] for panel in spec["vconcat"]]
    assert titles == ["stack: b compared with a, loss = 0", "stack: b compared with a, loss = 1"]
    assert [len(cells) for cells in spec["datasets"].values() if cells] == [4] * len(spec["datasets"])


def test_numbers_grow_upwards_and_names_have_the_order_given() -> None:
    queues, delays = ("fifo", "codel", "tail"), (10, 2)
    rows: list[tuple[object, ...]] = [
        (stack, queue, delay, seed, 10.0) for stack in "ab" for queue in queues for delay in delays for seed in (1, 2)
    ]
    layer = map_of(["stack=a,b", f"queue={','.join(queues)}", "delay=10,2"], [], rows)["vconcat"][0]["layer"][0]
    domains = {axis: layer["encoding"][axis]["scale"]["domain"] for axis in "xy"}
    assert domains == {"x": [2, 10], "y": ["fifo", "codel", "tail"]}
    two = ["stack=a,b", "rate=1,2,3", "delay=10,2"]
    numbers: list[tuple[object, ...]] = [
        (stack, rate, 10 * (rate % 2) or 2, 1, 5.0) for stack in "ab" for rate in (1, 2, 3)
    ]
    layer = map_of(two, [], numbers)["vconcat"][0]["layer"][0]
    assert layer["encoding"]["y"]["scale"]["domain"] == [10, 2]


def test_a_first_level_of_zero_gives_a_dash() -> None:
    cells = [
        (stack, rate, delay, 1, 0.0 if stack == "a" else 5.0) for stack in "ab" for rate in (1, 2) for delay in (1, 2)
    ]
    rows: list[tuple[object, ...]] = [*cells]
    spec = map_of(["stack=a,b", "rate=1,2", "delay=1,2"], [], rows)
    assert [cell["text"] for panel in spec["datasets"].values() for cell in panel] == ["–"] * 4


def test_cells_of_a_map_are_white_where_the_interval_contains_zero() -> None:
    varied = ["stack=a,b", "rate=1,2", "delay=1,2,3"]
    values = {  # a and b of two seeds: b is larger in both, larger in one, equally larger
        (1, 1): [(10.0, 20.0), (11.0, 21.01)],
        (1, 2): [(10.0, 20.0), (11.0, 10.0)],
        (2, 3): [(10.0, 20.0), (10.0, 20.0)],
    }
    rows: list[tuple[object, ...]] = [
        (stack, rate, delay, seed, value)
        for (rate, delay), pairs in values.items()
        for seed, pair in enumerate(pairs)
        for stack, value in zip("ab", pair, strict=True)
    ]
    spec = map_of(varied, [], rows)
    cells = [cell for panel in spec["datasets"].values() for cell in panel]
    looks = {(cell["rate"], cell["delay"]): (cell["text"], cell["fill"]) for cell in cells}
    assert set(looks) == set(values)
    assert looks[1, 1] == ("95", look(95.3, True, 100)["fill0"])
    assert looks[1, 2] == ("43", WHITE)
    assert looks[2, 3] == ("100 *", UNTESTED)
