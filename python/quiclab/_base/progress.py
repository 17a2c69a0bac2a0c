"""Progress on stderr: a bar on a terminal, plain lines every few seconds elsewhere.

`Progress` implements both; its subclasses define the texts and the columns of a bar.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from typing import TYPE_CHECKING, Self, TextIO

from quiclab._base.libraries import rich
from quiclab._base.libraries import rich_progress as parts

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn, TaskID

LINE_INTERVAL_S = 5.0
REDRAW_INTERVAL_S = 0.1
SLOW = 0.1
"""Rate [1/s] below which rates are per minute."""


def duration(seconds: float) -> str:
    """Write a time for people, with at least two digits."""
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{_digits(seconds / length)} {unit}"
    return f"{_digits(seconds)} s" if seconds >= 1 else f"{_digits(seconds * 1e3)} ms"


def _digits(value: float) -> str:
    """Write a number with at least two digits, and no more after the point than that takes."""
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


class Progress:
    """Shows how far something is, once it has taken a while.

    Parameters
    ----------
    quiet_s
        Time after which it is first shown [s].
    stream
        Output stream (default: stderr).
    """

    transient = True
    """Whether the bar is removed at the end."""

    def __init__(self, quiet_s: float = 0.0, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.started = time.monotonic()
        self.next_s = self.started + quiet_s
        self.bar: Bar | None = None
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        """Show nothing yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the bar."""
        if self.bar is not None:
            self.bar.stop()

    def columns(self) -> list[ProgressColumn]:
        """Return the columns of the bar."""
        return [parts.TextColumn("{task.description}"), parts.BarColumn(), parts.TimeRemainingColumn()]

    def show(self, line: str, description: str, done: float, total: float, rate: str = "") -> bool:
        """Draw the bar again, or write a line, if it is time for either; returns whether it was.

        Parameters
        ----------
        line
            Text of the line.
        description, done, total, rate
            Text, progress and rate of the bar.
        """
        now = time.monotonic()
        if now < self.next_s:
            return False
        if self.stream.isatty():
            self.next_s = now + REDRAW_INTERVAL_S
            self.draw(description, done, total, rate)
        else:
            self.next_s = now + LINE_INTERVAL_S
            self.line(line)
        return True

    def draw(self, description: str, done: float, total: float, rate: str = "") -> None:
        """Draw the bar."""
        if self.bar is None:
            console = rich.console.Console(file=self.stream)
            self.bar = parts.Progress(*self.columns(), console=console, transient=self.transient)
            self.bar.start()
        if self.task is None:
            self.task = self.bar.add_task(description, total=total, rate=rate)
        self.bar.update(self.task, completed=done, total=total, description=description, rate=rate)

    def line(self, text: str) -> None:
        """Write a separate line without disturbing the bar."""
        if self.bar is not None:
            self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=self.stream, flush=True)


class CountProgress(Progress):
    """Number of completed items of one kind, their rate and the remaining time.

    Parameters
    ----------
    title
        Name of the activity.
    total
        Number of items.
    done
        Number of items completed before.
    unit
        Name of the items, in the plural.
    quiet_s, stream
        As for `Progress`.
    """

    transient = False

    def __init__(
        self,
        title: str,
        total: int,
        done: int = 0,
        unit: str = "runs",
        quiet_s: float = 0.0,
        stream: TextIO | None = None,
    ) -> None:
        super().__init__(quiet_s if total else math.inf, stream)  # nothing is not in progress
        self.title, self.total, self.before, self.done, self.unit = title, total, done, done, unit
        self.last_s = self.started
        self.shown = False

    def __enter__(self) -> Self:
        """Show that it starts."""
        self.beat()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Show where it ended, if it was shown at all."""
        if self.bar is not None:
            self.draw(self.title, self.done, self.total, self._speed())
        elif self.shown and self.done > self.before:
            self.line(self._state())
        super().__exit__(kind, error, trace)

    def columns(self) -> list[ProgressColumn]:
        """Return the columns of the bar."""
        text, bar, _ = super().columns()
        return [text, bar, parts.MofNCompleteColumn(), parts.TextColumn("{task.fields[rate]}")]

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        self._count(count)
        self.beat()

    def _count(self, count: int) -> None:
        self.done += count
        self.last_s = time.monotonic()

    def beat(self) -> None:
        """Show where it is, also while none ends; may be called at any rate."""
        line = self._state() if self.shown else self._begin()
        rate = self._speed() if self.shown else ""
        self.shown |= self.show(line, self.title, self.done, self.total, rate)

    def _begin(self) -> str:
        """Return how many were to do at the start, and how many of these ended before anything was shown."""
        done = self.done - self.before
        return f"{self._head(self.total - self.before)} to do" + (f", {done} of them done" if done else "")

    def _head(self, count: int) -> str:
        return f"{self.title}: {count} of {self.total} {self.unit}"

    def left_s(self) -> float | None:
        """Return the estimate of the remaining time [s]; `None` before the first item is done, and after the last.

        An item takes the mean of those done until the last one was. The time since then is that of the next one: it is
        subtracted, and no more than an item's. So the estimate never grows while items take the same time, and never
        because one takes longer than the others.
        """
        done = self.done - self.before
        if done <= 0 or self.done >= self.total:
            return None
        mean_s = (self.last_s - self.started) / done
        return (self.total - self.done) * mean_s - min(time.monotonic() - self.last_s, mean_s)

    def _speed(self) -> str:
        """Return rate and remaining time; empty before the first item is done."""
        elapsed = time.monotonic() - self.started
        done = self.done - self.before
        if done <= 0 or elapsed <= 0:
            return ""
        a_second = done / elapsed
        rate = f"{a_second:.1f} {self.unit}/s" if a_second >= SLOW else f"{60 * a_second:.1f} {self.unit}/min"
        left = self.left_s()
        return rate if left is None else f"{rate}, {left:.0f} s left"

    def _state(self) -> str:
        return ", ".join(filter(None, (self._head(self.done), self._speed())))


