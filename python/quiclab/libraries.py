"""numpy and polars, loaded when something of them is first used: both together take half a second.

>>> from quiclab.libraries import np, pl
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["np", "pl"]


class _OnFirstUse:
    """A module that is imported at the first access to an attribute of it; by one thread, while others wait."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


if TYPE_CHECKING:
    import numpy as np
    import polars as pl
else:
    np, pl = _OnFirstUse("numpy"), _OnFirstUse("polars")
