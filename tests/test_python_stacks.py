"""Stacks written in Python: those of packages, registered ones, and what goes wrong with them."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, has_stack, quiclab_process, swept
from quiclab import QuiclabError, RequestError, ScenarioError, load, run
from quiclab.experiment.identity import setting_of
from quiclab.experiment.sweeps import Plan
from quiclab.stacks import (
    Connected,
    EndpointSetup,
    PythonStack,
    Received,
    StackOption,
    StackProfile,
    Writable,
    catalogue,
    find,
    register,
    registry,
    unavailable,
)

EXAMPLE = ROOT / "examples" / "python_stack"
TOY = EXAMPLE / "toy.toml"
SENDER, RECEIVER = "flows.main.sender", "flows.main.receiver"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Leave the stacks of this process as they were."""
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)
    registry._declared.cache_clear()
    registry._load.cache_clear()


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> PythonStack:
    """Return the stack of the example, registered."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    stack: PythonStack = importlib.import_module("toy_stack").STACK
    register(stack)
    return stack


def install(folder: Path, name: str, points: Mapping[str, str], extras: tuple[str, ...] = ()) -> None:
    """Write what an installer leaves of a package: its metadata and its entry points."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {name}",
        "Version: 1.0",
        *(f"Provides-Extra: {extra}" for extra in extras),
    ]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    lines = ["[quiclab.stacks]", *(f"{point} = {value}" for point, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def installed(tmp_path: Path) -> Mapping[str, str]:
    """Install the example; return the environment in which Python finds it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    install(tmp_path, project["name"], project["entry-points"]["quiclab.stacks"])
    shutil.copy(EXAMPLE / "toy_stack.py", tmp_path)
    return {"PYTHONPATH": str(tmp_path)}


def test_an_installed_stack_runs_by_its_name(installed: Mapping[str, str]) -> None:
    done = quiclab_process("run", TOY, "--json", env=installed)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    flow = result["flows"]["main"]
    # 10 000 B in datagrams of 1200 B less the header of 5 B: nine, each a round trip of 40 ms
    assert (flow["completed"], flow["delivered_bytes"], flow["download_time_s"]) == (True, 10_000, 9 * 0.04)
    assert result["versions"]["toy"] == "1.0"


def test_an_installed_stack_is_listed(installed: Mapping[str, str]) -> None:
    listed = json.loads(quiclab_process("stack", "list", "--json", env=installed).stdout)["stacks"]
    assert [stack["name"] for stack in listed] == [*(stack["name"] for stack in catalogue()), "toy"]
    assert "toy" in quiclab_process("stack", "list", env=installed).stdout
    shown = json.loads(quiclab_process("stack", "show", "toy", "--json", env=installed).stdout)
    assert [option["option"] for option in shown["options"]] == ["datagram_size", "initial_rtt"]
    assert "time until a datagram is sent again" in quiclab_process("stack", "show", "toy", env=installed).stdout
    absent = quiclab_process("run", TOY)
    assert absent.returncode == 2
    assert 'flows.main.stack: expected "lab-quic", "lab-tcp", "lab-udp", "quinn", "noq"' in absent.stderr


@pytest.mark.parametrize(
    ("change", "value", "field", "expected"),
    [
        (f"{SENDER}.datagram_size", "1473 B", f"{SENDER}.datagram_size", "at most 1472 B"),
        (
            f"{RECEIVER}.packet_threshold",
            "4",
            f"{RECEIVER}.packet_threshold",
            "no value: `toy` has only datagram_size, initial_",
        ),
        (
            f"{SENDER}.ack_frequency.ack_eliciting_threshold",
            "1",
            f"{SENDER}.ack_frequency",
            "no value: `toy` has only datagram",
        ),
        (f"{SENDER}.profile", "fast", f"{SENDER}.profile", "no value: `toy` has no profiles"),
        (f"{RECEIVER}.stack", "lab-udp", f"{RECEIVER}.stack", "no other stack understands packets of `toy`"),
        (f"{RECEIVER}.stack", "quinn", f"{RECEIVER}.stack", "the sender speaks plain UDP (`toy`)"),
        (
            "flows.main.workload",
            '{ kind = "ping", count = 1 }',
            "flows.main.workload.kind",
            "stack `toy` does not support this workload",
        ),
        ("record.qlog", "true", "record.qlog", "flow `main` runs on toy, which writes no qlog here"),
    ],
)
@pytest.mark.usefixtures("toy")
def test_what_it_does_not_take_is_refused_by_field(change: str, value: str, field: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load(TOY, [(change, value)])
    assert error.value.path == field
    assert expected in error.value.message


@pytest.mark.usefixtures("toy")
def test_options_arrive_in_base_units_and_have_an_effect() -> None:
    # 1395 B of data each, so eight datagrams
    assert run(load(TOY, [(f"{SENDER}.datagram_size", "1.4 kB")])).flows["main"].download_time_s == 8 * 0.04
    by_time = [("flows.main.workload", '{ kind = "download", duration = "1 s" }')]
    # the first one to be sent at 1 s or later ends it: that of 20 + 25 * 40 ms
    assert run(load(TOY, by_time)).flows["main"].download_time_s == 26 * 0.04


@pytest.mark.usefixtures("toy")
def test_it_repairs_losses_and_the_seed_fixes_them() -> None:
    lossy = load(TOY, [("links.down1.loss", "20 %"), ("links.up1.loss", "20 %"), (f"{SENDER}.initial_rtt", "50 ms")])
    first, again, other = (run(lossy, seed) for seed in (1, 1, 2))
    assert first.flows["main"].delivered_bytes == 10_000
    assert first.flows["main"].download_time_s is not None
    assert first.flows["main"].download_time_s > 9 * 0.04
    assert first.digest == again.digest != other.digest


def test_workers_of_a_sweep_have_registered_stacks(toy: PythonStack, tmp_path: Path) -> None:
    plan = Plan(file=TOY, text=TOY.read_text(), sets=(("links.down1.loss", "10 %"),), seeds=4)
    tables = [swept(plan, tmp_path / str(workers), workers)["digest"].to_list() for workers in (1, 2)]
    assert tables[0] == tables[1]
    assert f"toy {toy.version}" in plan.identity(0)[1]


def test_a_stack_that_workers_cannot_import_is_refused(toy: PythonStack, tmp_path: Path) -> None:
    register(replace(toy, name="local", validate=lambda _: None))
    with pytest.raises(RequestError, match="a registered stack is not available to worker processes"):
        swept(Plan(file=TOY, text=TOY.read_text()), tmp_path / "out")


def test_the_identity_of_a_run_covers_the_code_of_its_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("def endpoint(setup): ...\n")
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from package.other import endpoint\n")
    (package / "other.py").write_text("def endpoint(setup): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def identities() -> list[str]:
        scenarios = [{"flows": {"f": {"sender": {"stack": stack}}}} for stack in ("mine", "ours", "quinn")]
        return [setting_of(json.dumps(scenario), tmp_path)[0] for scenario in scenarios]

    for name, module in (("mine", "mine"), ("ours", "package")):
        register(stack_of(name, importlib.import_module(module).endpoint))
    before = identities()
    (tmp_path / "mine.py").write_text("def endpoint(setup): return 1\n")
    (package / "__init__.py").write_text("from package.other import endpoint\nSPEED = 1\n")
    after = identities()
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, False, True]
    monkeypatch.setitem(registry._registered, "mine", replace(registry._registered["mine"], version="2"))
    assert [old == new for old, new in zip(after, identities(), strict=True)] == [False, True, True]


def stack_of(name: str, endpoint: Any, **fields: Any) -> PythonStack:
    return PythonStack(name=name, version="1", description="", protocol="udp", endpoint=endpoint, **fields)


def test_one_stack_has_a_name(toy: PythonStack) -> None:
    register(replace(toy))  # as a script does once more where a worker imports it
    for name in ("toy", "quinn", *(["aioquic"] if has_stack("aioquic") else [])):
        with pytest.raises(RequestError, match=f"stack `{name}` already exists"):
            register(replace(toy, name=name, version="2"))
    assert find("toy") == toy
    assert find("quinn") is None


def test_profiles_and_fixed_properties_are_checked_and_described(toy: PythonStack) -> None:
    fixed = StackOption(None, "number of datagrams in flight", "1", "toy_stack.py")
    fast = StackProfile("fast", "a short timeout", (replace(toy.options[1], default="50 ms"),))
    register(replace(toy, name="faster", options=(*toy.options, fixed), profiles=(fast,)))
    entry = catalogue()[-1]
    assert (entry["options"][-1]["option"], entry["profiles"][0]["options"][0]["default"]) == (None, "50 ms")
    changes = [("flows.main.stack", "faster")]
    taken = load(TOY, [*changes, (f"{SENDER}.profile", "fast")]).to_dict()
    assert taken["flows"]["main"]["sender"]["profile"] == "fast"
    with pytest.raises(RequestError, match=r'sender\.profile: expected "fast", got "slow"'):
        load(TOY, [*changes, (f"{SENDER}.profile", "slow")])


@pytest.mark.parametrize(
    ("method", "message"), [("__init__", "the stack is not available: ValueError: no luck"), ("receive", "no luck")]
)
def test_an_exception_in_an_endpoint_ends_the_run(toy: PythonStack, method: str, message: str) -> None:
    def unlucky(*_: object) -> None:
        raise ValueError("no luck")

    endpoint: Any = toy.endpoint
    register(replace(toy, name="unlucky", endpoint=type("Unlucky", (endpoint,), {method: unlucky})))
    with pytest.raises(QuiclabError) as error:
        run(load(TOY, [("flows.main.stack", "unlucky")]))
    assert message in error.value.message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"workloads": ("downlode",)}, "workloads: expected some of download, "),
        ({"protocol": "tcp"}, "protocol: expected quic or udp, got `tcp`"),
        ({"validate": lambda _: 1 // 0}, "ZeroDivisionError"),
    ],
)
def test_a_stack_that_describes_itself_wrongly_is_refused(
    toy: PythonStack, fields: Mapping[str, Any], message: str
) -> None:
    register(replace(toy, name="odd", **fields))
    with pytest.raises(RequestError) as error:
        load(TOY, [("flows.main.stack", "odd")])
    assert "flows.main.stack" in error.value.message
    assert message in error.value.message


def test_packages_that_cannot_be_used_are_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd.py").write_text("STACK = 1\n")
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    shutil.copy(EXAMPLE / "toy_stack.py", tmp_path)
    points = {"odd": "odd:STACK", "lacking": "broken:STACK", "other": "toy_stack:STACK", "quinn": "odd:STACK"}
    install(tmp_path, "odd-stacks", {**points, "twice": "odd:STACK"}, extras=("lacking",))
    install(tmp_path, "more-stacks", {"twice": "odd:STACK", "broken": "broken:STACK"})
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._declared.cache_clear()
    names = ["broken", "lacking", "odd", "other", "quinn", "twice"]
    reasons = {name: reason for name, reason in unavailable().items() if name in names}
    no_module = "(No module named 'no_such_module')"
    assert reasons == {
        "broken": f"`broken` is not available: ModuleNotFoundError {no_module}",
        "lacking": f"`lacking` is not available: install odd-stacks[lacking] {no_module}",
        "odd": "`odd` is not available: odd:STACK is int, expected a PythonStack named `odd`",
        "other": "`other` is not available: toy_stack:STACK is stack `toy`, expected a PythonStack named `other`",
        "quinn": "`quinn` of odd-stacks is not available: a native stack has this name",
        "twice": "`twice` is not available: several packages declare it (more-stacks, odd-stacks)",
    }
    with pytest.raises(RequestError, match=r"an available stack: `lacking` is not available: install odd-stacks\[lack"):
        load(TOY, [("flows.main.stack", "lacking")])
    with pytest.raises(RequestError, match=r'expected "lab-quic", .*; `lacking` is not available: install odd-'):
        load(TOY, [("flows.main.stack", "moon")])
    assert run(load(ROOT / "scenarios" / "single_link.toml")).flows["main"].completed, "native stacks do not ask"


def test_aioquic_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aioquic", None)
    monkeypatch.delitem(sys.modules, "quiclab.stacks.aioquic", raising=False)
    registry._load.cache_clear()
    assert unavailable()["aioquic"].startswith("`aioquic` is not available: install quiclab[aioquic] (")
    with pytest.raises(RequestError, match=r"install quiclab\[aioquic\]"):
        load(TOY, [("flows.main.stack", "aioquic")])


def test_timers_are_those_of_asyncio() -> None:
    aioquic = pytest.importorskip("quiclab.stacks.aioquic")
    assert aioquic.loop_wakes_ns(300_000, 1_200_000) == 1_300_000
    assert aioquic.loop_wakes_ns(300_000, 1_300_000) == 1_300_000
    assert aioquic.loop_wakes_ns(300_000, 1_300_001) == 2_300_000
    # a timer in the past, which aioquic may leave
    assert aioquic.loop_wakes_ns(300_000, 300_000) == 350_000


AIOQUIC = """
version = 1
name = "aioquic"
duration = "60 s"
links.down = { rate = "10 Mbit/s", delay = "18 ms", queue = { kind = "drop_tail", packets = 1000 } }
links.up = { rate = "10 Mbit/s", delay = "18 ms" }
[flows.main]
stack = "aioquic"
down = ["down"]
up = ["up"]
workload = { %s }
"""


@pytest.mark.skipif(not has_stack("aioquic"), reason="aioquic is not installed")
@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        # a round trip of 36 ms, and up to 2 ms for two packets on the links and a timer of asyncio
        (
            'kind = "request_response", count = 5, response = "900 B", pause = "50 ms"',
            {"responses": (5, 5), "response_time_ms_min": (36, 39), "response_time_ms_max": (36, 39)},
        ),
        # 200 ms of thought and 43 to 50 ms of network: 41 cycles in 10 s, with a standard deviation of 13 %
        (
            'kind = "on_off", burst = "9 kB", think_time = "200 ms", duration = "10 s"',
            {"responses": (24, 57), "response_time_ms_p50": (43.2, 51)},
        ),
        # three round trips (handshake, HTML, objects) and 170 kB at the rate, each 1.15 times as large with headers
        (
            'kind = "page", html = "20 kB", objects = [{ count = 10, size = "15 kB" }]',
            {"objects": (10, 10), "page_load_ms": (108 + 136, 1.15 * 136 + 200)},
        ),
        (
            'kind = "datagrams", rate = "2 Mbit/s", size = "1000 B", duration = "2 s"',
            {"datagrams_received": (500, 500), "one_way_delay_ms_min": (18.8, 19), "lost_datagrams": (0, 0)},
        ),
        ('kind = "ping", count = 20, interval = "50 ms"', {"rtt_ms_min": (36, 37), "rtt_ms_max": (36, 38)}),
        # frames of 8333 B: 18 ms of delay and 6.7 ms on the link, up to 7 ms of pacing
        (
            'kind = "live", rate = "2 Mbit/s", deadline = "150 ms", duration = "2 s", key_frame_ratio = 1',
            {"complete_frames": (60, 60), "late_frames": (0, 0), "frame_delay_ms_p50": (24.6, 34)},
        ),
        (
            'kind = "live", rate = "2 Mbit/s", deadline = "150 ms", duration = "2 s", delivery = "datagrams"',
            {"complete_frames": (60, 60), "late_frames": (0, 0)},
        ),
    ],
)
def test_aioquic_runs_the_workloads_of_lab_quic(
    workload: str, expected: Mapping[str, tuple[float, float]], tmp_path: Path
) -> None:
    file = tmp_path / "aioquic.toml"
    file.write_text(AIOQUIC % workload)
    flow = run(load(file)).flows["main"]
    assert flow.completed, flow.failure
    for name, (least, most) in expected.items():
        assert least <= flow.receiver[name] <= most, (name, flow.receiver[name])


@pytest.mark.skipif(not has_stack("aioquic"), reason="aioquic is not installed")
def test_a_live_frame_that_is_late_is_reset_over_aioquic(tmp_path: Path) -> None:
    file = tmp_path / "aioquic.toml"
    file.write_text(
        AIOQUIC % 'kind = "live", rate = "20 Mbit/s", deadline = "100 ms", duration = "2 s", drop_late = true'
    )
    flow = run(load(file)).flows["main"]
    assert flow.completed, flow.failure
    assert flow.sender["dropped_frames"] > 10, "twice the rate of the link"
    assert flow.sender["dropped_frames"] + flow.receiver["complete_frames"] >= 60


def test_a_stack_has_connections_or_endpoints(toy: PythonStack) -> None:
    for fields in ({"endpoint": None}, {"connection": toy.endpoint}):
        with pytest.raises(TypeError, match="stack `toy`: expected either `connection` or `endpoint`"):
            replace(toy, **fields)


class Wrong:
    """One end of a connection that is there at once, and does something that an application cannot take."""

    answers: Mapping[str, Any] = {}

    def __init__(self, setup: EndpointSetup) -> None:
        self.told: list[object] = [Connected()] if not setup.server else []

    def connect(self, _: int) -> None:
        """Do nothing."""

    receive = wake = finish = reset = set_priority = connect

    def events(self) -> list[object]:
        """Tell that the connection is there, then what is wrong."""
        told, self.told = self.told, []
        return told or list(self.answers.get("events", []))

    def open(self, _: bool) -> int:
        """Open the first stream of a client."""
        return int(self.answers.get("open", 0))

    def write(self, _: int, data: bytes) -> int:
        """Take all data, and more if that is what is wrong."""
        return len(data) + int(self.answers.get("write", 0))

    def outputs(self, _: int) -> list[bytes]:
        """Send nothing."""
        return []

    def next_wake(self, _: int) -> None:
        """Wait for nothing."""

    def statistics(self) -> dict[str, float]:
        """Return no metrics."""
        return {}

    sample = statistics


@pytest.mark.parametrize(
    ("answers", "request_size", "message"),
    [
        ({"open": 4}, "100 B", "open: expected 0, the next stream, got 4"),
        ({"write": 1}, "100 B", "write: expected at most 100 bytes to be taken, got 101"),
        ({}, "1 GB", "write: took more than 268435456 bytes at once; expected 0 once enough wait"),
        (
            {"events": [Received((1 << 40) + 1, b"x", False)]},
            "100 B",
            "events: expected a stream of number below 1048576",
        ),
        ({"events": [Writable(0)]}, "100 B", "events: expected none after 100000 calls in a row at one time"),
        ({"events": [("what", 1)]}, "100 B", "events: expected one of the events of quiclab.stacks, got `tuple`"),
    ],
)
def test_what_an_application_cannot_take_ends_the_run(
    toy: PythonStack, answers: Mapping[str, Any], request_size: str, message: str
) -> None:
    connection: Any = type("Wrong", (Wrong,), {"answers": answers})
    register(replace(toy, name="wrong", endpoint=None, connection=connection, protocol="quic", workloads=()))
    with pytest.raises(QuiclabError) as error:
        run(load(TOY, [("flows.main.stack", "wrong"), ("flows.main.workload.request", request_size)]))
    assert message in error.value.message
