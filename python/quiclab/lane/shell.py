"""Any command behind the network of a scenario: a job whose client has the user's terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiclab._base.files import write_atomically
from quiclab.errors import not_one_of
from quiclab.lane.choices import JOB_FILE
from quiclab.lane.job import JOB_SCHEMA, SYSCTLS
from quiclab.lane.kernel.programs import live_program
from quiclab.result.recordings import RESULT_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from quiclab.scenario import Scenario

#: The network lasts as long as the command does.
DURATION = "1000000 s"
#: Variables with the addresses of both ends, for the command and the server.
VARIABLES = {"QUICLAB_SERVER_ADDRESS": "{server_address}", "QUICLAB_CLIENT_ADDRESS": "{client_address}"}


@dataclass(frozen=True)
class Server:
    """The command at the remote end.

    Parameters
    ----------
    command
        Program and arguments.
    protocol, port
        The command starts when a socket is bound to this port (`tcp` or `udp`); immediately if `port` is None.
    """

    command: tuple[str, ...]
    protocol: str = "tcp"
    port: int | None = None


@dataclass(frozen=True)
class Rates:
    """Rates since the report before.

    Parameters
    ----------
    time_s
        Seconds since the start.
    links, flows
        Rate of IP packets that left each link, and of payload that each flow delivered, in 10⁶ bit/s.
    """

    time_s: float
    links: dict[str, float]
    flows: dict[str, float]


def shell_job(
    scenario: Scenario,
    command: Sequence[str],
    flow: str | None = None,
    server: Server | None = None,
    seed: int = 1,
    emulation: str = "engine",
) -> dict[str, Any]:
    """Return the job that runs `command` at the receiving end of a flow.

    Parameters
    ----------
    scenario
        Its links, bearers and taps; of its flows only the routes count.
    command
        Program and arguments; `{server_address}` and `{client_address}` are replaced.
    flow
        Name of the flow whose routes the packets take (default: the first).
    server
        The command at the remote end. Without it the remote end is this machine.
    seed
        Seed of the elements.
    emulation
        `engine` or `netem`.

    Raises
    ------
    RequestError
        If there is no such flow.
    """
    plain = scenario.to_dict()
    name = flow if flow is not None else next(iter(plain["flows"]))
    if name not in plain["flows"]:
        raise not_one_of("flow", name, plain["flows"])
    plain["flows"][name]["start"] = "0 s"
    plain |= {"duration": DURATION, "until": "workloads_done"}
    client = {"command": list(command), "terminal": True, "environment": VARIABLES}
    pair: dict[str, Any] = {"server": None, "client": client, "server_on_host": server is None}
    if server is not None:
        ready = {"kind": "port", "protocol": server.protocol, "port": server.port} if server.port else None
        pair["server"] = {"command": list(server.command), "environment": VARIABLES} | (
            {"ready": ready} if ready else {}
        )
    return {
        "schema": JOB_SCHEMA,
        "scenario": plain,
        "seed": seed,
        "base_dir": os.path.abspath(scenario.base_dir or "."),  # noqa: PTH100 (`..` stays as it is behind a link)
        "clock": "real",
        "emulation": emulation,
        "flows": {name: pair},
        "sysctls": SYSCTLS,
    }


def run_shell(
    job: dict[str, Any], directory: Path, on_rates: Callable[[Rates], None] | None = None
) -> tuple[int, list[str]]:
    """Run a job of `shell_job` with this process' standard input, output and error.

    The command receives all input, including Ctrl-C.

    Parameters
    ----------
    job
        The job.
    directory
        Existing directory for the job, its result and the output of the server.
    on_rates
        Is called four times a second with the rates since the call before.

    Returns
    -------
    tuple
        The exit code of the command (128 and the number of the signal that ended it), and the warnings of the run. If
        the network cannot be set up the code is 1, and the error has been written to standard error.
    """
    write_atomically(directory / JOB_FILE, json.dumps(job, indent=2).encode())
    (directory / RESULT_FILE).unlink(missing_ok=True)
    reader, writer = os.pipe()
    line = [str(live_program()), "run", str(directory), f"--progress-fd={writer}"]
    with _interrupts_are_for_the_command():
        try:
            process = subprocess.Popen(line, pass_fds=(writer,))
        finally:
            os.close(writer)
        with os.fdopen(reader) as pipe:
            before: dict[str, Any] | None = None
            for text in pipe:
                state = json.loads(text)["progress"]
                if on_rates is not None and before is not None and state["time_s"] > before["time_s"]:
                    on_rates(_rates(before, state))
                before = state
        code = process.wait()
    warnings: list[str] = []
    if (directory / RESULT_FILE).exists():
        warnings = json.loads((directory / RESULT_FILE).read_text())["warnings"]
    return code, warnings


def _rates(before: dict[str, Any], now: dict[str, Any]) -> Rates:
    """Return the rates between two lines of progress."""
    elapsed_s = now["time_s"] - before["time_s"]

    def megabits(key: str) -> dict[str, float]:
        return {name: 8e-6 * (value - before[key].get(name, 0)) / elapsed_s for name, value in now[key].items()}

    return Rates(now["time_s"], megabits("link_bytes"), megabits("payload_bytes"))


@contextmanager
def _interrupts_are_for_the_command() -> Iterator[None]:
    """Ignore Ctrl-C in this process; with a handler, because programs inherit an ignored signal."""
    old = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
