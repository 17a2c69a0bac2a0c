"""aioquic behind the event loop: unmodified, in virtual time, with seeded random numbers.

aioquic takes `now` everywhere; what it draws from the operating system (`os.urandom`, key pairs) and the date by which
it judges certificates are replaced while it is called, so only one run of it may go on in a process at a time. Times
are floats of seconds inside aioquic.

Its timers are those of asyncio, as in its own `QuicConnectionProtocol`: `epoll_wait` has a resolution of a
millisecond, so the event loop sleeps for whole milliseconds from the last thing that it did
(`selectors.EpollSelector.select` rounds up). The pacer then sends a burst of up to 16 datagrams each millisecond.
"""

from __future__ import annotations

import datetime
import math
import os
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from random import Random
from typing import Any, Final

from aioquic import tls
from aioquic._buffer import Buffer
from aioquic.quic import events
from aioquic.quic.configuration import SMALLEST_MAX_DATAGRAM_SIZE, QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet import pull_quic_header
from aioquic.quic.packet_builder import QuicSentPacket
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, x448, x25519
from cryptography.hazmat.primitives.serialization import load_der_private_key

from quiclab.stacks.connection import (
    Acknowledged,
    Available,
    ClosedByPeer,
    Connected,
    Datagram,
    Event,
    Lost,
    Received,
    Reset,
    Writable,
)
from quiclab.stacks.protocol import EndpointSetup, OptionError, PythonStack, StackOption

#: Resolution of timers of asyncio on Linux [ns].
LOOP_RESOLUTION_NS: Final = 1_000_000
#: aioquic may leave a timer in the past; virtual time then moves on by this much (ns).
STEP_AFTER_STALE_TIMER_NS: Final = 50_000
#: Maximum number of unsent bytes in aioquic's send buffer, which also has what is not acknowledged. As the program of
#: the kernel lane.
SEND_AHEAD_BYTES: Final = 1 << 20
#: Datagrams in the initial window (`K_INITIAL_WINDOW`); no option of aioquic changes it.
INITIAL_WINDOW_DATAGRAMS: Final = 10
#: What a packet with a DATAGRAM frame has besides its data: short header with a connection ID of 8 bytes and a packet
#: number of 2, type and length of the frame, AEAD tag.
DATAGRAM_OVERHEAD_BYTES: Final = 1 + 8 + 2 + 3 + 16
#: Limit of DATAGRAM frames that an end offers: the largest value that its peer never reaches.
MAX_DATAGRAM_FRAME_BYTES: Final = 65_535
#: Date for the validation of certificates, since virtual time has no date; native stacks use the same.
VIRTUAL_DATE: Final = datetime.datetime(2027, 1, 15, tzinfo=datetime.UTC)
#: Names of its congestion controls, in scenarios and in aioquic.
_CONTROLS: Final = {"newreno": "reno", "cubic": "cubic"}
#: Attribute of aioquic's configuration for each option, and how its value is written there.
_ATTRIBUTES: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "congestion_control": ("congestion_control_algorithm", _CONTROLS.__getitem__),
    "datagram_size": ("max_datagram_size", int),
    "stream_receive_window": ("max_stream_data", int),
    "connection_receive_window": ("max_data", int),
    "initial_rtt": ("initial_rtt", lambda nanoseconds: nanoseconds / 1e9),
}
# Phases of congestion control, numbered as `Phase` of quiclab-core.
_SLOW_START: Final = 0
_AVOIDANCE: Final = 2
_PEER: Final = ("10.0.0.1", 443)


def validate(options: Mapping[str, Any]) -> None:
    """Check the values of options.

    Raises
    ------
    OptionError
        For the first one that aioquic does not take.
    """
    window = options.get("initial_window")
    initial_window = INITIAL_WINDOW_DATAGRAMS * int(options.get("datagram_size", SMALLEST_MAX_DATAGRAM_SIZE))
    if window is not None and window != initial_window:
        raise OptionError("initial_window", f'"{window} B"', f'"{initial_window} B", ten datagrams')
    control = options.get("congestion_control")
    if control is not None and control not in _CONTROLS:
        raise OptionError("congestion_control", f'"{control}"', " or ".join(f'"{name}"' for name in _CONTROLS))


