"""`quiclab inspect`: what is read, how packets are matched, what is said of what is left out, errors."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import ROOT, SMALL, has_stack
from quiclab import cli
from quiclab.analysis.inspect import Run, open_run, side
from quiclab.analysis.inspect.columns import changes, differences, integers, thinned
from quiclab.analysis.inspect.ends import End, Packets
from quiclab.analysis.inspect.links import capacity_kbps
from quiclab.analysis.inspect.qlog import end_of
from quiclab.analysis.inspect.sequence import ARRIVED, DROPPED, ONE_END, RECEIVED, arrows
from quiclab.errors import RequestError

ALL = 10**6


def quiet(_kind: str, _name: object) -> nullcontext[None]:
    return nullcontext()


def sums(column: list[int]) -> list[int]:
    return [int(value) for value in np.cumsum(column)]


def packets(*rows: tuple[int, int, int]) -> Packets:
    """Packets of (time in µs, number, space), 100 bytes each."""
    time_us, number, space = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    zeros = np.zeros(len(rows), dtype=np.int64)
    return Packets(time_us, number, space, zeros + 100, zeros, ["stream"])


def trace(vantage: str, shift_ms: float = 0, **changed: Any) -> dict[str, Any]:
    """A trace by hand: three packets sent at 10, 20, 30 ms, the second lost at 50 ms; two received at 25 and 45 ms."""
    whole: dict[str, Any] = {
        "schema": 1,
        "title": "by hand",
        "vantage": vantage,
        "stack": "some stack",
        "duration_ms": 40.0,
        "counts": {"packets_sent": 3, "packets_received": 2, "packets_lost": 1, "bytes_sent": 3600, "skipped": {}},
        "sampling": {"packets": {"shown": 5, "of": 5, "how": "all"}},
        "frame_sets": ["crypto", "stream", "ack"],
        "packets_sent": columns([10, 20, 30], [0, 1, 2], [0, 3, 3], [0, 1, 1], shift_ms),
        "packets_received": columns([25, 45], [0, 1], [0, 3], [0, 2], shift_ms),
        "lost": {"time_ms": [50 + shift_ms], "number": [1], "space": [3]},
        "acks": {"time_ms": [45 + shift_ms], "largest": [2], "space": [3]},
        "recovery": {
            "time_ms": [10 + shift_ms, 45 + shift_ms],
            "cwnd_bytes": [12000, 6000],
            "srtt_ms": [None, 15.25],
            "pacing_rate_mbps": [None, None],
        },
        "phases": [{"time_ms": 10 + shift_ms, "state": "slow_start"}],
        "streams": [
            {
                "id": 0,
                "direction": "sent",
                "bytes": 2400,
                "frames": {
                    "time_ms": [20 + shift_ms, 30 + shift_ms],
                    "offset": [0, 0],
                    "length": [1200, 1200],
                    "retransmitted": [False, True],
                },
            }
        ],
        "frame_kinds": {"stream": {"count": 2, "bytes": 2400}},
        "packet_sizes": [{"bytes": 1200, "sent": 3, "received": 2}],
        "derived": {"loss_percent": 100 / 3},
    }
    return whole | changed


def columns(time_ms: list[float], number: list[int], space: list[int], sets: list[int], by_ms: float) -> dict[str, Any]:
    times = [time + by_ms for time in time_ms]
    return {"time_ms": times, "number": number, "space": space, "bytes": [1200] * len(times), "frames": sets}


def test_columns_are_sums_of_their_differences() -> None:
    values = integers([1.2345, None, 7.0], 1000)
    assert values.tolist() == [1234, -1, 7000]  # halves go to the even number
    assert differences(values) == [1234, -1235, 7001]
    assert sums(differences(values)) == values.tolist()
    assert differences(integers([])) == []


def test_steps_keep_their_changes() -> None:
    times, values = changes(np.arange(6), np.array([5, 5, 7, 7, 7, 7]))
    assert (times.tolist(), values.tolist()) == ([0, 2, 5], [5, 7, 7])


@pytest.mark.parametrize("seed", range(20))
def test_thinning_keeps_peaks_order_and_limit(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, most = int(random.integers(1, 5000)), int(random.integers(4, 600))
    values = random.integers(-1000, 1000, count)
    times = np.arange(count)
    kept, shown = thinned(times, values, most)
    assert len(kept) <= max(most, 4)
    assert len(kept) == count or count > most
    assert (shown.min(), shown.max()) == (values.min(), values.max())
    assert {0, count - 1} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()
    assert (values[kept] == shown).all()


def test_packets_are_matched_by_number_and_space() -> None:
    # 1-RTT 1 vanishes while 1-RTT 2, sent after it, arrives; 1-RTT 3 is on its way at the end; Initial 0 is not 1-RTT 0
    source = End("client", sent=packets((0, 0, 0), (10, 0, 2), (20, 1, 3), (30, 2, 3), (40, 3, 3)))
    source.lost = (np.array([95]), np.array([1]), np.array([3]), np.array([0]))
    # a copy of 2 comes, too, and a packet that nobody has sent
    target = End("server", received=packets((50, 0, 0), (55, 0, 3), (80, 2, 3), (81, 2, 3), (90, 9, 3)))
    found = arrows(source, target, ALL)
    rows = zip(*(found.rows[name].tolist() for name in ("number", "space", "fate")), strict=True)
    assert list(rows) == [
        (0, 0, ARRIVED),
        (0, 2, ARRIVED),
        (1, 3, DROPPED),
        (2, 3, ARRIVED),
        (3, 3, ONE_END),
        (9, 3, RECEIVED),
    ]
    assert found.rows["flight"].tolist() == [50, 45, 0, 50, 0, 0]
    assert found.rows["declared"].tolist() == [0, 0, 75, 0, 0, 0]
    assert (found.shown, found.of, found.early) == (6, 6, 0)


def test_nothing_is_called_dropped_where_the_other_end_is_not_known() -> None:
    source, target = End("client", sent=packets((0, 0, 3), (9, 1, 3))), End("server", received=packets((8, 1, 3)))
    assert arrows(source, None, ALL).rows["fate"].tolist() == [ONE_END, ONE_END]
    assert arrows(None, target, ALL).rows["fate"].tolist() == [RECEIVED]
    assert arrows(None, None, ALL).of == 0
    early = arrows(source, target, ALL)
    assert (early.early, early.rows["fate"].tolist()) == (1, [DROPPED, ARRIVED])


def test_where_a_reader_has_omitted_packets_a_packet_has_both_ends_or_is_omitted() -> None:
    # the reader has kept 0, 1, 2 of the sender and 1, 3 of the receiver; the sender has declared 2 lost
    source = End("client", sent=packets((0, 0, 3), (10, 1, 3), (20, 2, 3)))
    source.lost = (np.array([90]), np.array([2]), np.array([3]), np.array([0]))
    target = End("server", received=packets((60, 1, 3), (80, 3, 3)), complete=False)
    found = arrows(source, target, ALL)
    assert found.rows["number"].tolist() == [1, 2]
    assert found.rows["fate"].tolist() == [ARRIVED, ONE_END]
    assert (found.one_end, found.of) == (2, 2)


def test_a_window_has_the_packets_that_are_in_flight_in_it() -> None:
    source = End("client", sent=packets(*((100 * n, n, 3) for n in range(10))))
    target = End("server", received=packets(*((100 * n + 250, n, 3) for n in range(10))))
    found = arrows(source, target, ALL, (500, 600))
    # 3 arrives at 550; 6 is sent at 600; 2 arrived at 450
    assert found.rows["number"].tolist() == [3, 4, 5, 6]


def test_where_not_all_packets_fit_both_ends_keep_the_same_ones_and_losses() -> None:
    count, lost = 1000, {3, 500, 998}
    source = End("server", sent=packets(*((10 * n, n, 3) for n in range(count))))
    target = End("client", received=packets(*((10 * n + 700, n, 3) for n in range(count) if n not in lost)))
    found = arrows(source, target, 100)
    assert found.step == 10
    assert found.rows["number"].tolist() == sorted({*range(0, count, 10), *lost})
    fates = Counter(found.rows["fate"].tolist())
    assert fates == {ARRIVED: found.shown - 3, DROPPED: 3}
    assert set(found.rows["flight"].tolist()) == {0, 700}


def test_a_trace_becomes_an_end() -> None:
    end = end_of(trace("server"))
    assert end.sent.time_us.tolist() == [10_000, 20_000, 30_000]
    assert [end.sent.contents[code] for code in end.sent.frames] == ["crypto", "stream", "stream"]
    assert {name: values.tolist() for name, (_, values) in end.metrics.items()} == {
        "cwnd_bytes": [12000, 6000],
        "srtt_ms": [15_250],
    }
    assert end.facts["handshake_ms"] == 35  # first packet at 10 ms, first 1-RTT packet arrives at 45 ms
    assert end.notes == []


def test_omitted_parts_of_a_file_are_reported() -> None:
    counts = {"skipped": {"http:frame_created": 7}, "malformed": 2, "truncated_at_byte": 4711}
    sampling = {"packets": {"shown": 20000, "of": 812345, "how": "every 41st"}}
    notes = end_of(trace("client", counts=counts, sampling=sampling)).notes
    assert notes == [
        "read: 20\u202f000 of 812\u202f345 packets: every 41st",
        "events that the page does not use: http:frame_created (7)",
        "2 malformed records were skipped",
        "the file is truncated at byte 4711; the preceding events are shown",
    ]


def test_a_file_with_both_ends_is_one_connection_from_time_zero() -> None:
    client = trace("client", shift_ms=1000)
    data = side(Run("x", "by hand", {("", "0"): trace("server", shift_ms=1010), ("", "1"): client})).data
    [connection] = data["connections"]
    assert [end["role"] for end in connection["ends"]] == ["client", "server"]
    assert data["duration"] == 50_000
    assert sums(connection["arrows"][0]["time"]) == [0, 10_000, 20_000]
    # 0 and 1 of the client arrive at the server after 25 ms and 35 ms: 1035 - 1010 and 1055 - 1020
    assert sums(connection["arrows"][0]["fate"])[:2] == [ARRIVED, ARRIVED]
    assert sums(connection["arrows"][0]["flight"])[:2] == [25_000, 35_000]
    frames = connection["ends"][0]["frames"]
    assert sums(frames["t"]) == [10_000, 20_000]
    assert (sums(frames["stream"]), sums(frames["again"])) == ([0, 0], [0, 1])
    assert data["links"] == []
    assert "time series of a quiclab run" in data["links_note"]


def test_several_clients_are_several_connections() -> None:
    run = Run("x", "by hand", {("", str(index)): trace("client") for index in range(3)})
    found = side(run).data["connections"]
    assert [item["name"] for item in found] == ["1: by hand", "2: by hand", "3: by hand"]
    assert all(item["ends"][1] is None for item in found)


@pytest.mark.parametrize(
    ("rate", "kbps"), [("20 Mbit/s", 20_000), ("1.5 Gbit/s", 1_500_000), ("64 kbit/s", 64), ("none", None)]
)
def test_rates_of_links(rate: str, kbps: int | None) -> None:
    assert capacity_kbps({"rate": rate}) == kbps


TCP = (
    SMALL.replace("quinn", "lab-tcp").replace("100 kB", "2 MB").replace("packets = 100", "packets = 20")
    + '[record]\nseries_interval = "10 ms"\npackets = true\nacks = true\n'
)


@pytest.fixture(scope="module")
def tcp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of a run of lab-tcp with losses, and without qlog."""
    folder = tmp_path_factory.mktemp("inspect")
    (folder / "tcp.toml").write_text(TCP)
    assert cli.invoke(["run", str(folder / "tcp.toml"), "--out", str(folder / "tcp")]) == 0
    return folder / "tcp"


