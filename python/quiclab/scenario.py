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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, kw_only=True)
class TokenBucket:
    """A rate shaped as by `tc-tbf`."""

    rate: str
    burst: str
    kind: Literal["token_bucket"] = "token_bucket"


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A rate over time, or delivery times, read from a file."""

    file: str
    format: Literal["csv", "mahimahi"] | None = None
    at_end: Literal["loop", "hold", "stop"] | None = None
    kind: Literal["trace"] = "trace"


@dataclass(frozen=True, kw_only=True)
class DropTail:
    """First in, first out; a packet that would exceed a limit is dropped. The packet in service counts."""

    packets: int | None = None
    bytes: str | None = None
    time: str | None = None
    kind: Literal["drop_tail"] = "drop_tail"


@dataclass(frozen=True, kw_only=True)
class Independent:
    """Loss of each packet with the same probability."""

    probability: float | str
    kind: Literal["independent"] = "independent"


@dataclass(frozen=True, kw_only=True)
class GilbertElliott:
    """Loss with a good and a bad state."""

    good_to_bad: float | str
    bad_to_good: float | str
    loss_in_bad: float | str
    loss_in_good: float | str | None = None
    kind: Literal["gilbert_elliott"] = "gilbert_elliott"


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Loss of exactly these packets, counted from 0 in the order of arrival."""

    packets: tuple[int, ...]
    kind: Literal["listed"] = "listed"


@dataclass(frozen=True, kw_only=True)
class Delay:
    """Propagation delay, drawn for each packet."""

    mean: str
    deviation: str | None = None
    distribution: Literal["constant", "normal", "uniform", "pareto"] | None = None
    reorder: bool | None = None


Rate: TypeAlias = str | TokenBucket | Trace
Loss: TypeAlias = str | float | Independent | GilbertElliott | Listed
Queue: TypeAlias = DropTail


@dataclass(frozen=True, kw_only=True)
class Link:
    """A one-way link: loss, then queue, then serialisation at the rate, then delay."""

    rate: Rate | None = None
    overhead_per_packet: str | None = None
    queue: Queue | None = None
    loss: Loss | None = None
    delay: str | Delay | None = None


@dataclass(frozen=True, kw_only=True)
class Reordering:
    """PDCP reordering (3GPP TS 38.323 section 5.2.2.2)."""

    enabled: bool | None = None
    timer: str | None = None
    sequence_bits: int | None = None


@dataclass(frozen=True, kw_only=True)
class Bearer:
    """A split bearer over several links."""

    links: tuple[str, ...]
    batch_packets: int | None = None
    shares: tuple[int, ...] | None = None
    mode: Literal["split", "duplicate"] | None = None
    reordering: Reordering | None = None


@dataclass(frozen=True, kw_only=True)
class Host:
    """What user space and kernel cost at one end of a flow."""

    receive_buffer: str | None = None
    truesize: str | None = None
    receive_datagram: str | None = None
    receive_call: str | None = None
    receive_batch: int | None = None
    send_datagram: str | None = None
    send_call: str | None = None
    send_batch: int | None = None
    timer_slack: str | Delay | None = None


@dataclass(frozen=True, kw_only=True)
class AckFrequency:
    """What a sender asks of its peer's acknowledgements (QUIC ACK Frequency extension)."""

    ack_eliciting_threshold: int
    max_ack_delay: str | None = None
    reordering_threshold: int | None = None


CongestionControl: TypeAlias = Literal[
    "newreno", "cubic", "bbr-linux", "bbr-chromium", "bbr-picoquic", "fixed", "lia", "olia", "balia"
]
SlowStartExit: TypeAlias = Literal["none", "hystart-linux", "hystart-chromium", "hystart-plus-plus", "aioquic"]


@dataclass(frozen=True, kw_only=True)
class NoPacing:
    """Packets leave as soon as the window allows."""

    kind: Literal["none"] = "none"


@dataclass(frozen=True, kw_only=True)
class LeakyBucket:
    """A bucket that fills at `factor` · cwnd / srtt."""

    factor: float | None = None
    slow_start_factor: float | None = None
    burst_packets: int | None = None
    burst_share: float | None = None
    burst_time: str | None = None
    idle_burst_packets: int | None = None
    whole_bursts: bool | None = None
    kind: Literal["leaky_bucket"] = "leaky_bucket"


@dataclass(frozen=True, kw_only=True)
class Even:
    """One packet after the other, without any burst."""

    factor: float | None = None
    kind: Literal["even"] = "even"


