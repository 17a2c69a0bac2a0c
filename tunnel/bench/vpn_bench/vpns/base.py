"""What a benchmark has to know about a VPN."""

from __future__ import annotations

import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from vpn_bench.network import Network

DEVICE = Path("/dev/net/tun")


@dataclass(frozen=True)
class Vpn(ABC):
    """A VPN with its settings.

    Parameters
    ----------
    name
        Key in the results.
    number
        Distinguishes it from the others that run at the same time: addresses, ports, devices.
    """

    name: str
    number: int

    @property
    @abstractmethod
    def label(self) -> str:
        """Name on the page."""

    @property
    @abstractmethod
    def cipher(self) -> str:
        """Cipher of the packets."""

    @property
    @abstractmethod
    def offloads(self) -> str:
        """Which segmentation offloads of Linux it uses."""

    @property
    def in_kernel(self) -> bool:
        """Whether the kernel handles the packets, so that its processes' time says nothing."""
        return False

    @abstractmethod
    def lacking(self) -> str:
        """Return the reason why this machine cannot run it; empty if it can."""

    @abstractmethod
    def version(self) -> str:
        """Return the version, as the program tells it."""

    @abstractmethod
    def up(self, network: Network, directory: Path) -> AbstractContextManager[list[subprocess.Popen[bytes]]]:
        """Run both ends until the end; the value is their processes.

        Raises
        ------
        BenchError
            If an end does not start.
        """

    @property
    def server_address(self) -> str:
        """Address of the server inside."""
        return f"10.77.{self.number}.1"

    @property
    def client_address(self) -> str:
        """Address of the client inside."""
        return f"10.77.{self.number}.2"

    def device(self, end: str) -> str:
        """Name of the TUN device of an end, `s` or `c`; at most 15 letters."""
        return f"vb{self.number}{end}"


def missing(programs: Sequence[str | Path], device: Path | None = DEVICE) -> str:
    """Return which programs and devices are missing, as a reason; empty if none is."""
    absent = [str(program) for program in programs if shutil.which(program) is None]
    absent += [str(device)] if device and not device.exists() else []
    return f"missing: {', '.join(absent)}" if absent else ""


def first_line(*command: str) -> str:
    """Return the first line that a program prints, on whichever stream."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return next(iter((done.stdout + done.stderr).strip().splitlines()), "")


def last_line(log: Path) -> str:
    """Return the last line of a log."""
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else "no message"
