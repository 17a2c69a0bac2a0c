"""Stacks written in Python, which the event loop drives like the native ones.

A stack is a `PythonStack`. An installed package declares it as an entry point of the group `quiclab.stacks`:

    [project.entry-points."quiclab.stacks"]
    toy = "toy_stack:STACK"

A script or a test registers one for its process and for the workers of its sweeps: `quiclab.stacks.register(STACK)`.
`examples/python_stack/` has a complete package.
"""

from quiclab.stacks.protocol import EndpointSetup, OptionError, PythonEndpoint, PythonStack, StackOption, StackProfile
from quiclab.stacks.registry import catalogue, find, register, unavailable

__all__ = [
    "EndpointSetup",
    "OptionError",
    "PythonEndpoint",
    "PythonStack",
    "StackOption",
    "StackProfile",
    "catalogue",
    "find",
    "register",
    "unavailable",
]
