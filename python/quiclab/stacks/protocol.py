"""The interface of a stack written in Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from quiclab._base.native import extension
from quiclab.errors import expected_got
from quiclab.stacks.connection import PythonConnection


class PythonEndpoint(Protocol):
    """One end of a flow that is no QUIC and runs its workload itself, as the event loop calls it.

    All times are integer nanoseconds of virtual time. An endpoint has no clock, no socket and no thread, and draws
    random numbers from the seed of its `EndpointSetup` only: the same calls must give the same datagrams.

    The loop calls `receive` for each datagram that arrives and `wake` at the time that `next_wake` returned. After
    each call it queries `outputs`, `next_wake` and `progress`; once before the first, only the last two.
    An exception in any method ends the run, which reports it as a failure with the text of the exception.
    """

    def receive(self, now_ns: int, datagram: bytes) -> None:
        """Take a UDP payload that arrives at `now_ns`."""

    def wake(self, now_ns: int) -> None:
        """Handle the deadline that is due at `now_ns`."""

    def outputs(self) -> list[bytes]:
        """Return the UDP payloads to send now, in order, and discard them; IPv4 and UDP headers (28 B) are added."""

    def next_wake(self) -> int | None:
        """Return the next deadline [ns], or None while only datagrams are awaited.

        A deadline that is not later than now is due immediately; a run in which time does not advance is stopped.
        """

    def progress(self) -> tuple[int | None, int | None, int, bool]:
        """Return start and finish [ns, or None], bytes delivered to the application, and whether the flow failed.

        The flow is done when the client's end is finished. An end that has failed is not called again.
        """

    def statistics(self) -> dict[str, float]:
        """Return values over the whole run, by the names that `sample` lists."""

    def sample(self) -> dict[str, float]:
        """Return the current values that are available to the endpoint.

        `cwnd_bytes`, `ssthresh_bytes`, `in_flight_bytes`, `srtt_ms`, `min_rtt_ms`, `pacing_rate_mbps`, `phase` (the
        number of a `Phase` of quiclab-core), `lost_packets`, `spurious_losses`, `congestion_events`, `packets_sent`,
        `packets_received`, `pto_count`. Another name ends the run with a `ValueError`.
        """


class OptionError(ValueError):
    """A stack does not accept an option of a scenario.

    Parameters
    ----------
    field
        The option, as in `StackOption.name`.
    value
        The value that was given, as in a scenario file: strings with quotation marks.
    expected
        The values that the stack accepts, in prose.
    """

    def __init__(self, field: str, value: str, expected: str) -> None:
        super().__init__(f"{field}: {expected_got(expected, value)}")
        self.field, self.value, self.expected = field, value, expected


@dataclass(frozen=True)
class StackOption:
    """An option of an endpoint that a stack supports, or a fixed property of the stack.

    Attributes
    ----------
    name
        Its name in scenarios, with dots within tables; None for a property that no option changes.
    meaning
        Its meaning, on one line.
    default
        Its value if the scenario does not set it, with its unit.
    source
        Source of this value.
    """

    name: str | None
    meaning: str
    default: str
    source: str


@dataclass(frozen=True)
class StackProfile:
    """A named parameter set of a stack.

    Attributes
    ----------
    name
        Its name in scenarios.
    description
        The implementation that it represents, in one sentence.
    options
        The values of the set; unlisted options have the values of the stack.
    """

    name: str
    description: str
    options: tuple[StackOption, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EndpointSetup:
    """Parameters of a new endpoint.

    Attributes
    ----------
    server
        Whether this end waits for the connection and, in a download, sends the data.
    options
        The options that the scenario sets, by name, quantities in base units: bytes, nanoseconds, bit/s. Tables are
        dictionaries. `profile` is one of them.
    workload
        The workload as in the scenario, quantities in base units: a download has `kind`, `request` [B] and either
        `size` [B] or `duration` [ns, from `start_ns` on].
    start_ns
        Start of the client [ns].
    seed
        Seed of all random numbers of this end.
    certificate, private_key
        The server's certificate and key (DER), for stacks with TLS.
    server_name
        The name in the certificate.
    alpn
        Application protocol of the handshake.
    """

    server: bool
    options: Mapping[str, Any]
    workload: Mapping[str, Any]
    start_ns: int
    seed: int
    certificate: bytes
    private_key: bytes
    server_name: str
    alpn: bytes


@dataclass(frozen=True, kw_only=True)
class PythonStack:
    """A stack written in Python.

    Both functions must be those of a module that worker processes can import. Results name `version`, and the identity
    of a run covers the code of `endpoint`: the folder of its package, or its file if it is in no package.

    Attributes
    ----------
    name
        Its name in scenarios.
    version
        Version of the library that it represents.
    description
        Description in one sentence.
    protocol
        Protocol between its two ends.
    connection
        Creates an end of a connection, on which the workloads of quiclab run. An exception rejects the scenario.
    endpoint
        In its place, for what is no QUIC: creates an endpoint, which runs the workload itself.
    validate
        Checks the options of an endpoint, as in `EndpointSetup.options`; raises `OptionError`. Options that `options`
        does not list and unknown profiles are rejected before it is called.
    proprietary
        Whether no other stack understands its datagrams, so that it must run at both ends.
    workloads
        Kinds of workload that it runs (default: all that run on streams and datagrams; of an `endpoint`, downloads).
    options
        The options that it supports, and fixed properties that affect results.
    profiles
        Its named parameter sets.
    """

    name: str
    version: str
    description: str
    protocol: Literal["quic", "udp"]
    connection: Callable[[EndpointSetup], PythonConnection] | None = None
    endpoint: Callable[[EndpointSetup], PythonEndpoint] | None = None
    validate: Callable[[Mapping[str, Any]], None] | None = None
    proprietary: bool = False
    workloads: tuple[str, ...] = ()
    options: tuple[StackOption, ...] = ()
    profiles: tuple[StackProfile, ...] = ()

    def __post_init__(self) -> None:
        """Fill in the workloads.

        Raises
        ------
        TypeError
            If it has neither `connection` nor `endpoint`, or both.
        """
        if (self.connection is None) == (self.endpoint is None):
            raise TypeError(f"stack `{self.name}`: expected either `connection` or `endpoint`")
        if not self.workloads:
            object.__setattr__(
                self,
                "workloads",
                ("download",) if self.connection is None else tuple(extension().workloads_on_streams()),
            )

    @property
    def factory(self) -> Callable[[EndpointSetup], PythonConnection | PythonEndpoint]:
        """What creates an end of it."""
        factory = self.connection or self.endpoint
        if factory is None:  # see __post_init__
            raise TypeError(self.name)
        return factory

    def check(self, options: Mapping[str, Any]) -> None:
        """Check the options of an endpoint.

        Raises
        ------
        OptionError
            For the first one that the stack does not take.
        """
        taken = [option.name for option in self.options if option.name is not None]
        for name, value in options.items():
            if name == "profile":
                known = " or ".join(json.dumps(profile.name) for profile in self.profiles)
                if value not in {profile.name for profile in self.profiles}:
                    raise OptionError(name, json.dumps(value), known or f"no value: `{self.name}` has no profiles")
            elif name not in taken and not any(option.startswith(f"{name}.") for option in taken):
                shown = "a table" if isinstance(value, dict) else json.dumps(value)
                has = f"only {', '.join(taken)}" if taken else "no options"
                raise OptionError(name, shown, f"no value: `{self.name}` has {has}")
        if self.validate is not None:
            self.validate(options)

    def describe(self) -> dict[str, Any]:
        """Return its entry in the catalogue, with the keys that native stacks have."""
        return {
            "description": self.description,
            "multipath": False,
            "name": self.name,
            "options": _entries(self.options),
            "profiles": [
                {
                    "description": profile.description,
                    "name": profile.name,
                    "options": _entries(profile.options),
                }
                for profile in self.profiles
            ],
            "protocol": self.protocol,
            "version": self.version,
            "workloads": list(self.workloads),
        }


def _entries(options: tuple[StackOption, ...]) -> list[dict[str, str | None]]:
    return [
        {"default": option.default, "meaning": option.meaning, "option": option.name, "source": option.source}
        for option in options
    ]
