"""Settings of `validation/regressions`: one for each difference from Linux that was found and then fixed.

They were chosen once, from the description of each difference and before any of them was run: the values that it names,
and otherwise 10 to 20 Mbit/s, 40 ms, and a queue of one bandwidth-delay product. None was changed afterwards; what was
added to explain results is `EXPLAINING`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from quiclab.study import Changes
from quiclab_studies.validation.blind_cases import FRAME_BYTES, MIN_QUEUE_PACKETS, Case, Flow

CUBIC, RENO, BBR = "cubic", "newreno", "bbr-linux"
STEPS = {"kind": "trace", "file": "traces/steps.csv", "format": "csv", "at_end": "loop"}
#: Bad periods of five packets, half of which are lost; 0.5 % of all packets.
BURSTS = {"kind": "gilbert_elliott", "good_to_bad": 0.00202, "bad_to_good": 0.2, "loss_in_bad": 0.5}


@dataclass(frozen=True)
class Cell:
    """A setting, and the difference that was found there or nearby.

    Attributes
    ----------
    name
        Value of the factor.
    found
        What differed: lab-tcp compared with Linux, before it was fixed.
    case
        Network and flows, as those of random scenarios.
    further
        Changes of the scenario besides.
    """

    name: str
    found: str
    case: Case
    further: Changes = field(default_factory=dict)

    @property
    def changes(self) -> Changes:
        """Return what turns `scenarios/linux_tcp.toml` into this setting."""
        return {**self.case.changes, **self.further}

    @property
    def description(self) -> str:
        """Return network and flows in a line."""
        words = [f"{self.case.description}, {self.case.seconds:g} s"]
        if "links.bottleneck.rate" in self.further:
            words.append(f"rate: {STEPS['file']}")
        if any(path.endswith(".timestamps") for path in self.further):
            words.append("no timestamps")
        return "; ".join(words)


def _packets(rate_mbps: float, rtt_ms: float, products: float) -> int:
    return max(MIN_QUEUE_PACKETS, round(products * 1e3 * rate_mbps * rtt_ms / (8 * FRAME_BYTES)))


def _single(
    rate_mbps: float,
    rtt_ms: float,
    products: float,
    control: str,
    seconds: float,
    *,
    loss: object = None,
    packets: int | None = None,
    late_s: float | None = None,
) -> Case:
    """Return one link with a queue of so many bandwidth-delay products, or of so many packets."""
    late = () if late_s is None else (Flow(control, False, late_s),)
    queue = _packets(rate_mbps, rtt_ms, products) if packets is None else packets
    return Case(rate_mbps, rtt_ms, queue, (Flow(control, False, 0.0), *late), seconds, loss=loss)


def _bearer(rate_mbps: float, rtt_ms: float, batch: int, control: str, seconds: float, jitter_ms: float = 0.0) -> Case:
    """Return a split bearer over two equal links, each with a queue of 100 packets."""
    flows = (Flow(control, False, 0.0),)
    return Case(rate_mbps, rtt_ms, 200, flows, seconds, jitter_ms=jitter_ms, bearer=(batch, (1, 1), 100))


BEARER_JITTER = _bearer(10, 40, 20, RENO, 20, jitter_ms=3)
CELLS = (
    Cell(
        "rate_step",
        "mean RTT 12 % low after a step of the rate",
        _single(20, 40, 1, CUBIC, 20),
        {"links.bottleneck.rate": STEPS},
    ),
    Cell("bearer_cubic", "goodput of CUBIC over Dual Connectivity 6 to 10 % low", _bearer(20, 20, 100, CUBIC, 12)),
    Cell("bbr_5mbit", "srtt of BBR 3 to 4 % high behind a rate limit", _single(5, 40, 2, BBR, 20)),
    Cell("bbr_20mbit", "the same", _single(20, 40, 2, BBR, 12)),
    Cell("bearer_jitter", "356 drops of NewReno, 196 of Linux", BEARER_JITTER),
    Cell("acks", "87,000 acknowledgements, 113,000 of Linux", _single(35, 40, 1, CUBIC, 10)),
    Cell("short_queue", "26 retransmissions of CUBIC, 59 of Linux", _single(5, 20, 2, CUBIC, 20)),
    Cell(
        "late_flow",
        "goodput of a flow that starts behind a full queue 10 % low",
        _single(10, 40, 1, CUBIC, 20, packets=100, late_s=6),
    ),
    Cell("bbr_loss", "goodput of BBR 2 to 5 % high", _single(40, 40, 1, BBR, 15, loss="0.3 %")),
    Cell("bbr_tiny_queue", "the same", _single(10, 40, 1, BBR, 20, packets=MIN_QUEUE_PACKETS)),
    Cell("bbr_bursts", "the same", _single(10, 40, 1, BBR, 20, loss=BURSTS)),
)
#: Further starts of the late flow, 10 ms apart: eight packets of the bottleneck.
LATE_S = tuple(6 + step / 100 for step in range(1, 17))
#: Added after the results of the others, to explain two of them; no criterion has these.
EXPLAINING = (
    Cell(
        "bearer_jitter_no_timestamps",
        "none: `bearer_jitter` without the receiver's round trip times by timestamps",
        BEARER_JITTER,
        {f"flows.flow1.{end}.tcp.timestamps": False for end in ("sender", "receiver")},
    ),
    *(
        Cell(
            f"late_flow_{round(1000 * start)}ms",
            "none: `late_flow` with a later start",
            _single(10, 40, 1, CUBIC, 20, packets=100, late_s=start),
        )
        for start in LATE_S
    ),
)
BY_NAME = {cell.name: cell for cell in (*CELLS, *EXPLAINING)}
