"""All loads of a run, one after the other, and their report; started in the network namespace of the client.

A round loads the page once over each protocol. The first round is discarded: it obtains the session tickets. A load
over HTTP/3 that had no ticket, and so could not send in 0-RTT, is excluded and repeated; a load whose 0-RTT
packets were sent but lost counts, and is reported.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from quiclab._base.files import write_atomically
from quiclab.errors import QuiclabError
from quiclab.lane.browser.chromium import Chromium, driver
from quiclab.lane.browser.envoy import ACCESS_LOG, PORT, Request, requests
from quiclab.lane.browser.load import LOAD_LISTS, LoadError, PageLoad, Target, with_log
from quiclab.lane.browser.site import Page

REPORT_SCHEMA: Final = "quiclab.report/1"
LOADS_SCHEMA: Final = "quiclab.loads/1"
#: How long the line of the server's log may take to come.
_LOG_S: Final = 3.0
_LOOK_S: Final = 0.01


class Loader(Protocol):
    """A client that loads pages over one protocol."""

    version: str

    def load(self, number: int, query: str, timeout_s: float) -> tuple[PageLoad, dict[str, Any]]:
        """Load the page once."""

    def close(self) -> None:
        """End it."""


@dataclass
class Loads:
    """Discarded loads, counted loads, and loads without a ticket; and their HAR by protocol."""

    discarded: list[PageLoad] = field(default_factory=list)
    counted: list[PageLoad] = field(default_factory=list)
    left_out: list[PageLoad] = field(default_factory=list)
    hars: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, load: PageLoad, har: dict[str, Any]) -> None:
        """Put a load where it belongs."""
        if load.number == 0:
            self.discarded.append(load)
        elif load.early_data_sent is False:
            self.left_out.append(load)
        else:
            self.counted.append(load)
        if load.protocol not in self.hars:
            self.hars[load.protocol] = har
        else:
            for part in ("pages", "entries"):
                self.hars[load.protocol]["log"][part] += har["log"][part]

    def counted_of(self, protocol: str) -> int:
        """Return how many loads of a protocol count."""
        return sum(load.protocol == protocol for load in self.counted)


def load_all(
    loaders: Mapping[str, Loader],
    wanted: int,
    timeout_s: float,
    pause_s: float,
    log: Callable[[str], list[Request]],
    loads: Loads,
) -> None:
    """Load a page `wanted` times and once more over each protocol, in turns.

    Parameters
    ----------
    loaders
        The clients by protocol.
    wanted
        Number of loads that count, for each protocol.
    timeout_s
        Longest time of one.
    pause_s
        Pause after each.
    log
        Returns the lines of the server's log once one of them has the path that is given.
    loads
        Where they are put.

    Raises
    ------
    LoadError
        If one failed, or too many had no ticket.
    """
    number = 0
    while number == 0 or any(loads.counted_of(protocol) < wanted for protocol in loaders):
        if number > 2 * wanted + 1:
            raise LoadError(f"{len(loads.left_out)} of {2 * wanted} loads over HTTP/3 had no ticket for 0-RTT")
        for protocol, loader in loaders.items():
            if number and loads.counted_of(protocol) >= wanted:
                continue
            query = f"{protocol}-{number}"
            load, har = loader.load(number, query, timeout_s)
            loads.add(with_log(load, log(f"/?{query}"), f"/?{query}"), har)
            time.sleep(pause_s)
        number += 1


def run(arguments: argparse.Namespace) -> int:
    """Load a page as requested and write report, loads and HAR; returns the exit code."""
    directory, flow = Path(arguments.directory), arguments.flow
    protocols = arguments.protocols.split(",")
    files = {protocol: directory / f"{flow}.{protocol}.har" for protocol in ("h2", "h3")}
    loads_file = directory / f"{flow}.loads.json"
    for file in (loads_file, *files.values()):
        file.unlink(missing_ok=True)
    loads, versions, failure = Loads(), dict[str, str](), None
    try:
        with _stoppable(), ExitStack() as stack:
            loaders = _loaders(arguments, protocols, stack)
            versions = {protocol: loader.version for protocol, loader in loaders.items()}
            log = _log_reader(directory / f"{flow}.page" / ACCESS_LOG)
            load_all(loaders, arguments.loads, arguments.timeout, arguments.pause, log, loads)
    except (LoadError, QuiclabError) as error:
        failure = str(error)
    write_atomically(directory / f"{flow}.client.json", json.dumps(report(loads, failure)).encode())
    if failure is not None:
        return 1
    for protocol, har in loads.hars.items():
        write_atomically(files[protocol], json.dumps(har, indent=1).encode())
    write_atomically(loads_file, json.dumps(table(loads, versions), indent=1).encode())
    return 0


def report(loads: Loads, failure: str | None) -> dict[str, Any]:
    """Return the report of the client: times of the last load that counts, statistics of all of them."""
    said: dict[str, Any] = {"schema": REPORT_SCHEMA, "failure": failure}
    if not loads.counted:
        return said
    last = loads.counted[-1]
    names = ("page_load_ms", "html_ms", "first_byte_ms", "handshake_ms", "connect_ms", "ssl_ms")
    statistics = {name: value for name in names if (value := getattr(last, name)) is not None}
    statistics["loads"] = len(loads.counted)
    for name in ("early_data_sent", "early_data_accepted"):
        if getattr(last, name) is not None:
            statistics[f"{name}_loads"] = sum(bool(getattr(load, name)) for load in loads.counted)
    return said | {
        "started_ns": last.started_ns,
        "connected_ns": last.connected_ns,
        "first_byte_ns": last.started_ns + round(last.first_byte_ms * 1e6),
        "finished_ns": last.finished_ns,
        "bytes": last.body_bytes,
        "statistics": statistics,
    }


def table(loads: Loads, versions: Mapping[str, str]) -> dict[str, Any]:
    """Return all loads in the form of the file of loads."""
    return {
        "schema": LOADS_SCHEMA,
        "clients": dict(versions),
        **{key: [asdict(load) for load in getattr(loads, name)] for key, name in LOAD_LISTS.items()},
    }


def _loaders(arguments: argparse.Namespace, protocols: list[str], stack: ExitStack) -> dict[str, Loader]:
    page = Page.of(json.loads(arguments.workload))
    target = Target(arguments.name, arguments.address, PORT, Path(arguments.certificate), page.sizes(), page.origins)
    playwright = stack.enter_context(driver())
    return {protocol: stack.enter_context(closing(Chromium(playwright, protocol, target))) for protocol in protocols}


def _log_reader(file: Path) -> Callable[[str], list[Request]]:
    def lines(path: str) -> list[Request]:
        end_s = time.monotonic() + _LOG_S
        while True:
            found = requests(file.read_text(encoding="utf-8", errors="replace"))
            if any(request.path == path for request in found) or time.monotonic() > end_s:
                return found
            time.sleep(_LOOK_S)

    return lines


@contextmanager
def _stoppable() -> Iterator[None]:
    """Turn SIGTERM, the end of the run, into an error, so that browsers are closed and it is reported."""

    def stop(*_: object) -> None:
        raise LoadError("the run ended before all pages were loaded")

    old = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `run` takes."""
    for name in ("directory", "flow", "workload", "address", "name", "certificate"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--protocols", default="h3")
    parser.add_argument("--loads", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--pause", type=float, default=0.5)
