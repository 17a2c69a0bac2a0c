"""docs/scale.md says what was measured, and what follows from it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


def module(path: str) -> ModuleType:
    """A script of the repository."""
    spec = importlib.util.spec_from_file_location(f"script_{Path(path).stem}", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


page = module("tools/scale_page.py")


def test_the_page_is_that_of_the_stored_figures() -> None:
    assert page.rendered(json.loads(page.FIGURES.read_text())) == page.PAGE.read_text()


def test_the_slower_of_cores_and_coordinating_process_decides() -> None:
    costs = {"parent": 1e-5, "worker": 1e-4, "batch": 1e-3, "merging": 1e-5}
    short, long = page.thousand(0.001, **costs), page.thousand(10.0, **costs)
    assert short["limit"] == "the coordinating process"
    assert short["ray"] == pytest.approx(10 + 1e6 / (2.5 / 0.0011) * 1e-3)
    assert long["limit"] == "the cores"
    assert long["ray"] == pytest.approx(1000 * 10.0001)
    assert long["shards"] == pytest.approx(1000 * 10.0001 + 0.01 + 10)
    assert long["alone"] == pytest.approx(1e6 * 10.00011)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0001, "0.1 ms"), (0.315, "315 ms"), (1.2, "1.2 s"), (119.0, "119 s"), (120.0, "2 min"), (9000.0, "2.5 h")],
)
def test_times_have_two_digits(seconds: float, text: str) -> None:
    assert page.duration(seconds) == text


def test_a_command_is_measured() -> None:
    bench = module("benches/sweeps.py")
    found = bench.command("sweep", *bench.sweep_of(1000), "--dry-run")
    assert found["cpu_s"] > 0
    assert found["memory_mib"] > 10
    with pytest.raises(subprocess.CalledProcessError, match="returned non-zero exit status 2"):
        bench.command("sweep", str(bench.TINY), "--vary", "links.down.rte=1")
