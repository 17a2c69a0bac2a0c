"""Windows of time: what a flow achieved in a part of a run, from the time series of its receiver.

A window begins after one time and ends with another, both on the clock of the run: a sample at `after` is outside, one
at `until` inside. Bytes at a time are those of the last sample until then, so that a window is exact where its ends
are multiples of the series interval.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from quiclab._base.libraries import pl
from quiclab.errors import RequestError, unexpected
from quiclab.scenario.quantity import nanoseconds

if TYPE_CHECKING:
    from quiclab.result import RunResult


@dataclass(frozen=True)
class Window:
    """A part of the time of a run.

    Attributes
    ----------
    after_s, until_s
        Where it begins and ends [s of network time]; an infinite end is that of the run.
    """

    after_s: float = 0.0
    until_s: float = math.inf

    @classmethod
    def of(cls, after: str | None, until: str | None) -> Window:
        """Return the window between two times such as `10 s`; `None` is the start or the end of the run.

        Raises
        ------
        RequestError
            If one is not a time, or the window is empty.
        """
        times = [default if text is None else _time(text) for text, default in ((after, 0.0), (until, math.inf))]
        if times[0] >= times[1]:
            raise unexpected("until", f'a time after "{after or "0 s"}"', until)
        return cls(*times)

    @classmethod
    def read(cls, text: str) -> Window:
        """Read a window such as `10s..` or `10s..60s`.

        Raises
        ------
        RequestError
            If it is none.
        """
        after, dots, until = text.partition("..")
        try:
            if dots and (after or until):
                return cls.of(after or None, until or None)
        except RequestError:
            pass
        raise unexpected("--metric", "a window such as `@10s..`, `@10s..60s` or `@..60s`", f"@{text}")


def _time(text: str) -> float:
    return _nanoseconds(text) / 1e9


def _nanoseconds(text: str) -> int:
    try:
        return nanoseconds(text)
    except ValueError as error:
        raise RequestError(f"{error}", kind="OutOfRange", value=text) from error


def rows(result: RunResult, element: str, metric: str) -> pl.DataFrame:
    """Return the samples of a metric: `time_s`, `value`; none if there are none.

    Raises
    ------
    RequestError
        If the run has no time series.
    """
    if result.series.is_empty():
        reason = "a window needs time series; set it in the scenario"
        raise RequestError(f"record.series_interval: missing; expected a duration: {reason}", kind="MissingField")
    names = {"element": element, "metric": metric}
    wanted = [pl.col(column).cast(pl.String) == name for column, name in names.items()]
    return result.series.filter(*wanted).select("time_s", "value")


def within(result: RunResult, element: str, metric: str, window: Window) -> pl.DataFrame:
    """Return the samples of a metric in a window; otherwise as `rows`."""
    time = pl.col("time_s")
    return rows(result, element, metric).filter((time > window.after_s) & (time <= window.until_s))


@dataclass(frozen=True)
class Delivered:
    """Bytes that the application of a receiver has got over time.

    Attributes
    ----------
    times_s, values
        The samples.
    start_s, end_s
        From the start of the client to the last byte, or to the end of the run.
    total
        Bytes at the end.
    """

    times_s: list[float]
    values: list[float]
    start_s: float
    end_s: float
    total: int

    @classmethod
    def of(cls, result: RunResult, flow: str) -> Delivered | None:
        """Return those of a flow; `None` if it never started, or its program does not report them."""
        found = result.flows[flow]
        samples = rows(result, f"{flow}.receiver", "delivered_bytes")
        if found.start_s is None or samples.is_empty():
            return None
        end_s = result.network_time_s if found.finish_s is None else found.finish_s
        times, values = samples["time_s"].to_list(), samples["value"].to_list()
        return cls(times, values, found.start_s, end_s, found.delivered_bytes)

    def at(self, time_s: float) -> float:
        """Return the bytes until a time [s]."""
        if time_s >= self.end_s:
            return self.total
        index = bisect_right(self.times_s, time_s)
        return self.values[index - 1] if index else 0.0

    def bytes_in(self, window: Window) -> float:
        """Return the bytes in a window."""
        return self.at(window.until_s) - self.at(window.after_s)

    def goodput_mbps(self, window: Window) -> float:
        """Return the goodput in the part of a window in which the flow runs [Mbit/s]; NaN if it does not."""
        after_s, until_s = max(window.after_s, self.start_s), min(window.until_s, self.end_s)
        if until_s <= after_s:
            return math.nan
        return 8e-6 * self.bytes_in(Window(after_s, until_s)) / (until_s - after_s)


def goodput_mbps(result: RunResult, flow: str, window: Window) -> float:
    """Return the goodput of a flow in a window [Mbit/s]; NaN if the flow does not run in it.

    Raises
    ------
    RequestError
        If the run has no time series.
    """
    delivered = Delivered.of(result, flow)
    return math.nan if delivered is None else delivered.goodput_mbps(window)


def goodput_over_time(result: RunResult, flow: str, every: str) -> pl.DataFrame:
    """Return the goodput of each interval: `time_s`, the end of the interval, and `goodput_mbps`.

    Raises
    ------
    RequestError
        If `every` is not a time above 0, or the run has no time series.
    """
    step_ns = _nanoseconds(every)
    if step_ns <= 0:
        raise unexpected("every", 'a time above "0 s"', every)
    ends: list[float] = []
    rates: list[float] = []
    if (delivered := Delivered.of(result, flow)) is not None:
        # divided as the times of samples are, so that equal times are equal numbers
        times = [count * step_ns / 1e9 for count in range(math.floor(delivered.end_s * 1e9 / step_ns) + 1)]
        ends = times[1:]
        rates = [8e3 * delivered.bytes_in(Window(*pair)) / step_ns for pair in pairwise(times)]
    return pl.DataFrame(
        {"time_s": ends, "goodput_mbps": rates}, schema=dict.fromkeys(("time_s", "goodput_mbps"), pl.Float64)
    )
