"""`quiclab shell`: any command behind the network of a scenario."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from quiclab._base.native import MAX_SEED
from quiclab.cli.lane import EmulationOption, load_either
from quiclab.cli.output import ForceOption, claim_directory, replacing
from quiclab.cli.run import files_of_run, older_files
from quiclab.cli.values import SetOption, integer, options_for, parse_sets
from quiclab.errors import RequestError, not_one_of, unexpected
from quiclab.lane.choices import EMULATIONS
from quiclab.lane.shell import Rates, Server, run_shell, shell_job
from quiclab.result.recordings import RESULT_FILE

#: Interval between lines of rates if stderr is not a terminal [s].
LINE_INTERVAL_S = 1.0


class Status:
    """Rates on standard error: one line that is rewritten on a terminal, otherwise a line per second."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.next_s = 0.0

    def show(self, rates: Rates) -> None:
        """Show rates."""
        if self.terminal:
            print(f"\r\x1b[K{describe(rates)}", end="", file=sys.stderr, flush=True)
        elif rates.time_s >= self.next_s:
            self.next_s = rates.time_s + LINE_INTERVAL_S
            print(describe(rates), file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Restore the line of the terminal."""
        if self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def describe(rates: Rates) -> str:
    """Return rates as a line, such as `2.0 s  down 19.98 up 0.35 | main 18.90 Mbit/s`."""
    links, flows = (
        " ".join(f"{name} {rate:.2f}" for name, rate in part.items()) for part in (rates.links, rates.flows)
    )
    return f"{rates.time_s:.1f} s  {links} | {flows} Mbit/s"


def shell_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file.")],
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND", help="Command to run; {server_address} is the address of the remote end."),
    ],
    sets: SetOption = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Command to run at the remote end (default: this machine; requires root)."),
    ] = None,
    port: Annotated[
        str | None,
        typer.Option(metavar="[udp:]N", help="Start the command after the server has bound this port."),
    ] = None,
    flow: Annotated[
        str | None, typer.Option(metavar="NAME", help="Flow whose routes packets take (default: first).")
    ] = None,
    emulation: EmulationOption = None,
    seed: Annotated[
        int, typer.Option(parser=integer(0, MAX_SEED), metavar="N", help="Seed of every random stream.")
    ] = 1,
    rates: Annotated[bool, typer.Option("--rates", help="Show rates per link and flow on stderr.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for the result, captures and the output of CMD.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab shell`."""
    if emulation not in (None, *EMULATIONS):
        raise not_one_of("--emulation", emulation, EMULATIONS)
    if server is None and os.geteuid() != 0:
        raise RequestError("without --server, this machine is the remote end, which requires root")
    scenario = load_either(file, parse_sets(sets))
    remote = _server(server, port)
    with options_for("flow"):
        job = shell_job(scenario, command, flow, remote, seed, emulation or "engine")
    status = Status()
    with ExitStack() as stack:
        if out is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quiclab-")))
            job["scenario"].pop("record", None)
        else:
            directory, names = out.resolve(), files_of_run(job["scenario"], "kernel")
            earlier = claim_directory(out, names | older_files(out), force, inputs=[file])
            stack.enter_context(replacing(directory, earlier, names, RESULT_FILE))
        code, warnings = run_shell(job, directory, status.show if rates else None)
        status.clear()
        if not (directory / RESULT_FILE).exists():  # the network was not set up: an earlier result is put back
            raise SystemExit(code)
    for warning in warnings:
        print(f"quiclab: {warning}", file=sys.stderr)
    raise SystemExit(code)


def _server(command: str | None, port: str | None) -> Server | None:
    """Return the remote end that the options describe."""
    if command is None:
        if port is not None:
            raise RequestError("--port requires --server")
        return None
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise unexpected("--server", "a command", command, str(error)) from error
    if not words:
        raise unexpected("--server", "a command", command)
    if port is None:
        return Server(words)
    protocol, _, number = port.rpartition(":")
    if protocol not in ("", "tcp", "udp") or not number.isdecimal() or not 0 < int(number) < 1 << 16:
        raise unexpected("--port", "1 to 65535, or `udp:` and a port number", port)
    return Server(words, protocol or "tcp", int(number))
