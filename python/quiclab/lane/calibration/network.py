"""Whether the network of a scenario is the wanted one: a ping, bursts of datagrams and a TCP download through it.

| figure | wanted | achieved |
| --- | --- | --- |
| round-trip time | delays both ways, serialisation of the echo | least of the echoes; where delays vary their mean |
| rate, of each direction | that of the slowest link, as payload | arrivals of a burst at 1.5 times the rate |
| queue, of each direction | the slowest link's limit in packets | datagrams in it when the first one was dropped |
| TCP goodput | the rate with full segments | a download by the stack `linux` |

A direction is measured by reversing the routes: the burst is always sent from the server to the client.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from quiclab.errors import QuiclabError, unexpected
from quiclab.lane.run import Lane
from quiclab.result import RunResult
from quiclab.scenario import Scenario
from quiclab.scenario.quantity import bits_per_second, byte_count, seconds

PROBE: Final = Path(__file__).parent / "probe.toml"
FLOW: Final = "probe"
PINGS, PING_INTERVAL, PING_BYTES = 25, "20 ms", 56
#: Payload of a datagram of the burst [B], and headers of UDP and IPv4 (RFC 768, RFC 791).
BURST_BYTES, HEADERS_BYTES = 1200, 28
#: Rate of the burst relative to the link, and its minimum duration [s].
EXCESS, MIN_BURST_S = 1.5, 1.0
#: Payload and length on the wire of a full TCP segment with timestamps, MTU 1500 [B].
SEGMENT_BYTES, SEGMENT_WIRE_BYTES = 1448, 1500
TCP_DURATION_S: Final = 4
DURATION: Final = "60 s"
#: Tolerances: of rates and queues as shares; what timers and hosts take of a round trip [s]; packets.
SHARE, ROUND_TRIP_S, PACKETS = 0.03, 0.001, 3.0
#: A download is as fast as the rate allows within this share: starting and recoveries take time.
TCP_SHARE: Final = 0.2

Say = Callable[[str], None]


@dataclass(frozen=True)
class Route:
    """Properties of one direction of a flow.

    Parameters
    ----------
    rate_bps
        Of the slowest link, on the wire [bit/s]; None if it is unlimited or not constant.
    overhead_bytes
        That the slowest link adds to each packet [B].
    delay_s
        Sum of the mean delays [s].
    varies
        Whether a delay varies.
    queue_packets
        Limit of the slowest link's queue; None if it is no number of packets.
    lossy
        Whether links lose packets at random.
    notes
        Quantities that cannot be measured, or are measured differently, as messages.
    """

    rate_bps: float | None
    overhead_bytes: int
    delay_s: float
    varies: bool
    queue_packets: int | None
    lossy: bool
    notes: tuple[str, ...] = ()

    def payload_bps(self, payload: int, wire: int) -> float | None:
        """Return the rate of the slowest link for packets of `wire` bytes with `payload` bytes of payload [bit/s]."""
        return None if self.rate_bps is None else self.rate_bps * payload / (wire + self.overhead_bytes)


@dataclass(frozen=True)
class Check:
    """One quantity; `ok` is None without a verdict."""

    flow: str
    what: str
    unit: str
    wanted: float | None
    achieved: float | None
    ok: bool | None
    note: str = ""


def networks(scenario: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the distinct networks of a resolved scenario: by identity, the name of the first flow and the network.

    A network is links, bearers and the routes of one flow, without taps.
    """
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, flow in scenario["flows"].items():
        routes = {way: [hop for hop in flow[way] if hop not in (scenario.get("taps") or {})] for way in ("down", "up")}
        hops = {*routes["down"], *routes["up"]}
        bearers = {hop: of for hop, of in (scenario.get("bearers") or {}).items() if hop in hops}
        used = hops | {link for of in bearers.values() for link in of["links"]}
        links = {hop: of for hop, of in scenario["links"].items() if hop in used}
        network = {"links": links, "bearers": bearers, **routes}
        found.setdefault(json.dumps(network, sort_keys=True), (name, network))
    return found


def route(network: Mapping[str, Any], way: str) -> Route:
    """Return the expected properties of a direction, `down` or `up`."""
    hops = [_hop(network, name) for name in network[way]]
    limited = [hop for hop in hops if hop.rate_bps is not None]
    notes = tuple(note for hop in hops for note in hop.notes)
    slowest = min(limited, key=lambda hop: hop.rate_bps or math.inf, default=None)
    shaped = any("rate" in note for note in notes)
    return Route(
        None if slowest is None or shaped else slowest.rate_bps,
        0 if slowest is None else slowest.overhead_bytes,
        sum(hop.delay_s for hop in hops),
        any(hop.varies for hop in hops),
        None if slowest is None or shaped else slowest.queue_packets,
        any(hop.lossy for hop in hops),
        notes,
    )


