"""Random scenarios of `validation/blind` and `validation/blind_quic`: networks and flows that were not chosen.

A case is drawn from a seed and its number alone, so that a new seed gives scenarios that no parameter was set for.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from functools import cache

from quiclab.study import Changes

FRAME_BYTES = 1514
CONTROLS = ("newreno", "cubic", "bbr-linux")
QUIC_CONTROLS = ("newreno", "cubic")
#: Ranges of the draws; rates, round trip times and queues are uniform in their logarithm.
RATE_MBPS, RTT_MS, QUEUE_BDP = (1.0, 200.0), (2.0, 600.0), (0.1, 10.0)
LOSS_PERCENT, BURST_PACKETS, JITTER_MS = (0.01, 2.0), (2.0, 20.0), (0.1, 10.0)
BATCH_PACKETS, REORDERING_MS = (2, 500), (20, 300)
#: A case lasts for so many round trips, within these times [s] and packets of the bottleneck.
ROUND_TRIPS, SECONDS, PACKETS = 200, (15.0, 60.0), 150_000
MIN_QUEUE_PACKETS = 8
#: Deviation of the delay of acknowledgements in every case: without any randomness, runs would repeat each other, and
#: one course of a system that small differences change would count as its mean.
BACK_JITTER = "10 us"
#: Number of cases of a seed.
CASES = 200
#: The same with QUIC programs, which take more of the machine's time, and packets of the bottleneck in each.
QUIC_CASES, QUIC_PACKETS = 50, 30_000


def _logarithmic(draw: random.Random, limits: tuple[float, float]) -> float:
    return math.exp(draw.uniform(math.log(limits[0]), math.log(limits[1])))


def _rounded(number: float) -> float:
    """Round to three significant digits, as in scenarios written by hand."""
    return float(f"{number:.3g}")


@dataclass(frozen=True)
class Flow:
    """A download: its congestion control, pacing by `fq`, and start [s]."""

    control: str
    paced: bool
    start_s: float


@dataclass(frozen=True)
class Case:
    """A random scenario.

    Attributes
    ----------
    rate_mbps, rtt_ms
        Bottleneck (sum of both links of a bearer), and round trip time without queues.
    queue_packets
        Limit of the bottleneck's queue.
    flows
        The downloads.
    seconds
        Duration [s].
    discipline
        Kind of the queue.
    loss
        `loss` of the bottleneck as in scenarios; None for no random loss.
    jitter_ms, reorder
        Standard deviation of the delay of data, and whether packets overtake each other.
    bearer
        Batch size, shares and t-Reordering [ms] of a split bearer; None for a single link.
    """

    rate_mbps: float
    rtt_ms: float
    queue_packets: int
    flows: tuple[Flow, ...]
    seconds: float
    discipline: str = "drop_tail"
    loss: object = None
    jitter_ms: float = 0.0
    reorder: bool = False
    bearer: tuple[int, tuple[int, int], int] | None = None

    @property
    def description(self) -> str:
        """Return the case in a line: network, then flows."""
        words = [
            f"{self.rate_mbps:g} Mbit/s",
            f"{self.rtt_ms:g} ms",
            f"{self.discipline} of {self.queue_packets} packets",
        ]
        if self.bearer is not None:
            batch, shares, timer_ms = self.bearer
            words.append(f"bearer {shares[0]}:{shares[1]} in batches of {batch}, t-Reordering {timer_ms} ms")
        if self.loss is not None:
            words.append(f"loss {self.loss}" if isinstance(self.loss, str) else "loss in bursts")
        if self.jitter_ms:
            words.append(f"jitter {self.jitter_ms:g} ms{', reordering' if self.reorder else ''}")
        flows = [f"{flow.control}{' with fq' if flow.paced else ''}" for flow in self.flows]
        return f"{', '.join(words)}; {', '.join(flows)}"

    @property
    def changes(self) -> Changes:
        """Return what turns `scenarios/linux_tcp.toml` into this case, with TCP downloads."""
        changes = {**self.network, "flows.main": None}
        for index, flow in enumerate(self.flows, start=1):
            changes |= {f"flows.flow{index}": self._flow(flow), f"flows.flow{index}.stack": "lab-tcp"}
        return changes

    @property
    def quic_changes(self) -> Changes:
        """Return what turns `scenarios/lanes.toml` into this case: its first flow as a download by any QUIC stack."""
        return {
            **self.network,
            "flows.main.down": self._down,
            "flows.main.workload": {"kind": "download", "duration": f"{self.seconds:g} s"},
            "flows.main.sender.congestion_control": self.flows[0].control,
        }

    @property
    def _down(self) -> list[str]:
        return ["bottleneck", "far"] if self.bearer is None else ["dc"]

    @property
    def network(self) -> dict[str, object]:
        """Return the changes that make links and bearers, and the duration."""
        half_ms = f"{self.rtt_ms / 2:g} ms"
        delay: object = half_ms
        if self.jitter_ms:
            delay = {
                "mean": half_ms,
                "deviation": f"{self.jitter_ms:g} ms",
                "distribution": "normal",
                "reorder": self.reorder,
            }
        back = {"mean": half_ms, "deviation": BACK_JITTER, "distribution": "normal", "reorder": False}
        links: dict[str, object] = {"back": {"delay": back}}
        changes: dict[str, object] = {
            "duration": f"{self.seconds:g} s",
            "until": "duration_over",
            "links": links,
            "record": {"series_interval": "10 ms"},
        }
        if self.bearer is None:
            links |= {"bottleneck": self._bottleneck(self.rate_mbps, self.queue_packets), "far": {"delay": delay}}
            return changes
        batch, shares, timer_ms = self.bearer
        for name, weight in zip(("down1", "down2"), shares, strict=True):
            share = weight / sum(shares)
            queue = max(MIN_QUEUE_PACKETS, round(self.queue_packets * share))
            links[name] = self._bottleneck(_rounded(self.rate_mbps * share), queue) | {"delay": delay}
        changes["bearers"] = {
            "dc": {
                "links": ["down1", "down2"],
                "batch_packets": batch,
                "shares": list(shares),
                "reordering": {"timer": f"{timer_ms} ms"},
            }
        }
        return changes

    def _bottleneck(self, rate_mbps: float, packets: int) -> dict[str, object]:
        link: dict[str, object] = {
            "rate": f"{rate_mbps:g} Mbit/s",
            "overhead_per_packet": "14 B",
            "queue": {"kind": self.discipline, "packets": packets},
        }
        return link if self.loss is None else {**link, "loss": self.loss}

    def _flow(self, flow: Flow) -> dict[str, object]:
        sender: dict[str, object] = {
            "congestion_control": flow.control,
            "tcp": {"mss": "1460 B", "max_send_buffer": "4 MiB"},
        }
        if flow.paced:
            sender["pacing"] = {"kind": "fq"}
        return {
            "down": self._down,
            "up": ["back"],
            "start": f"{flow.start_s:g} s",
            "workload": {"kind": "download", "duration": f"{self.seconds:g} s", "request": "16 B"},
            "sender": sender,
            "receiver": {"tcp": {"mss": "1460 B", "max_receive_buffer": "6 MiB"}},
        }


@cache
def draw_case(seed: int, number: int) -> Case:
    """Draw case `number` of a seed."""
    return _draw(random.Random(f"blind/{seed}/{number}"), PACKETS, (6, 2, 1, 1))  # noqa: S311 - no secret


@cache
def draw_quic_case(seed: int, number: int) -> Case:
    """Draw case `number` of a seed with one flow, whose control a QUIC stack has, too."""
    draw = random.Random(f"blind_quic/{seed}/{number}")  # noqa: S311 - no secret
    case = _draw(draw, QUIC_PACKETS, (1, 0, 0, 0))
    return replace(case, flows=(Flow(draw.choice(QUIC_CONTROLS), False, 0.0),))


def _draw(draw: random.Random, packets: int, counts: tuple[int, int, int, int]) -> Case:
    """Draw a case of so many packets of the bottleneck at most; `counts` are the weights of one to four flows."""
    bearer = None
    if draw.random() < 0.15:
        shares = draw.choice(((1, 1), (1, 1), (2, 1), (1, 3), (4, 1)))
        bearer = (draw.randint(*BATCH_PACKETS), shares, draw.randint(*REORDERING_MS))
    rate, rtt = _rounded(_logarithmic(draw, RATE_MBPS)), _rounded(_logarithmic(draw, RTT_MS))
    bdp_packets = 1e3 * rate * rtt / (8 * FRAME_BYTES)
    queue = max(MIN_QUEUE_PACKETS, round(bdp_packets * _logarithmic(draw, QUEUE_BDP)))
    discipline = (
        draw.choices(("drop_tail", "codel", "fq_codel", "pie"), (7, 1, 1, 1))[0] if bearer is None else "drop_tail"
    )
    loss: object = None
    kind = draw.choices(("none", "independent", "bursts"), (6, 3, 1))[0]
    if kind != "none":
        share = _rounded(_logarithmic(draw, LOSS_PERCENT)) / 100
        loss = f"{100 * share:g} %"
        if kind == "bursts":
            bad_to_good = _rounded(1 / _logarithmic(draw, BURST_PACKETS))
            loss = {
                "kind": "gilbert_elliott",
                "good_to_bad": float(f"{bad_to_good * 2 * share / (1 - 2 * share):.4g}"),
                "bad_to_good": bad_to_good,
                "loss_in_bad": 0.5,
            }
    jitter, reorder = 0.0, False
    if draw.random() < 0.3:
        jitter, reorder = _rounded(min(_logarithmic(draw, JITTER_MS), rtt / 8)), draw.random() < 0.5
    count = draw.choices((1, 2, 3, 4), counts)[0]
    seconds = min(max(SECONDS[0], ROUND_TRIPS * rtt / 1e3), SECONDS[1])
    seconds = _rounded(max(5.0, min(seconds, packets * FRAME_BYTES * 8e-6 / rate)))
    flows = tuple(
        Flow(draw.choice(CONTROLS), draw.random() < 0.2, 0.0 if index == 0 else _rounded(draw.uniform(0, seconds / 4)))
        for index in range(count)
    )
    return Case(rate, rtt, queue, flows, seconds, discipline, loss, jitter, reorder, bearer)
