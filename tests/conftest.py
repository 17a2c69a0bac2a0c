"""Shared fixtures: where the studies are, and a small scenario that runs in milliseconds."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

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


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file of one short download."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path
