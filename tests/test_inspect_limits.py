"""What limits a sender, from states that are written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from quiclab.analysis.inspect.ends import NO_SPACE, End, Packets, Samples
from quiclab.analysis.inspect.limits import APPLICATION, CREDIT, HANDSHAKE, PACING, WINDOW, limits

MS = 1000
FULL = 1200


def sender(times_us: list[int], *, space: int = 3, contents: str = "stream") -> Packets:
    """Full packets at these times, after a packet of the handshake at 0."""
    count = len(times_us)
    spaces = np.array([0 if space == 3 else space] + [space] * count)
    sizes = np.full(count + 1, FULL)
    frames = np.array([1] + [0] * count)
    return Packets(np.array([0, *times_us]), np.arange(count + 1), spaces, sizes, frames, [contents, "crypto"])


def held(*samples: tuple[int, int]) -> Samples:
    times, values = zip(*samples, strict=True)
    return np.array(times), np.array(values)


def causes(end: End) -> list[tuple[int, int]]:
    found = limits(end)
    assert found is not None
    return list(zip(found.time_us.tolist(), found.cause.tolist(), strict=True))


def test_a_full_window_limits_until_an_acknowledgement() -> None:
    end = End("server", sent=sender([10 * MS, 10 * MS, 50 * MS]))
    end.metrics["cwnd_bytes"] = held((0, 3000))
    # 600 B are free, which is no packet; at 40 ms all is acknowledged, and the next packet leaves 10 ms later
    end.metrics["in_flight_bytes"] = held((0, 0), (10 * MS, 2400), (40 * MS, 0), (50 * MS, 1200), (90 * MS, 0))
    assert causes(end) == [(0, HANDSHAKE), (10 * MS, WINDOW), (40 * MS, APPLICATION)]


def test_a_window_with_room_for_exactly_a_packet_is_full() -> None:
    end = End("server", sent=sender([10 * MS, 10 * MS, 50 * MS]))
    end.metrics["cwnd_bytes"] = held((0, 3600))
    end.metrics["in_flight_bytes"] = held((0, 0), (10 * MS, 2400), (40 * MS, 2399), (90 * MS, 0))
    assert causes(end) == [(0, HANDSHAKE), (10 * MS, WINDOW), (40 * MS, APPLICATION)]


def test_the_last_state_of_an_instant_counts() -> None:
    end = End("server", sent=sender([10 * MS, 20 * MS]))
    end.metrics["cwnd_bytes"] = held((0, 1200))
    # an acknowledgement frees the window at 20 ms, and the packet that leaves at once fills it again
    end.metrics["in_flight_bytes"] = held((0, 0), (10 * MS, 1200), (20 * MS, 0), (20 * MS, 1200), (60 * MS, 0))
    assert causes(end) == [(0, HANDSHAKE), (10 * MS, WINDOW)]


def test_credit_that_is_used_up_limits_until_it_is_raised() -> None:
    end = End("server", sent=sender([10 * MS, 30 * MS, 70 * MS]))
    end.metrics["cwnd_bytes"] = held((0, 100_000))
    end.metrics["in_flight_bytes"] = held((0, 0), (10 * MS, 1200), (90 * MS, 0))
    end.credit = held((10 * MS, 1), (25 * MS, 0), (70 * MS, 0))
    assert causes(end) == [(0, HANDSHAKE), (10 * MS, CREDIT), (25 * MS, APPLICATION)]


def test_sending_that_resumes_when_the_first_limit_is_raised_was_limited_by_it() -> None:
    end = End("server", sent=sender([10 * MS, 30 * MS, 70 * MS]))
    end.metrics["cwnd_bytes"] = held((0, 100_000))
    end.metrics["in_flight_bytes"] = held((0, 0), (10 * MS, 1200), (90 * MS, 0))
    end.credit = held((30 * MS, 0), (70 * MS, 0))
    # at 70 ms the limit was known, and had not been reached
    assert causes(end) == [(0, HANDSHAKE), (10 * MS, CREDIT), (30 * MS, APPLICATION)]


def test_a_pacer_limits_packets_that_leave_at_its_rate() -> None:
    # 12 Mbit/s are a packet in 0.8 ms; two packets that leave together are followed after 1.6 ms
    end = End("server", sent=sender([10_000, 10_800, 11_600, 11_600, 13_200, 20_000]))
    end.metrics["cwnd_bytes"] = held((0, 100_000))
    end.metrics["in_flight_bytes"] = held((0, 0), (20_000, 7200), (30_000, 0))
    end.metrics["pacing_rate_mbps"] = held((0, 12_000))
    assert causes(end) == [(0, HANDSHAKE), (10_000, PACING), (13_200, APPLICATION)]
    found = limits(end)
    assert found is not None
    assert found.labels[APPLICATION] == "application"
    # of 20 ms after the handshake
    assert found.percent() == pytest.approx(
        {"congestion window": 0, "flow control": 0, "pacing": 100 * 3.2 / 20, "application": 100 * 16.8 / 20}
    )
    assert found.time_of(np.array([10_000, 12_000, 14_000])).T.tolist() == [[0, 0, 0, 2000, 0], [0, 0, 0, 1200, 800]]


def test_tcp_waits_for_room_for_a_burst_and_causes_that_are_not_told_apart_are_named() -> None:
    end = End("server", sent=sender([10 * MS, 30 * MS, 30 * MS], space=NO_SPACE, contents="data"))
    end.metrics["cwnd_bytes"] = held((0, 14_480))
    # headers of 52 B are in the size of packets, but not in the window: 1148 B are a full segment, 2296 B two
    end.metrics["in_flight_bytes"] = held(
        (0, 0), (10 * MS, 13_332), (20 * MS, 13_333), (30 * MS, 12_185), (40 * MS, 12_184)
    )
    found = limits(end)
    assert found is not None
    assert found.labels[APPLICATION] == "application, receive window or pacing (not told apart)"
    assert causes(end) == [(0, APPLICATION), (20 * MS, WINDOW)]
    # at 30 ms two segments left together: room for two is needed, and there from 40 ms on
    end.metrics["in_flight_bytes"] = held((0, 0), (30 * MS, 12_185), (40 * MS, 12_184), (50 * MS, 0))
    assert causes(end) == [(0, APPLICATION), (30 * MS, WINDOW), (40 * MS, APPLICATION)]


@pytest.mark.parametrize("contents", ["ack", "ack+padding", "connection_close", "ack+connection_close"])
def test_acknowledgements_are_not_limited(contents: str) -> None:
    end = End("client", sent=sender([10 * MS, 12 * MS], contents=contents))
    end.sent.space[0] = 3  # the request
    end.metrics["cwnd_bytes"], end.metrics["in_flight_bytes"] = held((0, 12_000)), held((0, 1200), (40 * MS, 0))
    assert causes(end) == [(0, APPLICATION)]


def test_nothing_is_said_without_state_or_with_packets_left_out() -> None:
    end = End("server", sent=sender([10 * MS]))
    assert limits(end) is None
    end.metrics["cwnd_bytes"], end.metrics["in_flight_bytes"] = held((0, 12_000)), held((0, 0), (40 * MS, 0))
    assert limits(end) is not None
    end.complete = False
    assert limits(end) is None
