"""Sweeps: the same bytes for any number of workers and any number of kills."""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from conftest import KILL_AFTER_TWO
from quiclab.errors import QuiclabError, RequestError
from quiclab.files import write_parquet
from quiclab.identity import RESULTS, note_on_builds
from quiclab.native import build_id
from quiclab.scenario import load
from quiclab.stacks import find
from quiclab.store import Flusher, Store
from quiclab.study.job import Job
from quiclab.study.store import schema
from quiclab.study.sweep import collect, execute

RUNS = 12

KILLED_SWEEP = f"""\
{KILL_AFTER_TWO}
import sys
from pathlib import Path
from test_sweep import jobs_of
from quiclab.study.sweep import execute

if __name__ == "__main__":
    jobs = jobs_of(Path(sys.argv[1]))
    execute(jobs, Path(sys.argv[2]), workers=2, flush_runs=2, flush_seconds=1e9, on_flush=kill_after_two)
"""

INTERRUPTED_SWEEP = """\
import os, signal, sys
from pathlib import Path
from test_sweep import jobs_of
from quiclab.study.sweep import execute

if __name__ == "__main__":
    jobs = jobs_of(Path(sys.argv[1]))
    signals = [signal.SIGINT]
    interrupt = lambda: signals and os.kill(os.getpid(), signals.pop())
    outcome = execute(jobs, Path(sys.argv[2]), workers=1, flush_runs=1, flush_seconds=1e9, on_flush=interrupt)
    print(outcome.interrupted, outcome.done, outcome.total)
"""

# the second run takes minutes: the first is on the disk meanwhile, and Ctrl-C twice leaves the second
ABANDONED_SWEEP = """\
import os, signal, sys
from pathlib import Path
from test_sweep import jobs_of
from quiclab.scenario import load
from quiclab.study.job import Job
from quiclab.study.sweep import execute

def interrupt_twice():
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)

if __name__ == "__main__":
    small = Path(sys.argv[1])
    endless = load(small).with_value("flows.dc.workload.size", "1000 GB").with_value("duration", "1000000 s")
    jobs = [jobs_of(small)[0], Job({}, endless.resolved_json(), 1, "")]
    outcome = execute(jobs, Path(sys.argv[2]), workers=2, flush_seconds=0.0, on_flush=interrupt_twice)
    print(outcome.interrupted, outcome.done, outcome.total)
"""