def _hop(network: Mapping[str, Any], name: str) -> Route:
    if name in network["links"]:
        return _link(name, network["links"][name])
    bearer = network["bearers"].get(name)
    if bearer is None:
        raise unexpected("calibration", "routes of links and bearers", name)
    members = [_link(link, network["links"][link]) for link in bearer["links"]]
    rates = [member.rate_bps for member in members if member.rate_bps is not None]
    whole = sum(rates) if bearer["mode"] == "split" and len(rates) == len(members) else None
    notes = tuple(note for member in members for note in member.notes)
    notes += (f"measured through the bearer `{name}`, whose links share the packets",)
    delay_s = min(member.delay_s for member in members)
    varies = any(member.varies for member in members)
    lossy = any(member.lossy for member in members)
    return Route(whole, members[0].overhead_bytes, delay_s, varies, None, lossy, notes)


def _link(name: str, link: Mapping[str, Any]) -> Route:
    rate, notes = link.get("rate"), []
    if isinstance(rate, Mapping) and rate["kind"] == "token_bucket":
        rate = rate["rate"]
        notes.append(f"the token bucket of `{name}` passes its burst immediately, which a mean over the burst includes")
    elif isinstance(rate, Mapping):
        rate = None
        notes.append(f"the rate of `{name}` follows a trace: only the mean rate of TCP is available")
    queue = link["queue"]
    only_packets = queue.get("kind") == "drop_tail" and queue.get("bytes") is None and queue.get("time") is None
    delay = link["delay"]
    return Route(
        None if rate is None else float(bits_per_second(rate)),
        byte_count(link["overhead_per_packet"]),
        seconds(delay["mean"]),
        seconds(delay["deviation"]) > 0,
        queue.get("packets") if only_packets else None,
        link.get("loss") is not None,
        tuple(notes),
    )


def calibrate(scenario: Scenario, lane: Lane, say: Say, base_dir: str | Path = ".") -> list[Check]:
    """Measure each distinct network of a scenario.

    Parameters
    ----------
    scenario
        Its links, bearers and routes count; programs and workloads do not.
    lane
        How the kernel lane runs.
    say
        Receives messages about the progress.
    base_dir
        Directory that files named in the scenario are relative to.

    Raises
    ------
    QuiclabError
        If a probe does not run.
    """
    plain = scenario.resolved(lane.stacks()).to_dict()
    found = networks(plain)
    return [check for name, network in found.values() for check in _checks(name, network, lane, say, base_dir)]


def _checks(flow: str, network: dict[str, Any], lane: Lane, say: Say, base_dir: str | Path) -> Iterator[Check]:
    lane = replace(lane, adapters=(*lane.adapters, PROBE))
    turned = {**network, "down": network["up"], "up": network["down"]}
    down, up = route(network, "down"), route(network, "up")

    def go(network: Mapping[str, Any], stack: str, workload: dict[str, Any], what: str) -> RunResult:
        say(f"network of flow `{flow}`: {what}")
        run = {"stack": stack, "workload": workload, "down": network["down"], "up": network["up"]}
        tables = {"links": network["links"], "bearers": network["bearers"], "flows": {FLOW: run}}
        probe = Scenario.from_dict({"version": 1, "name": f"probe of {flow}", "duration": DURATION, **tables})
        result = lane.run(probe, base_dir=base_dir)
        if (problem := result.flows[FLOW].failure) is not None:
            raise QuiclabError(f"the network of flow `{flow}` cannot be probed: {problem}")
        return result

    ping = {"kind": "ping", "count": PINGS, "interval": PING_INTERVAL, "size": f"{PING_BYTES} B"}
    yield round_trip(flow, down, up, go(network, "probe", ping, "ping").flows[FLOW].receiver)
    for way, direction, routes in (("down", down, network), ("up", up, turned)):
        if direction.rate_bps is None:
            reason = "; ".join(direction.notes) or "no link has a rate"
            yield Check(flow, f"rate {way}", "Mbit/s", None, None, None, reason)
            continue
        said = go(routes, "probe", burst(direction), f"burst {way}").flows[FLOW].receiver
        yield rate(flow, way, direction, said)
        yield queue(flow, way, direction, said)
    if down.rate_bps is not None or down.notes:
        download = {"kind": "download", "duration": f"{TCP_DURATION_S} s"}
        yield goodput(flow, down, go(network, "linux", download, "TCP").flows[FLOW].goodput_mbps)


