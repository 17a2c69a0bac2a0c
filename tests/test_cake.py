"""CAKE and the ACK filter in whole runs: hosts share a line, and only acknowledgements of TCP can be filtered."""

from __future__ import annotations

import pytest

from conftest import ROOT
from quiclab import RunResult, load, run

CAKE = ROOT / "scenarios" / "cake.toml"
FILTER = ROOT / "scenarios" / "ack_filter.toml"
SHORT = [("duration", "10 s")]


def machines(sets: list[tuple[str, str]]) -> tuple[float, float]:
    """Return what the machine with eight downloads gets, and what that with one gets [Mbit/s]."""
    result = run(load(CAKE, [*SHORT, *sets]), seed=1)
    of_each = {name: flow.goodput_mbps for name, flow in result.flows.items()}
    one = of_each.pop("one")
    return sum(of_each.values()), one


def test_machines_share_a_line_whatever_the_number_of_their_flows() -> None:
    many, one = machines([])
    # a single CUBIC does not fill its half all the time
    assert 0.8 < one / many < 1.1
    for queue in ('{ kind = "fq_codel" }', '{ kind = "cake", host_isolation = false }'):
        many, one = machines([("links.down.queue", queue)])
        assert one / many == pytest.approx(1 / 8, rel=0.1), queue


def test_a_flow_has_a_machine_of_its_own_by_default() -> None:
    names = [f"flows.many{index}.receiver_machine" for index in range(8)]
    many, one = machines([(name, f'"machine{index}"') for index, name in enumerate(names)])
    assert one / many == pytest.approx(1 / 8, rel=0.1)


def filtered(result: RunResult) -> float:
    return float(result.elements["up"]["statistics"]["filtered_acks"])


@pytest.mark.parametrize("kind", ["drop_tail", "cake"])
def test_only_acknowledgements_of_tcp_can_be_filtered(kind: str) -> None:
    limit = ", packets = 100" if kind == "drop_tail" else ""
    of_kind = ("links.up.queue", f'{{ kind = "{kind}"{limit}, ack_filter = "aggressive" }}')
    # each flow alone: the other one starts after the end
    alone = {"tcp": [("flows.tcp.start", "0 s"), ("flows.quic.start", "15 s")], "quic": [("flows.tcp.start", "15 s")]}
    results = {name: run(load(FILTER, [*SHORT, of_kind, *sets]), seed=1) for name, sets in alone.items()}
    assert filtered(results["quic"]) == 0
    assert filtered(results["tcp"]) > 1000
    off = (of_kind[0], of_kind[1].replace("aggressive", "off"))
    without = run(load(FILTER, [*SHORT, off, *alone["tcp"]]), seed=1)
    times = [run.elements["up"]["statistics"]["queueing_mean_ms"] for run in (results["tcp"], without)]
    assert times[0] < times[1]
    # what is filtered is no loss: the sender retransmits what the queue has dropped and what it declared lost too early
    sender = results["tcp"].flows["tcp"].sender
    dropped = results["tcp"].elements["down"]["statistics"]["dropped_queue_full_packets"]
    assert sender["retransmitted_packets"] - sender["spurious_losses"] == dropped
