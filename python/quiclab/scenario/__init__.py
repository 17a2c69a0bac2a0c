"""Scenarios as dataclasses: the same tree as the TOML files, field by field.

The engine's types are the one definition; a test compares these fields with its JSON schema. Quantities are texts
with a unit (`"20 Mbit/s"`). `None` means "not given": the engine fills in the default.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from quiclab import tree
from quiclab.errors import RequestError
from quiclab.native import resolve
from quiclab.scenario.bearer import (
    AdaptiveTimer,
    Batches,
    Bearer,
    FlowControl,
    LeastExpectedArrival,
    Proportional,
    Reordering,
    Splitter,
)
from quiclab.scenario.network import (
    Codel,
    Delay,
    DropTail,
    Feedback,
    FqCodel,
    GilbertElliott,
    HeadDrop,
    Hold,
    Host,
    Independent,
    Link,
    Listed,
    Loss,
    Queue,
    Rate,
    TokenBucket,
    Trace,
)
from quiclab.scenario.transport import (
    AckAsAsked,
    AckEvery,
    AckFrequency,
    Acknowledgement,
    AckRttFraction,
    AckTimer,
    Blest,
    CheapestFirst,
    CongestionControl,
    EarliestArrival,
    Ecf,
    EndpointConfig,
    Even,
    FqPacing,
    Http2Options,
    LeakyBucket,
    LinuxPacing,
    LowestRtt,
    NoPacing,
    Pacing,
    PathScheduler,
    Quantum,
    QuicOptions,
    Redundant,
    RoundRobin,
    SlowStartExit,
    StrictRoundRobin,
    TcpOptions,
    TimeBucket,
    Tls,
    WeightedRoundRobin,
)
from quiclab.scenario.tunnel import DirectPipeline, PathRoutes, Pipeline, PquicPipeline, Tunnel
from quiclab.scenario.workload import (
    Datagrams,
    Download,
    Media,
    Page,
    PageObjects,
    PageResource,
    Ping,
    RequestResponse,
    Workload,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "AckAsAsked",
    "AckEvery",
    "AckFrequency",
    "AckRttFraction",
    "AckTimer",
    "Acknowledgement",
    "AdaptiveTimer",
    "Batches",
    "Bearer",
    "Blest",
    "CheapestFirst",
    "Codel",
    "CongestionControl",
    "Datagrams",
    "Delay",
    "Delivered",
    "DirectPipeline",
    "Download",
    "DropTail",
    "EarliestArrival",
    "Ecf",
    "EndpointConfig",
    "Even",
    "Exchange",
    "Feedback",
    "Flow",
    "FlowControl",
    "FqCodel",
    "FqPacing",
    "GilbertElliott",
    "HeadDrop",
    "Hold",
    "Host",
    "Http2Options",
    "Independent",
    "LeakyBucket",
    "LeastExpectedArrival",
    "Link",
    "LinuxPacing",
    "Listed",
    "Loss",
    "LowestRtt",
    "Media",
    "NoPacing",
    "Pacing",
    "Page",
    "PageObjects",
    "PageResource",
    "PathRoutes",
    "PathScheduler",
    "Ping",
    "Pipeline",
    "Plugin",
    "PquicPipeline",
    "Proportional",
    "Quantum",
    "Queue",
    "QuicOptions",
    "Rate",
    "Record",
    "Redundant",
    "Reordering",
    "RequestResponse",
    "RoundRobin",
    "Scenario",
    "SlowStartExit",
    "Splitter",
    "StrictRoundRobin",
    "Tap",
    "TcpOptions",
    "TimeBucket",
    "Tls",
    "TokenBucket",
    "Trace",
    "Tunnel",
    "Until",
    "WeightedRoundRobin",
    "Wire",
    "Workload",
    "load",
]


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A transfer between two endpoints."""

    workload: Workload
    stack: str | None = None
    sender: EndpointConfig | None = None
    receiver: EndpointConfig | None = None
    down: tuple[str, ...] | None = None
    up: tuple[str, ...] | None = None
    paths: tuple[PathRoutes, ...] | None = None
    plugins: tuple[str, ...] | None = None
    start: str | None = None


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """An operation and what it is exchanged for: one of `replace`, `before` and `after`.

    `replace` is a value of the option that `operation` names, plain or as a dataclass; for a computation, and in
    `before` and `after`, it is the name of a function, `module:function`.
    """

    operation: str
    replace: object = None
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A bundle of exchanges; flows name it."""

    exchanges: tuple[Exchange, ...]
    description: str | None = None
    ends: Literal["both", "sender", "receiver"] | None = None


@dataclass(frozen=True, kw_only=True)
class Tap:
    """A point that records the packets passing it."""

    keep_packets: int | None = None


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A connection of an output to an input, each `element.port`."""

    from_: str = field(metadata={"name": "from"})
    to: str
    flow: str | None = None
    direction: Literal["down", "up"] | None = None


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a run records beside its summary."""

    series_interval: str | None = None
    packets: bool | None = None
    acks: bool | None = None
    sojourns: bool | None = None
    requests: bool | None = None
    qlog: bool | None = None
    pcapng: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """End of a run: all flows together have delivered this much."""

    delivered: str


Until: TypeAlias = Literal["workloads_done", "duration_over"] | Delivered


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One network with its flows.

    `base_dir` is not part of the tree: it is the directory that files named in it (traces) are relative to, that of
    the file after `load`.
    """

    name: str
    flows: dict[str, Flow]
    version: int = 1
    description: str | None = None
    duration: str | None = None
    until: Until | None = None
    links: dict[str, Link] = field(default_factory=dict)
    bearers: dict[str, Bearer] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    taps: dict[str, Tap] = field(default_factory=dict)
    tunnels: dict[str, Tunnel] = field(default_factory=dict)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    wires: tuple[Wire, ...] | None = None
    record: Record | None = None
    base_dir: str = field(default=".", compare=False, repr=False, metadata={"internal": True})

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain Python values, without what is `None`."""
        plain: dict[str, Any] = tree.to_plain(self)
        return plain

    def to_json(self) -> str:
        """Return the tree as JSON with sorted keys."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Scenario:
        """Build a scenario from plain Python values.

        Raises
        ------
        RequestError
            With one sentence that names the field, if it does not exist or is missing.
        """
        scenario: Scenario = tree.from_plain(cls, plain, "scenario")
        return scenario

    def with_value(self, path: str, value: object) -> Scenario:
        """Return a copy in which one value is another.

        Parameters
        ----------
        path
            Names joined by dots, such as `bearers.dc.batch_packets`. A link, bearer, host or flow that does not
            exist yet is added by giving it whole.
        value
            The new value: a plain value or one of the dataclasses; `None` removes it.

        Raises
        ------
        RequestError
            If the path does not exist.
        """
        return self.with_values({path: value})

    def with_values(self, changes: Mapping[str, object]) -> Scenario:
        """Return a copy in which several values are others, in their order; as `with_value`."""
        plain = self.to_dict()
        for path, value in changes.items():
            plain = _with_value(plain, path, value)
        return self._like(plain)

    def resolved(self, programs: str | None = None) -> Scenario:
        """Return the scenario validated and with every default filled in; `programs` as in `load`."""
        return self._like(json.loads(self.resolved_json(programs)))

    def _like(self, plain: Mapping[str, Any]) -> Scenario:
        """Build a scenario whose files are where those of this one are."""
        return dataclasses.replace(Scenario.from_dict(plain), base_dir=self.base_dir)

    def resolved_json(self, programs: str | None = None) -> str:
        """Return the validated scenario with every default filled in, as JSON of the engine."""
        return resolve(self.to_json(), str(Path(self.base_dir) / self.name), form="json", programs=programs)


