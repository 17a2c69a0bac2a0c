"""A window that never changes over the bearer, compared with the staircase of the analytical model."""

from collections.abc import Mapping

from quiclab.study import Changes, Engine, Factor, Figure, Measures, Model, Study, Table, Value
from quiclab.study.libraries import np
from quiclab_studies.dual_connectivity.alone import EXPIRIES, OVERFLOWS, THROUGHPUT
from quiclab_studies.dual_connectivity.common import LARGE_BUFFER, PROXIES_MS, design, presentation
from quiclab_studies.dual_connectivity.links import rate_packets_per_s
from quiclab_studies.dual_connectivity.setting import AIOQUIC, SEGMENT, Parameters, links_of

MODEL = "docs/studies/dual_connectivity_model.md"
BATCH_PACKETS = 200
WINDOWS = (55, 70, 85, 100, 120, 137, 150)
"""Below and above the pipe, on the flat step, and up to the window that keeps both links busy."""


def window(packets: Value) -> Changes:
    """Give the sender a window of so many packets, whatever is lost."""
    return {
        "bearers.dc.batch_packets": BATCH_PACKETS,
        "flows.dc.sender.congestion_control": "fixed",
        "flows.dc.sender.initial_window": f"{SEGMENT * int(packets)} B",
    }


def staircase_mbps(_: str, values: Mapping[str, Value]) -> float:
    """Return what the model says that a window achieves [Mbit/s]."""
    links = links_of(Parameters(batch_packets=BATCH_PACKETS, uplink_delay_ms=10.0 + PROXIES_MS), AIOQUIC)
    [packets_per_s] = rate_packets_per_s(links, np.array([float(next(iter(values.values())))]))
    return float(8e-6 * AIOQUIC.payload_bytes * packets_per_s)


FIXED_WINDOW = Study(
    "dual_connectivity/fixed_window",
    design=design(
        configurations=(LARGE_BUFFER,),
        factors=(Factor("window", "window_packets", "Window", "packets", WINDOWS, window),),
        engines=(Engine("lab-quic"),),
    ),
    measures=Measures(
        metric=THROUGHPUT,
        further=(EXPIRIES, OVERFLOWS),
        table=Table("", MODEL),
        model=Model("model", MODEL, staircase_mbps),
    ),
    presentation=presentation(
        title="Dual Connectivity: a window that never changes",
        abstract="What a window achieves over two links that get runs of 100 packets in turn, without congestion "
        "control: the staircase of the analytical model.",
        figures=(
            Figure(
                "Throughput over the window",
                MODEL,
                "window",
                "Mean and standard deviation over the runs; 100 MB, two links of 20 Mbit/s, even split, batches of "
                f"{BATCH_PACKETS}.",
            ),
        ),
    ),
)
