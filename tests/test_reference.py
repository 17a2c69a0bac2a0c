"""The reference of the scenario file: its tables are those of the schema, its limits those of the engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import ROOT, has_stack, tool
from quiclab import RequestError, load, run
from quiclab.native import engine
from quiclab.stacks import catalogue

scenario_reference = tool("scenario_reference")

EVERYTHING = """\
version = 1
name = "everything"
duration = "10 s"

[links.a]
rate = "20 Mbit/s"
queue = { kind = "drop_tail", packets = 1000 }

[links.b]
rate = "20 Mbit/s"

[links.c]

[bearers.dc]
links = ["a", "b"]

[hosts.phone]

[flows.main]
stack = "quinn"
receiver = { host = "phone" }
down = ["dc"]
up = ["c"]
workload = { kind = "download", size = "1 kB" }
"""

TRACE = str(ROOT / "scenarios/traces/cellular.mahimahi")
NORMAL = '{ mean = "1 ms", deviation = "1 us", distribution = "normal"'
NINE = str([f"l{index}" for index in range(9)])
QUEUES = ("head_drop", "codel", "fq_codel")
DATAGRAMS = {"rate": "1 Mbit/s", "size": "1 kB", "duration": "100 ms"}


def tcp(**options: str) -> dict[str, str]:
    """Return the changes that give the sender, on lab-tcp, these options."""
    return {"flows.main.stack": "lab-tcp", **{f"flows.main.sender.{name}": value for name, value in options.items()}}


def tcp_limits(name: str, taken: list[str], refused: list[str]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return changes of one TCP option that are taken, and that are refused."""
    taking, refusing = ([tcp(tcp=f'{{ {name} = "{value}" }}') for value in values] for values in (taken, refused))
    return taking, refusing


def tls(certificate: str) -> dict[str, str]:
    """Return the changes that give both ends, on lab-tcp, TLS with a certificate chain of this length."""
    table = f'{{ version = "1.3", certificate = "{certificate}" }}'
    return {**tcp(tls=table), "flows.main.receiver.tls": table}


def quic(**options: str) -> dict[str, str]:
    """Return the changes that give the sender, on lab-quic, these options."""
    return {"flows.main.stack": "lab-quic", **{f"flows.main.sender.{name}": value for name, value in options.items()}}


