"""Refuted claims of QUIC over Dual Connectivity: the mechanism, and the runs that show it."""

from __future__ import annotations

from quiclab.study.ablation import Ablation

EXPLANATIONS: dict[str, str] = {
    "DC-06": """
        The proxies' delay is put in; most of what is added beyond it are stalls: each overflow of the queue leaves a
        gap, behind which PDCP holds back what has arrived until t-Reordering expires, and the metric is a mean over
        time, in which stalls weigh much. {{ rtt_ms(proxy=False) | figures(1) }} ms without proxies, {{
        rtt_ms(proxy=True) | figures(1) }} with; with their delay and no reordering (`unordered`) {{
        under('unordered').rtt_ms(proxy=True) | figures(1) }}, which is less than claimed.
        """,
    "DC-10": """
        At batches of 400 and more the default buffer is slower, because the bursts of each batch overflow it: memory
        is returned in quarters of the buffer. Where it is returned at once (variant `memory_at_once`) it has {{
        under('memory_at_once').T('quic_default_buffer', batch=500) | figures(1) }} Mbit/s at batches of 500, the
        large buffer {{ under('memory_at_once').T('quic_large_buffer', batch=500) | figures(1) }}.
        """,
    "DC-22": """
        The source's own table contradicts it for TCP, which is faster at batches of 2 there as here: {{ T('tcp',
        batch=2) | figures(1) }} and at batches of 100 {{ T('tcp', batch=100) | figures(1) }} Mbit/s. PDCP puts packets
        in order before TCP sees them; a difference comes from overflows of the queues, each of which costs a
        t-Reordering. With queues that do not overflow (variant `queue_300`) both have {{ under('queue_300').T('tcp',
        batch=2) | figures(1) }} and {{ under('queue_300').T('tcp', batch=100) | figures(1) }}.
        """,
    "DC-23": """
        Packets are overtaken at every batch size, as the part on link 2 arrives beside that on link 1. What falls
        with the batch are the events that start t-Reordering: {{ events_per_1000(batch=2) | figures(0) }} of 1000
        packets at a batch of 2, {{ events_per_1000(batch=100) | figures(0) }} at 100, {{ events_per_1000(batch=500) |
        figures(0) }} at 500.
        """,
    "DC-24": """
        The queues of the links bridge the pauses of half a batch of 200: both links are busy in {{ (100 *
        both_busy(200)) | figures(0) }} % of the bins, at 50 in {{ (100 * both_busy(50)) | figures(0) }} %. With
        queues of half that length (`queue_50`) it is {{ (100 * under('queue_50').both_busy(200)) | figures(0) }} and
        {{ (100 * under('queue_50').both_busy(50)) | figures(0) }} %.
        """,
    "DC-34": """
        Only the default buffer moves, with large deviations, as in the published table: how much of it is free when a
        burst arrives decides single runs.
        """,
    "DC-65": """
        QUIC with QUIC and TCP with TCP share fairly; of QUIC and TCP, QUIC gets more, because it is paced: Jain's
        index is {{ pair_jfi('quic', 'tcp') | figures(3) }}, without the pacer {{ under('no_pacer').pair_jfi('quic',
        'tcp') | figures(3) }}.
        """,
    "DC-68": """
        The source shows a single run, and single runs differ. Over the runs here the bearer's flow is below a third of
        the total in {{ (100 * time_share_below('dc')) | figures(0) }} % of the seconds, with a standard deviation of {{
        (100 * time_share_below_deviation('dc')) | figures(0) }} from run to run.
        """,
}
ABLATIONS: dict[str, Ablation] = {
    "DC-06": Ablation(
        "not the claim, but most of the addition: reordering off behind the proxies (`unordered`), and less than half"
        " of it is left",
        shows="under('unordered').rtt_ms(proxy=True) - rtt_ms(proxy=False)"
        " < 0.5 * (rtt_ms(proxy=True) - rtt_ms(proxy=False))",
    ),
    "DC-10": Ablation("memory returned at once (`memory_at_once`), and the claim holds", "memory_at_once"),
    "DC-22": Ablation(
        "not the claim, but what makes TCP's difference: queues that do not overflow (`queue_300`), and less than half"
        " of it is left",
        shows="abs(under('queue_300').T('tcp', batch=2) - under('queue_300').T('tcp', batch=100))"
        " < 0.5 * abs(T('tcp', batch=2) - T('tcp', batch=100))",
    ),
    "DC-23": Ablation(
        "events are counted in place of packets, and they fall with the batch",
        shows="events_per_1000(batch=2) > events_per_1000(batch=100) > events_per_1000(batch=500)",
    ),
    "DC-24": Ablation("queues of 50 packets (`queue_50`), and the claim holds", "queue_50"),
    "DC-34": Ablation("memory returned at once (`memory_at_once`), and the claim holds", "memory_at_once"),
    "DC-65": Ablation("QUIC without pacer (`no_pacer`), and the claim holds", "no_pacer"),
    "DC-68": Ablation(
        "not the claim, but that one run says little: in place of the mean over the runs one that is two standard"
        " deviations above it, and the flow is below its share for more than half of the time",
        shows="time_share_below('dc') + 2 * time_share_below_deviation('dc') > 0.5",
    ),
}
