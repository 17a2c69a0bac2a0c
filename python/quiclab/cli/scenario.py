"""`quiclab scenario`, `quiclab stack` and `quiclab qlog`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from quiclab.cli.values import ForceOption, JsonOption, SetOption, check_new, parse_sets
from quiclab.errors import RequestError, unknown
from quiclab.native import extension, resolve_file
from quiclab.report import show
from quiclab.stacks.registry import catalogue, unavailable
from quiclab.tree import to_json

scenario_app = typer.Typer(no_args_is_help=True)
stack_app = typer.Typer(no_args_is_help=True)
qlog_app = typer.Typer(no_args_is_help=True)


@qlog_app.command("export")
def qlog_export_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="qlog files (.sqlog) of a run.")],
    out: Annotated[Path, typer.Option(help="Output file.")],
    force: ForceOption = False,
) -> None:
    """Convert qlog files to one file of qlog 0.3, which qvis opens."""
    check_new(out, force)
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        temporary.touch()
    except OSError as error:
        raise RequestError(f"cannot write {out}: {error.strerror}") from error
    try:
        traces, events, truncated = extension().export_qlog([str(file) for file in files], str(temporary))
        temporary.replace(out)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        wrong = f"read {error.filename}" if error.filename in map(str, files) else f"write {out}"
        raise RequestError(f"cannot {wrong}: {error.strerror}") from error
    except ValueError as error:
        temporary.unlink(missing_ok=True)
        raise RequestError(str(error)) from error
    print(f"{out}: {traces} {'trace' if traces == 1 else 'traces'}, {events} {'event' if events == 1 else 'events'}")
    for file in truncated:
        print(f"{file} is truncated: its last record was dropped", file=sys.stderr)


@scenario_app.command("new")
def scenario_new() -> None:
    """Print a commented scenario that can be run unchanged."""
    print(extension().template(), end="")


@scenario_app.command("show")
def scenario_show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file.")],
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a scenario with every default filled in."""
    scenario = resolve_file(file, parse_sets(sets))
    if as_json:
        print(to_json(json.loads(scenario)))
    else:
        print(extension().to_toml(scenario), end="")


@scenario_app.command("schema")
def scenario_schema() -> None:
    """Print the JSON schema of scenario files."""
    print(extension().schema())


@stack_app.command("list")
def stack_list(as_json: JsonOption = False) -> None:
    """List the stacks."""
    if as_json:
        print(to_json({"schema": "quiclab.stacks/1", "stacks": catalogue()}))
    else:
        show.stacks(catalogue())
        for reason in unavailable().values():
            print(reason)


@stack_app.command("show")
def stack_show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a stack.")], as_json: JsonOption = False
) -> None:
    """Print the options of a stack with the source of each default."""
    stacks = {stack["name"]: stack for stack in catalogue()}
    if name not in stacks:
        reason = unavailable().get(name)
        raise RequestError(reason) if reason else unknown("stack", name, stacks, listing="quiclab stack list")
    if as_json:
        print(to_json({"schema": "quiclab.stack/1", **stacks[name]}))
    else:
        show.stack(stacks[name])
