"""Scenarios in Python: reading, changes and errors."""

from __future__ import annotations

import json
import math
import pickle
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import quiclab
from conftest import ROOT
from quiclab import cli
from quiclab._base.native import extension
from quiclab.errors import RequestError
from quiclab.lane.run import Lane
from quiclab.result import run
from quiclab.scenario import Scenario, load, tree

#: Kinds of queue disciplines.
PLAIN = {
    "version": 1,
    "name": "all forms",
    "until": {"delivered": "10 MB"},
    "links": {
        "a": {"rate": "20 Mbit/s", "loss": "0.1 %", "delay": "10 ms", "queue": {"kind": "drop_tail", "packets": 100}},
        "b": {
            "rate": {"kind": "token_bucket", "rate": "20 Mbit/s", "burst": "10 kB"},
            "loss": {"kind": "gilbert_elliott", "good_to_bad": 0.1, "bad_to_good": 0.5, "loss_in_bad": 1},
            "delay": {"mean": "10 ms", "deviation": "1 ms", "distribution": "normal", "reorder": True},
        },
        "c": {
            "rate": {"kind": "trace", "file": "lte.csv"},
            "loss": {"kind": "listed", "packets": [3, 4]},
            "delay": "0 s",
            "holds": [{"packet": 5, "by": "10 ms", "behind": 3}],
        },
    },
    "bearers": {"dc": {"links": ["a", "b"], "shares": [1, 1], "reordering": {"timer": "200 ms", "sequence_bits": 16}}},
    "hosts": {"client": {"receive_buffer": "212992 B", "timer_slack": {"mean": "50 us"}, "wake_up": {"mean": "20 us"}}},
    "taps": {"here": {"keep_packets": 10}},
    "tunnels": {
        "vpn": {
            "stack": "lab-quic",
            "paths": [{"down": ["a"], "up": ["b"]}],
            "pipeline": {"kind": "pquic", "leaves": "at_once"},
            "queue": {"kind": "head_drop", "bytes": "1 MB"},
            "scheduler": {"kind": "lowest_rtt"},
            "windows": ["9 kB"],
            "server": {"congestion_control": "fixed"},
        }
    },
    "plugins": {
        "mine": {
            "ends": "sender",
            "exchanges": [
                {"operation": "pacing", "replace": {"kind": "even"}},
                {"operation": "compute.path", "after": "m:f"},
            ],
        }
    },
    "wires": [{"from": "f.sender.0", "to": "a.0", "flow": "f", "direction": "down"}],
    "flows": {
        "f": {
            "sender": {"stack": "quinn", "ack_frequency": {"ack_eliciting_threshold": 10}, "time_threshold": 1.25},
            "receiver": {"host": "client"},
            "workload": {"kind": "download", "size": "1 MB"},
        },
        "tcp": {
            "stack": "lab-tcp",
            "sender": {
                "congestion_control": "bbr-linux",
                "pacing": {"kind": "fq", "max_rate": "10 Mbit/s"},
                "tcp": {"mss": "1460 B", "sack": False, "reordering": 5, "loss_detection": "rack"},
                "tls": {"version": "1.3", "resumption": True},
            },
            "receiver": {"pacing": {"kind": "none"}, "slow_start_exit": "hystart-linux", "emulated_connections": 2},
            "workload": {"kind": "request_response", "count": 3, "response": "1 kB", "pause": "1 s"},
        },
        "udp": {
            "stack": "lab-udp",
            "workload": {"kind": "datagrams", "rate": "1 Mbit/s", "size": "1 kB", "duration": "1 s", "on": "1 ms"},
        },
        "ping": {"stack": "lab-udp", "workload": {"kind": "ping", "count": 3, "interval": "1 s"}},
        "quic": {
            "stack": "noq",
            "sender": {"controller": "quiclab", "pacing": {"kind": "quantum", "quantum": "1 ms", "factor": 1.25}},
            "receiver": {"pacing": {"kind": "leaky_bucket", "burst_packets": 2}},
            "workload": {"kind": "download", "duration": "1 s"},
        },
        "modelled": {
            "stack": "lab-quic",
            "sender": {
                "profile": "chromium-quic1",
                "pacing": {
                    "kind": "leaky_bucket",
                    "slow_start_factor": 2.0,
                    "burst_share": 0.25,
                    "burst_time": "2 ms",
                    "idle_burst_packets": 10,
                },
                "quic": {
                    "version": "v1",
                    "connection_id": "8 B",
                    "packet_number": "2 B",
                    "acknowledgement": {"kind": "rtt_fraction", "fraction": 0.25, "from_packet": 100},
                    "max_window": "2920000 B",
                    "flow_control": "double_within_two_rtts",
                    "stream_scheduler": "priority",
                    "path_scheduler": "lowest_rtt",
                },
                "tls": {"version": "1.3", "resumption": True, "early_data": "accepted"},
            },
            "receiver": {"quic": {"acknowledgement": {"kind": "timer", "delay": "1 ms"}, "max_streams": 200}},
            "paths": [{"down": ["b"], "up": ["c"]}],
            "workload": {
                "kind": "page",
                "html": "1 kB",
                "objects": [{"count": 10, "size": "100 kB"}, {"count": 1, "size": "5 kB", "kind": "script"}],
                "html_think_time": "10 ms",
                "priorities": "round_robin",
            },
        },
        "web": {
            "stack": "lab-tcp",
            "sender": {"http2": {"stream_window": "64 KiB", "frame_size": "16 KiB"}},
            "workload": {
                "kind": "page",
                "html": "1 kB",
                "objects": [],
                "resources": [
                    {"size": "2 kB", "kind": "style", "delay": "1 ms", "request": "40 B", "response": "90 B"},
                    {"size": "3 kB", "after": [0, 1], "origin": 1, "think_time": "5 ms"},
                ],
            },
        },
    },
    "record": {"series_interval": "10 ms", "requests": True, "qlog": True},
}