def test_a_run_without_qlog_has_its_packets_from_the_records(tcp: Path) -> None:
    data = side(open_run(tcp, ALL, quiet)).data
    result = json.loads((tcp / "result.json").read_text())
    [connection] = data["connections"]
    assert [end["role"] for end in connection["ends"]] == ["client", "server"]
    for direction, (source, target, link) in enumerate(
        (("receiver", "sender", "up1"), ("sender", "receiver", "down1"))
    ):
        fates = Counter(sums(connection["arrows"][direction]["fate"]))
        elements = result["elements"]
        assert sum(fates.values()) == elements[f"dc.{source}"]["sent"]["packets"]
        assert fates[ARRIVED] == elements[f"dc.{target}"]["received"]["packets"]
        assert fates[DROPPED] == elements[link]["dropped"]["packets"]
    down = connection["arrows"][1]
    arrived = [flight for flight, fate in zip(sums(down["flight"]), sums(down["fate"]), strict=True) if fate == ARRIVED]
    assert min(arrived) >= 5000  # the delay of the link
    assert DROPPED in sums(down["fate"])
    server = connection["ends"][1]
    assert {"cwnd_bytes", "in_flight_bytes", "srtt_ms"} <= set(server["metrics"])
    assert server["phases"][0][1] == "slow_start"
    facts = dict(server["facts"])
    assert facts["Packets declared lost"] == result["flows"]["dc"]["sender"]["lost_packets"]
    assert facts["Goodput [Mbit/s]"] == result["flows"]["dc"]["goodput_mbps"]


