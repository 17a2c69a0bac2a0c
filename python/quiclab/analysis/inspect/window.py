"""Part of the time of a run to which a page is limited: every packet of it, however long the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab._base.libraries import np
from quiclab.errors import RequestError

if TYPE_CHECKING:
    from quiclab.analysis.inspect.columns import Integers

MARGIN_US = 2_000_000
"""Time before and after that is read, too: packets that are in flight at its beginning and end."""


@dataclass(frozen=True)
class Window:
    """A time, from the start of the run or from the first event of a qlog file.

    Attributes
    ----------
    from_us, to_us
        First and last instant [µs].
    """

    from_us: int
    to_us: int

    @property
    def pair(self) -> tuple[int, int]:
        """First and last instant [µs]."""
        return self.from_us, self.to_us

    def read_ms(self, start_ms: float = 0) -> tuple[float, float]:
        """Return what must be read [ms], in times that begin at `start_ms`."""
        return start_ms + (self.from_us - MARGIN_US) / 1000, start_ms + (self.to_us + MARGIN_US) / 1000

    def held(self, time_us: Integers, values: Integers) -> tuple[Integers, Integers]:
        """Return the samples in the window, and the value that holds when it begins."""
        first = int(np.searchsorted(time_us, self.from_us, side="right")) - 1
        end = int(np.searchsorted(time_us, self.to_us, side="right"))
        time_us, values = time_us[max(first, 0) : end].copy(), values[max(first, 0) : end]
        if first >= 0:
            time_us[0] = self.from_us
        return time_us, values

    def within(self, time_us: Integers) -> slice:
        """Return which of ascending instants are in it."""
        first, end = np.searchsorted(time_us, [self.from_us, self.to_us + 1])
        return slice(int(first), int(end))


def window(from_ns: int | None, to_ns: int | None) -> Window | None:
    """Return the window of two options [ns]; `None` without any.

    Raises
    ------
    RequestError
        If it is empty.
    """
    if from_ns is None and to_ns is None:
        return None
    first, last = (from_ns or 0) // 1000, 10**15 if to_ns is None else to_ns // 1000
    if last <= first:
        raise RequestError(f"--to: expected a time after that of --from, {first / 1e6:g} s, got {last / 1e6:g} s")
    return Window(first, last)
