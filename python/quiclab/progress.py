"""Progress on stderr, of sweeps, runs and evaluations: a bar on a terminal, plain lines every few seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress

LINE_INTERVAL_S = 5.0


class SweepProgress:
    """Runs done, rate and time left.

    Parameters
    ----------
    title
        What runs.
    total
        Number of runs of the sweep.
    done
        Runs that were done before.
    stream
        Where it is written; stderr by default.
    """

    unit = "runs"

    def __init__(self, title: str, total: int, done: int, stream: TextIO | None = None) -> None:
        self.title, self.total, self.before, self.done = title, total, done, done
        self.stream = stream or sys.stderr
        self.started = time.monotonic()
        self.last_line = self.started
        self.bar: Progress | None = None
        if self.stream.isatty():
            import rich.progress as parts  # noqa: PLC0415 - only here: it takes a tenth of a second
            from rich.console import Console  # noqa: PLC0415 - as above

            self.bar = parts.Progress(
                parts.TextColumn("{task.description}"),
                parts.BarColumn(),
                parts.MofNCompleteColumn(),
                parts.TextColumn("{task.fields[rate]}"),
                parts.TimeRemainingColumn(),
                console=Console(file=self.stream),
            )

    def __enter__(self) -> SweepProgress:
        """Show that it starts."""
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task(self.title, total=self.total, completed=self.done, rate="")
        else:
            self.line(f"{self.title}: {self.total - self.done} of {self.total} {self.unit} to do")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Show where it ended."""
        if self.bar is not None:
            self.bar.stop()
        elif self.done > self.before:
            self.line(self._state())

    def advance(self) -> None:
        """One more run is done."""
        self.done += 1
        if self.bar is not None:
            self.bar.update(self.task, completed=self.done, rate=f"{self._rate():.1f} {self.unit}/s")
        self.beat()

    def beat(self) -> None:
        """Off a terminal, say every few seconds that it goes on, also while no run ends; may be called at any rate."""
        if self.bar is None and time.monotonic() - self.last_line >= LINE_INTERVAL_S:
            self.last_line = time.monotonic()
            self.line(self._state())

    def line(self, text: str) -> None:
        """Write a line of its own, without disturbing the bar."""
        if self.bar is not None:
            self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=self.stream, flush=True)

    def _rate(self) -> float:
        elapsed = time.monotonic() - self.started
        return (self.done - self.before) / elapsed if elapsed > 0 else 0.0

    def _state(self) -> str:
        rate = self._rate()
        left = f", {(self.total - self.done) / rate:.0f} s left" if rate > 0 and self.done < self.total else ""
        return f"{self.title}: {self.done} of {self.total} {self.unit}, {rate:.1f} {self.unit}/s{left}"


class EvaluationProgress(SweepProgress):
    """Studies evaluated, shown once it takes longer than `FIRST_LINE_S`; a thread says so while one takes long.

    Parameters
    ----------
    title
        What is done with the studies.
    total
        Number of studies.
    stream
        Where it is written; stderr by default.
    """

    FIRST_LINE_S = 2.0
    BEAT_S = 0.1
    unit = "studies"

    def __init__(self, title: str, total: int, stream: TextIO | None = None) -> None:
        super().__init__(title, total, 0, stream)
        self.shown = False
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beats, daemon=True)

    def __enter__(self) -> EvaluationProgress:
        """Show nothing yet."""
        self._heart.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Show where it ended, if it was shown at all."""
        self._ended.set()
        self._heart.join()
        if self.shown:
            super().__exit__(kind, error, trace)

    def advance(self) -> None:
        """One more study is done."""
        self.done += 1

    def beat(self) -> None:
        """Say that it goes on, or that it has begun."""
        if not self.shown:
            if time.monotonic() - self.started < self.FIRST_LINE_S:
                return
            self.shown = True
            super().__enter__()
            self.last_line = time.monotonic()
        if self.bar is not None:
            self.bar.update(self.task, completed=self.done)
        super().beat()

    def _beats(self) -> None:
        while not self._ended.wait(self.BEAT_S):
            self.beat()


class PageProgress(EvaluationProgress):
    """Parts of a page that are made, shown like studies that are evaluated."""

    unit = "parts"


class RunProgress:
    """Progress of one run, shown once it takes longer than `FIRST_LINE_S`.

    Parameters
    ----------
    name
        What runs.
    stream
        Where it is written; stderr by default.
    """

    FIRST_LINE_S = 1.5

    def __init__(self, name: str, stream: TextIO | None = None) -> None:
        self.name = name
        self.stream = stream or sys.stderr
        self.next_line = time.monotonic() + self.FIRST_LINE_S
        self.bar: Progress | None = None

    def __call__(self, network_time_s: float, delivered_bytes: int, fraction: float) -> None:
        """Show how far the run is."""
        now = time.monotonic()
        if now < self.next_line:
            return
        text = f"{self.name}: {network_time_s:.1f} s of network time, {delivered_bytes / 1e6:.1f} MB delivered"
        if not self.stream.isatty():
            self.next_line = now + LINE_INTERVAL_S
            print(f"{text}, {100 * fraction:.0f} %", file=self.stream, flush=True)
            return
        self.next_line = now + 0.1
        if self.bar is None:
            import rich.progress as parts  # noqa: PLC0415 - as above
            from rich.console import Console  # noqa: PLC0415 - as above

            columns = (parts.TextColumn("{task.description}"), parts.BarColumn(), parts.TimeRemainingColumn())
            self.bar = parts.Progress(*columns, console=Console(file=self.stream), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(text, total=1.0)
        self.bar.update(self.task, completed=fraction, description=text)

    def __enter__(self) -> RunProgress:
        """Show nothing yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.stop()


class ReadingProgress:
    """Bytes read of files, shown once it takes longer than `FIRST_LINE_S`.

    Parameters
    ----------
    text
        What is done.
    stream
        Where it is written; stderr by default.
    """

    FIRST_LINE_S = 1.5

    def __init__(self, text: str, stream: TextIO | None = None) -> None:
        self.text = text
        self.stream = stream or sys.stderr
        self.next_line = time.monotonic() + self.FIRST_LINE_S
        self.bar: Progress | None = None

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        """Show how far it is."""
        now = time.monotonic()
        if now < self.next_line:
            return
        if not self.stream.isatty():
            self.next_line = now + LINE_INTERVAL_S
            share = 100 * done_bytes / max(total_bytes, 1)
            print(
                f"{self.text}: {done_bytes / 1e6:.1f} of {total_bytes / 1e6:.1f} MB, {share:.0f} %",
                file=self.stream,
                flush=True,
            )
            return
        self.next_line = now + 0.1
        if self.bar is None:
            import rich.progress as parts  # noqa: PLC0415 - as above
            from rich.console import Console  # noqa: PLC0415 - as above

            columns = (parts.TextColumn("{task.description}"), parts.BarColumn(), parts.DownloadColumn())
            left = parts.TimeRemainingColumn()
            self.bar = parts.Progress(*columns, left, console=Console(file=self.stream), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(self.text, total=total_bytes)
        self.bar.update(self.task, completed=done_bytes)

    def __enter__(self) -> ReadingProgress:
        """Show nothing yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.stop()