class BeatingProgress(CountProgress):
    """Items that may each take long: a thread repeats the line while one is in progress.

    Parameters
    ----------
    title, total, unit, stream
        As for `CountProgress`.
    """

    QUIET_S = 2.0
    BEAT_S = 0.1

    def __init__(self, title: str, total: int, unit: str = "studies", stream: TextIO | None = None) -> None:
        super().__init__(title, total, unit=unit, quiet_s=self.QUIET_S, stream=stream)
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beats, daemon=True)

    def __enter__(self) -> Self:
        """Show nothing yet."""
        self._heart.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Show where it ended, if it was shown at all."""
        self._ended.set()
        self._heart.join()
        super().__exit__(kind, error, trace)

    def advance(self, count: int = 1) -> None:
        """So many more are done, which the thread shows."""
        self._count(count)

    def _beats(self) -> None:
        while not self._ended.wait(self.BEAT_S):
            self.beat()


class RunProgress(Progress):
    """How far a run is, by its network time.

    Parameters
    ----------
    name
        What runs.
    stream
        Where it is written; stderr by default.
    """

    def __init__(self, name: str, stream: TextIO | None = None) -> None:
        super().__init__(1.5, stream)
        self.name = name

    def __call__(self, network_time_s: float, delivered_bytes: int, fraction: float) -> None:
        """Show how far the run is."""
        text = f"{self.name}: {network_time_s:.1f} s of network time, {delivered_bytes / 1e6:.1f} MB delivered"
        self.show(f"{text}, {100 * fraction:.0f} %", text, fraction, 1.0)


class ReadingProgress(Progress):
    """Bytes read of files.

    Parameters
    ----------
    text
        Name of the activity.
    stream
        Output stream (default: stderr).
    """

    def __init__(self, text: str, stream: TextIO | None = None) -> None:
        super().__init__(1.5, stream)
        self.text = text

    def columns(self) -> list[ProgressColumn]:
        """Return the columns of the bar."""
        text, bar, left = super().columns()
        return [text, bar, parts.DownloadColumn(), left]

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        """Show how far it is."""
        read = f"{self.text}: {done_bytes / 1e6:.1f} of {total_bytes / 1e6:.1f} MB"
        self.show(f"{read}, {_percent(done_bytes, total_bytes)}", self.text, done_bytes, total_bytes)


class StepProgress(Progress):
    """Steps one after the other, and how far each is.

    Parameters
    ----------
    quiet_s, stream
        As for `Progress`; without a quiet time, begin and end of each step are shown, too.
    """

    transient = False

    def __init__(self, quiet_s: float = 0.0, stream: TextIO | None = None) -> None:
        super().__init__(quiet_s, stream)
        self.all_shown = not quiet_s
        self.step = ""

    def columns(self) -> list[ProgressColumn]:
        """Return the columns of the bar."""
        text, bar, left = super().columns()
        return [text, bar, parts.TaskProgressColumn(), left]

    def __call__(self, step: str, done: float, total: float) -> None:
        """Show how far a step is."""
        if self.all_shown and (step != self.step or done == total):
            self.next_s = 0.0
        if step != self.step:
            self.step, self.task = step, None
        self.show(f"{step}: {_percent(done, total)}", step, done, total)


def _percent(done: float, total: float) -> str:
    return f"{100 * done / max(total, 1):.0f} %"
