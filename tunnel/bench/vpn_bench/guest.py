"""The command in a guest: lines, a VPN over them, pings without and beside a download. Its directory has the case."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from vpn_bench.catalogue import load_vpns
from vpn_bench.load import (
    DOWNLOAD_FILE,
    FILE,
    IDLE_FILE,
    IDLE_PINGS,
    LOADED_FILE,
    PING_INTERVAL_MS,
    SETTLING_S,
    Case,
)
from vpn_bench.network import (
    BenchError,
    Network,
    answers,
    hosts,
    inside,
    iperf_client,
    iperf_server,
    ping,
    until,
)


def main() -> int:
    """Measure; the reason is in a file if that is impossible."""
    os.environ["PATH"] = "/usr/local/sbin:/usr/sbin:/sbin:" + os.environ["PATH"]
    task = json.loads(Path(FILE).read_text())
    programs = {key: Path(task.pop(key)) for key in ("program", "vpn_programs")}
    try:
        measure(Case(**task), **programs)
    except (BenchError, OSError, subprocess.SubprocessError) as error:
        Path("why.txt").write_text(str(error))
    return 0


def measure(case: Case, program: Path, vpn_programs: Path) -> None:
    """Write what the programs print."""
    directory = Path.cwd()
    vpn = load_vpns(program, vpn_programs, case.paths)[case.vpn]
    with ExitStack() as stack:
        network = stack.enter_context(hosts(case.shapes))
        stack.enter_context(iperf_server(network, directory / "iperf3.log"))
        address = Network.outside(1)
        if vpn:
            why = vpn.lacking()
            if why:
                raise BenchError(why)
            processes = stack.enter_context(vpn.up(network, directory))
            address = vpn.server_address
            until(f"an answer of {vpn.label}", partial(answers, network, address), processes, 20)
        interval = PING_INTERVAL_MS / 1e3
        time.sleep(2)  # on the guest's clock: the search for the path MTU ends
        idle = inside(network.client, *ping(address, interval, IDLE_PINGS))
        Path(IDLE_FILE).write_text(output(idle))
        with Path(DOWNLOAD_FILE).open("wb") as out:
            command = inside(network.client, *iperf_client(address, case.seconds))
            download = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
            time.sleep(SETTLING_S)
            count = int((case.seconds - SETTLING_S) / interval)
            loaded = inside(network.client, *ping(address, interval, count))
            Path(LOADED_FILE).write_text(output(loaded))
            download.wait(60)


def output(command: list[str]) -> str:
    """Return what a command prints, whatever its exit code."""
    done: Any = subprocess.run(command, capture_output=True, text=True, check=False)
    return str(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
