"""What counts as delivered is data of the application, and no more than the network carries, in both lanes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab import QuiclabError, load, run
from quiclab.lane import doctor
from quiclab.lane.kernel.programs import live_program
from quiclab.lane.run import Lane
from quiclab.result.delivered import HEADERS, check_delivered
from quiclab.stacks import register, registry
from test_kernel_adapters import example

EXAMPLE = ROOT / "examples" / "python_stack"
PACKETS, PACKET_BYTES = 1000, 1280


def result(delivered: int, stack: str = "quinn", **parts: Any) -> dict[str, Any]:
    """Return what is read of a result: a link of 10 Mbit/s for 2 s, over which 1000 packets have arrived."""
    flow = {"stack": stack, "sender": {}, "receiver": {}, "down": ["down1"]} | parts.pop("flow", {})
    scenario = {"flows": {"f": flow}, "links": {"down1": {"rate": "10 Mbit/s"}, "down2": {"rate": "5 Mbit/s"}}}
    packets = parts.pop("packets", PACKETS)
    return {
        "scenario": scenario | parts.pop("scenario", {}),
        "run": {"network_time_s": 3.0} | parts.pop("run", {}),
        "flows": {"f": {"delivered_bytes": delivered, "start_s": 1.0, "finish_s": None}},
        "elements": {"f.receiver": {"received": {"packets": packets, "bytes": packets * PACKET_BYTES}}},
        **parts,
    }


@pytest.mark.parametrize(
    ("protocol", "stack"), [("quic", "quinn"), ("tcp", "lab-tcp"), ("udp", "lab-udp"), ("udp", "of-a-user")]
)
def test_headers_are_no_data(protocol: str, stack: str) -> None:
    most = PACKETS * (PACKET_BYTES - HEADERS[protocol])
    check_delivered(result(most, stack))
    with pytest.raises(QuiclabError) as error:
        check_delivered(result(most + 1, stack))
    for part in ("flow `f`", f"{most + 1} bytes", f"at most {most} ", "1000 packets of 1280000 bytes arrived"):
        assert part in error.value.message


def test_the_payload_of_udp_is_not_what_quic_delivers() -> None:
    with pytest.raises(QuiclabError, match="counted as delivered"):
        check_delivered(result(PACKETS * (PACKET_BYTES - 28), "ngtcp2"), {"ngtcp2": "quic"})


@pytest.mark.parametrize(
    ("changes", "rate_mbps"),
    [
        ({}, 10),
        ({"flow": {"down": ["tap", "down2", "down1"]}}, 5),
        ({"flow": {"paths": [{"down": ["down2"]}]}}, 15),
        ({"flow": {"down": ["dc"]}, "scenario": {"bearers": {"dc": {"links": ["down1", "down2"]}}}}, 15),
        (
            {
                "flow": {"down": ["vpn"]},
                "scenario": {"tunnels": {"vpn": {"paths": [{"down": ["down1"]}, {"down": ["down2"]}]}}},
            },
            15,
        ),
        ({"changes": [{"link": "down1", "rate_mbps": 40.0}, {"link": "down1", "rate_mbps": 1.0}]}, 40),
    ],
)
def test_links_carry_no_more_than_their_rate(changes: dict[str, Any], rate_mbps: int) -> None:
    most = rate_mbps * 2_000_000 // 8
    changes.setdefault("scenario", {}).setdefault(
        "links", {"down1": {"rate": "10 Mbit/s"}, "down2": {"rate": "5 Mbit/s"}}
    )
    check_delivered(result(most, packets=10**6, **changes))
    with pytest.raises(QuiclabError, match=rf"at most {most} .* carry {rate_mbps} Mbit/s over 2 s"):
        check_delivered(result(most + 1, packets=10**6, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"scenario": {"links": {"down1": {"rate": {"kind": "trace", "file": "a.csv"}}}}},
        {"scenario": {"links": {"down1": {"rate": "10 Mbit/s", "conditions": {"file": "a.csv"}}}}},
        {"scenario": {"links": {"down1": {}}}},
        {"flow": {"down": []}},
        {"run": {"emulation": "netem"}},
    ],
)
def test_a_rate_that_is_not_known_bounds_nothing(changes: dict[str, Any]) -> None:
    check_delivered(result(10**8, packets=10**6, **changes))


def test_the_sim_lane_holds_every_run_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    toy = importlib.import_module("toy_stack")
    register(toy.STACK)
    scenario = load(EXAMPLE / "toy.toml")
    assert run(scenario).flows["main"].delivered_bytes == 10_000
    honest = toy.Endpoint.progress
    # IP packets, as a program that counts what it receives would say: nine datagrams with 28 B of IP and UDP each
    arrived = 10_000 + 9 * (toy.HEADER.size + 28)

    def packets(end: Any) -> tuple[int | None, int | None, int, bool]:
        start, finish, delivered, failed = honest(end)
        return start, finish, arrived if delivered else 0, failed

    monkeypatch.setattr(toy.Endpoint, "progress", packets)
    with pytest.raises(QuiclabError, match=f"flow `main`: {arrived} bytes are counted as delivered, but at most 10045"):
        run(scenario)


@pytest.mark.kernel_lane
@pytest.mark.parametrize(("counted", "problem"), [("len(chunk)", ""), ("2 * len(chunk)", "counted as delivered")])
def test_the_kernel_lane_holds_every_program_against_it(counted: str, problem: str, tmp_path: Path) -> None:
    try:
        live_program()
    except QuiclabError as error:
        pytest.skip(error.message)
    prefix = doctor.user_prefix()
    for finding in (doctor.privileges(prefix), doctor.network_namespace(prefix), doctor.tun_device()):
        if not finding.ok:
            pytest.skip(f"{finding.title}: {finding.found}; {finding.advice}")
    lane = Lane(adapters=(example(tmp_path).file.path,))
    program = tmp_path / "transfer.py"
    text = program.read_text()
    assert "len(chunk)" in text
    program.write_text(text.replace("len(chunk)", counted))
    file = tmp_path / "one.toml"
    file.write_text(
        'version = 1\nname = "one"\nduration = "20 s"\n'
        '[links.down1]\nrate = "8 Mbit/s"\ndelay = "5 ms"\n[links.up1]\nrate = "8 Mbit/s"\ndelay = "5 ms"\n'
        '[flows.main]\nstack = "transfer"\ndown = ["down1"]\nup = ["up1"]\n'
        'workload = { kind = "download", size = "200 kB" }\n'
    )
    scenario = load(file, programs=lane.stacks())
    if problem:
        with pytest.raises(QuiclabError, match=f"flow `main`: 400000 bytes are {problem}"):
            lane.run(scenario, base_dir=tmp_path)
    else:
        assert lane.run(scenario, base_dir=tmp_path).flows["main"].delivered_bytes == 200_000
