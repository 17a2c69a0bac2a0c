"""One change that asks a question: `*`, entries of lists, a path less, a number of flows, settings of `--only`."""

import json
from pathlib import Path

import pytest

import quiclab
from quiclab.errors import RequestError
from quiclab.study.registry import find

SHARES = """
version = 1
name = "shares"
duration = "6 s"
until = "duration_over"
[links.down]
rate = "20 Mbit/s"
delay = "5 ms"
queue = { kind = "fq_codel" }
[links.up]
rate = "20 Mbit/s"
delay = "5 ms"
[flows.d]
count = 3
stack = "lab-tcp"
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "6 s" }
"""

TWO_PATHS = """
version = 1
name = "two lines"
[links.down1]
rate = "10 Mbit/s"
delay = "5 ms"
[links.up1]
rate = "10 Mbit/s"
delay = "5 ms"
[links.down2]
rate = "10 Mbit/s"
delay = "5 ms"
[links.up2]
rate = "10 Mbit/s"
delay = "5 ms"
[flows.main]
stack = "lab-quic"
down = ["down1"]
up = ["up1"]
paths = [{ down = ["down2"], up = ["up2"] }]
workload = { kind = "download", size = "2 MB" }
"""


@pytest.fixture
def shares(tmp_path: Path) -> Path:
    file = tmp_path / "shares.toml"
    file.write_text(SHARES, "utf-8")
    return file


def test_set_and_with_value_understand_the_same_paths(shares: Path) -> None:
    for path, value in {"links.*.delay": "7 ms", "flows.*.down.0": "up", "flows.d.count": "2"}.items():
        with_set = quiclab.load(shares, [(path, value)])
        changed = quiclab.load(shares).with_value(path, int(value) if value.isdigit() else value).resolved()
        assert with_set.to_dict() == changed.to_dict()
    for path in ("links.d*.delay", "bearers.*.batch_packets", "flows.d.down.2"):
        with pytest.raises(RequestError):
            quiclab.load(shares).with_value(path, "7 ms")
        with pytest.raises(RequestError):
            quiclab.load(shares, [(path, "7 ms")])


@pytest.mark.parametrize("count", [1, 3])
def test_equal_flows_share_a_link(shares: Path, count: int) -> None:
    result = quiclab.run(quiclab.load(shares).with_value("flows.d.count", count), seed=1)
    goodputs = [flow.goodput_mbps for flow in result.flows.values()]
    assert list(result.flows) == [f"d{number}" for number in range(1, count + 1)]
    # of 1500 B a segment carries 1448, and flow queues share the rate; slow start takes some of the six seconds
    whole = 20 * 1448 / 1500
    assert 0.9 * whole < sum(goodputs) <= whole
    assert all(abs(goodput - sum(goodputs) / count) < 0.05 * whole for goodput in goodputs)


def test_a_line_less_is_one_change(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO_PATHS, "utf-8")
    both = quiclab.run(quiclab.load(file), seed=1)
    alone = quiclab.run(quiclab.load(file, [("flows.main.paths", "[]")]), seed=1)
    assert not any("not used" in warning for warning in both.warnings)
    assert [warning.split(" is ")[0] for warning in alone.warnings] == ["links.down2", "links.up2"]
    assert alone.flows["main"].goodput_mbps < 10 < both.flows["main"].goodput_mbps


def test_only_takes_a_number_in_any_notation() -> None:
    study = find("dual_connectivity/bandwidth_ratio")
    engine = (study.design.default_engine,)
    [ratio] = [factor for factor in study.design.factors if factor.name == "ratio"]
    labels = {str(point.labels[ratio.column]) for point in study.points(engine, 1, {"ratio": ("5",)})}
    assert labels == {"5.0"}
    with pytest.raises(RequestError, match="--only ratio"):
        list(study.points(engine, 1, {"ratio": ("5.5",)}))


def test_json_and_text_are_one_scenario(shares: Path) -> None:
    scenario = quiclab.load(shares)
    assert json.loads(scenario.resolved_json())["flows"]["d"]["count"] == 3
