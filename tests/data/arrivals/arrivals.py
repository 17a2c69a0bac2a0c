"""arrivals.py server|client SERVER_ADDRESS CLIENT_ADDRESS SECONDS: datagrams of five flows by a fixed plan."""

import random
import socket
import sys
import time
from collections.abc import Iterator

FLOWS, PORT = 5, 6000
#: ECN field of a flow's datagrams, where they have one: ECT(1) of a long one and a sparse one, ECT(0) of the bursts.
ECN_FIELDS = {1: 1, 3: 1, 4: 2}
#: Load of the two long flows in Mbit/s by second, for a link of 10 Mbit/s; it begins again after the last.
LOADS_MBPS = (4.0, 13.0, 13.0, 13.0, 6.0, 12.0, 12.0, 2.0)


def plan(seconds: float) -> Iterator[tuple[float, int, int]]:
    """Yield time [s], flow and payload [B] of each datagram, in the order of time."""
    numbers = random.Random(1)  # noqa: S311 (a plan that repeats)
    found = []
    for flow, share in ((0, 0.6), (1, 0.4)):
        at = 0.0
        while at < seconds:
            size = numbers.randrange(400, 1400)
            found.append((at, flow, size))
            at += 8e-6 * (size + 42) / (share * LOADS_MBPS[int(at) % len(LOADS_MBPS)]) * numbers.uniform(0.5, 1.5)
    for flow, gap, size in ((2, 0.02, 60), (3, 0.033, 160)):
        found.extend((gap * count, flow, size) for count in range(int(seconds / gap)))
    # a flow that is there now and then, all at once
    found.extend(
        (0.7 + 1.9 * burst + 1e-5 * count, 4, 1000) for burst in range(int(seconds / 1.9)) for count in range(60)
    )
    return iter(sorted(found))


def main() -> None:
    """Send, or bind and wait."""
    role, server, client, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
    ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(FLOWS)]
    for flow, end in enumerate(ends):
        end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ECN_FIELDS.get(flow, 0))
        end.bind((server if role == "server" else client, PORT + flow))
    if role == "client":
        ends[0].sendto(b"go", (server, PORT))
        time.sleep(seconds + 2.0)
        return
    ends[0].recvfrom(10)
    start = time.monotonic() + 0.1
    for at, flow, size in plan(seconds):
        time.sleep(max(0.0, start + at - time.monotonic()))
        ends[flow].sendto(bytes(size), (client, PORT + flow))


if __name__ == "__main__":
    main()