@dataclass(frozen=True, kw_only=True)
class Quantum:
    """As the leaky bucket, but a wait is never shorter than `quantum`."""

    factor: float | None = None
    burst_packets: int | None = None
    quantum: str | None = None
    kind: Literal["quantum"] = "quantum"


@dataclass(frozen=True, kw_only=True)
class TimeBucket:
    """A bucket of time; whatever it holds pays for a packet."""

    factor: float | None = None
    burst_packets: int | None = None
    burst_share: float | None = None
    kind: Literal["time_bucket"] = "time_bucket"


@dataclass(frozen=True, kw_only=True)
class LinuxPacing:
    """Internal pacing of Linux TCP."""

    max_rate: str | None = None
    kind: Literal["linux"] = "linux"


@dataclass(frozen=True, kw_only=True)
class FqPacing:
    """Pacing by the fq queueing discipline of the sender's host."""

    max_rate: str | None = None
    kind: Literal["fq"] = "fq"


Pacing: TypeAlias = NoPacing | LeakyBucket | Even | Quantum | TimeBucket | LinuxPacing | FqPacing


@dataclass(frozen=True, kw_only=True)
class TcpOptions:
    """Options of TCP; what is left out has the value of the profile."""

    mss: str | None = None
    timestamps: bool | None = None
    sack: bool | None = None
    dsack: bool | None = None
    window_scaling: bool | None = None
    receive_buffer: str | None = None
    max_receive_buffer: str | None = None
    max_send_buffer: str | None = None
    min_rto: str | None = None
    reordering: int | None = None
    max_reordering: int | None = None
    loss_detection: Literal["duplicate_acks", "duplicate_acks_and_rack", "rack"] | None = None
    tail_loss_probe: bool | None = None
    frto: bool | None = None
    undo: bool | None = None
    rate_reduction: Literal["none", "prr", "prr_safe_ack"] | None = None
    min_delayed_ack: str | None = None
    max_delayed_ack: str | None = None
    quick_acks: int | None = None
    compressed_acks: int | None = None
    compressed_ack_delay: str | None = None
    restart_after_idle: bool | None = None
    gso_segments: int | None = None
    initial_rto: str | None = None


@dataclass(frozen=True, kw_only=True)
class AckEvery:
    """Acknowledge every few packets, after a delay, and at once where packets are missing."""

    packets: int | None = None
    delay: str | None = None
    kind: Literal["every"] = "every"


@dataclass(frozen=True, kw_only=True)
class AckTimer:
    """Acknowledge after a delay only, whatever arrives."""

    delay: str
    kind: Literal["timer"] = "timer"


@dataclass(frozen=True, kw_only=True)
class AckRttFraction:
    """Acknowledge after a part of the RTT, or a number of packets."""

    fraction: float | None = None
    packets: int | None = None
    delay: str | None = None
    from_packet: int | None = None
    kind: Literal["rtt_fraction"] = "rtt_fraction"


@dataclass(frozen=True, kw_only=True)
class AckAsAsked:
    """Acknowledge as the peer asks with ACK_FREQUENCY frames."""

    delay: str | None = None
    kind: Literal["as_asked"] = "as_asked"


Acknowledgement: TypeAlias = AckEvery | AckTimer | AckRttFraction | AckAsAsked


@dataclass(frozen=True, kw_only=True)
class QuicOptions:
    """Options of QUIC; what is left out has the value of the profile."""

    version: Literal["v1", "gquic-37"] | None = None
    connection_id: str | None = None
    packet_number: str | None = None
    acknowledgement: Acknowledgement | None = None
    ack_ranges: int | None = None
    max_ack_delay: str | None = None
    adaptive_packet_threshold: bool | None = None
    adaptive_time_threshold: bool | None = None
    rtt_variation: Literal["rfc9002", "from_minimum"] | None = None
    persistent_congestion: bool | None = None
    probe_packets: int | None = None
    window_validation: bool | None = None
    max_window: str | None = None
    pacing_before_rtt: bool | None = None
    max_streams: int | None = None
    flow_control: Literal["fixed", "double_when_half_used", "double_within_two_rtts"] | None = None
    max_stream_receive_window: str | None = None
    max_connection_receive_window: str | None = None
    stream_scheduler: Literal["fifo", "round_robin", "priority"] | None = None
    amplification_factor: int | None = None
    datagram_congestion_control: bool | None = None
    idle_timeout: str | None = None
    path_scheduler: Literal["round_robin", "lowest_rtt"] | None = None


