"""Pages loaded by `quiclab-quinn page` (adapters/quinn): quinn with HTTP/3, HTML first, then all objects.

Each load is a separate process with a full handshake: no ticket is stored.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any, Final

from quiclab.errors import expected_got
from quiclab.lane.browser.load import LoadError, PageLoad, Target

#: Seconds that the program may take in addition to the load.
_MARGIN_S: Final = 5.0


class Quinn:
    """quinn's client; HTTP/3 only.

    Parameters
    ----------
    protocol
        `h3`.
    program
        `quiclab-quinn`, as `make adapters` builds it.
    target
        The page and its server.

    Raises
    ------
    LoadError
        If another protocol is wanted, or the program is missing or has no HTTP/3.
    """

    def __init__(
        self,
        protocol: str,
        program: str,
        target: Target,
    ) -> None:
        if protocol != "h3":
            raise LoadError("quinn supports HTTP/3 only")
        try:
            said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.split()
            able = subprocess.run([program, "page", "--help"], capture_output=True, check=False).returncode == 0
        except OSError:
            raise LoadError(f"the program `{program}` is missing: `make adapters` builds it") from None
        if not able:
            raise LoadError(f"`{program}` is too old to load pages; `make adapters` rebuilds it")
        self.version = "/".join(said) or "quinn/unknown"
        self.sizes = target.sizes
        self._words = [program, "page", "--address", target.address, "--port", str(target.port), "--name", target.name]
        self._words += ["--certificate", str(target.certificate)]

    def load(self, number: int, query: str, timeout_s: float) -> tuple[PageLoad, None]:
        """Load the page; returns its numbers, and no HAR.

        Raises
        ------
        LoadError
            If a request failed or the load is invalid.
        """
        words = [*self._words, *(f"/?{query}" if path == "/" else path for path in self.sizes)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout_s + _MARGIN_S)
        except subprocess.TimeoutExpired:
            raise LoadError(f"load {number} over HTTP/3 took longer than {timeout_s:g} s") from None
        if done.returncode != 0:
            raise LoadError(f"load {number} over HTTP/3: quinn failed: {done.stderr.strip()[-200:]}")
        return read(json.loads(done.stdout), self.sizes, number), None

    def close(self) -> None:
        """Do nothing: nothing is kept."""


def read(said: Mapping[str, Any], sizes: Mapping[str, int], number: int) -> PageLoad:
    """Return the numbers of a load from the output of the program.

    Parameters
    ----------
    said
        `started_ns`, `connected_ns`, `first_byte_ns`, `html_ns`, `finished_ns` (CLOCK_MONOTONIC), `sizes` (bytes of
        each answer, in order).
    sizes
        Length of each object of the page by its path.
    number
        Which load it is.

    Raises
    ------
    LoadError
        If an object has another length.
    """
    for (path, size_bytes), found in zip(sizes.items(), said["sizes"], strict=True):
        if size_bytes != found:
            raise LoadError(f"load {number} over HTTP/3: {path}: {expected_got(f'{size_bytes} bytes', found)}")

    def after_ms(name: str) -> float:
        return (int(said[name]) - int(said["started_ns"])) / 1e6

    return PageLoad(
        number=number,
        client="quinn",
        protocol="h3",
        page_load_ms=after_ms("finished_ns"),
        html_ms=after_ms("html_ns"),
        first_byte_ms=after_ms("first_byte_ns"),
        handshake_ms=after_ms("connected_ns"),
        connect_ms=after_ms("connected_ns"),
        ssl_ms=None,
        early_data_sent=False,
        early_data_accepted=None,
        resources=len(sizes),
        body_bytes=sum(said["sizes"]),
        started_ns=int(said["started_ns"]),
        connected_ns=int(said["connected_ns"]),
        finished_ns=int(said["finished_ns"]),
    )
