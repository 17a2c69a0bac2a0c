"""`quiclab pacing analyse`: what it asks of the engine, what it makes of the answer, what it refuses.

A stand-in answers for the engine: each file is called after what is in it.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import pacing_documents as made
import quiclab
from conftest import ROOT
from quiclab import cli
from quiclab._base.progress import ReadingProgress
from quiclab.analysis import pacing
from quiclab.analysis.pacing import analysis, document
from quiclab.analysis.pacing.analysis import recordings_of
from quiclab.analysis.pacing.labels import cautions, digits, duration, flows_of
from quiclab.errors import RequestError
from quiclab.scenario import load

PACKETS = 300


@dataclass
class StandIn:
    """Answers like the engine, and remembers what it was asked."""

    asked: list[dict[str, Any]] = field(default_factory=list)

    def analyse_packets(
        self,
        path: str,
        settings: str,
        key_logs: list[str],
        flows: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> str:
        """Return a capture of the rule that the file is called after."""
        told = json.loads(settings)
        self.asked.append({"path": path, "settings": told, "key_logs": key_logs, "flows": flows})
        name = Path(path).name.partition(".")[0]
        if name == "absent":
            raise FileNotFoundError(2, "No such file or directory")
        if name == "foreign":
            raise ValueError("it is neither pcapng, pcap nor qlog:\nit begins with 89 50 4e 47.")
        if progress is not None:
            progress(1, 2)
            progress(2, 2)
        if name == "arp":
            return json.dumps(made.capture(path, problems={"neither IPv4 nor IPv6": 12}, frames=12))
        chosen = pacing.Settings(**{**told, "gains": tuple(told["gains"])})
        return json.dumps(made.capture(path, made.flow(name if name in made.RULES else "even", chosen, PACKETS)))


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The stand-in, in the place of the engine."""
    found = StandIn()
    monkeypatch.setattr(analysis, "extension", lambda: found)
    return found


def run(*arguments: object) -> int:
    """Run the command."""
    return cli.invoke(["pacing", "analyse", *map(str, arguments)])


def test_options_become_settings(stand_in: StandIn, tmp_path: Path) -> None:
    keys = [tmp_path / "a.log", tmp_path / "b.log"]
    for file in keys:
        file.touch()
    options = ["--bottleneck", "10 Mbit/s", "--link", "10 Gbit/s", "--gain", "bbr", "--gain", "2.89", "--gain", "1"]
    options += ["--skip", "5 s", "--until", "2 min", "--burst-gap", "50 us", "--window", "0.2 ms", "--clocked", "1 ms"]
    options += ["--rate-step", "1 s", "--frame-limit", "9018 B", "--flows", "3", "--keys", str(keys[0])]
    assert run("even.pcapng", *options, "--keys", keys[1]) == 0
    assert stand_in.asked == [
        {
            "path": "even.pcapng",
            "key_logs": [str(file) for file in keys],
            "flows": 3,
            "settings": {
                "bottleneck_mbps": 10.0,
                "link_mbps": 10_000.0,
                "gains": [1.25, 1.0, 0.75, 2.89],  # the second 1 is no further one
                "window_ms": 0.2,
                "burst_gap_ms": 0.05,
                "clocked_ms": 1.0,
                "skip_s": 5.0,
                "until_s": 120.0,
                "rate_step_s": 1.0,
                "frame_limit_bytes": 9018,
            },
        }
    ]


