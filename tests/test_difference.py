"""Differences of settings against values computed by hand, by scipy, and by the table of sweeps."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest
from scipy import stats as scipy_stats

from conftest import ROOT
from quiclab import cli
from quiclab.experiment.sweeps import table as sweep_table
from quiclab.experiment.sweeps.design import Design
from quiclab.result.stats import pairs_of, summarise
from quiclab.study.difference import difference

FIRST = {1: 10.0, 2: 20.0, 3: 30.0}
SECOND = {1: 11.0, 2: 23.0, 3: 32.0}


def test_pairs_by_hand() -> None:
    found = difference(FIRST, SECOND)
    # differences 1, 3, 2: mean 2, sample variance 1; t(0.975, 2) = 4.302652... (tables)
    assert (found.mean, found.relative, found.runs, found.paired) == (2.0, 0.1, 3, True)
    half = 4.302652729911275 / math.sqrt(3)
    assert (found.low, found.high) == pytest.approx((2.0 - half, 2.0 + half), rel=1e-9)
    assert difference(FIRST, dict(reversed(SECOND.items()))) == found


def test_a_run_that_is_missing_leaves_the_others_in_pairs() -> None:
    expected = difference(FIRST, SECOND)
    for first, second in (
        ({**FIRST, 4: 1000.0}, SECOND),
        (FIRST, {**SECOND, 4: 1000.0}),
        ({**FIRST, 4: 1000.0}, {**SECOND, 5: -7.0}),
        ({**FIRST, 4: 1000.0}, {**SECOND, 4: math.nan}),
        ({**FIRST, 4: math.nan}, {**SECOND, 4: 1000.0}),
    ):
        assert difference(first, second) == expected
    without: dict[int, float | None] = {**SECOND, 4: None}
    pairs = pairs_of({**FIRST, 4: 1000.0}, without)
    assert pairs is not None
    assert (pairs.first, pairs.second) == (summarise([10.0, 20.0, 30.0]), summarise([11.0, 23.0, 32.0]))
    assert not difference({1: 1.0, 2: 2.0}, {2: 3.0, 3: 5.0}).paired, "one pair has no scatter"


def test_other_seeds_are_independent_runs() -> None:
    found = difference(FIRST, {seed + 1000: value for seed, value in SECOND.items()})
    expected = scipy_stats.ttest_ind(list(SECOND.values()), list(FIRST.values()), equal_var=False)
    interval = expected.confidence_interval()
    assert (found.mean, found.paired) == (2.0, False)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    one = difference({1: 1.0}, {1: 3.0})
    assert (one.mean, one.runs, one.paired) == (2.0, 1, False)
    assert math.isnan(one.low)


def test_sweeps_have_the_same_intervals() -> None:
    class Goodput:
        column = "goodput"

    rows = [
        {"stack": stack, "seed": seed, "goodput": value}
        for stack, runs in (("one", FIRST), ("other", SECOND))
        for seed, value in runs.items()
    ]
    measures = [Goodput()]
    compared = Design.read(["stack=one,other"], [], None, {}).compared("stack")
    [row] = sweep_table.differences(pl.DataFrame(rows), ["stack"], compared, measures).to_dicts()  # type: ignore[arg-type]
    found = difference(FIRST, SECOND)
    assert (row["goodput.n"], row["goodput.mean"]) == (found.runs, found.mean)
    assert (row["goodput.low"], row["goodput.high"]) == pytest.approx((found.low, found.high), rel=1e-12)
    assert row["goodput.percent"] == pytest.approx(100 * found.relative)


def test_compare_shows_them_where_nothing_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "tests/data/tiny/studies/tiny.py").read_text()
    start = text.index("    table=")
    home = tmp_path / "home"
    (home / "studies").mkdir(parents=True)
    (home / "studies" / "tiny.py").write_text(text[:start] + text[text.index("\n", start) + 1 :])
    (home / "scenarios").symlink_to(ROOT / "tests/data/tiny/scenarios")
    monkeypatch.setenv("QUICLAB_STUDIES", str(home / "studies"))
    out = str(tmp_path / "results")
    assert cli.invoke(["study", "run", "tiny/rate", "--out", out]) == 0
    capsys.readouterr()
    assert cli.invoke(["study", "compare", "tiny/rate", "--json", "--out", out]) == 0
    document = json.loads(capsys.readouterr().out)
    found = document["differences"]
    assert found["from"] == "near"
    assert [row["configuration"] for row in found["rows"]] == ["far", "far"]
    means = {(row["configuration"], row["rate_mbps"]): row["measured_mean"] for row in document["rows"]}
    for row in found["rows"]:
        assert row["paired"]
        assert row["runs"] == 3
        assert row["low"] <= row["mean"] <= row["high"]
        apart = means["far", row["rate_mbps"]] - means["near", row["rate_mbps"]]
        assert row["mean"] == pytest.approx(apart, abs=2e-4)
    assert cli.invoke(["study", "compare", "tiny/rate", "--out", out]) == 0
    shown = capsys.readouterr().out
    assert "Difference from near, paired by seed" in shown
    assert "published" not in shown
