"""Large libraries, loaded when something of them is first used: numpy, polars, altair and vl-convert take seconds.

>>> from quiclab._base.libraries import np, pl

scipy comes with the extra of that name: only `kernel host` and sweeps with a design of Sobol need it.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from quiclab.errors import QuiclabError

__all__ = ["alt", "check_scipy", "jinja2", "np", "pl", "qmc", "rich", "rich_progress", "vl_convert"]

SCIPY: Final = "scipy"


class _OnFirstUse:
    """A module that is imported at the first access to an attribute of it; by one thread, while others wait."""

    def __init__(self, *names: str) -> None:
        """Take the name of the module, and of parts of it that it does not import."""
        self._names = names

    def __getattr__(self, attribute: str) -> Any:
        module, *_ = map(importlib.import_module, self._names)
        return getattr(module, attribute)


def check_scipy(what: str) -> None:
    """Check that scipy is installed, before the work whose result needs it.

    Parameters
    ----------
    what
        What needs it, for the error message.

    Raises
    ------
    QuiclabError
        If it is missing; the message names the extra that has it.
    """
    if find_spec(SCIPY) is None:
        raise QuiclabError(f"{what} needs scipy; install the extra: pip install 'quiclab[{SCIPY}]'")


if TYPE_CHECKING:
    import altair as alt
    import jinja2
    import numpy as np
    import polars as pl
    import rich.box
    import rich.console
    import rich.table
    import vl_convert
    from rich import progress as rich_progress
    from scipy.stats import qmc
else:
    np, pl = _OnFirstUse("numpy"), _OnFirstUse("polars")
    alt, vl_convert = _OnFirstUse("altair"), _OnFirstUse("vl_convert")
    # a tenth of a second
    jinja2 = _OnFirstUse("jinja2")
    rich, rich_progress = _OnFirstUse("rich", "rich.box", "rich.console", "rich.table"), _OnFirstUse("rich.progress")
    # a whole second
    qmc = _OnFirstUse("scipy.stats.qmc")
