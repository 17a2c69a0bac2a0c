"""Refuted claims of the page-load study: the mechanism, and the run that shows it."""

from __future__ import annotations

PROCESSOR = (
    "The cost of many small objects is computing, not transport. Without any cost of the browser (variant "
    "`browser_in_no_time`) a hundred images take as long as one; Chromium itself behaves so on a "
    "virtual clock, where computing "
    "takes no time (336 ms for both, at 50 Mbit/s), and needs 513 instead of 383 ms in real time. "
    "The model has one part of "
    "that, the time for an image that has arrived; requests that leave late are not modelled, and "
    "the testbed's processor is not "
    "known."
)
EXPLANATIONS: dict[str, str] = {
    "PL08": "TCP, TLS, HTML and image are four round trips, 0-RTT leaves two of them: the difference is two, "
    "in the source's "
    "tables as well. The handshakes are the mechanism: the configuration `quic1_1rtt` has three.",
    "PL11": "In the model gQUIC's 10 MB at 100 Mbit/s are not slower than TCP's: nothing in it limits the "
    "sender at 100 Mbit/s. "
    "The testbed's server of 2017 may have been limited by its processor; that was not measured.",
    "PL13": PROCESSOR,
    "PL14": PROCESSOR,
    "PL16": PROCESSOR,
    "PL17": "Without loss and with ten large images QUIC's delay never grows by an eighth within the first "
    "eight samples of a "
    "round before the page is complete; TCP leaves on its train of acknowledgements, which Chromium does not look at.",
    "PL19": "The first half holds: slow start ends by delay, without loss, and the estimate has jumped to 52 "
    "ms, since the browser "
    "reads late. At that moment, 0.31 s, TCP's estimate has grown as well: its own queue. With "
    "`browser_in_no_time` QUIC's "
    "estimate does not jump.",
    "PL20": "QUIC leaves slow start when most of the page has been sent, so little of the transfer is left "
    "for congestion "
    "avoidance; see PL13 for what is missing.",
    "PL29": "The loss of a few packets decides a page of 1 MB: the differences of N = 1 scatter around zero, "
    "36, -12 and 36 % for "
    "ten objects.",
    "PL40": "For 10 MB gQUIC is behind by a wide margin (-49 % at 10 Mbit/s). For 1 MB it is not: TCP "
    "suffers from the same "
    "delays that end its slow start early, and needs two round trips more at the beginning.",
    "PL46": "137 of 150 seconds have losses, as claimed; the window's 80th percentile is 61 kB, where less "
    "than 50 is claimed. "
    "The variant `script_in_no_time` has a delay that changes more often.",
    "PL47": "The threshold passes 100 and the window recovers, as claimed. But with it the flight grows, so "
    "that a change of the "
    "delay overtakes more packets: the number declared lost grows, the rate of them does not.",
    "PL49": "Images that the browser takes time for (`browser_in_no_time` has none of it) make BBR's "
    "delivery rate that of the "
    "browser: QUIC is behind for 200 objects at 100 Mbit/s only (-6 %).",
    "PL55": "QUIC takes 3.95 Mbit/s of five, TCP 1.05: a ratio of 3.8, where 1.8 to 3.5 is claimed and 3.0 "
    "published. CUBIC for two "
    "connections keeps 85 % at a loss, TCP 70 %, and the queue of 30 kB is shared.",
    "PL58": "79 % against one TCP flow, not 100: a share of N / (N + M) would be 67. The formula of the text "
    "is not that of its "
    "table, either.",
    "PL62": "TCP's BBR changes its window more often, as claimed. It lies below QUIC's: Chromium's BBR has "
    "the larger window in "
    "acknowledgement aggregation, which its decimated acknowledgements call for.",
}
