"""Refuted claims of the pacing study: the mechanism, and the runs that show it."""

from __future__ import annotations

from quiclab.study.ablation import Ablation

EXPLANATIONS: dict[str, str] = {
    "PA-05": """
        The first half holds: {{ (100 * dup_ack_share('netcat', 10)) | figures(0) }} % of duplicates with the queue of
        1000 packets that the published commands make. BBR has none. With the socket option CUBIC still fills the
        queue, since it counts payload, less than tbf does, and has {{ (100 * dup_ack_share('tcp_so_max_pacing_rate',
        10)) | figures(0) }} %. Limited to the payload's share of the bottleneck (variant `payload_rate`) there are {{
        (100 * under('payload_rate').dup_ack_share('tcp_so_max_pacing_rate', 10)) | figures(0) }} %, as published: the
        testbed's pacers may have been as slow.
        """,
    "PA-07": """
        The cause is not known. Linux acknowledges every second segment, in the model as in the study `kernel`; a
        network card that merges packets that arrive within an interrupt (GRO) would make three of them, and is not
        modelled.
        """,
    "PA-11": """
        The cause is not known: a cost of the host that is the same for each packet has no period.
        """,
    "PA-16": """
        In the model programs run the instant a packet arrives: the ACKs of all are as regular as the bottleneck. With
        processors that take time to wake (variant `late_processes`) aioquic's ACKs scatter by {{
        under('late_processes').width('aioquic', 10) | figures(2) }} ms and ngtcp2's by {{
        under('late_processes').width('ngtcp2', 10) | figures(2) }}, because aioquic's timer is nearly as long as the
        interval of its packets.
        """,
    "PA-19": """
        The cause is not known. A receiver that acknowledges every second packet, as the source of the stack has it,
        leaves one peak; a client that reads all that has arrived before it acknowledges would have several, and the
        model of a host does not do that.
        """,
    "PA-22": """
        The first half holds: pairs that answer ACKs. The width of the ACK intervals of quic-go comes from processes
        that wake late: {{ width('quic-go', 100) | figures(2) }} ms, and {{ under('late_processes').width('quic-go',
        100) | figures(2) }} with them (variant `late_processes`).
        """,
    "PA-25": """
        The cause is not known. The model's token bucket has exact timers, and one peak; the source suspects tbf,
        whose timers are late.
        """,
}
ABLATIONS: dict[str, Ablation] = {
    "PA-05": Ablation("pacers limited to the payload's share (`payload_rate`), and the claim holds", "payload_rate"),
    "PA-16": Ablation(
        "processes that wake late (`late_processes`), and aioquic's ACKs scatter more than those of ngtcp2",
        shows="under('late_processes').width('aioquic', 10) > under('late_processes').width('ngtcp2', 10) >"
        " width('ngtcp2', 10)",
    ),
    "PA-22": Ablation(
        "processes that wake late (`late_processes`), and quic-go's ACKs scatter twice as much",
        shows="under('late_processes').width('quic-go', 100) > 2 * width('quic-go', 100)",
    ),
}