def test_without_options_the_defaults_are_reported(stand_in: StandIn) -> None:
    """All of them, so that the document says what was assumed; they are those of the type."""
    assert run("even.pcapng") == 0
    assert stand_in.asked[0]["settings"] == pacing.Settings().document()
    assert stand_in.asked[0]["flows"] == pacing.FLOWS == 8
    told = stand_in.asked[0]["settings"]
    assert [told[name] for name in ("window_ms", "burst_gap_ms", "clocked_ms")] == [0.1, 0.1, 0.1]
    assert [told["gains"], told["skip_s"], told["rate_step_s"], told["bottleneck_mbps"]] == [[1.0], 0.0, 0.1, None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--bottleneck", "fast"],
            '--bottleneck: expected a number with a unit (bit/s, kbit/s, Mbit/s, Gbit/s), got "fast"',
        ),
        (["--bottleneck", "0 Mbit/s"], "bottleneck_mbps (--bottleneck): expected 0.001 to 1000000 Mbit/s, got 0"),
        (["--link", "2000 Gbit/s"], "link_mbps (--link): expected 0.001 to 1000000 Mbit/s, got 2000000"),
        (["--gain", "cubic"], '--gain: expected a number such as 1.25, or `bbr`, got "cubic"'),
        (["--gain", "0"], "gains (--gain): expected 0.01 to 100, got 0"),
        (["--gain", "nan"], "gains (--gain): expected 0.01 to 100, got nan"),
        ([f"--gain={1 + number}" for number in range(17)], "gains (--gain): expected 1 to 16 values, got 17"),
        (["--window", "0 s"], "window_ms (--window): expected 1e-06 to 1000 ms, got 0"),
        (["--window", "3 MB"], '--window: expected a number with a unit (ns, us, µs, ms, s, min), got "3 MB"'),
        (["--burst-gap", "2 s"], "burst_gap_ms (--burst-gap): expected 0 to 1000 ms, got 2000"),
        (["--skip", "5 s", "--until", "5 s"], "until_s (--until): expected more than skip_s (--skip), 5 s, got 5"),
        (["--frame-limit", "1 MB"], "frame_limit_bytes (--frame-limit): expected 64 to 65600 B, got 1000000"),
        (["--flows", "0"], "--flows: expected a whole number from 1 to 1000, got 0"),
        (
            ["--keys", "gone.log"],
            "--keys: cannot read gone.log: No such file or directory; expected a key log (SSLKEYLOGFILE)",
        ),
        (["--out", "page.pdf"], "--out: expected a file name that ends with `.html`, got page.pdf"),
    ],
)
def test_errors_are_one_line_and_nothing_is_read(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert run("even.pcapng", *options) == 2
    assert message in capsys.readouterr().err
    assert stand_in.asked == []


def test_tables_have_a_row_for_each_flow(stand_in: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    """Pairs: all 300 packets in bursts of two, half of the intervals 1.3 us; evenly spaced ones: none."""
    assert run("even.pcapng", "pairs.pcap", "--bottleneck", "10 Mbit/s") == 0
    printed = capsys.readouterr().out
    rows = {
        line.split()[0]: line.split()
        for line in printed.splitlines()
        if re.match(r"(even|pairs)\s+(quic|tcp) ", line.strip())
    }
    assert rows["even"][:4] == ["even", "quic", "300", "1514"]
    assert rows["even"][-3:] == ["0.0", "%", "1"]
    assert rows["pairs"][-3:] == ["100.0", "%", "2"]
    assert "0.0013" in rows["pairs"]
    # 8 * 1514 B / 10 Mbit/s = 1.2112 ms
    assert re.search(r"even +1\.211 +100\.0 %", printed)
    assert re.search(r"pairs +1\.211 +0\.0 %", printed)
    assert len(stand_in.asked) == 2


def test_notes_for_the_reader_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    settings = pacing.Settings()
    flow = made.flow("pairs", settings, PACKETS, acks_known=False, notes=["A note of the flow."])
    flow["data"].update({"oversized": 7, "frame_largest_bytes": 65226, "backwards": 1})
    capture = made.capture("x.pcap", flow, notes=["It broke off."], further_flows=2, further_packets=9)
    from quiclab.analysis.pacing import table  # noqa: PLC0415 - as the command does

    table.analysis(pacing.Analysis(settings, (capture, made.capture("arp.pcap", frames=12, problems={"no IP": 12}))))
    printed = capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ")
    for message in (
        "x: An offload joined segments. 7 of 300 packets are longer than a frame of 1518 B carries; the longest frame "
        "has 65 226 B.",
        "x: ACKs are not known.",
        "x: The clock ran backwards. 1 of 300 packets",
        "x.pcap: It broke off.",
        "x: A note of the flow.",
        "x.pcap: further flows, not shown: 2 with 9 packets",
        "arp.pcap: no flow in 12 frames",
        "arp.pcap: no IP: 12",
    ):
        assert message in printed


def test_names_of_a_file_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    settings = pacing.Settings()
    flow = made.flow("even", settings, PACKETS, name="a\x1b[2Jb", notes=["c\x9bd"])
    from quiclab.analysis.pacing import table  # noqa: PLC0415 - as the command does

    table.analysis(pacing.Analysis(settings, (made.capture("x\x1b[H.pcap", flow, flow, problems={"e\nf": 1}),)))
    printed = capsys.readouterr().out
    assert not set(printed) & {"\x1b", "\x9b"}
    for text in ("a?[2Jb", "a?[2Jb (2): c?d", "e?f: 1"):
        assert text in printed


def test_one_file_that_cannot_be_read_leaves_the_others(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1; the error is one line and names the file; the page and the document say it, too."""
    out = tmp_path / "page.html"
    assert run("even.pcapng", "foreign.bin", "pairs.pcap", "--json", "--out", out) == 1
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [capture["file"] for capture in document["captures"]] == ["even.pcapng", "pairs.pcap"]
    reason = "it is neither pcapng, pcap nor qlog: it begins with 89 50 4e 47"
    assert document["failures"] == [{"file": "foreign.bin", "reason": reason}]
    assert captured.err.splitlines()[-1] == f"quiclab: cannot read foreign.bin: {reason}"
    assert reason in out.read_text(encoding="utf-8")
    assert len(stand_in.asked) == 3


@pytest.mark.parametrize("files", [["absent.pcap"], ["absent.pcap", "foreign.bin"]])
def test_if_no_file_can_be_read_the_request_is_wrong(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str], files: list[str]
) -> None:
    out = tmp_path / "page.html"
    assert run(*files, "--out", out) == 2
    captured = capsys.readouterr()
    assert "quiclab: cannot read absent.pcap: No such file or directory" in captured.err
    assert captured.out == ""
    assert not out.exists()
    assert len(stand_in.asked) == len(files)


def test_a_report_is_only_overwritten_on_request(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    out.write_text("mine")
    assert run("even.pcapng", "--out", out) == 2
    assert f"{out} already exists; --force replaces it" in capsys.readouterr().err
    assert (out.read_text(), stand_in.asked) == ("mine", [])
    assert run("even.pcapng", "--out", out, "--force") == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(out)
    assert "<h1>Pacing of even.pcapng</h1>" in out.read_text(encoding="utf-8")


def test_a_file_without_a_flow_is_shown_and_reported(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    assert run("arp.pcapng", "even.pcapng", "absent.pcap", "--out", out) == 1
    captured = capsys.readouterr()
    assert "arp.pcapng: no flow in 12 frames" in captured.out
    assert captured.err.splitlines()[-1] == (
        "quiclab: cannot read absent.pcap: No such file or directory; "
        "arp.pcapng has no packet of a TCP, QUIC or UDP flow"
    )
    assert "<strong>No flow:</strong> arp.pcapng" in out.read_text(encoding="utf-8")
    assert len(stand_in.asked) == 3


@pytest.mark.parametrize("kind", ["link type", "broken off"])
def test_a_real_file_without_a_packet_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """A pcap header (draft-ietf-opsawg-pcap): of link type 147, for private use, with a frame; or of Ethernet alone."""
    file = tmp_path / "x.pcap"
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 147 if kind == "link type" else 1)
    file.write_bytes(header + (struct.pack("<IIII", 1, 0, 60, 60) + bytes(60 if kind == "link type" else 6)))
    assert run(file) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"quiclab: {file} has no packet of a TCP, QUIC or UDP flow"


def test_a_key_log_is_a_regular_file(stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe would be empty after the first capture; nobody writes to this one, so that to open it would wait."""
    pipe = tmp_path / "keys"
    os.mkfifo(pipe)
    assert run("even.pcapng", "--keys", pipe) == 2
    assert f"--keys: cannot read {pipe}: not a regular file; expected a key log" in capsys.readouterr().err
    assert stand_in.asked == []


def cautions_of(protocol: str, file_format: str = "pcapng", settings: pacing.Settings | None = None, **of: Any) -> str:
    """Return the cautions of a flow whose ACKs are not known, on one line."""
    chosen = settings or pacing.Settings()
    flow = made.flow("even", chosen, PACKETS, acks_known=False, protocol=protocol)
    for part, values in of.items():
        flow[part].update(values)  # type: ignore[literal-required]
    capture = made.capture("x", flow, format=file_format)
    return " ".join(f"{item.title}. {item.text}" for item in cautions(flows_of([capture]), chosen))


def test_why_acks_are_not_known_depends_on_protocol_and_file() -> None:
    """A key log helps captures of QUIC alone; without any packet of the receiver none does."""
    encrypted = cautions_of("quic")
    assert encrypted.startswith("Nothing was decrypted. Every packet of the receiver counts as an ACK")
    assert "--keys FILE" in encrypted
    others = {
        "ACKs are not known. Every": cautions_of("udp"),
        "The qlog file has no ACKs. Its": cautions_of("quic", "qlog, gzip"),
        "No ACK was seen. The counted": cautions_of("tcp", acks={"count": 0}),
    }
    for begin, said in others.items():
        assert said.startswith(begin), said
        assert "key" not in said
        assert "decrypted" not in said
    assert "Every packet" not in others["No ACK was seen. The counted"]


def test_exclusions_are_the_only_caution() -> None:
    empty: dict[str, Any] = {"data": {"packets": 0}, "acks": {"count": 0}}
    skipped = cautions_of("tcp", settings=pacing.Settings(skip_s=5.0), **empty)
    assert skipped == (
        "No packet counts. All data of the flow come in its first 5 s, which --skip 5 s cuts off: it lasts no longer."
    )
    ended = cautions_of("tcp", settings=pacing.Settings(until_s=0.25), **empty)
    assert "All data of the flow come later than --until 250 ms after its first packet" in ended
    between = cautions_of("tcp", settings=pacing.Settings(skip_s=1.0, until_s=2.0), **empty)
    assert "no data between --skip 1 s and --until 2 s" in between
    assert "ACK" not in skipped + ended + between
    # nothing was cut off
    assert "Only 0 packets" in cautions_of("tcp", **empty)


def test_a_directory_of_a_run_represents_its_captures(tmp_path: Path) -> None:
    """Of each flow the sender first; qlog files if there are no captures; any other directory is refused."""
    names = ["result.json", "b.receiver.pcapng", "b.sender.pcapng", "a.receiver.pcapng", "a.sender.pcapng"]
    for name in [*names, "a.sender.sqlog", "a.receiver.sqlog", "series.parquet"]:
        (tmp_path / name).touch()
    assert [item.file.name for item in recordings_of(tmp_path)] == [names[4], names[3], names[2], names[1]]
    for name in names[1:]:
        (tmp_path / name).unlink()
    assert [item.file.name for item in recordings_of(tmp_path)] == ["a.sender.sqlog", "a.receiver.sqlog"]
    (tmp_path / "result.json").unlink()
    with pytest.raises(RequestError, match="is a directory without captures of a run; expected a capture"):
        recordings_of(tmp_path)


def test_of_a_capture_and_a_qlog_of_an_end_the_richer_one_is_read(tmp_path: Path) -> None:
    """That of lab-quic is its qlog, at the ends that are lab-quic; the note says so."""
    flows = {
        "a": {"stack": "lab-quic", "sender": {}, "receiver": {"stack": "quinn"}},
        "b": {"sender": {"stack": "lab-tcp"}, "receiver": {"stack": "lab-tcp"}},
        "c": {"stack": "lab-quic", "sender": {}, "receiver": {}},
    }
    (tmp_path / "result.json").write_text(json.dumps({"scenario": {"flows": flows}}))
    both = [
        f"{flow}.{end}{ending}" for flow in "ab" for end in ("sender", "receiver") for ending in (".pcapng", ".sqlog")
    ]
    for name in [*both, "c.sender.pcapng", "c.receiver.sqlog"]:
        (tmp_path / name).touch()
    found = {item.file.name: item.notes for item in recordings_of(tmp_path)}
    assert list(found) == [
        "a.sender.sqlog",
        "a.receiver.pcapng",
        "b.sender.pcapng",
        "b.receiver.pcapng",
        "c.sender.pcapng",
    ]
    assert found["a.sender.sqlog"][0].startswith("read instead of a.sender.pcapng: the qlog of lab-quic has the frames")
    assert found["a.receiver.pcapng"][0].startswith("read instead of a.receiver.sqlog: ")
    assert found["c.sender.pcapng"] == ()


def test_a_directory_of_lab_quic_is_read_from_its_qlog(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From its capture, too, the acknowledgements can be read; the output says which was read."""
    sets = [("flows.dc.stack", "lab-quic"), ("record.pcapng", "true"), ("record.qlog", "true")]
    result = quiclab.run(load(small, sets), 1, record_dir=tmp_path)
    (tmp_path / "result.json").write_text(result.to_json())
    assert run(tmp_path) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "dc.sender.sqlog: read instead of dc.sender.pcapng: the qlog of lab-quic" in shown
    assert "Nothing was decrypted" not in shown
    chosen = pacing.analyse([tmp_path]).captures
    assert [Path(capture["file"]).name for capture in chosen] == ["dc.sender.sqlog", "dc.receiver.sqlog"]
    captured = pacing.analyse([tmp_path / "dc.sender.pcapng"]).captures[0]
    assert captured["problems"] == {}
    [qlog_flow], [pcapng_flow] = chosen[0]["flows"], captured["flows"]
    assert pcapng_flow["protocol"] == "quic"
    assert pcapng_flow["acks_known"]
    # packets of a qlog, datagrams of a capture: the server coalesces in its first flight
    datagrams = result.elements["dc.sender"]["sent"]["packets"]
    assert pcapng_flow["data"]["packets"] == datagrams < qlog_flow["data"]["packets"]
    assert qlog_flow["acks"]["packets_mode"] == pcapng_flow["acks"]["packets_mode"] == 2


def test_progress_is_that_of_all_files(stand_in: StandIn, tmp_path: Path) -> None:
    """Files of 100 and 300 bytes: half of the first is 50 of 400, half of the second 100 + 150."""
    for name, size in (("even.pcapng", 100), ("pairs.pcap", 300)):
        (tmp_path / name).write_bytes(bytes(size))
    told: list[tuple[int, int]] = []
    files = [tmp_path / "even.pcapng", tmp_path / "pairs.pcap"]
    pacing.analyse(files, progress=lambda done, total: told.append((done, total)))
    assert told == [(50, 400), (100, 400), (250, 400), (400, 400)]
    assert len(stand_in.asked) == 2


def test_progress_shows_bytes_once_it_takes_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("quiclab._base.progress.time.monotonic", lambda: now)
    stream = StringIO()
    with ReadingProgress("reading", stream) as progress:
        for done in range(20):
            now += 0.5
            progress(done * 10_000_000, 200_000_000)
    # first after 1.5 s, then every 5 s
    assert stream.getvalue().splitlines() == ["reading: 20.0 of 200.0 MB, 10 %", "reading: 120.0 of 200.0 MB, 60 %"]


def test_labels_distinguish_flows() -> None:
    settings = pacing.Settings()
    one, other = (made.flow("even", settings, 10, name=name) for name in ("", "abc"))
    captures = [
        made.capture("runs/1/main.sender.pcapng", one),
        made.capture("runs/2/main.sender.pcapng", one),
        made.capture("trace.qlog.gz", other, one, one),
        made.capture(".pcap", one),
    ]
    assert [item.label for item in flows_of(captures)] == [
        "1/main.sender",
        "2/main.sender",
        "trace: abc",
        "trace: QUIC 10.0.0.1:443 → 10.0.1.2:50712 (1)",
        "trace: QUIC 10.0.0.1:443 → 10.0.1.2:50712 (2)",
        ".pcap",
    ]
    long = made.capture("x", *(made.flow("even", settings, 10, name="n" * 200) for _ in range(2)))
    labels = [item.label for item in flows_of([long])]
    assert len(set(labels)) == 2
    assert all(len(label) <= 52 for label in labels)


def test_numbers_as_texts() -> None:
    assert [digits(value) for value in (None, 0.0, 12.0, 1234.56, 0.0000123456)] == [
        "–",
        "0",
        "12",
        "1235",
        "0.00001235",
    ]
    assert [duration(value) for value in (None, 0.0, 0.0012, 0.1, 1.2112, 1500.0)] == [
        "–",
        "0 ms",
        "1.2 µs",
        "0.1 ms",
        "1.211 ms",
        "1.5 s",
    ]


def rust_fields(name: str) -> list[str]:
    """Return the fields of a type of the engine's analysis."""
    folder = ROOT / "crates/quiclab-trace/src/pacing"
    text = "".join((folder / file).read_text(encoding="utf-8") for file in ("document.rs", "settings.rs"))
    body = re.search(rf"pub struct {name} \{{\n(.*?)\n\}}", text, re.S)
    assert body is not None, name
    return re.findall(r"^    pub (\w+):", body[1], re.M)


@pytest.mark.parametrize(
    "name", ["Intervals", "Bursts", "Expected", "Found", "Clusters", "Spacing", "Clocking", "Acks", "Flow", "Capture"]
)
def test_the_types_are_those_of_the_engine(name: str) -> None:
    assert list(get_type_hints(getattr(document, name))) == rust_fields(name)


def test_the_settings_are_those_of_the_engine() -> None:
    assert list(pacing.Settings().document()) == rust_fields("Settings")


def keys_of(value: Any, path: str = "") -> list[str]:
    """Return the paths of all values; a list counts as its first item."""
    if isinstance(value, dict) and value:
        return [key for name, inner in value.items() for key in keys_of(inner, f"{path}.{name}" if path else name)]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return keys_of(value[0], f"{path}[]")
    return [path]


def documented() -> set[str]:
    """Return the keys of docs/pacing.md."""
    text = (ROOT / "docs/pacing.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`(?:schema|settings|failures|captures)\b.*?) \|", text, re.M)
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def test_the_document_has_the_keys_that_are_documented(stand_in: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    """The keys of docs/pacing.md, all of them."""
    assert run("even.pcapng", "absent.pcap", "--json", "--bottleneck", "10 Mbit/s") == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["schema"] == "quiclab.pacing/1"
    assert documented() == short_keys(printed)
    assert len(stand_in.asked) == 2


def short_keys(printed: dict[str, Any]) -> set[str]:
    """Return the keys of a document as docs/pacing.md lists them: what is alike stands in one row."""
    found = set()
    for key in keys_of(printed):
        counts = re.sub(r"\.(quantiles_ms|sizes|packets|problems)\..*", r".\1", key)
        clusters = re.sub(r"\.(expected|found)\[\]\..*", r".\1", counts)
        found.add(re.sub(r"\.(within|between|acks\.intervals)\..*", r".\1", clusters))
    return found


def test_the_engine_answers_as_documented(tmp_path: Path, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A download of 100 kB over 20 Mbit/s: the sender's capture has at least 100 kB / 1500 B = 67 packets of it."""
    quiclab.run(load(small, [("record.pcapng", "true")]), 1, record_dir=tmp_path)
    file = tmp_path / "dc.sender.pcapng"
    assert run(file, "--bottleneck", "20 Mbit/s", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    # no file failed
    assert short_keys(printed) - {"failures"} <= documented()
    (flow,) = printed["captures"][0]["flows"]
    assert flow["protocol"] == "quic"
    assert flow["acks_known"]
    assert flow["data"]["packets"] >= 67
    assert run(tmp_path / "gone.pcapng") == 2
