"""A FAKE engine with the interface of `quiclab._quiclab`: formulas instead of packets, for tests of the Python layer.

DELETE this directory, and its lines in conftest.py, when the real extension is there.
"""

import hashlib
import json
import tomllib
from array import array
from typing import Any

FAKE = True


class ScenarioError(ValueError):
    pass


class RunOutput:
    def __init__(self, result: str, series: dict[str, Any], packets: dict[str, Any]) -> None:
        self.result, self.series, self.packets = result, series, packets


def version() -> str:
    return "0.1.0"


def stacks() -> str:
    options = [{"name": "initial_window", "default": "12000 B", "source": "fake"}]
    return json.dumps(
        [{"name": name, "version": "0", "description": "fake", "options": options} for name in ("quinn", "noq")]
    )


def resolve(text: str, file: str, sets: list[tuple[str, str]], form: str) -> str:
    try:
        tree = tomllib.loads(text) if form == "toml" else json.loads(text)
    except ValueError as error:
        raise ScenarioError(f"{file}: {error}") from error
    for path, value in sets:
        *parents, last = path.split(".")
        table = tree
        for name in parents:
            table = table.setdefault(name, {})
        try:
            table[last] = tomllib.loads(f"v = {value}")["v"]
        except tomllib.TOMLDecodeError:
            table[last] = value
    if tree.get("version") != 1:
        raise ScenarioError(f"{file}: `version` is `{tree.get('version')}`; allowed is 1")
    for name, flow in tree["flows"].items():
        for element in flow.get("down", []) + flow.get("up", []):
            if element not in {**tree.get("links", {}), **tree.get("bearers", {})}:
                raise ScenarioError(f"{file}: `flows.{name}` names `{element}`, which is no link, bearer or tap")
    tree.setdefault("duration", "1 h")
    tree.setdefault("until", "workloads_done")
    return json.dumps(tree)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def to_toml(scenario_json: str) -> str:
    return "".join(f"{key} = {_toml(value)}\n" for key, value in json.loads(scenario_json).items())


def template() -> str:
    return (
        'version = 1\nname = "template"\n[links.down]\nrate = "20 Mbit/s"\n[flows.f]\nstack = "quinn"\n'
        'down = ["down"]\nworkload = { kind = "download", size = "1 MB" }\n'
    )


def schema() -> str:
    return json.dumps({"type": "object"})


def _draw(*parts: object) -> float:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6], "big") / 2**48 - 0.5


def run(scenario_json: str, seed: int, base_dir: str, record_dir: str | None) -> RunOutput:
    del base_dir, record_dir
    scenario = json.loads(resolve(scenario_json, "scenario", [], "json"))
    text = json.dumps(scenario, sort_keys=True)
    digest = hashlib.sha256(f"{text}{seed}".encode()).hexdigest()[:32]
    bearer: dict[str, Any] = next(iter(scenario.get("bearers", {}).values()), {})
    batch, shares = bearer.get("batch_packets", 100), bearer.get("shares", [1, 1])
    mbps = 17.0 + 19 * min(shares) / max(*shares, 1) * min(1.0, 250 / batch)
    host: dict[str, Any] = next(iter(scenario.get("hosts", {}).values()), {})
    if host.get("receive_buffer") == "212992 B":
        mbps *= 0.92
    mbps += 0.5 * _draw(seed, batch, tuple(shares))
    losses = [link.get("loss") for link in scenario.get("links", {}).values()]
    failed = any(loss in (1, 1.0, "100 %") for loss in losses)
    flows, elements = {}, {}
    for name, flow in scenario["flows"].items():
        number, unit = flow["workload"].get("size", "1 MB").split()
        size = int(float(number) * {"MB": 1e6, "kB": 1e3, "B": 1}[unit])
        time_s = size * 8 / mbps / 1e6
        flows[name] = {
            "start_s": 0.0,
            "finish_s": None if failed else time_s,
            "completed": not failed,
            "failed": failed,
            "delivered_bytes": 0 if failed else size,
            "download_time_s": None if failed else time_s,
            "goodput_mbps": 0.0 if failed else mbps,
            "sender": {"packets_lost": 3},
            "receiver": {"packets_received": size // 1200},
        }
    for name in scenario.get("links", {}):
        zero = {"packets": 0, "bytes": 0}
        elements[name] = dict.fromkeys(("received", "created", "sent", "dropped", "consumed", "held"), zero) | {
            "statistics": {}
        }
    result = {
        "schema": "quiclab.run/1",
        "scenario": scenario,
        "seed": seed,
        "lane": "sim",
        "versions": {"quiclab": "0.1.0", "commit": "fake", "stacks": {"quinn": "0"}},
        "digest": digest,
        "run": {"network_time_s": 1.0, "ended_by": "workloads_done", "events": 10},
        "flows": flows,
        "elements": elements,
        "warnings": [],
    }
    series: dict[str, Any] = {}
    if scenario.get("record", {}).get("series_interval"):
        series = {
            "time_ns": array("q", [0, 10]).tobytes(),
            "element": array("I", [0, 0]).tobytes(),
            "metric": array("I", [0, 1]).tobytes(),
            "value": array("d", [1.5, 2.5]).tobytes(),
            "element_names": ["down1"],
            "metric_names": ["queue_packets", "cwnd_bytes"],
        }
    packets: dict[str, Any] = {}
    if scenario.get("record", {}).get("packets"):
        packets = {
            "time_ns": array("q", [5]).tobytes(),
            "element": array("I", [0]).tobytes(),
            "event": array("B", [2]).tobytes(),
            "port": array("B", [0]).tobytes(),
            "flow": array("I", [0]).tobytes(),
            "direction": array("B", [0]).tobytes(),
            "size_bytes": array("I", [1308]).tobytes(),
            "packet_id": array("Q", [7]).tobytes(),
            "element_names": ["down1"],
            "flow_names": ["dc"],
        }
    return RunOutput(json.dumps(result), series, packets)


def first_difference(
    scenario_a: str, seed_a: int, scenario_b: str, seed_b: int, base_dir_a: str, base_dir_b: str
) -> str:
    del base_dir_a, base_dir_b
    if (json.loads(scenario_a), seed_a) == (json.loads(scenario_b), seed_b):
        return json.dumps({"identical": True, "index": None, "a": None, "b": None})
    event = {"time_ns": 1, "element": "down1", "event": "arrival", "port": 0, "flow": "dc", "size_bytes": 1308}
    return json.dumps({"identical": False, "index": 3, "a": event, "b": None})