def test_rates_add_up_to_the_bytes(tcp: Path) -> None:
    data = side(open_run(tcp, ALL, quiet)).data
    series = pl.read_parquet(tcp / "series.parquet").filter(pl.col("element") == "down1")
    links = {link["name"]: link for link in data["links"]}
    assert set(links) == {"down1", "up1"}
    times, rate = sums(links["down1"]["rate"]["t"]), sums(links["down1"]["rate"]["v"])
    carried = sum(kbps * (end - start) / 8000 for kbps, start, end in zip(rate, times, times[1:], strict=False))
    assert carried == pytest.approx(series.filter(pl.col("metric") == "sent_bytes")["value"].max(), rel=1e-3)
    longest = series.filter(pl.col("metric") == "queue_packets")["value"].max()
    for most in (ALL, 100):
        few = {link["name"]: link for link in side(open_run(tcp, most, quiet)).data["links"]}["down1"]
        assert max(sums(few["queue"]["v"])) == longest
        assert len(few["queue"]["v"]) <= most
    assert len(links["down1"]["drops"]) == data_drops(tcp)
    assert links["down1"]["capacity"] == 20_000


def test_a_run_may_be_in_a_folder_of_any_name(tcp: Path, tmp_path: Path) -> None:
    shutil.copytree(tcp, tmp_path / "a[b]*")
    assert side(open_run(tmp_path / "a[b]*", ALL, quiet)).data["links"] == side(open_run(tcp, ALL, quiet)).data["links"]


