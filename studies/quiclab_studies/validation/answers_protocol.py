"""Questions on windows of receivers, handshakes and applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab_studies.validation import answers_measures as measures
from quiclab_studies.validation.answers_question import MIB, Question, Setting, per_rtt_mbps

if TYPE_CHECKING:
    from quiclab.study import Changes


def _window_limit() -> Question:
    limit = per_rtt_mbps(MIB, 0.050)
    return Question(
        "window_limit",
        ("neqo#1868",),
        "What does a stream window of 1 MiB allow at a round trip of 50 ms?",
        "At most W/RTT. quinn extends the window when an eighth of it was read, so that 7/8 W/RTT is used at least; up "
        "to 3 % less, as the round trip contains serialisation and the delay of acknowledgements.",
        measures.goodput_mbps(after="2 s"),
        "goodput",
        "Mbit/s",
        (Setting("", limit * 7 / 8 * 0.97, limit),),
    )


def _h2_window() -> Question:
    limit = per_rtt_mbps(65535, 0.040)
    return Question(
        "h2_window",
        ("dio#2606", "HTTP.jl#1260", "undici#4705"),
        "What do HTTP/2 windows of 64 KiB allow?",
        "At most W/RTT. An update at half of the window leaves half of it at least, less the start of the "
        "connection (5 %).",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (Setting("", 0.95 * limit / 2, limit),),
    )


def _nagle() -> Question:
    requests, rtt, delay = 20, 0.020, 0.040
    waits = requests * (2 * rtt + delay)
    return Question(
        "nagle",
        ("smithy-rs#4677",),
        "What does a request in two writes cost without TCP_NODELAY?",
        "The second part waits for the acknowledgement of the first (RFC 9293, section 3.7.4), which Linux delays by "
        "40 ms: two round trips and 40 ms for each request instead of one round trip. The connection takes another "
        "round trip; the first request, or its handshake, may find a server that acknowledges at once.",
        measures.completion_s,
        "time for 20 requests",
        "s",
        (
            Setting("Nagle", waits - delay, waits + rtt),
            Setting(
                "TCP_NODELAY", requests * rtt, (requests + 1) * rtt + 0.01, {"flows.main.receiver.tcp.nagle": False}
            ),
        ),
    )


def _certificate() -> Question:
    def chain(size: str) -> Changes:
        return {f"flows.main.{end}.tls.certificate": size for end in ("sender", "receiver")}

    rtt = 0.1
    return Question(
        "certificate",
        ("base-drafts#3784",),
        "When does a chain of certificates cost a round trip?",
        "When the server's flight exceeds three times the client's first datagram of 1200 bytes (RFC 9000, section "
        "8.1): the handshake takes two round trips instead of one, and the first byte three instead of two. "
        "Serialisation takes less than 2 ms.",
        measures.completion_s,
        "time to the first byte",
        "s",
        (
            Setting("chain of 2.5 kB", 2 * rtt, 2 * rtt + 0.002, chain("2500 B")),
            Setting("chain of 4 kB", 3 * rtt, 3 * rtt + 0.002, chain("4 kB")),
            Setting(
                "chain of 4 kB, first flight of two datagrams",
                2 * rtt,
                2 * rtt + 0.002,
                {**chain("4 kB"), "flows.main.receiver.quic.initial_datagrams": 2},
            ),
        ),
    )


def _noq_chunks() -> Question:
    return Question(
        "noq_chunks",
        ("quinn#2809", "quinn#2814", "honk#110"),
        'Why does the connection end with "too many gaps in stream buffer" although one packet was lost?',
        "noq counts chunks behind a gap, not gaps: above 2048 frames (2.4 MB with datagrams of 1200 bytes) behind "
        "one lost packet it closes the connection. quinn 0.11.19 counts gaps.",
        measures.completed,
        "completed downloads",
        "",
        (
            Setting("noq, window of 2 MB", 1, 1, {"flows.main.receiver.stream_receive_window": "2 MB"}),
            Setting("noq, window of 50 MB", 0, 0),
            Setting("quinn, window of 50 MB", 1, 1, {"flows.main.stack": "quinn"}),
        ),
    )


QUESTIONS = (
    _window_limit(),
    _h2_window(),
    _nagle(),
    _certificate(),
    _noq_chunks(),
)
