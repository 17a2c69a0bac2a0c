"""The same scenarios in every lane: how far each can be trusted.

One download through a bottleneck, with Linux TCP (Reno, CUBIC, BBR), quinn and aioquic. The kernel lane with the
virtual clock is the reference: real programs and the real kernel, exact timers, no influence of the machine. It is
compared with the models and stacks of the sim lane, the same programs in real time on this machine, and the queueing
disciplines of the kernel in place of quiclab's elements.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from quiclab.lane.run import Lane
from quiclab.result import RunResult
from quiclab.study import (
    Changes,
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    Metric,
    Presentation,
    Study,
    Table,
)
from quiclab.study.criteria import Criterion
from quiclab.study.findings import Key
from quiclab_studies.declarations import measures_of_criteria
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.network import Network

VIRTUAL = "the kernel lane with the virtual clock, quiclab's elements as the network"
FRAME_BYTES = 1514
DATAGRAM = "1280 B"
SECONDS = 20
MAX_DIFFERENCE, MEAN, ROUND_TRIP_TIME = 0.15, 0.05, 0.10
TCP = {"reno": ("Reno", "newreno"), "cubic": ("CUBIC", "cubic"), "bbr": ("BBR", "bbr-linux")}
QUIC = {"quinn": "quinn", "aioquic": "aioquic"}
#: The QUIC stacks with equal datagrams, and a congestion control that others set.
QUIC_STACKS = tuple(
    Configuration(
        name,
        label,
        {"flows.main.stack": name, **{f"flows.main.{end}.datagram_size": DATAGRAM for end in ("sender", "receiver")}},
    )
    for name, label in QUIC.items()
)


@dataclass(frozen=True)
class Path:
    """What lies between server and client; the queue in products of bandwidth and delay."""

    rate_mbps: int
    rtt_ms: int
    queue_bdp: float
    loss_percent: float = 0.0

    @property
    def name(self) -> str:
        """Name of the setting, such as `20mbit_40ms_q1`."""
        loss = f"_loss{self.loss_percent:g}" if self.loss_percent else ""
        return f"{self.rate_mbps}mbit_{self.rtt_ms}ms_q{self.queue_bdp:g}{loss}"

    @property
    def queue_packets(self) -> int:
        """The queue in full frames, at least ten."""
        return max(10, round(self.queue_bdp * 1e3 * self.rate_mbps * self.rtt_ms / (8 * FRAME_BYTES)))

    @property
    def changes(self) -> Changes:
        """What makes `scenarios/lanes.toml` this path."""
        return {
            **Network(self.rate_mbps, self.rtt_ms, self.queue_packets, self.loss_percent).chain(),
            "flows.main.workload": {"kind": "download", "duration": f"{SECONDS} s"},
            "record": {"series_interval": "10 ms"},
        }


CLEAN = (
    Path(2, 40, 2),
    Path(5, 20, 2),
    Path(5, 100, 1),
    Path(10, 60, 1),
    Path(20, 20, 3),
    Path(20, 40, 1),
    Path(20, 80, 0.5),
    Path(40, 50, 1),
)
LOSSY = (Path(10, 60, 1, 0.5), Path(20, 40, 1, 0.1))
PATHS = {path.name: path for path in (*CLEAN, *LOSSY)}


def goodput_mbps(result: RunResult) -> float:
    """Bits delivered over the time from the client's start [Mbit/s]."""
    return result.flows["main"].goodput_mbps


def srtt_ms(result: RunResult) -> float:
    """Smoothed RTT of the sender in the mean over time [ms]; NaN for programs that do not report it."""
    return result.over_time("main.sender", "srtt_ms", "mean")


def retransmits(result: RunResult) -> float:
    """Packets sent again, or declared lost by QUIC; NaN for programs that do not report it."""
    sender = result.flows["main"].sender
    return next((float(sender[name]) for name in ("retransmitted_packets", "lost_packets") if name in sender), math.nan)


def _limits(configurations: Iterable[str], paths: tuple[Path, ...], limit: float) -> dict[Key, float]:
    return {(name, path.name): limit for name in configurations for path in paths}


