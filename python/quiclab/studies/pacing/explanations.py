"""Refuted claims of the pacing study: the mechanism, and the run that shows it."""

from __future__ import annotations

RULE = "A receiver that acknowledges every second packet, as the source of each of these stacks has it, "
EXPLANATIONS: dict[str, str] = {
    "PA-05": "The first half holds exactly: 26 % of duplicates with the queue of 1000 packets that the "
    "published commands make. BBR has none. With fq and the socket option CUBIC still fills the queue, since fq paces "
    "at 1.2 cwnd / srtt and the socket option counts payload, 4.6 % less than tbf; Linux itself has as many duplicates "
    "on this link (study `kernel`). Limited to the payload's share of the bottleneck (variant "
    "`payload_rate`) there are "
    "none, as published: probably the testbed's pacers, whose late timers Linux 4.19 does not make good, were as slow.",
    "PA-07": "Linux acknowledges every second segment, in the model as in the study `kernel`. Three are due to the "
    "client's network card, which merges packets that arrive within an interrupt (GRO); the model has none.",
    "PA-11": "aioquic's server is limited by its processor there. A cost that is the same for each packet gives seven "
    "packets an acknowledgement, as published at the upper end, without any pattern; what in Python takes turns of ten "
    "seconds is not known.",
    "PA-16": "In the model programs run the instant a packet comes: the ACKs of all are as regular as the bottleneck, "
    "and only TCP's duplicates make a width. With processors that take up to 133 us to wake (variant `late_processes`) "
    "aioquic scatters most, 1.7 ms, and ngtcp2 0.35 ms, because aioquic's rule of 1 ms meets packets every 1.06 ms and "
    "tips. TCP's width comes from its duplicates, see PA-05.",
    "PA-19": f"{RULE}leaves one peak at two packets, 0.21 ms. The published peaks at one and at "
    "three packets come from "
    "a client that reads all that has come before it acknowledges, which the model of a host does not do.",
    "PA-22": "The first half holds: pairs that answer ACKs. The width of TCP's ACK intervals comes "
    "from its losses, and "
    "quic-go's has none without late processes (variant `late_processes`).",
    "PA-25": "The model's token bucket has exact timers, and one peak. A bucket of 1600 B holds 128 "
    "us: a timer that is "
    "7 us late loses rate for good, so that the rate of a real tbf moves in steps, and BBR's with it. The source "
    "suspects tbf as well.",
}
