"""Pages loaded by curl: the HTML, then one object after the other over the same connection.

curl is not a browser: it requests the next object when the previous one is complete. For pages of one object this is
equivalent;
with more its time is an upper bound. Each load is a separate process with a full handshake: no ticket is stored.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from quiclab.errors import expected_got
from quiclab.lane.browser.load import LOGGED, LoadError, PageLoad, Target

_OPTIONS: Final = {"h2": "--http2", "h3": "--http3-only"}
_VERSIONS: Final = {"h2": "2", "h3": "3"}


class Curl:
    """curl for one protocol.

    Parameters
    ----------
    protocol
        `h2` or `h3`.
    target
        The page and its server.

    Raises
    ------
    LoadError
        If curl is missing, or was built without the protocol.
    """

    def __init__(self, protocol: str, target: Target) -> None:
        found = shutil.which("curl")
        if found is None:
            raise LoadError("the program `curl` is missing: apt-get install curl")
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        check_features(said, protocol)
        self.version = "curl/" + said.split()[1]
        self.protocol, self.name, self.sizes = protocol, target.name, target.sizes
        self._words = [
            *(found, "-q", _OPTIONS[protocol], "--silent", "--show-error", "--write-out", "%{json}\\n"),
            *("--cacert", str(target.certificate)),
            *("--connect-to", f"{target.name}:443:{target.address}:{target.port}"),
        ]

    def load(self, number: int, query: str, timeout_s: float) -> tuple[PageLoad, None]:
        """Load the page; returns its numbers, and no HAR.

        Raises
        ------
        LoadError
            If a request failed or the load is invalid.
        """
        words = [*self._words, "--max-time", f"{timeout_s:g}"]
        for path in self.sizes:
            words += ["--output", "/dev/null", f"https://{self.name}{path}" + (f"?{query}" if path == "/" else "")]
        started_ns = time.monotonic_ns()
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        finished_ns = time.monotonic_ns()
        entries = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return read(entries, self.sizes, number, self.protocol, (started_ns, finished_ns)), None

    def close(self) -> None:
        """Do nothing: nothing is kept."""


def check_features(said: str, protocol: str) -> None:
    """Refuse a curl whose `--version` lists no support for a protocol."""
    feature = {"h2": "HTTP2", "h3": "HTTP3"}[protocol]
    if feature not in said.split():
        first = said.splitlines()[0] if said else "no output"
        raise LoadError(f"this curl does not support {LOGGED[protocol]} ({first.partition(' (')[0]})")


def read(
    entries: Sequence[Mapping[str, Any]],
    sizes: Mapping[str, int],
    number: int,
    protocol: str,
    between_ns: tuple[int, int],
) -> PageLoad:
    """Return the numbers of a load from what curl wrote for each object (`--write-out '%{json}'`).

    Parameters
    ----------
    entries
        One for each object, in the order of `sizes`.
    sizes
        Length of each object of the page by its path.
    number
        Which load it is.
    protocol
        `h2` or `h3`.
    between_ns
        CLOCK_MONOTONIC before and after.

    Raises
    ------
    LoadError
        If a request failed or the load is invalid.
    """
    where = f"load {number} over {LOGGED[protocol]}"
    if len(entries) != len(sizes):
        raise LoadError(f"{where}: curl reported {len(entries)} of {len(sizes)} resources")
    for entry, (path, size_bytes) in zip(entries, sizes.items(), strict=True):
        if entry.get("exitcode") != 0 or entry.get("response_code") != 200:
            raise LoadError(f"{where}: {path} failed: {entry.get('errormsg') or entry.get('response_code')}")
        if str(entry.get("http_version")) != _VERSIONS[protocol]:
            raise LoadError(f"{where}: {path} was loaded over HTTP/{entry.get('http_version')}: curl fell back")
        if entry.get("size_download") != size_bytes:
            got = expected_got(f"{size_bytes} bytes", entry.get("size_download"))
            raise LoadError(f"{where}: {path}: {got}")
    first = entries[0]
    if sum(int(entry.get("num_connects", 0)) for entry in entries) != 1:
        raise LoadError(f"{where}: curl did not use one connection for all resources")
    named_s, connected_s, secure_s = (float(first[f"time_{name}"]) for name in ("namelookup", "connect", "appconnect"))
    took_ms = 1e3 * (sum(float(entry["time_total"]) for entry in entries) - named_s)
    return PageLoad(
        number=number,
        client="curl",
        protocol=protocol,
        page_load_ms=took_ms,
        html_ms=1e3 * (float(first["time_total"]) - named_s),
        first_byte_ms=1e3 * (float(first["time_starttransfer"]) - named_s),
        handshake_ms=1e3 * (secure_s - named_s),
        connect_ms=1e3 * (secure_s - named_s),
        ssl_ms=1e3 * (secure_s - connected_s),
        early_data_sent=False if protocol == "h3" else None,
        early_data_accepted=None,
        resources=len(entries),
        body_bytes=sum(int(entry["size_download"]) for entry in entries),
        started_ns=between_ns[1] - round(took_ms * 1e6),
        connected_ns=between_ns[1] - round((took_ms - 1e3 * (secure_s - named_s)) * 1e6),
        finished_ns=between_ns[1],
    )
