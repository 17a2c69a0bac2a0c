"""One load of a page as numbers, and its validation.

Nothing counts that was not measured: a load with another protocol than the wanted one, from a cache, with compressed or
missing parts, or over a connection that was there before is an error, with the part that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from quiclab.errors import expected_got
from quiclab.lane.browser.envoy import Request
from quiclab.lane.browser.har_writer import Exchange, Recording

#: Names of the protocols, in the DevTools protocol and here; in access logs; in messages.
PROTOCOLS: Final = ("h2", "h3")
LOGGED: Final = {"h2": "HTTP/2", "h3": "HTTP/3"}
#: Keys of the lists of loads in JSON documents, and their attributes in Python.
LOAD_LISTS: Final = {"counted": "counted", "thrown_away": "discarded", "left_out": "left_out"}


class LoadError(Exception):
    """A load is invalid; the message has the reason on one line."""


@dataclass(frozen=True)
class Target:
    """A page on a server.

    Parameters
    ----------
    name, address, port
        Name in the server's certificate, and where the server is.
    certificate
        The server's (PEM), the only one that is trusted.
    sizes
        Length of each object of the page by its path.
    origins
        Number of servers of the page, which are at the same address under different names.
    """

    name: str
    address: str
    port: int
    certificate: Path
    sizes: Mapping[str, int]
    origins: int = 1


@dataclass(frozen=True)
class PageLoad:
    """One load of a page; times in ms, from the request of the page unless stated otherwise.

    Attributes
    ----------
    number
        0 for the discarded first load.
    client, protocol
        Client and protocol (`h2` or `h3`).
    page_load_ms
        To the load event, without the time for the server's name: the page load time of the study.
    html_ms, first_byte_ms
        To the last byte of the HTML; to the first byte of an answer.
    handshake_ms
        From the start of the connection to the end of its handshake, with or without 0-RTT; None if not reported.
    connect_ms, ssl_ms
        HAR's `connect` and `ssl` of the page: the wait of the request. With 0-RTT it is about zero.
    early_data_sent, early_data_accepted
        Whether the request of the page was sent before the handshake was complete, and whether the server accepted it
        as 0-RTT data. If it was sent but not accepted, the packet was lost or 0-RTT rejected. None if the protocol does
        not support it here (HTTP/2).
    resources, body_bytes
        Answers, and bytes in them.
    started_ns, connected_ns, finished_ns
        On CLOCK_MONOTONIC: the request of the page, the end of the handshake, the load event.
    """

    number: int
    client: str
    protocol: str
    page_load_ms: float
    html_ms: float
    first_byte_ms: float
    handshake_ms: float | None
    connect_ms: float | None
    ssl_ms: float | None
    early_data_sent: bool | None
    early_data_accepted: bool | None
    resources: int
    body_bytes: int
    started_ns: int
    connected_ns: int | None
    finished_ns: int


def examine(recording: Recording, sizes: Mapping[str, int], number: int, protocol: str, origins: int = 1) -> PageLoad:
    """Return the values of a browser's load after checking all of its records.

    Parameters
    ----------
    recording
        Events of the browser.
    sizes
        Length of each object by its path.
    number
        Number of the load; 0 is the discarded first load.
    protocol
        `h2` or `h3`.
    origins
        Number of servers of the page: with one, all resources come over one connection.

    Raises
    ------
    LoadError
        If it is not a complete load over a new connection of that protocol.
    """
    where = f"load {number} over {LOGGED[protocol]}"
    if recording.crashed:
        raise LoadError(f"{where}: the page crashed")
    first = recording.first
    if first is None or not recording.exchanges:
        raise LoadError(f"{where}: the browser sent no request")
    found = {}
    for exchange in recording.exchanges.values():
        _look(where, exchange, sizes, protocol)
        found[urlsplit(exchange.url).path] = exchange
    missing = [path for path in sizes if path not in found]
    if missing:
        raise LoadError(
            f"{where}: {len(missing)} of {len(sizes)} resources were not requested; the first is {missing[0]}"
        )
    on_load_ms = recording.on_load_ms
    if on_load_ms is None or recording.loaded_s is None or first.finished_s is None:
        raise LoadError(f"{where}: the load event did not fire")
    if (first.response or {}).get("connectionReused"):
        raise LoadError(f"{where}: its connection existed before the load; connections were not closed")
    connections = {(part.response or {}).get("connectionId") for part in recording.exchanges.values()}
    if origins == 1 and len(connections) > 1:
        raise LoadError(f"{where}: {expected_got('one connection', len(connections))}")
    header_s = first.at_s("receiveHeadersStart") or first.at_s("receiveHeadersEnd") or first.finished_s
    start_s, end_s, send_s = (first.at_s(name) for name in ("connectStart", "connectEnd", "sendStart"))
    known = start_s is not None and end_s is not None and end_s > start_s
    waited = send_s is not None and start_s is not None
    return PageLoad(
        number=number,
        client="chromium",
        protocol=protocol,
        page_load_ms=on_load_ms - recording.dns_ms,
        html_ms=(first.finished_s - first.sent_s) * 1e3,
        first_byte_ms=(header_s - first.sent_s) * 1e3,
        handshake_ms=(end_s - start_s) * 1e3 if known and end_s is not None and start_s is not None else None,
        connect_ms=_waited(first, "connectStart", "connectEnd") if waited else None,
        ssl_ms=_waited(first, "sslStart", "sslEnd") if waited else None,
        early_data_sent=(known and send_s is not None and end_s is not None and send_s < end_s)
        if protocol == "h3"
        else None,
        early_data_accepted=None,
        resources=len(found),
        body_bytes=sum(exchange.body_bytes for exchange in found.values()),
        started_ns=round(first.sent_s * 1e9),
        connected_ns=round(end_s * 1e9) if known and end_s is not None else None,
        finished_ns=round(recording.loaded_s * 1e9),
    )


def _waited(first: Exchange, start: str, end: str) -> float:
    return max(0.0, min(first.timing(end), first.timing("sendStart")) - first.timing(start))


def _look(where: str, exchange: Exchange, sizes: Mapping[str, int], protocol: str) -> None:
    """Raise an error for an invalid resource."""
    path, response = urlsplit(exchange.url).path, exchange.response
    if exchange.failure is not None:
        raise LoadError(f"{where}: {path} failed: {exchange.failure}")
    if path not in sizes:
        raise LoadError(f"{where}: {path} was requested, but is not a resource of the page")
    if response is None or exchange.finished_s is None:
        raise LoadError(f"{where}: the response to {path} is incomplete")
    if exchange.from_cache:
        raise LoadError(f"{where}: {path} was loaded from a cache")
    if response.get("protocol") != protocol:
        raise LoadError(
            f"{where}: {path}: expected protocol `{protocol}`, got `{response.get('protocol')}`: the browser fell back"
        )
    if response.get("status") != 200:
        raise LoadError(f"{where}: {path}: {expected_got('status 200', response.get('status'))}")
    headers = {name.lower() for name in response.get("headers", {})}
    if "content-encoding" in headers:
        raise LoadError(f"{where}: {path} was compressed")
    if exchange.body_bytes != sizes[path]:
        raise LoadError(f"{where}: {path}: {expected_got(f'{sizes[path]} bytes', exchange.body_bytes)}")


def with_log(load: PageLoad, logged: Sequence[Request], where_from: str) -> PageLoad:
    """Return a load with its entries of the server's access log: 0-RTT.

    Parameters
    ----------
    load
        The load as reported by the client.
    logged
        The log's lines since the load before.
    where_from
        Query of the page's URL, which names the load.

    Raises
    ------
    LoadError
        If the log does not have it, with the wanted protocol.
    """
    where = f"load {load.number} over {LOGGED[load.protocol]}"
    pages = [request for request in logged if request.path == where_from]
    if not pages:
        raise LoadError(f"{where}: not in the log of the server")
    others = {request.protocol for request in pages} - {LOGGED[load.protocol]}
    if others:
        raise LoadError(f"{where}: the log of the server has it over {', '.join(sorted(others))}")
    if load.protocol != "h3":
        return load
    return replace(load, early_data_accepted=pages[0].early_data)
