"""A laboratory for QUIC and TCP over difficult networks, in deterministic virtual time.

>>> import quiclab
>>> scenario = quiclab.load("scenarios/dual_connectivity.toml").with_value("bearers.dc.batch_packets", 200)
>>> result = quiclab.run(scenario, seed=1)
>>> result.flows["dc"].goodput_mbps, result.digest
"""

from quiclab.errors import QuiclabError, RequestError, ScenarioError
from quiclab.result import FlowResult, RunResult, run
from quiclab.scenario import Scenario, load

__all__ = ["FlowResult", "QuiclabError", "RequestError", "RunResult", "Scenario", "ScenarioError", "load", "run"]
