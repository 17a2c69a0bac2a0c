"""Sweeps on many machines: shards, executors, a Ray cluster that loses nodes, and disks that are full."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from quiclab import cli
from quiclab.cli.shards import plans_of
from quiclab.errors import QuiclabError, RequestError
from quiclab.experiment.executors import executor_of
from quiclab.experiment.executors.ray import checked
from quiclab.experiment.runs import Runs

Captured = pytest.CaptureFixture[str]


def invoke(*arguments: str | Path) -> int:
    return cli.invoke([str(argument) for argument in arguments])


def planned(small: Path, *options: str) -> Path:
    vary = ("--vary", "links.down1.rate=5Mbit/s,20Mbit/s")
    assert invoke("sweep", "plan", small, *vary, "--seeds", "5", *options) == 0
    return small.with_suffix(".plan.json")


def test_shards_of_a_shell_loop_give_the_bytes_of_one_machine(small: Path, tmp_path: Path, capsys: Captured) -> None:
    plan = planned(small)
    for index in (0, 2):
        assert invoke("shard", plan, "--index", str(index), "--of", "3", "--jobs", "1") == 0
    assert invoke("sweep", "merge", plan, "--out", tmp_path / "merged") == 1
    assert "of shard 1; run `quiclab shard" in capsys.readouterr().err
    assert invoke("shard", plan, "--index", "1", "--of", "3", "--jobs", "1") == 0
    assert invoke("sweep", "merge", plan, "--out", tmp_path / "merged") == 0
    whole = ["sweep", str(small), "--vary", "links.down1.rate=5Mbit/s,20Mbit/s", "--seeds", "5", "--jobs", "1"]
    assert invoke(*whole, "--out", tmp_path / "whole") == 0
    for name in ("runs.parquet", "settings.csv", "figure-goodput_mbps.svg"):
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_every_run_is_in_one_shard(small: Path) -> None:
    (plan,) = plans_of(planned(small)).values()
    shards = [Runs.of(plan).shard(index, 4).identities.tolist() for index in range(4)]
    assert sorted(map(len, shards)) == [2, 2, 3, 3]
    assert sorted(chain.from_iterable(shards)) == sorted(Runs.of(plan).identities.tolist())


def test_wrong_plans_and_shards_are_refused(small: Path, capsys: Captured) -> None:
    plan = planned(small)
    assert invoke("sweep", "plan", small) == 2
    assert "already exists; --force replaces it" in capsys.readouterr().err
    assert invoke("shard", plan, "--index", "3", "--of", "3") == 2
    assert "--index: expected a number from 0 to 2" in capsys.readouterr().err
    assert invoke("sweep", "merge", plan) == 2
    assert "no shard of" in capsys.readouterr().err
    plan.write_text("{")
    assert invoke("shard", plan, "--index", "0", "--of", "1") == 2
    assert "is not a plan" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--executor", "ray:moon"], "expected `ray:HOST:PORT` or `ray://HOST:PORT`, got"),
        (["--executor", "dask"], "--executor: expected `processes`, `ray`"),
        (["--executor", "ray", "--jobs", "2"], "contradict each other"),
    ],
)
def test_wrong_executors_are_refused(small: Path, capsys: Captured, arguments: list[str], message: str) -> None:
    assert invoke("sweep", small, *arguments) == 2
    assert message in capsys.readouterr().err


def test_without_ray_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RequestError, match="pip install quiclab\\[ray\\]"):
        executor_of("ray")


@pytest.mark.parametrize("address", ["ray:127.0.0.1", "ray://127.0.0.1"])
def test_a_cluster_that_cannot_be_reached_is_one_sentence_at_once(
    small: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr("quiclab.experiment.executors.ray.REACH_S", 0.2)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert invoke("sweep", small, "--executor", f"{address}:{port}") == 2
        assert "the cluster cannot be reached: Connection refused" in capsys.readouterr().err
        # it accepts, and never says a word
        listener.listen()
        assert invoke("sweep", small, "--executor", f"{address}:{port}") == 2
        assert "what answers there is not the" in capsys.readouterr().err


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(small: Path, tmp_path: Path) -> None:
    arguments = ["sweep", str(small), "--seeds", "2", "--jobs", "1", "--out", str(tmp_path / "out")]
    limited = (
        "import resource, signal, sys\n"
        "from quiclab import cli\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "sys.exit(cli.invoke(sys.argv[1:]))\n"
    )
    script = tmp_path / "limited.py"
    script.write_text(limited)
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False)
    shard = tmp_path / "out" / "shards" / "000001.parquet"
    assert done.returncode == 1, done.stderr
    assert f"cannot write {shard}: File too large; the runs stored before are kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(shard.parent.iterdir()) == []
    assert invoke(*arguments) == 0


def test_a_node_of_another_version_is_refused_by_name() -> None:
    with pytest.raises(QuiclabError, match=f"node {os.uname().nodename} has quiclab .*, and this machine has other"):
        checked("other", (), int, "1")


RAY = """\
import functools, os, signal, sys
from pathlib import Path

from ray.cluster_utils import Cluster

from quiclab import cli
from quiclab.experiment import store
from quiclab.experiment.executors import run_batches
from quiclab.experiment.executors.ray import Ray

MARK = Path(sys.argv[1]).with_name("died")


def all_once(batch):
    # the first time, 13 kills the worker that runs it
    if 13 in batch and not MARK.exists():
        MARK.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return [number * number for number in batch]


class Losing(store.Flusher):
    # takes a node away when ten runs are done
    done = 0

    def add(self, frame):
        before = Losing.done
        super().add(frame)
        Losing.done += len(frame)
        if before < 10 <= Losing.done:
            cluster.remove_node(node, allow_graceful=False)


if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)
    found, said = {}, []
    with Ray(f"ray:{cluster.address}") as executor:
        workers = executor.workers
        run_batches(executor, range(20), list, all_once, lambda *both: found.update(zip(*both)), say=said.append)
    print(workers, found == {number: number * number for number in range(20)}, said)
    store.Flusher = Losing
    code = cli.invoke([*sys.argv[2:], "--executor", f"ray:{cluster.address}", "--out", sys.argv[1]])
    cluster.shutdown()
    sys.exit(code)
"""


@pytest.mark.slow
def test_a_ray_cluster_that_loses_a_worker_and_a_node_gives_the_same_bytes(small: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    script = tmp_path / "cluster.py"
    script.write_text(RAY)
    arguments = ["sweep", str(small), "--vary", "links.down1.rate=50Mbit/s,200Mbit/s", "--seeds", "60"]
    command = [sys.executable, str(script), str(tmp_path / "ray"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 True ['a worker died; its runs are made again']\n")
    assert invoke(*arguments, "--out", tmp_path / "processes") == 0
    for name in ("runs.parquet", "settings.csv"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "processes" / name).read_bytes(), name