CRITERIA = (
    Criterion(
        "VL-1",
        "Without random loss, goodput of TCP is within 15 % of the kernel in every setting, and within 5 % in the "
        "mean over them.",
        {},
        _limits(TCP, CLEAN, MAX_DIFFERENCE),
        mean_limit=MEAN,
    ),
    Criterion("VL-2", "Mean RTT of TCP is within 10 %.", {}, _limits(TCP, CLEAN, ROUND_TRIP_TIME), "srtt_ms"),
    Criterion(
        "VL-3",
        "Without random loss, goodput of QUIC is within 15 % of the programs in every setting, and within 5 % in "
        "the mean over them.",
        {},
        _limits(QUIC, CLEAN, MAX_DIFFERENCE),
        mean_limit=MEAN,
    ),
    Criterion(
        "VL-4",
        "Under random loss, goodput is within 15 % in the mean over the runs.",
        {},
        _limits((*TCP, *QUIC), LOSSY, MAX_DIFFERENCE),
    ),
)

STUDY = Study(
    "validation/lanes",
    design=Design(
        scenario="scenarios/lanes.toml",
        configurations=(
            *(
                Configuration(
                    name, label, {"flows.main.stack": "lab-tcp", "flows.main.sender.congestion_control": control}
                )
                for name, (label, control) in TCP.items()
            ),
            *(
                Configuration(
                    name,
                    label,
                    {
                        "flows.main.stack": name,
                        "flows.main.sender": {"congestion_control": "newreno", "datagram_size": DATAGRAM},
                        "flows.main.receiver": {"datagram_size": DATAGRAM},
                    },
                )
                for name, label in QUIC.items()
            ),
        ),
        factors=(Factor("path", "path", "Path", "", tuple(PATHS), lambda name: PATHS[str(name)].changes),),
        engines=(
            Engine("sim"),
            Engine("kernel-virtual", lane=Lane(clock="virtual"), stacks={"lab-tcp": "linux"}),
            Engine("kernel-real", lane=Lane(clock="real"), stacks={"lab-tcp": "linux"}),
            Engine("kernel-netem", lane=Lane(clock="virtual", emulation="netem"), stacks={"lab-tcp": "linux"}),
        ),
        runs=3,
    ),
    measures=measures_of_criteria(
        (
            Metric("goodput_mbps", "Goodput", "Mbit/s", goodput_mbps),
            Metric("srtt_ms", "Mean smoothed RTT", "ms", srtt_ms),
            Metric("retransmits", "Retransmissions", "packets", retransmits),
        ),
        CRITERIA,
        Table("", VIRTUAL, engine="kernel-virtual"),
    ),
    presentation=Presentation(
        title="One scenario, several lanes",
        abstract="Downloads of 20 seconds through a bottleneck by Linux TCP, quinn and aioquic: in the sim lane, in "
        "the "
        "kernel lane with virtual and with real clock, and with the kernel's queueing disciplines as the network.",
        source="quiclab: no publication",
        figures=(
            Figure("Goodput of TCP, no random loss", VIRTUAL, "", "From the client's start.", "VL-1", pairs=True),
            Figure("Distance of TCP's goodput, no random loss", VIRTUAL, "", "Mean over the runs.", "VL-1"),
            Figure("Goodput of QUIC, no random loss", VIRTUAL, "", "From the client's start.", "VL-3", pairs=True),
            Figure("Distance of goodput under random loss", VIRTUAL, "", "Mean over the runs.", "VL-4"),
            Figure("Distance of TCP's round trip time", VIRTUAL, "", "Mean over time.", "VL-2"),
        ),
        assumptions=assumed(__file__, "lanes", datagram=DATAGRAM),
        limits=(
            "In the sim lane hosts cost nothing; in the kernel lane with the virtual clock they do not, either. In "
            "real time they do.",
            "quinn and aioquic of the kernel lane are driven by their own sockets and timers: when acknowledgements "
            "are sent depends on these.",
        ),
    ),
)

STUDIES = (STUDY,)
