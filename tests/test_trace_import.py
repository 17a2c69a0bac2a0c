"""The 4G data set as traces, traces that are installed, traces in the engine, and wrong requests to `quiclab trace`."""

from __future__ import annotations

from pathlib import Path

import pytest

import quiclab
from conftest import assert_refused, quiclab_process
from quiclab import cli
from quiclab.errors import RequestError
from quiclab.sources import traces
from quiclab.sources.traces import dataset, library
from quiclab.sources.traces.trace import Trace

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
        (3, 1, "within 0 s to 3 s, got 3 s to 4 s"),
        (-1, 2, "-1 s"),
        (0, 0, "at least 1 s"),
        (0, 10**12, "within 0 s to 3 s"),
    ],
)
def test_parts_that_are_not_there(start: int, duration: int, part: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", *(row(second, 5) for second in range(3)))
    with pytest.raises(RequestError, match=part):
        traces.read_dataset(path, start, duration)


GOOD = [row(0, 5), row(1, 6), row(2, 7)]
HOSTILE = [
    ("", ("an empty file",)),
    (HEADER, ("at least one row with a rate, got none",)),
    (GOOD[0], ("line 1", "missing columns: `Timestamp`, `CellID`")),
    ("time_s,rate_kbps\n0,1\n1,2\n", ("line 1", "`DL_bitrate`")),
    ('{"rates": [1, 2]}', ("line 1", "missing columns")),
    (HEADER.replace(",", ";"), ("line 1", "`;`", "commas")),
    (HEADER.replace(",", "\t"), ("line 1", "tabs", "commas")),
    (HEADER.replace("DL_bitrate", "DL_rate"), ("line 1", "missing columns: `DL_bitrate`")),
    (HEADER + ",State\n" + GOOD[0] + ",D", ("line 1", "`State`", "twice")),
    ("\n".join([HEADER, GOOD[0], row(1, 6).rpartition(",")[0]]), ("line 3", "got 19", "20 values")),
    ("\n".join([HEADER, GOOD[0], row(1, 6) + ",1"]), ("line 3", "got 21")),
    ("\n".join([HEADER, GOOD[0].replace("2018.02.12_", "12.02.2018 ")]), ("line 2", "Timestamp", 'got "12.02.2018 16')),
    ("\n".join([HEADER, GOOD[0].replace("02.12", "02.31")]), ("line 2", "2018.02.31")),
    ("\n".join([HEADER, GOOD[1], GOOD[0]]), ("line 3", "not before that of the previous row")),
    ("\n".join([HEADER, GOOD[0], row(1, -3)]), ("line 3", 'got "-3"', "0 to 10000000")),
    ("\n".join([HEADER, row(0, 10_000_001)]), ("line 2", 'got "10000001"')),
    ("\n".join([HEADER, row(0, "9" * 3000)]), ("line 2", "999…")),
    ("\n".join([HEADER, row(0, "nan")]), ("line 2", 'got "nan"')),
    ("\n".join([HEADER, row(0, "1e3")]), ("line 2", 'got "1e3"')),
    ("\n".join([HEADER, row(0, "٣")]), ("line 2", 'got "٣"')),
    ("\n".join([HEADER, row(0, "")]), ("line 2", 'got ""')),
    ("\n".join([HEADER, row(0, 0), row(1, 0)]), ("got 0 from 0 s",)),
    ("\n".join([HEADER, row(0, 5), row(11, 5)]), ("line 3", "got 11 s", "at most 10 s")),
    ("\0" * 100, ("line 1", "binary")),
    (HEADER + "\n" + "x" * 10_000, ("line 2", "4096")),
]


@pytest.mark.parametrize(("content", "parts"), HOSTILE)
def test_another_format_is_refused(content: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    assert_refused(traces.read_dataset, path, parts)


def test_rows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "MAX_ROWS", 2)
    assert traces.read_dataset(written(tmp_path / "x.csv", *GOOD[:2])).end_ns == 2 * S
    with pytest.raises(RequestError, match="line 4: expected at most 2 rows"):
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
        with pytest.raises(RequestError, match="trace name: expected"):
            traces.installed(name)


def test_relative_data_directories_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert library.directory() == Path.home() / ".local" / "share" / "quiclab" / "traces"


# in the engine


@pytest.mark.parametrize("source", ["synthetic", "data set"])
def test_the_simulator_delivers_at_the_rate_of_the_trace(source: str, tmp_path: Path) -> None:
    if source == "synthetic":
        trace = traces.generate(seed=2)
    else:
        path = written(tmp_path / "x.csv", *(row(second, 3000 + 1000 * (second % 4)) for second in range(40)))
        trace = traces.read_dataset(path)
    traces.write(tmp_path / "t.csv", trace)
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO.format(file="t.csv", duration="31 s", length="30 s"))
    result = quiclab.run(quiclab.load(file), 1, base_dir=tmp_path)
    flow = result.flows["main"]
    assert flow.finish_s is not None
    # until the last packets in flight have arrived; 52 of 1500 bytes are headers
    allowed = (sum(trace.rates_bps[:30]) + (flow.finish_s - 30) * trace.rates_bps[30]) / 8 * 1448 / 1500
    # a start, losses and an idle link after a dip take a part, and nothing brings more than the trace
    assert 0.78 * allowed < flow.delivered_bytes <= allowed


