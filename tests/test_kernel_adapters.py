"""Programs as stacks: their files, what commands come out, errors, and one run of the example of the documents."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab._base.native import extension
from quiclab.errors import RequestError
from quiclab.lane.adapter import BUILT_IN, Adapter, load_adapters, programs
from quiclab.lane.adapter_file import read
from quiclab.lane.commands import commands
from quiclab.lane.kernel.programs import SYSTEM_PATH
from quiclab.lane.words import in_unit, words_of

MINIMAL = """\
name = "mine"
protocol = "udp"
workloads = ["download.size"]
[options]
congestion_control = { values = { newreno = "reno", cubic = "" }, default = "newreno" }
"pacing.max_rate" = { unit = "bytes_per_second" }
initial_rtt = { unit = "milliseconds", ends = ["receiver"] }
[server]
command = [
    "serve", "{size_bytes}", ["-C", "{congestion_control}"], ["-r", "{pacing.max_rate}"], ["-i", "{initial_rtt}"],
]
[client]
command = ["fetch", "{server_address}", "%{json}", "${HOME}", ["-C", "{congestion_control}"]]
"""
DOWNLOAD = {"kind": "download", "size": "10 MB", "request": "100 B"}


CONTROLS = {entry["const"] for entry in json.loads(extension().schema())["$defs"]["CongestionControl"]["oneOf"]}


def adapter(tmp_path: Path, text: str = MINIMAL) -> Adapter:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return Adapter(read(file))


def flow(
    sender: dict[str, Any] | None = None, receiver: dict[str, Any] | None = None, workload: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"stack": "mine", "sender": sender or {}, "receiver": receiver or {}, "workload": workload or DOWNLOAD}


def commands_of(
    stack: Adapter, flow: dict[str, Any], placeholders: dict[str, str], client: Adapter | None = None
) -> dict[str, dict[str, Any]]:
    return commands(stack, client or stack, flow, placeholders)


def test_built_in_files_are_right_and_named_after_their_program() -> None:
    adapters = load_adapters()
    browsers, older = {"chromium", "chromium-h2"}, {"aioquic-0.9"}
    others = {"aioquic", "envoy", "iperf3", "linux", "linux-h2", "ngtcp2", "quic-go", "quinn"}
    assert set(adapters) == others | browsers | older
    for name, built_in in adapters.items():
        assert built_in.file.path == BUILT_IN / f"{name}.toml"
        assert built_in.description != name, "it is described"
        assert built_in.file.needs, "what it needs is said"
        control = built_in.file.options.get("congestion_control")
        assert control is None or control.default is not None, "the congestion control is never the machine's"
        assert control is None or set(control.values or ()) <= CONTROLS, name


def test_every_file_that_a_built_in_command_names_is_there() -> None:
    for built_in in load_adapters().values():
        commands = (built_in.file.server.command, built_in.file.client.command)
        words = [
            word for command in commands for part in command for word in ([part] if isinstance(part, str) else part)
        ]
        for word in words:
            if word.startswith("{adapters}/"):
                assert (BUILT_IN / word.removeprefix("{adapters}/")).exists(), word


def test_commands_have_the_shape_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/here")
    sender = {"congestion_control": "newreno", "pacing": {"max_rate": "8 Mbit/s"}}
    made = commands_of(adapter(tmp_path), flow(sender, {"initial_rtt": "20 ms"}), {"flow": "main", "seed": "1"})
    assert made == {
        "server": {
            # 8 Mbit/s is a megabyte per second; what only the receiver has is told to the server
            "command": ["serve", "10000000", "-C", "reno", "-r", "1000000", "-i", "20"],
            "ready": {"kind": "started"},
            "environment": {"PATH": f"/here:{SYSTEM_PATH}"},
        },
        "client": {
            "command": ["fetch", "{server_address}", "%{json}", "${HOME}", "-C", "reno"],
            "ready": {"kind": "started"},
            "environment": {"PATH": f"/here:{SYSTEM_PATH}"},
        },
    }


def test_an_empty_word_and_a_missing_option_leave_their_group_out(tmp_path: Path) -> None:
    made = commands_of(adapter(tmp_path), flow({"congestion_control": "cubic"}), {"flow": "main"})
    assert made["server"]["command"] == ["serve", "10000000"]


def test_the_value_of_the_own_end_comes_first(tmp_path: Path) -> None:
    text = MINIMAL.replace(
        '{ unit = "milliseconds", ends = ["receiver"] }', '{ unit = "seconds", ends = ["sender", "receiver"] }'
    )
    made = commands_of(adapter(tmp_path, text), flow({}, {"initial_rtt": "20 ms"}), {})
    assert "-i" not in made["server"]["command"], "the sender has the option and left it out"
    made = commands_of(adapter(tmp_path, text), flow({"initial_rtt": "1500 ms"}, {"initial_rtt": "20 ms"}), {})
    assert made["server"]["command"][-1] == "1.5"


def test_linux_has_no_run_before() -> None:
    error = load_adapters()["linux"].refuses({"tcp": {"metrics": "warm_start"}})
    assert error is not None
    assert (error.path, error.kind, error.value) == ("sender.tcp.metrics", "Unsupported", '"warm_start"')
    assert error.message.startswith("sender.tcp.metrics: not supported by the sender of stack")


def test_the_ends_of_different_programs_have_only_options_of_their_own() -> None:
    stacks = load_adapters()
    receiver = {"stack": "aioquic", "stream_receive_window": "1 MB", "congestion_control": "newreno"}
    made = commands_of(
        stacks["quic-go"], flow({"stack": "quic-go"}, receiver), {"flow": "main"}, client=stacks["aioquic"]
    )
    assert made["server"]["command"][0].endswith("quiclab-quic-go")
    assert "--congestion-control" not in made["server"]["command"]
    client = made["client"]["command"]
    assert client[1].endswith("aioquic_transfer.py")
    assert client[client.index("--congestion-control") + 1] == "reno"
    assert client[client.index("--stream-receive-window") + 1] == "1000000"


def test_the_whole_workload_is_a_word(tmp_path: Path) -> None:
    made = commands_of(adapter(tmp_path, MINIMAL.replace("{size_bytes}", "{workload}")), flow(), {})
    assert json.loads(made["server"]["command"][1]) == DOWNLOAD


@pytest.mark.parametrize(
    ("sender", "receiver", "workload", "words"),
    [
        (
            {"congestion_control": "bbr-linux"},
            {},
            None,
            ["sender.congestion_control: expected", 'got "bbr-linux"', '"newreno"'],
        ),
        ({"profile": "chrome"}, {}, None, ["sender.profile: not supported", "`congestion_control`"]),
        ({"initial_rtt": "1 ms"}, {}, None, ["sender.initial_rtt: not supported"]),
        ({}, {"initial_rtt": "1 MB"}, None, ["receiver.initial_rtt: expected", 'got "1 MB"', "multiple of 1 ms"]),
        ({}, {"initial_rtt": "500 us"}, None, ["receiver.initial_rtt: expected", 'got "500 us"', "multiple of 1 ms"]),
        ({"pacing": {"max_rate": "1 bit/s"}}, {}, None, ["sender.pacing.max_rate: expected", "multiple of 8 bit/s"]),
        (
            {},
            {},
            {"kind": "download", "duration": "5 s"},
            ["workload: expected", 'got "download.duration"', '"download.size"'],
        ),
        ({}, {}, {"kind": "page"}, ["workload: expected", 'got "page"', '"download.size"']),
    ],
)
def test_unsupported_options_of_a_program_are_rejected(
    tmp_path: Path, sender: dict[str, Any], receiver: dict[str, Any], workload: dict[str, Any] | None, words: list[str]
) -> None:
    with pytest.raises(RequestError) as error:
        commands_of(adapter(tmp_path), flow(sender, receiver, workload), {"flow": "main"})
    assert error.value.message.startswith(f"{error.value.path}: ")
    assert error.value.path == f"flows.main.{words[0].partition(':')[0]}"
    assert error.value.kind in ("UnknownName", "OutOfRange", "Unsupported")
    assert error.value.value
    for word in words:
        assert word in error.value.message


@pytest.mark.parametrize(
    ("old", "new", "place", "path", "kind"),
    [
        ('name = "mine"', 'name = "My Program"', "1:8", "name", "OutOfRange"),
        ('name = "mine"\n', "", "1:1", "name", "MissingField"),
        ('protocol = "udp"', 'protocol = "sctp"', "2:12", "protocol", "UnknownName"),
        ("download.size", "upload", "3:14", "workloads.0", "UnknownName"),
        ('["download.size"]', '"download.size"', "3:13", "workloads", "OutOfRange"),
        ('protocol = "udp"', 'protocol = "udp"\nguest = { memory = "lots" }', "3:20", "guest.memory", "OutOfRange"),
        ('protocol = "udp"', 'protocol = "udp"\nguest = { cpus = 2 }', "3:11", "guest.cpus", "UnknownField"),
        ('protocol = "udp"', 'protocol = "udp"\ncolour = 1', "3:1", "colour", "UnknownField"),
        ("{size_bytes}", "{sizes}", "10:14", "server.command.1", "UnknownName"),
        ('["-C", "{congestion_control}"],', '["-C", "reno"],', "10:30", "server.command.2", "OutOfRange"),
        ('"serve", "{size_bytes}"', '["serve"], "{size_bytes}"', "9:1", "server.command", "OutOfRange"),
        ('default = "newreno"', 'default = "vegas"', "5:77", "options.congestion_control.default", "UnknownName"),
        ('"newreno" }\n"', '"cubik" }\n"', "5:77", "options.congestion_control.default", "UnknownName"),
        ('{ unit = "bytes_per_second" }', '{ unit = "knots" }', "6:30", "options.pacing.max_rate.unit", "UnknownName"),
        ('{ unit = "bytes_per_second" }', "{}", "6:1", "options.pacing.max_rate", "OutOfRange"),
        (
            '{ unit = "bytes_per_second" }',
            '{ unit = "bytes", default = "1 s" }',
            "6:49",
            "options.pacing.max_rate.default",
            "OutOfRange",
        ),
        ('ends = ["receiver"]', 'ends = ["client"]', "7:48", "options.initial_rtt.ends.0", "UnknownName"),
        ('ends = ["receiver"]', "ends = 3", "7:47", "options.initial_rtt.ends", "OutOfRange"),
        ("[server]", '[collect]\nformat = "xml"\n[server]', "9:10", "collect.format", "UnknownName"),
        ("[server]", '[collect]\nformat = "none"\nends = "both"\n[server]', "10:8", "collect.ends", "OutOfRange"),
        ("[options]", 'needs = [{ program = "a" }]\n[options]', "4:10", "needs.0.package", "MissingField"),
        ("[options]", 'needs = [{ package = "a" }]\n[options]', "4:10", "needs.0", "OutOfRange"),
        ("[client]\ncommand", "[client]\n# a comment\ncomand", "14:1", "client.comand", "UnknownField"),
        ("[client]", "[client", "12:8", "", "Syntax"),
        (
            'command = ["fetch"',
            'ready = { kind = "soon" }\ncommand = ["fetch"',
            "13:18",
            "client.ready.kind",
            "UnknownName",
        ),
        (
            'command = ["fetch"',
            'ready = { kind = "port", protocol = "tcp", port = 70000 }\ncommand = ["fetch"',
            "13:51",
            "client.ready.port",
            "OutOfRange",
        ),
        (
            'command = ["fetch"',
            'ready = { kind = "port", protocol = "port", port = 4433 }\ncommand = ["fetch"',
            "13:37",
            "client.ready.protocol",
            "UnknownName",
        ),
        (
            'command = ["fetch"',
            'ready = { kind = "output" }\ncommand = ["fetch"',
            "13:1",
            "client.ready.text",
            "MissingField",
        ),
        ('command = ["fetch"', 'grace = "5"\ncommand = ["fetch"', "13:9", "client.grace", "OutOfRange"),
        (
            'command = ["fetch"',
            'environment = { A = "{client_address}" }\ncommand = ["fetch"',
            "13:21",
            "client.environment.A",
            "UnknownName",
        ),
    ],
)
def test_errors_name_place_and_field(tmp_path: Path, old: str, new: str, place: str, path: str, kind: str) -> None:
    assert old in MINIMAL
    with pytest.raises(RequestError) as error:
        adapter(tmp_path, MINIMAL.replace(old, new))
    assert (error.value.path, error.value.kind) == (path, kind)
    assert error.value.message.startswith(f"{tmp_path / 'mine.toml'}:{place}: {path}")
    assert f"--> {tmp_path / 'mine.toml'}:{place}\n" in error.value.rendered


def test_an_error_shows_the_line_and_the_name_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as error:
        adapter(tmp_path, MINIMAL.replace("{server_address}", "{server_adress}"))
    assert error.value.suggestion == "{server_address}"
    assert error.value.rendered.splitlines() == [
        "error: client.command.1: unknown placeholder `{server_adress}`; did you mean `{server_address}`?",
        f"  --> {tmp_path / 'mine.toml'}:13:21",
        "   |",
        '13 | command = ["fetch", "{server_adress}", "%{json}", "${HOME}", ["-C", "{congestion_control}"]]',
        "   |                     ^^^^^^^^^^^^^^^^^",
    ]


def test_a_name_is_given_once(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINIMAL.replace('"mine"', '"linux"'))
    with pytest.raises(RequestError, match=r"name: expected a name other than that of .*linux\.toml, got .linux"):
        load_adapters([tmp_path])
    with pytest.raises(RequestError, match=r"cannot read the adapter .*/nowhere\.toml: No such file or directory$"):
        load_adapters([tmp_path / "nowhere.toml"])


def test_missing_programs_are_named_with_their_package(tmp_path: Path) -> None:
    needs = """needs = [
        { program = "no-such-program", package = "apt-get install it" },
        { file = "{adapters}/beside.py", package = "copy it" },
        { python = "no_such_package", package = "pip install it" },
        { program = "sh", package = "never said" },
    ]
    version = ["sh", "-c", "echo; echo 7.1"]
    [options]"""
    lacking = adapter(tmp_path, MINIMAL.replace("[options]", needs))
    assert lacking.missing() == [
        "stack `mine` needs the program `no-such-program`: apt-get install it",
        f"stack `mine` needs the file `{tmp_path}/beside.py`: copy it",
        "stack `mine` needs the Python package `no_such_package`: pip install it",
    ]
    assert lacking.version() is None, "a program that is not there has no version"
    there = adapter(tmp_path, MINIMAL.replace("[options]", 'version = ["sh", "-c", "echo; echo 7.1"]\n[options]'))
    assert (there.missing(), there.version()) == ([], "7.1")


def test_the_list_for_the_doctor_has_missing_and_available_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("QUICLAB_PROGRAMS", "/nowhere")
    found = {program["name"]: program for program in programs()}
    assert found["quinn"]["missing"] == [
        "stack `quinn` needs the file `/nowhere/quiclab-quinn`: `make adapters` builds it (with Rust)"
    ]
    assert found["quinn"]["version"] is None
    assert "apt-get install iperf3" in found["iperf3"]["missing"][0]


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        ("64 KiB", "bytes", "65536"),
        ("0.5 kB", "bytes", "500"),
        ("16.67ms", "seconds", "0.01667"),
        ("0 ns", "seconds", "0"),
        ("20 s", "seconds", "20"),
        ("1.5 s", "milliseconds", "1500"),
        ("3 min", "seconds", "180"),
        ("10 Mbit/s", "bits_per_second", "10000000"),
        ("10 Mbit/s", "bytes_per_second", "1250000"),
        ("3", "number", "3"),
        ("1.125", "number", "1.125"),
        ("500 us", "milliseconds", None),
        ("1500 us", "milliseconds", None),
        ("500 us", "seconds", "0.0005"),
        ("1 ns", "microseconds", None),
        ("1 bit/s", "bytes_per_second", None),
        ("20 parsec", "seconds", None),
        ("20 s", "bytes", None),
        ("twenty", "number", None),
    ],
)
def test_quantities_are_exact_in_the_unit_of_a_program(value: str, unit: str, expected: str | None) -> None:
    assert in_unit(value, unit) == expected


def test_fields_of_a_workload_are_words() -> None:
    workload = {"kind": "request_response", "count": 5, "response": "20 kB", "pause": "50 ms", "objects": [1]}
    assert words_of(workload) == {
        "kind": "request_response",
        "count": "5",
        "response_bytes": "20000",
        "pause_s": "0.05",
    }


def example(tmp_path: Path) -> Adapter:
    """Take the example of the documents, as written."""
    text = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    for language, name in (("python", "transfer.py"), ("toml", "transfer.toml")):
        found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
        assert found is not None
        (tmp_path / name).write_text(found[1])
    return load_adapters([tmp_path / "transfer.toml"])["transfer"]


def test_the_example_of_the_documents_makes_its_commands(tmp_path: Path) -> None:
    transfer = example(tmp_path)
    assert transfer.missing() == []
    made = commands_of(transfer, flow({"congestion_control": "newreno"}), {"flow": "main", "seed": "1"})
    script = str(tmp_path / "transfer.py")
    expected = [sys.executable, script, "server", "{server_address}", "10000000", "reno"]
    assert made["server"]["command"] == expected
    assert made["client"]["command"] == [sys.executable, script, "client", "{server_address}"]
