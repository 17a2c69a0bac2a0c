"""One seed fixes everything: digest, result, tables, recorded files, in any process, with any number of workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import quiclab
from conftest import ROOT, has_stack, quiclab_process, swept
from quiclab._base.files import write_parquet
from quiclab.experiment.sweeps import Plan
from quiclab.scenario import Scenario, load

FILE = ROOT / "scenarios" / "dual_connectivity.toml"
SEED = 7

# aioquic runs in Python: a hundredth of the download
STACKS = [
    ("quinn", "100 MB"),
    ("noq", "100 MB"),
    pytest.param(
        "aioquic",
        "1 MB",
        marks=pytest.mark.skipif(not has_stack("aioquic"), reason="the extra aioquic is not installed"),
    ),
]


def default_point(stack: str, size: str) -> Scenario:
    return load(FILE, [("flows.dc.stack", stack), ("flows.dc.workload.size", size)])


@pytest.mark.parametrize(("stack", "size"), STACKS)
def test_the_seed_fixes_the_result(stack: str, size: str) -> None:
    scenario = default_point(stack, size)
    first, again, other = (quiclab.run(scenario, seed) for seed in (SEED, SEED, SEED + 1))
    assert first.flows["dc"].completed
    assert first.digest == again.digest
    assert first.to_json() == again.to_json()
    assert first.digest != other.digest


def test_digests_of_stacks_differ() -> None:
    digests = {quiclab.run(default_point(stack, "1 MB"), SEED).digest for stack in ("quinn", "noq")}
    assert len(digests) == 2


@pytest.mark.parametrize(("stack", "size"), STACKS)
def test_workers_change_nothing(stack: str, size: str, tmp_path: Path) -> None:
    runs = 2 if stack == "aioquic" else 4
    text = default_point(stack, size).with_value("flows.dc.workload.size", "1 MB").resolved_json()
    plan = Plan(file=Path("scenario.json"), text=text, seeds=runs, first_seed=SEED)
    tables = {}
    for workers in (1, 2):
        directory = tmp_path / str(workers)
        table = swept(plan, directory, workers)
        write_parquet(directory / "table.parquet", table)
        tables[workers] = (table["digest"].to_list(), (directory / "table.parquet").read_bytes())
    assert tables[1] == tables[2]
    digests = tables[1][0]
    assert len(set(digests)) == runs
    # a run in a sweep is the run of the command line
    assert digests[0] == quiclab.run(default_point(stack, "1 MB"), SEED).digest


@pytest.mark.parametrize(("stack", "size"), STACKS)
def test_recording_changes_nothing(stack: str, size: str, tmp_path: Path) -> None:
    del size
    plain = default_point(stack, "1 MB")
    everything = {"qlog": True, "pcapng": True, "packets": True, "acks": True, "series_interval": "1 ms"}
    digest = quiclab.run(plain, SEED).digest
    records = {
        "pcapng": {"pcapng": True},
        "series": {"series_interval": "1 ms"},
        "packets": {"packets": True},
    }
    if stack != "aioquic":  # which is not observed
        records |= {"qlog": {"qlog": True}, "acks": {"acks": True}, "everything": everything}
    for name, record in records.items():
        folder = tmp_path / name
        folder.mkdir()
        assert quiclab.run(plain.with_value("record", record), SEED, record_dir=folder).digest == digest, name


@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_recorded_files_are_the_same_bytes_in_every_process(stack: str, tmp_path: Path) -> None:
    record = "record={ qlog = true, pcapng = true, packets = true, acks = true, series_interval = '10 ms' }"
    found = []
    for hash_seed in ("0", "1", "random"):
        out = tmp_path / hash_seed
        sets = ["--set", f"flows.dc.stack={stack}", "--set", "flows.dc.workload.size=1 MB", "--set", record]
        done = quiclab_process(
            "run", FILE, "--seed", str(SEED), *sets, "--out", out, "--json", env={"PYTHONHASHSEED": hash_seed}
        )
        assert done.returncode == 0, done.stderr
        found.append((done.stdout, {path.name: path.read_bytes() for path in sorted(out.iterdir())}))
    names = ["dc.receiver.pcapng", "dc.receiver.sqlog", "dc.sender.pcapng", "dc.sender.sqlog"]
    assert sorted(found[0][1]) == sorted([*names, "acks.parquet", "packets.parquet", "result.json", "series.parquet"])
    assert all(found[0][1].values())
    assert found[0] == found[1] == found[2]
    # and the process of this test is not special
    assert json.loads(found[0][0])["digest"] == quiclab.run(default_point(stack, "1 MB"), SEED).digest


@pytest.mark.skipif(not has_stack("aioquic"), reason="the extra aioquic is not installed")
def test_aioquic_does_not_depend_on_the_hash_seed() -> None:
    sets = ("--set", "flows.dc.stack=aioquic", "--set", "flows.dc.workload.size=200 kB")
    texts = [
        quiclab_process("run", FILE, *sets, "--json", env={"PYTHONHASHSEED": value}).stdout for value in ("1", "2")
    ]
    assert json.loads(texts[0])["flows"]["dc"]["delivered_bytes"] == 200_000
    assert texts[0] == texts[1]
