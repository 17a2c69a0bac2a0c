"""Statements of docs/reference/stacks.md about what stacks do, each against a run."""

from __future__ import annotations

from typing import Any

import pytest

from quiclab.errors import QuiclabError
from quiclab.result import RunResult, run
from quiclab.scenario import Scenario

LINK = {"rate": "10 Mbit/s", "delay": "10 ms"}


def download(flow: dict[str, Any], **links: Any) -> RunResult:
    """Run a download of two seconds over a link whose queue marks."""
    marking = {**LINK, "queue": {"kind": "fq_codel", "ecn": True}}
    common = {"down": ["down"], "up": ["up"], "workload": {"kind": "download", "duration": "2 s"}}
    flows = {"main": {**common, **flow}}
    return run(
        Scenario.from_dict(
            {
                "version": 1,
                "name": "s",
                "duration": "3 s",
                "links": {"down": marking, "up": LINK, **links},
                "flows": flows,
            }
        )
    )


ECN = {"quic": {"ecn": True}}


@pytest.mark.parametrize(
    "flow",
    [{"stack": "quinn"}, {"stack": "noq"}, {"stack": "lab-quic", "sender": ECN, "receiver": ECN}],
    ids=lambda flow: flow["stack"],
)
def test_marks_of_a_queue_reduce_the_window(flow: dict[str, Any]) -> None:
    result = download(flow)
    assert result.elements["down"]["statistics"]["ce_marks"] > 0
    sender = result.flows["main"].sender
    assert (sender["congestion_events"] > 0, sender["lost_packets"]) == (True, 0)


def test_lab_quic_sends_packets_that_are_not_ecn_capable_by_default() -> None:
    assert download({"stack": "lab-quic"}).elements["down"]["statistics"]["ce_marks"] == 0


def test_lab_quic_understands_only_itself() -> None:
    with pytest.raises(QuiclabError, match="no other stack understands packets of `lab-quic`"):
        download({"sender": {"stack": "lab-quic"}, "receiver": {"stack": "quinn"}})


def test_paths_of_a_flow_may_share_a_link() -> None:
    shared = {"stack": "lab-quic", "paths": [{"down": ["down"], "up": ["up"]}]}
    result = download(shared)
    assert result.flows["main"].delivered_bytes > 0
    assert result.elements["down"]["received"]["packets"] > 0
