"""Refuted claims of QUIC over Dual Connectivity: the mechanism, and the run that shows it."""

EXPLANATIONS: dict[str, str] = {
    "DC-06": "The proxies' delay is put in, and the smallest RTT rises by 1.7 ms; the rest is stalls. Each overflow "
    "of the queue leaves a gap, and with PDCP the smoothed RTT stands at its peak for the 200 ms of t-Reordering, then "
    "takes samples of up to 245 ms. The metric is a mean over time, in which 17 stalls weigh much. Ten runs each: "
    "56.2 ms without proxies, 62.9 with; with their delay and no reordering 57.3 (part of the 2 ms replaces waiting "
    "in the queue), with a timer of 100, 50 and 20 ms 58.9, 57.5 and 57.4, with reordering and no delay 62.0. The "
    "drops at the socket are not the reason: 62.8 with the large buffer. Averaged over the sender's updates, one for "
    "each acknowledgement, it is 56.1 and 57.4 (three runs), and the claim would hold.",
    "DC-10": "Random loss agrees. At batches of 400 and more the default buffer is 3 to 8 % slower, because the "
    "bursts of each batch overflow it: memory is returned in quarters of the buffer. In the variant memory_at_once "
    "the difference disappears (26.8, 26.5, 25.5 at 400, 450, 500, beside 26.0, 25.6, 25.3 with the large buffer).",
    "DC-22": "The sources' own table contradicts it, too. A batch of 2 keeps both queues level; what reordering "
    "costs is a "
    "smaller burst than at 100. Only the default buffer is slower, as its bursts follow each other more closely.",
    "DC-23": "About half of the packets are overtaken at every batch size up to 200: the half on link 2 arrives "
    "beside the "
    "half on link 1. What falls with the batch are the events, which start t-Reordering: 365 of 1000 packets at "
    "2, 20 at "
    "100, 4 at 500 (metric events_per_1000).",
    "DC-24": "Queues of 100 packets bridge the pauses of half a batch of 200: both links are busy in 97 % of the "
    "bins. At 50, "
    "the overflow that ends slow start falls into the first 3 s. With queues of 50 packets the claim's order is there: "
    "0.72 at 50 and 0.24 at 200.",
    "DC-34": "Only the default buffer moves: 32.3 at 1:1 and up to 34.5 at 3.5:1, with deviations of 1 Mbit/s, as "
    "in the "
    "published table (32.1 to 33.5). Whether a burst finds 70 or 93 places decides single runs.",
    "DC-65": "QUIC with QUIC and TCP with TCP share to 0.999. QUIC competing with TCP gets 11 of 18 Mbit/s, because "
    "it paces and "
    "TCP does not: its packets find the full queue less often. Without QUIC's pacer the index rises from 0.936 to "
    "0.974 "
    "(one seed), and with a paced TCP the roles change (0.981). Published figures show one run.",
    "DC-68": "Read from one example run; over ten the bearer's flow is below a third in 41 % of the seconds.",
    "DC-70": "ngtcp2 is faster than aioquic everywhere up to 100, and equals TCP, which starts with the "
    "slow-start threshold "
    "of the run before: 36.9 and 37.0 at 50. Beside a TCP without it (variant first_run, 35.5 to 36) it would be "
    "faster.",
    "DC-71": "NewReno and CUBIC agree within 1 % over all splits and up to batches of 350, and part at 500: 23.1 "
    "and 24.7. "
    "There the window is limited by losses, and below the flow-control window of the profile.",
    "DC-72": "The indices differ where the flow of the bearer begins to fall (150 to 200), by 0.03: CUBIC holds "
    "out longer "
    "there, as the sources say (DC-73).",
}
