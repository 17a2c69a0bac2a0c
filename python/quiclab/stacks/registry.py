"""The stacks of this process: native ones, those of installed packages, and registered ones.

Packages are searched when a stack that is not native is requested, and loaded when it is used or listed: most runs
require none.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.native import extension
from quiclab.errors import QuiclabError, RequestError, alternatives, expected_got, shown
from quiclab.stacks.connection import PythonConnection
from quiclab.stacks.protocol import EndpointSetup, OptionError, PythonEndpoint, PythonStack

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

#: Entry points of this group are stacks.
GROUP: Final = "quiclab.stacks"

_registered: dict[str, PythonStack] = {}


class UnavailableStackError(QuiclabError):
    """A package declares a stack that cannot be loaded."""


class UnknownStackError(QuiclabError):
    """No stack has the name.

    Parameters
    ----------
    name
        The name.
    known
        Names of all stacks that are available.
    unavailable
        Messages with the reasons why other stacks are not available.
    """

    def __init__(self, name: str, known: list[str], unavailable: list[str]) -> None:
        expected = alternatives(map(shown, known), quote="")
        super().__init__(f"stack: {expected_got(expected, shown(name))}")
        self.known, self.reason = known, "; ".join(unavailable) or None


def register(stack: PythonStack) -> None:
    """Add a stack to this process, and to the worker processes of sweeps that it starts from now on.

    Parameters
    ----------
    stack
        The stack. Registering an equal one again changes nothing.

    Raises
    ------
    RequestError
        If another stack has its name.
    """
    if _registered.get(stack.name, stack) != stack or stack.name in {*native_names(), *_declared()}:
        raise RequestError(
            f"stack `{stack.name}` already exists; register this one under another name", kind="Conflict"
        )
    _registered[stack.name] = stack


def registered() -> tuple[PythonStack, ...]:
    """Return the stacks that were registered in this process, in this order."""
    return tuple(_registered.values())


def find(name: str) -> PythonStack | None:
    """Return a stack written in Python, or None if there is none of this name.

    Raises
    ------
    UnavailableStackError
        If a package declares it and it cannot be loaded.
    """
    if name in _registered:
        return _registered[name]
    return _load(name) if name not in _native_versions() and name in _declared() else None


def catalogue() -> list[dict[str, Any]]:
    """Return all stacks that are available with their options, defaults and the sources of these; native ones first."""
    native: list[dict[str, Any]] = json.loads(extension().native_stacks())
    return [*native, *(stack.describe() for stack in available())]


def unavailable() -> dict[str, str]:
    """Return why stacks that packages declare are not available, by their names."""
    reasons = {}
    for name in _declared():
        try:
            _load(name)
        except UnavailableStackError as error:
            reasons[name] = error.message
    return reasons


def versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those of some stacks that are written in Python."""
    found = {name: find(name) for name in sorted(names)}
    return {name: stack.version for name, stack in found.items() if stack is not None}


def version_of(name: str) -> str | None:
    """Return the version of a stack; `None` if it does not exist or is not available."""
    if (version := _native_versions().get(name)) is not None:
        return version
    try:
        stack = find(name)
    except UnavailableStackError:
        return None
    return None if stack is None else stack.version


def native_names() -> frozenset[str]:
    """Return the names of the native stacks."""
    return frozenset(_native_versions())


@cache
def _native_versions() -> dict[str, str]:
    return {str(stack["name"]): str(stack["version"]) for stack in json.loads(extension().native_stacks())}


def check(name: str, options: str) -> tuple[str, list[str], bool]:
    """Check the options of an endpoint (JSON); return protocol, workloads and `proprietary` of its stack to the engine.

    Raises
    ------
    UnknownStackError
        If there is no such stack.
    OptionError
        If the stack is not available or does not take an option.
    """
    try:
        stack = find(name)
    except UnavailableStackError as error:
        raise OptionError("stack", json.dumps(name), f"an available stack: {error.message}") from error
    if stack is None:
        raise UnknownStackError(name, [entry["name"] for entry in catalogue()], list(unavailable().values()))
    stack.check(json.loads(options))
    return stack.protocol, list(stack.workloads), stack.proprietary


def endpoint(name: str, options: str, workload: str, **setup: Any) -> tuple[PythonConnection | PythonEndpoint, bool]:
    """Create an end for the simulator; return it and whether it is a connection.

    Options and workload are JSON; `setup` has the remaining fields of `EndpointSetup`.
    """
    stack = find(name)
    if stack is None:
        raise UnknownStackError(name, [entry["name"] for entry in catalogue()], list(unavailable().values()))
    made = stack.factory(EndpointSetup(options=json.loads(options), workload=json.loads(workload), **setup))
    return made, stack.connection is not None


def available() -> list[PythonStack]:
    """Return the stacks written in Python that are available: those of packages, then registered ones."""
    broken = unavailable()
    declared = [_load(name) for name in _declared() if name not in broken]
    return [*declared, *registered()]


@cache
def _declared() -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of installed packages by name, sorted."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - it takes a while, and most runs need none

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


@cache
def _load(name: str) -> PythonStack:
    point, *others = _declared()[name]
    if others:
        raise UnavailableStackError(f"`{name}` is not available: several packages declare it ({_packages(name)})")
    if name in native_names():
        raise UnavailableStackError(f"`{name}` of {_packages(name)} is not available: a native stack has this name")
    try:
        stack = point.load()
    except Exception as error:
        # the convention for a stack whose library is optional: an extra of its name
        extras = [] if point.dist is None else point.dist.metadata.get_all("Provides-Extra") or []
        extra = isinstance(error, ImportError) and point.dist is not None and name in extras
        remedy = f"install {point.dist.name}[{name}]" if extra and point.dist is not None else type(error).__name__
        raise UnavailableStackError(f"`{name}` is not available: {remedy} ({error})") from error
    if not isinstance(stack, PythonStack) or stack.name != name:
        shown = f"stack `{stack.name}`" if isinstance(stack, PythonStack) else type(stack).__name__
        raise UnavailableStackError(
            f"`{name}` is not available: {point.value} is {shown}, expected a PythonStack named `{name}`"
        )
    return stack


def _packages(name: str) -> str:
    return ", ".join(sorted("?" if point.dist is None else point.dist.name for point in _declared()[name]))