def jobs_of(small: Path) -> list[Job]:
    """Two settings of six runs each."""
    jobs = []
    for rate in ("10 Mbit/s", "20 Mbit/s"):
        text = load(small).with_value("links.down1.rate", rate).resolved_json()
        jobs += [
            Job({"rate": rate, "run": run}, text, 1 + run, f"quiclab run small.toml --seed {1 + run}")
            for run in range(RUNS // 2)
        ]
    return jobs


def table_bytes(jobs: list[Job], directory: Path, target: Path) -> bytes:
    write_parquet(target, collect(jobs, directory))
    return target.read_bytes()


def sweep(jobs: list[Job], directory: Path, workers: int = 1) -> str:
    stream = io.StringIO()
    outcome = execute(jobs, directory, workers=workers, stream=stream)
    assert (outcome.done, outcome.failures) == (RUNS, [])
    return stream.getvalue()


def script(text: str, small: Path, directory: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "script.py"
    file.write_text(text)
    tests = Path(__file__).parent
    path = os.pathsep.join(filter(None, [str(tests), os.environ.get("PYTHONPATH")]))
    # returns only when the pipes are closed, hence when no worker is left
    return subprocess.run(
        [sys.executable, str(file), str(small), str(directory)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )


def test_workers_do_not_change_the_table(small: Path, tmp_path: Path) -> None:
    jobs = jobs_of(small)
    sweep(jobs, tmp_path / "one", workers=1)
    sweep(jobs, tmp_path / "two", workers=2)
    one = table_bytes(jobs, tmp_path / "one", tmp_path / "one.parquet")
    assert one == table_bytes(jobs, tmp_path / "two", tmp_path / "two.parquet")
    table = pl.read_parquet(tmp_path / "one.parquet")
    assert table.height == RUNS
    assert table["run"].to_list() == [*range(6), *range(6)]
    assert table["seed"].to_list() == [*range(1, 7), *range(1, 7)]
    assert table["digest"].n_unique() == RUNS


def test_a_killed_sweep_continues_to_the_same_table(small: Path, tmp_path: Path) -> None:
    jobs = jobs_of(small)
    killed = script(KILLED_SWEEP, small, tmp_path / "killed", tmp_path)
    assert killed.returncode == -9, killed.stderr
    stored = Store(tmp_path / "killed").identities()
    assert len(stored) == 4
    assert f"{RUNS - 4} of {RUNS} runs to do" in sweep(jobs, tmp_path / "killed", workers=2)
    sweep(jobs, tmp_path / "whole", workers=1)
    continued = table_bytes(jobs, tmp_path / "killed", tmp_path / "a.parquet")
    assert continued == table_bytes(jobs, tmp_path / "whole", tmp_path / "b.parquet")


def test_interrupt_keeps_completed_runs(small: Path, tmp_path: Path) -> None:
    interrupted = script(INTERRUPTED_SWEEP, small, tmp_path / "out", tmp_path)
    assert interrupted.returncode == 0, interrupted.stderr
    word, done, total = interrupted.stdout.split()
    assert int(word) == signal.SIGINT
    assert 1 <= int(done) < int(total) == RUNS
    assert len(Store(tmp_path / "out").identities()) == int(done)
    assert "Traceback" not in interrupted.stderr


def test_a_second_interrupt_does_not_wait_for_the_runs_under_way(small: Path, tmp_path: Path) -> None:
    abandoned = script(ABANDONED_SWEEP, small, tmp_path / "out", tmp_path)
    assert (abandoned.returncode, abandoned.stdout) == (0, f"{signal.SIGINT:d} 1 2\n"), abandoned.stderr
    assert len(Store(tmp_path / "out").identities()) == 1
    assert "Traceback" not in abandoned.stderr


def test_runs_survive_a_disk_that_is_full_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "out")
    flusher = Flusher(store, schema(), runs=2, seconds=1e9)
    with store.locked():
        flusher.add(("a", "results 1", "build", "{}", None))
        flusher.flush_if_due()
        assert store.identities() == set()
        with monkeypatch.context() as full:
            full.setattr("quiclab.files.os.fsync", _no_space)
            with pytest.raises(QuiclabError, match="No space left on device; the runs stored before are kept"):
                flusher.add(("b", "results 1", "build", "{}", None))
        flusher.flush()
    assert store.identities() == {"a", "b"}


def _no_space(descriptor: int) -> None:
    del descriptor
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_completed_runs_are_reused(small: Path, tmp_path: Path) -> None:
    jobs = jobs_of(small)
    sweep(jobs, tmp_path / "out")
    outcome = execute(jobs, tmp_path / "out", stream=io.StringIO())
    assert (outcome.executed, outcome.done) == (0, RUNS)
    assert len(list((tmp_path / "out" / "shards").iterdir())) == 1


def test_the_identity_is_scenario_seed_and_versions(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs_of(small)[0]
    same = Job({}, json.dumps(json.loads(job.scenario), indent=3, sort_keys=True), job.seed, "")
    assert same.identity == job.identity
    assert Job({}, job.scenario, job.seed + 1, "").identity != job.identity
    other = Job({}, jobs_of(small)[-1].scenario, job.seed, "")
    assert other.identity != job.identity
    with monkeypatch.context() as rebuilt:
        rebuilt.setattr("quiclab.native.build_id", lambda: "another build")
        assert jobs_of(small)[0].identity == job.identity
    monkeypatch.setattr("quiclab.identity.RESULTS", RESULTS + 1)
    assert jobs_of(small)[0].identity != job.identity


def test_runs_of_another_build_are_used_and_named(small: Path, tmp_path: Path) -> None:
    jobs = jobs_of(small)[:2]
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr("quiclab.study.sweep.build_id", lambda: "0123456789abcdef")
        assert execute(jobs[:1], tmp_path, stream=io.StringIO()).executed == 1
    assert execute(jobs, tmp_path, stream=io.StringIO()).executed == 1
    builds = collect(jobs, tmp_path)["build"].to_list()
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
        identities.append(Job({}, text, 1, "", str(tmp_path / directory)).identity)
    assert identities[0] == identities[1] != identities[2]
    # a file that changes in its place
    (tmp_path / "a" / "rate.csv").write_text("time_s,rate_mbps\n0,5\n1,50\n")
    assert Job({}, text, 1, "", str(tmp_path / "a")).identity != identities[0]
    with pytest.raises(RequestError, match=r"rate\.csv, an input of a run: No such file"):
        _ = Job({}, text, 1, "", str(tmp_path / "moon")).identity


def test_the_identity_holds_version_and_adapter_of_a_python_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def identity(stack: str) -> str:
        return Job({}, json.dumps({"flows": {"f": {"sender": {"stack": stack}}}}), 1, "").identity

    pytest.importorskip("aioquic", reason="the extra aioquic is not installed")
    stack = find("aioquic")
    assert stack is not None
    before = identity("aioquic"), identity("quinn")
    monkeypatch.setattr("quiclab.study.inputs.find", {"aioquic": replace(stack, version="another")}.get)
    other_version = identity("aioquic")
    (tmp_path / "another_adapter.py").write_text("def endpoint(setup): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    adapter = importlib.import_module("another_adapter").endpoint
    monkeypatch.setattr("quiclab.study.inputs.find", {"aioquic": replace(stack, connection=adapter)}.get)
    assert len({before[0], other_version, identity("aioquic")}) == 3
    assert identity("quinn") == before[1]


def test_the_identity_includes_the_code_of_stored_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a package all modules count: `judge` may be what it was, and what it asks may not."""
    package = tmp_path / "verdicts"
    package.mkdir()
    (package / "__init__.py").write_text("from verdicts.judge import judge\n")
    (package / "judge.py").write_text("from verdicts import model\ndef judge(result, directory): return {}\n")
    (package / "model.py").write_text("SLACK_MS = 1.0\n")
    (tmp_path / "alone.py").write_text("def judge(result, directory): return {}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ("verdicts.judge", "alone")
    keeps = [importlib.import_module(name).judge for name in names]
    before = [Job({}, "{}", 1, "", keep=keep).identity for keep in keeps]
    assert before == [Job({}, "{}", 1, "", keep=keep).identity for keep in keeps]
    (package / "model.py").write_text("SLACK_MS = 2.75\n")
    after = [Job({}, "{}", 1, "", keep=keep).identity for keep in keeps]
    assert after[0] != before[0]
    assert after[1] == before[1], "the other one's package is not its own"
    (tmp_path / "alone.py").write_text("def judge(result, directory): return {'more': 1}\n")
    assert Job({}, "{}", 1, "", keep=keeps[1]).identity != before[1]


def test_a_failing_run_is_reported_and_the_others_go_on(small: Path, tmp_path: Path) -> None:
    jobs = jobs_of(small)[:2]
    broken = load(small).with_value("links.down1.loss", "100 %").with_value("duration", "20 s").resolved_json()
    jobs.insert(
        1, Job({"rate": "none", "run": 0}, broken, 5, "quiclab run small.toml --set links.down1.loss='100 %' --seed 5")
    )
    stream = io.StringIO()
    outcome = execute(jobs, tmp_path / "out", workers=2, stream=stream)
    assert outcome.done == 2
    assert [job.seed for job, _ in outcome.failures] == [5]
    assert "replay with: quiclab run small.toml --set links.down1.loss='100 %' --seed 5" in stream.getvalue()
    assert execute(jobs, tmp_path / "out", stream=stream).failures  # it is tried again


def test_one_sweep_a_directory(small: Path, tmp_path: Path) -> None:
    with Store(tmp_path / "out").locked(), pytest.raises(RequestError, match="another sweep is running"):
        execute(jobs_of(small), tmp_path / "out", stream=io.StringIO())


def test_who_holds_a_directory_may_sweep_in_it(small: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    with store.locked():
        assert execute(jobs_of(small)[:1], store, stream=io.StringIO()).done == 1
        # and it is still held
        with pytest.raises(RequestError, match="another sweep is running"), Store(tmp_path / "out").locked():
            pass


def run(identity: str, series: bytes | None = None) -> pl.DataFrame:
    """A stored run."""
    return pl.DataFrame([(identity, "results 1", "build", "{}", series)], schema=schema(), orient="row")


def test_a_copy_of_a_shard_is_not_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    with store.locked():
        store.append_frame(run("a"))
        (store.shards / "copy.parquet").write_bytes((store.shards / "000001.parquet").read_bytes())
        store.append_frame(run("b", b"series"))
    assert (store.shards / "000002.parquet").exists()
    assert store.identities() == {"a", "b"}


def test_half_written_files_do_not_count(tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    with store.locked():
        store.append_frame(run("a"))
    (store.shards / ".000002.parquet.99.quiclab-tmp").write_bytes(b"half")
    assert store.identities() == {"a"}
    with store.locked():
        store.append_frame(run("b", b"series"))
    assert sorted(path.name for path in store.shards.iterdir()) == ["000001.parquet", "000002.parquet"]


def test_a_file_in_the_way_is_one_message(small: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="cannot write results to") as error:
        execute(jobs_of(small), tmp_path / "file" / "out", stream=io.StringIO())
    assert error.value.exit_code == 2
