"""A sender and a receiver on aioquic's asyncio API, for the kernel lane; started by its path, not imported.

The client opens a stream for each request; the server answers on it with a number of bytes, or for a time. The first
eight bytes of a request (where it has as many) say when the client started, by CLOCK_MONOTONIC. With `--h3` the client
requests `/` over HTTP/3 (RFC 9114) instead, from any server. Both report in the format `quiclab.report/1`.

It runs with aioquic from 0.9.0 (draft 28) on, in which a stream is its own sender and there are fewer options.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived

SCHEMA: Final = "quiclab.report/1"
ALPN: Final = "quiclab"
#: Maximum number of unsent bytes in aioquic's send buffer.
SEND_AHEAD_BYTES: Final = 1 << 20
_CHUNK: Final = bytes(1 << 18)
_START_BYTES: Final = 8
_SAMPLE_NS: Final = 10_000_000


class Report:
    """Report of an endpoint about its transfer."""

    def __init__(self) -> None:
        self.times: dict[str, int | None] = dict.fromkeys(("started", "connected", "first_byte", "finished"))
        self.bytes = 0
        self.failure: str | None = None
        self.statistics: dict[str, float] = {}
        self._rows: list[dict[str, float]] = []
        self._sampled_ns = 0

    def note(self, what: str) -> None:
        """Note the time of something that happens once."""
        if self.times[what] is None:
            self.times[what] = time.monotonic_ns()

    def sample(self, values: Callable[[], dict[str, float]]) -> None:
        """Take a row of the series, if the last one is long enough ago."""
        now = time.monotonic_ns()
        if now >= self._sampled_ns + _SAMPLE_NS:
            self._sampled_ns = now
            self._rows.append({"time_ns": now} | values())

    def write(self, path: Path) -> None:
        """Write it; the file appears when it is complete."""
        names = sorted({name for row in self._rows for name in row} | {"time_ns"})
        report = {
            "schema": SCHEMA,
            **{f"{name}_ns": at for name, at in self.times.items()},
            "bytes": self.bytes,
            "failure": self.failure,
            "statistics": self.statistics,
            "samples": {name: [row.get(name) for row in self._rows] for name in names},
        }
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(report))
        temporary.replace(path)


def recovery(protocol: QuicConnectionProtocol) -> dict[str, float]:
    """State of recovery, with the names that all stacks share; aioquic reports it in its log only."""
    loss = protocol._quic._loss
    control = loss._cc
    values = {"cwnd_bytes": float(control.congestion_window), "in_flight_bytes": float(control.bytes_in_flight)}
    if control.ssthresh is not None:
        values["ssthresh_bytes"] = float(control.ssthresh)
    if loss._rtt_initialized:
        values |= {"srtt_ms": loss._rtt_smoothed * 1e3, "min_rtt_ms": loss._rtt_min * 1e3}
    return values


class Server(QuicConnectionProtocol):
    """Answers every stream of its connection."""

    report: Report
    arguments: argparse.Namespace

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._requests: dict[int, bytes] = {}
        self._left: dict[int, int | None] = {}
        self._until_ns: dict[int, int] = {}
        self.report.note("started")

    def quic_event_received(self, event: QuicEvent) -> None:
        """Handle an event of aioquic."""
        if isinstance(event, StreamDataReceived):
            request = self._requests.get(event.stream_id, b"") + event.data
            self._requests[event.stream_id] = request
            if event.end_stream:
                self._left[event.stream_id] = self.arguments.response
                if self.arguments.duration is not None:
                    told = len(request) >= _START_BYTES
                    start = int.from_bytes(request[:_START_BYTES]) if told else time.monotonic_ns()
                    self._until_ns[event.stream_id] = start + int(self.arguments.duration * 1e9)
        elif isinstance(event, ConnectionTerminated):
            self.report.note("finished")

    def transmit(self) -> None:
        """Keep send buffers filled whenever something may be sent."""
        for stream_id in list(self._left):
            self._feed(stream_id)
        super().transmit()
        self.report.sample(lambda: recovery(self))
        self.report.statistics |= recovery(self)

    def _feed(self, stream_id: int) -> None:
        stream = self._quic._streams[stream_id]
        sender: Any = getattr(stream, "sender", stream)
        # what is not sent: the buffer also has what is not acknowledged, and would limit what is in flight
        unsent = sender._pending if hasattr(sender, "_pending") else sender._send_pending
        while stream_id in self._left and sum(map(len, unsent)) < SEND_AHEAD_BYTES:
            left = self._left[stream_id]
            if left is None:
                left = len(_CHUNK) if time.monotonic_ns() < self._until_ns[stream_id] else 0
                over = left == 0
            else:
                over = left <= len(_CHUNK)
                self._left[stream_id] = left - len(_CHUNK)
            data = _CHUNK[: max(left, 0)]
            self._quic.send_stream_data(stream_id, data, end_stream=over)
            self.report.bytes += len(data)
            if over:
                del self._left[stream_id]


class Client(QuicConnectionProtocol):
    """Sends requests and counts received bytes."""

    report: Report
    h3 = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._done: asyncio.Event = asyncio.Event()
        self._http = H3Connection(self._quic) if self.h3 else None
        self.ended: str | None = None

    async def ask(self, request: bytes) -> None:
        """Send a request and wait for the end of its answer."""
        self._done.clear()
        self._quic.send_stream_data(self._quic.get_next_available_stream_id(), request, end_stream=True)
        self.transmit()
        await self._done.wait()

    async def get(self, name: str) -> None:
        """Ask by HTTP/3 and wait for the end of the answer."""
        self._done.clear()
        if self._http is None:
            raise TypeError("only an HTTP/3 client sends HTTP/3 requests")
        stream_id = self._quic.get_next_available_stream_id()
        headers = [(":method", "GET"), (":scheme", "https"), (":authority", name), (":path", "/")]
        self._http.send_headers(stream_id, [(key.encode(), value.encode()) for key, value in headers], end_stream=True)
        self.transmit()
        await self._done.wait()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Handle an event of aioquic."""
        if isinstance(event, ConnectionTerminated):
            self.ended = event.reason_phrase or f"error {event.error_code}"
            self._done.set()
        elif self._http is not None:
            for part in self._http.handle_event(event):
                if isinstance(part, DataReceived):
                    self._arrived(len(part.data), over=part.stream_ended)
                elif isinstance(part, HeadersReceived) and part.stream_ended:
                    self._arrived(0, over=True)
        elif isinstance(event, StreamDataReceived):
            self._arrived(len(event.data), over=event.end_stream)

    def _arrived(self, size: int, *, over: bool) -> None:
        self.report.note("first_byte")
        self.report.bytes += size
        self.report.sample(lambda: {"delivered_bytes": float(self.report.bytes)})
        if over:
            self._done.set()


