"""Traces: the synthetic model, the reader of the 4G data set, files with their origin, statistics, the command line."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

import quiclab
from conftest import ROOT, quiclab_process
from quiclab import cli, traces
from quiclab.errors import RequestError
from quiclab.traces import dataset, figure, library
from quiclab.traces.trace import Trace

SHIPPED = ROOT / "scenarios" / "traces" / "synthetic_lte.csv"
PUBLISHED = "A_2018.02.12_16.14.02.csv"
HEADER = (
    "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,DL_bitrate,UL_bitrate,"
    "State,NRxRSRP,NRxRSRQ,ServingCell_Lon,ServingCell_Lat,ServingCell_Distance"
)
S = 10**9

SCENARIO = """\
version = 1
name = "over a trace"
duration = "{duration}"
[links.down1]
rate = {{ kind = "trace", file = "{file}", at_end = "loop" }}
queue = {{ kind = "drop_tail", packets = 100 }}
delay = "20 ms"
[links.up1]
delay = "20 ms"
[flows.main]
stack = "lab-tcp"
sender = {{ congestion_control = "cubic" }}
down = ["down1"]
up = ["up1"]
workload = {{ kind = "download", duration = "{length}" }}
"""


def row(second: int, rate: object, state: str = "D") -> str:
    """A row of the data set, `second` seconds after 16:14:02."""
    minute, second = divmod(16 * 3600 + 14 * 60 + 2 + second, 60)
    clock = f"{minute // 60:02}.{minute % 60:02}.{second:02}"
    return f"2018.02.12_{clock},-8.49,51.89,0,A,2,LTE,-104,-13,-2.0,6,-,{rate},21,{state},-,-,-8.48,51.88,610.5"


def written(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def listing(folder: Path) -> dict[str, bytes | None]:
    """What is in a directory; `None` for a link to nothing."""
    return {path.name: path.read_bytes() if path.exists() else None for path in folder.iterdir()}


# the model


def test_the_shipped_trace_is_what_the_command_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
        ((10**6, 2 * S, 10**6), ("1 ms", "10 ms or more")),
        ((10**6, 1_500_000_000, S), ("1.5 s", "whole steps")),
        ((10**6, S, S), ("2 to 100000",)),
        ((10**6, 10**6 * S, S), ("2 to 100000",)),
        ((10**6, 2 * S, S, -1), ("the seed is -1",)),
    ],
)
def test_wrong_parameters_of_the_model(arguments: tuple[int, ...], parts: tuple[str, ...]) -> None:
    with pytest.raises(RequestError) as raised:
        traces.generate(*arguments)
    assert all(part in raised.value.sentence for part in parts)


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
        (b"", ("no header", "time_s")),
        (b"# only\n", ("no header",)),
        (b"4\n8\n", ("line 1", "`4`", "format csv")),
        (b"time_s;rate_bps\n", ("line 1", "a comma")),
        (b"time_s,rate_kbps\n", ("0 lines",)),
        (b"time_s,rate_kbps\n0,1\n", ("1 lines", "2 or more")),
        (b"time_s,rate_kbps\n1,1\n2,1\n", ("line 2", "1 s", "allowed is 0")),
        (b"time_s,rate_kbps\n0,1\n2,1\n2,1\n", ("line 4", "a later one")),
        (b"time_s,rate_kbps\n0,-1\n1,1\n", ("line 2", "rate_kbps is `-1`", "0 or more")),
        (b"time_s,rate_kbps\n0,nan\n1,1\n", ("`nan`",)),
        (b"time_s,rate_kbps\n0,1e99\n1,1\n", ("`1e99`", "2^63 bit/s")),
        (b"time_s,rate_kbps\n0,1e999999999\n1,1\n", ("`1e999999999`",)),
        (b"time_s,rate_kbps\n0,1,2\n", ("line 2", "two numbers")),
        (b"\x89PNG\x00\x00", ("line 1", "binary")),
        (b"\xff\xfe\x41\n", ("line 1", "UTF-8")),
        (b"x" * 5000, ("line 1", "4096")),
    ],
)
def test_wrong_files(content: bytes, parts: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(RequestError) as raised:
        traces.read(path)
    assert all(part in raised.value.sentence for part in (*parts, str(path)))
    assert len(raised.value.sentence) < 400 + len(str(path))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    cases = [("absent", "No such file"), (".", "Is a directory"), ("pipe", "no regular file"), ("a\0b", "null")]
    for name, reason in cases:
        for reader in (traces.read, traces.read_dataset):
            with pytest.raises(RequestError, match=reason):
                reader(tmp_path / name)


# statistics


def test_statistics_by_hand() -> None:
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


# the data set


def test_seconds_repeat_have_gaps_and_unknown_rates(tmp_path: Path) -> None:
    rows = [
        row(0, "-"),  # not known: the trace starts with the next
        row(1, 4000),
        row(2, 1000),
        row(2, 2001),  # the same second: mean, rounded half up
        row(3, "-"),  # the rate before holds
        row(6, 0, "I"),  # after a gap; a pause
        row(7, 5000.5),
    ]
    trace = traces.read_dataset(written(tmp_path / "x.csv", *rows))
    assert trace.starts_ns == (0, S, 5 * S, 6 * S)
    assert trace.rates_bps == (4_000_000, 1_501_000, 0, 5_001_000)
    assert trace.end_ns == 7 * S
    assert trace.origin == f"{dataset.NAME}, file x.csv"
    assert not trace.synthetic
    assert "1 s" in trace.notes[1]
    part = traces.read_dataset(tmp_path / "x.csv", start_s=2, duration_s=4)
    assert (part.starts_ns, part.rates_bps, part.end_ns) == ((0, 3 * S), (1_501_000, 0), 4 * S)
    traces.write(tmp_path / "t.csv", part)
    assert traces.read(tmp_path / "t.csv") == part


@pytest.mark.parametrize(
    ("start", "duration", "part"),
    [
        (0, 4, "0 s to 4 s"),
        (3, 1, "lasts 3 s"),
        (-1, 2, "-1 s"),
        (0, 0, "1 s or more"),
        (0, 10**12, "within 0 s to 3 s"),
    ],
)
def test_parts_that_are_not_there(start: int, duration: int, part: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", *(row(second, 5) for second in range(3)))
    with pytest.raises(RequestError, match=part):
        traces.read_dataset(path, start, duration)


GOOD = [row(0, 5), row(1, 6), row(2, 7)]
HOSTILE = [
    ("", ("is empty",)),
    (HEADER, ("no row with a DL_bitrate",)),
    (GOOD[0], ("line 1", "no column `Timestamp`, `CellID`")),
    ("time_s,rate_kbps\n0,1\n1,2\n", ("line 1", "`DL_bitrate`")),
    ('{"rates": [1, 2]}', ("line 1", "no column")),
    (HEADER.replace(",", ";"), ("line 1", "`;`", "commas")),
    (HEADER.replace(",", "\t"), ("line 1", "tabs", "commas")),
    (HEADER.replace("DL_bitrate", "DL_rate"), ("line 1", "no column `DL_bitrate` in")),
    (HEADER + ",State\n" + GOOD[0] + ",D", ("line 1", "`State`", "twice")),
    ("\n".join([HEADER, GOOD[0], row(1, 6).rpartition(",")[0]]), ("line 3", "19 values", "20")),
    ("\n".join([HEADER, GOOD[0], row(1, 6) + ",1"]), ("line 3", "21 values")),
    ("\n".join([HEADER, GOOD[0].replace("2018.02.12_", "12.02.2018 ")]), ("line 2", "Timestamp", "`12.02.2018 16")),
    ("\n".join([HEADER, GOOD[0].replace("02.12", "02.31")]), ("line 2", "2018.02.31")),
    ("\n".join([HEADER, GOOD[1], GOOD[0]]), ("line 3", "before that of the row above")),
    ("\n".join([HEADER, GOOD[0], row(1, -3)]), ("line 3", "DL_bitrate is `-3`", "0 to 10000000")),
    ("\n".join([HEADER, row(0, 10_000_001)]), ("line 2", "`10000001`")),
    ("\n".join([HEADER, row(0, "9" * 3000)]), ("line 2", "999...")),
    ("\n".join([HEADER, row(0, "nan")]), ("line 2", "`nan`")),
    ("\n".join([HEADER, row(0, "1e3")]), ("line 2", "`1e3`")),
    ("\n".join([HEADER, row(0, "٣")]), ("line 2", "`٣`")),
    ("\n".join([HEADER, row(0, "")]), ("line 2", "``")),
    ("\n".join([HEADER, row(0, 0), row(1, 0)]), ("DL_bitrate is 0",)),
    ("\n".join([HEADER, row(0, 5), row(11, 5)]), ("line 3", "11 s", "allowed are 10 s")),
    ("\0" * 100, ("line 1", "binary")),
    (HEADER + "\n" + "x" * 10_000, ("line 2", "4096")),
]


@pytest.mark.parametrize(("content", "parts"), HOSTILE)
def test_another_format_is_refused(content: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(RequestError) as raised:
        traces.read_dataset(path)
    assert all(part in raised.value.sentence for part in (*parts, str(path)))
    assert len(raised.value.sentence) < 500 + len(str(path))


def test_rows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "MOST_ROWS", 2)
    assert traces.read_dataset(written(tmp_path / "x.csv", *GOOD[:2])).end_ns == 2 * S
    with pytest.raises(RequestError, match="line 4: there are more than 2 rows"):
        traces.read_dataset(written(tmp_path / "x.csv", *GOOD))


# installed traces


def test_the_published_trace_is_installed_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert traces.installed("lte") is None
    published = written(tmp_path / PUBLISHED, *(row(second, 4500) for second in range(300)))
    assert cli.invoke(["trace", "import", str(published), "--install", "lte"]) == 0
    path = traces.installed("lte")
    assert path == tmp_path / "data" / "quiclab" / "traces" / "lte.csv"
    assert PUBLISHED in capsys.readouterr().out
    trace = traces.read(path)
    assert (trace.end_ns, trace.synthetic) == (200 * S, False)
    # never over an older one unless it is asked for
    assert cli.invoke(["trace", "import", str(published), "--install", "lte"]) == 2
    assert "--force" in capsys.readouterr().err
    assert cli.invoke(["trace", "import", str(published), "--install", "lte", "--force"]) == 0


def test_nothing_else_passes_for_the_published_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(RequestError, match="synthetic"):
        traces.install("lte", traces.generate())
    assert traces.installed("lte") is None
    other = traces.install("mine", traces.generate())
    assert traces.installed("mine") == other
    other.rename(other.with_name("lte.csv"))
    with pytest.raises(RequestError, match="published trace"):
        traces.installed("lte")
    for name in ("../lte", "", "LTE", "a/b", "x" * 41):
        with pytest.raises(RequestError, match="no name of a trace"):
            traces.installed(name)


def test_relative_data_directories_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert library.directory() == Path.home() / ".local" / "share" / "quiclab" / "traces"


# in the engine


@pytest.mark.parametrize("source", ["synthetic", "data set"])
def test_the_engine_delivers_what_the_trace_allows(source: str, tmp_path: Path) -> None:
    if source == "synthetic":
        trace = traces.generate(seed=2)
    else:
        path = written(tmp_path / "x.csv", *(row(second, 3000 + 1000 * (second % 4)) for second in range(40)))
        trace = traces.read_dataset(path)
    traces.write(tmp_path / "t.csv", trace)
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO.format(file="t.csv", duration="31 s", length="30 s"))
    result = quiclab.run(quiclab.load(file), 1, base_dir=tmp_path)
    allowed = sum(trace.rates_bps[:30]) / 8
    # headers take 4 %; a start, losses and an idle link after a dip take more, and nothing brings more than the trace
    assert 0.75 * allowed < result.flows["main"].delivered_bytes < 0.97 * allowed


def test_the_engine_reads_every_form_that_is_written(tmp_path: Path) -> None:
    traces.write(tmp_path / "t.csv", Trace((0, 1_500_000_001), (1_234_567, 5_000_000), 3 * S, "a\tb", ("n",)))
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO.format(file="t.csv", duration="3 s", length="1 s"))
    assert quiclab.run(quiclab.load(file), 1, base_dir=tmp_path).flows["main"].delivered_bytes > 0


# the command line


def test_show_draws_and_says_what_is_synthetic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert (len(data), width) == (figure.MOST_SHOWN + 1, 2.5)
    mean = sum(point["rate_mbps"] for point in data[:-1]) / figure.MOST_SHOWN
    assert mean == pytest.approx(4.5)


REQUESTS: list[tuple[list[str], tuple[str, ...]]] = [
    (["generate"], ("--out",)),
    (["generate", "--out", "t.csv", "--mean", "4.5"], ("--mean", "`4.5`", "Mbit/s")),
    (["generate", "--out", "t.csv", "--mean", "4.5 MB"], ("--mean", "`4.5 MB`")),
    (["generate", "--out", "t.csv", "--mean", "-1 Mbit/s"], ("--mean", "`-1 Mbit/s`")),
    (["generate", "--out", "t.csv", "--mean", "1 bit/s"], ("allowed is 200 kbit/s",)),
    (["generate", "--out", "t.csv", "--duration", "9"], ("--duration", "`9`", "min")),
    (["generate", "--out", "t.csv", "--duration", "0 s"], ("duration is 0 s", "2 to 100000")),
    (["generate", "--out", "t.csv", "--step", "0 s"], ("step is 0 ms",)),
    (["generate", "--out", "t.csv", "--seed", "x"], ("--seed", "`x`")),
    (["generate", "--out", "there.csv"], ("there.csv", "--force")),
    (["generate", "--out", "no/t.csv"], ("cannot write no/t.csv",)),
    (["generate", "--out", ".", "--force"], ("directory",)),
    (["generate", "--out", "x" * 300], ("cannot write", "too long")),
    (["generate", "--out", "dangling"], ("dangling", "--force")),
    (["import", "data.csv"], ("--out", "--install")),
    (["import", "data.csv", "--out", "t.csv", "--install", "lte"], ("--out", "--install")),
    (["import", "absent.csv", "--out", "t.csv"], ("absent.csv", "No such file")),
    (["import", "there.csv", "--out", "t.csv"], ("there.csv, line 1", "4G data set")),
    (["import", "data.csv", "--out", "t.csv"], ("data.csv lasts 3 s", "200 s")),
    (["import", "data.csv", "--out", "t.csv", "--start", "0.5 s"], ("--start", "whole seconds")),
    (["import", "data.csv", "--out", "there.csv", "--duration", "3 s"], ("there.csv", "--force")),
    (["import", "data.csv", "--install", "lte", "--duration", "3 s"], ("`lte`", "published", "data.csv")),
    (["import", "data.csv", "--install", "../x", "--duration", "3 s"], ("`../x`", "small letters")),
    (["show", "absent.csv"], ("absent.csv", "No such file")),
    (["show", "data.csv"], ("data.csv, line 1", "time_s")),
    (["show", "there.csv", "--figure", "f.pdf"], ("`.pdf`", "`.svg` and `.png`")),
    (["show", "there.csv", "--figure", "f.svg"], ("f.svg", "--force")),
    (["fly"], ("fly",)),
]


@pytest.mark.parametrize(("arguments", "parts"), REQUESTS, ids=[" ".join(arguments) for arguments, _ in REQUESTS])
def test_wrong_requests(
    arguments: list[str],
    parts: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "there.csv").write_text("time_s,rate_mbps\n0,1\n1,2\n")
    (tmp_path / "f.svg").write_text("mine")
    (tmp_path / "dangling").symlink_to("nowhere")
    written(tmp_path / "data.csv", *GOOD)
    before = listing(tmp_path)
    assert cli.invoke(["trace", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("quiclab: ")
    assert captured.err.count("\n") == 1
    assert all(part in captured.err for part in parts), captured.err
    assert listing(tmp_path) == before


def test_a_process_imports(tmp_path: Path) -> None:
    written(tmp_path / "data.csv", *GOOD)
    done = quiclab_process("trace", "import", "data.csv", "--duration", "2 s", "--out", "t.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert traces.read(tmp_path / "t.csv").rates_bps == (5000, 6000)
