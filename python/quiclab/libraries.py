"""numpy and polars, loaded when something of them is first used: both together take half a second.

>>> from quiclab.libraries import np, pl
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["np", "pl"]


def _on_first_use(name: str) -> ModuleType:
    """Return a module that is loaded at the first access to an attribute of it."""
    if name in sys.modules:
        return sys.modules[name]
    specification = importlib.util.find_spec(name)
    if specification is None or specification.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    loader = importlib.util.LazyLoader(specification.loader)
    specification.loader = loader
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


if TYPE_CHECKING:
    import numpy as np
    import polars as pl
else:
    np, pl = _on_first_use("numpy"), _on_first_use("polars")
