"""Chromium, headless, through Playwright and the DevTools protocol: one process and one profile for all loads.

| what | how |
| --- | --- |
| protocol | `--origin-to-force-quic-on` for HTTP/3, `--disable-quic` for HTTP/2 |
| name of the server | `--host-resolver-rules`: neither DNS nor Alt-Svc is involved |
| certificate | `--ignore-certificate-errors-spki-list` with the one key of the server |
| profile | a separate directory, removed afterwards, with `HOME` and `TMPDIR`: nothing else is written |
| connections ahead of need | off (`net.network_prediction_options`): they would not be in HAR's times |
| between loads | `Network.clearBrowserCache`; `chrome.benchmarking.closeConnections`; tickets stay |

After the published study: chrome-har-capturer with a script that keeps the context, clears the cache and closes all
connections; and its author's repository (naveenrajm7/quic-setup) for how the browser is brought to use QUIC.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import ssl
import tempfile
import time
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab.lane.browser.har_writer import EVENTS, Event, Recording, har, record
from quiclab.lane.browser.load import LOGGED, LoadError, PageLoad, Target, examine
from quiclab.lane.browser.site import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Playwright

PROGRAM: Final = "chromium"
#: `network_prediction_options`: never.
_NEVER: Final = 2
#: How long the last words of a connection are waited for before the next load begins.
_CLOSED_S: Final = 0.1
#: Interval of polling for events after the load event; polling earlier would take CPU time from the browser.
_STEP_MS: Final = 20
_START_TIMEOUT_MS: Final = 60_000
#: In the profile. Chromium makes a socket below it (`org.chromium.Chromium.XXXXXX/SingletonSocket`), and a path of a
#: socket has no more than 107 bytes (unix(7)): hence so short.
_TEMPORARY: Final = "t"


def environment(profile: Path) -> dict[str, str | float | bool]:
    """Return the environment of a browser: it writes only into its profile, which is removed with it."""
    path = os.environ.get("PATH", os.defpath)
    return {"HOME": str(profile), "TMPDIR": str(profile / _TEMPORARY), "PATH": path, "LANG": "C"}


def key_hash(certificate: Path) -> str:
    """Return what Chromium calls a key: SHA-256 of the SubjectPublicKeyInfo of a certificate (PEM), in Base64."""
    der = ssl.PEM_cert_to_DER_cert(certificate.read_text(encoding="ascii"))
    return base64.b64encode(hashlib.sha256(public_key(der)).digest()).decode()


def public_key(der: bytes) -> bytes:
    """Return the SubjectPublicKeyInfo of a certificate (RFC 5280 section 4.1): the sixth field after the version."""
    body = _content(der, _content(der, 0)[0])
    at, fields = body[0], []
    while at < body[1]:
        content = _content(der, at)
        fields.append((der[at], at, content[1]))
        at = content[1]
    versioned = fields[0][0] == 0xA0  # explicit tag 0
    _, start, end = fields[6 if versioned else 5]
    return der[start:end]


def _content(der: bytes, at: int) -> tuple[int, int]:
    """Return where the content of the element at `at` begins and ends (DER)."""
    length, start = der[at + 1], at + 2
    if length & 0x80:
        digits = length & 0x7F
        length = int.from_bytes(der[start : start + digits])
        start += digits
    return start, start + length


@contextmanager
def driver() -> Iterator[Playwright]:
    """Start Playwright; there is one for all browsers of a process.

    Raises
    ------
    LoadError
        If it is missing or does not start.
    """
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an extra of the package
    except ImportError:
        raise LoadError("the Python package `playwright` is missing: pip install 'quiclab[browser]'") from None
    try:
        playwright = sync_playwright().start()
    except Exception as error:
        raise LoadError(f"Playwright does not start: {_short(error)}") from error
    try:
        yield playwright
    finally:
        with suppress(Exception):
            playwright.stop()


class Chromium:
    """A browser for one protocol.

    Parameters
    ----------
    playwright
        From `driver`.
    protocol
        `h2` or `h3`.
    target
        The page and its server.

    Raises
    ------
    LoadError
        If Chromium is missing or does not start.
    """

    def __init__(
        self,
        playwright: Playwright,
        protocol: str,
        target: Target,
    ) -> None:
        self.protocol, self.name, self.sizes = protocol, target.name, target.sizes
        self.origins = target.origins
        names = [name_of(origin, target.name) for origin in range(target.origins)]
        mapped = ",".join(f"MAP {name} {target.address}:{target.port}" for name in names)
        self._home = tempfile.TemporaryDirectory(prefix="quiclab-browser-", ignore_cleanup_errors=True)
        profile = Path(self._home.name)
        preferences = profile / "Default" / "Preferences"
        preferences.parent.mkdir()
        preferences.write_text(json.dumps({"net": {"network_prediction_options": _NEVER}}), encoding="utf-8")
        (profile / _TEMPORARY).mkdir()
        arguments = [
            f"--ignore-certificate-errors-spki-list={key_hash(target.certificate)}",
            f"--host-resolver-rules={mapped}",
            "--no-proxy-server",
            "--enable-benchmarking",
            "--enable-net-benchmarking",
            *(
                ["--enable-quic", f"--origin-to-force-quic-on={','.join(f'{name}:443' for name in names)}"]
                if protocol == "h3"
                else ["--disable-quic"]
            ),
        ]
        try:
            self._context = playwright.chromium.launch_persistent_context(
                str(profile),
                executable_path=_program(),
                headless=True,
                chromium_sandbox=False,
                args=arguments,
                env=environment(profile),
                timeout=_START_TIMEOUT_MS,
            )
            self._page = self._context.pages[0]
            self._crashed = False
            self._page.on("crash", self._on_crash)
            self._session = self._context.new_cdp_session(self._page)
            browser = self._context.browser
            self.version = f"Chromium/{browser.version}" if browser is not None else "Chromium/unknown"
            self._events: list[Event] = []
            self._prepare()
        except Exception as error:  # any error of Playwright: its classes belong to an optional dependency
            self.close()
            raise LoadError(f"Chromium does not start: {_short(error)}") from error

    def _on_crash(self, _page: object) -> None:
        self._crashed = True

    def _prepare(self) -> None:
        for name in EVENTS:
            self._session.on(name, lambda event, name=name: self._events.append((name, event)))
        for domain in ("Network", "Page", "Inspector"):
            self._session.send(f"{domain}.enable")
        if not self._page.evaluate("Boolean(window.chrome && chrome.benchmarking)"):
            raise LoadError(f"{self.version} cannot close its connections: chrome.benchmarking is not available")

    def load(self, number: int, query: str, timeout_s: float) -> tuple[PageLoad, dict[str, Any]]:
        """Load the page over a new connection, with an empty cache.

        Parameters
        ----------
        number
            Number of the load; 0 is the discarded first load.
        query
            Query of the URL, by which the server's log knows the load.
        timeout_s
            Longest time until all is there.

        Returns
        -------
        tuple
            Its numbers, and its HAR.

        Raises
        ------
        LoadError
            If the browser crashed, the load timed out, or is invalid.
        """
        try:
            recording = self._load(number, query, timeout_s)
        except LoadError:
            raise
        except Exception as error:
            reason = self._reason(error, timeout_s)
            raise LoadError(f"load {number} over {LOGGED[self.protocol]}: {reason}") from error
        examined = examine(recording, self.sizes, number, self.protocol, self.origins)
        return examined, har(recording, f"load_{number}", self.version, version("quiclab"))

    def _load(self, number: int, query: str, timeout_s: float) -> Recording:
        self._page.goto("about:blank")
        self._page.evaluate("chrome.benchmarking.closeConnections()")
        self._session.send("Network.clearBrowserCache")
        self._page.wait_for_timeout(_CLOSED_S * 1e3)
        self._events.clear()
        end_s = time.monotonic() + timeout_s
        self._page.goto(f"https://{self.name}/?{query}", wait_until="load", timeout=timeout_s * 1e3)
        # a page with dependencies may request more after its load event
        while not (recording := record(self._events)).is_complete or len(recording.exchanges) < len(self.sizes):
            if recording.crashed:
                break
            if time.monotonic() > end_s:
                raise LoadError(f"load {number} over {LOGGED[self.protocol]}: {self._late(timeout_s)}")
            self._page.wait_for_timeout(_STEP_MS)
        return recording

    def _reason(self, error: Exception, timeout_s: float) -> str:
        if self._crashed or type(error).__name__ == "TargetClosedError":
            return "Chromium crashed"
        if type(error).__name__ == "TimeoutError":
            return self._late(timeout_s)
        failed = [part.failure for part in record(self._events).exchanges.values() if part.failure]
        if failed and self.protocol == "h3":
            return f"the server did not answer over HTTP/3 ({failed[0]})"
        return failed[0] if failed else _short(error)

    def _late(self, timeout_s: float) -> str:
        there = sum(part.finished_s is not None for part in record(self._events).exchanges.values())
        return f"took longer than {timeout_s:g} s; {there} of {len(self.sizes)} resources were complete"

    def close(self) -> None:
        """End the browser and remove its profile."""
        with suppress(Exception):
            self._context.close()
        self._home.cleanup()


def _program() -> str:
    """Return the system's Chromium.

    Raises
    ------
    LoadError
        If there is none.
    """
    found = shutil.which(PROGRAM)
    if found is None:
        raise LoadError(f"the program `{PROGRAM}` is missing: apt-get install chromium")
    return found


def _short(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