def test_every_form_survives_a_round_trip() -> None:
    scenario = Scenario.from_dict(PLAIN)
    assert scenario.to_dict() == PLAIN
    assert Scenario.from_dict(json.loads(scenario.to_json())) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario  # noqa: S301  # its own bytes
    assert repr(scenario) == "<Scenario 'all forms': links a, b, c; flows f, tcp, udp, ping, quic, modelled, web>"


def test_values_are_read_by_their_path() -> None:
    scenario = Scenario.from_dict(PLAIN)
    assert scenario.value("links.a.queue.packets") == 100
    assert scenario.value("flows.modelled.workload.objects.1.size") == "5 kB"
    assert scenario.value("links.a.holds") is None
    nowhere = ("links.x.rate", "flows.modelled.workload.objects.2.size", "links.a.rate.kind", "flows.f.down.first")
    assert [scenario.value(path, 0) for path in nowhere] == [0] * 4
    scenario.value("links.b.delay")["mean"] = "1 h"
    scenario.to_dict()["links"]["b"]["delay"]["mean"] = "1 h"
    assert scenario.to_dict() == PLAIN, "what is read is a copy"


def test_a_field_is_no_attribute() -> None:
    scenario = Scenario.from_dict(PLAIN)
    with pytest.raises(AttributeError, match=r'fields are read by their path: scenario\["links"\]'):
        _ = scenario.links
    with pytest.raises(AttributeError, match="a scenario has no `lnks`"):
        _ = scenario.lnks


def test_a_scenario_is_read_from_text(small: Path) -> None:
    text = small.read_text(encoding="utf-8")
    assert Scenario.from_toml(text, small.parent) == load(small)
    with pytest.raises(RequestError, match=r"^text:\d+:1: nam: unknown field"):
        Scenario.from_toml(text.replace("name =", "nam ="))


def test_paths_are_completed() -> None:
    scenario = load(ROOT / "scenarios" / "dual_connectivity.toml")
    completed = scenario._ipython_key_completions_()
    assert {"name", "links", "links.down1.rate", "bearers.dc.links.0"} <= set(completed)
    assert all(scenario[path] == scenario.value(path) for path in completed)
    with pytest.raises(RequestError, match=r"unknown path `links\.down1\.rat`; .*did you mean `links\.down1\.rate`\?"):
        scenario["links.down1.rat"]
    with pytest.raises(RequestError, match="path: expected a text"):
        scenario[0]  # type: ignore[index]
    with pytest.raises(TypeError):
        iter(scenario)  # type: ignore[call-overload]


def test_with_value_changes_a_copy() -> None:
    scenario = Scenario.from_dict(PLAIN)
    changed = scenario.with_value("bearers.dc.batch_packets", 200)
    assert changed.value("bearers.dc.batch_packets") == 200
    assert scenario.value("bearers.dc.batch_packets") is None
    assert changed.with_value("bearers.dc.batch_packets", None) == scenario
    host = {"receive_datagram": "35 us"}
    assert scenario.with_value("hosts.new", host).value("hosts.new") == host
    queue = {"kind": "drop_tail", "packets": 7}
    assert scenario.with_value("links.a.queue.packets", 7).value("links.a.queue") == queue
    assert scenario.with_value("links.d", {"rate": "1 Mbit/s"}).value("links.d.rate") == "1 Mbit/s"
    both = scenario.with_value("flows.*.start", "1 s")
    assert {flow["start"] for flow in both.value("flows").values()} == {"1 s"}


