"""QUIC over Dual Connectivity (Hasselquist, thesis, Linköping 2020; Hasselquist et al., Computer Networks 219, 2022).

A terminal is attached to two cells. The packet layer (PDCP) numbers the packets of a download, spreads them in batches
over two links and puts them in order again; the transport does not know. How does the size of a batch, and how does
the share of each link, change the throughput of a 100 MB download, with the default and with a large receive buffer?
"""

import math

from _dual_connectivity_claims import BATCH_SIZE_CLAIMS, PAPER, SHARE_CLAIMS, THESIS
from quiclab.result import RunResult
from quiclab.scenario import Host
from quiclab.study import (
    Assumption,
    Changes,
    Configuration,
    Engine,
    Factor,
    Figure,
    Metric,
    Study,
    Table,
    Unavailable,
    Value,
    Variant,
)

SOURCE = (
    "D. Hasselquist, QUIC over Dual Connectivity, thesis, Linköping University, 2020; "
    "D. Hasselquist et al., QUIC over Dual Connectivity, Computer Networks 219, 2022"
)
SCENARIO = "scenarios/dual_connectivity.toml"
COST_OF_A_DATAGRAM = "35 us"


def client(receive_buffer: str) -> Changes:
    """Run the client on a host with this socket buffer; the rest of the network is that of the base scenario."""
    host = Host(receive_buffer=receive_buffer, receive_datagram=COST_OF_A_DATAGRAM)
    return {"hosts.client": host, "flows.dc.receiver.host": "client"}


def both_ends(engine: str) -> Changes:
    """Run one stack at both ends."""
    return {"flows.dc.sender.stack": engine, "flows.dc.receiver.stack": engine}


def throughput_mbps(result: RunResult) -> float:
    """File bits divided by the download time, as the sources define it [Mbit/s]; NaN if it did not finish."""
    flow = result.flows["dc"]
    return 8 * flow.delivered_bytes / flow.download_time_s / 1e6 if flow.download_time_s else math.nan


def split(share_on_link_1: Value) -> Changes:
    """Divide each batch between the links by percent."""
    share = int(share_on_link_1)
    return {"bearers.dc.shares": [share, 100 - share]}


DEFAULT_BUFFER = Configuration("quic_default_buffer", "QUIC, default buffer", client("212992 B"))
LARGE_BUFFER = Configuration("quic_large_buffer", "QUIC, large buffer", client("33554432 B"))
THROUGHPUT = Metric("throughput_mbps", "Throughput", "Mbit/s", throughput_mbps)

ASSUMPTIONS = (
    Assumption(
        "The stack is quinn with NewReno, datagrams of 1280 bytes and an initial window of 12800 bytes in place of "
        "aioquic.",
        "The published version of aioquic is not known; the three values are those of its sample log. What differs "
        "between the stacks (slow-start exit, acknowledgements, pacing) stays as in quinn and is not fitted.",
    ),
    Assumption(
        f"Receiving a datagram costs the client {COST_OF_A_DATAGRAM.replace('us', 'µs')} of CPU time.",
        "Measured cost of aioquic for a data packet without system calls; it lets the default buffer fill during a "
        "burst. The sources do not give a cost; two variants bound it.",
    ),
    Assumption(
        "The socket buffer is charged as Linux does: each datagram counts with the buffer that holds it.",
        "The sources name the kernel parameter (rmem_default 212992 or 33554432 bytes), which is in these units.",
    ),
    Assumption(
        "The queue of each downlink holds exactly 100 packets, the one in service included; the delay follows it and "
        "has no limit of its own.",
        "That is how the kernels of the testbed applied the printed limit of the rate stage.",
    ),
    Assumption(
        "Links serialise the IP packet and 14 bytes of Ethernet header.",
        "The published emulation shapes by the length that includes the Ethernet header.",
    ),
    Assumption(
        "Delays are normal with 10 ms mean and 1 ms deviation for each packet, and packets overtake one another.",
        "This is the printed command; it holds for the uplink, too.",
    ),
    Assumption(
        "A share of s % sends the first s packets of a batch of 100 over link 1 and the others over link 2.",
        "From the description of the proxy: a counter runs through the batch.",
    ),
)

