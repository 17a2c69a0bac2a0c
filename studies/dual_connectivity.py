"""QUIC over Dual Connectivity (Hasselquist, thesis, Linköping 2020; Hasselquist et al., Computer Networks 219, 2022).

A terminal is attached to two cells. The packet layer (PDCP) numbers the packets of a download, spreads them in batches
over two links and puts them in order again; the transport does not know. How does the size of a batch, and how does
the share of each link, change the throughput of a 100 MB download, with the default and with a large receive buffer?
"""

from collections.abc import Mapping

from quiclab.claims import Claim, Sample
from quiclab.result import RunResult
from quiclab.scenario import Host
from quiclab.stats import relative_difference as rel
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
THESIS = "thesis"
PAPER = "paper"
SCENARIO = "scenarios/dual_connectivity.toml"
FILE_BITS = 100 * 8e6
COST_OF_A_DATAGRAM = "35 us"


def client(receive_buffer: str) -> Changes:
    """Run the client on a host with this socket buffer; the rest of the network is that of the base scenario."""
    host = Host(receive_buffer=receive_buffer, receive_datagram=COST_OF_A_DATAGRAM)
    return {"hosts.client": host, "flows.dc.receiver.host": "client"}


def both_ends(engine: str) -> Changes:
    """Run one stack at both ends."""
    return {"flows.dc.sender.stack": engine, "flows.dc.receiver.stack": engine}


def throughput_mbps(result: RunResult) -> float:
    """File bits divided by the download time, as the sources define it [Mbit/s]."""
    seconds = result.flows["dc"].download_time_s
    return FILE_BITS / seconds / 1e6 if seconds else 0.0


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
QUIC_ONLY = "the QUIC configurations; not available yet: tcp"


def dc_09(t: Sample) -> bool:
    """The default buffer costs 5 % or more up to batch 300."""
    return all(
        t("quic_default_buffer", batch=b) <= 0.95 * t("quic_large_buffer", batch=b)
        for b in t.values("batch")
        if b <= 300
    )


def dc_10(t: Sample) -> bool:
    """The penalty of the default buffer vanishes from batch 400 on."""
    return all(
        rel(t("quic_default_buffer", batch=b), t("quic_large_buffer", batch=b)) <= 0.06
        for b in t.values("batch")
        if b >= 400
    )


def dc_20(t: Sample) -> bool:
    """Batches of 500 lose a quarter or more."""
    return all(t(k, batch=500) < 0.75 * t(k, batch=100) for k in t.configurations)


def dc_21(t: Sample) -> bool:
    """Batches of 100 or 150 are within 2 % of the best."""
    return all(
        max(t(k, batch=100), t(k, batch=150)) >= 0.98 * max(t(k, batch=b) for b in t.values("batch"))
        for k in t.configurations
    )


def dc_22(t: Sample) -> bool:
    """Batches of 2 are worse than batches of 100."""
    return all(t(k, batch=2) < t(k, batch=100) for k in t.configurations)


def dc_25(t: Sample) -> bool:
    """The throughput peaks at the even split and is convex on both sides."""
    return all(
        all(t(k, share=s) < t(k, share=s + 10) for s in range(0, 50, 10))
        and all(t(k, share=s) > t(k, share=s + 10) for s in range(50, 100, 10))
        and t(k, share=50) - t(k, share=40) > t(k, share=20) - t(k, share=10)
        and t(k, share=50) - t(k, share=60) > t(k, share=80) - t(k, share=90)
        for k in t.configurations
    )


def dc_26(t: Sample) -> bool:
    """DC is never worse than one link, and nearly twice as good at the even split."""
    return all(
        min(t(k, share=s) for s in range(10, 100, 10)) >= max(t(k, share=0), t(k, share=100))
        and t(k, share=50) > 1.8 * max(t(k, share=0), t(k, share=100))
        for k in t.configurations
    )


def dc_27(t: Sample) -> bool:
    """The effect of the split is symmetric within 5 %."""
    return all(rel(t(k, share=s), t(k, share=100 - s)) <= 0.05 for k in t.configurations for s in (0, 10, 20, 30, 40))


def default_over_large(t: Sample) -> Mapping[str, float]:
    """Throughput with the default buffer relative to the large one, by batch size."""
    return {
        f"default/large at {b:g}": t("quic_default_buffer", batch=b) / t("quic_large_buffer", batch=b)
        for b in t.values("batch")
    }


def relative_to_100(t: Sample) -> Mapping[str, float]:
    """Throughput at the ends of the grid relative to batch 100."""
    return {f"{k}: {b}/100": t(k, batch=b) / t(k, batch=100) for k in t.configurations for b in (2, 500)}


def best_batch(t: Sample) -> Mapping[str, float]:
    """Best batch size, and the better of 100 and 150 relative to it."""
    numbers = {}
    for k in t.configurations:
        best = max(t.values("batch"), key=lambda b: t(k, batch=b))
        numbers[f"{k}: best batch"] = best
        numbers[f"{k}: (100 or 150)/best"] = max(t(k, batch=100), t(k, batch=150)) / t(k, batch=best)
    return numbers


