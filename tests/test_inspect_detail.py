"""The page of `quiclab inspect` of long runs: overviews that invent nothing, and all packets of a short time."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import BROWSER, ROOT, SMALL
from quiclab import cli
from quiclab.analysis.inspect import Side, blocks, open_run, render, side, source, tiles
from quiclab.analysis.inspect.sequence import ARRIVED
from quiclab.analysis.inspect.window import Window, window
from quiclab.errors import RequestError
from test_inspect_page import probe

ALL = 10**6
ARROWS = ("time", "flight", "fate", "number", "space", "path", "bytes", "frames", "declared")
PLACES, SPAN_US = 10, 28_000
UDP_HEADERS_BYTES = 28


def quiet(_kind: str, _name: object) -> nullcontext[None]:
    return nullcontext()


def sums(column: list[int]) -> np.ndarray:
    return np.cumsum(np.array(column, dtype=np.int64))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small run have as many tiles as a large one."""
    monkeypatch.setattr(tiles, "INLINE_ROWS", 200)
    monkeypatch.setattr(tiles, "TILE_ROWS", 128)
    monkeypatch.setattr(tiles, "OVERVIEW_BINS", 50)
    monkeypatch.setattr(tiles, "OVERVIEW_ARROWS", 40)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with losses whose packets are recorded twice: in qlog and in packets.parquet."""
    folder = tmp_path_factory.mktemp("long")
    record = '[record]\nseries_interval = "10 ms"\npackets = true\nacks = true\nqlog = true\n'
    text = SMALL.replace("quinn", "lab-quic").replace("100 kB", "3 MB").replace("packets = 100", "packets = 20")
    (folder / "long.toml").write_text(text + record)
    assert cli.invoke(["run", str(folder / "long.toml"), "--out", str(folder / "run")]) == 0
    return folder / "run"


def recorded(folder: Path, source: str, target: str) -> pl.DataFrame:
    """Packets from one end to another as packets.parquet has them: sent and, if it arrived, arrived [µs]."""
    rows = pl.read_parquet(folder / "packets.parquet").with_columns(
        us=(pl.col("time_ns") / 1000).round().cast(pl.Int64)
    )
    sent = rows.filter((pl.col("element") == source) & (pl.col("event") == "departure"))
    arrived = rows.filter((pl.col("element") == target) & (pl.col("event") == "arrival"))
    both = sent.join(arrived.select("packet_id", arrived="us"), on="packet_id", how="left")
    return both.select("us", "arrived", bytes=pl.col("size_bytes").cast(pl.Int64) - UDP_HEADERS_BYTES)


def tile_rows(shown: Side, columns: dict[str, Any], names: tuple[str, ...], from_us: int, to_us: int) -> dict[str, Any]:
    """The rows of a time from the blocks that the page reads for it."""
    starts, counts = sums(columns["tiles"]["t"]), columns["tiles"]["n"]
    first = max(0, int(np.searchsorted(starts, from_us)) - 1)
    end = int(np.searchsorted(starts, to_us + 1))
    parts = []
    for index in range(first, end):
        part = blocks.decode(shown.blocks[columns["tiles"]["first"] + index], names)
        assert len(part[names[0]]) == counts[index]
        parts.append(part)
    whole = {name: np.concatenate([part[name] for part in parts]) for name in names}
    kept = (whole[names[0]] >= from_us) & (whole[names[0]] <= to_us)
    return {name: column[kept] for name, column in whole.items()}


def times(seed: int, truth: pl.DataFrame, earliest_us: int) -> list[int]:
    """Where ten random times of `SPAN_US` begin."""
    latest_us = int(truth["us"].to_numpy().max()) - SPAN_US
    return [int(place) for place in np.random.default_rng(seed).integers(earliest_us, latest_us, PLACES)]


def check_places(folder: Path, flow: str, earliest_us: int) -> tuple[int, int]:
    """Compare ten random times of 28 ms of the page with packets.parquet; return all packets, and those compared."""
    shown = side(open_run(folder, ALL, quiet))
    [connection] = shown.data["connections"]
    compared, of = 0, 0
    for direction, names in enumerate((("receiver", "sender"), ("sender", "receiver"))):
        columns = connection["arrows"][direction]
        truth = recorded(folder, *(f"{flow}.{name}" for name in names))
        assert columns["of"] >= truth.height  # a datagram of the handshake holds several packets
        of += columns["of"]
        for from_us in times(21 + direction, truth, earliest_us):
            rows = tile_rows(shown, columns, ARROWS, from_us, from_us + SPAN_US)
            arrived = np.where(rows["fate"] == ARRIVED, rows["time"] + rows["flight"], -1)
            page = np.array(sorted(zip(rows["time"], rows["bytes"], arrived, strict=True)))
            wanted = truth.filter(pl.col("us").is_between(from_us, from_us + SPAN_US)).fill_null(-1)
            assert 0 < len(page) == wanted.height
            # qlog is read in steps of 0.1 µs
            assert abs(page - np.array(sorted(wanted.select("us", "bytes", "arrived").iter_rows()))).max() <= 1
            compared += len(page)
    return of, compared


def test_thinned_losses_are_reported(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(points: int) -> list[dict[str, Any]]:
        [connection] = side(open_run(long, points, quiet)).data["connections"]
        return [end for end in connection["ends"] if end["lost"]["t"]]

    monkeypatch.setattr(source, "MIN_POINTS", 5)
    [whole], [thinned] = ends(ALL), ends(5)
    count, kept = len(whole["lost"]["t"]), len(thinned["lost"]["t"])
    assert kept <= 5 < count
    assert not [note for note in whole["notes"] if "declared lost" in note]
    [said] = [note for note in thinned["notes"] if "declared lost" in note]
    assert said.startswith(f"shown: one in {-(-count // kept)} of {count} packets declared lost; --from and --to ")


@pytest.mark.usefixtures("few")
def test_ten_places_of_the_page_are_those_of_the_packet_records(long: Path) -> None:
    check_places(long, "dc", 200_000)


MILLION = """
version = 1
name = "a million packets"
duration = "70 s"
until = "duration_over"
[links.down]
rate = "100 Mbit/s"
queue = { kind = "drop_tail", packets = 400 }
delay = "20 ms"
[links.up]
rate = "100 Mbit/s"
delay = "20 ms"
[flows.main]
stack = "lab-quic"
down = ["down"]
up = ["up"]
workload = { kind = "download", size = "2 GB" }
[record]
qlog = true
packets = true
"""


@pytest.mark.slow
def test_ten_places_of_a_million_packets_are_those_of_the_packet_records(tmp_path: Path) -> None:
    (tmp_path / "million.toml").write_text(MILLION)
    assert cli.invoke(["run", str(tmp_path / "million.toml"), "--out", str(tmp_path / "run")]) == 0
    of, compared = check_places(tmp_path / "run", "main", 1_000_000)
    print(f"{of} packets, {compared} compared")
    assert of > 1_000_000


@pytest.mark.usefixtures("few")
def test_an_overview_has_what_was_recorded_and_both_ends_of_a_packet(long: Path) -> None:
    [connection] = side(open_run(long, ALL, quiet)).data["connections"]
    columns = connection["arrows"][1]
    fates = sums(columns["fate"])
    assert columns["step"] > 1
    assert len(fates) < columns["of"]
    assert (fates[(fates != ARRIVED)].size) <= sum(sums(columns["declared"]) > 0) + tiles.OVERVIEW_ARROWS
    # each packet sent lies in a range of its part of the time, and no range is without packets
    found = columns["range"]
    truth = recorded(long, "dc.sender", "dc.receiver")
    assert sum(found["n"]) <= truth.height
    for start, count in zip(sums(found["t"]), found["n"], strict=True):
        inside = truth.filter(pl.col("us").is_between(int(start) - 1, int(start) + found["width"] + 1)).height
        assert inside >= count > 0


def test_blocks_hold_any_integers() -> None:
    number = np.random.default_rng(1)
    columns = {
        "any": number.integers(-(2**50), 2**50, 1000),
        "none": np.zeros(0, dtype=np.int64),
        "one": np.array([-1]),
        "steps": np.arange(0, 10**7, 196),
    }
    found = blocks.decode(blocks.encode(columns), list(columns))
    assert {name: column.tolist() for name, column in found.items()} == {
        name: column.tolist() for name, column in columns.items()
    }


@pytest.mark.parametrize("seed", range(10))
def test_an_overview_of_a_line_keeps_first_last_and_extremes_of_each_part(seed: int) -> None:
    number = np.random.default_rng(seed)
    times = np.sort(number.integers(0, 10_000, 3000))
    values = number.integers(-50, 50, 3000)
    kept = tiles.extremes(times, values, 20)
    part = tiles.bin_of(times, 20)
    for index in range(20):
        of, shown = np.flatnonzero(part == index), kept[part[kept] == index]
        assert {of[0], of[-1]} <= set(shown.tolist())
        assert (values[shown].min(), values[shown].max()) == (values[of].min(), values[of].max())
        assert len(shown) <= 4


def test_a_window_has_all_packets_and_nothing_else(long: Path) -> None:
    whole = side(open_run(long, ALL, quiet)).data["connections"][0]["arrows"][1]
    part = side(open_run(long, ALL, quiet, Window(400_000, 500_000)))
    assert part.data["part"] == [400_000, 500_000]
    columns = part.data["connections"][0]["arrows"][1]
    times, flights = sums(whole["time"]), sums(whole["flight"])
    inside = (times + np.maximum(flights, 0) >= 400_000) & (times <= 500_000)
    assert inside.any()
    assert sums(columns["number"]).tolist() == sums(whole["number"])[inside].tolist()
    end = part.data["connections"][0]["ends"][1]
    for metric in end["metrics"].values():
        shown = sums(metric["t"])
        assert shown[0] >= 400_000
        assert shown[-1] <= 500_000
    # counts stay those of the run
    facts = dict(end["facts"])
    assert facts["Packets sent"] > len(times) - 5
    assert facts["Duration of the time shown [ms]"] == pytest.approx(100, abs=1)
    assert facts["Limited by congestion window [% of the time shown]"] > 0
    assert not any(label in facts for label in ("Duration [ms]", "Limited by congestion window [% of time]"))


@pytest.mark.parametrize("record", ["qlog", "packets"])
def test_a_flow_that_ended_before_a_window_has_no_packets_in_it(record: str, tmp_path: Path) -> None:
    """That is not what is said of packets that were not recorded."""
    first, flow = SMALL.replace("100 kB", "20 kB").split("[flows.dc]")
    other = flow.replace("20 kB", "2 MB")
    (tmp_path / "two.toml").write_text(f"{first}[flows.dc]{flow}[flows.second]{other}[record]\n{record} = true\n")
    assert cli.invoke(["run", str(tmp_path / "two.toml"), "--out", str(tmp_path / "run")]) == 0
    ended, running = side(open_run(tmp_path / "run", ALL, quiet, Window(400_000, 500_000))).data["connections"]
    assert ended["notes"] == ["There are no packets in this time."]
    assert running["notes"] == []


def test_options_of_a_window(long: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert cli.invoke(["inspect", str(long), "--out", str(page), "--from", "400 ms", "--to", "0.5 s"]) == 0
    assert '"part":[400000,500000]' in page.read_text()
    capsys.readouterr()
    for options, says in (
        (["--from", "2 s", "--to", "1 s"], "--to: expected a time after that of --from, 2 s, got 1 s"),
        (["--from", "1000 s"], "--from: expected a time before the end of run"),
        (["--from", "soon"], "--from: expected a number with a unit"),
    ):
        assert cli.invoke(["inspect", str(long), "--out", str(page), "--force", *options]) == 2
        assert says in capsys.readouterr().err
    assert window(None, None) is None
    with pytest.raises(RequestError):
        window(5_000, 5_000)


@pytest.mark.parametrize("name", [".", "result.json", "dc.sender.sqlog", "long.toml"])
@pytest.mark.parametrize("points", [source.READ_POINTS, 100], ids=["all", "sampled"])
def test_the_end_of_a_recording_is_the_true_one(
    name: str,
    points: int,
    long: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not the time at which the part begins that is read, whose first values are held ones."""
    path = long.parent / name if name == "long.toml" else long / name
    end = f"{side(open_run(path, ALL, quiet)).data['duration'] / 1e6:g} s"
    monkeypatch.setattr(source, "READ_POINTS", points)
    for start in ("3.5 s", "60 s"):
        capsys.readouterr()
        assert cli.invoke(["inspect", str(path), "--from", start, "--out", str(tmp_path / "page.html")]) == 2
        assert f"{end}, got {start}" in capsys.readouterr().err


