"""Questions on links, queues, policers and paths."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab_studies.validation import answers_measures as measures
from quiclab_studies.validation.answers_question import MB, SEGMENT, Question, Setting, near, tcp_mbps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.study import Changes


def _policer_rtt() -> Question:
    def bucket(burst: str, rtt_ms: float) -> Changes:
        delay = f"{rtt_ms / 2:g} ms"
        return {"links.down.policer.burst": burst, "links.down.delay": delay, "links.up.delay": delay}

    return Question(
        "policer_rtt",
        ("NetworkOptimizer#784",),
        "Why is a long path slow behind a policer with a short bucket?",
        "A policer has no queue: a reduction that the bucket does not bridge costs rate, and a bucket of the "
        "bandwidth-delay product bridges it. With it at least 0.7 of the rate, CUBIC's factor, on a path of any "
        "length, and with half of it on the short one; with a bucket of 1/60 of the product less than a fifth.",
        measures.goodput_mbps(after="10 s"),
        "goodput after 10 s",
        "Mbit/s",
        (
            Setting("32 kB, 5 ms", 0.7 * tcp_mbps(100), tcp_mbps(100), bucket("32 kB", 5)),
            Setting("32 kB, 160 ms", 0, 20, bucket("32 kB", 160)),
            Setting("2 MB, 160 ms", 0.7 * tcp_mbps(100), tcp_mbps(100), bucket("2 MB", 160)),
        ),
    )


def _gso_policer() -> Question:
    def bucket(packets: int) -> Changes:
        return {"links.wan.policer.burst": f"{packets * 1228} B"}

    return Question(
        "gso_policer",
        ("quinn#2627",),
        "What does a limiter with a short bucket do to bursts of ten packets?",
        "quinn's pacer sends ten packets at once. A bucket of five loses half of each burst: less than half of the "
        "cell's rate remains. A bucket of twelve loses none.",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (
            Setting("bucket of 5 packets", 0, 10, bucket(5)),
            Setting("bucket of 12 packets", *near(20 * 1200 / 1228, 0.15), bucket(12)),
        ),
    )


def _frame_bursts() -> Question:
    burst = math.ceil(1e6 / (8 * 1392))  # packets of a millisecond at 1 Gbit/s
    drained = 400e6 * 1e-3 / (8 * (1392 + 28))
    fits = 50 + drained
    return Question(
        "frame_bursts",
        ("moonshine#192",),
        "Why does a video at 60 Mbit/s lose packets on a link of 400 Mbit/s?",
        "A frame leaves at 1 Gbit/s: what the link does not carry meanwhile must fit into its queue of 50 packets; "
        "within two packets. A gap of 100 us between packets is below the rate of the link.",
        measures.dropped_share("down"),
        "packets dropped",
        "%",
        (
            Setting("frames at 1 Gbit/s", 100 * (burst - fits - 1) / burst, 100 * (burst - fits + 2) / burst),
            Setting(
                "100 us between packets",
                0,
                0,
                {
                    "flows.video.workload.rate": "111 Mbit/s",
                    "flows.video.workload.on": "9 ms",
                    "flows.video.workload.off": "7.667 ms",
                },
            ),
        ),
    )


def _udp_buffer() -> Question:
    held = 212_992 // 2304
    return Question(
        "udp_buffer",
        ("haproxy#2473", "bun#37452"),
        "How many datagrams does a socket buffer of 212992 bytes hold?",
        "Each datagram of 1452 bytes counts 2304 bytes (`truesize` of Linux: 2048 bytes of data and 256 of the "
        "`sk_buff`): the largest multiple below the limit, and one that is added before the limit is compared.",
        measures.longest_buffer_packets,
        "longest queue of the socket",
        "packets",
        (Setting("reader of 16 us a datagram", held, held + 1, {"hosts.client.receive_datagram": "16 us"}),),
    )


def _fq_shares() -> Question:
    def number(count: int, queue: Mapping[str, object]) -> Changes:
        return {"links.down.queue": queue, "flows.downloads.count": count}

    settings = [
        Setting(
            f"{kind}, {count} downloads",
            *near(tcp_mbps(100) / (count + 1), 0.05, 0.01),
            number(count, {"kind": kind, **further}),
        )
        for kind, further in (("cake", {"host_isolation": False}), ("fq_codel", {}))
        for count in (4, 8)
    ]
    isolated = Setting(
        "cake, hosts isolated, 8 downloads",
        *near(tcp_mbps(100) / 2, 0.1),
        number(8, {"kind": "cake", "host_isolation": True}),
    )
    return Question(
        "fq_shares",
        ("sch_cake#133",),
        "Which share has a video beside a download manager with several connections?",
        "One of n + 1 equal shares of the rate with a queue for each flow; half of it with the isolation of hosts. "
        "Up to 5 % less (10 % of a half) for the time that windows take to recover.",
        measures.goodput_mbps("video", "5 s"),
        "goodput of the video",
        "Mbit/s",
        (*settings, isolated),
    )


def _udp_isolation() -> Question:
    sent = 90_000  # 40 kbit/s over 18 s
    flood = 1 - 100 / (120 * 1428 / 1400)  # share of the flood that does not fit
    return Question(
        "udp_isolation",
        ("sch_cake#145",),
        "Does a shaper drop from a light flow beside a flood?",
        "Not with a queue for each flow. In a FIFO packets of the light flow meet a full queue as often as those of"
        " the flood, or more often where both are periodic: at least half of 1 - 100/120.",
        measures.undelivered_share("light", sent),
        "light flow that does not arrive",
        "%",
        (
            Setting("cake", 0, 0),
            Setting("fq_codel", 0, 0, {"links.down.queue": {"kind": "fq_codel"}}),
            Setting("FIFO", 50 * flood, 100, {"links.down.queue": {"kind": "drop_tail", "packets": 100}}),
        ),
    )


def _ack_capacity() -> Question:
    # an acknowledgement is 52 bytes and 14 of the link; one for two segments
    def download(up_kbps: float) -> float:
        return up_kbps * 1e3 / (8 * 66) * 2 * SEGMENT * 8e-6

    return Question(
        "ack_capacity",
        ("LibreQoS#131", "picoquic#1234"),
        "How much uplink do the acknowledgements of a download need?",
        "An acknowledgement of 66 bytes on the link for two segments: the download is at most the rate of the "
        "uplink over 66 bytes times two segments. Up to 10 % less until the windows are open.",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (
            Setting("uplink of 100 kbit/s", *near(download(100), 0.1)),
            Setting("uplink of 1 Mbit/s", *near(tcp_mbps(10, 14), 0.1), {"links.up.rate": "1 Mbit/s"}),
        ),
    )


def _adsl() -> Question:
    def framed(overhead: int) -> Setting:
        # full segments have 1426 bytes of data in packets of 1478
        cells = math.ceil((1478 + overhead) / 48)
        changes = {f"links.{link}.framing.overhead_bytes": overhead for link in ("down", "up")}
        return Setting(f"overhead of {overhead} bytes", *near(10.833 * 1426 / (53 * cells), 0.01), changes)

    return Question(
        "adsl",
        ("sch_cake#142", "sqm-scripts#84"),
        "What remains of an ADSL line's rate for TCP?",
        "A packet fills whole cells of ATM, 48 bytes of 53: with 1488 bytes 31 cells, with one byte more 32. Up to 1 % "
        "less until the window is open.",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (framed(10), framed(11)),
    )


def _two_wans() -> Question:
    fast, both = 100 * 1200 / 1228, 120 * 1200 / 1228
    needed = 120e6 / 8 * 0.62 / MB

    def window(size: str) -> Changes:
        return {"flows.main.receiver.stream_receive_window": size}

    return Question(
        "two_wans",
        ("openmptcprouter#2365", "mptcp_net-next#381"),
        "Why is a connection over two lines slower than over the better one?",
        f"Reassembly needs a window of both rates times the longest round trip, {needed:.1f} MB. With one of 1 MB "
        "less than the better line alone; with 10 MB more than that, and at most the sum.",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (
            Setting("window of 1 MB", 0, fast, window("1 MB")),
            Setting("window of 10 MB", fast, both, window("10 MB")),
            Setting("better line alone", 0.93 * fast, fast, {"flows.main.paths": []}),
        ),
    )


QUESTIONS = (
    _policer_rtt(),
    _gso_policer(),
    _frame_bursts(),
    _udp_buffer(),
    _fq_shares(),
    _udp_isolation(),
    _ack_capacity(),
    _adsl(),
    _two_wans(),
)
