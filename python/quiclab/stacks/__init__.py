"""Endpoints written in Python, driven by the same event loop as the native stacks."""

from __future__ import annotations

from typing import Protocol


class PythonEndpoint(Protocol):
    """What the event loop calls; all times are integer nanoseconds of virtual time."""

    def receive(self, now_ns: int, datagram: bytes) -> None:
        """Take a UDP payload that arrives at `now_ns`."""

    def wake(self, now_ns: int) -> None:
        """Handle the deadline that is due at `now_ns`."""

    def outputs(self) -> list[bytes]:
        """Return the UDP payloads to send now, and forget them."""

    def next_wake(self) -> int | None:
        """Return the next deadline, or None while only packets are awaited."""

    def progress(self) -> tuple[int | None, int | None, int, bool]:
        """Return start and finish (ns or None), bytes delivered, and whether it failed."""

    def statistics(self) -> dict[str, float]:
        """Return values over the whole run; names as those of the native stacks."""

    def sample(self) -> dict[str, float]:
        """Return values at this moment; names as those of the native stacks."""
