"""What a flow has delivered, defined once for all lanes and programs, and compared with what can have been.

Delivered are bytes that the application of the flow's receiver has read, in order and once: no headers of any layer, no
retransmission, nothing that waits for a gap to be filled. The end of every run verifies two bounds:

| bound | why |
| --- | --- |
| packets that arrived at the receiver, without the least headers that each must have | what was read has arrived |
| rate of the links of its routes over its time | a link does not carry more; not where its rate varies without a list of changes |

So the payload of UDP, which QUIC fills with its own headers, frames and retransmissions, is not mistaken for data.
"""  # noqa: E501 - a table

from __future__ import annotations

import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.native import extension
from quiclab.errors import QuiclabError
from quiclab.scenario.quantity import bits_per_second

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Least bytes of a packet that are not data, by protocol: IPv4 (RFC 791, section 3.1) with UDP (RFC 768), or with TCP
#: without options (RFC 9293, section 3.1); QUIC adds the first byte and one of a packet number (RFC 9000, section
#: 17.3.1), the tag (RFC 9001, section 5.3) and the type of one frame (RFC 9000, section 12.4).
HEADERS: Final = {"udp": 20 + 8, "tcp": 20 + 20, "quic": 20 + 8 + 2 + 16 + 1}


#: The same of a fragment, which has a header of IPv4 only (RFC 791, section 3.2).
FRAGMENT: Final = 20


@cache
def _protocols() -> Mapping[str, str]:
    """Return the protocol of each stack that is compiled into quiclab."""
    return {stack["name"]: stack["protocol"] for stack in json.loads(extension().native_stacks())}


def check_delivered(data: Mapping[str, Any], programs: Mapping[str, str] | None = None) -> None:
    """Check that no flow has delivered more than its network can have carried.

    Parameters
    ----------
    data
        A result (schema `quiclab.run/1`).
    programs
        Protocol of each program of the kernel lane; `None` in the sim lane. Stacks that are not known, such as those
        written in Python, count as UDP, which has the fewest headers.

    Raises
    ------
    QuiclabError
        If one has: flow, value and bound.
    """
    known = _protocols() if programs is None else programs
    for name, flow in data["flows"].items():
        for limit, reason in _bounds(data, name, known):
            if flow["delivered_bytes"] > limit:
                raise QuiclabError(
                    f"flow `{name}`: {flow['delivered_bytes']} bytes are counted as delivered, but at most {limit} can "
                    f"have been: {reason}"
                )


def _bounds(data: Mapping[str, Any], name: str, protocols: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """List the bounds of what a flow can have delivered [B], each with what it follows from."""
    flow, config = data["flows"][name], data["scenario"]["flows"][name]
    stack = config["receiver"].get("stack") or config.get("stack")
    arrived = data["elements"][f"{name}.receiver"]["received"]
    may_be_cut = any("mtu" in link for link in data["scenario"].get("links", {}).values())
    headers = FRAGMENT if may_be_cut else HEADERS[protocols.get(stack, "udp")]
    yield (
        max(0, arrived["bytes"] - headers * arrived["packets"]),
        f"{arrived['packets']} packets of {arrived['bytes']} bytes arrived, of which headers take {headers} each at "
        "least",
    )
    if flow["start_s"] is None or data["run"].get("emulation") == "netem":
        return  # queueing disciplines of the kernel permit bursts: `run.kernel.links` compares their rates
    end_s = data["run"]["network_time_s"] if flow["finish_s"] is None else flow["finish_s"]
    rate, elapsed_s = rate_bps(data, name), end_s - flow["start_s"]
    if math.isfinite(rate):
        carried = f"{rate / 1e6:g} Mbit/s over {elapsed_s:.6g} s"
        yield math.ceil(rate * elapsed_s / 8), f"the links of its routes carry {carried}"


def rate_bps(data: Mapping[str, Any], name: str) -> float:
    """Return the highest rate at which the routes of a flow lead to its receiver [bit/s]; infinite if not known."""
    flow = data["scenario"]["flows"][name]
    return math.fsum(_route_bps(data, route.get("down")) for route in (flow, *(flow.get("paths") or ())))


def capacity_bps(data: Mapping[str, Any], name: str) -> float:
    """Return the rate that the links of a flow's routes offer it [bit/s]; infinite if not known.

    As `rate_bps`, but not known where routes share an element or a bearer sends packets twice, which take a part of it.
    """
    flow, scenario = data["scenario"]["flows"][name], data["scenario"]
    used = [part for route in (flow, *(flow.get("paths") or ())) for part in route.get("down") or ()]
    doubled = (
        bearer.get("mode") == "duplicate" or bearer.get("duplication")
        for part in used
        if (bearer := scenario.get("bearers", {}).get(part)) is not None
    )
    return math.inf if len(set(used)) < len(used) or any(doubled) else rate_bps(data, name)


def _route_bps(data: Mapping[str, Any], route: list[str] | None) -> float:
    """Return the rate of the slowest element of a route."""
    return min((_element_bps(data, name) for name in route or ()), default=math.inf)


def _element_bps(data: Mapping[str, Any], name: str) -> float:
    """Return the highest rate of a link, or of the links or paths over which a bearer or tunnel distributes packets."""
    scenario = data["scenario"]
    if (link := scenario.get("links", {}).get(name)) is not None:
        changes = [
            math.inf if change["rate_mbps"] is None else 1e6 * change["rate_mbps"]
            for change in data.get("changes", ())
            if change["link"] == name
        ]
        is_constant = isinstance(link.get("rate"), str) and "conditions" not in link
        return max([bits_per_second(link["rate"]), *changes]) if is_constant else math.inf
    if (bearer := scenario.get("bearers", {}).get(name)) is not None:
        return math.fsum(_element_bps(data, part) for part in bearer["links"])
    if (tunnel := scenario.get("tunnels", {}).get(name)) is not None:
        return math.fsum(_route_bps(data, path.get("down")) for path in tunnel["paths"])
    return math.inf
