"""Why findings of the tunnel thesis are refuted here: the mechanism, and the runs that show it.

Measured values are placeholders over the terms of the predicates (`quiclab.study.explanation`).
"""

from __future__ import annotations

from quiclab.study.ablation import Ablation

EXPLANATIONS = {
    "TN05": """
        One download reaches {{ goodput_mbps('tcp1', 'homo', 'rr', 'fq') | figures(1) }} Mbit/s with FQ-CoDel where
        the thesis has 33 to 39. Acknowledgements of TCP are small and wait at the client until a packet is full: the
        sender gets them in bursts, and CoDel drops packets of each burst. Where they do not wait, it reaches {{
        under('at_once').goodput_mbps('tcp1', 'homo', 'rr', 'fq') | figures(1) }} Mbit/s (`at_once`) or {{
        under('acks_carry').goodput_mbps('tcp1', 'homo', 'rr', 'fq') | figures(1) }} (`acks_carry`).
        """,
    "TN07": """
        With a FIFO of 10 MB nothing overflows: the receive window of Linux ends at 6 MB, so that one download never
        has more than that in the queue.
        """,
    "TN11": """
        After the overshoot of slow start the sojourn time is still {{ sojourn_after_two_intervals_ms('tcp2', 'homo',
        'rr', 'fq') | figures(0) }} ms two intervals later: CoDel drops its first packet after one interval and few in
        the next, and TCP answers a round trip after that. Where acknowledgements do not wait for full packets
        (`at_once`) slow start overshoots less, and {{ under('at_once').sojourn_after_two_intervals_ms('tcp2', 'homo',
        'rr', 'fq') | figures(0) }} ms are left.
        """,
    "TN13": """
        Fairness is as published ({{ jfi('tcp4', 'homo', 'rr', 'fq') | figures(4) }}), the sum is {{
        goodput_mbps('tcp4', 'homo', 'rr', 'fq') | figures(1) }} Mbit/s, where at least 33 is claimed: see TN05. Where
        acknowledgements do not wait it is {{ under('at_once').goodput_mbps('tcp4', 'homo', 'rr', 'fq') | figures(1)
        }}.
        """,
    "TN16": """
        Path A has {{ (100 * share_a('tcp4', 'hetero', 'rr', 'fq')) | figures(0) }} % of the packets, as claimed; the
        sum is {{ goodput_mbps('tcp4', 'hetero', 'rr', 'fq') | figures(1) }} Mbit/s, where at least 21 is claimed.
        Where acknowledgements do not wait for full packets (see TN05) it is {{ under('at_once').goodput_mbps('tcp4',
        'hetero', 'rr', 'fq') | figures(1) }}.
        """,
    "TN17": """
        The ping takes {{ rtt_ms('tcp4', 'hetero', 'rr', 'fq') | figures(0) }} ms. With windows of one bandwidth-delay
        product no queue builds up on either path. With the windows of the equal paths on both (variant
        `windows_50000`), which the author may not have changed, packets wait on each path and it takes {{
        under('windows_50000').rtt_ms('tcp4', 'hetero', 'rr', 'fq') | figures(0) }} ms.
        """,
    "TN18": """
        Both schedulers send {{ (100 * share_a('tcp4', 'hetero', 'rr', 'fq')) | figures(1) }} and {{ (100 *
        share_a('tcp4', 'hetero', 'lowrtt', 'fq')) | figures(1) }} % on path A: two thirds, as both windows are equal
        and the round trip time of path A is half that of path B, and as a burst of the downloads fills both. No tie
        is broken: the round trip times differ by a factor of two. Where acknowledgements do not wait for full packets
        (`at_once`), bursts are shorter, windows are not always full, and it is {{ (100 *
        under('at_once').share_a('tcp4', 'hetero', 'rr', 'fq')) | figures(1) }} and {{ (100 *
        under('at_once').share_a('tcp4', 'hetero', 'lowrtt', 'fq')) | figures(1) }} %: the direction of the source,
        whose difference needs a load that leaves the windows room more often.
        """,
    "TN19": """
        Both windows are full under load, and a packet takes the path where an acknowledgement has just made
        room, whatever the scheduler: path A has {{ (100 * share_a('tcp4', 'hetero', 'rr', 'fq')) | figures(0)
        }} % of the packets with round robin and {{ (100 * share_a('tcp4', 'hetero', 'lowrtt', 'fq')) |
        figures(0) }} with lowest RTT, and the ping differs by {{ (rtt_ms('tcp4', 'hetero', 'lowrtt', 'fq') /
        rtt_ms('tcp4', 'hetero', 'rr', 'fq') - 1) | percent }}. Where no window fills (variant `light_load`)
        lowest RTT uses path A alone, and the difference is {{ (under('light_load').rtt_ms('tcp4', 'hetero',
        'lowrtt', 'fq') / under('light_load').rtt_ms('tcp4', 'hetero', 'rr', 'fq') - 1) | percent }}: about the
        third that the delays of the paths allow while nothing waits. A larger cut requires packets that wait
        under round robin alone. With the windows of the equal paths (see TN17) they wait under both schedulers,
        {{ under('windows_50000').rtt_ms('tcp4', 'hetero', 'rr', 'fq') | figures(0) }} and {{
        under('windows_50000').rtt_ms('tcp4', 'hetero', 'lowrtt', 'fq') | figures(0) }} ms. The windows of each
        test are not published.
        """,
    "TN20": """
        Throughput rises by {{ (goodput_mbps('tcp4', 'hetero', 'lowrtt', 'fq') / goodput_mbps('tcp4', 'hetero',
        'rr', 'fq') - 1) | percent(1) }}, but reordering does not fall: with full windows the scheduler has no
        choice, see TN19. With windows that round robin does not fill (variant `window_162500`) packets out of
        order fall from {{ (100 * under('window_162500').reordered('tcp4', 'hetero', 'rr', 'fq')) | figures(0)
        }} to {{ (100 * under('window_162500').reordered('tcp4', 'hetero', 'lowrtt', 'fq')) | figures(0) }} %,
        and throughput rises by {{ (under('window_162500').goodput_mbps('tcp4', 'hetero', 'lowrtt', 'fq') /
        under('window_162500').goodput_mbps( 'tcp4', 'hetero', 'rr', 'fq') - 1) | percent }}: the direction of the
        claim, not its size.
        """,
    "TN22": """
        The flows share fairly in both directions, as claimed. The ping takes {{ rtt_ms('rrul', 'hetero', 'rr', 'fq') |
        figures(1) }} ms with round robin and {{ rtt_ms('rrul', 'hetero', 'lowrtt', 'fq') | figures(1) }} with lowest
        RTT, for the reason of TN19: all windows are full. Where none fills (variant `light_load`, in both directions)
        they are {{ under('light_load').rtt_ms('rrul', 'hetero', 'rr', 'fq') | figures(1) }} and {{
        under('light_load').rtt_ms('rrul', 'hetero', 'lowrtt', 'fq') | figures(1) }}.
        """,
    "TN26": """
        The part on media holds, the part on UDP does not. A flow of datagrams has no feedback that could wait for
        full packets, and gets {{ goodput_mbps('udp', 'homo', 'rr', 'fq') | figures(0) }} Mbit/s of those that are
        offered: its published rate must be what was offered, which the thesis does not say. The media flow stays at
        its minimum, {{ highest_second_mbps('media', 'homo', 'rr', 'fq') | figures(2) }} Mbit/s, where about 2 are
        published: without the rule of full packets (`at_once`) it reaches {{
        under('at_once').highest_second_mbps('media', 'homo', 'rr', 'fq') | figures(0) }}, so that the rule alone is
        not the published ceiling.
        """,
}

