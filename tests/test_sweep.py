"""Runs of a plan: stored once, whatever interrupts them, and identified by all that they are made from."""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import quiclab
from conftest import swept
from quiclab._base.native import build_id
from quiclab.errors import QuiclabError, RequestError
from quiclab.experiment.execute import Outcome, execute
from quiclab.experiment.executors import Processes
from quiclab.experiment.identity import RESULTS, note_on_builds, setting_of
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Flusher, Store
from quiclab.experiment.sweeps import Plan
from quiclab.stacks import find

RUNS = 12

# Ctrl-C after the first shard; where the second setting takes minutes, twice
INTERRUPTED_SWEEP = """\
import os, signal, sys
from pathlib import Path
from test_sweep import plan_of, sweep
from quiclab.experiment import store
from quiclab.experiment.executors import loop

append, signals = store.Store.append_frame, [signal.SIGINT] * int(sys.argv[3])

def interrupting(*arguments):
    append(*arguments)
    while signals:
        os.kill(os.getpid(), signals.pop())

if __name__ == "__main__":
    store.Store.append_frame, store.FLUSH_RUNS, store.FLUSH_S, loop.MAX_BATCH = interrupting, 1, 0.0, 1
    changes = {"varied": ("flows.dc.workload.size=100 kB,1000 GB",), "seeds": 1} if len(signals) > 1 else {}
    plan = plan_of(Path(sys.argv[1]), sets=(("duration", "1000000 s"),), **changes)
    outcome = sweep(plan, Path(sys.argv[2]), len(signals))
    print(outcome.interrupted, outcome.done, outcome.total)
"""


