"""Refuted claims of QUIC over Dual Connectivity: the mechanism, and the runs that show it."""

from __future__ import annotations

from quiclab.study.ablation import Ablation

EXPLANATIONS: dict[str, str] = {
    "DC-06": """
        The proxies' delay is put in; the rest is stalls. Each overflow of the queue leaves a gap, and with PDCP the
        smoothed RTT stands at its peak until t-Reordering expires; the metric is a mean over time, in which stalls
        weigh much. {{ rtt_ms(proxy=False) | figures(1) }} ms without proxies, {{ rtt_ms(proxy=True) | figures(1) }}
        with; with their delay and no reordering (`unordered`) {{ under('unordered').rtt_ms(proxy=True) | figures(1)
        }}.
        """,
    "DC-10": """
        At batches of 400 and more the default buffer is slower, because the bursts of each batch overflow it: memory
        is returned in quarters of the buffer. Where it is returned at once (variant `memory_at_once`) it has {{
        under('memory_at_once').T('quic_default_buffer', batch=500) | figures(1) }} Mbit/s at batches of 500, the
        large buffer {{ under('memory_at_once').T('quic_large_buffer', batch=500) | figures(1) }}.
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
    "DC-70": """
        ngtcp2 is faster than aioquic at small batches, but not than TCP, which starts with the slow-start threshold
        of the run before. A TCP without it (variant `first_run`) has {{ under('first_run').T('tcp', batch=50) |
        figures(1) }} Mbit/s at batches of 50, ngtcp2 {{ T('quic_large_buffer', impl='ngtcp2', batch=50) | figures(1)
        }}.
        """,
}
ABLATIONS: dict[str, Ablation] = {
    "DC-06": Ablation("reordering off behind the proxies (`unordered`), and the claim holds", "unordered"),
    "DC-10": Ablation("memory returned at once (`memory_at_once`), and the claim holds", "memory_at_once"),
    "DC-23": Ablation(
        "events are counted in place of packets, and they fall with the batch",
        shows="events_per_1000(batch=2) > events_per_1000(batch=100) > events_per_1000(batch=500)",
    ),
    "DC-24": Ablation("queues of 50 packets (`queue_50`), and the claim holds", "queue_50"),
    "DC-34": Ablation("memory returned at once (`memory_at_once`), and the claim holds", "memory_at_once"),
    "DC-65": Ablation("QUIC without pacer (`no_pacer`), and the claim holds", "no_pacer"),
    "DC-70": Ablation(
        "TCP without metrics of a run before (`first_run`), and ngtcp2 is faster at all small batches",
        shows="all(T('quic_large_buffer', impl='ngtcp2', batch=b) > under('first_run').T('tcp', batch=b)"
        " for b in (2, 10, 50, 100))",
    ),
}