VARIANTS = (
    Variant(
        "slow_receiver",
        "300 µs per datagram",
        "The cost at which the default buffer gives the published 32.5 Mbit/s at batch 100 with aioquic; it would also "
        "limit the large buffer, so that it is no literal reading.",
        {"hosts.client.receive_datagram": "300 us"},
        runs=3,
    ),
    Variant(
        "free_receiver",
        "no cost per datagram",
        "The receiver keeps up with every burst: what remains of the difference between the buffers is not their size.",
        {"hosts.client.receive_datagram": "0 ns"},
        runs=3,
    ),
)

LIMITS = (
    "Radio and MAC are not modelled: Dual Connectivity is the packet layer only.",
    "The two proxies cost no time: their published cost (about 1 ms each) is not part of the links.",
    "Deviations between runs come from the drawn delays alone; a testbed has more sources.",
)

TCP = Unavailable("tcp", "TCP", "not available yet: needs the TCP engine lab-tcp")


BATCH_SIZE = Study(
    name="dual_connectivity/batch_size",
    title="Dual Connectivity: batch size",
    abstract="Half a batch of packets goes to link 1, the other half to link 2. Published: up to about 250 packets a "
    "batch the queues of the links bridge the pauses; beyond, the links take turns, and at 500 a third of the "
    "throughput is lost.",
    source=SOURCE,
    scenario=SCENARIO,
    configurations=(DEFAULT_BUFFER, LARGE_BUFFER),
    factors=(
        Factor(
            name="batch",
            column="dc_batch_packets",
            label="DC batch size",
            unit="packets",
            values=(2, 10, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500),
            changes=lambda batch: {"bearers.dc.batch_packets": batch},
        ),
    ),
    metric=THROUGHPUT,
    engines=(Engine("quinn"), Engine("noq"), Engine("aioquic", runs=3)),
    engine_changes=both_ends,
    runs=10,
    table=Table("reference/dual_connectivity/table_5_03_batch_size.csv", f"{THESIS}, Table 5.3"),
    figures=(
        Figure(
            title="Throughput over the DC batch size",
            source=f"{THESIS}, Fig. 5.5; {PAPER}, Fig. 4a",
            x="batch",
            caption="Mean and standard deviation over the runs; 100 MB, two links of 20 Mbit/s, even split.",
        ),
    ),
    claims=BATCH_SIZE_CLAIMS,
    assumptions=ASSUMPTIONS,
    variants=VARIANTS,
    limits=LIMITS,
    unavailable=(TCP,),
)

SHARE = Study(
    name="dual_connectivity/share",
    title="Dual Connectivity: share of the links",
    abstract="Of each batch of 100 packets a share goes to link 1 and the rest to link 2. Published: with equal links "
    "the even split nearly doubles the throughput of one link; each step away from it costs, the first ones most.",
    source=SOURCE,
    scenario=SCENARIO,
    configurations=(DEFAULT_BUFFER, LARGE_BUFFER),
    factors=(
        Factor(
            name="share",
            column="link1_share_percent",
            label="Share of packets on link 1",
            unit="%",
            values=tuple(range(0, 101, 10)),
            changes=split,
        ),
    ),
    metric=THROUGHPUT,
    engines=(Engine("quinn"), Engine("noq"), Engine("aioquic", runs=3)),
    engine_changes=both_ends,
    runs=10,
    table=Table("reference/dual_connectivity/table_5_04_dc_ratio.csv", f"{THESIS}, Table 5.4"),
    figures=(
        Figure(
            title="Throughput over the share of link 1",
            source=f"{THESIS}, Fig. 5.9; {PAPER}, Fig. 7a",
            x="share",
            caption="Mean and standard deviation over the runs; 100 MB, two links of 20 Mbit/s, batches of 100.",
        ),
    ),
    claims=SHARE_CLAIMS,
    assumptions=ASSUMPTIONS,
    variants=VARIANTS,
    limits=LIMITS,
    unavailable=(TCP,),
)

STUDIES = (BATCH_SIZE, SHARE)
