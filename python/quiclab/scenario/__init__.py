"""Scenarios as dataclasses: the same tree as the TOML files, field by field.

Quantities are texts with a unit (`"20 Mbit/s"`). `None` means "not given": the engine fills in the default.
The classes of `options` are made from the engine's types.
"""

from quiclab.scenario import options
from quiclab.scenario.document import Scenario, load
from quiclab.scenario.options import *  # noqa: F403

__all__ = ["Scenario", "load"]
__all__ += options.__all__
