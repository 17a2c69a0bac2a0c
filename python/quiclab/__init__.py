"""A laboratory for QUIC and TCP over difficult networks, in deterministic virtual time.

>>> import quiclab
>>> scenario = quiclab.load("scenarios/dual_connectivity.toml").with_value("bearers.dc.batch_packets", 200)
>>> result = quiclab.run(scenario, seed=1)
>>> result.flows["dc"].goodput_mbps, result.digest
"""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import cleandoc
from types import ModuleType
from typing import TYPE_CHECKING, Any

from quiclab.errors import QuiclabError, RequestError, ScenarioError

if TYPE_CHECKING:
    __version__: str
    from quiclab.report.figures import Plot, plot_series
    from quiclab.report.sweeps import SweepResult, sweep
    from quiclab.result import FlowResult, RunResult, run
    from quiclab.scenario import Scenario, load

__all__ = [
    "FlowResult",
    "Plot",
    "QuiclabError",
    "RequestError",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "SweepResult",
    "load",
    "plot_series",
    "run",
    "sweep",
]

#: Modules of the names that are loaded when they are first used: the command line requires few of them.
_MODULES = {
    "FlowResult": "result",
    "Plot": "report.figures",
    "plot_series": "report.figures",
    "RunResult": "result",
    "run": "result",
    "Scenario": "scenario",
    "load": "scenario",
    "SweepResult": "report.sweeps",
    "sweep": "report.sweeps",
}


def __getattr__(name: str) -> Any:
    """Load a module when a name of it is first used; `__version__` is that of the engine."""
    if name == "__version__":
        return import_module("quiclab._base.native").extension().version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"quiclab.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names for `help` and for completion, loaded or not."""
    return sorted({*globals(), *__all__, "__version__"})


class _Package(ModuleType):
    """The package, whose documentation lists what is public: `help(quiclab)`."""

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        lines = (f"{name:13} {_first_line(getattr(self, name))}" for name in __all__)
        return "\n".join([cleandoc(_DOCUMENTATION), "", "Public names:", "", *(f"    {line}" for line in lines)])


def _first_line(item: object) -> str:
    return (item.__doc__ or "").strip().partition("\n")[0]


_DOCUMENTATION = __doc__ or ""
sys.modules[__name__].__class__ = _Package
