"""Receivers of TCP that are not Linux: which segments they acknowledge, and how far their windows open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import polars as pl
import pytest

import quiclab

Workload: TypeAlias = dict[str, Any]

DELAY_MS, SIZE = 20, 400_000
#: Headers of IPv4 and TCP, with the options of a SYN-ACK: what is longer carries data.
MOST_HEADERS = 60
LINUX = "linux-7"
#: A buffer that does not grow, which would be told in further acknowledgements.
LARGE = {"receive_buffer": "1 MiB", "max_receive_buffer": "1 MiB"}


def load(
    profile: str | None, workload: Workload, rate: str = "20 Mbit/s", options: Mapping[str, Any] | None = None
) -> quiclab.RunResult:
    """Return a run of a Linux server and a client with this profile and these options of TCP."""
    link = {"delay": f"{DELAY_MS} ms", "rate": rate}
    client = {"profile": profile, "tcp": options}
    scenario = {
        "version": 1,
        "name": "receivers",
        "duration": "60 s",
        "links": {"down": link, "up": link},
        "flows": {
            "main": {
                "stack": "lab-tcp",
                "down": ["down"],
                "up": ["up"],
                "receiver": {name: value for name, value in client.items() if value},
                "workload": workload,
            }
        },
        "record": {"packets": True},
    }
    result = quiclab.run(quiclab.Scenario.from_dict(scenario))
    assert result.flows["main"].completed
    return result


def download(
    profile: str | None, size: int = SIZE, rate: str = "20 Mbit/s", options: Mapping[str, Any] | None = None
) -> quiclab.RunResult:
    """Return a download by a client with this profile and these options of TCP."""
    return load(profile, {"kind": "download", "size": f"{size} B"}, rate, options)


def at_client(result: quiclab.RunResult) -> pl.DataFrame:
    """Return the packets at the client in their order."""
    return result.packets.filter(pl.col("element") == "main.receiver").sort("time_ns")


def answers(result: quiclab.RunResult) -> tuple[list[int], list[int]]:
    """Return the times [ns] of data that arrive, and of what the client sends from the first of them to the last."""
    of_client = at_client(result)
    data = of_client.filter(pl.col("event") == "arrival", pl.col("size_bytes") > MOST_HEADERS)["time_ns"].to_list()
    sent = of_client.filter(pl.col("event") == "departure", pl.col("time_ns").is_between(data[0], data[-2]))
    return data, sent["time_ns"].to_list()


def acknowledged(data: list[int], quick: int) -> list[int]:
    """Return the times of acknowledgements of all but the last segment: of the first ones, then of every second one."""
    return data[:quick] + data[quick + 1 : -1 : 2]


@pytest.mark.parametrize(
    ("profile", "options", "quick"),
    [
        ("freebsd-14-receiver", {}, 0),
        ("windows-11-receiver", {}, 0),
        # the server's bursts end with PSH, which macOS acknowledges when it is read
        ("macos-15-receiver", {"acknowledge_reads": False}, 16),
        (LINUX, {"ack_rule": "segments", "quick_acks": 5, "acknowledge_reads": False}, 5),
    ],
)
def test_each_second_segment_is_acknowledged_when_it_arrives(profile: str, options: dict[str, Any], quick: int) -> None:
    data, sent = answers(download(profile, options={**options, **LARGE}))
    assert sent == acknowledged(data, quick)


def test_fewer_acknowledgements_are_an_option() -> None:
    options = {"ack_rule": "segments", "quick_acks": 0, "acknowledge_reads": False, "segments_per_ack": 8}
    data, sent = answers(download(LINUX, options={**options, **LARGE, "max_delayed_ack": "1 s"}))
    assert sent == data[7:-1:8]


@pytest.mark.parametrize(
    ("profile", "options", "wait_ms"),
    [
        ("freebsd-14-receiver", {}, 40),
        ("windows-11-receiver", {}, 40),
        ("macos-15-receiver", {"quick_acks": 0, "acknowledge_reads": False}, 100),
        # the response ends with PSH
        ("macos-15-receiver", {"quick_acks": 0}, 0),
    ],
)
def test_a_segment_alone_waits_for_the_time_of_its_system(profile: str, options: dict[str, Any], wait_ms: int) -> None:
    responses: Workload = {"kind": "request_response", "count": 3, "response": "1 kB", "pause": "500 ms"}
    of_client = at_client(load(profile, responses, options=options))
    arrived = of_client.filter(pl.col("event") == "arrival", pl.col("size_bytes") > MOST_HEADERS)["time_ns"]
    sent = of_client.filter(pl.col("event") == "departure")["time_ns"]
    assert len(arrived) == 3
    for time_ns in arrived[:2]:  # the last one closes the connection
        # the next packet of the client is the acknowledgement: timers of 64 ticks and more end at each eighth one
        waited_ms = (sent.filter(sent >= time_ns).min() - time_ns) / 1e6
        assert wait_ms <= waited_ms <= wait_ms + (8 if wait_ms else 0)


def test_the_largest_window_bounds_a_download() -> None:
    # the path holds 4 Gbit/s times 40 ms, 20 MB: a window of 2 or 4 MiB for each round trip at most
    rate_mbps = {}
    for profile, window in (("freebsd-14-receiver", 2 << 20), ("macos-15-receiver", 4 << 20)):
        time_s = download(profile, 100_000_000, "4 Gbit/s").flows["main"].download_time_s
        assert time_s is not None
        rate_mbps[profile] = 100 * 8 / time_s
        assert rate_mbps[profile] <= 8 * window / (2 * DELAY_MS * 1e3)
    assert rate_mbps["macos-15-receiver"] > rate_mbps["freebsd-14-receiver"]


def test_the_default_is_linux() -> None:
    assert download(None).digest == download(LINUX).digest
    written = {"ack_rule": "linux", "segments_per_ack": 2, "receive_overhead": True}
    assert download(None, options=written).digest == download(None).digest
