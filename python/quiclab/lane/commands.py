"""The commands of the two ends of a flow, in the form of a job of `quiclab-live`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from quiclab.errors import RequestError, unexpected
from quiclab.lane.adapter import Adapter, program_path
from quiclab.lane.adapter_plan import ProgramPlan
from quiclab.lane.placeholders import LATE, PLACEHOLDER, fill
from quiclab.lane.words import words_of
from quiclab.result.recordings import ENDS


def check_ends(server: Adapter, client: Adapter, adapters: Mapping[str, Adapter], path: str) -> None:
    """Raise RequestError at `path`, that of a flow, unless the programs of two stacks understand each other."""
    if server is client or (server.file.application is not None and _language(server) == _language(client)):
        return
    others = [name for name, other in adapters.items() if _language(other) == _language(server)]
    partners = f" or one of {', '.join(f'`{name}`' for name in others if name != server.name)}"
    expected = f"a receiver with the stack of its sender{partners if server.file.application is not None else ''}"
    raise unexpected(path, expected, got=f"`{server.name}` and `{client.name}`")


def _language(adapter: Adapter) -> tuple[str, str | None]:
    return adapter.protocol, adapter.file.application


def commands(
    server: Adapter, client: Adapter, flow: Mapping[str, Any], placeholders: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return `server` and `client` of a flow, each as `Program` of a job.

    Parameters
    ----------
    server, client
        The stacks of its ends.
    flow
        A resolved flow: `sender`, `receiver`, `workload`.
    placeholders
        `flow` (its name) and `seed`; `quiclab_live`, `certificate` and similar, if they differ from the defaults.

    Raises
    ------
    RequestError
        If a program has not the options or the workload that are wanted.
    """
    above = f"flows.{placeholders.get('flow', '?')}."
    adapters = dict(zip(ENDS, (server, client), strict=True))
    tables = {end: flow.get(end) or {} for end in ENDS}
    problems = [adapters[end].refuses(table, end, above) for end, table in tables.items()]
    for problem in (*problems, *(adapter.refuses_workload(flow["workload"], above) for adapter in adapters.values())):
        if problem is not None:
            raise problem
    options = {end: adapters[end].words(table, end) for end, table in tables.items()}
    if server is client:  # the client of some programs configures their server
        own = {end: {name for name, option in server.file.options.items() if option.ends == (end,)} for end in ENDS}
        for end, other in (ENDS, ENDS[::-1]):
            options[end] |= {name: word for name, word in options[other].items() if name in own[other]}
    values = {
        end: adapter.standard(placeholders)
        | words_of(flow["workload"])
        | {"workload": json.dumps(dict(flow["workload"]))}
        | options[end]
        for end, adapter in adapters.items()
    }
    return {
        "server": _program(server.file.server, values["sender"]),
        "client": _program(client.file.client, values["receiver"]),
    }


def _program(plan: ProgramPlan, values: Mapping[str, str]) -> dict[str, Any]:
    """Fill a plan in: the shape of `Program` in crates/quiclab-live/src/job.rs."""
    command: list[str] = []
    for part in plan.command:
        if isinstance(part, str):
            command.append(_required(part, values))
        else:
            filled = [fill(word, values, late=True) for word in part]
            command += [word for word in filled if word is not None] if None not in filled else []
    program: dict[str, Any] = {
        "command": command,
        "ready": dict(plan.ready),
        # the same programs in a guest, whose own path is another
        "environment": {"PATH": program_path()}
        | {name: _required(word, values) for name, word in plan.environment.items()},
    }
    if plan.ready_timeout is not None:
        program["ready_timeout"] = plan.ready_timeout
    if plan.grace is not None:
        program["grace"] = plan.grace
    return program


def _required(word: str, values: Mapping[str, str]) -> str:
    filled = fill(word, values, late=True)
    if filled is None:
        names = [name for name in PLACEHOLDER.findall(word) if name not in values and name not in LATE]
        raise RequestError(
            f"`{word}`: no value for {', '.join(f'{{{name}}}' for name in names)}; "
            'write optional words as a group, such as [..., ["-C", "{congestion_control}"]]'
        )
    return filled
