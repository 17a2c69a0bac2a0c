"""`quiclab kernel doctor`: what it says about machines that can do everything, nothing, and this one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from quiclab import cli
from quiclab.lane import doctor
from quiclab.lane.adapter import load_adapters
from quiclab.lane.doctor import Finding

NAMES = [
    "privileges",
    "namespaces",
    "network_namespaces",
    "tun",
    "ip",
    "tc",
    "qdisc_netem",
    "qdisc_fq",
    "qdisc_fq_codel",
    "qdisc_tbf",
    "qdisc_htb",
    "congestion_controls",
    "default_congestion_control",
    "tcp_probe",
    "build_tools",
    "quiclab_live",
    "virtual_kernel",
    "timer_lateness",
]


@pytest.mark.kernel_lane
def test_json_has_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["kernel", "doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "quiclab.doctor/1"
    stacks = [f"stack_{name}" for name in load_adapters()]
    assert [check["name"] for check in document["checks"]] == [*NAMES[:-1], *stacks, NAMES[-1]]
    for check in document["checks"]:
        assert set(check) == {"name", "title", "ok", "found", "advice"}
        assert isinstance(check["ok"], bool)
        assert check["found"]
        assert check["ok"] != bool(check["advice"]), "what is not there comes with what to do, what is there without"


def test_the_table_says_yes_or_no(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [
        Finding("a", "first thing", True, "here"),
        Finding("b", "second thing", False, "nowhere", "look for it"),
    ]
    monkeypatch.setattr(doctor, "examine", lambda **_: findings)
    assert cli.invoke(["kernel", "doctor"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "thing" in line]
    assert lines == [["yes", "first", "thing", "here"], ["no", "second", "thing", "nowhere", "look", "for", "it"]]


@pytest.mark.kernel_lane
def test_a_boot_is_requested(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cli.invoke(["kernel", "doctor", "--json", "--boot"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert not checks["virtual_kernel"]["ok"]
    assert checks["virtual_kernel"]["advice"] == "`quiclab kernel build`"
    assert not checks["virtual_boot"]["ok"]
    assert "`quiclab kernel build`" in checks["virtual_boot"]["advice"]


def test_a_machine_without_programs_gets_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "found", lambda _: None)
    assert doctor.user_prefix() is None
    findings = [
        doctor.privileges(None),
        doctor.network_namespace(None),
        doctor.program("tc"),
        *doctor.queue_disciplines(None),
        doctor.tcp_probe(None),
    ]
    assert [finding.ok for finding in findings] == [False] * 9
    assert all(finding.advice for finding in findings)
    assert doctor.program("tc").advice == "`apt-get install iproute2`"


def test_a_machine_with_bbr_as_its_default_is_warned_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "CONGESTION_CONTROLS", tmp_path / "available")
    monkeypatch.setattr(doctor, "DEFAULT_CONGESTION_CONTROL", tmp_path / "default")
    (tmp_path / "available").write_text("reno bbr\n")
    (tmp_path / "default").write_text("bbr\n")
    available, default = doctor.congestion_controls()
    assert (available.ok, available.found, available.advice.split("`")[1]) == (False, "reno bbr", "modprobe tcp_cubic")
    assert (default.ok, default.found) == (False, "bbr")
    (tmp_path / "available").write_text("reno cubic\n")
    (tmp_path / "default").write_text("cubic\n")
    assert [finding.ok for finding in doctor.congestion_controls()] == [True, True]


def test_a_missing_device_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "TUN", tmp_path / "tun")
    assert doctor.tun_device().found == os.strerror(2)


@pytest.mark.parametrize(("late_ms", "ok"), [(0.1, True), (3.0, False)])
def test_the_lateness_of_timers_is_measured(late_ms: float, ok: bool) -> None:
    now_ns = 0

    def sleep(seconds: float) -> None:
        nonlocal now_ns
        now_ns += round(seconds * 1e9 + late_ms * 1e6)

    finding = doctor.timer_lateness(sleep, lambda: now_ns)
    assert finding.ok is ok
    assert finding.found == f"median {late_ms:.2f} ms, 99 % at most {late_ms:.2f} ms"
    assert now_ns == pytest.approx(0.5e9, rel=0.7)
