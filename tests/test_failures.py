"""Settings whose runs fail are rows with their reason: in the table, the CSV file, figures, the page and JSON."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.experiment.equal_runs import without_effect
from quiclab.experiment.failures import FILE, MAX_ENTRIES, note_failures, read_failures

Captured = pytest.CaptureFixture[str]
#: A link that loses every packet: the connection fails.
LOSSES = "links.down1.loss=0,1"


def invoke(*arguments: str | Path) -> int:
    return cli.invoke([str(argument) for argument in arguments])


def test_a_setting_that_fails_is_a_row_everywhere(small: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    command: list[str | Path] = ["sweep", small, "--vary", LOSSES, "--seeds", "2", "--jobs", "1", "--out", out]
    assert invoke(*command) == 1
    said = capsys.readouterr()
    assert "2 of 4 runs failed" in said.err
    assert "2 runs failed, all of 1 setting: the reasons are in the table." in " ".join(said.out.split())
    with (out / "settings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["links.down1.loss"], row["goodput_mbps.n"], row["failed"]) for row in rows] == [
        ("0", "2", "0"),
        ("1", "0", "2"),
    ]
    reason = rows[1]["reason"]
    assert (rows[0]["reason"], rows[1]["goodput_mbps.mean"]) == ("", "")
    assert reason.startswith("flow `dc` failed after 0 bytes")
    assert reason[:40] in " ".join(said.out.split()), "the table on the terminal has it"
    page = (out / "index.html").read_text()
    assert "No value, because all runs failed: 1" in page
    assert "flow `dc` failed after 0 bytes" in page
    # repeated: what is stored stays, what failed is tried again
    assert invoke(*command, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["runs"], document["runs_failed"]) == (2, 2)
    assert [(row["failed"], row["reason"]) for row in document["settings"]] == [(0, None), (2, reason)]


def test_a_sweep_of_which_all_fails_has_its_rows(small: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    arguments = ["--set", "links.down1.loss=1", "--vary", "links.down1.delay=5ms,10ms", "--seeds", "1", "--jobs", "1"]
    assert invoke("sweep", small, *arguments, "--out", out, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert [(row["failed"], row["goodput_mbps.n"]) for row in document["settings"]] == [(1, 0), (1, 0)]
    assert all("failed after 0 bytes" in row["reason"] for row in document["settings"])


def test_a_figure_has_the_row_of_a_setting_without_a_value(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    levels = ",".join(f'{{at_end="hold",rows=[{{at="0 s",loss={loss}}}]}}' for loss in ("0.0", "1.0"))
    arguments = ["--vary", f"links.down1.conditions={levels}", "--seeds", "10", "--jobs", "1"]
    assert invoke("sweep", small, *arguments, "--out", out) == 1
    figure = (out / "figure-goodput_mbps.svg").read_text()
    assert "no value: flow `dc` failed after 0 bytes" in figure
    assert "Share of runs" not in figure, "with ten runs, too, it shows means with intervals"
    assert "bars are 95 % intervals" in (out / "index.html").read_text()


def test_a_compared_level_that_fails_has_its_row(small: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    command: list[str | Path] = [
        "sweep",
        small,
        "--vary",
        LOSSES,
        "--compare",
        "links.down1.loss",
        "--seeds",
        "2",
        "--jobs",
        "1",
    ]
    assert invoke(*command, "--out", out, "--json") == 1
    (row,) = json.loads(capsys.readouterr().out)["differences"]
    assert (row["links.down1.loss"], row["goodput_mbps.n"], row["goodput_mbps.mean"]) == (1.0, 0, None)


def test_shards_with_failed_runs_are_merged(small: Path, tmp_path: Path, capsys: Captured) -> None:
    plan, out = tmp_path / "small.plan.json", tmp_path / "out"
    assert invoke("sweep", "plan", small, "--vary", LOSSES, "--seeds", "2", "--to", plan) == 0
    for index in range(2):
        assert invoke("shard", plan, "--index", str(index), "--of", "2", "--jobs", "1") == 1
    capsys.readouterr()
    assert invoke("sweep", "merge", plan, "--out", out, "--json") == 0
    assert [row["failed"] for row in json.loads(capsys.readouterr().out)["settings"]] == [0, 2]


def test_a_factor_without_effect_is_named(small: Path, tmp_path: Path, capsys: Captured) -> None:
    # acknowledgements of 100 kB fill neither queue
    arguments = [
        "--vary",
        'links.up1.queue={kind="drop_tail",packets=900},{kind="drop_tail",packets=1000}',
        "--vary",
        "links.down1.delay=5ms,10ms",
    ]
    assert invoke("sweep", small, *arguments, "--seeds", "1", "--jobs", "1", "--out", tmp_path / "out", "--json") == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert [note for note in notes if "has no effect" in note] == [
        "links.up1.queue has no effect: runs that differ in nothing else are equal, packet by packet."
    ]


def test_a_study_names_its_factor_without_effect(tmp_path: Path, capsys: Captured) -> None:
    # over equal paths with equal delays both schedulers choose the same path for each packet
    command = ["study", "run", "tunnel/single", "--runs", "1", "--only", "configuration=fq", "--jobs", "1"]
    assert invoke(*command, "--out", tmp_path) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "no effect" in line]
    assert [note.partition(" has no effect")[0] for note in notes] == ["tunnel/single: sched"]


def test_runs_of_the_same_seed_show_a_factor_without_effect() -> None:
    rows = [(rate, queue, seed, f"{rate} {seed}") for rate in (1, 2) for queue in (10, 20) for seed in (1, 2)]
    runs = pl.DataFrame(rows, ["rate", "queue", "seed", "digest"], orient="row")
    groups = [("rate", {"rate"}), ("queue", {"queue"})]
    assert [note.split()[0] for note in without_effect(runs, ["rate", "queue"], groups)] == ["queue"]
    both = [("both", {"rate", "queue"})]
    assert without_effect(runs, ["rate", "queue"], both) == []
    # with seeds of its own, a setting differs in more than its factors
    own = runs.with_columns(pl.col("seed") + 10 * pl.col("queue"))
    assert without_effect(own, ["rate", "queue"], groups) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "quiclab.failures/1", "failures": 3}', '{"a":' * 20_000])
def test_a_file_of_failures_that_is_none_is_no_file(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    assert read_failures(tmp_path) == {}
    note_failures(tmp_path, {"a": "why"})
    assert read_failures(tmp_path) == {"a": "why"}


def test_failures_are_bounded_and_go_when_they_are_repaired(tmp_path: Path) -> None:
    note_failures(tmp_path, {f"{number:x}": "x" * 10_000 for number in range(3)})
    assert {len(why) for why in read_failures(tmp_path).values()} == {500}
    note_failures(tmp_path, {}, ["0", "1", "2"])
    assert not (tmp_path / FILE).exists()
    note_failures(tmp_path, {str(number): "" for number in range(MAX_ENTRIES)})
    note_failures(tmp_path, {"new": "why"})
    found = read_failures(tmp_path)
    assert (len(found), found["new"], "0" in found) == (MAX_ENTRIES, "why", False)


# --- studies


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A laboratory with one study whose far configuration loses every packet at 20 Mbit/s."""
    folder = tmp_path / "home"
    shutil.copytree(ROOT / "tests" / "data" / "tiny", folder)
    monkeypatch.setenv("QUICLAB_STUDIES", str(folder / "studies"))
    return folder