def test_a_window_of_a_long_file_is_at_its_time(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first event of the file, not from the first that is read for the window."""
    part = Window(400_000, 500_000)
    monkeypatch.setattr("quiclab.analysis.inspect.window.MARGIN_US", 10_000)
    monkeypatch.setattr(source, "READ_POINTS", 100)
    (shown,) = side(open_run(long / "dc.sender.sqlog", ALL, quiet, part)).data["connections"]
    facts = dict(next(end for end in shown["ends"] if end)["facts"])
    assert [value for label, value in facts.items() if label.startswith("Duration")] == [100]


def shown_ends(path: Path, part: Window | None) -> dict[str, dict[str, Any]]:
    """The ends of the only connection by their role."""
    [connection] = side(open_run(path, ALL, quiet, part)).data["connections"]
    return {end["role"]: end for end in connection["ends"] if end}


def test_tables_that_go_on_after_the_qlog_file_count_in_a_window(tmp_path: Path) -> None:
    scenario, run = ROOT / "scenarios/tcp_download.toml", tmp_path / "run"
    record = ["--set", "record.qlog=true", "--set", "record.series_interval=10 ms"]
    assert cli.invoke(["run", str(scenario), *record, "--out", str(run)]) == 0
    ends = dict(shown_ends(run, None)["server"]["facts"])
    assert ends["Duration [ms]"] == pytest.approx(1859.931, abs=0.001)  # from 60.069 ms to the last sample
    label = "Duration of the time shown [ms]"
    ends = dict(shown_ends(run, Window(1_915_000, 1_930_000))["server"]["facts"])
    assert ends[label] == 5
    ends = dict(shown_ends(run, Window(50_000, 70_000))["server"]["facts"])
    assert ends[label] == pytest.approx(70 - 60.069, abs=0.001)


def test_a_trace_without_events_ends_nothing(tmp_path: Path) -> None:
    """Its end, 0, is none: that of the tables counts."""
    text = SMALL.replace("quinn", "lab-tcp").replace("100 kB", "1 MB")
    record = '[record]\nseries_interval = "10 ms"\npackets = true\nqlog = true\n'
    (tmp_path / "tcp.toml").write_text(text + record)
    run, part = tmp_path / "run", Window(200_000, 300_000)
    assert cli.invoke(["run", str(tmp_path / "tcp.toml"), "--out", str(run)]) == 0
    trace = run / "dc.sender.sqlog"
    whole = shown_ends(run, part)["server"]
    trace.write_text(trace.read_text().split("\n", 1)[0] + "\n")
    end = shown_ends(run, part)["server"]
    for shown in (whole, end):
        assert dict(shown["facts"])["Duration of the time shown [ms]"] == 100
        assert shown["limits"]["until"] == 300_000


# what is drawn at each of several times, which are in the address
ZOOM = """
  for (const [from, to] of TIMES) {
    location.hash = `#ms=${from / 1000}-${to / 1000}`;
    for (let i = 0; i < 40; i += 1) {
      await new Promise((done) => setTimeout(done, 50));
      const points = charts.find((canvas) => canvas.getAttribute("aria-label").startsWith("Packet numbers"));
      const [diagram] = document.querySelectorAll("canvas.sequence");
      const [sent] = points.rows();
      if (sent.kind !== "points") continue;
      const inside = (t) => t >= from && t <= to;
      probe.places.push({
        points: sent.t.filter(inside),
        arrows: diagram.rows().filter(({ direction, time }) => direction === 1 && inside(time)),
        notes: [...document.querySelectorAll("#congestion .cap, #sequence .cap")].map(text).filter(Boolean),
      });
      break;
    }
  }
"""


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed (apt-get install chromium)")
@pytest.mark.usefixtures("few")
def test_ten_places_of_a_page_show_every_packet_with_both_ends(long: Path, tmp_path: Path) -> None:
    truth = recorded(long, "dc.sender", "dc.receiver")
    starts = times(7, truth, 200_000)
    page = tmp_path / "page.html"
    text = render([side(open_run(long, ALL, quiet))])
    # as few rows at once as there are many in a long run
    assert "const DETAIL_ROWS = 150_000;" in text
    page.write_text(text.replace("const DETAIL_ROWS = 150_000;", "const DETAIL_ROWS = 1_000;"), encoding="utf-8")
    windows = json.dumps([[start, start + SPAN_US] for start in starts])
    body = """
      const rough = charts.find((canvas) => canvas.getAttribute("aria-label").startsWith("Packet numbers")).rows();
      const congestion = document.querySelector("#congestion").textContent;
      probe.first = [rough[0].kind, congestion.includes("zoom in for single packets")];
      probe.places = [];
    """
    found, console = probe(page, tmp_path / "profile", body + ZOOM.replace("TIMES", windows))
    assert console == []
    assert found["first"] == ["range", True]
    assert len(found["places"]) == len(starts)
    for start, shown in zip(starts, found["places"], strict=True):
        wanted = truth.filter(pl.col("us").is_between(start, start + SPAN_US)).fill_null(-1)
        arrows = sorted(
            [row["time"], row["bytes"], row["time"] + row["flight"] if row["fate"] == ARRIVED else -1]
            for row in shown["arrows"]
        )
        assert 0 < len(arrows) == wanted.height
        assert abs(np.array(arrows) - np.array(sorted(wanted.select("us", "bytes", "arrived").iter_rows()))).max() <= 1
        lost = sum(row[2] == -1 for row in arrows)
        assert len(arrows) - lost <= len(shown["points"]) <= len(arrows)
        assert shown["notes"] == []