@pytest.mark.parametrize(
    ("path", "value", "wrong", "kind"),
    [
        ("links.x.rate", "1 Mbit/s", "links.x", "UnknownName"),
        ("bearers.dc.batch_size", 2, "bearers.dc.batch_size", "UnknownField"),
        ("bearers.dc.batch_packets", "2", "bearers.dc.batch_packets", "WrongType"),
        ("links.a.delay", 5, "links.a.delay", "WrongType"),
        ("links.a.queue.kind", "choke", "links.a.queue.kind", "UnknownName"),
        ("links.b.loss.kind", "bursts", "links.b.loss.kind", "UnknownName"),
        ("links.a.delay.mean", "1 ms", "links.a.delay", "WrongType"),
        ("flows.f.down", ["a", 1], "flows.f.down.1", "WrongType"),
        ("flows.f.workload.kind", "upload", "flows.f.workload.kind", "UnknownName"),
        ("flows.udp.workload.response", "1 kB", "flows.udp.workload.response", "UnknownField"),
        ("flows.tcp.sender.pacing.kind", "slow", "flows.tcp.sender.pacing.kind", "UnknownName"),
        ("flows.tcp.sender.tls.version", "1.1", "flows.tcp.sender.tls.version", "UnknownName"),
        ("flows.modelled.sender.tls.early_data", "yes", "flows.modelled.sender.tls.early_data", "UnknownName"),
        (
            "flows.modelled.receiver.quic.acknowledgement.kind",
            "never",
            "flows.modelled.receiver.quic.acknowledgement.kind",
            "UnknownName",
        ),
        ("flows.modelled.sender.quic.mss", "1 kB", "flows.modelled.sender.quic.mss", "UnknownField"),
        ("flows.f.workload", None, "flows.f.workload", "MissingField"),
        ("record.packets", 1, "record.packets", "WrongType"),
    ],
)
def test_errors_name_the_field(path: str, value: object, wrong: str, kind: str) -> None:
    with pytest.raises(RequestError) as error:
        Scenario.from_dict(PLAIN).with_value(path, value)
    assert (error.value.path, error.value.kind) == (wrong, kind)
    assert error.value.message.startswith(f"{wrong}: ")
    assert error.value.exit_code == 2


def test_errors_are_those_of_the_engine() -> None:
    scenario = Scenario.from_dict(PLAIN)
    with pytest.raises(RequestError) as error:
        scenario.with_value("links.a.delay", 5)
    assert error.value.expected == 'a duration such as "10 ms"'
    with pytest.raises(RequestError) as error:
        scenario.with_value("links.a.dely", "5 ms")
    assert error.value.message.endswith("; did you mean `delay`?")


def test_what_is_no_plain_value_is_refused() -> None:
    with pytest.raises(RequestError) as error:
        Scenario.from_dict({**PLAIN, "name": {1}})
    assert (error.value.path, error.value.kind) == ("name", "WrongType")
    assert error.value.message == "name: expected a plain value, got {1}"


@pytest.mark.parametrize(
    ("seed", "kind"), [("1", "WrongType"), (1.0, "WrongType"), (-1, "OutOfRange"), (2**64, "OutOfRange")]
)
def test_a_seed_is_checked_before_a_run(seed: Any, kind: str, small: Path) -> None:
    scenario = load(small)
    for lane in (run, Lane().run):
        with pytest.raises(RequestError) as error:
            lane(scenario, seed)
        assert (error.value.path, error.value.kind) == ("seed", kind)


def test_load_resolves_and_applies_sets(small: Path) -> None:
    scenario = load(small, [("links.down1.rate", "10 Mbit/s"), ("flows.dc.workload.size", "1 MB")])
    assert scenario.value("links.down1.rate") == "10 Mbit/s"
    assert scenario.value("flows.dc.workload") == {"kind": "download", "size": "1 MB", "request": "100 B"}
    assert scenario.value("until") == "workloads_done"


def test_load_reports_errors(tmp_path: Path, small: Path) -> None:
    with pytest.raises(RequestError, match=r"cannot read the scenario .*: No such file or directory"):
        load(tmp_path / "none.toml")
    small.write_text(small.read_text().replace('down = ["down1"]', 'down = ["down9"]'))
    with pytest.raises(RequestError, match="down9"):
        load(small)


def test_changes_are_written_as_sets() -> None:
    value = {"receive_buffer": "212992 B", "receive_batch": 4}
    texts = ["cubic", "5 Mbit/s", "1.3", "true", "[1]", '"x"']
    assert [tomllib.loads(f"x = {tree.change_text(text)}")["x"] for text in texts[2:]] == texts[2:]
    assert [tree.change_text(text) for text in texts[:2]] == texts[:2]
    assert tree.toml_value(value) == '{ receive_buffer = "212992 B", receive_batch = 4 }'
    assert tree.toml_value("212992 B") == "212992 B"
    assert tree.toml_value([10, 90]) == "[10, 90]"
    assert tree.toml_value({"a": {"b": [1, "x"]}}) == '{ a = { b = [1, "x"] } }'
    assert tree.toml_value(True) == "true"
    assert tree.toml_value(["a", "b"]) == '["a", "b"]'