# bound before the classes are replaced
_x25519_from_bytes = x25519.X25519PrivateKey.from_private_bytes
_x448_from_bytes = x448.X448PrivateKey.from_private_bytes


class _SeededX25519(x25519.X25519PrivateKey):
    """Stands in for the class in `aioquic.tls`: its key pairs come from `os.urandom`."""

    @classmethod
    def generate(cls) -> x25519.X25519PrivateKey:
        return _x25519_from_bytes(os.urandom(32))


class _SeededX448(x448.X448PrivateKey):
    """As `_SeededX25519`."""

    @classmethod
    def generate(cls) -> x448.X448PrivateKey:
        return _x448_from_bytes(os.urandom(56))


def _seeded_ec_key(curve: ec.EllipticCurve) -> ec.EllipticCurvePrivateKey:
    """Stand in for `ec.generate_private_key`; one byte less than the order of the curve has is always below it."""
    return ec.derive_private_key(1 + int.from_bytes(os.urandom(curve.key_size // 8 - 1)), curve)


def loop_wakes_ns(now_ns: int, due_ns: int) -> int:
    """Return when asyncio wakes for a timer, if nothing else wakes it after `now_ns`: whole milliseconds later."""
    sleep_ns = -(-(due_ns - now_ns) // LOOP_RESOLUTION_NS) * LOOP_RESOLUTION_NS
    return now_ns + (sleep_ns if sleep_ns > 0 else STEP_AFTER_STALE_TIMER_NS)


class AioquicConnection:
    """One end of a connection of aioquic, as `quiclab.stacks.PythonConnection`."""

    def __init__(self, setup: EndpointSetup) -> None:
        self._random = Random(setup.seed)  # noqa: S311  # a repeatable run is the purpose, secrets are not
        self._server = setup.server
        self._told: list[Event] = []
        self._blocked: list[int] = []
        # streams that the peer allowed when it was last looked at
        self._limits = (0, 0)
        # streams whose end is written and not acknowledged
        self._ending: list[int] = []
        self._packets_sent = self._packets_received = 0
        self._lost_packets = self._congestion_events = 0
        self._configuration = _configuration(setup)
        if self._server:
            self._configuration.certificate = x509.load_der_x509_certificate(setup.certificate)
            self._configuration.private_key = load_der_private_key(setup.private_key, password=None)
        self._made: QuicConnection | None = None

    @property
    def _connection(self) -> QuicConnection:
        if self._made is None:
            raise RuntimeError("streams exist in a connection only")
        return self._made

    def _counted(self, connection: QuicConnection) -> QuicConnection:
        """Count losses and recovery periods of a new connection, which aioquic reports only in its log."""
        control: Any = connection._loss._cc
        lose = control.on_packets_lost

        def on_packets_lost(*, now: float, packets: Iterable[QuicSentPacket]) -> None:
            packets = list(packets)
            recovery_start = control._congestion_recovery_start_time
            lose(now=now, packets=packets)
            self._lost_packets += len(packets)
            self._congestion_events += control._congestion_recovery_start_time != recovery_start

        control.on_packets_lost = on_packets_lost
        return connection

    def connect(self, now_ns: int) -> None:
        """Begin the handshake."""
        with self._virtual():
            self._made = self._counted(QuicConnection(configuration=self._configuration))
            self._made.connect(_PEER, now=now_ns / 1e9)

    def receive(self, now_ns: int, datagram: bytes) -> None:
        """Take a UDP payload that arrives at `now_ns`."""
        self._packets_received += 1
        with self._virtual():
            if self._made is None:
                if not self._server:
                    return
                header = pull_quic_header(Buffer(data=datagram), host_cid_length=8)
                destination = header.destination_cid
                self._made = self._counted(
                    QuicConnection(configuration=self._configuration, original_destination_connection_id=destination)
                )
            self._made.receive_datagram(datagram, _PEER, now=now_ns / 1e9)

    def wake(self, now_ns: int) -> None:
        """Handle the timers that are due at `now_ns`."""
        if self._made is not None:
            timer = self._made.get_timer()
            if timer is not None and timer * 1e9 <= now_ns:
                with self._virtual():
                    self._made.handle_timer(now=now_ns / 1e9)

    def events(self) -> list[Event]:
        """Return what has happened since the last call, in order."""
        if self._made is None:
            return []
        told: list[Event] = []
        while (event := self._made.next_event()) is not None:
            told += _told(event)
        blocked, self._blocked = self._blocked, []
        for stream in blocked:
            if self._has_room(stream):
                told.append(Writable(stream))
            else:
                self._blocked.append(stream)
        if self._allowed() != self._limits:
            self._limits = self._allowed()
            told.append(Available())
        acknowledged = [stream for stream in self._ending if self._is_acknowledged(stream)]
        self._ending = [stream for stream in self._ending if stream not in acknowledged]
        return [*told, *map(Acknowledged, acknowledged)]

    def outputs(self, now_ns: int) -> list[bytes]:
        """Return the UDP payloads to send now."""
        if self._made is None:
            return []
        with self._virtual():
            datagrams = [data for data, _ in self._made.datagrams_to_send(now=now_ns / 1e9)]
        self._packets_sent += len(datagrams)
        return datagrams

    def next_wake(self, now_ns: int) -> int | None:
        """Return the next deadline in ns, or None."""
        timer = None if self._made is None else self._made.get_timer()
        return None if timer is None else loop_wakes_ns(now_ns, math.ceil(timer * 1e9))

    def _allowed(self) -> tuple[int, int]:
        """Return how many streams the peer allows: bidirectional and unidirectional ones."""
        return self._connection._remote_max_streams_bidi, self._connection._remote_max_streams_uni

    def open(self, bidirectional: bool) -> int | None:
        """Open a stream, if the peer allows one more: aioquic would hold it back, but not its reset."""
        stream = self._connection.get_next_available_stream_id(is_unidirectional=not bidirectional)
        if stream // 4 >= self._allowed()[not bidirectional]:
            return None
        self._connection.send_stream_data(stream, b"")
        return stream

    def _has_room(self, stream: int) -> bool:
        found = self._connection._streams.get(stream)
        return found is None or sum(map(len, found.sender._pending)) < SEND_AHEAD_BYTES

    def _is_acknowledged(self, stream: int) -> bool:
        found = self._connection._streams.get(stream)  # aioquic forgets streams that have ended both ways
        return found is None or found.sender.is_finished

    def write(self, stream: int, data: bytes) -> int:
        """Queue data while less than `SEND_AHEAD_BYTES` wait."""
        if not self._has_room(stream):
            self._blocked.append(stream)
            return 0
        self._connection.send_stream_data(stream, data)
        return len(data)

    def finish(self, stream: int) -> None:
        """End a stream after what has been written."""
        self._connection.send_stream_data(stream, b"", end_stream=True)
        self._ending.append(stream)

    def reset(self, stream: int) -> None:
        """Abandon a stream."""
        if not self._is_acknowledged(stream):
            self._connection.reset_stream(stream, 0)
        self._ending = [other for other in self._ending if other != stream]

    def set_priority(self, stream: int, priority: int) -> None:
        """Do nothing: aioquic sends streams in turn."""

    def send_datagram(self, data: bytes) -> int | None:
        """Queue a DATAGRAM frame; return the largest size that can be sent if it is larger."""
        most = self._configuration.max_datagram_size - DATAGRAM_OVERHEAD_BYTES
        if len(data) > most:
            return most
        self._connection.send_datagram_frame(data)
        return None

    def waiting_datagram_bytes(self) -> int:
        """Return the bytes of datagrams that wait."""
        return sum(map(len, self._connection._datagrams_pending))

    def close(self, now_ns: int) -> None:  # noqa: ARG002  # the interface has it
        """Close the connection without an error."""
        self._connection.close()

    def statistics(self) -> dict[str, float]:
        """Return values over the whole run."""
        return self.sample()

    def sample(self) -> dict[str, float]:
        """Return recovery state and counters at this moment; names and units as those of the native stacks."""
        counters = {"packets_sent": self._packets_sent, "packets_received": self._packets_received}
        if self._made is None:
            return dict(counters)
        recovery = self._made._loss
        values: dict[str, float] = {
            "cwnd_bytes": recovery.congestion_window,
            "in_flight_bytes": recovery.bytes_in_flight,
            "lost_packets": self._lost_packets,
            "congestion_events": self._congestion_events,
            **counters,
        }
        threshold = recovery._cc.ssthresh
        if threshold is not None:
            values["ssthresh_bytes"] = threshold
        values["phase"] = _SLOW_START if threshold is None or recovery.congestion_window < threshold else _AVOIDANCE
        if recovery._pacer.packet_time is not None:
            values["pacing_rate_mbps"] = 8 * recovery._pacer._max_datagram_size / recovery._pacer.packet_time / 1e6
        if recovery._rtt_initialized:
            values["srtt_ms"] = recovery._rtt_smoothed * 1e3
            values["min_rtt_ms"] = recovery._rtt_min * 1e3
        return values

    @contextmanager
    def _virtual(self) -> Iterator[None]:
        """Replace what aioquic takes from the operating system while it is called."""
        replaced: list[tuple[Any, str, Any]] = [
            (os, "urandom", self._random.randbytes),
            (tls, "utcnow", lambda: VIRTUAL_DATE),
            # where aioquic.tls looks them up
            (x25519, "X25519PrivateKey", _SeededX25519),
            (x448, "X448PrivateKey", _SeededX448),
            (ec, "generate_private_key", _seeded_ec_key),
        ]
        originals = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
        try:
            for owner, name, replacement in replaced:
                setattr(owner, name, replacement)
            yield
        finally:
            for owner, name, original in originals:
                setattr(owner, name, original)


def _told(event: events.QuicEvent) -> list[Event]:
    """Return what an event of aioquic means to the application."""
    told: Event | None = None
    match event:
        case events.HandshakeCompleted():
            told = Connected()
        case events.StreamDataReceived():
            told = Received(event.stream_id, event.data, event.end_stream)
        case events.StreamReset():
            told = Reset(event.stream_id)
        case events.DatagramFrameReceived():
            told = Datagram(event.data)
        case events.ConnectionTerminated(error_code=0):
            told = ClosedByPeer()
        case events.ConnectionTerminated():
            told = Lost(event.reason_phrase or f"error {event.error_code}")
    return [] if told is None else [told]


def _configuration(setup: EndpointSetup) -> QuicConfiguration:
    configuration = QuicConfiguration(
        is_client=not setup.server,
        alpn_protocols=[setup.alpn.decode()],
        server_name=setup.server_name,
        verify_mode=None if setup.server else ssl.CERT_NONE,
    )
    workload = setup.workload
    if workload["kind"] in {"datagrams", "ping"} or workload.get("delivery") == "datagrams":
        configuration.max_datagram_frame_size = MAX_DATAGRAM_FRAME_BYTES
    for option, value in setup.options.items():
        if option == "initial_window":  # what it is anyway: see `validate`
            continue
        attribute, convert = _ATTRIBUTES[option]
        setattr(configuration, attribute, convert(value))
    return configuration


STACK: Final = PythonStack(
    name="aioquic",
    version=version("aioquic"),
    description="aioquic, the QUIC implementation in Python of the published study; in virtual time",
    protocol="quic",
    connection=AioquicConnection,
    validate=validate,
    options=(
        StackOption(
            "congestion_control",
            "congestion control",
            "newreno",
            "QuicConfiguration.congestion_control_algorithm, aioquic 1.7.2",
        ),
        StackOption("datagram_size", "largest UDP payload", "1200 B", "SMALLEST_MAX_DATAGRAM_SIZE, aioquic 1.7.2"),
        StackOption(
            "initial_window",
            "initial congestion window: ten datagrams, no other value",
            "10 datagrams",
            "K_INITIAL_WINDOW, aioquic 1.7.2",
        ),
        StackOption(
            "stream_receive_window",
            "flow-control window of a stream, doubled on demand",
            "1 MiB",
            "QuicConfiguration.max_stream_data, aioquic 1.7.2",
        ),
        StackOption(
            "connection_receive_window",
            "flow-control window of the connection, doubled on demand",
            "1 MiB",
            "QuicConfiguration.max_data, aioquic 1.7.2",
        ),
        StackOption(
            "initial_rtt",
            "RTT assumed before the first sample",
            "100 ms",
            "QuicConfiguration.initial_rtt, aioquic 1.7.2",
        ),
    ),
)
