"""Questions from public threads, each with a scenario and the range in which theory puts the answer.

A range is computed from the parameters of the scenario by the formula that `theory` states. Its width is what theory
leaves open: the capacity that headers take, the time until a window is full, the scatter of random losses.

Answers of quiclab were known when the widths were chosen. After the first runs, three things were changed: goodput
under random loss counts from 40 s on, as slow start was part of it; a fair share may be exceeded by 1 %; and an uplink
of 150 kbit/s was left out, whose losses of acknowledgements the formula lacks (its answer was below the range).
"""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quiclab.studies.validation import answers_measures as measures
from quiclab.tree import to_plain, toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.study import Changes

    Measure = measures.Measure

FOLDER = "scenarios/questions"
#: Bytes of data in a full segment of TCP with timestamps, and of its packet without the header of the link.
SEGMENT, PACKET = 1448, 1500
MB, MIB = 1e6, 2**20


@dataclass(frozen=True)
class Setting:
    """One run of a question.

    Attributes
    ----------
    name
        What is special about it; empty where the question has one setting.
    low, high
        The range of theory, in the unit of the question.
    changes
        Its changes of the question's scenario.
    """

    name: str
    low: float
    high: float
    changes: Changes = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """A question, and what answers it.

    Attributes
    ----------
    file
        Scenario in `scenarios/questions`, without `.toml`.
    threads
        Where it was asked: repository and number, or the document.
    asks
        The question.
    theory
        What the answer follows from, with its formula.
    measure, quantity, unit
        What is measured of a run.
    settings
        The runs.
    """

    file: str
    threads: tuple[str, ...]
    asks: str
    theory: str
    measure: Measure
    quantity: str
    unit: str
    settings: tuple[Setting, ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        """Return its settings as cases of the study."""
        return tuple(Case(self, setting) for setting in self.settings)


@dataclass(frozen=True)
class Case:
    """A setting of a question, as a configuration of the study."""

    question: Question
    setting: Setting

    @property
    def name(self) -> str:
        """Return the name of the configuration."""
        words = [self.question.file, *re.findall(r"[a-z0-9.]+", self.setting.name.lower())]
        return "_".join(words)

    @property
    def scenario(self) -> str:
        """Return the scenario of the question, relative to the home of the studies."""
        return f"{FOLDER}/{self.question.file}.toml"

    @property
    def theory_range(self) -> str:
        """Return the range of theory, in the unit of the question."""
        low, high = self.setting.low, self.setting.high
        return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"

    @property
    def command(self) -> str:
        """Return the command that repeats it."""
        sets = (f"{path}={toml_value(to_plain(value))}" for path, value in self.setting.changes.items())
        return " ".join([f"quiclab run {self.scenario}", *(f"--set {shlex.quote(text)}" for text in sets)])


def _per_rtt_mbps(window_bytes: float, rtt_s: float) -> float:
    """Return the rate of a window in each round trip [Mbit/s]."""
    return 8e-6 * window_bytes / rtt_s


def _by_loss_mbps(segment_bytes: float, rtt_s: float, loss: float) -> float:
    """Return the rate of NewReno under independent losses, 1.22 MSS / (RTT sqrt(p)) (Mathis et al. 1997) [Mbit/s]."""
    return 1.22 * _per_rtt_mbps(segment_bytes, rtt_s) / math.sqrt(loss)


def _tcp_mbps(rate_mbps: float, overhead_bytes: float = 0) -> float:
    """Return the rate of data that full segments have on a link [Mbit/s]."""
    return rate_mbps * SEGMENT / (PACKET + overhead_bytes)


def _near(value: float, below: float, above: float = 0.0) -> tuple[float, float]:
    """Return the range around a value: from the value less a share of it to the value and a share of it."""
    return value * (1 - below), value * (1 + above)


def _window_limit() -> Question:
    limit = _per_rtt_mbps(MIB, 0.050)
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


def _loss_newreno() -> Question:
    # 30 bytes of a datagram of 1200 are header, tag and the head of the STREAM frame
    return Question(
        "loss_newreno",
        ("quic-go#5325",),
        "How fast is NewReno under random loss over a long path?",
        "1.22 MSS / (RTT sqrt(p)) (Mathis et al. 1997), within 30 %: the constant is 1.22 for periodic and 1.31 for "
        "independent losses, and a run has few of them. Slow start meets its first loss far above that.",
        measures.goodput_mbps(after="40 s"),
        "goodput after 40 s",
        "Mbit/s",
        tuple(
            Setting(
                f"{100 * loss:g} %",
                *_near(_by_loss_mbps(1170, 0.1, loss), 0.3, 0.3),
                {"links.down.loss": f"{100 * loss:g} %"},
            )
            for loss in (0.01, 0.001, 0.0001)
        ),
    )


def _slow_start_exit() -> Question:
    def reduced(beta: float) -> Setting:
        least = math.ceil(math.log(2) / -math.log(beta))
        return Setting(f"{beta:g}", least, least + 1, {"flows.main.sender.cubic": {"slow_start_beta": beta}})

    return Question(
        "slow_start_exit",
        ("neqo#3162", "neqo#3187"),
        "How often is the window reduced at the end of slow start?",
        "The window is up to twice what the path holds when the loss is noticed: ln 2 / ln(1/beta) reductions in a row,"
        " rounded up, and at most one more, as it grows meanwhile.",
        measures.reductions,
        "reductions",
        "",
        tuple(reduced(beta) for beta in (0.7, 0.5, 0.4)),
    )


def _cubic_after_pause() -> Question:
    # in packets of 1228 bytes: what link and queue hold, the window after a loss, and K (RFC 9438, section 4.2)
    held = (50e6 * 0.040 / 8 + 125e3) / 1228
    window, k = 0.7 * held, (held * (1 - 0.7) / 0.4) ** (1 / 3)
    span = 0.5
    slope = 3 * 0.4 * k**2
    after_20_s = held + 0.4 * (20 - k) ** 3
    profile = {f"flows.main.{end}.profile": "quinn" for end in ("sender", "receiver")}
    return Question(
        "cubic_after_pause",
        ("freebsd#D25065", "s2n-quic#157"),
        "Does the window of CUBIC jump after 20 s in which the application had little to send?",
        "No: time without a full window does not count (RFC 9438, section 5.8). In half a second it grows by 3 C K^2 "
        "times the time at most, the slope of the curve at its beginning. A sender that counts the pause goes to where "
        "the curve is then, by half of the window in each round trip.",
        measures.window_growth(measures.when_delivered_s(5.81e6), span),
        "window in half a second, of that before",
        "",
        (
            Setting("lab-quic", 1, 1 + slope * span / window),
            Setting("profile quinn, which counts it", 1.5, after_20_s / window, profile),
        ),
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


def _adsl() -> Question:
    def framed(overhead: int) -> Setting:
        # full segments have 1426 bytes of data in packets of 1478
        cells = math.ceil((1478 + overhead) / 48)
        changes = {f"links.{link}.framing.overhead_bytes": overhead for link in ("down", "up")}
        return Setting(f"overhead of {overhead} bytes", *_near(10.833 * 1426 / (53 * cells), 0.01), changes)

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


def _bbr_loss() -> Question:
    def after(loss: float) -> float:
        return 7 * (1 - loss)

    return Question(
        "bbr_loss",
        ("lsquic#233",),
        "Up to which loss does BBR version 1 keep its rate?",
        "Up to p = 1 - 1/1.25 = 20 %: a probe at 1.25 times the rate still delivers the rate. Below it the link's "
        "rate less the losses, of which headers (5 %), ProbeRTT (2 %) and the phase of each cycle that drains take up "
        "to 15 %; above it the rate falls by a factor in each cycle, to less than half.",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (
            Setting("10 % lost", 0.85 * after(0.1), after(0.1), {"links.down.loss": "10 %"}),
            Setting("18 % lost", 0.85 * after(0.18), after(0.18), {"links.down.loss": "18 %"}),
            Setting("25 % lost", 0, after(0.25) / 2, {"links.down.loss": "25 %"}),
        ),
    )


def _fq_shares() -> Question:
    def number(count: int, queue: Mapping[str, object]) -> Changes:
        return {"links.down.queue": queue, "flows.downloads.count": count}

    settings = [
        Setting(
            f"{kind}, {count} downloads",
            *_near(_tcp_mbps(100) / (count + 1), 0.05, 0.01),
            number(count, {"kind": kind, **further}),
        )
        for kind, further in (("cake", {"host_isolation": False}), ("fq_codel", {}))
        for count in (4, 8)
    ]
    isolated = Setting(
        "cake, hosts isolated, 8 downloads",
        *_near(_tcp_mbps(100) / 2, 0.1),
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
        "uplink over 66 bytes times two segments. Up to 10 % less until the windows are open. An acknowledgement "
        "for ten packets (ACK_FREQUENCY) makes that limit several times as high, and the downlink the limit.",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (
            Setting("uplink of 100 kbit/s", *_near(download(100), 0.1)),
            Setting("uplink of 1 Mbit/s", *_near(_tcp_mbps(10, 14), 0.1), {"links.up.rate": "1 Mbit/s"}),
        ),
    )


def _outage() -> Question:
    def outage(seconds: float, stack: str) -> Setting:
        rows = [{"at": "0 s"}, {"at": "5 s", "up": False}, {"at": f"{5 + seconds:g} s", "up": True}]
        conditions = {"at_end": "hold", "while_down": "lose", "rows": rows}
        changes = {"links.down.conditions": conditions, "links.up.conditions": conditions, "flows.main.stack": stack}
        return Setting(f"{stack}, {seconds:g} s", 0, seconds, changes)

    return Question(
        "outage_pto",
        ("quic-go#3594", "noq#523"),
        "How long does a connection wait after an outage?",
        "Timeouts double, so that the gap in which the outage ends began before half of the outage and is at most "
        "as long as the outage: the wait is at most as long again.",
        measures.silence_after_s(15.0),
        "wait after the outage",
        "s",
        (outage(10, "quinn"), outage(10, "noq"), outage(10, "lab-quic"), outage(10, "lab-tcp")),
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
            Setting("bucket of 12 packets", *_near(20 * 1200 / 1228, 0.15), bucket(12)),
        ),
    )


def _unpaced() -> Question:
    return Question(
        "unpaced",
        ("nginx#1498", "nginx#1712"),
        "Why is an unpaced sender slow over a short queue?",
        "A burst as long as what an acknowledgement covers must fit into the queue. With one for two packets bursts"
        " are short, and NewReno has 3/4 of the link at least, less headers; with one for twenty they exceed a "
        "queue of ten packets, and less than a fifth remains.",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (
            Setting("acknowledgement for 2 packets", 0.75 * 0.93 * 100, 96),
            Setting(
                "acknowledgement for 20 packets, queue of 10",
                0,
                20,
                {
                    "flows.main.receiver.quic.acknowledgement": {"kind": "every", "packets": 20},
                    "links.down.queue.packets": 10,
                },
            ),
        ),
    )


def _spurious_undo() -> Question:
    return Question(
        "spurious_undo",
        ("gvisor#14102",),
        "What does a sender lose that does not undo spurious reductions?",
        "With undo (RFC 4015, F-RTO, DSACK) reordering costs nothing lasting: more than 3/4 of the link. Without, "
        "each of the reorderings halves the window: less than a third.",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (
            Setting("undo", 0.75 * _tcp_mbps(50), _tcp_mbps(50)),
            Setting("no undo", 0, _tcp_mbps(50) / 3, {"flows.main.sender.tcp.undo": False}),
        ),
    )


def _persistent() -> Question:
    def end(stack: str) -> Changes:
        return {"flows.main.stack": stack}

    return Question(
        "persistent",
        ("quiche#2680", "msquic#2231"),
        "How far does persistent congestion reduce the threshold?",
        "Once, by CUBIC's 0.7; the window becomes two datagrams (RFC 9002, section 7.6.2). A sender that reduces "
        "the threshold for the loss and for persistent congestion has 0.49: what msquic did, and quinn and noq do.",
        measures.threshold_share(8.0, 12.0),
        "threshold, of the window before",
        "",
        (
            Setting("lab-quic", 0.69, 0.71, end("lab-quic")),
            Setting("quinn", 0.48, 0.50, end("quinn")),
            Setting("noq", 0.48, 0.50, end("noq")),
        ),
    )


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
            Setting("32 kB, 5 ms", 0.7 * _tcp_mbps(100), _tcp_mbps(100), bucket("32 kB", 5)),
            Setting("32 kB, 160 ms", 0, 20, bucket("32 kB", 160)),
            Setting("2 MB, 160 ms", 0.7 * _tcp_mbps(100), _tcp_mbps(100), bucket("2 MB", 160)),
        ),
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