def test_a_resolved_scenario_is_valid(small: Path) -> None:
    schema = json.loads(extension().schema())
    jsonschema.validate(load(small).to_dict(), schema)
    jsonschema.validate(PLAIN, schema)


def test_former_values_are_read_with_a_note() -> None:
    file = ROOT / "scenarios" / "tcp_download.toml"
    with pytest.warns(FutureWarning, match="tcp.metrics: `from_run_before` is a former name; use `warm_start`"):
        scenario = load(file, [("flows.main.sender.tcp.metrics", "from_run_before")])
    assert scenario.value("flows.main.sender.tcp.metrics") == "warm_start"


@pytest.fixture
def lab(small: Path) -> Scenario:
    return load(small, [("flows.dc.stack", "lab-quic")])


def test_former_names_are_read_from_plain_values_too(lab: Scenario) -> None:
    pacing = {"kind": "leaky_bucket", "whole_bursts": True}
    with pytest.warns(FutureWarning, match="use `wait_for_full_burst`"):
        plain = lab.with_value("flows.dc.sender.pacing", pacing).to_dict()["flows"]["dc"]["sender"]["pacing"]
    assert plain["wait_for_full_burst"] is True
    assert "whole_bursts" not in plain


def test_a_table_with_a_kind_that_is_one_of_several_words_is_read(lab: Scenario) -> None:
    link = next(iter(lab.value("links")))
    framing = {"kind": "atm", "overhead_bytes": 10}
    assert lab.with_value(f"links.{link}.framing", framing).to_dict()["links"][link]["framing"] == framing


def test_results_with_former_names_are_read(lab: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = quiclab.run(
        lab.with_value("flows.dc.sender.pacing", {"kind": "leaky_bucket", "wait_for_full_burst": True})
    ).data
    pacing = data["scenario"]["flows"]["dc"]["sender"]["pacing"]
    for name, former in (("present", "wait_for_full_burst"), ("former", "whole_bursts")):
        pacing[former] = pacing.pop("wait_for_full_burst")
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(data))
    with pytest.warns(FutureWarning, match="whole_bursts"):
        assert cli.invoke(["diff", str(tmp_path / "former"), str(tmp_path / "present")]) == 0
    assert "identical" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["links.nope", "links.down1.dealy", "flwos", "links.nope.rate"])
def test_a_field_that_does_not_exist_cannot_be_removed(lab: Scenario, path: str) -> None:
    with pytest.raises(RequestError) as error:
        lab.with_value(path, None)
    assert path.startswith(error.value.path)
    assert error.value.kind in ("UnknownField", "UnknownName")


def test_a_field_that_is_not_set_can_be_removed(lab: Scenario) -> None:
    assert lab.with_value("links.down1.feedback", None) == lab


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_is_finite(lab: Scenario, value: float) -> None:
    with pytest.raises(RequestError) as error:
        lab.with_value("links.down1.loss", value)
    assert (error.value.path, error.value.kind) == ("links.down1.loss", "WrongType")


def test_files_of_a_scenario_are_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load(ROOT / "scenarios" / "cellular_trace.toml", [("duration", "100 ms"), ("until", "duration_over")])
    monkeypatch.chdir(tmp_path)
    assert quiclab.run(scenario).network_time_s == 0.1
    with pytest.raises(RequestError, match=r"cellular\.csv.*: No such file"):
        quiclab.run(scenario, base_dir=tmp_path)


def test_a_scenario_that_was_read_by_a_relative_path_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "scenarios")
    scenario = load("cellular_trace.toml", [("duration", "100 ms"), ("until", "duration_over")])
    monkeypatch.chdir(tmp_path)
    longer = scenario.with_value("duration", "200 ms")
    assert [quiclab.run(one).network_time_s for one in (scenario, longer, longer.resolved())] == [0.1, 0.2, 0.2]
    assert quiclab.run(scenario.with_values({"duration": "300 ms", "links.up1.delay": "5 ms"})).network_time_s == 0.3
    swept = quiclab.sweep(scenario, {"links.up1.delay": ["5 ms", "25 ms"]}, seeds=1)
    assert len(swept.settings) == 2


def test_errors_have_file_line_value_and_suggestion(small: Path) -> None:
    small.write_text(small.read_text(encoding="utf-8").replace("quinn", "quinm"), encoding="utf-8")
    with pytest.raises(RequestError) as error:
        load(small)
    found = error.value
    assert (found.path, found.kind, found.value) == ("flows.dc.stack", "UnknownName", '"quinm"')
    assert (found.suggestion, found.file, found.line, found.column) == ("quinn", str(small), 15, 9)
    assert found.rendered.splitlines()[1].strip() == f"--> {small}:15:9"
