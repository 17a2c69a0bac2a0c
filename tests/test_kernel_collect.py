"""Output of programs as numbers: recorded ones, and what is left of a program that died."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from quiclab.lane.adapter import Adapter, load_adapters
from quiclab.lane.adapter_file import read
from quiclab.lane.collect import Report, collect

RECORDED = Path(__file__).parent / "data" / "programs"
EPOCH_NS = 5_000_000_000
LINES = """\
name = "lines"
protocol = "tcp"
workloads = ["download.size"]
[server]
command = ["a"]
[client]
command = ["b"]
[collect]
format = "json_lines"
"""


@pytest.fixture
def lines(tmp_path: Path) -> Adapter:
    (tmp_path / "lines.toml").write_text(LINES)
    return Adapter(read(tmp_path / "lines.toml"))


def left(directory: Path, **files: str) -> Path:
    """Write what programs leave: `client_out` is `main.client.out`."""
    for name, text in files.items():
        (directory / f"main.{name.replace('_', '.')}").write_text(text)
    return directory


def record(**fields: Any) -> str:
    return json.dumps({"schema": "quiclab.report/1", **fields})


def collected(stack: str, directory: Path) -> Report:
    return collect(load_adapters()[stack], load_adapters()[stack], "main", directory, EPOCH_NS)


def test_reports_are_put_on_the_clock_of_the_run(tmp_path: Path) -> None:
    client = record(
        started_ns=EPOCH_NS + 1_000_000,
        connected_ns=EPOCH_NS + 21_000_000,
        first_byte_ns=EPOCH_NS + 41_000_000,
        finished_ns=EPOCH_NS + 2_001_000_000,
        bytes=1000,
        statistics={"packets": 7, "unknown": None},
    )
    samples = {"time_ns": [EPOCH_NS, EPOCH_NS + 10_000_000], "cwnd_bytes": [14480, 28960], "ssthresh_bytes": [None, 9]}
    trace = {"time_ns": [EPOCH_NS + 5_000_000], "srtt_ms": [20.5], "ssthresh_bytes": [None]}
    server = record(statistics={"timeouts": 0}, samples=samples, acknowledgements=trace)
    report = collected("linux", left(tmp_path, client_json=client, server_json=server))
    assert report == Report(
        delivered_bytes=1000,
        started_s=0.001,
        first_byte_s=0.041,
        finished_s=2.001,
        sender={"timeouts": 0.0},
        receiver={"packets": 7.0, "handshake_ms": 20.0, "first_byte_ms": 40.0},
        series=[
            (0.0, "main.sender", "cwnd_bytes", 14480.0),
            (0.01, "main.sender", "cwnd_bytes", 28960.0),
            (0.01, "main.sender", "ssthresh_bytes", 9.0),
        ],
        acknowledgements={"time_s": [0.005], "srtt_ms": [20.5], "ssthresh_bytes": [None]},
        complete=True,
    )


def test_a_client_that_was_stopped_keeps_its_numbers(tmp_path: Path) -> None:
    client = record(started_ns=EPOCH_NS, first_byte_ns=EPOCH_NS + 1, finished_ns=None, bytes=500)
    report = collected("linux", left(tmp_path, client_json=client, server_json=record()))
    assert (report.complete, report.delivered_bytes, report.finished_s) == (False, 500, None)
    assert report.problems == [
        "flow `main`: the client of stack `linux` was stopped before its end; 500 bytes had arrived"
    ]


def test_a_run_that_ended_before_its_flows_is_not_a_program_error(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"run": {"ended_by": "duration_over"}}))
    client = record(started_ns=EPOCH_NS, finished_ns=None, bytes=500)
    report = collected("linux", left(tmp_path, client_json=client, server_json=record()))
    assert (report.complete, report.delivered_bytes, report.problems) == (False, 500, [])
    recorded(tmp_path, "iperf3-stopped", "client")
    assert (collected("iperf3", tmp_path).complete, collected("iperf3", tmp_path).problems) == (False, [])


def test_a_program_without_a_report_is_reported_with_its_last_output(tmp_path: Path) -> None:
    report = collected("linux", left(tmp_path, client_err="out of memory\n", server_json=record()))
    assert report.problems == ["flow `main`: the client of stack `linux` left no report; its last words: out of memory"]
    assert (report.complete, report.delivered_bytes) == (False, None)
    (tmp_path / "main.client.json").write_text('{"schema": "quiclab.rep')
    assert "not JSON" in collected("linux", tmp_path).problems[0]
    (tmp_path / "main.client.json").write_text('{"schema": "other/1"}')
    assert "unknown report" in collected("linux", tmp_path).problems[0]


def test_a_failure_is_a_message(tmp_path: Path) -> None:
    client = record(started_ns=EPOCH_NS, bytes=0, failure="no connection to 10.1.0.0:5001: refused")
    report = collected("linux", left(tmp_path, client_json=client, server_json=record()))
    assert "failed: no connection to 10.1.0.0:5001: refused" in report.problems[0]
    assert not report.complete


def test_lines_complete_each_other_and_talk_is_ignored(tmp_path: Path, lines: Adapter) -> None:
    out = [
        "connecting ...",
        json.dumps({"started_ns": EPOCH_NS, "bytes": 0}),
        json.dumps({"sample": {"time_ns": EPOCH_NS + 1_000_000_000, "cwnd_bytes": 3000}}),
        json.dumps({"bytes": 700, "statistics": {"a": 1}}),
        json.dumps({"finished_ns": EPOCH_NS + 2_000_000_000, "statistics": {"b": 2}}),
    ]
    report = collect(lines, lines, "main", left(tmp_path, client_out="\n".join(out), server_out=""), EPOCH_NS)
    assert (report.delivered_bytes, report.finished_s, report.complete) == (700, 2.0, True)
    assert report.receiver == {"a": 1.0, "b": 2.0}
    assert report.series == [(1.0, "main.receiver", "cwnd_bytes", 3000.0)]


def test_a_line_that_was_cut_off_spoils_nothing(tmp_path: Path, lines: Adapter) -> None:
    out = json.dumps({"started_ns": EPOCH_NS, "bytes": 700}) + '\n{"bytes": 70'
    report = collect(lines, lines, "main", left(tmp_path, client_out=out), EPOCH_NS)
    assert (report.delivered_bytes, report.complete, len(report.problems)) == (700, False, 1)
    silent = collect(lines, lines, "main", left(tmp_path, client_out=""), EPOCH_NS)
    assert silent.problems == ["flow `main`: the client of stack `lines` printed no line of JSON; it said nothing"]


def recorded(directory: Path, name: str, role: str) -> None:
    shutil.copy(RECORDED / f"{name}.{role}.out", directory / f"main.{role}.out")


def with_start(directory: Path, start_s: float) -> None:
    (directory / "result.json").write_text(json.dumps({"flows": {"main": {"start_s": start_s}}}))


def test_iperf3_as_recorded(tmp_path: Path) -> None:
    recorded(tmp_path, "iperf3", "client")
    recorded(tmp_path, "iperf3", "server")
    with_start(tmp_path, 0.5)
    report = collected("iperf3", tmp_path)
    end = json.loads((RECORDED / "iperf3.client.out").read_text())["end"]["sum_received"]
    assert (report.delivered_bytes, report.complete, report.problems) == (end["bytes"], True, [])
    assert report.started_s == 0.5
    assert report.finished_s == pytest.approx(0.5 + end["seconds"])
    assert {"retransmitted_packets", "srtt_ms", "cwnd_bytes"} <= set(report.sender)
    assert report.receiver["goodput_mbps"] == pytest.approx(end["bytes"] * 8e-6 / end["seconds"])
    assert {(element, metric) for _, element, metric, _ in report.series} == {
        ("main.sender", "cwnd_bytes"),
        ("main.sender", "srtt_ms"),
        ("main.sender", "rttvar_ms"),
    }


def test_iperf3_stopped_by_the_end_of_the_run(tmp_path: Path) -> None:
    recorded(tmp_path, "iperf3-stopped", "client")
    report = collected("iperf3", tmp_path)
    assert not report.complete
    assert report.finished_s is None
    assert report.delivered_bytes == 4_438_208, "what had arrived until then"
    assert "stopped early: interrupt - the client has terminated" in report.problems[0]
    assert "printed no JSON" in collected("iperf3", left(tmp_path, client_out="")).problems[0]


def test_curl_as_recorded(tmp_path: Path) -> None:
    recorded(tmp_path, "curl", "client")
    with_start(tmp_path, 1.0)
    report = collected("linux-h2", tmp_path)
    told = json.loads((RECORDED / "curl.client.out").read_text())
    assert (report.delivered_bytes, report.complete, report.problems) == (10_000_000, True, [])
    assert report.finished_s == pytest.approx(1.0 + told["time_total"])
    assert report.receiver["handshake_ms"] == pytest.approx(1e3 * told["time_appconnect"])
    assert report.receiver["http_version"] == 2.0


def test_curl_that_failed_says_why(tmp_path: Path) -> None:
    told = {"exitcode": 7, "errormsg": "Failed to connect", "response_code": 0, "size_download": 0, "time_total": 0.1}
    report = collected("linux-h2", left(tmp_path, client_out=json.dumps(told)))
    assert (report.complete, report.finished_s) == (False, None)
    assert "failed: Failed to connect" in report.problems[0]


def test_a_program_that_tells_nothing_has_read_what_it_wrote_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"flows": {"main": {"start_s": 1.0, "finish_s": 3.5}}}))
    report = collected("ngtcp2", left(tmp_path, received="x" * 700))
    assert report == Report(delivered_bytes=700, started_s=1.0, finished_s=3.5, complete=True)
    assert not (tmp_path / "main.received").exists(), "it is as large as the download"
    with_start(tmp_path, 1.0)  # the run ended before it
    report = collected("ngtcp2", left(tmp_path, received="x" * 300))
    assert (report.delivered_bytes, report.finished_s, report.complete) == (300, None, False)


def test_what_the_network_counts_is_not_what_a_silent_program_has_read(tmp_path: Path) -> None:
    report = collected("ngtcp2", tmp_path)
    assert (report.delivered_bytes, report.complete) == (None, False)
    assert "wrote no file main.received, so that it is not known what it has read" in report.problems[0]


@pytest.mark.parametrize(
    "client",
    [
        '{"schema": "quiclab.report/1", "bytes": -5}',
        '{"schema": "quiclab.report/1", "bytes": 1' + "0" * 400 + "}",
        '{"a": ' * 100_000,
    ],
)
def test_garbage_of_a_program_is_a_message(client: str, tmp_path: Path) -> None:
    report = collected("linux", left(tmp_path, client_json=client, server_json=record()))
    assert not report.complete
    assert report.delivered_bytes is None
    assert report.problems


def test_columns_of_acknowledgements_have_one_length(tmp_path: Path) -> None:
    server = record(acknowledgements={"time_ns": [EPOCH_NS], "cwnd_bytes": [1, 2]})
    report = collected("linux", left(tmp_path, client_json=record(bytes=1), server_json=server))
    assert "acknowledgements.cwnd_bytes and time_ns have different lengths" in report.problems[0]
    assert not report.complete


def test_samples_are_columns_or_rows(tmp_path: Path, lines: Adapter) -> None:
    whole = json.dumps({"bytes": 5, "samples": {"time_ns": [EPOCH_NS], "cwnd_bytes": [9]}})
    folder = left(tmp_path, client_out=whole + "\n")
    report = collect(lines, lines, "main", folder, EPOCH_NS)
    assert [row[2:] for row in report.series] == [("cwnd_bytes", 9.0)]