@dataclass(frozen=True, kw_only=True)
class Http2Options:
    """Options of an end of HTTP/2, which a page over TCP uses."""

    stream_window: str | None = None
    connection_window: str | None = None
    max_streams: int | None = None
    frame_size: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tls:
    """TLS, as flights of exact size with their round trips."""

    version: Literal["1.2", "1.3"]
    resumption: bool | None = None
    certificate: str | None = None
    early_data: Literal["accepted", "rejected"] | None = None


@dataclass(frozen=True, kw_only=True)
class EndpointConfig:
    """Stack and options of one end of a flow."""

    stack: str | None = None
    profile: str | None = None
    host: str | None = None
    congestion_control: CongestionControl | None = None
    datagram_size: str | None = None
    initial_window: str | None = None
    stream_receive_window: str | None = None
    connection_receive_window: str | None = None
    send_window: str | None = None
    packet_threshold: int | None = None
    time_threshold: float | None = None
    initial_rtt: str | None = None
    ack_frequency: AckFrequency | None = None
    controller: Literal["stack", "quiclab"] | None = None
    emulated_connections: int | None = None
    slow_start_exit: SlowStartExit | None = None
    pacing: Pacing | None = None
    tcp: TcpOptions | None = None
    quic: QuicOptions | None = None
    http2: Http2Options | None = None
    tls: Tls | None = None


@dataclass(frozen=True, kw_only=True)
class Download:
    """The client asks once; the server answers with `size`, or for `duration`."""

    size: str | None = None
    duration: str | None = None
    request: str | None = None
    kind: Literal["download"] = "download"


@dataclass(frozen=True, kw_only=True)
class RequestResponse:
    """The client asks, waits for the whole answer, pauses, and asks again."""

    count: int
    response: str
    request: str | None = None
    pause: str | None = None
    kind: Literal["request_response"] = "request_response"


@dataclass(frozen=True, kw_only=True)
class Datagrams:
    """The sender sends datagrams at a constant rate, or in periods of it, whether they arrive or not."""

    rate: str
    size: str
    duration: str
    on: str | None = None
    off: str | None = None
    kind: Literal["datagrams"] = "datagrams"


@dataclass(frozen=True, kw_only=True)
class Ping:
    """The receiver sends probes that the sender sends back."""

    count: int
    size: str | None = None
    interval: str | None = None
    kind: Literal["ping"] = "ping"


@dataclass(frozen=True, kw_only=True)
class PageObjects:
    """Objects of a page that are alike."""

    count: int
    size: str
    kind: Literal["image", "style", "script", "font"] | None = None


@dataclass(frozen=True, kw_only=True)
class Page:
    """The client loads a page: HTML first, then the objects that it names, over HTTP/3 on QUIC or HTTP/2 on TCP."""

    html: str
    objects: tuple[PageObjects, ...]
    html_think_time: str | None = None
    think_time: str | None = None
    priorities: Literal["browser", "round_robin"] | None = None
    request: str | None = None
    response: str | None = None
    kind: Literal["page"] = "page"


Workload: TypeAlias = Download | RequestResponse | Datagrams | Page | Ping


@dataclass(frozen=True, kw_only=True)
class PathRoutes:
    """Routes of a further path of a flow."""

    down: tuple[str, ...]
    up: tuple[str, ...]


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
        table, _, rest = path.partition(".")
        name, _, inside = rest.partition(".")
        if table in ("links", "bearers", "hosts", "taps", "plugins", "flows") and inside:
            present = getattr(self, table)
            if name not in present:
                raise RequestError(f"there is no `{table}.{name}`; there are {', '.join(sorted(present)) or 'none'}")
        return self._like(tree.with_value(self.to_dict(), path, tree.to_plain(value)))

    def resolved(self) -> Scenario:
        """Return the scenario validated and with every default filled in."""
        return self._like(json.loads(self.resolved_json()))

    def _like(self, plain: Mapping[str, Any]) -> Scenario:
        """Build a scenario whose files are where those of this one are."""
        return dataclasses.replace(Scenario.from_dict(plain), base_dir=self.base_dir)

    def resolved_json(self) -> str:
        """Return the validated scenario with every default filled in, as JSON of the engine."""
        return resolve(self.to_json(), str(Path(self.base_dir) / self.name), form="json")


def load(path: str | Path, sets: Sequence[tuple[str, str]] = ()) -> Scenario:
    """Read a scenario file (TOML, or JSON by its suffix), validate it and fill in every default.

    Parameters
    ----------
    path
        The file.
    sets
        Changes as (path, value text), as `--set path=value` of the command line.

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
    scenario = Scenario.from_dict(json.loads(resolve(text, str(path), sets, form)))
    return dataclasses.replace(scenario, base_dir=str(path.parent))
