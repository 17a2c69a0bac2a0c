"""Live video on every stack that has it: the same frames, delays that the network allows, and a source that adapts."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from conftest import ROOT
from quiclab import RunResult, ScenarioError, load, run
from quiclab.scenario import Scenario

STACKS = ("lab-quic", "lab-tcp", "quinn", "noq")
FRAMES = 90  # 3 s of 30 frames a second
MBPS = 2.0
SCENARIO = """\
version = 1
name = "live"
duration = "20 s"
[links.down]
rate = "20 Mbit/s"
delay = "10 ms"
[links.up]
delay = "10 ms"
[flows.main]
stack = "{stack}"
down = ["down"]
up = ["up"]
workload = {{ kind = "live", rate = "2 Mbit/s", deadline = "100 ms", duration = "3 s"{more} }}
"""


def scenario(stack: str, more: str = "") -> Scenario:
    return Scenario.from_dict(tomllib.loads(SCENARIO.format(stack=stack, more=f", {more}" if more else "")))


def ends(result: RunResult) -> tuple[dict[str, Any], dict[str, Any]]:
    flow = result.flows["main"]
    assert flow.completed, flow.failure
    return dict(flow.sender), dict(flow.receiver)


def test_all_stacks_send_the_same_frames_and_deliver_them() -> None:
    captured = set()
    for stack in STACKS:
        sender, receiver = ends(run(scenario(stack)))
        captured.add((sender["captured_frames"], sender["captured_bytes"]))
        assert receiver["complete_frames"] == FRAMES, stack
        assert (receiver["late_frames"], receiver["missing_frames"], sender["dropped_frames"]) == (0, 0, 0)
        # propagation, and the largest frame: a key frame has 5 / (1 + 4 / 60) times the mean, and no more than twice
        # that; on the wire it needs less than 10 % more, and at most three round trips of slow start and pacing
        mean_ms = MBPS / 20 / 30 * 1000
        largest_ms = 2 * 5 / (1 + 4 / 60) * mean_ms * 1.1
        assert 10 < receiver["frame_delay_ms_min"] < 10 + mean_ms * 1.1, stack
        assert receiver["frame_delay_ms_max"] < 10 + 3 * 20 + largest_ms, stack
    assert len(captured) == 1, captured
    frames, byte_count = captured.pop()
    assert frames == FRAMES
    # a Laplace distribution of scale 0.15 has the deviation 0.15 sqrt(2); two key frames hold most of a tenth of the
    # bytes each, so five standard errors of the sum are below
    assert byte_count == pytest.approx(MBPS * 1e6 / 8 * 3, rel=0.25)


def test_another_seed_has_other_frames_and_the_same_seed_the_same_run() -> None:
    first, again, other = (run(scenario("quinn"), seed=seed) for seed in (1, 1, 2))
    assert first.digest == again.digest
    assert ends(first)[0]["captured_bytes"] != ends(other)[0]["captured_bytes"]


@pytest.mark.parametrize("stack", ["lab-quic", "quinn", "noq"])
def test_frames_in_datagrams_are_not_sent_again(stack: str) -> None:
    lossy = scenario(stack, 'delivery = "datagrams"').with_value("links.down.loss", 0.02)
    sender, receiver = ends(run(lossy))
    assert sender["captured_frames"] == FRAMES
    assert 0 < receiver["missing_frames"] < FRAMES
    on_streams = ends(run(scenario(stack).with_value("links.down.loss", 0.02)))[1]
    assert on_streams["missing_frames"] == 0


@pytest.mark.parametrize("stack", STACKS)
def test_a_source_above_the_rate_of_the_link_is_late_or_dropped(stack: str) -> None:
    slow = scenario(stack, "drop_late = true").with_value("links.down.rate", "1 Mbit/s")
    sender, receiver = ends(run(slow))
    assert sender["dropped_frames"] > 0
    assert receiver["late_share"] > 0.3
    assert receiver["complete_frames"] + receiver["missing_frames"] == FRAMES
    # without dropping all frames arrive or wait; what the link does not take in 6 s is missing
    kept = ends(run(scenario(stack).with_value("links.down.rate", "1 Mbit/s")))
    assert kept[0]["dropped_frames"] == 0
    assert kept[1]["frame_delay_ms_max"] > 1000


@pytest.mark.parametrize("stack", STACKS)
def test_a_source_that_adapts_follows_the_link(stack: str) -> None:
    bounds = 'min_rate = "100 kbit/s", max_rate = "2 Mbit/s"'
    slow = scenario(stack, bounds).with_values(
        {
            "links.down.rate": "1 Mbit/s",
            "links.down.queue": {"kind": "drop_tail", "time": "200 ms"},
            "flows.main.workload.duration": "15 s",
            "duration": "40 s",
        }
    )
    adapted = ends(run(slow))
    fixed = ends(run(slow.with_value("flows.main.workload.min_rate", "2 Mbit/s")))
    assert adapted[1]["missing_frames"] == 0
    assert adapted[0]["captured_bytes"] < 15 * 1e6 / 8 * 1.1
    assert adapted[1]["frame_delay_ms_p50"] < fixed[1]["frame_delay_ms_p50"] / 2


LARGE = 'delivery = "datagrams", packet_size = "100 B", frame_rate = 1, key_frame_interval = "60 s"'


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        ('min_rate = "1 Mbit/s"', "flows.main.workload.max_rate", "missing"),
        ('max_rate = "3 Mbit/s"', "flows.main.workload.min_rate", "missing"),
        ('min_rate = "3 Mbit/s", max_rate = "4 Mbit/s"', "flows.main.workload.rate", 'got "2 Mbit/s"'),
        ('drop_late = true, delivery = "datagrams"', "flows.main.workload.drop_late", "got true"),
        (f"{LARGE}, key_frame_ratio = 100", "flows.main.workload.rate", "at most 65535 datagrams"),
        ("frame_rate = 0", "flows.main.workload.frame_rate", "got 0"),
        ('delivery = "segments"', "flows.main.workload.delivery", "segments"),
    ],
)  # fmt: skip
def test_wrong_values_are_named(more: str, path: str, words: str) -> None:
    with pytest.raises(ScenarioError) as error:
        run(scenario("lab-quic", more))
    assert str(error.value.path) == path
    assert words in str(error.value)


def test_tcp_has_no_datagrams() -> None:
    with pytest.raises(ScenarioError, match=r"workload\.delivery"):
        run(scenario("lab-tcp", 'delivery = "datagrams"'))


def test_lab_udp_has_no_live_video() -> None:
    with pytest.raises(ScenarioError, match="live"):
        run(scenario("lab-udp"))


def test_bbr_keeps_frames_of_an_adaptive_source_below_those_of_cubic() -> None:
    """The test of moq-dev/moq#2432: "BBR should do both [...], while CUBIC will have an RTT closer to 500ms"."""
    base = load(ROOT / "scenarios" / "live_adaptive.toml")
    delays = {}
    for control in ("bbr-v3", "cubic"):
        flow = run(base.with_value("flows.video.sender.congestion_control", control)).flows["video"]
        assert flow.goodput_mbps > 4, control
        delays[control] = flow.receiver["frame_delay_ms_p50"]
    # 50 ms of propagation; BBR has less than half of the queue of 500 ms, CUBIC more
    assert delays["bbr-v3"] < 50 + 250 < delays["cubic"]
