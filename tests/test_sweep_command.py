"""`quiclab sweep`: factors, designs, metrics, what survives a kill, and what is refused."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import qmc

import quiclab
from conftest import KILLED_AFTER_TWO, swept
from quiclab import cli
from quiclab.errors import QuiclabError, RequestError
from quiclab.experiment.executors import Processes, run_batches
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.experiment.sweeps import Plan
from quiclab.experiment.sweeps.adaptive import too_wide, wanted_seeds
from quiclab.experiment.sweeps.design import SEED, Design, latin_hypercube
from quiclab.experiment.sweeps.factors import parse
from quiclab.experiment.sweeps.metrics import Measure, jain, measures
from quiclab.experiment.sweeps.session import Probe, Session, cost_line
from quiclab.experiment.sweeps.table import differences, runs_table, summary
from quiclab.report.sweeps.layout import layout
from quiclab.result.formats import decimal
from quiclab.stacks.registry import version_of

Captured = pytest.CaptureFixture[str]

BASE = {"flows": {"a": {"stack": "quinn"}, "b": {"stack": "noq"}}, "links": {"down1": {}}}


def invoke(*arguments: str | Path) -> int:
    return cli.invoke([str(argument) for argument in arguments])


# --- factors


@pytest.mark.parametrize(
    ("text", "column", "cells"),
    [
        ("links.down1.rate=5Mbit/s,20 Mbit/s", "links.down1.rate_mbps", [5.0, 20.0]),
        ("links.down1.delay=500us,2 ms", "links.down1.delay_ms", [0.5, 2.0]),
        ("links.down1.queue.bytes=1kB,1KiB", "links.down1.queue.bytes", [1000, 1024]),
        ("links.down1.queue.packets=10..200:log5", "links.down1.queue.packets", [10, 21, 45, 95, 200]),
        ("links.down1.queue.packets=10..50:lin5", "links.down1.queue.packets", [10, 20, 30, 40, 50]),
        ("links.down1.rate=1..100Mbit/s:log3", "links.down1.rate_mbps", [1.0, 10.0, 100.0]),
        ("links.down1.loss=0.1 %,0.01", "links.down1.loss", [0.001, 0.01]),
        ("flows.*.stack=quinn,lab-tcp", "flows.*.stack", ["quinn", "lab-tcp"]),
        ('flows.a.down=["x","y"],["z"]', "flows.a.down", ['["x","y"]', '["z"]']),
        ("links.down1.rate=5 Mbit/s,20", "links.down1.rate", ["5 Mbit/s", "20"]),
    ],
)
def test_factors_become_columns_of_numbers_in_one_unit(text: str, column: str, cells: list[object]) -> None:
    factor = parse("--vary", text, BASE)
    assert (factor.column, [factor.cell(level) for level in factor.levels]) == (column, cells)


def test_a_star_stands_for_each_name() -> None:
    assert parse("--vary", "flows.*.stack=quinn", BASE).paths == ("flows.a.stack", "flows.b.stack")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("links.down1.rate", "--vary: expected PATH=VALUES"),
        ("links.down1.rate=", "--vary links.down1.rate: expected values joined by commas"),
        ("links.down1.rate=1,,2", "--vary links.down1.rate: expected values joined by commas"),
        ("links.down1.rate=1,1", "it is given twice"),
        ("x=10..200", "expected a number of values from 2 on after `lin` or `log`"),
        ("x=10..200:log1", "expected a number of values from 2 on after `lin` or `log`"),
        ("x=200..10:log5", "expected a range from a number above 0 to a larger one"),
        ("x=0..10:log5", "expected a range from a number above 0 to a larger one"),
        ("x=1Mbit/s..10kbit/s:log5", "expected a range whose ends have the same unit"),
        ("x=10..200:lgo5", "did you mean `log5`?"),
        ("x=10..y", "expected a range such as 10..200:log5"),
        ("x=1..3:lin9", "whole numbers in this range would repeat"),
        ("tunnels.*.mtu=1", "--vary tunnels.*.mtu: `tunnels.*` stands for nothing"),
        ("links.down*.rate=1", "expected `*` as a whole name"),
    ],
)
def test_wrong_factors_are_refused_with_the_option_and_the_path(text: str, message: str) -> None:
    with pytest.raises(RequestError) as error:
        parse("--vary", text, BASE)
    assert message in str(error.value)


# --- designs


def settings_of(design: Design) -> list[list[str]]:
    return [[level.text for level in setting] for setting in design.settings]


def test_factors_are_combined_and_the_last_changes_fastest() -> None:
    design = Design.read(["a=1,2", "b=x,y"], [], None, BASE)
    assert settings_of(design) == [["1", "x"], ["1", "y"], ["2", "x"], ["2", "y"]]


def test_zipped_factors_change_together() -> None:
    design = Design.read(["a=1,2"], ["b=x,y", "c=5,6"], None, BASE)
    assert settings_of(design) == [["1", "x", "5"], ["1", "y", "6"], ["2", "x", "5"], ["2", "y", "6"]]


def test_a_sweep_without_factors_has_one_setting() -> None:
    assert list(Design.read([], [], None, BASE).settings) == [()]


@pytest.mark.parametrize("sampler", ["lhs", "sobol"])
def test_random_designs_fill_each_range_evenly_and_repeat(sampler: str) -> None:
    design = Design.read(["a=10..1000:log", "b=x,y"], [], f"{sampler}:64", BASE)
    again = Design.read(["a=10..1000:log", "b=x,y"], [], f"{sampler}:64", BASE)
    assert settings_of(design) == settings_of(again)
    values = [setting[0].number for setting in design.settings]
    assert len(values) == 64
    assert sum(value < 100 for value in values) == 32  # half of them in the lower half of the logarithms
    assert [setting[1].text for setting in design.settings].count("x") == 32


def test_latin_hypercubes_are_those_of_scipy() -> None:
    np.testing.assert_array_equal(latin_hypercube(3, 10), qmc.LatinHypercube(d=3, rng=SEED).random(10))


@pytest.mark.parametrize(
    ("varied", "zipped", "sample", "message"),
    [
        (["a=1,2", "a=3"], [], None, "--vary a and --vary a both set a"),
        (["flows.*.stack=quinn"], ["flows.a=1"], None, "both set flows.a"),
        ([], ["a=1,2", "b=1"], None, "a has 2, b has 1"),
        (["a=1..2"], ["b=1"], "lhs:4", "contradict each other"),
        (["a=1..2"], [], "sobol:5", "expected a power of 2"),
        (["a=1..2"], [], "grid:5", "expected lhs:N or sobol:N"),
        (["a=1..2:log5"], [], "lhs:4", "expected a range without a number of values"),
        ([f"{name}=1..9999:lin9999" for name in "ab"], [], None, "expected at most 1000000 combinations"),
    ],
)
def test_contradictions_are_refused(varied: list[str], zipped: list[str], sample: str | None, message: str) -> None:
    with pytest.raises(RequestError) as error:
        Design.read(varied, zipped, sample, BASE)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(5.0, "5"), (0.000057, "0.000057"), (31.62277, "31.62"), (123456.7, "123457"), (0.0, "0"), (1e-12, "1e-12")],
)
def test_numbers_have_no_exponent(value: float, text: str) -> None:
    assert decimal(value, 4) == text


# --- metrics


def test_metrics_of_several_flows_have_a_column_each() -> None:
    assert [item.column for item in measures(["goodput", "fairness"], {"a": "download", "b": "page"})] == [
        "goodput_mbps.a",
        "goodput_mbps.b",
        "fairness",
    ]
    with pytest.raises(RequestError, match="did you mean `goodput`"):
        measures(["goodputt"], {"a": "download"})


def test_fairness_is_jains_index() -> None:
    assert jain([1, 1, 1, 1]) == 1.0
    assert jain([1, 0, 0, 0]) == 0.25
    assert math.isnan(jain([0.0, 0.0]))


# --- runs


def plan_of(file: Path, **changes: object) -> Plan:
    fields: dict[str, object] = {
        "file": file,
        "text": file.read_text(),
        "varied": ("links.down1.rate=5Mbit/s,20Mbit/s", "flows.*.stack=quinn,lab-tcp"),
        "seeds": 3,
        "metrics": ("goodput", "rtt_p99", "retransmissions", "elements.down1.sent.packets"),
    }
    return Plan(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_sweep_measures_every_setting_with_every_seed(small: Path, tmp_path: Path) -> None:
    runs = swept(plan_of(small), tmp_path / "out")
    assert len(runs) == 12
    assert runs["seed"].to_list() == [1, 2, 3] * 4
    assert runs["links.down1.rate_mbps"].to_list() == [5.0] * 6 + [20.0] * 6
    assert runs.filter(pl.col("finished"))["goodput_mbps"].min() > 0.5  # type: ignore[operator]
    slow, fast = (runs.filter(pl.col("links.down1.rate_mbps") == rate)["goodput_mbps"].mean() for rate in (5.0, 20.0))
    assert slow < fast  # type: ignore[operator]
    table = summary(runs, ["links.down1.rate_mbps", "flows.*.stack"], plan_of(small).measures)
    row = table.row(0, named=True)
    first = runs.head(3)["goodput_mbps"]
    assert row["goodput_mbps.n"] == 3
    assert row["goodput_mbps.mean"] == pytest.approx(first.mean())
    half = 4.302652729911275 * first.std() / math.sqrt(3)  # type: ignore[operator]  # Student's t, 2 degrees, 97.5 %
    assert row["goodput_mbps.high"] - row["goodput_mbps.mean"] == pytest.approx(half)


def test_levels_are_compared_pair_by_pair() -> None:
    rows = [
        (0, "a", "x", 1, 10.0), (0, "a", "x", 2, 20.0), (0, "a", "x", 3, 30.0),
        (1, "a", "y", 1, 11.0), (1, "a", "y", 2, 21.0), (1, "a", "y", 3, 34.0),
        (2, "b", "x", 1, 5.0), (3, "b", "y", 1, math.nan),
    ]  # fmt: skip
    runs = pl.DataFrame(rows, schema=["setting", "net", "stack", "seed", "m"], orient="row")
    compared = Design.read(["net=a,b", "stack=x,y"], [], None, {}).compared("stack")
    table = differences(runs, ["net", "stack"], compared, [Measure("m", "m", "", lambda _: 0.0)])
    assert table.select("net", "stack", "m.n").rows() == [("a", "y", 3), ("b", "y", 0)]
    row = table.row(0, named=True)
    assert (row["m.mean"], row["m.std"], row["m.percent"]) == (2.0, math.sqrt(3), 10.0)
    assert row["m.high"] - row["m.mean"] == pytest.approx(4.302652729911275)  # Student's t, 2 degrees, 97.5 %
    assert table.row(1, named=True)["m.mean"] is None


def test_comparisons_are_printed_and_written(small: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    vary = ("--vary", "flows.*.stack=quinn,lab-tcp", "--compare", "flows.*.stack")
    assert invoke("sweep", small, *vary, "--seeds", "3", "--jobs", "1", "--out", out) == 0
    assert "Differences from the first level of flows.*.stack, paired by seed" in capsys.readouterr().out
    assert pl.read_csv(out / "differences.csv")["flows.*.stack"].to_list() == ["lab-tcp"]
    assert ">Differences</h2>" in (out / "index.html").read_text()
    assert invoke("sweep", small, "--compare", "flows.*.stak", *vary[:2], "--out", out) == 2
    assert "--compare: unknown factor `flows.*.stak`" in capsys.readouterr().err


def test_workers_and_order_leave_no_trace_and_stored_runs_are_reused(small: Path, tmp_path: Path) -> None:
    plan = plan_of(small, metrics=("goodput",))
    one, two = swept(plan, tmp_path / "one", 1), swept(plan, tmp_path / "two", 2)
    assert one.equals(two)
    session = Session(plan, Store(tmp_path / "two"), Processes(1))
    assert session.run().executed == 0
    # a further metric needs the runs again; one setting more needs only its own
    assert Session(plan_of(small), Store(tmp_path / "two"), Processes(1)).run().executed == 12
    more = plan_of(small, metrics=("goodput",), seeds=4)
    assert Session(more, Store(tmp_path / "two"), Processes(1)).run().executed == 4


def test_a_killed_sweep_goes_on_and_its_files_are_the_same_bytes(small: Path, tmp_path: Path) -> None:
    arguments = [
        "sweep", str(small), "--vary", "links.down1.rate=5Mbit/s,20Mbit/s", "--seeds", "40",
        "--metric", "goodput,rtt_p99", "--jobs", "2", "--out",
    ]  # fmt: skip
    assert invoke(*arguments, tmp_path / "whole") == 0
    script = tmp_path / "killer.py"
    script.write_text(KILLED_AFTER_TWO)
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, script, "8", *arguments, tmp_path / "killed"], capture_output=True, check=False
        )
        assert done.returncode == -signal.SIGKILL
    assert 0 < len(Store(tmp_path / "killed").identities()) < 80
    assert invoke(*arguments, tmp_path / "killed") == 0
    for name in ("runs.parquet", "settings.csv", "figure-goodput_mbps.svg"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes(), name


def squares(batch: list[int]) -> list[int]:
    """Tasks of a worker; 13 kills it."""
    if 13 in batch:
        os.kill(os.getpid(), signal.SIGKILL)
    return [number * number for number in batch]


def test_a_task_that_kills_its_worker_is_named_and_the_others_are_done() -> None:
    found: dict[int, int] = {}
    with pytest.raises(QuiclabError, match="a worker process died"), Processes(2) as executor:
        run_batches(
            executor, range(20), list, squares, lambda batch, values: found.update(zip(batch, values, strict=True))
        )
    assert {number: number * number for number in range(13)}.items() <= found.items()


def test_seeds_are_added_where_intervals_are_wide() -> None:
    measure = Measure("x", "x", "", lambda _: 0.0)
    rows = [(0, 5, 10.0, 10.1), (1, 5, 10.0, 11.0), (2, 5, 0.0, 0.0), (3, 5, 10.0, 10.3)]
    settings = pl.DataFrame(rows, schema=["setting", "x.n", "x.mean", "x.high"], orient="row")
    wide = too_wide(settings, [measure], 0.02)
    assert list(wide) == [1, 3]
    assert wanted_seeds(wide, [5] * 4, 100) == [5, 10, 5, 10]
    assert wanted_seeds(wide, [5] * 4, 8) == [5, 8, 5, 8]


def test_a_setting_without_an_interval_gets_more_seeds_and_is_reported() -> None:
    measure = Measure("x", "x", "", lambda _: 0.0)
    rows = [(0, 1, 10.0, None), (1, 0, None, None), (2, 5, 0.0, 1.0)]
    settings = pl.DataFrame(rows, schema=["setting", "x.n", "x.mean", "x.high"], orient="row")
    wide = too_wide(settings, [measure], 0.02)
    assert wide == dict.fromkeys(range(3), math.inf)
    assert wanted_seeds(wide, [5] * 3, 8) == [8] * 3


def test_an_adaptive_sweep_tells_what_it_spent(small: Path, tmp_path: Path, capsys: Captured) -> None:
    arguments: list[str | Path] = [
        "sweep",
        small,
        "--adaptive",
        "1%",
        "--max-seeds",
        "12",
        "--seeds",
        "5",
        "--jobs",
        "1",
    ]
    assert invoke(*arguments, "--out", tmp_path / "out", "--json") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    row = document["settings"][0]
    precise = (row["goodput_mbps.high"] - row["goodput_mbps.mean"]) / row["goodput_mbps.mean"] <= 0.01
    assert precise or document["runs"] == 12
    assert f"{document['runs']} runs in all" in captured.err


# --- figures


@pytest.mark.parametrize(
    ("varied", "seeds", "kind"),
    [
        ((), 10, "rows"),
        ((), 3, "rows"),
        (("flows.*.stack=quinn,lab-tcp",), 10, "rows"),
        (("flows.*.stack=quinn,lab-tcp", "links.down1.queue.kind=drop_tail,codel"), 8, "groups"),
        (("links.down1.rate=5Mbit/s,20Mbit/s",), 3, "lines"),
        (("links.down1.rate=5Mbit/s,20Mbit/s", "links.down1.queue.packets=10..40:lin4"), 3, "lines"),
        (("links.down1.rate=5..20Mbit/s:log4", "links.down1.queue.packets=10..40:lin4"), 3, "map"),
    ],
)
def test_the_figure_follows_from_what_varies(small: Path, varied: tuple[str, ...], seeds: int, kind: str) -> None:
    plan = plan_of(small, varied=varied, seeds=seeds)
    assert layout(plan).kind == kind


def test_every_level_of_every_factor_is_told_apart(small: Path) -> None:
    varied = (
        "links.down1.rate=5Mbit/s,20Mbit/s",
        "flows.*.stack=quinn,lab-tcp",
        "links.down1.delay=1ms,2ms,3ms",
    )
    plan = plan_of(small, varied=varied)
    found = layout(plan)
    told = {factor.path for factor in (found.x, found.y, found.colour, *found.panels) if factor is not None}
    assert told == {factor.path for factor in plan.design.factors}


# --- the command


def test_the_command_prints_a_table_and_writes_everything(small: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    arguments: list[str | Path] = [
        "sweep",
        small,
        "--vary",
        "links.down1.rate=5Mbit/s,20Mbit/s",
        "--vary",
        "flows.*.stack=quinn,lab-tcp",
        "--seeds",
        "1",
        "--jobs",
        "1",
        "--out",
        out,
    ]
    assert invoke(*arguments) == 0
    captured = capsys.readouterr()
    assert "links.down1.rate [Mbit/s]" in captured.out
    for name in ("runs.parquet", "settings.csv", "figure-goodput_mbps.svg", "index.html"):
        assert str(out / name) in captured.out
        assert (out / name).stat().st_size > 0
    assert "4 runs complete, 4 of them new" in captured.err
    page = (out / "index.html").read_text()
    assert all(f"{stack} {version_of(stack)}" in page for stack in ("lab-tcp", "quinn"))


def test_a_dry_run_checks_counts_and_runs_nothing(small: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    assert invoke("sweep", small, "--seeds", "30", "--dry-run", "--out", out) == 0
    assert "1 setting with 30 seeds: 30 runs, 0 stored" in capsys.readouterr().out
    assert not out.exists()


@pytest.mark.parametrize(
    ("waiting", "stored", "workers", "says"),
    [
        (1, 0, 8, "1 run, 0 stored. A run of the first setting took 2 s."),
        (3, 0, 8, "if each does, all 3 runs take 2 s on 3 workers."),
        (9, 0, 8, "if each does, all 9 runs take 4 s on 8 workers."),
        (2, 3, 1, "if each does, 2 runs that are not stored take 4 s on 1 worker."),
        (0, 3, 8, "3 runs, 3 stored."),
    ],
)
def test_the_estimate_is_that_of_rounds_of_workers(
    waiting: int, stored: int, workers: int, says: str, small: Path, tmp_path: Path
) -> None:
    plan = Plan(file=small, text=small.read_text(), seeds=waiting + stored)
    session = Session(plan, Store(tmp_path / "out"), Processes(workers))
    session.waiting, session.probe = waiting, Probe(2.0)
    assert cost_line(plan, session).endswith(says)
    adaptive = cost_line(plan, session, 50)
    assert adaptive.endswith("--adaptive adds seeds where they are needed, up to 50: 50 runs at most.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "links.down9.rate=5Mbit/s"], "quiclab: --vary: links.down9"),
        (["--vary", "links.down1.rate=5Mbit/s,0Mbit/s"], "quiclab: --vary: links.down1.rate: expected a rate above"),
        (["--zip", "links.down1.rate=5Mbit/s,0Mbit/s"], "quiclab: --zip: links.down1.rate: expected a rate above"),
        (
            ["--vary", "links.down1.rate=5Mbit/s", "--set", "links.down1.rate=6Mbit/s"],
            "quiclab: --vary links.down1.rate and --set links.down1.rate both set links.down1.rate",
        ),
        (["--vary", "links.down1.rate=5Mbit/s", "--metric", "speed"], "quiclab: --metric: unknown metric `speed`"),
        (["--vary", "flows.dc.stack=quin,quinn"], "did you mean"),
        (["--metric", "speed"], "--metric: unknown metric `speed`"),
        (["--metric", "elements.down9.sent.packets"], "--metric elements: unknown name `down9`"),
        (["--adaptive", "2"], "--adaptive: expected a percentage"),
        (["--seeds", "0"], "expected a whole number from 1"),
    ],
)
def test_wrong_requests_end_before_the_first_run(
    small: Path, tmp_path: Path, capsys: Captured, arguments: list[str], message: str
) -> None:
    assert invoke("sweep", small, "--out", tmp_path / "out", *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert not (tmp_path / "out" / "shards").exists()


def test_run_with_seeds_prints_means_and_intervals(small: Path, tmp_path: Path, capsys: Captured) -> None:
    assert invoke("run", small, "--seeds", "4", "--seed", "7", "--json") == 0
    row = json.loads(capsys.readouterr().out)["settings"][0]
    values = [quiclab.run(quiclab.load(small), seed).flows["dc"].goodput_mbps for seed in range(7, 11)]
    assert row["goodput_mbps.mean"] == pytest.approx(sum(values) / 4)
    assert invoke("run", small, "--seeds", "2") == 0
    assert "Goodput [Mbit/s]" in capsys.readouterr().out
    assert invoke("run", small, "--seeds", "2", "--out", tmp_path / "out") == 2
    assert "--seeds and --out contradict each other" in capsys.readouterr().err
    for option in ("--compress", "--force"):
        assert invoke("run", small, "--seeds", "2", option) == 2
        assert f"{option} requires --out" in capsys.readouterr().err


def test_a_script_needs_no_guard(small: Path, tmp_path: Path) -> None:
    script = tmp_path / "rates.py"
    script.write_text(
        f"import quiclab\nresult = quiclab.sweep({str(small)!r}, {{'links.down1.rate': ['5 Mbit/s', '20 Mbit/s']}})\n"
        "print(result.runs.height, result.settings.columns[1], '<svg' in result.plot().to_svg())\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "10 links.down1.rate_mbps True\n"), done.stderr


def test_a_missing_scenario_is_one_line(capsys: Captured) -> None:
    assert invoke("sweep") == 2
    assert "SCENARIO: missing; expected scenario file; usage: quiclab sweep SCENARIO" in capsys.readouterr().err
    assert invoke("sweep", "absent.toml") == 2
    assert "cannot read the scenario absent.toml" in capsys.readouterr().err


def test_two_sweeps_of_one_directory_exclude_each_other(small: Path, tmp_path: Path, capsys: Captured) -> None:
    with Store(tmp_path / "out").locked():
        assert invoke("sweep", small, "--seeds", "2", "--jobs", "1", "--out", tmp_path / "out") == 2
    assert "another sweep is running" in capsys.readouterr().err


def test_a_damaged_shard_is_named(small: Path, tmp_path: Path, capsys: Captured) -> None:
    arguments = ("sweep", small, "--seeds", "2", "--jobs", "1", "--out", tmp_path / "out")
    assert invoke(*arguments) == 0
    shard = Store(tmp_path / "out").files()[0]
    shard.write_bytes(b"damaged")
    capsys.readouterr()
    assert invoke(*arguments) == 1
    assert f"cannot read {shard}" in capsys.readouterr().err
    shard.unlink()
    assert invoke(*arguments) == 0


def test_runs_of_another_build_are_used_with_a_warning(small: Path, tmp_path: Path) -> None:
    plan, store = plan_of(small, varied=(), metrics=("goodput",)), Store(tmp_path / "out")
    swept(plan, store.directory)
    shard = store.files()[0]
    pl.read_parquet(shard).with_columns(build=pl.lit("0123456789abcdef")).write_parquet(shard)
    session = Session(plan, store, Processes(1))
    assert session.run().executed == 0
    assert any("0123456789abcdef" in note for note in session.tables().notes)
    assert len(runs_table(plan, Runs.of(plan), store)[0]) == 3
