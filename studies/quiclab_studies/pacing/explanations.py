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
    "PA-06": """
        Large ACKs follow losses, of which fq has as many as the unpaced sender here: it paces faster than ACKs come,
        and fills the queue, too. {{ (100 * large_acks('netcat')) | figures(2) }} % of the ACKs of netcat are large, {{
        (100 * large_acks('fq')) | figures(2) }} % with fq, {{ (100 * large_acks('so_max_pacing_rate')) | figures(2) }}
        % with the socket option and {{ (100 * large_acks('bbr')) | figures(2) }} % with BBR. Limited to the payload's
        share of the bottleneck (variant `payload_rate`) fq has {{ (100 * under('payload_rate').large_acks('fq')) |
        figures(2) }} %, and the socket option as many.
        """,
    "PA-07": """
        Linux acknowledges every second segment that comes alone, in the model as in the study `kernel`. A card of the
        client that waits after a frame before it interrupts, and whose frames are merged (GRO, variant `receive_card`),
        makes ACKs for {{ under('receive_card').mode(packets_per_ack('netcat', 100)) | figures(0) }} packets with
        netcat, {{ under('receive_card').mode(packets_per_ack('apache', 100)) | figures(0) }} with Apache and {{
        under('receive_card').mode(packets_per_ack('bbr', 100)) | figures(0) }} with BBR; but also {{
        under('receive_card').mode(packets_per_ack('fq', 100)) | figures(0) }} with fq and {{
        under('receive_card').mode(packets_per_ack('so_max_pacing_rate', 100)) | figures(0) }} with the socket option,
        which fill the queue, too, so that their frames arrive as close together. If the pacers begin each pair late
        and never make it good (variant `receive_card_late_pacers`; the internal pacing of Linux 4.19 does not, its fq
        does up to half of the wait), the queue stays empty, three frames
        take longer than the card waits, and these two have {{
        under('receive_card_late_pacers').mode(packets_per_ack('fq', 100)) | figures(0) }} and {{
        under('receive_card_late_pacers').mode(packets_per_ack('so_max_pacing_rate', 100)) | figures(0) }}. Neither the
        settings of the testbed's card nor its timers are known; a capture of the client's side would show both.
        """,
    "PA-11": """
        The pattern is the saw-tooth of NewReno's window, and the receive buffer of the client's socket ends each cycle.
        Python takes longer to receive a datagram than to send one, so that the sender outruns the client: ACKs cover
        few packets after a loss, and in the end as many as the client reads within the timer of its ACKs, until the
        buffer overflows. With the buffer that Linux gives by default, and the measured costs (variant
        `measured_python`), the period is {{ under('measured_python').period_s(packets_per_ack('aioquic', 100)) |
        figures(0) }} s, with {{ under('measured_python').percentile(packets_per_ack('aioquic', 100), 5) | figures(0) }}
        to {{ under('measured_python').percentile(packets_per_ack('aioquic', 100), 95) | figures(0) }} packets in most
        ACKs. Literally, the buffer has no limit, and both ends are equally slow: nothing is lost, and there is no
        period. Slower processors (variant `slow_python`) have fewer packets in each ACK.
        """,
    "PA-16": """
        In the model programs run the instant a packet arrives: the ACKs of all are as regular as the bottleneck. With
        processors that take time to wake (variant `late_processes`) aioquic's ACKs scatter by {{
        under('late_processes').width('aioquic', 10) | figures(2) }} ms and ngtcp2's by {{
        under('late_processes').width('ngtcp2', 10) | figures(2) }}, because aioquic's timer is nearly as long as the
        interval of its packets.
        """,
    "PA-19": """
        The bursts are within what was published: {{ percentile(burst_packets('ngtcp2', 100), 99) | figures(0) }}
        packets (99th percentile), and {{ (100 * share(burst_gap_ms('ngtcp2', 100), 0.05, 0.5)) | figures(0) }} % of the
        gaps are in the range. A client that gets its packets one by one and acknowledges every second one has a single
        peak of the ACK intervals, at two packets. A card that waits before it interrupts (variant `receive_card`) makes
        that between 0.3 and 0.4 ms, the time of three packets, as it makes ACKs for three packets of TCP. It does not
        make the one near 0.11 ms, the time of one: the rest of what came together is acknowledged at once, {{ (1000 *
        under('receive_card').percentile(ack_interval_ms('ngtcp2', 100), 5)) | figures(0) }} us later. What makes that
        one is not known; the times at which the client reads, next to a capture of its card, would show it.
        """,
    "PA-22": """
        The first half holds: pairs that answer ACKs. The width of the ACK intervals of quic-go comes from processes
        that wake late: {{ width('quic-go', 100) | figures(2) }} ms, and {{ under('late_processes').width('quic-go',
        100) | figures(2) }} with them (variant `late_processes`).
        """,
    "PA-25": """
        The cause is not known. Hosts are not it: without their costs and the lateness of their timers (variant
        `ideal_hosts`) the number of peaks is {{ under('ideal_hosts').peaks(send_interval_us('picoquic_bbr', 100), 108,
        130) | figures(0) }}, with processes that wake late (`late_processes`) {{
        under('late_processes').peaks(send_interval_us('picoquic_bbr', 100), 108, 130) | figures(0) }}, with a card of
        the client with interrupt coalescing (`receive_card`) {{
        under('receive_card').peaks(send_interval_us('picoquic_bbr', 100), 108, 130) | figures(0) }}, and with a queue
        of four BDP (`four_bdp`) {{ under('four_bdp').peaks(send_interval_us('picoquic_bbr', 100), 108, 130)
        | figures(0) }}. What splits all three clusters is a factor of the pacing rate, hence BBR's estimate of the
        bottleneck. The bucket of tbf holds little more than a frame: a timer that is late by more than the rest of it
        takes to fill loses rate for good, and at 100 Mbit/s that time is a tenth of what it is at 10, where nothing is
        split. The model's token bucket has exact timers. A capture behind the router would decide: whether the rate of
        the bottleneck takes several values, or changes from run to run.
        """,
    "PA-30": """
        The cause is not known. The rate is that published, but not as steady: {{ (100 *
        share(send_interval_ms('picoquic_cubic', 10), 0.84, 1.05)) | figures(0) }} % of the intervals are near 0.94 ms.
        {{ (100 * share(send_interval_ms('picoquic_cubic', 10), 0, 0.1)) | figures(0) }} % lie within the bursts that
        the bucket of 16 packets lets go after each ACK, and each burst has the same interval, which is therefore the
        most common one; the others follow cwnd / srtt, which changes with the queue. Hosts are not it: without their
        costs (variant `ideal_hosts`) it is {{ (100 * under('ideal_hosts').share(send_interval_ms('picoquic_cubic',
        10), 0.84, 1.05)) | figures(0) }} %, with processes that wake late (`late_processes`) {{ (100 *
        under('late_processes').share(send_interval_ms('picoquic_cubic', 10), 0.84, 1.05)) | figures(0) }} %, and with
        windows that grow (`growing_windows`) {{ (100 *
        under('growing_windows').share(send_interval_ms('picoquic_cubic', 10), 0.84, 1.05)) | figures(0) }} %.
        """,
}
ABLATIONS: dict[str, Ablation] = {
    "PA-05": Ablation("pacers limited to the payload's share (`payload_rate`), and the claim holds", "payload_rate"),
    "PA-06": Ablation(
        "pacers limited to the payload's share (`payload_rate`), and fq has fewer large ACKs than the socket option"
        " without it",
        shows="under('payload_rate').large_acks('fq') < large_acks('so_max_pacing_rate')",
    ),
    "PA-07": Ablation(
        "a card of the client with interrupt coalescing and GRO, and pacers that begin late"
        " (`receive_card_late_pacers`), and the claim holds",
        "receive_card_late_pacers",
    ),
    "PA-11": Ablation(
        "the default receive buffer of a socket, and the measured costs of aioquic (`measured_python`), and the claim"
        " holds",
        "measured_python",
    ),
    "PA-16": Ablation(
        "processes that wake late (`late_processes`), and aioquic's ACKs scatter more than those of ngtcp2",
        shows="under('late_processes').width('aioquic', 10) > under('late_processes').width('ngtcp2', 10) >"
        " width('ngtcp2', 10)",
    ),
    "PA-19": Ablation(
        "a card of the client with interrupt coalescing (`receive_card`), and ACK intervals gather at three packets",
        shows="under('receive_card').has_mode(ack_interval_ms('ngtcp2', 100), 0.3, 0.4)"
        " and not has_mode(ack_interval_ms('ngtcp2', 100), 0.3, 0.4)",
    ),
    "PA-22": Ablation(
        "processes that wake late (`late_processes`), and quic-go's ACKs scatter twice as much",
        shows="under('late_processes').width('quic-go', 100) > 2 * width('quic-go', 100)",
    ),
}