def change(home: Path, before: str, after: str) -> None:
    file = home / "studies" / "tiny.py"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))


FAR = '{"links.down1.delay": "50 ms"}'
LOSING = (
    'lambda given: {**given, "links.down1.delay": "50 ms"}'
    ' | ({"links.down1.loss": 1.0} if given["links.down1.rate"] == "20 Mbit/s" else {})'
)


def test_a_setting_of_a_study_that_fails_is_a_row_everywhere(home: Path, tmp_path: Path, capsys: Captured) -> None:
    change(home, FAR, LOSING)
    out = tmp_path / "results"
    assert invoke("study", "run", "tiny/rate", "--runs", "2", "--jobs", "1", "--out", out) == 1
    assert "2 runs failed" in capsys.readouterr().err
    assert invoke("study", "table", "tiny/rate", "--out", out) == 1
    said = capsys.readouterr()
    assert "2 runs with quinn are missing, of which 2 failed" in said.err
    rows = {(row["configuration"], row["rate_mbps"]): row for row in csv.DictReader(said.out.splitlines())}
    assert len(rows) == 4
    failed = rows["far", "20"]
    assert (failed["n_runs"], failed["n_failed"], failed["goodput_mbps_mean"]) == ("0", "2", "")
    assert failed["reason"].startswith("flow `dc` failed after 0 bytes")
    assert (rows["near", "5"]["n_failed"], rows["near", "5"]["reason"]) == ("0", "")
    assert invoke("study", "compare", "tiny/rate", "--out", out, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert [(row["setting"], row["runs"], row["failed"]) for row in document["failed"]] == [
        ("<50 ms> & away, rate 20 Mbit/s", 0, 2)
    ]
    assert invoke("study", "compare", "tiny/rate", "--out", out) == 1
    assert "failed: <50 ms> & away, rate 20 Mbit/s: 2 of 2 runs: flow `dc`" in " ".join(capsys.readouterr().out.split())
    assert invoke("study", "report", "tiny/rate", "--out", out) in (0, 1)
    file = out / "tiny" / "rate" / "report.html"
    printed = capsys.readouterr().err
    assert "Tiny: rate of a link: 3 claims: " in printed
    assert f"(2 runs are missing). Open {file} in a browser." in printed
    page = file.read_text()
    assert "&lt;50 ms&gt; &amp; away, rate 20 Mbit/s: 2 failed, 0 did not; the first: flow `dc` failed" in page


def test_a_study_of_which_all_runs_fail_says_why(home: Path, tmp_path: Path, capsys: Captured) -> None:
    change(home, '{"flows.dc.sender.stack": engine,', '{"links.down1.loss": 1.0, "flows.dc.sender.stack": engine,')
    out = tmp_path / "results"
    assert invoke("study", "run", "tiny/rate", "--runs", "1", "--jobs", "1", "--out", out) == 1
    capsys.readouterr()
    assert invoke("study", "table", "tiny/rate", "--out", out) != 0
    assert "all 4 runs of tiny/rate failed, the first: flow `dc` failed after 0 bytes" in capsys.readouterr().err
