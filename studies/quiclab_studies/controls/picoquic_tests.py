"""The tests of draft-huitema-ccwg-c4-test: networks, the main download, and another one in the background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Congestion controls of the main connection.
CONTROLS = C4, BBR3, CUBIC = "c4", "bbr-v3", "cubic"
#: Bytes of UDP payload of a full packet of picoquic, and of the headers that its links do not count.
PAYLOAD, HEADERS = 1440, 28


@dataclass(frozen=True)
class Change:
    """What both links are from a time on.

    Attributes
    ----------
    at_s
        Time of the run.
    rate_factor
        Rate by that of the beginning; 0 stops the links.
    delay_ms, jitter_ms
        Delay of each direction, and mean of its jitter; `None` if it stays.
    """

    at_s: float
    rate_factor: float = 1.0
    delay_ms: float | None = None
    jitter_ms: float | None = None


@dataclass(frozen=True)
class Background:
    """A second download in the same links: its congestion control, size [MB] and start [s]."""

    control: str
    megabytes: float
    start_s: float = 0.0


@dataclass(frozen=True)
class Test:
    """A test of the draft.

    Attributes
    ----------
    rate_mbps, delay_ms, queue_ms
        Of both links: UDP payload, one way, and what the queue holds at that rate.
    megabytes, start_s
        Of the main connection.
    jitter_ms
        Mean of the Wi-Fi jitter of both links; 0: none.
    changes
        Of both links over time.
    background
        The other connection, if there is one.
    """

    rate_mbps: float
    delay_ms: float
    megabytes: float
    queue_ms: float = 80.0
    start_s: float = 0.0
    jitter_ms: float = 0.0
    changes: tuple[Change, ...] = ()
    background: Background | None = None

    @property
    def links(self) -> dict[str, Any]:
        """Both links as tables of a scenario."""
        wire = (PAYLOAD + HEADERS) / PAYLOAD
        rate = self.rate_mbps * wire
        first, *later = self.changes if self.changes and self.changes[0].at_s == 0 else (Change(0.0), *self.changes)
        link: dict[str, Any] = {
            "rate": f"{rate * first.rate_factor:g} Mbit/s",
            # a packet is admitted if those before it leave within this time, whatever its own size
            "queue": {"kind": "drop_tail", "bytes": f"{round(125 * rate * self.queue_ms) + PAYLOAD + HEADERS} B"},
            "delay": f"{self.delay_ms:g} ms",
        }
        if self.jitter_ms:
            link["delay"] = {
                "mean": f"{self.delay_ms:g} ms",
                "deviation": f"{self.jitter_ms:g} ms",
                "distribution": "wifi",
            }
        if later:
            rows = [_row(change, rate) for change in (first, *later)]
            link["conditions"] = {"at_end": "hold", "rows": rows}
        return {"down": link, "up": link}

    def flows(self, control: str) -> dict[str, Any]:
        """Return the flow of the main connection, and that in the background."""
        flows = {"main": _flow(control, self.megabytes, self.start_s)}
        if self.background is not None:
            other = self.background
            flows["background"] = _flow(other.control, other.megabytes, other.start_s)
        return flows


def _row(change: Change, rate_mbps: float) -> dict[str, Any]:
    row: dict[str, Any] = {"at": f"{change.at_s:g} s"}
    if change.rate_factor:
        row["rate"] = f"{rate_mbps * change.rate_factor:g} Mbit/s"
    row["up"] = bool(change.rate_factor)
    if change.delay_ms is not None:
        row["delay"] = f"{change.delay_ms:g} ms"
    if change.jitter_ms is not None:
        row["deviation"] = f"{change.jitter_ms:g} ms"
    return row


def _flow(control: str, megabytes: float, start_s: float) -> dict[str, Any]:
    windows = {"stream_receive_window": "512 MiB", "connection_receive_window": "512 MiB"}
    # HyStart of picoquic ends slow start of its CUBIC; the others have starts of their own
    start = {"slow_start_exit": "picoquic"} if control == CUBIC else {}
    return {
        "stack": "lab-quic",
        "down": ["down"],
        "up": ["up"],
        "start": f"{start_s:g} s",
        "workload": {"kind": "download", "size": f"{megabytes:g} MB"},
        "sender": {"congestion_control": control, "datagram_size": f"{PAYLOAD} B", "send_window": "512 MiB", **start},
        "receiver": {"datagram_size": f"{PAYLOAD} B", **windows},
    }


def _suspensions() -> tuple[Change, ...]:
    """Return 200 ms without service at the end of every 2 s."""
    cycles = range(15)
    return tuple(Change(2.0 * cycle + at_s, factor) for cycle in cycles for at_s, factor in ((1.8, 0.0), (2.0, 1.0)))


#: What connections in the background have, by its name in names of tests.
BACKGROUNDS = {"bbr": BBR3, "c4": C4, "cubic": CUBIC}
#: The link scenario `wifi_fade` of picoquic_ns.c, with its jitter of 999 us.
FADE = (Change(1.0, 0.9, jitter_ms=12.0), Change(3.0, 1.0, jitter_ms=1.0))
TESTS = {
    "alone": Test(20, 40, 10),
    "alone_200": Test(200, 20, 20),
    "alone_1_5M": Test(1.536, 20, 4, queue_ms=50),
    "alone_512k": Test(0.512, 17, 1, queue_ms=50),
    "low_and_up": Test(10, 50, 7, changes=(Change(0.0, 0.5), Change(2.5))),
    "drop_and_back": Test(10, 50, 7, changes=(Change(1.5, 0.5), Change(3.5))),
    "blackhole": Test(25, 35, 10, changes=(Change(2.0, 0.0), Change(4.0))),
    "short_long": Test(10, 15, 20, queue_ms=100, changes=(Change(1.0, delay_ms=100),)),
    **{f"vs_{name}": Test(20, 40, 5, background=Background(control, 10)) for name, control in BACKGROUNDS.items()},
    "after_c4": Test(20, 40, 5, start_s=0.5, background=Background(C4, 10)),
    "before_c4": Test(50, 15, 10, background=Background(C4, 20, 0.5)),
    **{f"vs_{name}_lg": Test(20, 40, 30, background=Background(control, 20)) for name, control in BACKGROUNDS.items()},
    **{
        f"vs_{name}_lg2": Test(10, 35, 15, background=Background(control, 10, 1.0))
        for name, control in BACKGROUNDS.items()
    },
    "wifi_bad": Test(10, 1, 4, queue_ms=250, jitter_ms=7),
    "wifi_fade": Test(20, 40, 10, jitter_ms=0.999, changes=FADE),
    "wifi_suspension": Test(20, 5, 10, queue_ms=20, changes=_suspensions()),
    **{
        f"wifi_bad_{name}": Test(10, 1, 4, queue_ms=250, jitter_ms=7, start_s=1.0, background=Background(control, 10))
        for name, control in BACKGROUNDS.items()
    },
}
