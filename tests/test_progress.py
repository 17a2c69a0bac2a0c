"""Progress: plain lines at intervals where there is no terminal, a bar where there is one."""

from __future__ import annotations

import io
import itertools

import pytest

from quiclab._base.progress import BeatingProgress, CountProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """The clock of progress, which the test advances."""

    def __init__(self) -> None:
        self.now = 100.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("quiclab._base.progress.time.monotonic", lambda: found.now)
    return found


def test_plain_lines_come_at_intervals_with_rate_and_time_left(clock: Clock) -> None:
    stream = io.StringIO()
    with CountProgress("study", total=110, done=10, stream=stream) as progress:
        for _ in range(100):
            clock.now += 0.5
            progress.advance()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "study: 100 of 110 runs to do"
    assert lines[1] == "study: 20 of 110 runs, 2.0 runs/s, 45 s left"  # 10 runs in the first 5 s
    assert lines[-1] == "study: 110 of 110 runs, 2.0 runs/s"
    assert len(lines) == 1 + 10 + 1


def test_a_terminal_gets_a_bar_and_lines() -> None:
    stream = Terminal()
    with CountProgress("study", total=2, done=0, stream=stream) as progress:
        progress.advance()
        progress.line("failed: [x]; replay with: quiclab run a.toml --seed 3")
        progress.advance()
    text = stream.getvalue()
    assert "2/2" in text
    assert "failed: [x]; replay with: quiclab run a.toml --seed 3\n" in text


def test_the_heart_beats_while_no_run_ends(clock: Clock) -> None:
    stream = io.StringIO()
    with CountProgress("study", total=2, done=0, stream=stream) as progress:
        for _ in range(44):
            clock.now += 0.25
            progress.beat()
    assert stream.getvalue().splitlines() == ["study: 2 of 2 runs to do", *["study: 0 of 2 runs"] * 2]


def test_an_evaluation_is_shown_after_two_seconds_only(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BeatingProgress, "BEAT_S", 1e9)  # the test beats itself
    stream = io.StringIO()
    with BeatingProgress("verify a", total=4, stream=stream) as progress:
        clock.now += 1.9
        progress.advance()
        progress.beat()
        assert stream.getvalue() == ""
        clock.now += 0.1
        progress.beat()
        clock.now += 5.0
        progress.beat()
        progress.advance()
    lines = stream.getvalue().splitlines()
    assert lines == [
        "verify a: 4 of 4 studies to do, 1 of them done",
        # one took 1.9 s; the next one takes longer, and is not counted any more
        "verify a: 1 of 4 studies, 0.1 studies/s, 4 s left",
        "verify a: 2 of 4 studies, 0.3 studies/s, 7 s left",
    ]
    with BeatingProgress("verify a", total=1, stream=stream) as progress:
        progress.advance()
    assert stream.getvalue().splitlines() == lines


def test_an_evaluation_has_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BeatingProgress, "QUIET_S", 0.0)
    monkeypatch.setattr(BeatingProgress, "BEAT_S", 1e9)
    stream = Terminal()
    with BeatingProgress("verify a", total=3, stream=stream) as progress:
        progress.advance()
        progress.beat()
    assert "1/3" in stream.getvalue()


@pytest.mark.parametrize("workers", [1, 4])
def test_the_estimate_never_grows_while_items_take_the_same_time(clock: Clock, workers: int) -> None:
    item_s, total = 7.0, 40
    estimates = []
    with CountProgress("study", total=total, stream=io.StringIO()) as progress:
        assert progress.left_s() is None
        for _ in range(total // workers):
            for _ in range(70):
                clock.now += item_s / 70
                estimates.append(progress.left_s())
            for _ in range(workers):
                progress.advance()
            estimates.append(progress.left_s())
    known = [value for value in estimates if value is not None]
    whole_s = item_s * total / workers
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(known))
    assert all(0 <= value <= whole_s for value in known)
    if workers == 1:  # as it turns out: a tenth of a second less each time
        assert known[:2] == pytest.approx([whole_s - item_s, whole_s - item_s - 0.1])


def test_an_item_that_takes_longer_does_not_raise_the_estimate(clock: Clock) -> None:
    with CountProgress("study", total=10, stream=io.StringIO()) as progress:
        clock.now += 1.0
        progress.advance()
        clock.now += 100.0
        assert progress.left_s() == pytest.approx(8.0)


def test_slow_items_have_a_rate_that_is_not_zero(clock: Clock) -> None:
    stream = io.StringIO()
    with CountProgress("study", total=3, stream=stream) as progress:
        clock.now += 120.0
        progress.advance()
    assert "study: 1 of 3 runs, 0.5 runs/min, 240 s left" in stream.getvalue()