def _h2_window() -> Question:
    limit = _per_rtt_mbps(65535, 0.040)
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


def _minimum_window() -> Question:
    # from two packets to half of 20 Mbit/s * 40 ms, by 3 (1 - 0.7) / (1 + 0.7) of a packet in each round trip
    growth = 3 * (1 - 0.7) / (1 + 0.7)
    half = 0.5 * 20e6 * 0.040 / (8 * 1228)
    return Question(
        "minimum_window",
        ("quiche#2370",),
        "Does CUBIC leave its smallest window after heavy loss?",
        "Yes, at 0.53 of a packet in each round trip (RFC 9438, section 4.3), and twice as fast where that is below"
        " the threshold: to half of the link within the time that takes from two packets, and the probe timeout in "
        "which the losses ended, at most as long as these.",
        measures.until_rate_s(6.0, 10.0),
        "time to half of the link",
        "s",
        (Setting("", 0, half / growth * 0.040 + 3),),
    )


def _probe_rtt() -> Question:
    # 200 ms and a round trip: version 1 at four packets, every 10 s; version 3 at half of the product, every 5 s
    first, third, often = 0.24 / 10.24, 0.5 * 0.24 / 5.24, 0.5 * 0.24 / 2.24
    third_version = {"flows.main.sender.congestion_control": "bbr-v3"}
    return Question(
        "probe_rtt",
        ("draft-ietf-ccwg-bbr#17", "picoquic#885"),
        "What does ProbeRTT cost?",
        "Version 1: four packets for 200 ms and a round trip, every 10 s. Version 3: half of the bandwidth-delay "
        "product as long, every 5 s: the same share of the link, 240 ms of 10.24 s. Within a third: the queue "
        "before and the refill after a probe are not part of the formula.",
        measures.lost_time_share(11.0),
        "time of the link that is not used",
        "%",
        (
            Setting("bbr-linux", *_near(100 * first, 1 / 3, 1 / 3)),
            Setting("bbr-v3", *_near(100 * third, 1 / 3, 1 / 3), third_version),
            Setting(
                "bbr-v3, every 2 s",
                *_near(100 * often, 1 / 3, 1 / 3),
                {**third_version, "flows.main.sender.bbr": {"probe_rtt_interval": "2 s"}},
            ),
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


QUESTIONS = (
    _window_limit(),
    _h2_window(),
    _loss_newreno(),
    _bbr_loss(),
    _spurious_undo(),
    _persistent(),
    _minimum_window(),
    _slow_start_exit(),
    _cubic_after_pause(),
    _outage(),
    _policer_rtt(),
    _gso_policer(),
    _unpaced(),
    _frame_bursts(),
    _udp_buffer(),
    _fq_shares(),
    _udp_isolation(),
    _ack_capacity(),
    _adsl(),
    _two_wans(),
    _nagle(),
    _certificate(),
    _noq_chunks(),
    _probe_rtt(),
)
CASES = tuple(case for question in QUESTIONS for case in question.cases)
BY_NAME: Mapping[str, Case] = {case.name: case for case in CASES}
