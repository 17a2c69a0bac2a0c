"""Commands that a signal ends at a known point: nothing half-written stays, and what was done is kept.

A command kills itself when it makes a file durable: all of its content is there, under its temporary name. So no test
waits for anything.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, SMALL
from quiclab._base.files import write_atomically
from quiclab._base.unfinished import (
    ENDING,
    abandoned_files,
    abandoned_folders,
    remove_abandoned,
    unfinished_file,
    unfinished_folder,
)
from quiclab.errors import RequestError
from quiclab.experiment.executors import Interrupt, Processes, run_batches
from quiclab.experiment.executors.processes import WorkerDiedError
from quiclab.experiment.store import Store

#: Runs a command, which sends a signal to itself when it has written a file for the n-th time.
DYING = """\
import os, signal, sys
from pathlib import Path

number, calls, left = int(sys.argv[1]), {"fsync": os.fsync, "replace": Path.replace}, [int(sys.argv[3])]

def dying(*arguments):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), number)
    return calls[sys.argv[2]](*arguments)

if __name__ == "__main__":
    setattr(os if sys.argv[2] == "fsync" else Path, sys.argv[2], dying)
    from quiclab.cli import main
    main(sys.argv[4:])
"""
RATES = "links.down1.rate=5Mbit/s,20Mbit/s"
STUDY = ["dual_connectivity/batch_size", "--runs", "1", "--only", "batch=500", "--only", "configuration=tcp"]
#: Each command, where it is killed (at which call of which function; each file and its directory is one), and its runs
#: that are stored.
COMMANDS: dict[str, tuple[list[str], str, int, int]] = {
    "run": (["run", "small.toml", "--set", "record.packets=true", "--out", "made"], "fsync", 2, 0),
    "run, moving": (["run", "small.toml", "--set", "record.packets=true", "--out", "made"], "replace", 3, 0),
    "inspect": (["inspect", "small.toml", "--out", "made.html"], "fsync", 1, 0),
    "page": (["page", "shop.har", "--network", "small.toml", "--runs", "1", "--out", "made.html"], "fsync", 1, 0),
    "pacing analyse": (["pacing", "analyse", "one", "--out", "made.html"], "fsync", 1, 0),
    "qlog export": (["qlog", "export", "one/dc.sender.sqlog", "--out", "made.qlog"], "replace", 1, 0),
    "trace generate": (["trace", "generate", "--out", "made.csv"], "fsync", 1, 0),
    "sweep plan": (["sweep", "plan", "small.toml", "--vary", RATES, "--to", "made.json"], "fsync", 1, 0),
    "sweep": (
        ["sweep", "small.toml", "--vary", RATES, "--seeds", "2", "--jobs", "1", "--out", "made"],
        "fsync",
        1,
        4,
    ),
    "study run": (["study", "run", *STUDY, "--jobs", "1", "--out", "made"], "fsync", 3, 1),
    **{
        f"study run, file {count // 2 + 1}": (
            ["study", "run", *STUDY, "--jobs", "1", "--out", "made"],
            "fsync",
            count,
            1,
        )
        for count in (1, 5, 7)
    },
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
#: Ctrl-C takes the way of SIGTERM, but for those.
FAST, BOTH = ("run", "inspect", "sweep"), ("run", "sweep")
CASES = [
    pytest.param(name, number, marks=[] if name in FAST else pytest.mark.slow)
    for name in COMMANDS
    for number in SIGNALS
    if (number != signal.SIGINT or name in BOTH) and (number == signal.SIGKILL or "file" not in name)
]


def tree(folder: Path) -> set[str]:
    """The names of all files and folders."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def hidden(names: set[str]) -> set[str]:
    return {name for name in names if any(part.startswith(".") for part in Path(name).parts)}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files that the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "small.toml").write_text(SMALL)
    (folder / "shop.har").write_bytes((ROOT / "scenarios" / "pages" / "shop.har").read_bytes())
    command = ["run", "small.toml", "--set", "record.qlog=true", "--out", "one"]
    subprocess.run([sys.executable, "-m", "quiclab", *command], cwd=folder, check=True, capture_output=True)
    return {name: (folder / name).read_bytes() for name in tree(folder) if (folder / name).is_file()}


@pytest.fixture
def here(inputs: dict[str, bytes], tmp_path: Path) -> Path:
    for name, content in inputs.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


def call(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, *words)
    return subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_command_that_is_killed_leaves_nothing_half_written(name: str, number: signal.Signals, here: Path) -> None:
    command, function, count, runs = COMMANDS[name]
    script = here.with_name(f"{here.name}.py")
    script.write_text(DYING)
    before = tree(here)
    killed = call(here, script, int(number), function, count, *command)
    assert killed.returncode == (-9 if number is signal.SIGKILL else 128 + number), killed.stderr
    assert "Traceback" not in killed.stderr
    left = tree(here) - before
    if number is signal.SIGKILL:
        assert hidden(left), "it was not killed where a file is unfinished"
    else:
        assert killed.stderr.splitlines()[-1].startswith("quiclab: stopped")
        assert not hidden(left)
    # of what is in its final place, nothing is a part of a result
    assert not {"made.html", "made.qlog", "made.csv", "made.json", "made/result.json", "made/index.html"} & left
    stored = sum(len(Store(folder.parent).identities()) for folder in here.rglob("shards"))
    if number is not signal.SIGKILL:
        assert bool(stored) == bool(runs)
    again = call(here, "-m", "quiclab", *command, *(["--force"] if name == "run, moving" else []))
    assert again.returncode == 0, again.stderr
    made = tree(here) - before
    assert not hidden(made)
    assert left - hidden(left) <= made
    if runs:
        assert f"complete, {runs - stored} of them new" in again.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_a_report_that_is_killed_is_written_by_the_next_one(number: signal.Signals, tmp_path: Path) -> None:
    assert call(tmp_path, "-m", "quiclab", "study", "run", *STUDY, "--jobs", "1").returncode == 0
    script = tmp_path.with_name(f"{tmp_path.name}.py")
    script.write_text(DYING)
    killed = call(tmp_path, script, int(number), "fsync", 3, "study", "report", STUDY[0])
    assert killed.returncode == (-9 if number is signal.SIGKILL else 128 + number), killed.stderr
    assert bool(hidden(tree(tmp_path))) == (number is signal.SIGKILL)
    again = call(tmp_path, "-m", "quiclab", "study", "report", STUDY[0])
    assert again.returncode == 0, again.stderr
    assert not hidden(tree(tmp_path))


