"""quiclab-tunnel: one or several paths, any queue and congestion control."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vpn_bench.network import Network, run, running
from vpn_bench.vpns.base import Vpn, first_line, missing

#: Port of the server, with the number of the VPN.
PORT = 4433

SERVER = """\
version = 1
key_file = "server.key"
interface = "{device}"
control_socket = "{directory}/server.sock"
{queue}
[server]
listen = ["0.0.0.0:{port}"]
pool_ipv4 = "{pool}"
{congestion}
[[server.peers]]
name = "client"
public_key = "{peer}"
"""
CLIENT = """\
version = 1
key_file = "client.key"
interface = "{device}"
control_socket = "{directory}/client.sock"
{queue}
[client]
server_key = "{peer}"
"""
PATH = """
[[client.paths]]
name = "path{path}"
interface = "c{path}"
server = "{address}:{port}"
{congestion}
"""


@dataclass(frozen=True)
class Quiclab(Vpn):
    """quiclab-tunnel.

    Parameters
    ----------
    program
        The executable file.
    paths
        How many paths it uses.
    queue
        Value of `queue` in TOML; None: the default.
    congestion_control
        Of all paths in both directions; None: the default.
    """

    program: Path
    paths: int = 1
    queue: str | None = None
    congestion_control: str | None = None

    @property
    def label(self) -> str:
        """Name on the page."""
        settings = [f"{self.paths} paths"] if self.paths > 1 else []
        settings += [text for text in (self.queue and "drop_tail", self.congestion_control) if text]
        return "quiclab-tunnel" + (f", {', '.join(settings)}" if settings else "")

    @property
    def cipher(self) -> str:
        """Cipher of the packets: the only suite it has."""
        return "AES-128-GCM"

    @property
    def offloads(self) -> str:
        """Offloads."""
        return "TUN and UDP"

    def lacking(self) -> str:
        """Return the reason why this machine cannot run it."""
        return missing([self.program])

    def version(self) -> str:
        """Return the version."""
        return first_line(str(self.program), "--version").rpartition(" ")[2]

    def configurations(self, directory: Path, keys: dict[str, str]) -> dict[str, str]:
        """Return the text of both configurations; `keys` are the public keys of both ends."""
        port = PORT + self.number
        queue = f"queue = {self.queue}\n" if self.queue else ""
        congestion = f'congestion_control = "{self.congestion_control}"\n' if self.congestion_control else ""
        server = SERVER.format(
            device=self.device("s"),
            directory=directory,
            queue=queue,
            port=port,
            pool=f"10.77.{self.number}.0/24",
            congestion=congestion,
            peer=keys["client"],
        )
        client = CLIENT.format(device=self.device("c"), directory=directory, queue=queue, peer=keys["server"])
        for path in range(1, self.paths + 1):
            client += PATH.format(path=path, address=Network.outside(path), port=port, congestion=congestion)
        return {"server": server, "client": client}

    @contextmanager
    def up(self, network: Network, directory: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Run both ends until the end."""
        ends = ("server", "client")
        keys = {end: run(str(self.program), "keygen", str(directory / f"{end}.key")).strip() for end in ends}
        for end, text in self.configurations(directory, keys).items():
            (directory / f"{end}.toml").write_text(text)
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    running(
                        host,
                        # what outlives a restart of a real machine
                        [
                            "env",
                            f"STATE_DIRECTORY={directory}",
                            str(self.program),
                            "up",
                            str(directory / f"{end}.toml"),
                        ],
                        directory / f"{end}.log",
                    )
                )
                for host, end in ((network.server, "server"), (network.client, "client"))
            ]
