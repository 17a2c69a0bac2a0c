"""`quiclab shell`: a command behind a network, with the machine itself or a server at the far end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from quiclab._base.native import MAX_SEED
from quiclab.cli.shell import describe
from quiclab.errors import QuiclabError, RequestError
from quiclab.lane.kernel.programs import live_program
from quiclab.lane.shell import Rates, Server, shell_job
from quiclab.scenario import load

SCENARIO = Path(__file__).parent.parent / "scenarios" / "tcp_download.toml"
DELAY = [word for end in ("down1", "up1") for word in ("--set", f"links.{end}.delay=20 ms")]
#: Prints how long it took to connect to the far end [s], then what it said.
CLIENT = """import socket, sys, time
start = time.monotonic()
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print(time.monotonic() - start)
print(connection.makefile().read())"""
SERVER = """import socket
listener = socket.create_server(("", 5001))
while True:
    connection, _ = listener.accept()
    connection.sendall(b"far end")
    connection.close()"""


def unavailable_reason() -> str | None:
    if os.geteuid() != 0:
        return "the far end in this machine's network needs root"
    if shutil.which("ip") is None or not Path("/dev/net/tun").exists():
        return "iproute2 or /dev/net/tun is missing"
    unshare = shutil.which("unshare") or "unshare"
    if subprocess.run([unshare, "--net", "--pid", "--fork", "true"], check=False, capture_output=True).returncode:
        return "namespaces are not allowed"
    try:
        live_program()
    except QuiclabError as error:
        return error.message
    return None


needs_network = pytest.mark.skipif(unavailable_reason() is not None, reason=unavailable_reason() or "")


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "quiclab", "shell", str(SCENARIO), *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def service() -> Iterator[int]:
    """Yield the port of a service of this machine that says `here` to each connection."""
    with socket.create_server(("", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"here")

        thread = threading.Thread(target=serve)
        thread.start()
        yield int(listener.getsockname()[1])
        thread.join()


@pytest.mark.kernel_lane
@needs_network
def test_the_far_end_is_this_machine(service: int) -> None:
    done = shell(*DELAY, "--", sys.executable, "-c", CLIENT, "{server_address}", str(service))
    took, said = done.stdout.split("\n", 1)
    assert said.strip() == "here", done.stderr
    assert float(took) >= 0.04  # there and back


@pytest.mark.kernel_lane
@needs_network
def test_a_server_at_the_far_end() -> None:
    server = f"{sys.executable} -c '{SERVER}'"
    command = [sys.executable, "-c", CLIENT, "{server_address}", "5001"]
    done = shell(*DELAY, "--server", server, "--port", "5001", "--", *command)
    assert done.stdout.split("\n")[1] == "far end", done.stderr
    assert float(done.stdout.split("\n")[0]) >= 0.04


@pytest.mark.kernel_lane
@needs_network
def test_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    done = shell("--out", str(tmp_path), "--rates", "--", "sh", "-c", "sleep 1; exit 7")
    assert done.returncode == 7
    assert " Mbit/s" in done.stderr
    assert json.loads((tmp_path / "result.json").read_text())["run"]["ended_by"] == "workloads_done"
    assert shell("--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM
    missing = shell("--", "quiclab-no-such-program")
    assert missing.returncode == 1
    assert "`quiclab-no-such-program` cannot be started: No such file" in missing.stderr


@pytest.mark.kernel_lane
@needs_network
def test_an_interrupt_is_for_the_command() -> None:
    command = "import signal, sys; signal.signal(2, lambda *_: sys.exit(5)); print('ready', flush=True); signal.pause()"
    line = [sys.executable, "-m", "quiclab", "shell", str(SCENARIO), "--", sys.executable, "-c", command]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 5


def test_the_job_has_the_routes_of_a_flow() -> None:
    scenario = load(SCENARIO)
    (name,) = scenario.value("flows")
    job = shell_job(scenario, ["curl", "{server_address}"], server=Server(("nginx",), "udp", 443))
    pair = job["flows"][name]
    assert pair["client"]["terminal"]
    assert not pair["server_on_host"]
    assert pair["server"]["ready"] == {"kind": "port", "protocol": "udp", "port": 443}
    assert shell_job(scenario, ["true"])["flows"][name]["server_on_host"]
    with pytest.raises(RequestError, match=r'^flow: expected "main", got'):
        shell_job(scenario, ["true"], flow="other")


def test_rates_are_a_line() -> None:
    assert describe(Rates(2.0, {"down": 19.98, "up": 0.35}, {"main": 18.9})) == (
        "2.0 s  down 19.98 up 0.35 | main 18.90 Mbit/s"
    )


def test_invalid_requests_are_one_line_errors() -> None:
    for options, message in (
        (["--port", "80"], "--port requires --server"),
        (["--server", "nginx", "--port", "x"], '--port: expected 1 to 65535, or `udp:` and a port number, got "x"'),
        (["--server", "'"], '--server: expected a command, got "\'"; No closing quotation'),
        (["--server", "nginx", "--flow", "x"], '--flow: expected "main", got "x"'),
        (["--server", "nginx", "--seed", "1_0"], f'--seed: expected a whole number from 0 to {MAX_SEED}, got "1_0"'),
        (["--emulation", "ns3"], '--emulation: expected "engine" or "netem", got "ns3"'),
        (
            ["--set", "seed", "--server", "nginx"],
            '--set: expected PATH=VALUE, such as bearers.dc.batch_packets=200, got "seed"',
        ),
    ):
        done = shell(*options, "--", "true")
        assert done.returncode == 2
        assert done.stderr == f"quiclab: {message}\n"