def configuration(arguments: argparse.Namespace, *, client: bool) -> QuicConfiguration:
    """Return aioquic's configuration; unset options have their defaults."""
    config = QuicConfiguration(
        is_client=client,
        alpn_protocols=H3_ALPN if getattr(arguments, "h3", False) else [ALPN],
        idle_timeout=3600.0,
    )
    # an attribute: older versions have NewReno and no such field
    config.congestion_control_algorithm = arguments.congestion_control
    if arguments.datagram_size is not None:
        config.max_datagram_size = arguments.datagram_size
    if arguments.stream_receive_window is not None:
        config.max_stream_data = arguments.stream_receive_window
    if arguments.connection_receive_window is not None:
        config.max_data = arguments.connection_receive_window
    if arguments.initial_rtt is not None:
        config.initial_rtt = arguments.initial_rtt
    if client:
        config.server_name = arguments.name
        config.verify_mode = ssl.CERT_NONE if arguments.certificate is None else ssl.CERT_REQUIRED
        if arguments.certificate is not None:
            config.load_verify_locations(cafile=str(arguments.certificate))
        if path := os.environ.get("SSLKEYLOGFILE"):
            config.secrets_log_file = Path(path).open("a", encoding="ascii", buffering=1)  # noqa: SIM115 - to the end
    else:
        config.load_cert_chain(arguments.certificate, arguments.key)
    return config


