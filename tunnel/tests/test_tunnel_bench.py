"""The benchmark of the VPN: what it reads, command lines, the page; and a short run where root is there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tunnel_faults as faults
import tunnel_page as page
from vpn_bench import catalogue, isolation, load, parsing
from vpn_bench.network import BenchError, Shape, iperf_client
from vpn_bench.vpns import OpenVpn, Quiclab, UserWireGuard
from vpn_bench.vpns.openvpn import check, dco_lacking

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tunnel/bench/tunnel_bench.py"
PROGRAMS = [ROOT / "target" / profile / "quiclab-tunnel" for profile in ("release", "quick", "debug")]


def report(**end: object) -> str:
    """Of iperf3: 10 Mbit in the first second, 20 and 40 Mbit in two that follow."""
    spans = [(0.0, 1.0, 1_250_000), (1.0, 1.0, 2_500_000), (2.0, 1.0, 5_000_000)]
    intervals = [{"sum": {"start": start, "seconds": length, "bytes": count}} for start, length, count in spans]
    received = {"sum_received": {"bytes": 8_750_000}, "sender_tcp_congestion": "cubic", **end}
    return json.dumps({"intervals": intervals, "end": received})


def test_goodput_is_that_after_the_first_second_and_volume_is_all() -> None:
    found = parsing.transfer(report())
    assert found.mbps == pytest.approx(30)
    assert found.gbit == pytest.approx(0.07)


def test_another_congestion_control_is_refused() -> None:
    with pytest.raises(ValueError, match="congestion control of the sender: expected cubic, got bbr"):
        parsing.transfer(report(sender_tcp_congestion="bbr"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"error": "unable to connect"}', "iperf3: unable to connect"),
        ("Killed", "ended without a report: 'Killed'"),
        ('{"intervals": [], "end": {"sender_tcp_congestion": "cubic"}}', "no second after the first"),
    ],
)
def test_a_transfer_that_failed_says_why(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parsing.transfer(text)


def test_pings_are_read() -> None:
    text = (
        "64 bytes from 10.77.1.1: icmp_seq=1 ttl=64 time=0.045 ms\n"
        "64 bytes from 10.77.1.1: icmp_seq=2 ttl=64 time=12 ms\n\n"
        "3 packets transmitted, 2 received, 33.3333% packet loss, time 2003ms\n"
    )
    assert parsing.round_trips(text) == [0.045, 12.0]
    assert parsing.sent_and_received(text) == (3, 2)
    with pytest.raises(ValueError, match="without a summary"):
        parsing.sent_and_received("ping: sendmsg: Network is unreachable")


def test_times_of_processes_and_of_the_machine_are_read() -> None:
    tick = os.sysconf("SC_CLK_TCK")
    stat = "17 (a b) c) S 1 17 17 0 -1 4194560 9 0 0 0 250 150 7 8 20 0 4 0 1 2 3"
    assert parsing.process_seconds(stat) == pytest.approx(400 / tick)
    # user 100, nice 1, system 50, idle 900, iowait 30, irq 4, softirq 5, steal 60, guest 70 (in user), guest_nice 0
    assert parsing.busy_seconds("cpu  100 1 50 900 30 4 5 60 70 0\ncpu0 1 1") == pytest.approx(160 / tick)


def test_a_summary_has_median_and_range() -> None:
    assert parsing.summary([3.04, 1.0, 2.0], 1) == {"median": 2.0, "low": 1.0, "high": 3.0, "runs": [3.0, 1.0, 2.0]}


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert [parsing.percentile(values, percent) for percent in (50, 95, 100)] == [50.0, 95.0, 100.0]
    assert parsing.percentile([7.0], 95) == 7.0


def test_the_download_is_by_cubic() -> None:
    command = iperf_client("10.77.1.1", 5)
    assert command[command.index("-C") + 1] == "cubic"
    assert "-R" in command


def test_the_buffer_of_a_line_is_time_at_its_rate() -> None:
    assert Shape(rate_mbps=50, buffer_ms=100, rtt_ms=1.0).buffer_bytes == 625_000


def test_configurations_of_the_tunnel_have_its_settings() -> None:
    vpn = Quiclab("q", 2, Path("/x"), paths=2, queue=load.DROP_TAIL, congestion_control="bbr-linux")
    texts = vpn.configurations(Path("/d"), {"server": "S", "client": "C"})
    for text in texts.values():
        assert f"queue = {load.DROP_TAIL}" in text
    assert texts["server"].count('congestion_control = "bbr-linux"') == 1
    assert texts["client"].count('congestion_control = "bbr-linux"') == 2
    assert re.findall(r'server = "(.*)"', texts["client"]) == ["10.1.1.1:4435", "10.1.2.1:4435"]
    assert 'server_key = "S"' in texts["client"]
    assert 'public_key = "C"' in texts["server"]


def test_both_ends_of_openvpn_name_each_other() -> None:
    vpn = OpenVpn("o", 3, "AES-128-GCM")
    prints = {"server": "AA", "client": "BB"}
    server, client = (" ".join(vpn.options(end, Path("/d"), prints)) for end in ("server", "client"))
    assert "--ifconfig 10.77.3.1 10.77.3.2" in server
    assert "--ifconfig 10.77.3.2 10.77.3.1" in client
    assert "--peer-fingerprint BB" in server
    assert "--remote 10.1.1.1 1197" in client
    assert "--lport 1197" in server
    assert "--disable-dco" in server
    assert "--disable-dco" not in OpenVpn("o", 3, "AES-128-GCM", dco=True).options("server", Path("/d"), prints)


def test_a_session_of_openvpn_has_the_cipher_that_is_stated() -> None:
    log = "Outgoing Data Channel: Cipher 'AES-256-GCM' initialized with 256 bit key"
    check(log, "AES-256-GCM", dco=False)
    with pytest.raises(BenchError, match="expected AES-128-GCM, got AES-256-GCM"):
        check(log, "AES-128-GCM", dco=False)
    with pytest.raises(BenchError, match="did not use DCO"):
        check(log, "AES-256-GCM", dco=True)


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("OpenVPN 2.6.14\nDCO version: N/A\n", "the kernel has no module"),
        ("OpenVPN 2.5.1\n", "this OpenVPN has no DCO"),
    ],
)
def test_a_missing_dco_has_a_reason(version: str, why: str) -> None:
    assert why in dco_lacking(version)
    assert not dco_lacking("OpenVPN 2.6.14\nDCO version: 0.2.20230426\n")


def test_configurations_of_wireguard_allow_the_other_end_only() -> None:
    vpn = UserWireGuard("w", 6, Path("/x"), "w", "1", True)
    server, client = (vpn.configuration(end, "PRIVATE", "PEER") for end in ("server", "client"))
    assert "AllowedIPs = 10.77.6.2/32" in server
    assert "AllowedIPs = 10.77.6.1/32" in client
    assert "ListenPort = 51826" in server
    assert "Endpoint = 10.1.1.1:51826" in client


def test_names_and_numbers_of_vpns_are_different() -> None:
    vpns = catalogue.speed_vpns(Path("/x"), Path("/y"))
    assert len({vpn.name for vpn in vpns}) == len({vpn.number for vpn in vpns}) == len(vpns)
    assert all(len(vpn.device("s")) <= 15 for vpn in vpns)


def test_cases_under_load_have_every_setting_of_the_tunnel_on_one_and_two_lines() -> None:
    cases = {(case.vpn, case.paths, case.rtt_ms) for case in catalogue.load_cases(20)}
    own = {name for name, _, _ in catalogue.QUICLAB_UNDER_LOAD}
    assert {(name, paths, rtt) for name in own for paths in (1, 2) for rtt in (1.0, 40.0)} <= cases
    assert {paths for name, paths, _ in cases if name not in own} == {1}
    assert len({case.key for case in catalogue.load_cases(20)}) == len(cases)


def test_the_makefile_builds_the_versions_that_are_stated() -> None:
    text = (ROOT / "tunnel" / "tunnel.mk").read_text()
    assert f"WIREGUARD_GO := {catalogue.WIREGUARD_GO}\n" in text
    assert f"BORINGTUN := {catalogue.BORINGTUN}\n" in text


def test_a_case_without_an_answer_has_no_figures() -> None:
    with pytest.raises(ValueError, match="no answer to a ping beside the download"):
        load.figures("time=1.0 ms", "3 packets transmitted, 0 received", report())
    found = load.figures("time=1.0 ms", "time=5.0 ms\n2 packets transmitted, 1 received", report())
    assert (found["added_median_ms"], found["pings_lost"]) == (4.0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "openvpm"], "--only: expected boringtun or"),
        (["--parts", "sped"], "expected speed or load, got sped"),
        (["--load-seconds", "5"], "--load-seconds: expected at least 6, got 5"),
        (["--repeats", "0"], "expected a whole number above 0, got '0'"),
        (["--seconds", "1"], "--seconds: expected at least 2, got 1"),
    ],
)
def test_wrong_options_are_refused(options: list[str], message: str) -> None:
    done = subprocess.run([sys.executable, str(TOOL), *options], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert message in done.stderr


def test_the_page_is_that_of_the_stored_figures() -> None:
    assert page.rendered(json.loads(page.FIGURES.read_text())) == page.PAGE.read_text()


def figures(low: float, high: float, cpu: tuple[float, float]) -> dict[str, Any]:
    spread = {"median": high, "low": low, "high": high}
    return {"tcp_mbps": spread, "cpu_s_per_gbit": {"median": cpu[0], "low": cpu[0], "high": cpu[1]}}


@pytest.mark.parametrize(
    ("own", "verdicts"),
    [
        (figures(1000, 1100, (0.4, 0.49)), ["met", "met"]),
        (figures(999, 1100, (0.4, 0.51)), ["not decided", "not decided"]),
        (figures(800, 999, (0.61, 0.7)), ["missed", "missed"]),
    ],
)
def test_an_aim_is_met_or_missed_if_all_repeats_agree(own: dict[str, Any], verdicts: list[str]) -> None:
    other = figures(1, 2, (0.5, 0.6))
    assert [aim["met"] for aim in page.aims({"quiclab": own, "wireguard-go": other})] == verdicts
    assert page.aims({"quiclab": own})[1]["met"] == "not decided"


@pytest.fixture
def program() -> Path:
    """The VPN, where it is built and namespaces can be made."""
    why = isolation.lacking()
    if why:
        pytest.skip(why)
    found = [file for file in PROGRAMS if file.exists()]
    if not found:
        pytest.skip("quiclab-tunnel is not built")
    return found[0]


@pytest.fixture
def started(program: Path, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start a short run."""

    def start(*options: str) -> subprocess.Popen[str]:
        line = [sys.executable, str(TOOL), "--program", str(program), "--parts", "speed", "--only", "quiclab"]
        line += ["--vpn-programs", str(tmp_path), *options]
        return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.mark.kernel_lane
