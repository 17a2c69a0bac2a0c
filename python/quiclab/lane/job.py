"""The job of a run of the kernel lane: the input of `quiclab-live` for a scenario.

The scenario names programs as its stacks; their adapters define the commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab.errors import RequestError, unexpected
from quiclab.lane.adapter import certificate_words
from quiclab.lane.choices import key_log
from quiclab.lane.commands import check_ends, commands
from quiclab.lane.keylog import VARIABLE
from quiclab.result.recordings import ENDS
from quiclab.scenario.quantity import seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.lane.adapter import Adapter
    from quiclab.lane.run import Lane
    from quiclab.scenario import Scenario

JOB_SCHEMA = "quiclab.job/1"
#: Of each network namespace. No memory of earlier connections, and IPv4 only, as in reference/kernel.
SYSCTLS = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
}


def check_programs(scenario: Mapping[str, Any], adapters: Mapping[str, Adapter]) -> None:
    """Check that the programs of a resolved scenario are on this machine.

    Raises
    ------
    RequestError
        If one is missing; the message has the commands that install what is missing.
    """
    used = [adapters[name] for name in dict.fromkeys(stacks_of(scenario))]
    missing = list(dict.fromkeys(message for adapter in used for message in adapter.missing()))
    if missing:
        raise RequestError("; ".join(missing))


def make_job(scenario: Scenario, seed: int, lane: Lane, adapters: Mapping[str, Adapter]) -> dict[str, Any]:
    """Return the job of a resolved scenario, as `quiclab-live` reads it.

    Raises
    ------
    RequestError
        If a program is missing on this machine.
    """
    plain = scenario.to_dict()
    check_programs(plain, adapters)
    if lane.certificate != type(lane).certificate:
        _check_certificates(list(dict.fromkeys(stack_of(flow, "sender") for flow in plain["flows"].values())), adapters)
    flows = {}
    for name, flow in plain["flows"].items():
        server, client = (adapters[stack_of(flow, end)] for end in ENDS)
        check_ends(server, client, adapters, f"flows.{name}")
        if "arrivals" in flow:
            raise unexpected(f"flows.{name}.arrivals", "none in the kernel lane", got="arrivals")
        if "count" in flow:
            raise unexpected(f"flows.{name}.count", "none in the kernel lane", got=flow["count"])
        placeholders = {"flow": name, "seed": str(seed), **certificate_words(lane.certificate)}
        if plain["record"]["acks"]:
            placeholders["probe"] = "true"
        flows[name] = commands(server, client, flow, placeholders)
        flows[name]["client"]["command"] += lane.client_words
        if plain["record"]["pcapng"]:
            # one endpoint has the secrets of both directions; settings of the adapter take precedence
            flows[name]["client"]["environment"].setdefault(VARIABLE, f"{{directory}}/{key_log(name)}")
        for role, program in flows[name].items():
            words = [word.replace("{flow}", name).replace("{role}", role) for word in lane.tracer]
            program["command"] = words + program["command"]
    return {
        "schema": JOB_SCHEMA,
        "scenario": plain,
        "seed": seed,
        "base_dir": str(Path(scenario.base_dir).resolve()),
        "clock": lane.clock,
        "syscall_cost_ns": lane.syscall_cost_ns or 0,
        "emulation": lane.emulation,
        "delay_stage": lane.delay_stage,
        "flows": flows,
        "sysctls": SYSCTLS,
    }


def _check_certificates(servers: list[str], adapters: Mapping[str, Adapter]) -> None:
    """Raise RequestError unless a server takes the certificate that is chosen, and all others have none."""
    with_one = [name for name in servers if adapters[name].has_certificate]
    if not with_one or not all(adapters[name].takes_certificate for name in with_one):
        taking = ", ".join(f"`{name}`" for name, adapter in adapters.items() if adapter.takes_certificate)
        names = ", ".join(f"`{name}`" for name in with_one or servers)
        raise unexpected("--certificate", f"none, unless servers take it ({taking})", got=names)


def extra_s(job: Mapping[str, Any]) -> float:
    """Return how long the programs of a job may take to be ready and to stop [s]."""
    programs = [program for pair in job["flows"].values() for program in pair.values() if program is not None]
    times = [seconds(program[name]) for program in programs for name in ("ready_timeout", "grace") if name in program]
    return sum(times)


def stack_of(flow: Mapping[str, Any], end: str) -> str:
    """Return the program at an end of a flow: its own, or that of the flow."""
    return str(flow[end].get("stack") or flow["stack"])


def stacks_of(scenario: Mapping[str, Any]) -> list[str]:
    """Return the programs of a scenario, end by end."""
    return [stack_of(flow, end) for flow in scenario["flows"].values() for end in ENDS]
