"""Offers the fake engine as `quiclab._quiclab` in this process and, by PYTHONPATH, in those it starts.

DELETE this directory, and its lines in conftest.py, when the real extension is there.
"""

import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

NAME = "quiclab._quiclab"


class FakeFinder:
    """Finds the fake, after everything else has failed."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if name != NAME:
            return None
        return importlib.util.spec_from_file_location(name, Path(__file__).with_name("fake_quiclab.py"))


if not any(isinstance(finder, type) and finder.__name__ == "FakeFinder" for finder in sys.meta_path):
    sys.meta_path.append(FakeFinder)