@pytest.mark.xdist_group("machine")
def test_a_short_run_measures_all_of_the_tunnel(started: Callable[..., subprocess.Popen[str]]) -> None:
    process = started("--seconds", "2", "--repeats", "1")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    result = json.loads(out)["speed"]["results"]["quiclab"]
    assert result["tcp_mbps"]["median"] > 0, err
    assert result["cpu_s_per_gbit"]["median"] > 0
    assert result["idle_latency_ms"]["median"] > 0


def descendants(pid: int) -> set[int]:
    """Processes below a process."""
    parents: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


@pytest.mark.kernel_lane
@pytest.mark.xdist_group("machine")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_leaves_nothing(started: Callable[..., subprocess.Popen[str]], number: int) -> None:
    with started("--seconds", "60") as process:
        assert process.stderr is not None
        assert any("starting" in line for line in process.stderr)
        end = time.monotonic() + 20
        while not any("iperf3" in name(pid) for pid in descendants(process.pid)):
            assert time.monotonic() < end
        below = {pid: name(pid) for pid in descendants(process.pid)}
        process.send_signal(number)
        process.wait(10)
        end = time.monotonic() + 10
        while left := [pid for pid, was in below.items() if was and name(pid) == was]:
            assert time.monotonic() < end, [below[pid] for pid in left]


def name(pid: int) -> str:
    """Command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_the_page_of_faults_is_that_of_its_figures() -> None:
    found = json.loads(faults.FIGURES.read_text(encoding="utf-8"))
    assert faults.PAGE.read_text(encoding="utf-8") == faults.rendered(found)


def test_rounds_of_a_soak_become_windows() -> None:
    row = dict.fromkeys(faults.TOGETHER, 1)
    rows = faults.windows(
        [{**row, "seconds": seconds, "longest_gap_ms": seconds} for seconds in (300, 600, 900, 1200, 1201)]
    )
    assert [(one["seconds"], one["longest_gap_ms"], one["server_cpu_seconds"]) for one in rows] == [
        (600, 600, 2),
        (1201, 1201, 3),
    ]
