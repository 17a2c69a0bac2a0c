"""OpenVPN over UDP, with or without its data channel in the kernel (DCO)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vpn_bench.network import BenchError, Network, run, running, until
from vpn_bench.vpns.base import Vpn, first_line, missing

#: Port of the server, with the number of the VPN.
PORT = 1194
#: Socket buffers, as large as those of quiclab-tunnel, so that a burst is not lost in them.
SOCKET_BUFFER = "4000000"


@dataclass(frozen=True)
class OpenVpn(Vpn):
    """OpenVPN between two ends with certificates of their own, which know each other by fingerprint.

    Parameters
    ----------
    data_cipher
        Value of `--data-ciphers`.
    dco
        Whether the kernel handles the packets.
    """

    data_cipher: str
    dco: bool = False

    @property
    def label(self) -> str:
        """Name on the page."""
        return f"OpenVPN{' with DCO' if self.dco else ''}, {self.cipher}"

    @property
    def cipher(self) -> str:
        """Cipher of the packets."""
        return self.data_cipher.replace("CHACHA20-POLY1305", "ChaCha20-Poly1305")

    @property
    def offloads(self) -> str:
        """Offloads."""
        return "of the kernel" if self.dco else "none"

    @property
    def in_kernel(self) -> bool:
        """Whether the kernel handles the packets."""
        return self.dco

    def lacking(self) -> str:
        """Return the reason why this machine cannot run it."""
        why = missing(["openvpn", "openssl"])
        if why or not self.dco:
            return why
        said = subprocess.run(["openvpn", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
        return dco_lacking(said)

    def version(self) -> str:
        """Return the version."""
        return " ".join(first_line("openvpn", "--version").split()[1:2])

    def options(self, end: str, directory: Path, fingerprints: Mapping[str, str]) -> list[str]:
        """Return the command line of an end, `server` or `client`."""
        server = end == "server"
        addresses = [self.server_address, self.client_address]
        other = "client" if server else "server"
        return [
            *("openvpn", "--verb", "4", "--dev-type", "tun", "--dev", self.device(end[0]), "--proto", "udp"),
            *("--tls-server" if server else "--tls-client", "--dh", "none"),
            *([] if self.dco else ["--disable-dco"]),
            *("--data-ciphers", self.data_cipher, "--cipher", self.data_cipher),
            *("--topology", "subnet" if self.dco else "p2p"),
            *("--ifconfig", *(self.own(addresses, server))),
            *("--sndbuf", SOCKET_BUFFER, "--rcvbuf", SOCKET_BUFFER),
            *("--cert", str(directory / f"{end}.crt"), "--key", str(directory / f"{end}.key")),
            *("--peer-fingerprint", fingerprints[other]),
            *(["--lport", str(PORT + self.number)] if server else ["--nobind"]),
            *([] if server else ["--remote", Network.outside(1), str(PORT + self.number)]),
        ]

    def own(self, addresses: list[str], server: bool) -> list[str]:
        """Return the values of `--ifconfig`."""
        own, other = addresses if server else reversed(addresses)
        return [own, "255.255.255.0" if self.dco else other]

    @contextmanager
    def up(self, network: Network, directory: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Run both ends until the end."""
        prints = {end: certificate(directory, end) for end in ("server", "client")}
        logs = {end: directory / f"{end}.log" for end in prints}
        with ExitStack() as stack:
            processes = [
                stack.enter_context(running(host, self.options(end, directory, prints), logs[end]))
                for host, end in ((network.server, "server"), (network.client, "client"))
            ]

            def complete() -> bool:
                return all("Initialization Sequence Completed" in log.read_text() for log in logs.values())

            until("OpenVPN is ready", complete, processes, 20)
            for log in logs.values():
                check(log.read_text(), self.data_cipher, self.dco)
            yield processes


def certificate(directory: Path, end: str) -> str:
    """Make the key and the certificate of an end; return the fingerprint."""
    key, file = directory / f"{end}.key", directory / f"{end}.crt"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    run(*request, "-nodes", "-days", "30", "-subj", f"/CN={end}", "-keyout", str(key), "-out", str(file))
    said = run("openssl", "x509", "-in", str(file), "-noout", "-fingerprint", "-sha256")
    return said.split("=", 1)[1].strip()


def dco_lacking(version: str) -> str:
    """Return why there is no DCO, from the output of `openvpn --version`; empty if there is."""
    found = re.search(r"^DCO version: *(.+)$", version, re.MULTILINE)
    if not found:
        return "this OpenVPN has no DCO"
    return "the kernel has no module for DCO that this OpenVPN knows" if found[1].strip() == "N/A" else ""


def check(log: str, cipher: str, dco: bool) -> None:
    """Refuse a session with another cipher, or without the DCO that was asked for.

    Raises
    ------
    BenchError
        With what was used.
    """
    used = re.search(r"Data Channel: [Cc]ipher '([^']+)'", log)
    if not used or used[1] != cipher:
        raise BenchError(f"cipher of OpenVPN: expected {cipher}, got {used[1] if used else 'none in its log'}")
    if dco and "DCO device" not in log:
        raise BenchError("OpenVPN did not use DCO")
