"""Stacks written in Python, which the event loop drives like the native ones.

A stack is a `PythonStack`. An installed package declares it as an entry point of the group `quiclab.stacks`:

    [project.entry-points."quiclab.stacks"]
    toy = "toy_stack:STACK"

A script or a test registers one for its process and for the workers of its sweeps: `quiclab.stacks.register(STACK)`.
`examples/python_stack/` has a complete package.
"""

from quiclab.stacks.connection import (
    Acknowledged,
    Available,
    ClosedByPeer,
    Connected,
    Datagram,
    Event,
    Lost,
    PythonConnection,
    Received,
    Reset,
    Writable,
)
from quiclab.stacks.protocol import EndpointSetup, OptionError, PythonEndpoint, PythonStack, StackOption, StackProfile
from quiclab.stacks.registry import catalogue, find, register, unavailable

__all__ = [
    "Acknowledged",
    "Available",
    "ClosedByPeer",
    "Connected",
    "Datagram",
    "EndpointSetup",
    "Event",
    "Lost",
    "OptionError",
    "PythonConnection",
    "PythonEndpoint",
    "PythonStack",
    "Received",
    "Reset",
    "StackOption",
    "StackProfile",
    "Writable",
    "catalogue",
    "find",
    "register",
    "unavailable",
]
