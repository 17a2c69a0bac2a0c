"""A laboratory for QUIC and TCP over difficult networks, in deterministic virtual time.

>>> import quiclab
>>> scenario = quiclab.load("scenarios/dual_connectivity.toml").with_value("bearers.dc.batch_packets", 200)
>>> result = quiclab.run(scenario, seed=1)
>>> result.flows["dc"].goodput_mbps, result.digest
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.errors import QuiclabError, RequestError, ScenarioError
from quiclab.result import FlowResult, RunResult, run
from quiclab.scenario import Scenario, load

if TYPE_CHECKING:
    from quiclab.sweeps import SweepResult, sweep

__all__ = [
    "FlowResult",
    "QuiclabError",
    "RequestError",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "SweepResult",
    "load",
    "run",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Load the sweeps when they are first used: they need more libraries than a run."""
    if name in ("SweepResult", "sweep"):
        from quiclab import sweeps  # noqa: PLC0415 - as the docstring says

        return getattr(sweeps, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
