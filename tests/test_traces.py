"""Traces: the synthetic model, files with their origin, statistics, figures, the document."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

import quiclab
from conftest import ROOT, assert_refused
from quiclab import cli
from quiclab._base.libraries import pl
from quiclab.errors import RequestError
from quiclab.sources import traces
from quiclab.sources.traces import figure
from quiclab.sources.traces.trace import Trace

SHIPPED = ROOT / "scenarios" / "traces" / "synthetic_lte.csv"
S = 10**9


# the model


def test_the_included_trace_equals_the_output_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["trace", "generate", "--out", str(tmp_path / "again.csv")]) == 0
    assert "Synthetic trace" in capsys.readouterr().out
    assert (tmp_path / "again.csv").read_bytes() == SHIPPED.read_bytes()


@pytest.mark.parametrize(
    ("mean_bps", "duration_s", "step_ms", "seed"),
    [(4_500_000, 200, 1000, 1), (200_000, 20, 1000, 3), (10**10, 2, 10, 0), (4_500_001, 7, 100, (1 << 64) - 1)],
)
def test_the_mean_is_met_and_no_outage_lasts(mean_bps: int, duration_s: int, step_ms: int, seed: int) -> None:
    trace = traces.generate(mean_bps, duration_s * S, step_ms * 10**6, seed)
    numbers = traces.statistics(trace)
    # every sum is rounded to whole kbit/s, so the mean is off by at most 0.5 kbit/s over the number of samples
    assert numbers.mean_mbps == pytest.approx(mean_bps / 1e6, abs=0.0005 / numbers.samples + 1e-9)
    assert abs(numbers.mean_mbps / (mean_bps / 1e6) - 1) < 0.01
    assert min(trace.rates_bps) >= 0.0099 * mean_bps - 1000
    assert min(trace.rates_bps) > 0
    assert all(rate % 1000 == 0 for rate in trace.rates_bps)
    assert trace.synthetic
    assert trace.end_ns == duration_s * S


def test_the_same_seed_gives_the_same_trace_and_another_one_another() -> None:
    assert traces.generate(seed=5) == traces.generate(seed=5)
    assert traces.generate(seed=5).rates_bps != traces.generate(seed=6).rates_bps


def test_many_traces_have_the_spread_of_the_data_set() -> None:
    """Table 2 of Raca et al., operator A, static: 10 % and 90 % of the time below 0.17 and 1.75 of the mean."""
    long = traces.statistics(traces.generate(duration_ns=20_000 * S))
    assert long.p10_mbps / long.mean_mbps == pytest.approx(0.17, abs=0.05)
    assert long.p90_mbps / long.mean_mbps == pytest.approx(1.75, abs=0.15)
    # dips near zero, bursts above twice the mean, and correlation over seconds
    assert long.least_mbps < 0.05 * long.mean_mbps
    assert long.largest_mbps > 2 * long.mean_mbps
    assert long.autocorrelation_time_s is not None
    assert 2 < long.autocorrelation_time_s < 12


def test_dips_end() -> None:
    """A dip lasts 8 s at most, and a second of the normal state follows, which alone is never so low."""
    rates = traces.generate(duration_ns=20_000 * S).rates_bps
    longest = current = 0
    for rate in rates:
        current = current + 1 if rate < 0.05 * 4_500_000 else 0
        longest = max(longest, current)
    assert 1 < longest <= 8


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((199_999,), ("200 kbit/s", "10 Gbit/s")),
        ((10**10 + 1,), ("10 Gbit/s",)),
        ((10**6, 2 * S, 10**6), ("1 ms", "at least 10 ms")),
        ((10**6, 1_500_000_000, S), ("1.5 s", "whole steps")),
        ((10**6, S, S), ("2 to 100000",)),
        ((10**6, 10**6 * S, S), ("2 to 100000",)),
        (
            (10**6, 2 * S, S, -1),
            (
                "seed: expected an integer from 0 to",
                "got -1",
            ),
        ),
    ],
)
def test_wrong_parameters_of_the_model(arguments: tuple[int, ...], parts: tuple[str, ...]) -> None:
    with pytest.raises(RequestError) as raised:
        traces.generate(*arguments)
    assert all(part in raised.value.message for part in parts)


# files


def test_files_come_back_with_their_origin(tmp_path: Path) -> None:
    trace = Trace((0, 1, 1_500_000_000), (0, 7, 1_234_567_890), 2 * S + 5, "a data set, file x.csv", ("one", "two"))
    traces.write(tmp_path / "t.csv", trace)
    assert traces.read(tmp_path / "t.csv") == trace
    assert not trace.synthetic
    assert traces.read(SHIPPED).synthetic
    assert traces.read(ROOT / "scenarios" / "traces" / "cellular.csv").synthetic
    (tmp_path / "plain.csv").write_text("\ufefftime_ms , rate_mbps\r\n\r\n# later\r\n0,1.5e1\r\n20,.5\r\n40,7.\r\n")
    plain = traces.read(tmp_path / "plain.csv")
    assert plain == Trace((0, 20_000_000), (15_000_000, 500_000), 40_000_000)
    assert plain.title == "Trace of unknown origin"


def test_a_comment_cannot_break_the_file(tmp_path: Path) -> None:
    trace = Trace((0,), (1000,), S, "file a\ntime_s,rate_bps\n0,9.csv", ())
    traces.write(tmp_path / "t.csv", trace)
    assert traces.read(tmp_path / "t.csv").rates_bps == (1000,)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ("a header of", "time_s")),
        (b"# only\n", ("a header of",)),
        (b"4\n8\n", ("line 1", 'got "4"', "format csv")),
        (b"time_s;rate_bps\n", ("line 1", "a comma")),
        (b"time_s,rate_kbps\n", ("got 0",)),
        (b"time_s,rate_kbps\n0,1\n", ("got 1", "at least 2")),
        (b"time_s,rate_kbps\n1,1\n2,1\n", ("line 2", "got 1 s", "expected 0")),
        (b"time_s,rate_kbps\n0,1\n2,1\n2,1\n", ("line 4", "expected a time after 2 s")),
        (b"time_s,rate_kbps\n0,-1\n1,1\n", ("line 2", 'got "-1"', "at least 0")),
        (b"time_s,rate_kbps\n0,nan\n1,1\n", ('got "nan"',)),
        (b"time_s,rate_kbps\n0,1e99\n1,1\n", ('got "1e99"', "2^63 bit/s")),
        (b"time_s,rate_kbps\n0,1e999999999\n1,1\n", ('got "1e999999999"',)),
        (b"time_s,rate_kbps\n0,1,2\n", ("line 2", "two numbers")),
        (b"\x89PNG\x00\x00", ("line 1", "binary")),
        (b"\xff\xfe\x41\n", ("line 1", "UTF-8")),
        (b"x" * 5000, ("line 1", "4096")),
    ],
)
def test_wrong_files(content: bytes, parts: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert_refused(traces.read, path, parts)


def test_paths_other_than_files_are_rejected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    cases = [("absent", "No such file"), (".", "Is a directory"), ("pipe", "not a regular file"), ("a\0b", "null")]
    for name, reason in cases:
        for reader in (traces.read, traces.read_dataset):
            with pytest.raises(RequestError, match=reason):
                reader(tmp_path / name)


# statistics


def test_statistics_hand_computed() -> None:
    # 1 s at 4, 2 s at 0 in two entries, 1 s at 8 Mbit/s: mean 3, variance (1 + 9 + 9 + 25) / 4
    numbers = traces.statistics(Trace((0, S, 2 * S, 3 * S), (4_000_000, 0, 0, 8_000_000), 4 * S))
    assert numbers.mean_mbps == pytest.approx(3)
    assert numbers.deviation_mbps == pytest.approx(math.sqrt(11))
    assert numbers.coefficient_of_variation == pytest.approx(math.sqrt(11) / 3)
    assert (numbers.least_mbps, numbers.p10_mbps, numbers.p90_mbps, numbers.largest_mbps) == (0, 0, 8, 8)
    assert numbers.below_half_mean == pytest.approx(0.5)
    assert numbers.longest_pause_s == 2
    # deviations 1, -3, -3, 5: products at lags 0 and 1 are 44 and -9, so 1/e is reached at (1 - 1/e) / (1 + 9/44)
    assert numbers.autocorrelation_time_s == pytest.approx((1 - math.exp(-1)) / (1 + 9 / 44))


def test_a_constant_rate_has_no_autocorrelation_time() -> None:
    numbers = traces.statistics(Trace((0, S), (4_500_000, 4_500_000), 3 * S))
    assert numbers.autocorrelation_time_s is None
    assert numbers.deviation_mbps == pytest.approx(0)


def test_uneven_entries_are_weighted_with_their_time() -> None:
    # the shortest interval is a nanosecond of a day: the even grid stays small
    numbers = traces.statistics(Trace((0, 1), (8_000_000, 2_000_000), 86_400 * S))
    assert numbers.mean_mbps == pytest.approx(2)
    assert numbers.duration_s == 86_400


# figures


def test_show_draws_and_marks_synthetic_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, start in (("f.svg", b"<svg"), ("f.png", b"\x89PNG")):
        assert cli.invoke(["trace", "show", str(SHIPPED), "--figure", str(tmp_path / name)]) == 0
        out = capsys.readouterr().out
        assert out.startswith("Synthetic trace\n")
        assert "4.5" in out
        assert (tmp_path / name).read_bytes().startswith(start)
    assert b"Synthetic trace" in (tmp_path / "f.svg").read_bytes()
    spec = figure.specification(Trace((0,), (5,), S, "the moon"))
    assert spec["title"]["text"] == "Trace: the moon"


def test_figures_of_long_traces_are_means() -> None:
    trace = traces.generate(duration_ns=5000 * S)
    data, width = figure.points(trace)
    assert (len(data), width) == (figure.MAX_SHOWN + 1, 2.5)
    mean = sum(point["rate_mbps"] for point in data[:-1]) / figure.MAX_SHOWN
    assert mean == pytest.approx(4.5)


# the document


def test_the_document_has_the_numbers_and_the_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "traces.md").read_text()
    numbers = traces.statistics(traces.read(SHIPPED))
    p10, p90 = numbers.p10_mbps, numbers.p90_mbps
    for line in (
        f"| 10th, 90th percentile [Mbit/s] | {p10:.2f}, {p90:.1f} |",
        f"| the same over the mean | {p10 / numbers.mean_mbps:.2f}, {p90 / numbers.mean_mbps:.2f} |",
        f"| standard deviation [Mbit/s] | {numbers.deviation_mbps:.2f} |",
        f"| minimum, maximum [Mbit/s] | {numbers.least_mbps:.3f}, {numbers.largest_mbps:.1f} |",
        f"| autocorrelation time [s] | {numbers.autocorrelation_time_s:.1f} |",
        f"| time below half the mean [%] | {100 * numbers.below_half_mean:.1f} |",
    ):
        assert line in text
    assert "\n".join(SHIPPED.read_text().splitlines()[:5]) in text
    monkeypatch.chdir(tmp_path)
    Path("other.csv").write_text("time_s,rate_kbps\n0,1\n")
    assert cli.invoke(["trace", "import", "other.csv", "--out", "x.csv"]) == 2
    assert capsys.readouterr().err in text


RATE_AT = """
version = 1
name = "rate at"
duration = "10 s"
links.up = { delay = "1 ms" }
[links.down]
rate = { kind = "trace", file = "step.csv", at_end = "hold", rate_at = "enqueue" }
queue = { kind = "drop_tail", packets = 100 }
[flows.main]
stack = "lab-udp"
down = ["down"]
up = ["up"]
workload = { kind = "datagrams", rate = "7.776 Mbit/s", size = "972 B", duration = "100 ms" }
"""


@pytest.mark.parametrize(("rate_at", "last_ms"), [("enqueue", 200), ("dequeue", 100 + 50 * 8)])
def test_a_queue_empties_at_the_rate_of_arrival_or_at_the_new_one(rate_at: str, last_ms: float, tmp_path: Path) -> None:
    # 100 packets of 1000 B, one each millisecond, at 2 ms each; after the step, when 50 have left, at 8 ms each
    (tmp_path / "step.csv").write_text("time_ms,rate_mbps\n0,4\n100,1\n")
    file = tmp_path / "s.toml"
    file.write_text(RATE_AT)
    result = quiclab.run(quiclab.load(file, [("links.down.rate.rate_at", rate_at), ("record.packets", "true")]))
    arrivals = result.packets.filter((pl.col("element") == "main.receiver") & (pl.col("event") == "arrival"))
    assert len(arrivals) == 100
    assert arrivals["time_ns"].max() == last_ms * 10**6


def test_netem_has_no_rate_of_zero(tmp_path: Path) -> None:
    (tmp_path / "step.csv").write_text("time_ms,rate_mbps\n0,4\n100,0\n200,1\n")
    file = tmp_path / "s.toml"
    file.write_text(RATE_AT)
    with pytest.raises(RequestError, match=r"links\.down\.rate\.file: .*expected rates above 0 with `rate_at`"):
        quiclab.load(file)
    quiclab.load(file, [("links.down.rate.rate_at", "dequeue")])
