"""Why findings of the tunnel thesis are refuted here: the mechanism, and the run that shows it."""

EXPLANATIONS = {
    "TN05": (
        "One download reaches 31 Mbit/s with FQ-CoDel where the thesis has 33 to 39. Acknowledgements of TCP are "
        "small and wait at the client until a packet is full, 25 of them: the sender gets them in bursts, and CoDel "
        "drops packets of each burst. Variants `acks_carry` and `at_once`, where they do not wait: 34 and 35 "
        "Mbit/s."
    ),
    "TN07": (
        "With a FIFO of 10 MB nothing overflows: the receive window of Linux ends at 6 MB, so that one download "
        "never has more than that in the queue. Variants `fifo_1mb` and `fifo_3mb` overflow."
    ),
    "TN11": (
        "After the overshoot of slow start the sojourn time is still 48 ms two intervals later: CoDel drops its "
        "first packet after one interval and two or three in the next, and TCP answers a round trip after that. "
        "Where acknowledgements do not wait for full packets (`at_once`) slow start overshoots less, and 6 ms are "
        "left."
    ),
    "TN13": ("Fairness is as published (0.999), the sum is 32.9 Mbit/s, 0.1 below the limit: see TN05."),
    "TN17": (
        "The ping takes 17 ms. With windows of one bandwidth-delay product no queue builds up on either path, so "
        "that it takes 10 ms over path A, 20 ms over path B, and waits for the packet that is being sent. With "
        "the windows of the equal paths on both (variant `windows_50000`), which the author may not have changed, 25 "
        "kB wait on each path and it takes 28 ms, within the published range."
    ),
    "TN19": (
        "Lowest RTT saves a tenth, not half. While the tunnel is saturated both windows are full and a packet takes "
        "the path where an acknowledgement has just opened the window, regardless of the scheduler: two thirds of the "
        "pings go down path A with either. Only the upward path of the ping, which is not saturated, follows the "
        "scheduler."
    ),
    "TN20": (
        "Both schedulers send the same share over each path (see TN19), hence the same reordering and a "
        "throughput that differs by 1 %."
    ),
    "TN26": (
        "The part on media holds, the part on UDP does not. SCReAM's feedback is one small packet now and then; "
        "it waits at the client until others have filled a packet, for seconds, and the rate stays at its "
        "minimum. Removing one suspect at a time: without the rule of full packets (`at_once`) media reach 34 "
        "Mbit/s, with acknowledgements that carry what waits (`acks_carry`) 33; cost of the VPN, window and FIFO "
        "or FQ-CoDel change nothing. A flow of datagrams has no feedback and gets 35 of 40 Mbit/s: its published "
        "rate must be what was offered, which the thesis does not say (iperf offers 1 Mbit/s unless told "
        "otherwise)."
    ),
}
