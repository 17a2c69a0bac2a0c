"""Large libraries, loaded when something of them is first used: numpy, polars, altair and vl-convert take seconds.

>>> from quiclab._base.libraries import np, pl

altair, vl-convert and scipy come with the extra `report`: runs, their recordings and `quiclab inspect` do without.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from quiclab.errors import QuiclabError

__all__ = ["alt", "check_libraries", "np", "pl", "special", "vl_convert"]

EXTRA: Final = "report"
#: Modules of the extra, and the packages that have them.
OPTIONAL: Final = {"altair": "altair", "vl_convert": "vl-convert-python", "scipy": "scipy"}


class _OnFirstUse:
    """A module that is imported at the first access to an attribute of it; by one thread, while others wait."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        try:
            module = importlib.import_module(self._name)
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
    import numpy as np
    import polars as pl
    import vl_convert
    from scipy import special
else:
    np, pl = _OnFirstUse("numpy"), _OnFirstUse("polars")
    alt, vl_convert = _OnFirstUse("altair"), _OnFirstUse("vl_convert")
    # a third of a second; scipy.stats takes a whole one
    special = _OnFirstUse("scipy.special")