def by_share(t: Sample) -> Mapping[str, float]:
    """Throughput at both ends and in the middle."""
    return {f"{k}: {s} % [Mbit/s]": t(k, share=s) for k in t.configurations for s in (0, 10, 40, 50, 60, 90, 100)}


def gain_over_one_link(t: Sample) -> Mapping[str, float]:
    """Even split, and the worst split, relative to the better single link."""
    numbers = {}
    for k in t.configurations:
        single = max(t(k, share=0), t(k, share=100))
        numbers[f"{k}: even split/one link"] = t(k, share=50) / single
        numbers[f"{k}: worst split/one link"] = min(t(k, share=s) for s in range(10, 100, 10)) / single
    return numbers


def asymmetry(t: Sample) -> Mapping[str, float]:
    """Largest relative difference between a share and its mirror image."""
    return {
        f"{k}: largest difference": max(rel(t(k, share=s), t(k, share=100 - s)) for s in (0, 10, 20, 30, 40))
        for k in t.configurations
    }


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
    claims=(
        Claim(
            "DC-09",
            f"{THESIS} §4.4, §6.1.1, §7; {PAPER} §5.6, §6",
            "A larger UDP receive buffer raises aioquic throughput over DC: the default Linux buffer costs at least "
            "several percent wherever the throughput is high.",
            dc_09,
            default_over_large,
            scope="batch sizes up to 300",
        ),
        Claim(
            "DC-10",
            f"{THESIS} §6.1.1",
            "The penalty of the default buffer vanishes when the throughput is low, because the bursts PDCP releases "
            "are then small.",
            dc_10,
            default_over_large,
            scope="batch sizes from 400 on; not available yet: random loss of 0.05 % and more",
        ),
        Claim(
            "DC-11",
            f"{THESIS} §6.1.1, §7",
            "The cause is packet drops at the socket: PDCP releases packets in bursts that overflow the default "
            "receive buffer; with 32 MiB there are none.",
            reason="not available yet: half of it is about unequal links (experiment bandwidth_ratio_matched)",
        ),
        Claim(
            "DC-14",
            f"{THESIS} abstract, §6.1.1; {PAPER} abstract, §6",
            "With sensible DC parameters and the large buffer, QUIC over DC performs like TCP over DC.",
            reason="not available yet: needs the TCP engine lab-tcp",
        ),
        Claim(
            "DC-20",
            f"{THESIS} §5.2.1 (Table 5.3); {PAPER} §5.1 (Fig. 4a)",
            "Large DC batches lower the throughput markedly in all three configurations.",
            dc_20,
            relative_to_100,
            scope=QUIC_ONLY,
        ),
        Claim(
            "DC-21",
            f"{THESIS} §5.2.1; {PAPER} §5.1, §5.6",
            "The best batch sizes are in the middle of the range, around 100-150 packets, with the exact optimum "
            "depending on the protocol.",
            dc_21,
            best_batch,
            scope=QUIC_ONLY,
            note="As a strict maximum it holds for the published default buffer only: the large buffer peaks at 50 and "
            "TCP at 10, by 0.1 to 0.3 Mbit/s.",
        ),
        Claim(
            "DC-22",
            f"{THESIS} §5.2.1; {PAPER} §5.1",
            "Very small batches are also penalised because they reorder more.",
            dc_22,
            relative_to_100,
            scope=QUIC_ONLY,
            note="Its own table contradicts it: it is clear for the default buffer only (31.0 against 32.5 Mbit/s), "
            "0.1 Mbit/s for the large buffer, and reversed for TCP.",
        ),
        Claim(
            "DC-23",
            f"{THESIS} §5.2.1; {PAPER} §5.1",
            "Smaller batches produce more reordering events at the PDCP receiver.",
            reason="not available yet: needs runs without jitter (experiment pdcp) to tell the split from the links",
        ),
    ),
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
    claims=(
        Claim(
            "DC-25",
            f"{THESIS} §5.2.2 (Table 5.4); {PAPER} §5.1 (Fig. 7a)",
            "With equal links the throughput peaks at an even split and falls, steeply at first, as the split becomes "
            "uneven (convex on both sides).",
            dc_25,
            by_share,
            scope=QUIC_ONLY,
        ),
        Claim(
            "DC-26",
            f"{THESIS} §5.2.2",
            "DC never does worse than a single link, whatever the split, on equal links; at the even split it nearly "
            "doubles the throughput.",
            dc_26,
            gain_over_one_link,
            scope=QUIC_ONLY,
            note='The factor 1.8 for "nearly doubles" is ours (1.89 to 2.06 in Table 5.4).',
        ),
        Claim(
            "DC-27",
            f"{PAPER} §5.1",
            "The effect of the split is symmetric when the links are equal.",
            dc_27,
            asymmetry,
            scope=QUIC_ONLY,
        ),
    ),
    assumptions=ASSUMPTIONS,
    variants=VARIANTS,
    limits=LIMITS,
    unavailable=(TCP,),
)

STUDIES = (BATCH_SIZE, SHARE)
