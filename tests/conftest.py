"""Shared fixtures: where the studies are, a small scenario that runs in milliseconds, tests that run one at a time."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

from quiclab.errors import RequestError
from quiclab.experiment.executors import Processes
from quiclab.experiment.store import Store
from quiclab.experiment.sweeps import Plan
from quiclab.experiment.sweeps.session import Session
from quiclab.lane.adapter import load_adapters
from quiclab.lane.kernel import newest_kernel
from quiclab.lane.run import Lane
from quiclab.result import RunResult
from quiclab.result.metrics import metrics, pattern
from quiclab.stacks import catalogue

ROOT = Path(__file__).parent.parent
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# a shell lets its background jobs ignore it, and so would commands that tests interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)

#: A script: the command line, with a shard after each few runs (the first argument); it kills itself when the second
#: shard is on the disk and before anything else is done.
KILLED_AFTER_TWO = """\
import os, signal, sys
from quiclab import cli
from quiclab.experiment import store
from quiclab.experiment.executors import loop

append, shards = store.Store.append_frame, 0

def killing(*arguments):
    global shards
    append(*arguments)
    shards += 1
    if shards == 2:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    store.Store.append_frame, store.FLUSH_RUNS, store.FLUSH_S, loop.MAX_BATCH = killing, int(sys.argv[1]), 1e9, 1
    sys.exit(cli.invoke(sys.argv[2:]))
"""

SMALL = """\
version = 1
name = "small"
duration = "60 s"

[links.down1]
rate = "20 Mbit/s"
delay = "5 ms"
queue = { kind = "drop_tail", packets = 100 }

[links.up1]
rate = "20 Mbit/s"
delay = { mean = "5 ms", deviation = "1 ms", distribution = "normal" }

[flows.dc]
stack = "quinn"
down = ["down1"]
up = ["up1"]
workload = { kind = "download", size = "100 kB" }
"""


def tool(name: str) -> ModuleType:
    """Load a program of tools/, which is no package; dataclasses look their module up by its name."""
    specification = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def documents() -> list[Path]:
    """Return the documents of the repository, without the generated pages of the reference."""
    made = set(tool("reference").PAGES)
    pages = [path for folder in ("docs", "tunnel") for path in sorted((ROOT / folder).rglob("*.md"))]
    return [
        *sorted(ROOT.glob("*.md")),
        *(path for path in pages if path.parent.name != "reference" or path.name not in made),
    ]


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that share the machine's clock, namespaces or Chromium's files on one worker, one at a time.

    With a test that opens a page in Chromium goes its whole module: the page is made once.
    """
    opened = {item.path for item in items if item.get_closest_marker("browser")}
    for item in items:
        if item.path in opened or item.get_closest_marker("kernel_lane"):
            item.add_marker(pytest.mark.xdist_group("machine"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file of one short download."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def quiclab_process(
    *arguments: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "quiclab", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
        env=os.environ | (env or {}),
    )


def swept(plan: Plan, directory: Path, workers: int = 1) -> pl.DataFrame:
    """The runs of a sweep; each of them succeeds."""
    session = Session(plan, Store(directory), Processes(workers), io.StringIO())
    outcome = session.run()
    assert (outcome.done, outcome.failures) == (outcome.total, [])
    return session.tables().runs


def undefined(result: RunResult) -> set[str]:
    """Numbers of a result and of its time series that no metric defines."""
    numbers = {name for element in result.elements.values() for name in element["statistics"]}
    numbers |= {name for flow in result.flows.values() for end in (flow.sender, flow.receiver) for name in end}
    sampled = set() if result.series.is_empty() else set(result.series["metric"].cast(str))
    return without_definition(numbers) | without_definition(sampled, "in_series")


def without_definition(names: Iterable[str], place: str = "at_end") -> set[str]:
    """Names that no metric has at the end of a run, or in time series."""
    known = [name for metric in metrics() if getattr(metric, place) for name in metric.names]
    return {name for name in names if not re.fullmatch("|".join(map(pattern, known)), name)}


def has_stack(name: str) -> bool:
    """Whether this build has a stack; aioquic is an extra."""
    return any(stack["name"] == name for stack in catalogue())


def assert_refused(read: Callable[[Path], object], path: Path, parts: Iterable[str]) -> None:
    """Assert that a reader refuses a file in a short message with its path and some parts."""
    with pytest.raises(RequestError) as raised:
        read(path)
    assert all(part in raised.value.message for part in (*parts, str(path)))
    assert len(raised.value.message) < 400 + len(str(path))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def virtual() -> Lane:
    """The kernel lane with the virtual clock, where its kernel is built."""
    lane = Lane(clock="virtual")
    if (problem := lane.problem()) is not None:
        pytest.skip(problem)
    return lane


@pytest.fixture(scope="session")
def virtual_kernel() -> None:
    """Skip where no guest with the virtual clock can be started."""
    problem = Lane(clock="virtual").problem()
    if sys.platform != "linux" or problem is not None:
        pytest.skip(problem or "Linux only")
    try:
        newest_kernel()
    except RequestError as error:
        pytest.skip(error.message)


def without_browser() -> str | None:
    """Say what a browser in the kernel lane needs and this machine has not."""
    missing = [message for name in ("chromium", "chromium-h2") for message in load_adapters()[name].missing()]
    if missing:
        return missing[0]
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists() or shutil.which("chromium") is None:
        return "network namespaces with TUN devices need root"
    return None if importlib.util.find_spec("playwright") else "playwright is missing"
