"""Shared fixtures: where the studies are, and a small scenario that runs in milliseconds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent

# DELETE from here, with fake_extension/ and data/dual_connectivity.toml, when the extension and scenarios/ are there
FAKE = TESTS / "fake_extension"
try:
    import quiclab._quiclab as extension
except ImportError:
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(FAKE), os.environ.get("PYTHONPATH")]))
    sys.path.insert(0, str(FAKE))
    exec((FAKE / "sitecustomize.py").read_text(), {"__file__": str(FAKE / "sitecustomize.py"), "__name__": "fake"})  # noqa: S102
    import quiclab._quiclab as extension
IS_FAKE = bool(getattr(extension, "FAKE", False))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the real extension while it does not exist."""
    for item in items:
        if IS_FAKE and item.get_closest_marker("native"):
            item.add_marker(pytest.mark.skip(reason="the real extension is not built yet"))


@pytest.fixture(scope="session", autouse=True)
def study_root(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give the studies the local copy of their base scenario while scenarios/ does not have it."""
    if not (ROOT / "scenarios" / "dual_connectivity.toml").is_file():
        root = tmp_path_factory.mktemp("root")
        for name in ("studies", "reference"):
            (root / name).symlink_to(ROOT / name)
        (root / "scenarios").symlink_to(TESTS / "data")
        os.environ["QUICLAB_STUDIES"] = str(root / "studies")


# DELETE to here -----

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