def quic_limits(name: str, taken: list[str], refused: list[str]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return changes of one QUIC option, as TOML, that are taken, and that are refused."""
    taking, refusing = ([quic(quic=f"{{ {name} = {value} }}") for value in values] for values in (taken, refused))
    return taking, refusing


def scheduler_limits(
    kind: str, taken: list[str], refused: list[str]
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return changes of a path scheduler, with one field as TOML, that are taken, and that are refused."""
    tables = ([f'{{ kind = "{kind}", {field} }}' for field in fields] for fields in (taken, refused))
    return quic_limits("path_scheduler", *tables)


def acknowledgement(kind: str, field: str) -> dict[str, str]:
    """Return the changes that give the sender, on lab-quic, a policy of this kind with this field, as TOML."""
    return quic(quic=f'{{ acknowledgement = {{ kind = "{kind}", {field} }} }}')


def bucket(field: str) -> dict[str, str]:
    """Return the changes that give the sender, on lab-quic, a leaky bucket with this field, as TOML."""
    return quic(pacing=f'{{ kind = "leaky_bucket", {field} }}')


def quic_tls(table: str) -> dict[str, str]:
    """Return the changes that give both ends, on lab-quic, this TLS."""
    return {**quic(tls=table), "flows.main.receiver.tls": table}


def resource(**fields: str) -> dict[str, str]:
    """Return the changes that load a page with one resource; fields as TOML."""
    items = {"size": '"1 kB"', **fields}
    table = ", ".join(f"{name} = {value}" for name, value in items.items())
    return page(resources=f"[{{ {table} }}]")


def page(**fields: str) -> dict[str, str]:
    """Return the changes that load a page over lab-quic; fields as TOML."""
    items = {"html": '"1 kB"', "objects": "[]", **fields}
    table = ", ".join(f"{name} = {value}" for name, value in items.items())
    return {"flows.main.stack": "lab-quic", "flows.main.workload": f'{{ kind = "page", {table} }}'}


def transfer(stack: str, kind: str, **fields: str | int) -> dict[str, str]:
    """Return the changes that make another stack and workload."""
    items = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    return {"flows.main.stack": stack, "flows.main.workload": f'{{ kind = "{kind}", {", ".join(items)} }}'}


def queue(kind: str, **fields: str | int) -> dict[str, str]:
    """Return the changes that give the first link another queue, for a short run."""
    items = "".join(f", {name} = {json.dumps(value)}" for name, value in fields.items())
    return {"links.a.queue": f'{{ kind = "{kind}"{items} }}', "duration": "1 s"}


def media_limits(
    name: str, taken: list[str | int], refused: list[str | int]
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return changes that send media, with one field that is taken, and that is refused."""
    given: dict[str, str | int] = {"max_rate": "2 Mbit/s", "duration": "100 ms"}
    taking, refusing = (
        [transfer("lab-udp", "media", **{**given, name: value}) for value in values] for values in (taken, refused)
    )
    return taking, refusing


def adaptive(kind: str, **fields: str | int) -> dict[str, str]:
    """Return the changes that give the bearer a splitter with feedback of both links."""
    items = "".join(f", {name} = {json.dumps(value)}" for name, value in fields.items())
    links = {f"links.{name}.feedback": "{}" for name in "ab"}
    return {**links, "bearers.dc.splitter": f'{{ kind = "{kind}"{items} }}'}


def timer(**fields: str | float) -> dict[str, str]:
    """Return the change to a t-Reordering that adapts."""
    items = "".join(f", {name} = {json.dumps(value)}" for name, value in fields.items())
    return {"bearers.dc.reordering.timer": f'{{ kind = "adaptive"{items} }}'}


FIXED = '{ congestion_control = "fixed" }'


def tunnel(**fields: str) -> dict[str, str]:
    """Return the changes that add a tunnel over two paths and a flow through it; fields as TOML."""
    given = {
        "stack": '"lab-quic"',
        "paths": '[{ down = ["t1"], up = ["u1"] }, { down = ["t2"], up = ["u2"] }]',
        **fields,
    }
    links = {f"links.{name}": "{}" for name in ("t1", "t2", "u1", "u2")}
    inner = 'stack = "lab-tcp", down = ["vpn"], up = ["vpn"], workload = { kind = "download", size = "1 kB" }'
    table = ", ".join(f"{name} = {value}" for name, value in given.items())
    return {**links, "tunnels.vpn": f"{{ {table} }}", "flows.inner": f"{{ {inner} }}"}


#: For each entry of ALLOWED: changes that are taken, and changes that are refused.
LIMITS: dict[str, tuple[list[dict[str, str]], list[dict[str, str]]]] = {
    "Scenario.version": ([{"version": "1"}], [{"version": "0"}, {"version": "2"}]),
    "Scenario.name": ([{"name": "x"}], [{"name": '" "'}]),
    "Scenario.duration": ([{"duration": "1 ns"}], [{"duration": "0 s"}]),
    "Scenario.flows": ([], [{"flows": "{}"}]),
    "Until.delivered": ([{"until.delivered": "1 B"}], [{"until.delivered": "0 B"}]),
    "Link.rate": ([{"links.a.rate": "1 kbit/s"}], [{"links.a.rate": "0 bit/s"}]),
    "Link.feedback": (
        [{"links.a.feedback": "{}"}],
        [{"links.c.feedback": "{}"}, {"links.b": "{ feedback = {} }"}],
    ),
    "Feedback.interval": ([{"links.a.feedback.interval": "1 ms"}], [{"links.a.feedback.interval": "0 ms"}]),
    "Feedback.desired_buffer": (
        [{"links.a.feedback.desired_buffer": "1 ms"}],
        [{"links.a.feedback.desired_buffer": "0 ms"}],
    ),
    "Queue.packets": (
        [{"links.a.queue.packets": "1"}, *(queue(kind, packets=1) for kind in QUEUES)],
        [{"links.a.queue.packets": "0"}, *(queue(kind, packets=0) for kind in QUEUES)],
    ),
    "Queue.bytes": ([{"links.a.queue.bytes": "1 B", "duration": "1 s"}], [{"links.a.queue.bytes": "0 B"}]),
    "Queue.time": ([{"links.a.queue.time": "1 ns", "duration": "1 s"}], [{"links.a.queue.time": "0 s"}]),
    "Queue.memory": ([queue("fq_codel", memory="1 B")], [queue("fq_codel", memory="0 B")]),
    "Queue.drop_batch": ([queue("fq_codel", drop_batch=1)], [queue("fq_codel", drop_batch=0)]),
    "Queue.flows": (
        [queue("fq_codel", flows=1), queue("fq_codel", flows=65536)],
        [queue("fq_codel", flows=0), queue("fq_codel", flows=65537)],
    ),
    "Queue.quantum": (
        [queue("fq_codel", quantum="256 B"), queue("fq_codel", quantum="1 MiB")],
        [queue("fq_codel", quantum="255 B"), queue("fq_codel", quantum="1048577 B")],
    ),
    "Queue.target": (
        [queue("codel", target="99.9 ms"), queue("fq_codel", target="0 ms")],
        [queue("codel", target="100 ms"), queue("fq_codel", target="1 s")],
    ),
    "Queue.interval": (
        [queue("codel", interval="5.1 ms")],
        [queue("codel", interval="0 s", target="0 s"), queue("fq_codel", interval="0 s")],
    ),
    "Loss.good_to_bad": (
        [{"links.a.loss": '{ kind = "gilbert_elliott", good_to_bad = 0, bad_to_good = 1, loss_in_bad = 1 }'}],
        [{"links.a.loss": '{ kind = "gilbert_elliott", good_to_bad = 0, bad_to_good = 0, loss_in_bad = 1 }'}],
    ),
    "Hold.packet": (
        [{"links.a.holds": '[{ packet = 1, by = "1 ms" }, { packet = 0, by = "1 ms" }]'}],
        [{"links.a.holds": '[{ packet = 1, by = "1 ms" }, { packet = 1, by = "2 ms" }]'}],
    ),
    "Hold.by": (
        [{"links.a.holds": '[{ packet = 1, by = "1 ns" }]'}],
        [{"links.a.holds": '[{ packet = 1, by = "0 ms" }]'}],
    ),
    "Hold.behind": (
        [{"links.a.holds": '[{ packet = 1, by = "1 ms", behind = 1 }]'}],
        [{"links.a.holds": '[{ packet = 1, by = "1 ms", behind = 0 }]'}],
    ),
    "Delay.deviation": (
        [{"links.a.delay": f"{NORMAL} }}"}],
        [
            {"links.a.delay": '{ mean = "1 ms", distribution = "normal" }'},
            {"links.a.delay": '{ mean = "1 ms", deviation = "1 us" }'},
        ],
    ),
    "Delay.reorder": (
        [{"links.a.delay": f"{NORMAL}, reorder = true }}"}],
        [{"links.a.delay": '{ mean = "1 ms", reorder = true }'}],
    ),
    "Delay.every": (
        [{"links.a.delay": f'{NORMAL}, every = "10 us" }}'}],
        [{"links.a.delay": f'{NORMAL}, every = "9 us" }}'}, {"links.a.delay": '{ mean = "1 ms", every = "1 s" }'}],
    ),
    "Delay.steps": (
        [{"links.a.delay": f'{NORMAL}, every = "1 s", steps = {steps} }}'} for steps in (1, 1000)],
        [
            *({"links.a.delay": f'{NORMAL}, every = "1 s", steps = {steps} }}'} for steps in (0, 1001)),
            {"links.a.delay": f"{NORMAL}, steps = 2 }}"},
        ],
    ),
    "ShapedRate.rate": (
        [{"links.a.rate": '{ kind = "token_bucket", rate = "1 kbit/s", burst = "2 kB" }'}],
        [{"links.a.rate": '{ kind = "token_bucket", rate = "0 bit/s", burst = "2 kB" }'}],
    ),
    "ShapedRate.burst": (  # 1200 B of datagram, 28 B of IP and UDP, 2 B of PDCP
        [{"links.a.rate": '{ kind = "token_bucket", rate = "1 Mbit/s", burst = "1230 B" }'}],
        [{"links.a.rate": '{ kind = "token_bucket", rate = "1 Mbit/s", burst = "1229 B" }'}],
    ),
    "ShapedRate.at_end": (
        [{"links.a.rate": f'{{ kind = "trace", file = "{TRACE}", format = "mahimahi", at_end = "stop" }}'}],
        [{"links.a.rate": f'{{ kind = "trace", file = "{TRACE}", format = "mahimahi", at_end = "hold" }}'}],
    ),
    "Bearer.links": (
        [
            {"bearers.dc.links": '["a"]', "flows.main.up": '["b", "c"]'},
            {
                **{f"links.l{i}": "{}" for i in range(8)},
                "bearers.dc.links": NINE[:-6] + "]",
                "flows.main.up": '["a", "b", "c"]',
            },
        ],
        [
            {"bearers.dc.links": "[]"},
            {"bearers.dc.links": '["a", "a"]'},
            {**{f"links.l{i}": "{}" for i in range(9)}, "bearers.dc.links": NINE},
        ],
    ),
    "Bearer.batch_packets": (
        [{"bearers.dc.batch_packets": "1"}, {"bearers.dc.batch_packets": "65535"}],
        [{"bearers.dc.batch_packets": "0"}, {"bearers.dc.batch_packets": "65536"}],
    ),
    "Bearer.shares": (
        [{"bearers.dc.shares": "[0, 1]"}, {"bearers.dc.mode": "duplicate"}],
        [
            {"bearers.dc.shares": "[1]"},
            {"bearers.dc.shares": "[0, 0]"},
            {"bearers.dc.shares": "[1, 1]", "bearers.dc.mode": "duplicate"},
        ],
    ),
    "Bearer.splitter": (
        [adaptive("proportional"), adaptive("least_expected_arrival"), adaptive("flow_control")],
        [
            {"bearers.dc.splitter.kind": "proportional"},
            {**adaptive("proportional"), "bearers.dc.mode": "duplicate"},
        ],
    ),
    "Bearer.duplication": (
        [{"bearers.dc.duplication": "20 %"}, {**adaptive("proportional"), "bearers.dc.duplication": "1"}],
        [
            {"bearers.dc.duplication": "1", "bearers.dc.mode": "duplicate"},
            {**adaptive("flow_control"), "bearers.dc.duplication": "1 %"},
        ],
    ),
    "Splitter.start_rate": (
        [adaptive("proportional", start_rate="1 bit/s")],
        [adaptive("least_expected_arrival", start_rate="0 bit/s")],
    ),
    "Splitter.smoothing": (
        [adaptive("proportional", smoothing="60 min")],
        [adaptive("proportional", smoothing="0 s"), adaptive("least_expected_arrival", smoothing="61 min")],
    ),
    "Splitter.floor": (
        [adaptive("proportional", floor="50 %")],
        [adaptive("proportional", floor="51 %"), adaptive("proportional", floor="0 %")],
    ),
    "Splitter.probe_interval": (
        [adaptive("least_expected_arrival", probe_interval="1 ns")],
        [adaptive("least_expected_arrival", probe_interval="0 ns")],
    ),
    "Splitter.queue_packets": (
        [adaptive("flow_control", queue_packets=1)],
        [adaptive("flow_control", queue_packets=0)],
    ),
    "Splitter.start_buffer": (
        [adaptive("flow_control", start_buffer="1 B")],
        [adaptive("flow_control", start_buffer="0 B")],
    ),
    "TimerRule.least": ([timer(least="200 ms"), timer(least="0 s")], [timer(least="201 ms")]),
    "TimerRule.most": ([timer(most="60 min")], [timer(most="0 s", least="0 s"), timer(most="61 min")]),
    "TimerRule.window": ([timer(window="60 min")], [timer(window="0 s"), timer(window="61 min")]),
    "TimerRule.factor": ([timer(factor=1), timer(factor=100)], [timer(factor=0.9), timer(factor=101)]),
    "Reordering.sequence_bits": (
        [{"bearers.dc.reordering.sequence_bits": bits} for bits in ("12", "16", "18")],
        [{"bearers.dc.reordering.sequence_bits": bits} for bits in ("11", "17")],
    ),
    "Tunnel.stack": ([tunnel(), tunnel(stack='"noq"')], [tunnel(stack='"quinn"')]),
    "Tunnel.pipeline": (
        [tunnel(pipeline='{ kind = "pquic" }')],
        [tunnel(pipeline='{ kind = "pquic" }', stack='"noq"')],
    ),
    "Tunnel.queue": (
        [tunnel(queue='{ kind = "drop_tail", packets = 9 }')],
        [tunnel(queue='{ kind = "drop_tail", time = "1 s" }')],
    ),
    "Tunnel.scheduler": (
        [tunnel(scheduler='"redundant"', resequencing='"9 ms"')],
        [tunnel(scheduler='"redundant"')],
    ),
    "Tunnel.mtu": (
        [tunnel(mtu='"576 B"'), tunnel(mtu='"1416 B"')],
        [tunnel(mtu='"575 B"'), tunnel(mtu='"1417 B"'), tunnel(mtu='"65001 B"')],
    ),
    "Tunnel.resequencing": ([tunnel(resequencing='"1 ns"')], [tunnel(resequencing='"0 s"')]),
    "Tunnel.windows": (
        [tunnel(windows='["9 kB", "1 B"]', server=FIXED, client=FIXED)],
        [
            tunnel(windows='["9 kB"]', server=FIXED, client=FIXED),
            tunnel(windows='["9 kB", "0 B"]', server=FIXED, client=FIXED),
            tunnel(windows='["9 kB", "9 kB"]'),
        ],
    ),
    "Tunnel.paths": (
        [tunnel()],
        [
            tunnel(paths="[]"),
            tunnel(paths='[{ down = ["t1"], up = ["u1"] }, { down = ["t1"], up = ["u2"] }]'),
        ],
    ),
    "Host.receive_buffer": ([{"hosts.phone.receive_buffer": "1 B"}], [{"hosts.phone.receive_buffer": "0 B"}]),
    "Host.truesize": ([{"hosts.phone.truesize": "1 B"}], [{"hosts.phone.truesize": "0 B"}]),
    "Host.receive_batch": ([{"hosts.phone.receive_batch": "1"}], [{"hosts.phone.receive_batch": "0"}]),
    "Host.send_batch": ([{"hosts.phone.send_batch": "1"}], [{"hosts.phone.send_batch": "0"}]),
    "Host.timer_slack": (
        [{"hosts.phone.timer_slack": f"{NORMAL} }}"}],
        [
            {"hosts.phone.timer_slack": f"{NORMAL}, reorder = true }}"},
            {"hosts.phone.timer_slack": f'{NORMAL}, every = "1 s" }}'},
        ],
    ),
    "Host.wake_up": (
        [{"hosts.phone.wake_up": f"{NORMAL} }}"}],
        [
            {"hosts.phone.wake_up": f"{NORMAL}, reorder = true }}"},
            {"hosts.phone.wake_up": f'{NORMAL}, every = "1 s" }}'},
        ],
    ),
    "Flow.start": ([{"flows.main.start": "9 s"}], [{"flows.main.start": "10 s"}]),
    "Flow.down": (
        [{"flows.main.down": '["a"]', "flows.main.up": '["dc", "c"]'}],
        [
            {"flows.main.down": "[]"},
            {"flows.main.down": '["a", "a"]'},
            {"flows.main.down": '["a", "dc"]'},
            {"wires": '[{ from = "main.sender.0", to = "a.0" }]'},
        ],
    ),
    "Flow.up": (
        [{"flows.main.up": '["dc"]', "flows.main.down": '["c"]'}],
        [{"flows.main.up": "[]"}, {"flows.main.up": '["c", "c"]'}],
    ),
    "Flow.plugins": (
        [{"flows.main.plugins": "[]"}],
        [{"flows.main.plugins": '["absent"]'}, {"flows.main.plugins": '["one-connection", "one-connection"]'}],
    ),
    "Plugin.exchanges": (
        [{"plugins.p.exchanges": '[{ operation = "time_threshold", replace = 2 }]', "flows.main.plugins": '["p"]'}],
        [{"plugins.p.exchanges": "[]"}],
    ),
    "Exchange.operation": (
        [{"plugins.p.exchanges": '[{ operation = "compute.path", after = "m:f" }]'}],
        [{"plugins.p.exchanges": '[{ operation = "path", after = "m:f" }]'}],
    ),
    "EndpointConfig.stack": ([{"flows.main.sender.stack": "noq"}], [{"flows.main.sender.stack": "absent"}]),
    "EndpointConfig.profile": ([], [{"flows.main.sender.profile": "aioquic"}]),  # taken: test_profiles_are_taken
    "EndpointConfig.host": ([{"flows.main.sender.host": "phone"}], [{"flows.main.sender.host": "absent"}]),
    "EndpointConfig.datagram_size": (
        [
            {"flows.main.sender.datagram_size": "1200 B"},
            {"flows.main.sender.datagram_size": "65507 B", "flows.main.sender.initial_window": "1 MB"},
        ],
        [
            {"flows.main.sender.datagram_size": "1199 B"},
            {"flows.main.sender.datagram_size": "65508 B", "flows.main.sender.initial_window": "1 MB"},
        ],
    ),
    "EndpointConfig.initial_window": (
        [
            {"flows.main.sender.initial_window": "1201 B"},
            {"flows.main.sender.initial_window": "4294967295 B"},
            tcp(initial_window="1448 B"),
            tcp(initial_window="1 GiB"),
        ],
        [
            {"flows.main.sender.initial_window": "1200 B"},
            {"flows.main.sender.initial_window": "4 GiB"},
            tcp(initial_window="1447 B"),
            tcp(initial_window="1073741825 B"),
        ],
    ),
    **{
        f"EndpointConfig.{window}": (
            [{f"flows.main.sender.{window}": "1 B", f"flows.main.receiver.{window}": "10 kB"}],
            [{f"flows.main.receiver.{window}": "0 B"}],
        )
        for window in ("stream_receive_window", "connection_receive_window", "send_window")
    },
    "EndpointConfig.packet_threshold": (
        [{"flows.main.sender.packet_threshold": "3"}],
        [{"flows.main.sender.packet_threshold": "2"}],
    ),
    "EndpointConfig.time_threshold": (
        [{"flows.main.sender.time_threshold": "1"}, {"flows.main.sender.time_threshold": "1000.0"}],
        [{"flows.main.sender.time_threshold": "0.9"}, {"flows.main.sender.time_threshold": "1001"}],
    ),
    "EndpointConfig.initial_rtt": (
        [{"flows.main.sender.initial_rtt": "1 us"}, {"flows.main.sender.initial_rtt": "30 s"}],
        [{"flows.main.sender.initial_rtt": "999 ns"}, {"flows.main.sender.initial_rtt": "31 s"}],
    ),
    "AckFrequency.max_ack_delay": (
        [
            {"flows.main.sender.ack_frequency": f'{{ ack_eliciting_threshold = 5, max_ack_delay = "{delay}" }}'}
            for delay in ("1 ms", "16383 ms")
        ],
        [
            {"flows.main.sender.ack_frequency": f'{{ ack_eliciting_threshold = 5, max_ack_delay = "{delay}" }}'}
            for delay in ("999 us", "16384 ms")
        ],
    ),
    "EndpointConfig.emulated_connections": (
        [{"flows.main.sender.emulated_connections": "1"}, {"flows.main.sender.emulated_connections": "2"}],
        [
            {"flows.main.sender.emulated_connections": "0"},
            {"flows.main.sender.emulated_connections": "2", "flows.main.sender.congestion_control": "bbr-linux"},
            {"flows.main.sender.emulated_connections": "2", "flows.main.sender.congestion_control": "fixed"},
        ],
    ),
    "EndpointConfig.slow_start_exit": (
        [
            {"flows.main.sender.slow_start_exit": "none", "flows.main.sender.congestion_control": "newreno"},
            {"flows.main.sender.slow_start_exit": "hystart-plus-plus"},
        ],
        [{"flows.main.sender.slow_start_exit": "hystart-linux", "flows.main.sender.congestion_control": "fixed"}],
    ),
    "EndpointConfig.pacing": (
        [tcp(pacing='{ kind = "none" }')],
        [tcp(pacing='{ kind = "none" }', congestion_control="bbr-linux"), {"flows.main.sender.pacing": "none"}],
    ),
    "Pacing.factor": (
        [tcp(pacing=f'{{ kind = "even", factor = {factor} }}') for factor in ("0.01", "10")],
        [tcp(pacing='{ kind = "even", factor = 0.009 }'), tcp(pacing='{ kind = "leaky_bucket", factor = 10.1 }')],
    ),
    "Pacing.burst_packets": (
        [tcp(pacing='{ kind = "leaky_bucket", burst_packets = 1 }')],
        [tcp(pacing='{ kind = "leaky_bucket", burst_packets = 0 }')],
    ),
    "Pacing.slow_start_factor": (
        [bucket("slow_start_factor = 2")],
        [bucket("slow_start_factor = 0"), bucket("slow_start_factor = 11")],
    ),
    "Pacing.burst_share": (
        [bucket("burst_share = 0.25"), bucket("burst_share = 1.0")],
        [bucket("burst_share = 0.0"), bucket("burst_share = 1.1")],
    ),
    "Pacing.burst_time": (
        [bucket('burst_time = "2 ms"')],
        [bucket('burst_time = "0 s"'), bucket('burst_time = "2 s"')],
    ),
    "Pacing.idle_burst_packets": ([bucket("idle_burst_packets = 1")], [bucket("idle_burst_packets = 0")]),
    "Pacing.quantum": (
        [tcp(pacing='{ kind = "quantum", quantum = "1 ns" }')],
        [tcp(pacing='{ kind = "quantum", quantum = "0 s" }')],
    ),
    "Pacing.max_rate": (
        [tcp(pacing='{ kind = "linux", max_rate = "1 Mbit/s" }')],
        [tcp(pacing=f'{{ kind = "{kind}", max_rate = "0 bit/s" }}') for kind in ("linux", "fq")],
    ),
    "TcpOptions.mss": tcp_limits("mss", ["88 B", "9148 B"], ["87 B", "9149 B"]),
    "TcpOptions.receive_buffer": (
        [
            tcp(tcp='{ receive_buffer = "50 kB", max_receive_buffer = "50 kB" }'),
            tcp(tcp='{ receive_buffer = "4 KiB", max_receive_buffer = "4 KiB" }'),
        ],
        [
            tcp(tcp='{ receive_buffer = "50001 B", max_receive_buffer = "50 kB" }'),
            tcp(tcp='{ receive_buffer = "4095 B" }'),
        ],
    ),
    "TcpOptions.max_receive_buffer": tcp_limits("max_receive_buffer", ["1048560 KiB"], ["4095 B", "1048561 KiB"]),
    "TcpOptions.max_send_buffer": tcp_limits("max_send_buffer", ["4 KiB", "1048560 KiB"], ["4095 B", "1048561 KiB"]),
    "TcpOptions.min_rto": tcp_limits("min_rto", ["1 ms", "2 min"], ["999 us", "121 s"]),
    "TcpOptions.initial_rto": tcp_limits("initial_rto", ["1 ms", "2 min"], ["999 us", "121 s"]),
    "TcpOptions.min_delayed_ack": (
        [tcp(tcp='{ min_delayed_ack = "40 ms", max_delayed_ack = "40 ms" }')],
        [tcp(tcp='{ min_delayed_ack = "41 ms", max_delayed_ack = "40 ms" }'), tcp(tcp='{ min_delayed_ack = "0 s" }')],
    ),
    "TcpOptions.max_delayed_ack": tcp_limits("max_delayed_ack", ["200 ms", "2 min"], ["0 s", "121 s"]),
    "TcpOptions.compressed_ack_delay": tcp_limits("compressed_ack_delay", ["0 s", "2 min"], ["121 s"]),
    "TcpOptions.dsack": (
        [tcp(tcp="{ sack = true, dsack = true }"), tcp(tcp="{ sack = false, dsack = false }")],
        [tcp(tcp="{ sack = false, dsack = true }")],
    ),
    "TcpOptions.reordering": (
        [tcp(tcp="{ reordering = 3, max_reordering = 3 }")],
        [tcp(tcp="{ reordering = 4, max_reordering = 3 }"), tcp(tcp="{ reordering = 2 }")],
    ),
    "TcpOptions.max_reordering": ([tcp(tcp="{ max_reordering = 300 }")], [tcp(tcp="{ max_reordering = 2 }")]),
    "TcpOptions.gso_segments": (
        [tcp(tcp="{ gso_segments = 1 }")],
        [tcp(tcp="{ gso_segments = 0 }"), tcp(tcp="{ gso_segments = 65536 }")],
    ),
    "QuicOptions.connection_id": quic_limits("connection_id", ['"0 B"', '"20 B"'], ['"21 B"']),
    "QuicOptions.packet_number": quic_limits("packet_number", ['"1 B"', '"4 B"'], ['"0 B"', '"5 B"']),
    "QuicOptions.ack_ranges": quic_limits("ack_ranges", ["1"], ["0"]),
    "QuicOptions.max_ack_delay": quic_limits("max_ack_delay", ['"25 ms"', '"16383 ms"'], ['"24 ms"', '"16384 ms"']),
    "QuicOptions.probe_packets": quic_limits("probe_packets", ["1", "2"], ["0", "3"]),
    "QuicOptions.max_window": quic_limits("max_window", ['"12 kB"'], ['"11999 B"']),
    "QuicOptions.max_streams": quic_limits("max_streams", ["1", str(2**60)], ["0", str(2**60 + 1)]),
    "QuicOptions.max_stream_receive_window": quic_limits("max_stream_receive_window", ['"16 MiB"'], ['"16 MB"']),
    "QuicOptions.max_connection_receive_window": quic_limits(
        "max_connection_receive_window", ['"24 MiB"'], ['"24 MB"']
    ),
    "QuicOptions.idle_timeout": quic_limits("idle_timeout", ['"1 ms"', '"1440 min"'], ['"0 s"', '"1441 min"']),
    "PathSchedulerKind.weights": scheduler_limits(
        "weighted_round_robin", ["weights = [3]"], ["weights = []", "weights = [0]", "weights = [1, 1]"]
    ),
    "PathSchedulerKind.penalise_above": scheduler_limits(
        "lowest_rtt", ['penalise_above = "1 B"'], ['penalise_above = "0 B"']
    ),
    "PathSchedulerKind.order": scheduler_limits("cheapest_first", ["order = [0]"], ["order = [0, 0]", "order = [1]"]),
    "PathSchedulerKind.scaling": scheduler_limits("blest", ["scaling = 100"], ["scaling = 0", "scaling = 101"]),
    "PathSchedulerKind.send_window": scheduler_limits("blest", ['send_window = "1 B"'], ['send_window = "0 B"']),
    "PathSchedulerKind.hysteresis": scheduler_limits("ecf", ["hysteresis = 0", "hysteresis = 1"], ["hysteresis = 1.1"]),
    "PathSchedulerKind.patience": scheduler_limits("earliest_arrival", ['patience = "1 s"'], ['patience = "1001 ms"']),
    "Acknowledgement.packets": (
        [acknowledgement("every", "packets = 1")],
        [acknowledgement(kind, "packets = 0") for kind in ("every", "rtt_fraction")],
    ),
    "Acknowledgement.delay": (
        [acknowledgement("timer", 'delay = "0 s"'), acknowledgement("timer", 'delay = "16383 ms"')],
        [acknowledgement("timer", 'delay = "16384 ms"')],
    ),
    "Acknowledgement.fraction": (
        [acknowledgement("rtt_fraction", f"fraction = {fraction}") for fraction in ("0.001", "1.0")],
        [acknowledgement("rtt_fraction", f"fraction = {fraction}") for fraction in ("0.0009", "1.1")],
    ),
    **{
        f"Http2Options.{name}": ([], [tcp(http2=f"{{ {name} = {value} }}") for value in values])
        for name, values in (
            ("stream_window", ('"0 B"', '"2 GiB"')),
            ("connection_window", ('"0 B"', '"2 GiB"')),
            ("max_streams", ("0",)),
            ("frame_size", ('"0 B"', '"16 MiB"')),
        )
    },
    "Tls.version": ([quic_tls('{ version = "1.3" }')], [quic_tls('{ version = "1.2" }')]),
    "Tls.early_data": (
        [quic_tls('{ version = "1.3", resumption = true, early_data = "accepted" }')],
        [
            quic_tls('{ version = "1.3", early_data = "accepted" }'),
            tcp(tls='{ version = "1.3", resumption = true, early_data = "accepted" }'),
        ],
    ),
    "Tls.certificate": (
        [tls("0 B"), tls("64 KiB")],
        [tls("65537 B")],
    ),
    "Workload.request_response.count": (
        [transfer("lab-tcp", "request_response", count=1, response="1 kB")],
        [transfer("lab-tcp", "request_response", count=0, response="1 kB")],
    ),
    "Workload.request_response.request": (
        [transfer("lab-tcp", "request_response", count=1, response="1 kB", request="1 B")],
        [transfer("lab-tcp", "request_response", count=1, response="1 kB", request="0 B")],
    ),
    "Workload.request_response.response": (
        [transfer("lab-tcp", "request_response", count=2, response="1 B")],
        [transfer("lab-tcp", "request_response", count=2, response="0 B")],
    ),
    **{
        f"Workload.datagrams.{field}": (
            [transfer("lab-udp", "datagrams", **{**DATAGRAMS, **taken})],
            [transfer("lab-udp", "datagrams", **{**DATAGRAMS, **refused})],
        )
        for field, taken, refused in (
            ("rate", {"rate": "1 kbit/s"}, {"rate": "0 bit/s"}),
            ("size", {"size": "1 B", "rate": "8 kbit/s"}, {"size": "65508 B"}),
            ("duration", {"duration": "10 ms"}, {"duration": "0 s"}),
            ("on", {"on": "10 ms", "off": "10 ms"}, {"on": "10 ms"}),
            ("off", {"on": "1 ms", "off": "1 ms"}, {"on": "1 ms", "off": "0 s"}),
        )
    },
    "Workload.page.html": ([page(html='"1 B"')], [page(html='"0 B"')]),
    "Workload.page.request": ([page(request='"1 B"')], [page(request='"0 B"')]),
    "Workload.page.response": ([page(response='"1 B"')], [page(response='"0 B"')]),
    "Workload.page.resources": (
        [page(resources='[{ size = "1 B" }]')],
        [page(objects='[{ count = 1, size = "1 B" }]', resources='[{ size = "1 B" }]')],
    ),
    "PageResource.size": ([resource(size='"1 B"')], [resource(size='"0 B"')]),
    "PageResource.after": ([resource(after="[0]")], [resource(after="[]"), resource(after="[1]")]),
    "PageResource.origin": ([resource(origin="1"), resource(origin="255")], [resource(origin="256")]),
    "PageResource.request": ([resource(request='"1 B"')], [resource(request='"0 B"')]),
    "PageResource.response": ([resource(response='"1 B"')], [resource(response='"0 B"')]),
    "PageObjects.count": (
        [page(objects='[{ count = 1, size = "1 B" }]')],
        [page(objects='[{ count = 0, size = "1 B" }]')],
    ),
    "PageObjects.size": (
        [page(objects='[{ count = 2, size = "1 B" }]')],
        [page(objects='[{ count = 1, size = "0 B" }]')],
    ),
    "Workload.ping.count": ([transfer("lab-udp", "ping", count=1)], [transfer("lab-udp", "ping", count=0)]),
    "Workload.ping.size": (
        [transfer("lab-udp", "ping", count=1, size="1 B")],
        [transfer("lab-udp", "ping", count=1, size=size) for size in ("0 B", "65508 B")],
    ),
    "Workload.ping.interval": (
        [transfer("lab-udp", "ping", count=2, interval="1 ms")],
        [transfer("lab-udp", "ping", count=2, interval="0 s")],
    ),
    "Workload.media.start_rate": media_limits("start_rate", ["100 kbit/s", "2 Mbit/s"], ["99 kbit/s", "2001 kbit/s"]),
    "Workload.media.min_rate": media_limits("min_rate", ["1 bit/s"], ["0 bit/s"]),
    "Workload.media.frame_rate": media_limits("frame_rate", [1, 1000], [0, 1001]),
    "Workload.media.packet_size": media_limits("packet_size", ["100 B", "1472 B"], ["99 B", "1473 B"]),
    "Workload.media.target_delay": media_limits("target_delay", ["1 ms"], ["0 s"]),
    "Workload.media.ramp_up_speed": media_limits("ramp_up_speed", ["1 bit/s"], ["0 bit/s"]),
    "Workload.media.duration": media_limits("duration", ["1 ms"], ["0 s"]),
    "Workload.download.size": ([{"flows.main.workload.size": "1 B"}], [{"flows.main.workload.size": "0 B"}]),
    "Workload.download.duration": (
        [{"flows.main.workload": '{ kind = "download", duration = "100 ms" }'}],
        [
            {"flows.main.workload": '{ kind = "download", duration = "0 s" }'},
            {"flows.main.workload": '{ kind = "download" }'},
            {"flows.main.workload.duration": "1 s"},
        ],
    ),
    "Workload.download.request": ([{"flows.main.workload.request": "1 B"}], [{"flows.main.workload.request": "0 B"}]),
    "Wire.from": ([], [{"wires": '[{ from = "a", to = "b.0" }]'}, {"wires": '[{ from = "a.1", to = "b.0" }]'}]),
    "Wire.to": ([], [{"wires": '[{ from = "a.0", to = "b" }]'}, {"wires": '[{ from = "a.0", to = "b.1" }]'}]),
    "Wire.flow": ([], [{"wires": '[{ from = "a.0", to = "b.0", flow = "absent" }]'}]),
    "Wire.direction": ([], [{"wires": '[{ from = "a.0", to = "b.0", direction = "up" }]'}]),
    "Record.series_interval": ([{"record.series_interval": "1 s"}], [{"record.series_interval": "0 s"}]),
}


def test_the_page_is_current() -> None:
    text = scenario_reference.PAGE.read_text(encoding="utf-8")
    made = scenario_reference.page(text, json.loads(engine().schema()))
    assert made == text, "run `python tools/scenario_reference.py --write`"


def test_the_page_of_the_stacks_is_current() -> None:
    pytest.importorskip("aioquic", reason="the page describes the extra aioquic")
    text = scenario_reference.STACKS_PAGE.read_text(encoding="utf-8")
    stacks = catalogue()
    assert set(scenario_reference.OPTIONS_BLOCK.findall(text)) == {stack["name"] for stack in stacks}
    assert scenario_reference.stacks_page(text, stacks) == text, "run `python tools/scenario_reference.py --write`"


def test_the_page_of_the_plugins_is_current() -> None:
    text = scenario_reference.PLUGINS_PAGE.read_text(encoding="utf-8")
    known = json.loads(engine().plugins())
    assert scenario_reference.plugins_page(text, known) == text, "run `python tools/scenario_reference.py --write`"


def test_every_type_has_its_block_and_every_limit_its_field() -> None:
    schema = json.loads(engine().schema())
    text = scenario_reference.PAGE.read_text(encoding="utf-8")
    assert scenario_reference.described(text) == scenario_reference.to_describe(schema)
    for allowed in scenario_reference.ALLOWED.values():
        assert f"| {allowed} |" in text, "a limit of a field that the schema does not have"


def test_links_within_the_page_lead_somewhere() -> None:
    text = scenario_reference.PAGE.read_text(encoding="utf-8")
    headings = {line.lstrip("#").strip().lower().replace(" ", "-") for line in text.splitlines() if line[:2] == "##"}
    for part in text.split("](#")[1:]:
        assert part.partition(")")[0] in headings


def test_every_limit_is_tried() -> None:
    assert LIMITS.keys() == scenario_reference.ALLOWED.keys()


def test_profiles_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "everything.toml"
    file.write_text(EVERYTHING)
    for stack in catalogue():
        if "download" not in stack["workloads"]:
            continue
        for profile in stack["profiles"]:
            load(file, [("flows.main.stack", stack["name"]), ("flows.main.sender.profile", profile["name"])])


@pytest.mark.parametrize("field", LIMITS)
def test_limits_are_those_of_the_engine(field: str, tmp_path: Path) -> None:
    file = tmp_path / "everything.toml"
    file.write_text(EVERYTHING)
    taken, refused = LIMITS[field]
    for changes in taken:
        if not has_stack(changes.get("flows.main.stack", "quinn")):
            continue  # a build without this stack
        result = run(load(file, list(changes.items())))
        assert not any(flow.failed for flow in result.flows.values()), changes
    for changes in refused:
        with pytest.raises(RequestError):
            run(load(file, list(changes.items())))