def burst(direction: Route) -> dict[str, Any]:
    """Return the workload of a burst: so long that the queue fills at half the rate in excess, and drains."""
    payload = direction.payload_bps(BURST_BYTES, BURST_BYTES + HEADERS_BYTES) or 0.0
    fill_s = 2.5 * (direction.queue_packets or 0) * 8 * BURST_BYTES / payload
    duration_s = max(MIN_BURST_S, fill_s)
    size = f"{BURST_BYTES} B"
    sent = round(EXCESS * payload)
    return {"kind": "datagrams", "rate": f"{sent} bit/s", "size": size, "duration": f"{round(1e3 * duration_s)} ms"}


def round_trip(flow: str, down: Route, up: Route, said: Mapping[str, float]) -> Check:
    """Compare the round trips of the echoes."""
    wire = PING_BYTES + HEADERS_BYTES
    services = [8 * (wire + way.overhead_bytes) / way.rate_bps for way in (down, up) if way.rate_bps]
    wanted = 1e3 * (down.delay_s + up.delay_s + sum(services))
    varies = down.varies or up.varies
    achieved = said.get("rtt_mean_ms" if varies else "rtt_min_ms")
    what = "mean round-trip time" if varies else "minimum round-trip time"
    if varies:
        return Check(
            flow, what, "ms", wanted, achieved, None, "delays vary: means over a few echoes are shown without a check"
        )
    ok = achieved is not None and abs(achieved - wanted) <= SHARE * wanted + 1e3 * ROUND_TRIP_S
    return Check(flow, what, "ms", wanted, achieved, ok, "" if achieved is not None else "no echo was received")


def rate(flow: str, way: str, direction: Route, said: Mapping[str, float]) -> Check:
    """Compare the rate of the arrivals; both are of the payload."""
    wanted = (direction.payload_bps(BURST_BYTES, BURST_BYTES + HEADERS_BYTES) or 0.0) / 1e6
    note = "; ".join(direction.notes)
    achieved = said.get("rate_mbps")
    ok = achieved is not None and abs(achieved - wanted) <= SHARE * wanted
    return Check(flow, f"rate {way}", "Mbit/s", wanted, achieved, None if direction.notes and ok is False else ok, note)


def queue(flow: str, way: str, direction: Route, said: Mapping[str, float]) -> Check:
    """Compare the packets in the queue at the first drop."""
    what, achieved = f"queue {way}", said.get("queue_packets")
    if direction.queue_packets is None:
        note = "the queue has no limit in packets only, or belongs to a bearer: its length cannot be measured"
        return Check(flow, what, "packets", None, achieved, None, note)
    wanted = float(direction.queue_packets)
    if direction.lossy or direction.varies:
        note = "a full queue cannot be distinguished from random loss, nor its length measured where delays vary"
        return Check(flow, what, "packets", wanted, None, None, note)
    ok = achieved is not None and abs(achieved - wanted) <= SHARE * wanted + PACKETS
    return Check(flow, what, "packets", wanted, achieved, ok, "" if achieved is not None else "nothing was dropped")


def goodput(flow: str, down: Route, achieved: float) -> Check:
    """Compare a download with the rate: more is an error, as is much less unless packets are lost."""
    if down.rate_bps is None:
        return Check(flow, "TCP goodput", "Mbit/s", None, achieved, None, "; ".join(down.notes))
    wanted = (down.payload_bps(SEGMENT_BYTES, SEGMENT_WIRE_BYTES) or 0.0) / 1e6
    low = 0.0 if down.lossy or down.notes or down.varies else (1 - TCP_SHARE) * wanted
    ok = low <= achieved <= (1 + SHARE) * wanted
    note = "an upper bound: loss, varying delays or a bearer reduce the rate of TCP" if low == 0 else ""
    return Check(flow, "TCP goodput", "Mbit/s", wanted, achieved, ok, note)


def verdict(checks: list[Check]) -> str | None:
    """Return a message about deviations; None without any."""
    wrong = [check for check in checks if check.ok is False]
    if not wrong:
        return None
    told = "; ".join(
        f"{check.what} of flow `{check.flow}` is {check.achieved:.4g} {check.unit} instead of {check.wanted:.4g}"
        if check.achieved is not None and check.wanted is not None
        else f"{check.what} of flow `{check.flow}`: {check.note}"
        for check in wrong
    )
    return f"the network does not match the scenario: {told}"