def test_the_engine_reads_every_form_that_is_written(tmp_path: Path) -> None:
    traces.write(tmp_path / "t.csv", Trace((0, 1_500_000_001), (1_234_567, 5_000_000), 3 * S, "a\tb", ("n",)))
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO.format(file="t.csv", duration="3 s", length="1 s"))
    assert quiclab.run(quiclab.load(file), 1, base_dir=tmp_path).flows["main"].delivered_bytes > 0


# the command line


REQUESTS: list[tuple[list[str], tuple[str, ...]]] = [
    (["generate"], ("--out",)),
    (["generate", "--out", "t.csv", "--mean", "4.5"], ("--mean", 'got "4.5"', "Mbit/s")),
    (["generate", "--out", "t.csv", "--mean", "4.5 MB"], ("--mean", 'got "4.5 MB"')),
    (["generate", "--out", "t.csv", "--mean", "-1 Mbit/s"], ("--mean", 'got "-1 Mbit/s"')),
    (["generate", "--out", "t.csv", "--mean", "1 bit/s"], ("expected 200 kbit/s",)),
    (["generate", "--out", "t.csv", "--duration", "9"], ("--duration", 'got "9"', "min")),
    (["generate", "--out", "t.csv", "--duration", "0 s"], ("got 0 s", "2 to 100000")),
    (["generate", "--out", "t.csv", "--step", "0 s"], ("step: expected at least 10 ms, got 0 ms",)),
    (["generate", "--out", "t.csv", "--seed", "x"], ("--seed", 'got "x"')),
    (["generate", "--out", "there.csv"], ("there.csv", "--force")),
    (["generate", "--out", "no/t.csv"], ("cannot write no/t.csv",)),
    (["generate", "--out", ".", "--force"], ("directory",)),
    (["generate", "--out", "x" * 300], ("cannot write", "too long")),
    (["generate", "--out", "dangling"], ("dangling", "--force")),
    (["import", "data.csv"], ("--out", "--install")),
    (["import", "data.csv", "--out", "t.csv", "--install", "lte"], ("--out", "--install")),
    (["import", "absent.csv", "--out", "t.csv"], ("absent.csv", "No such file")),
    (["import", "there.csv", "--out", "t.csv"], ("there.csv, line 1", "4G data set")),
    (["import", "data.csv", "--out", "t.csv"], ("within 0 s to 3 s", "200 s")),
    (["import", "data.csv", "--out", "t.csv", "--start", "0.5 s"], ("--start", "whole seconds")),
    (["import", "data.csv", "--out", "there.csv", "--duration", "3 s"], ("there.csv", "--force")),
    (["import", "data.csv", "--install", "lte", "--duration", "3 s"], ("`lte`", "published", "data.csv")),
    (["import", "data.csv", "--install", "../x", "--duration", "3 s"], ('got "../x"', "lower-case letters")),
    (["show", "absent.csv"], ("absent.csv", "No such file")),
    (["show", "data.csv"], ("data.csv, line 1", "time_s")),
    (["show", "there.csv", "--figure", "f.gif"], ("f.gif", "`.svg`")),
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
