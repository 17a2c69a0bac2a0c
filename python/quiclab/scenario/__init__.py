"""Scenarios: the document of a scenario file in Python."""

from quiclab.scenario.document import Scenario, load

__all__ = ["Scenario", "load"]
