"""What ran: labels of a stored run that follow from its resolved scenario, so that no table names what did not run."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.native import extension
from quiclab.scenario.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Stacks of quiclab that stand for another implementation by their profile.
MODELS: Final = ("lab-quic", "lab-tcp")
#: Profile that follows a standard, no implementation.
STANDARD: Final = "rfc9002"


def stack_of(flow: Mapping[str, Any], end: str) -> str:
    """Return the stack at an end of a flow of a resolved scenario: its own, or that of the flow."""
    return str(flow.get(end, {}).get("stack") or flow["stack"])


def stacks_of(scenario: Mapping[str, Any]) -> list[str]:
    """Return the stacks of a resolved scenario: those of the senders of its flows, then those of its tunnels."""
    senders = [stack_of(flow, "sender") for flow in scenario["flows"].values()]
    return list(dict.fromkeys([*senders, *(str(tunnel["stack"]) for tunnel in scenario.get("tunnels", {}).values())]))


def profile_of(flow: Mapping[str, Any], end: str = "sender") -> str | None:
    """Return the profile of an end; `None` where its stack has none."""
    profile = flow.get(end, {}).get("profile")
    return None if profile is None else str(profile)


def implementation(flow: Mapping[str, Any], end: str = "sender") -> str:
    """Return the implementation at an end of a flow: that of its profile without the version, or its stack.

    Examples
    --------
    `aioquic` for the profile `aioquic-0.8.8` of lab-quic, `quinn` for the stack quinn, `lab-quic` for its profile of
    the standard.
    """
    stack, profile = stack_of(flow, end), profile_of(flow, end)
    if stack not in MODELS or profile in (None, STANDARD):
        return stack
    name, _, version = str(profile).rpartition("-")
    return name if name and version[:1].isdigit() else str(profile)


def option_of(flow: Mapping[str, Any], end: str, path: str) -> Any:
    """Return the value of an option that an end runs with: the scenario's, else that of its profile or stack.

    Parameters
    ----------
    flow
        The flow of a resolved scenario.
    end
        `sender` or `receiver`.
    path
        The option, such as `tcp.receive_buffer`.

    Returns
    -------
    object
        As scenarios have it; `None` where it is not known, as of programs.
    """
    here: Any = flow.get(end, {})
    for name in path.split("."):
        here = here.get(name) if isinstance(here, dict) else None
    if here is not None:
        return here
    return _defaults(stack_of(flow, end), profile_of(flow, end)).get(path)


def option_bytes(flow: Mapping[str, Any], end: str, path: str) -> int | None:
    """Return an option that is a size [B], as of `option_of`."""
    found = parse(option_of(flow, end, path))
    return None if found is None else found[1]


@cache
def _defaults(stack: str, profile: str | None) -> Mapping[str, Any]:
    """Return the defaults of a stack that is compiled into quiclab, with one of its profiles."""
    entry = next((one for one in json.loads(extension().native_stacks()) if one["name"] == stack), None)
    if entry is None:
        return {}
    tables = [entry["options"], *(one["options"] for one in entry["profiles"] if one["name"] == profile)]
    return {str(option["option"]): option["default"] for options in tables for option in options if option["option"]}
