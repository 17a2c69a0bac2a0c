"""What a run records: qlog against schema and statistics, captures against tshark, series against the limits."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import quiclab
from conftest import ROOT, SMALL
from quiclab.errors import RequestError
from quiclab.result import RunResult
from quiclab.scenario import Scenario, load

SCHEMA = ROOT / "crates" / "quiclab-trace" / "schema" / "qlog-sequential.schema.json"
STACKS = ("quinn", "noq")
SIZE = 500_000
QUEUE_PACKETS = 20
INTERVAL_MS = 10
ENDS = ("dc.sender", "dc.receiver")
# quiclab's default for both stacks: datagrams of 1200 bytes; windows never fall below two (RFC 9002 section 7.2)
DATAGRAM = 1200
MIN_WINDOW = 2 * DATAGRAM
RECORD_SEPARATOR = "\x1e"


@pytest.fixture(scope="module", params=STACKS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunResult, Path]:
    """A run with losses and with everything recorded."""
    folder = tmp_path_factory.mktemp(str(request.param))
    file = folder / "small.toml"
    file.write_text(SMALL)
    sets = [("flows.dc.stack", str(request.param)), ("flows.dc.workload.size", f"{SIZE} B")]
    scenario: Scenario = load(file, [*sets, ("links.down1.queue.packets", str(QUEUE_PACKETS))])
    record = {"qlog": True, "pcapng": True, "packets": True, "acks": True, "series_interval": f"{INTERVAL_MS} ms"}
    result = quiclab.run(scenario.with_value("record", record), 7, record_dir=folder)
    assert result.flows["dc"].completed
    assert result.flows["dc"].sender["lost_packets"] > 0
    return result, folder


def events(file: Path) -> list[dict[str, Any]]:
    """Records of a JSON text sequence (RFC 7464): each begins with a record separator and ends with a line feed."""
    text = file.read_text(encoding="utf-8")
    assert text.startswith(RECORD_SEPARATOR)
    assert text.endswith("\n")
    return [json.loads(record) for record in text.split(RECORD_SEPARATOR)[1:]]


def test_each_record_of_a_qlog_is_valid(recorded: tuple[RunResult, Path]) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for end in ENDS:
        records = events(recorded[1] / f"{end}.sqlog")
        assert records[0]["trace"]["vantage_point"]["name"] == end
        for number, record in enumerate(records):
            error = next(validator.iter_errors(record), None)
            assert error is None, (end, number, error)
        times = [record["time"] for record in records[1:]]
        assert times == sorted(times)


def test_the_schema_can_refuse(recorded: tuple[RunResult, Path]) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    sent = next(item for item in events(recorded[1] / "dc.sender.sqlog")[1:] if item["name"] == "quic:packet_sent")
    assert validator.is_valid(sent)
    assert not validator.is_valid({**sent, "time": "soon"})
    assert not validator.is_valid({**sent, "data": {**sent["data"], "speed": 1}})


def test_a_qlog_has_the_packets_of_the_statistics(recorded: tuple[RunResult, Path]) -> None:
    result, folder = recorded
    flow = result.flows["dc"]
    for end, statistics in zip(ENDS, (flow.sender, flow.receiver), strict=True):
        records = events(folder / f"{end}.sqlog")[1:]
        count = Counter(record["name"] for record in records)
        closing = sum(
            any(frame["frame_type"] == "connection_close" for frame in record["data"]["frames"])
            for record in records
            if record["name"] == "quic:packet_sent"
        )
        # only the client closes; quinn leaves that packet out of its count, noq does not
        assert closing == (end == "dc.receiver")
        uncounted = closing if "quinn" in result.data["versions"] else 0
        assert count["quic:packet_sent"] - uncounted == statistics["packets_sent"], end
        assert count["quic:packet_lost"] == statistics["lost_packets"], end


def test_lost_packets_were_sent_before(recorded: tuple[RunResult, Path]) -> None:
    def number(record: dict[str, Any]) -> tuple[str, int]:
        header = record["data"]["header"]
        return header["packet_type"], header["packet_number"]

    sent: set[tuple[str, int]] = set()
    lost = []
    for record in events(recorded[1] / "dc.sender.sqlog")[1:]:
        if record["name"] == "quic:packet_sent":
            assert number(record) not in sent, "packet numbers are used once (RFC 9000 section 12.3)"
            sent.add(number(record))
        elif record["name"] == "quic:packet_lost":
            assert number(record) in sent
            lost.append(number(record))
    assert len(lost) == len(set(lost))


def test_the_stream_of_a_qlog_is_the_download(recorded: tuple[RunResult, Path]) -> None:
    for end, name in (("dc.sender", "quic:packet_sent"), ("dc.receiver", "quic:packet_received")):
        covered = sorted(
            (frame["offset"], frame["offset"] + frame["raw"]["payload_length"])
            for record in events(recorded[1] / f"{end}.sqlog")[1:]
            if record["name"] == name
            for frame in record["data"]["frames"]
            if frame["frame_type"] == "stream"
        )
        reached = 0
        for start, stop in covered:
            assert start <= reached, f"{end}: a gap at {reached}"
            reached = max(reached, stop)
        assert reached == SIZE, end


@cache
def tshark_is_here() -> bool:
    return shutil.which("tshark") is not None


def tshark(*arguments: str | Path) -> list[str]:
    done = subprocess.run(
        ["tshark", *map(str, arguments)],  # noqa: S607 - whichever tshark the machine has
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines()


needs_tshark = pytest.mark.skipif(not tshark_is_here(), reason="tshark is not installed (apt-get install tshark)")


@pytest.fixture(scope="module")
def seen_from(recorded: tuple[RunResult, Path]) -> dict[str, Path]:
    """The capture of each end."""
    return {end: recorded[1] / f"{end.removeprefix('flows.')}.pcapng" for end in ENDS}


@needs_tshark
def test_tshark_decrypts_every_packet(recorded: tuple[RunResult, Path], seen_from: dict[str, Path]) -> None:
    result = recorded[0]
    for end, file in seen_from.items():
        element = result.elements[end]
        assert len(tshark("-r", file)) == element["sent"]["packets"] + element["received"]["packets"]
        assert tshark("-r", file, "-Y", "_ws.malformed || quic.decryption_failed || _ws.expert.severity == error") == []
        # the stream as tshark reads it is the download
        server = "ip.src == 10.1.0.0 && quic.stream_data"
        fields = ("-e", "quic.stream.offset", "-e", "quic.stream.length")
        lines = tshark("-r", file, "-Y", server, "-T", "fields", *fields)
        offsets = [int(value) for line in lines for value in line.split("\t")[0].split(",") if value]
        assert SIZE - DATAGRAM < max(offsets) < SIZE
        assert len(offsets) >= SIZE // DATAGRAM
        numbers = tshark(
            "-r", file, "-Y", "ip.src == 10.1.0.0 && quic.packet_number", "-T", "fields", "-e", "quic.packet_number"
        )
        assert len(numbers) == element["sent" if end == "dc.sender" else "received"]["packets"]


@needs_tshark
def test_without_its_secrets_a_capture_cannot_be_decrypted(seen_from: dict[str, Path], tmp_path: Path) -> None:
    """That tshark decrypts above is due to the secrets in the file."""
    plain = tmp_path / "plain.pcap"
    tshark("-r", seen_from["dc.sender"], "-F", "pcap", "-w", plain)
    assert tshark("-r", plain, "-Y", "quic.stream_data") == []


def test_series_are_complete_and_within_limits(recorded: tuple[RunResult, Path]) -> None:
    result = recorded[0]
    series = result.series
    numbers, names = (
        dict.fromkeys(("time_s", "value"), pl.Float64),
        dict.fromkeys(("element", "metric"), pl.Categorical),
    )
    assert dict(series.schema) == numbers | names
    assert series["time_s"].is_sorted()
    assert series["value"].is_finite().all()
    plain = series.with_columns(pl.col("element").cast(pl.String), pl.col("metric").cast(pl.String))
    assert plain.select("time_s", "element", "metric").is_unique().all()

    def values(element: str, metric: str) -> pl.Series:
        found = plain.filter((pl.col("element") == element) & (pl.col("metric") == metric))["value"]
        assert found.len() > 0, (element, metric)
        return found

    # one sample at 0 and then one each interval until the end
    samples = int(result.network_time_s * 1000 / INTERVAL_MS) + 1
    assert plain["time_s"].n_unique() == samples
    assert values("down1", "queue_packets").len() == samples
    for link in ("down1", "up1"):
        assert values(link, "queue_packets").min() >= 0  # type: ignore[operator]
        assert values(link, "sent_bytes").is_sorted()
    assert values("down1", "queue_packets").max() <= QUEUE_PACKETS  # type: ignore[operator]
    # an IPv4 packet has 28 bytes around its datagram
    assert values("down1", "queue_bytes").max() <= QUEUE_PACKETS * (DATAGRAM + 28)  # type: ignore[operator]
    windows = values("dc.sender", "cwnd_bytes").filter(values("dc.sender", "cwnd_bytes") > 0)
    assert windows.min() >= MIN_WINDOW  # type: ignore[operator]
    # without losses it doubles a round trip at most (RFC 9002 section 7.3.1): it grows by what is acknowledged
    assert windows.max() <= 10 * DATAGRAM + SIZE * 1.1  # type: ignore[operator]
    # the threshold parts slow start (0) from congestion avoidance (2), and there is none before the first loss
    phases = values("dc.sender", "phase")
    assert phases.unique().sort().to_list() == [0, 2]
    assert phases[0] == 0
    for counter in ("packets_sent", "packets_received", "lost_packets", "congestion_events"):
        steps = values("dc.sender", counter)
        assert steps.is_sorted(), counter
        assert steps[-1] <= result.flows["dc"].sender[counter], counter
    # delays of 5 ms each way, of which the way back is drawn; at the least the constant one
    assert values("dc.sender", "srtt_ms").min() >= 5  # type: ignore[operator]
    in_flight, cwnd = (
        plain.filter((pl.col("element") == "dc.sender") & (pl.col("metric") == name)).select("time_s", "value")
        for name in ("in_flight_bytes", "cwnd_bytes")
    )
    both = in_flight.join(cwnd, on="time_s", suffix="_cwnd")
    assert both.height > 0
    # outside recovery a sender never has more in flight than its window, but for the packet that crosses the limit; a
    # loss halves the window at once and the flight over the next round trip, so that it is bounded by twice the window
    assert both.filter(pl.col("value") > 2 * pl.col("value_cwnd") + DATAGRAM).is_empty()


def test_every_acknowledgement_is_recorded(recorded: tuple[RunResult, Path]) -> None:
    result = recorded[0]
    acks = result.acks
    assert dict(acks.schema) == {
        "time_ns": pl.Int64,
        "flow": pl.Categorical,
        "element": pl.Categorical,
        "packets": pl.UInt32,
        "covered": pl.UInt32,
        "bytes": pl.UInt64,
        "gap_ms": pl.Float64,
    }
    assert acks["time_ns"].is_sorted()
    assert acks["flow"].cast(pl.String).unique().to_list() == ["dc"]
    flow = result.flows["dc"]
    for end, statistics in zip(ENDS, (flow.sender, flow.receiver), strict=True):
        here = acks.filter(pl.col("element") == end)
        assert here.height == statistics["ack_frames_received"], end
        assert here["packets"].sum() <= statistics["packets_sent"], end
        assert here["gap_ms"].to_list() == [None, *(gap_ns / 1e6 for gap_ns in here["time_ns"].diff()[1:])], end
        # a packet is one datagram at most, and at least its header of 11 bytes and its tag of 16
        assert here.filter(pl.col("bytes") > DATAGRAM * pl.col("packets")).is_empty(), end
        assert here.filter(pl.col("bytes") < 27 * pl.col("packets")).is_empty(), end
    sender = acks.filter(pl.col("element") == "dc.sender")
    # what the receiver has read was acknowledged, but for what is in flight when the run ends
    assert sender["bytes"].sum() >= SIZE - flow.sender["in_flight_bytes"] - flow.sender["lost_bytes"]
    # each arrives in a datagram at that instant
    arrivals = result.packets.filter((pl.col("element") == "dc.sender") & (pl.col("event") == "arrival"))["time_ns"]
    assert set(sender["time_ns"]) <= set(arrivals)


@pytest.mark.parametrize("stack", STACKS)
def test_acknowledgements_need_no_directory(stack: str, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    scenario = load(file, [("flows.dc.stack", stack)]).with_value("record", {"acks": True})
    result = quiclab.run(scenario, 7)
    assert result.acks.height == sum(
        end["ack_frames_received"] for end in (result.flows["dc"].sender, result.flows["dc"].receiver)
    )
    assert result.warnings == ()


def test_aioquic_tells_its_state_but_no_acknowledgements(tmp_path: Path) -> None:
    pytest.importorskip("aioquic", reason="the extra aioquic is not installed")
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    scenario = load(file, [("flows.dc.sender.stack", "aioquic"), ("flows.dc.receiver.stack", "quinn")])
    with pytest.raises(
        RequestError, match=r"record\.acks: expected false, got true; flow `dc` runs on aioquic, which reports no ack"
    ):
        quiclab.run(scenario.with_value("record", {"acks": True}), 7)
    result = quiclab.run(scenario.with_value("record", {"series_interval": "10 ms"}), 7)
    sender = result.series.filter(pl.col("element") == "dc.sender")
    metrics = set(sender["metric"].cast(pl.String))
    assert metrics >= {"cwnd_bytes", "in_flight_bytes", "phase", "pacing_rate_mbps", "srtt_ms", "lost_packets"}
    # the threshold, once there is one, parts slow start (0) from congestion avoidance (2)
    end = result.flows["dc"].sender
    assert end["phase"] == (2 if end.get("ssthresh_bytes", math.inf) <= end["cwnd_bytes"] else 0)
    # it paces a window in a round trip (`QuicPacketPacer.update_rate`), as of the last acknowledgement
    rates = sender.filter(pl.col("metric") == "pacing_rate_mbps")["value"]
    assert rates.min() > 0  # type: ignore[operator]
    assert end["pacing_rate_mbps"] == pytest.approx(8e-3 * end["cwnd_bytes"] / end["srtt_ms"], rel=0.2)


def test_nothing_is_recorded_by_default(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    out = tmp_path / "out"
    out.mkdir()
    result = quiclab.run(load(file), 7, record_dir=out)
    assert list(out.iterdir()) == []
    assert result.series.is_empty()
    assert result.packets.is_empty()
    assert result.acks.is_empty()