def _with_value(plain: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a tree in which one value is another; `None` removes it."""
    table, _, rest = path.partition(".")
    name, _, inside = rest.partition(".")
    if table in ("links", "bearers", "tunnels", "hosts", "taps", "plugins", "flows") and inside:
        present = plain.get(table, {})
        if name not in present:
            raise RequestError(f"there is no `{table}.{name}`; there are {', '.join(sorted(present)) or 'none'}")
    changed: dict[str, Any] = tree.with_value(plain, path, tree.to_plain(value))
    return changed


def load(path: str | Path, sets: Sequence[tuple[str, str]] = (), programs: str | None = None) -> Scenario:
    """Read a scenario file (TOML, or JSON by its suffix), validate it and fill in every default.

    Parameters
    ----------
    path
        The file.
    sets
        Changes as (path, value text), as `--set path=value` of the command line.
    programs
        For a scenario of the kernel lane: its programs, see `quiclab.lane.run.programs`.

    Raises
    ------
    RequestError
        If the file cannot be read or is not a valid scenario.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RequestError(f"cannot read the scenario {path}: {reason}") from error
    form: Literal["toml", "json"] = "json" if path.suffix == ".json" else "toml"
    scenario = Scenario.from_dict(json.loads(resolve(text, str(path), sets, form, programs)))
    return dataclasses.replace(scenario, base_dir=str(path.parent))
