"""Large libraries, loaded when something of them is first used: numpy, polars, altair and vl-convert take seconds.

>>> from quiclab._base.libraries import np, pl

altair, vl-convert and scipy come with the extra `report`: runs, their recordings and `quiclab inspect` do without.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from quiclab.errors import QuiclabError

__all__ = ["alt", "check_libraries", "jinja2", "np", "pl", "qmc", "rich", "rich_progress", "special", "vl_convert"]

EXTRA: Final = "report"
#: Modules of the extra, and the packages that have them.
OPTIONAL: Final = {"altair": "altair", "vl_convert": "vl-convert-python", "scipy": "scipy"}


class _OnFirstUse:
    """A module that is imported at the first access to an attribute of it; by one thread, while others wait."""

    def __init__(self, *names: str) -> None:
        """Take the name of the module, and of parts of it that it does not import."""
        self._names = names

    def __getattr__(self, attribute: str) -> Any:
        try:
            module, *_ = map(importlib.import_module, self._names)
        except ModuleNotFoundError as error:
            name = (error.name or "").partition(".")[0]
            if name not in OPTIONAL:
                raise
            raise _missing("this command", [name]) from error
        return getattr(module, attribute)


def check_libraries(what: str, *modules: str) -> None:
    """Check that optional libraries are installed, before the work whose result needs them.

    Parameters
    ----------
    what
        What needs them, for the error message.
    modules
        Their modules (default: all).

    Raises
    ------
    QuiclabError
        If one is missing; the message names the extra that has it.
    """
    if absent := [name for name in modules or OPTIONAL if find_spec(name) is None]:
        raise _missing(what, absent)


def _missing(what: str, modules: list[str]) -> QuiclabError:
    packages = ", ".join(OPTIONAL[name] for name in modules)
    return QuiclabError(f"{what} needs {packages}; install the extra: pip install 'quiclab[{EXTRA}]'")


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
    from scipy import special
    from scipy.stats import qmc
else:
    np, pl = _OnFirstUse("numpy"), _OnFirstUse("polars")
    alt, vl_convert = _OnFirstUse("altair"), _OnFirstUse("vl_convert")
    # a tenth of a second
    jinja2 = _OnFirstUse("jinja2")
    rich, rich_progress = _OnFirstUse("rich", "rich.box", "rich.console", "rich.table"), _OnFirstUse("rich.progress")
    # a third of a second; scipy.stats takes a whole one
    special, qmc = _OnFirstUse("scipy.special"), _OnFirstUse("scipy.stats.qmc")