async def run_server(arguments: argparse.Namespace, report: Report, stop: asyncio.Event) -> None:
    """Serve until the program is asked to stop."""
    Server.report, Server.arguments = report, arguments
    server = await serve(
        arguments.address,
        arguments.port,
        configuration=configuration(arguments, client=False),
        create_protocol=Server,
    )
    await stop.wait()
    server.close()


async def run_client(arguments: argparse.Namespace, report: Report, stop: asyncio.Event) -> None:
    """Do all requests, or those until the program is asked to stop."""
    Client.report, Client.h3 = report, arguments.h3
    request = bytes(arguments.request)
    report.note("started")
    config = configuration(arguments, client=True)
    async with connect(arguments.address, arguments.port, configuration=config, create_protocol=Client) as protocol:
        report.note("connected")
        if not isinstance(protocol, Client):
            raise TypeError("aioquic creates the requested protocol")
        if len(request) >= _START_BYTES:
            request = int(report.times["started"] or 0).to_bytes(_START_BYTES) + request[_START_BYTES:]
        transfer = asyncio.ensure_future(_ask_all(protocol, arguments, request, report))
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait([transfer, stopped], return_when=asyncio.FIRST_COMPLETED)
        if transfer.done():
            transfer.result()
        if protocol.ended is not None:
            raise ConnectionError(protocol.ended)
        if transfer.done():
            report.note("finished")
        # closing takes three probe timeouts: longer than a program may take that was asked to stop
        report.write(arguments.report)
        transfer.cancel()
        stopped.cancel()


async def _ask_all(protocol: Client, arguments: argparse.Namespace, request: bytes, report: Report) -> None:
    times_ms: list[float] = []
    for number in range(arguments.count):
        if number and arguments.pause:
            await asyncio.sleep(arguments.pause)
        asked = time.monotonic_ns()
        await (protocol.get(arguments.name) if arguments.h3 else protocol.ask(request))
        times_ms.append((time.monotonic_ns() - asked) / 1e6)
    if len(times_ms) > 1:
        times_ms.sort()
        rank = -(-len(times_ms) * 95 // 100)  # nearest rank
        report.statistics |= {
            "responses": float(len(times_ms)),
            "response_time_ms_mean": sum(times_ms) / len(times_ms),
            "response_time_ms_min": times_ms[0],
            "response_time_ms_max": times_ms[-1],
            "response_time_ms_p95": times_ms[rank - 1],
        }


def parse_arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description="A sender and a receiver on aioquic")
    parser.add_argument("role", choices=["server", "client"])
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, default=4433)
    parser.add_argument("--certificate", type=Path, help="certificate of the server (default for a client: accept any)")
    parser.add_argument("--key", type=Path)
    parser.add_argument("--name", default="quiclab.test")
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--request", type=int, default=100)
    parser.add_argument("--response", type=int)
    parser.add_argument("--duration", type=float)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--h3", action="store_true", help="the client requests / over HTTP/3")
    parser.add_argument("--congestion-control", choices=["reno", "cubic"], default="reno")
    parser.add_argument("--datagram-size", type=int)
    parser.add_argument("--stream-receive-window", type=int)
    parser.add_argument("--connection-receive-window", type=int)
    parser.add_argument("--initial-rtt", type=float, help="in seconds")
    return parser.parse_args()


async def main() -> int:
    """Run one end and write its report."""
    arguments, report, stop = parse_arguments(), Report(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await (run_server if arguments.role == "server" else run_client)(arguments, report, stop)
    except (OSError, ConnectionError) as error:
        report.failure = str(error) or type(error).__name__
    report.write(arguments.report)
    if report.failure is not None:
        print(f"aioquic {arguments.role}: {report.failure}", file=sys.stderr)
    return int(report.failure is not None)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