AT_ONCE = "acknowledgements do not wait for full packets (`at_once`)"
ABLATIONS = {
    "TN05": Ablation(f"{AT_ONCE}, and the claim holds", "at_once"),
    "TN07": Ablation("the FIFO is smaller than TCP's window (`fifo_1mb`), and the claim holds", "fifo_1mb"),
    "TN11": Ablation(
        f"{AT_ONCE}, and the sojourn time is less than half",
        shows="under('at_once').sojourn_after_two_intervals_ms('tcp2', 'homo', 'rr', 'fq')"
        " < 0.5 * sojourn_after_two_intervals_ms('tcp2', 'homo', 'rr', 'fq')",
    ),
    "TN13": Ablation(f"{AT_ONCE}, and the claim holds", "at_once"),
    "TN16": Ablation(f"{AT_ONCE}, and the claim holds", "at_once"),
    "TN17": Ablation("the windows of the equal paths on both paths, and the claim holds", "windows_50000"),
    "TN18": Ablation(f"{AT_ONCE}, and the claim holds", "at_once"),
    "TN19": Ablation(
        "not the claim, but that full windows leave no choice: no window fills (`light_load`), and lowest RTT cuts the"
        " latency by more than twice the part",
        shows="1 - under('light_load').rtt_ms('tcp4', 'hetero', 'lowrtt', 'fq')"
        " / under('light_load').rtt_ms('tcp4', 'hetero', 'rr', 'fq')"
        " > 2 * (1 - rtt_ms('tcp4', 'hetero', 'lowrtt', 'fq') / rtt_ms('tcp4', 'hetero', 'rr', 'fq'))",
    ),
    "TN20": Ablation(
        "windows that round robin does not fill (`window_162500`): lowest RTT halves reordering, and throughput rises",
        shows="under('window_162500').reordered('tcp4', 'hetero', 'lowrtt', 'fq')"
        " < 0.5 * under('window_162500').reordered('tcp4', 'hetero', 'rr', 'fq')"
        " and under('window_162500').goodput_mbps('tcp4', 'hetero', 'lowrtt', 'fq')"
        " > under('window_162500').goodput_mbps('tcp4', 'hetero', 'rr', 'fq')",
    ),
    "TN22": Ablation("no window fills in either direction (`light_load`), and the claim holds", "light_load"),
    "TN26": Ablation("datagrams are offered at iperf's default rate (`udp_1mbit`), and the claim holds", "udp_1mbit"),
}
