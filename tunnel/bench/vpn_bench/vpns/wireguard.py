"""WireGuard: in user space (wireguard-go, boringtun) and of the kernel."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vpn_bench.network import BenchError, Network, inside, run, running, until
from vpn_bench.vpns.base import Vpn, first_line, missing

#: Port of the server, with the number of the VPN.
PORT = 51820
#: Size of packets inside that fits 1500 bytes outside also over IPv6: what wg-quick sets.
MTU = "1420"
#: Where programs in user space have the socket by which `wg` configures them.
SOCKETS = Path("/var/run/wireguard")


@dataclass(frozen=True)
class WireGuard(Vpn):
    """What all of them have in common: the configuration by `wg`."""

    @property
    def cipher(self) -> str:
        """Cipher of the packets: the only one it has."""
        return "ChaCha20-Poly1305"

    def configuration(self, end: str, private: str, peer: str) -> str:
        """Return the configuration of an end, `server` or `client`, as `wg setconf` reads it."""
        server = end == "server"
        text = f"[Interface]\nPrivateKey = {private}\n"
        text += f"ListenPort = {PORT + self.number}\n" if server else ""
        text += f"\n[Peer]\nPublicKey = {peer}\n"
        text += f"AllowedIPs = {self.client_address if server else self.server_address}/32\n"
        return text if server else text + f"Endpoint = {Network.outside(1)}:{PORT + self.number}\n"

    def configure(self, network: Network, directory: Path) -> None:
        """Give both devices keys and addresses, and set them up."""
        private = {end: run("wg", "genkey").strip() for end in ("server", "client")}
        public = {}
        for end, key in private.items():
            made = subprocess.run(["wg", "pubkey"], input=key, capture_output=True, text=True, check=True)  # noqa: S607
            public[end] = made.stdout.strip()
        for host, end, other in ((network.server, "server", "client"), (network.client, "client", "server")):
            file, device = directory / f"{end}.conf", self.device(end[0])
            file.write_text(self.configuration(end, private[end], public[other]))
            file.chmod(0o600)
            run(*inside(host, "wg", "setconf", device, str(file)))
            address = self.server_address if end == "server" else self.client_address
            run("ip", "-n", host, "addr", "add", f"{address}/24", "dev", device)
            run("ip", "-n", host, "link", "set", device, "mtu", MTU, "up")


@dataclass(frozen=True)
class UserWireGuard(WireGuard):
    """A program in user space.

    Parameters
    ----------
    program
        The executable file.
    title
        Name of the program.
    pinned
        Its version, where it does not tell.
    udp_offload
        Whether it uses segmentation offload.
    options
        Options of its command line.
    """

    program: Path
    title: str
    pinned: str
    udp_offload: bool
    options: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name on the page."""
        return self.title

    @property
    def offloads(self) -> str:
        """Offloads."""
        return "TUN and UDP" if self.udp_offload else "none"

    def lacking(self) -> str:
        """Return the reason why this machine cannot run it."""
        if not os.access(self.program, os.X_OK):
            return f"missing: {self.title}, which `make vpn-programs` builds"
        return missing(["wg"])

    def version(self) -> str:
        """Return the version that `make vpn-programs` builds."""
        return self.pinned

    def command(self, end: str) -> list[str]:
        """Return the command line of an end."""
        return [str(self.program), "-f", *self.options, self.device(end[0])]

    @contextmanager
    def up(self, network: Network, directory: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Run both ends until the end."""
        with ExitStack() as stack:
            processes = []
            for host, end in ((network.server, "server"), (network.client, "client")):
                process = stack.enter_context(running(host, self.command(end), directory / f"{end}.log"))
                socket = SOCKETS / f"{self.device(end[0])}.sock"
                until(f"{self.title} has made {socket}", socket.exists, [process], 20)
                processes.append(process)
            self.configure(network, directory)
            yield processes


@dataclass(frozen=True)
class KernelWireGuard(WireGuard):
    """WireGuard of the kernel."""

    @property
    def label(self) -> str:
        """Name on the page."""
        return "WireGuard of the kernel"

    @property
    def offloads(self) -> str:
        """Offloads."""
        return "of the kernel"

    @property
    def in_kernel(self) -> bool:
        """Whether the kernel handles the packets."""
        return True

    def lacking(self) -> str:
        """Return the reason why this machine cannot run it."""
        why = missing(["wg", "ip"], device=None)
        if why:
            return why
        probe = f"vbprobe{os.getpid() % 10**6}"
        try:
            run("ip", "link", "add", probe, "type", "wireguard")
        except BenchError:
            return "the kernel has no WireGuard"
        run("ip", "link", "del", probe)
        return ""

    def version(self) -> str:
        """Return the version of the kernel."""
        return first_line("uname", "-r")

    @contextmanager
    def up(self, network: Network, directory: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Have both devices until the end."""
        hosts = ((network.server, self.device("s")), (network.client, self.device("c")))
        try:
            for host, device in hosts:
                run("ip", "-n", host, "link", "add", device, "type", "wireguard")
            self.configure(network, directory)
            yield []
        finally:
            for host, device in hosts:
                subprocess.run(["ip", "-n", host, "link", "del", device], capture_output=True, check=False)  # noqa: S607
