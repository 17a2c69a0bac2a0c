"""Congestion controls that a stack can run, as the validation of scenarios says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from quiclab._base.native import extension, resolve
from quiclab.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping


def controls_of(stack: Mapping[str, Any]) -> list[str]:
    """Return the congestion controls of a stack, with the options that they need.

    Parameters
    ----------
    stack
        Its entry in the catalogue.
    """
    if "download" not in stack["workloads"]:
        return []
    # some need marks that tell more than classic ones, some more than one path
    ends: list[dict[str, Any]] = [{}]
    if stack["protocol"] == "tcp":
        ends += [{"tcp": {"ecn": kind}} for kind in ("dctcp", "accurate")]
    if stack.get("multipath"):
        ends.append({"multipath": {}})
    known = json.loads(extension().schema())["$defs"]["CongestionControl"]["oneOf"]
    names = [str(control["const"]) for control in known]
    return [name for name in names if any(_is_valid(stack["name"], name, end) for end in ends)]


def _is_valid(stack: str, control: str, end: Mapping[str, Any]) -> bool:
    paths = "multipath" in end
    flow: dict[str, Any] = {
        "stack": stack,
        "down": ["a"],
        "up": ["a2"],
        "sender": {**end, "congestion_control": control},
        "receiver": end,
        "workload": {"kind": "download", "size": "1 MB"},
    }
    if paths:
        flow["paths"] = [{"down": ["b"], "up": ["b2"]}]
    links = {name: {"rate": "1 Mbit/s"} for name in ("a", "a2", "b", "b2") if paths or name[0] == "a"}
    scenario = {"version": 1, "name": "controls", "duration": "1 s", "links": links, "flows": {"f": flow}}
    try:
        resolve(json.dumps(scenario), None, form="json")
    except RequestError:
        return False
    return True