def data_drops(folder: Path) -> int:
    packets = pl.read_parquet(folder / "packets.parquet")
    return packets.filter((pl.col("element") == "down1") & (pl.col("event") == "drop")).height


def test_few_points_are_reported(tcp: Path) -> None:
    [connection] = side(open_run(tcp, 100, quiet)).data["connections"]
    columns = connection["arrows"][1]
    lost = sums(columns["fate"]).count(DROPPED)
    assert len(columns["time"]) <= 100 + lost
    assert any(note.startswith("shown: ") and "server to client" in note for note in connection["notes"])
    assert all(len(samples["v"]) <= 100 for end in connection["ends"] for samples in end["metrics"].values())


def test_acknowledgements_are_complete_only_if_none_is_left_out(tcp: Path) -> None:
    for most in (ALL, 100):
        [connection] = side(open_run(tcp, most, quiet)).data["connections"]
        end = connection["ends"][1]
        fewer = [note for note in end["notes"] if "acknowledgements" in note]
        assert end["acks"]["complete"] is (most == ALL)
        assert len(fewer) == (most != ALL)


def test_a_result_file_is_as_good_as_its_directory(tcp: Path) -> None:
    assert side(open_run(tcp / "result.json", ALL, quiet)).data == side(open_run(tcp, ALL, quiet)).data


