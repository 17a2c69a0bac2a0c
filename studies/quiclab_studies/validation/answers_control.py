"""Questions on congestion control, loss recovery and timers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab_studies.validation import answers_measures as measures
from quiclab_studies.validation.answers_question import Question, Setting, by_loss_mbps, near, tcp_mbps

if TYPE_CHECKING:
    from quiclab.study import Changes


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
                *near(by_loss_mbps(1170, 0.1, loss), 0.3, 0.3),
                {"links.down.loss": f"{100 * loss:g} %"},
            )
            for loss in (0.01, 0.001, 0.0001)
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
            Setting("undo", 0.75 * tcp_mbps(50), tcp_mbps(50)),
            Setting("no undo", 0, tcp_mbps(50) / 3, {"flows.main.sender.tcp.undo": False}),
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


def _unpaced() -> Question:
    bursts_fit = (0.75 * 0.93 * 100, 96)

    def setting(acknowledged: int, queue: int, limits: tuple[float, float]) -> Setting:
        return Setting(
            f"acknowledgement for {acknowledged} packets, queue of {queue}",
            *limits,
            {
                "flows.main.receiver.quic.acknowledgement": {"kind": "every", "packets": acknowledged},
                "links.down.queue.packets": queue,
            },
        )

    return Question(
        "unpaced",
        ("nginx#1498", "nginx#1712"),
        "Why is an unpaced sender slow over a short queue?",
        "A burst as long as what an acknowledgement covers must fit into the queue. Where it does, NewReno has 3/4 of "
        "the link at least, less headers; a burst of twenty that meets a queue of ten is a loss in each round trip, "
        "and less than a fifth remains.",
        measures.goodput_mbps(),
        "goodput",
        "Mbit/s",
        (setting(2, 10, bursts_fit), setting(2, 30, bursts_fit), setting(20, 30, bursts_fit), setting(20, 10, (0, 20))),
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
            Setting("bbr-linux", *near(100 * first, 1 / 3, 1 / 3)),
            Setting("bbr-v3", *near(100 * third, 1 / 3, 1 / 3), third_version),
            Setting(
                "bbr-v3, every 2 s",
                *near(100 * often, 1 / 3, 1 / 3),
                {**third_version, "flows.main.sender.bbr": {"probe_rtt_interval": "2 s"}},
            ),
        ),
    )


QUESTIONS = (
    _loss_newreno(),
    _bbr_loss(),
    _spurious_undo(),
    _persistent(),
    _minimum_window(),
    _slow_start_exit(),
    _cubic_after_pause(),
    _outage(),
    _unpaced(),
    _probe_rtt(),
)
