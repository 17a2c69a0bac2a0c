"""Large libraries, loaded when something of them is first used: numpy, polars, altair and vl-convert take seconds.

>>> from quiclab.libraries import np, pl
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["alt", "np", "pl", "vl_convert"]


class _OnFirstUse:
    """A module that is imported at the first access to an attribute of it; by one thread, while others wait."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import polars as pl
    import vl_convert
else:
    np, pl = _OnFirstUse("numpy"), _OnFirstUse("polars")
    alt, vl_convert = _OnFirstUse("altair"), _OnFirstUse("vl_convert")