def test_a_run_without_recordings_names_the_options(tmp_path: Path, small: Path) -> None:
    assert cli.invoke(["run", str(small), "--out", str(tmp_path / "bare")]) == 0
    data = side(open_run(tmp_path / "bare", ALL, quiet)).data
    assert "record.series_interval" in data["links_note"]
    assert any("record.qlog" in note for note in data["connections"][0]["notes"])


def test_a_bearer_with_the_name_of_the_flow_is_not_the_flow(tmp_path: Path) -> None:
    sets = ["flows.dc.workload.size=100 kB", "record.packets=true", 'record.series_interval="10 ms"']
    sets = [part for value in sets for part in ("--set", value)]
    scenario = ROOT / "scenarios" / "dual_connectivity.toml"
    assert cli.invoke(["run", str(scenario), *sets, "--out", str(tmp_path / "dc")]) == 0
    data = side(open_run(tmp_path / "dc", ALL, quiet)).data
    [connection] = data["connections"]
    assert [end["role"] for end in connection["ends"]] == ["client", "server"]
    assert all("cwnd_bytes" in end["metrics"] for end in connection["ends"])
    assert "dc.egress" in [link["name"] for link in data["links"]]


@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_a_scenario_is_run_with_recording_on(stack: str, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small.write_text(small.read_text().replace("quinn", stack).replace("packets = 100", "packets = 20"))
    out = small.parent / "page.html"
    assert cli.invoke(["inspect", str(small), "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{out}\n"
    assert printed.err.startswith("running small with recording on\ndc delivered 0.1 MB ")
    assert "Its sender was limited by" in printed.err
    data = json.loads(out.read_text().split('id="data">')[1].split("</script>")[0])["sides"][0]
    [connection] = data["connections"]
    for direction in (0, 1):
        fates = Counter(sums(connection["arrows"][direction]["fate"]))
        assert fates[ARRIVED] > 0.8 * sum(fates.values())
    assert [end["role"] for end in connection["ends"]] == ["client", "server"]
    assert connection["ends"][1]["streams"]
    assert {"cwnd_bytes", "srtt_ms"} <= set(connection["ends"][1]["metrics"])
    assert data["links"]


@pytest.mark.skipif(not has_stack("aioquic"), reason="the extra aioquic is not installed")
def test_a_stack_without_qlog_is_run_without(small: Path) -> None:
    small.write_text(small.read_text().replace("quinn", "aioquic"))
    [connection] = side(open_run(small, ALL, quiet)).data["connections"]
    assert all(ARRIVED in sums(found["fate"]) for found in connection["arrows"])
    assert "cwnd_bytes" in connection["ends"][1]["metrics"]


def test_the_page_has_a_name_of_its_own(tcp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(["inspect", str(tcp), str(tcp / "result.json")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["inspect-tcp-tcp.html"]


def test_an_existing_file_is_replaced_only_if_wanted(tcp: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.html"
    kept.write_text("precious")
    assert cli.invoke(["inspect", str(tcp), "--out", str(kept)]) == 2
    assert kept.read_text() == "precious"
    assert cli.invoke(["inspect", str(tcp), "--out", str(kept), "--force"]) == 0
    assert kept.read_text().startswith("<!doctype html>")


def test_a_default_name_replaces_nothing_either(tcp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = tmp_path / "inspect-tcp.html"
    report.write_text("precious")
    assert cli.invoke(["inspect", str(tcp)]) == 2
    assert report.read_text() == "precious"
    report.unlink()
    assert cli.invoke(["inspect", str(tcp)]) == 0
    written = report.read_bytes()
    report.write_bytes(written + b"<!-- annotated -->")
    assert cli.invoke(["inspect", str(tcp)]) == 2
    assert report.read_bytes() == written + b"<!-- annotated -->"
    assert cli.invoke(["inspect", str(tcp), "--force"]) == 0
    assert report.read_bytes() == written


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("absent.qlog", "cannot read {}: No such file or directory; expected a directory or result.json"),
        ("folder", "{} has no result.json; expected a directory or result.json"),
        ("result.json", "{} is not the result of a run: scenario: missing"),
    ],
)
def test_errors_name_the_file_and_the_reason(name: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "result.json").write_text('{"schema": "quiclab.run/1"}')
    with pytest.raises(RequestError) as error:
        open_run(tmp_path / name, ALL, quiet)
    assert found.format(tmp_path / name) in error.value.message


@pytest.mark.parametrize("content", ["", "hello", "{}", '{"qlog_version": "0.3"}', "\x1e{"])
def test_files_other_than_qlog_are_rejected(content: str, tmp_path: Path) -> None:
    path = tmp_path / "some.qlog"
    path.write_text(content)
    with pytest.raises(RequestError, match=r"cannot read .*some\.qlog: expected a qlog file .*, got "):
        open_run(path, ALL, quiet)


def test_exit_codes(tmp_path: Path, tcp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["inspect", str(tmp_path / "absent")]) == 2
    assert cli.invoke(["inspect", str(tcp), "--out", str(tmp_path / "no" / "page.html")]) == 2
    assert cli.invoke(["inspect", str(tcp), "--max-points", "5"]) == 2
    assert "from 100 to 2000000" in capsys.readouterr().err


def test_a_setting_of_a_study_is_inspected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # a case of 15 s at 1.39 Mbit/s: seconds in the sim lane, which any machine has
    setting = ["study", "inspect", "validation/blind", "--seed", "12", "--only", "case=11", "--engines", "lab-tcp"]
    assert cli.invoke([*setting, "--run", "2"]) == 0
    page = tmp_path / "inspect-validation-blind-case_11.html"
    assert capsys.readouterr().out.strip() == page.name
    assert "validation/blind, case=11, run for this page with recording on: linux tcp, seed 13" in page.read_text()
    assert cli.invoke([*setting, "--out", page.name]) == 2


def test_an_engine_that_is_not_available_is_skipped_unless_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # no kernel
    setting = ["study", "inspect", "validation/blind", "--seed", "12", "--only", "case=11"]
    assert cli.invoke([*setting, "--engines", "lab-tcp,kernel-virtual"]) == 2
    assert "cannot run on this machine with `kernel-virtual`" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert cli.invoke(setting) == 0
    assert "skipped, not available on this machine: `kernel-virtual`" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["inspect-validation-blind-case_11.html"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["validation/blind", "--engines", "lab-tcp"], "200 settings; choose one with --only: case"),
        (["validation/blind", "--only", "case=999"], "unknown value `999`"),
        (["validation"], "validation is a group; choose one of validation/answers, validation/aqm,"),
        (
            ["dual_connectivity/pdcp", "--only", "configuration=single_link"],
            "--engines: expected one or two engines of dual_connectivity/pdcp, got 3: lab-quic, quinn, noq",
        ),
    ],
)
def test_a_setting_is_chosen_completely(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["study", "inspect", *arguments]) != 0
    assert says in capsys.readouterr().err