def plan_of(small: Path, **changes: Any) -> Plan:
    """Two settings of six runs each."""
    fields = {"varied": ("links.down1.rate=10 Mbit/s,20 Mbit/s",), "seeds": RUNS // 2, **changes}
    return Plan(file=small, text=small.read_text(), **fields)


def sweep(plan: Plan, directory: Path, workers: int = 1, stream: io.StringIO | None = None) -> Outcome:
    return execute(Runs.of(plan), Store(directory), Processes(workers), stream=stream or io.StringIO())


def interrupted(small: Path, directory: Path, tmp_path: Path, signals: int) -> list[int]:
    """Signal, complete runs and all runs of a sweep that is stopped."""
    file = tmp_path / "script.py"
    file.write_text(INTERRUPTED_SWEEP)
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    # returns only when the pipes are closed, hence when no worker is left
    done = subprocess.run(
        [sys.executable, str(file), str(small), str(directory), str(signals)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return [int(word) for word in done.stdout.split()]


def test_interrupt_keeps_completed_runs(small: Path, tmp_path: Path) -> None:
    number, done, total = interrupted(small, tmp_path / "out", tmp_path, 1)
    assert number == signal.SIGINT
    assert 1 <= done < total == RUNS
    assert len(Store(tmp_path / "out").identities()) == done


def test_a_second_interrupt_does_not_wait_for_the_runs_under_way(small: Path, tmp_path: Path) -> None:
    assert interrupted(small, tmp_path / "out", tmp_path, 2) == [signal.SIGINT, 1, 2]
    assert len(Store(tmp_path / "out").identities()) == 1


def run(identity: str) -> pl.DataFrame:
    """A stored run."""
    return pl.DataFrame({"identity": [identity]})


def test_runs_survive_a_disk_that_is_full_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "out")
    monkeypatch.setattr("quiclab.experiment.store.FLUSH_RUNS", 2)
    flusher = Flusher(store)
    with store.locked():
        flusher.add(run("a"))
        flusher.flush_if_due()
        assert store.identities() == set()
        with monkeypatch.context() as full:
            full.setattr("quiclab._base.files.os.fsync", _no_space)
            with pytest.raises(QuiclabError, match="No space left on device; the runs stored before are kept"):
                flusher.add(run("b"))
        flusher.flush()
    assert store.identities() == {"a", "b"}


def test_large_results_do_not_wait_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "out")
    monkeypatch.setattr("quiclab.experiment.store.LARGE_BYTES", 100)
    flusher = Flusher(store)
    with store.locked():
        flusher.add(run("a"))
        assert store.identities() == set()
        flusher.add(run("b" * 100))
        assert len(store.identities()) == 2


def _no_space(descriptor: int) -> None:
    del descriptor
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_metric_of_an_end_is_measured_by_its_definition(small: Path, tmp_path: Path) -> None:
    result = quiclab.sweep(
        small,
        vary={"links.down1.rate": ["10 Mbit/s"]},
        metrics=["srtt", "sender.srtt_ms", "receiver.srtt_ms", "flows.dc.receiver.srtt_ms"],
        seeds=1,
        out=tmp_path,
    )
    (row,) = result.settings.iter_rows(named=True)
    assert row["srtt_ms.mean"] == row["sender.srtt_ms.mean"] > 0
    assert row["receiver.srtt_ms.mean"] == row["flows.dc.receiver.srtt_ms.mean"] != row["srtt_ms.mean"]


def test_completed_runs_are_reused(small: Path, tmp_path: Path) -> None:
    plan = plan_of(small)
    swept(plan, tmp_path / "out")
    outcome = sweep(plan, tmp_path / "out")
    assert (outcome.executed, outcome.done) == (0, RUNS)
    assert len(list((tmp_path / "out" / "shards").iterdir())) == 1


def identity(text: str, base_dir: str | Path = ".", keep: Callable[..., Any] | None = None) -> str:
    """The identity of a setting."""
    return setting_of(text, Path(base_dir), keep=keep)[0]


def test_the_identity_is_scenario_seed_and_versions(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = plan_of(small).scenario(0)
    assert identity(json.dumps(json.loads(text), indent=3, sort_keys=True)) == (before := identity(text))
    assert identity(plan_of(small).scenario(1)) != before
    runs = Runs.of(plan_of(small))
    assert len(set(runs.identities.tolist())) == RUNS
    with monkeypatch.context() as rebuilt:
        rebuilt.setattr("quiclab._base.native.build_id", lambda: "another build")
        assert identity(text) == before
    monkeypatch.setattr("quiclab.experiment.identity.RESULTS", RESULTS + 1)
    assert identity(text) != before


def test_runs_of_another_build_are_used_and_named(small: Path, tmp_path: Path) -> None:
    plan = plan_of(small, varied=(), seeds=2)
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr("quiclab.experiment.runs.build_id", lambda: "0123456789abcdef")
        assert sweep(replace(plan, seeds=1), tmp_path).executed == 1
    assert sweep(plan, tmp_path).executed == 1
    builds = [build for part in Store(tmp_path).rows({"build": pl.String}) for build in part["build"]]
    assert builds == ["0123456789abcdef", build_id()]
    assert "other builds of the same versions (0123456789abcdef)" in note_on_builds(builds, "small")
    assert note_on_builds([build_id(), None], "small") == ""


def test_the_identity_includes_the_contents_of_a_trace(tmp_path: Path) -> None:
    trace = {"kind": "trace", "file": "rate.csv", "format": "csv", "at_end": "loop"}
    text = json.dumps({"links": {"down1": {"rate": trace}}})
    identities = []
    for directory, rate in (("a", 5), ("b", 5), ("c", 6)):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "rate.csv").write_text(f"time_s,rate_mbps\n0,{rate}\n")
        identities.append(identity(text, tmp_path / directory))
    assert identities[0] == identities[1] != identities[2]
    # a file that changes in its place
    (tmp_path / "a" / "rate.csv").write_text("time_s,rate_mbps\n0,5\n1,50\n")
    assert identity(text, tmp_path / "a") != identities[0]
    with pytest.raises(RequestError, match=r"rate\.csv, an input of a run: No such file"):
        identity(text, tmp_path / "moon")


def test_the_identity_holds_version_and_adapter_of_a_python_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_stack(stack: str) -> str:
        return identity(json.dumps({"flows": {"f": {"sender": {"stack": stack}}}}))

    pytest.importorskip("aioquic", reason="the extra aioquic is not installed")
    stack = find("aioquic")
    assert stack is not None
    before = with_stack("aioquic"), with_stack("quinn")
    monkeypatch.setattr("quiclab.scenario.inputs.find", {"aioquic": replace(stack, version="another")}.get)
    other_version = with_stack("aioquic")
    (tmp_path / "another_adapter.py").write_text("def endpoint(setup): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    adapter = importlib.import_module("another_adapter").endpoint
    monkeypatch.setattr("quiclab.scenario.inputs.find", {"aioquic": replace(stack, connection=adapter)}.get)
    assert len({before[0], other_version, with_stack("aioquic")}) == 3
    assert with_stack("quinn") == before[1]


def test_the_identity_includes_the_code_of_stored_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a package all modules count: `judge` may be what it was, and what it asks may not."""
    package = tmp_path / "verdicts"
    package.mkdir()
    (package / "__init__.py").write_text("from verdicts.judge import judge\n")
    (package / "judge.py").write_text("from verdicts import model\ndef judge(result, directory): return {}\n")
    (package / "model.py").write_text("SLACK_MS = 1.0\n")
    (tmp_path / "alone.py").write_text("def judge(result, directory): return {}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    keeps = [importlib.import_module(name).judge for name in ("verdicts.judge", "alone")]
    before = [identity("{}", keep=keep) for keep in keeps]
    assert before == [identity("{}", keep=keep) for keep in keeps]
    (package / "model.py").write_text("SLACK_MS = 2.75\n")
    after = [identity("{}", keep=keep) for keep in keeps]
    assert after[0] != before[0]
    assert after[1] == before[1], "the other one's package is not its own"
    (tmp_path / "alone.py").write_text("def judge(result, directory): return {'more': 1}\n")
    assert identity("{}", keep=keeps[1]) != before[1]


def test_a_failing_run_is_reported_and_the_others_go_on(small: Path, tmp_path: Path) -> None:
    plan = plan_of(small, varied=("links.down1.loss=0 %,100 %",), sets=(("duration", "200 s"),), seeds=1, first_seed=5)
    stream = io.StringIO()
    outcome = sweep(plan, tmp_path / "out", 2, stream)
    assert (outcome.done, outcome.failed) == (1, 1)
    assert [task.seed for task, _ in outcome.failures] == [5]
    command = f"quiclab run {small} --set 'duration=200 s' --set 'links.down1.loss=100 %' --seed 5"
    assert f"replay with: {command}" in stream.getvalue()
    assert sweep(plan, tmp_path / "out").failures  # it is tried again


def test_who_holds_a_directory_may_sweep_in_it(small: Path, tmp_path: Path) -> None:
    plan, store = plan_of(small, varied=(), seeds=1), Store(tmp_path / "out")
    with store.locked():
        assert execute(Runs.of(plan), store, Processes(1), stream=io.StringIO()).done == 1
        # and it is still held
        with pytest.raises(RequestError, match="another sweep is running"), Store(tmp_path / "out").locked():
            pass


def test_a_copy_of_a_shard_is_not_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    with store.locked():
        store.append_frame(run("a"))
        (store.shards / "copy.parquet").write_bytes((store.shards / "000001.parquet").read_bytes())
        store.append_frame(run("b"))
    assert (store.shards / "000002.parquet").exists()
    assert store.identities() == {"a", "b"}


def test_half_written_files_do_not_count(tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    with store.locked():
        store.append_frame(run("a"))
    (store.shards / ".000002.parquet.99.quiclab-tmp").write_bytes(b"half")
    assert store.identities() == {"a"}
    with store.locked():
        store.append_frame(run("b"))
    assert sorted(path.name for path in store.shards.iterdir()) == ["000001.parquet", "000002.parquet"]


def test_a_file_in_the_way_is_one_message(small: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="cannot write results to") as error:
        sweep(plan_of(small), tmp_path / "file" / "out")
    assert error.value.exit_code == 2