def test_what_a_living_process_writes_stays(tmp_path: Path) -> None:
    """Also where its name is that of a process that does not exist; what a user made stays, whatever its name."""
    user = {".recording-abcdefgh/mine.txt", ".recording-12345678/quiclab.lock", ".recording-12345678/mine"}
    user |= {".a.b.quiclab-tmp", ".a.txt.77.tmp"}
    for name in user:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    with unfinished_folder(tmp_path) as folder, unfinished_file(tmp_path / "a.txt") as (temporary, _):
        (folder / "half").write_text("half")
        before = tree(tmp_path)
        remove_abandoned(tmp_path)
        with unfinished_folder(tmp_path):
            pass
        assert tree(tmp_path) == before
        assert temporary.exists()
        temporary.rename(tmp_path / "a.txt")
    assert tree(tmp_path) >= user
    assert not list(tmp_path.glob(".recording-*/files"))


ABANDONED = """\
import os, signal, sys
from pathlib import Path
from quiclab._base.unfinished import unfinished_file, unfinished_folder

with unfinished_folder(Path(sys.argv[1])) as folder, unfinished_file(Path(sys.argv[1]) / "a.txt") as (_, file):
    (folder / "half").write_text("half")
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_has_written_goes(tmp_path: Path) -> None:
    assert call(tmp_path, "-c", ABANDONED, tmp_path).returncode == -9
    assert len(abandoned_files(tmp_path)) == len(abandoned_folders(tmp_path)) == 1
    (tmp_path / "copy").mkdir()
    (copy := tmp_path / "copy" / abandoned_files(tmp_path)[0].name).write_text("half")
    write_atomically(tmp_path / "copy" / "b.txt", b"")
    assert copy.exists()
    write_atomically(tmp_path / "copy" / "a.txt", b"")
    assert tree(tmp_path / "copy") == {"a.txt", "b.txt"}
    shutil.rmtree(tmp_path / "copy")
    assert abandoned_files(tmp_path, {"a.txt"})
    assert not abandoned_files(tmp_path, {"b.txt"})
    remove_abandoned(tmp_path, {"b.txt"})
    assert [path.name.startswith(".a.txt.") for path in tmp_path.iterdir()] == [True]
    remove_abandoned(tmp_path, {"a.txt"})
    assert tree(tmp_path) == set()


def test_a_link_in_place_of_an_unfinished_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    link = tmp_path / f".a.txt.{os.getpid()}{ENDING}"
    link.symlink_to(tmp_path / "other")
    with pytest.raises(RequestError, match=f"cannot write .*{link.name} is a symbolic link"):
        write_atomically(tmp_path / "a.txt", b"short")
    assert tree(tmp_path) == {link.name}


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN, print])
def test_a_library_leaves_sigterm_to_its_caller(handler: Any) -> None:
    before = signal.signal(signal.SIGTERM, handler)
    try:
        with Interrupt():
            assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_worker_leaves_sigterm_to_its_parent() -> None:
    """`timeout` and schedulers send it to all processes."""
    with Processes(1) as executor:
        assert executor.submit(signal.raise_signal, signal.SIGTERM).result() is None
        assert executor.submit(abs, -1).result() == 1


def test_workers_that_are_busy_are_replaced_after_the_death_of_one() -> None:
    """The library ends them by SIGTERM, and waits for them."""
    with Processes(2) as executor:
        busy = executor.submit(select.select, [], [], [])  # never returns
        assert executor.submit(abs, -1).result() == 1  # of the other worker, which is known to run now
        executor.submit(os._exit, 1)
        with pytest.raises(BrokenProcessPool):
            busy.result()
        assert executor.restart()
        assert executor.submit(abs, -1).result() == 1


class Dying:
    """An executor whose worker dies, of a signal that the parent gets, too."""

    workers = 1

    def __init__(self) -> None:
        self.done: list[str] = []

    def submit(self, *_: object) -> Future[Any]:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        died: Future[Any] = Future()
        died.set_exception(WorkerDiedError())
        return died

    def restart(self) -> bool:
        self.done.append("restart")
        return True

    def abandon(self) -> None:
        self.done.append("abandon")


def test_no_worker_is_started_again_after_a_signal() -> None:
    executor, said = Dying(), list[str]()
    found = run_batches(executor, [1], list, list, lambda *_: None, say=said.append)  # type: ignore[arg-type]
    assert (found, executor.done, said) == (signal.SIGINT, ["abandon"], [])


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupt():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_file_of_a_process_with_the_same_number_is_replaced(tmp_path: Path) -> None:
    """Processes of two containers may have the same number."""
    (tmp_path / f".a.txt.{os.getpid()}.quiclab-tmp").write_text("a longer text of another container")
    write_atomically(tmp_path / "a.txt", b"short")
    assert (tmp_path / "a.txt").read_bytes() == b"short"
    assert tree(tmp_path) == {"a.txt"}
