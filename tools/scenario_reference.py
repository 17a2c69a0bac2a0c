"""Prints docs/reference/scenario.md and stacks.md with their tables made anew from what the engine says.

The pages are prose with blocks; only the blocks are generated. Between `<!-- fields: TYPE -->` and `<!-- end -->`
stand the fields of a type of the JSON schema of scenarios, after `<!-- options: STACK -->` the options of a stack,
after `<!-- plugins -->` and `<!-- operations -->` the built-in plugins and the computations that plugins can exchange.
`--write` puts the result into the files. What the schema cannot say, the limits that validation adds, is in `ALLOWED`;
tests/test_reference.py tries each of them on the engine.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, TypeAlias

from quiclab import show
from quiclab.native import engine
from quiclab.stacks import catalogue

Schema: TypeAlias = dict[str, Any]

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
PAGE = REFERENCE / "scenario.md"
STACKS_PAGE = REFERENCE / "stacks.md"
PLUGINS_PAGE = REFERENCE / "plugins.md"
BLOCK = re.compile(r"<!-- fields: (\w+) -->\n.*?<!-- end -->", re.DOTALL)
OPTIONS_BLOCK = re.compile(r"<!-- options: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
PLUGINS_BLOCK = re.compile(r"<!-- (plugins|operations) -->\n.*?<!-- end -->", re.DOTALL)
ROOT = "Scenario"
VALUES = ("meaning", "default", "source")
#: Types that are one value; the page explains them in words.
QUANTITIES = {"Duration": "duration", "DataRate": "rate", "ByteCount": "size", "Probability": "probability"}
#: Types whose section has another name than the type.
SECTIONS = {
    "Rate": "rate-of-a-link",
    "ShapedRate": "rate-of-a-link",
    "EndpointConfig": "endpoint",
    "AckFrequency": "ack-frequency",
    "CongestionControl": "congestion-control",
    "SlowStartExit": "slow-start-exit",
    "TcpOptions": "tcp-options",
    "TcpLossDetection": "loss-detection",
    "RateReduction": "rate-reduction",
    "TcpMetrics": "metrics-of-a-destination",
    "QuicOptions": "quic-options",
    "QuicVersion": "quic-version",
    "RttVariation": "rtt-variation",
    "FlowControl": "flow-control",
    "StreamScheduler": "stream-scheduler",
    "PathSchedulerKind": "path-scheduler",
    "PingProtocol": "ping-protocol",
    "Http2Options": "http2-options",
    "EarlyData": "early-data",
    "PathRoutes": "further-paths",
    "PageObjects": "page",
    "PageResource": "page",
    "ObjectKind": "page",
    "Priorities": "page",
    "Tls": "tls",
    "TlsVersion": "tls-version",
    "BearerMode": "bearer-mode",
    "CarrierKind": "carrier",
    "Pipeline": "pipeline",
    "LeaveRule": "leave-rule",
    "ReorderingTimer": "reordering-timer",
    "TimerRule": "reordering-timer",
    "PluginEnds": "ends-of-a-plugin",
    "TraceFormat": "trace-format",
    "TraceEnd": "trace-end",
    "WireDirection": "wire",
}
#: What validation allows where the type alone allows more: by type and field, or type, kind and field.
ALLOWED = {
    "Scenario.version": "1",
    "Scenario.name": "not empty",
    "Scenario.duration": "above 0",
    "Scenario.flows": "one or more",
    "Until.delivered": "1 B or more",
    "Link.rate": "above 0",
    "Link.feedback": "with a `rate`, on a link that is in one bearer",
    "Hold.packet": "each packet once",
    "Hold.by": "above 0",
    "Hold.behind": "1 or more",
    "Feedback.interval": "above 0",
    "Feedback.desired_buffer": "above 0",
    "Queue.packets": "1 or more",
    "Queue.bytes": "1 B or more",
    "Queue.time": "above 0",
    "Queue.memory": "1 B or more",
    "Queue.drop_batch": "1 or more",
    "Queue.flows": "1 to 65536",
    "Queue.quantum": "256 B to 1 MiB",
    "Queue.target": "less than `interval`",
    "Queue.interval": "above 0",
    "Loss.good_to_bad": "not 0 together with `bad_to_good`",
    "Delay.deviation": "above 0 with a distribution, 0 without",
    "Delay.reorder": "`true` with a distribution only",
    "Delay.every": "10 us or more, with a distribution only",
    "Delay.steps": "1 to 1000; 1 without `every`",
    "ShapedRate.rate": "above 0",
    "ShapedRate.burst": "at least the largest packet that comes by, with its overheads",
    "ShapedRate.at_end": "not `hold` with `mahimahi`",
    "Bearer.links": "1 to 8, each once",
    "Bearer.batch_packets": "1 to 65535",
    "Bearer.shares": "one for each link, not all 0; none with `duplicate` or a splitter but `batches`",
    "Bearer.splitter": "others than `batches`: with `split`, and `feedback` of each link",
    "Bearer.duplication": "0 with `duplicate` and with `flow_control`",
    "Splitter.start_rate": "above 0",
    "Splitter.smoothing": "above 0, 60 min at most",
    "Splitter.floor": "above 0, one over the number of links at most",
    "Splitter.probe_interval": "above 0",
    "Splitter.queue_packets": "1 or more",
    "Splitter.start_buffer": "1 B or more",
    "TimerRule.least": "`most` at most",
    "TimerRule.most": "above 0, 60 min at most",
    "TimerRule.window": "above 0, 60 min at most",
    "TimerRule.factor": "1 to 100",
    "Reordering.sequence_bits": "12, 16, 18",
    "Tunnel.stack": "`lab-quic`, `noq`",
    "Tunnel.pipeline": "`pquic` with the stack `lab-quic`",
    "Tunnel.queue": "`drop_tail` without `time`",
    "Tunnel.scheduler": "`redundant` with `resequencing`",
    "Tunnel.mtu": "576 B to 65000 B, and 36 B less than `datagram_size` at most",
    "Tunnel.resequencing": "above 0",
    "Tunnel.windows": 'one above 0 for each path, with `congestion_control = "fixed"` at both ends',
    "Tunnel.paths": "1 to 8, each over links and bearers of its own",
    "Host.receive_buffer": "1 B or more",
    "Host.truesize": "1 B or more",
    "Host.receive_batch": "1 or more",
    "Host.send_batch": "1 or more",
    "Host.timer_slack": "`reorder` stays `false`, no `every`",
    "Host.wake_up": "`reorder` stays `false`, no `every`",
    "Flow.start": "before `duration`",
    "Flow.down": "not empty, nothing twice; empty with `[[wires]]`",
    "Flow.up": "as `down`",
    "Flow.plugins": "names in `plugins` or of [built-in ones](plugins.md), each once",
    "Plugin.exchanges": "one or more",
    "Exchange.operation": "an option of the [endpoint](#endpoint), or a [computation](plugins.md#computations)",
    "EndpointConfig.stack": "one of `quiclab stack list`, here or on the flow",
    "EndpointConfig.profile": "a profile of the stack: see `quiclab stack show`",
    "EndpointConfig.host": "a name in `hosts`",
    "EndpointConfig.datagram_size": "1200 B to 65507 B",
    "EndpointConfig.initial_window": "more than a datagram, below 4 GiB; aioquic: ten; lab-quic, lab-tcp: one to 1 GiB",
    "EndpointConfig.stream_receive_window": "1 B or more",
    "EndpointConfig.connection_receive_window": "1 B or more",
    "EndpointConfig.send_window": "1 B or more",
    "EndpointConfig.packet_threshold": "3 or more",
    "EndpointConfig.time_threshold": "1 to 1000",
    "EndpointConfig.initial_rtt": "1 us to 30 s; aioquic: above 0",
    "EndpointConfig.emulated_connections": "1 or more; 1 without `newreno` or `cubic`",
    "EndpointConfig.slow_start_exit": "with `newreno` or `cubic` only",
    "EndpointConfig.pacing": "not `none` with BBR",
    "Pacing.factor": "0.01 to 10",
    "Pacing.burst_packets": "1 or more",
    "Pacing.slow_start_factor": "0.01 to 10",
    "Pacing.burst_share": "above 0, at most 1; lab-quic: 0.001 or more",
    "Pacing.burst_time": "above 0; lab-quic: 1 s at most",
    "Pacing.idle_burst_packets": "1 or more",
    "Pacing.quantum": "above 0; lab-quic: 1 s at most",
    "Pacing.max_rate": "above 0",
    "TcpOptions.mss": "88 B to 9148 B",
    "TcpOptions.receive_buffer": "4 KiB or more, `max_receive_buffer` at most",
    "TcpOptions.max_receive_buffer": "4 KiB to 1048560 KiB",
    "TcpOptions.max_send_buffer": "4 KiB to 1048560 KiB",
    "TcpOptions.min_rto": "1 ms to 2 min",
    "TcpOptions.initial_rto": "1 ms to 2 min",
    "TcpOptions.min_delayed_ack": "above 0, `max_delayed_ack` at most",
    "TcpOptions.max_delayed_ack": "above 0, 2 min at most",
    "TcpOptions.compressed_ack_delay": "2 min at most",
    "TcpOptions.dsack": "not `true` without `sack`",
    "TcpOptions.reordering": "3 or more, `max_reordering` at most",
    "TcpOptions.max_reordering": "3 or more",
    "TcpOptions.gso_segments": "1 to 65535",
    "QuicOptions.connection_id": "0 B to 20 B",
    "QuicOptions.packet_number": "1 B to 4 B",
    "QuicOptions.ack_ranges": "1 or more",
    "QuicOptions.max_ack_delay": "16.383 s at most, the delay of `acknowledgement` or more",
    "QuicOptions.probe_packets": "1, 2",
    "QuicOptions.max_window": "`initial_window` or more",
    "QuicOptions.max_streams": "1 to 2^60",
    "QuicOptions.max_stream_receive_window": "`stream_receive_window` or more",
    "QuicOptions.max_connection_receive_window": "`connection_receive_window` or more",
    "QuicOptions.idle_timeout": "1 ms to 24 h",
    "PathSchedulerKind.weights": "one of 1 or more for each path",
    "PathSchedulerKind.penalise_above": "1 B or more",
    "PathSchedulerKind.order": "numbers of paths, each once",
    "PathSchedulerKind.scaling": "above 0, 100 at most",
    "PathSchedulerKind.send_window": "1 B or more",
    "PathSchedulerKind.hysteresis": "0 to 1",
    "PathSchedulerKind.patience": "1 s at most",
    "Acknowledgement.packets": "at least 1",
    "Acknowledgement.delay": "16.383 s at most",
    "Acknowledgement.fraction": "0.001 to 1",
    "Http2Options.stream_window": "1 B to 2^31 - 1 B",
    "Http2Options.connection_window": "1 byte to 2^31 - 1 B",
    "Http2Options.max_streams": "one or more",
    "Http2Options.frame_size": "1 B to 2^24 - 1 B",
    "Tls.certificate": "0 B to 64 KiB",
    "Tls.version": "`1.3` in QUIC",
    "Tls.early_data": "with `resumption`, in QUIC only",
    "AckFrequency.max_ack_delay": "1 ms to 16.383 s",
    "Workload.download.size": "1 B or more; this or `duration`",
    "Workload.download.duration": "above 0; this or `size`",
    "Workload.download.request": "1 B or more",
    "Workload.request_response.count": "1 or more",
    "Workload.request_response.request": "1 B or more",
    "Workload.request_response.response": "1 B or more",
    "Workload.datagrams.rate": "above 0",
    "Workload.datagrams.size": "1 B to 65507 B",
    "Workload.datagrams.duration": "above 0",
    "Workload.datagrams.on": "above 0; with `off` only",
    "Workload.datagrams.off": "above 0; with `on` only",
    "Workload.page.html": "1 B or more",
    "Workload.page.request": "1 B or more",
    "Workload.page.response": "1 B or more",
    "Workload.page.resources": "empty beside `objects`",
    "PageResource.size": "1 B or more",
    "PageResource.after": "one or more numbers of resources before it",
    "PageResource.origin": "0 to 255",
    "PageResource.request": "1 B or more",
    "PageResource.response": "1 B or more",
    "PageObjects.count": "1 or more",
    "PageObjects.size": "1 B or more",
    "Workload.ping.count": "1 or more",
    "Workload.ping.size": "1 B to 65507 B",
    "Workload.ping.interval": "above 0",
    "Workload.media.start_rate": "`min_rate` to `max_rate`",
    "Workload.media.min_rate": "above 0",
    "Workload.media.frame_rate": "1 to 1000",
    "Workload.media.packet_size": "100 B to 1472 B",
    "Workload.media.target_delay": "above 0",
    "Workload.media.ramp_up_speed": "above 0",
    "Workload.media.duration": "above 0",
    "Wire.from": "`element.port`, an output",
    "Wire.to": "`element.port`, an input",
    "Wire.flow": "a name in `flows`",
    "Wire.direction": "`up` beside a `flow` only",
    "Record.series_interval": "above 0",
}


def page(text: str, schema: Schema) -> str:
    """Return the page with every block made anew.

    Raises
    ------
    KeyError
        If a block names a type that the schema does not have.
    """
    types: dict[str, Schema] = {ROOT: schema, **schema["$defs"]}
    return BLOCK.sub(lambda found: f"<!-- fields: {found[1]} -->\n{block(found[1], types)}<!-- end -->", text)


def stacks_page(text: str, stacks: list[Schema]) -> str:
    """Return the page of the stacks with every block made anew.

    Raises
    ------
    KeyError
        If a block names a stack that is not there: aioquic is an extra.
    """
    by_name = {stack["name"]: stack for stack in stacks}
    return OPTIONS_BLOCK.sub(
        lambda found: f"<!-- options: {found[1]} -->\n{options(by_name[found[1]])}<!-- end -->", text
    )


def plugins_page(text: str, known: Schema) -> str:
    """Return the page of the plugins with both tables made anew; `known` is what the engine says of them."""
    tables = {"plugins": plugins(known["plugins"]), "operations": operations(known["operations"])}
    return PLUGINS_BLOCK.sub(lambda found: f"<!-- {found[1]} -->\n{tables[found[1]]}<!-- end -->", text)


def plugins(known: Schema) -> str:
    """Return the table of the built-in plugins."""
    lines = []
    for name, plugin in sorted(known.items()):
        exchanges = [f"`{item['operation']}` = `{inline(item['replace'])}`" for item in plugin["exchanges"]]
        lines.append([f"`{name}`", plugin["description"], ", ".join(exchanges)])
    return rows(["plugin", "what it does", "sets"], lines)


def operations(known: list[Schema]) -> str:
    """Return the tables of the computations: results, then inputs."""
    results = [
        [f"`{item['name']}`", item["meaning"], show.limits(item), item["when"].replace("|", "")] for item in known
    ]
    inputs = [
        [f"`{item['name']}`", ", ".join(f"`{name}` ({meaning})" for name, meaning in item["inputs"])] for item in known
    ]
    text = rows(["operation", "result", "limits", "computed"], results)
    return text + "\n" + rows(["operation", "inputs"], inputs)


def inline(value: object) -> str:
    """Return a plain value as inline TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + " }"
    return toml(value)


def options(stack: Schema) -> str:
    """Return version, description, options and fixed properties of a stack."""
    own = [item for item in stack["options"] if item.get("option")]
    fixed = [item for item in stack["options"] if not item.get("option")]
    text = f"Version {stack['version']}: {stack['description']}.\n\n"
    if not stack["options"]:
        return text + "It has no options.\n"
    text += rows(
        ["option", "what it is", "default", "source of the default"],
        [[f"`{item['option']}`", item["meaning"], item["default"], item["source"]] for item in own],
    )
    if fixed:
        lines = [[item["meaning"], item["default"], item["source"]] for item in fixed]
        text += "\n" + rows(["what no option changes", "value", "source"], lines)
    for profile in stack["profiles"]:
        lines = [
            [f"`{item['option']}`" if item.get("option") else "(fixed)", *(item[k] for k in VALUES)]
            for item in show.departures(stack, profile)
        ]
        text += f"\n**Profile `{profile['name']}`**: {profile['description']}"
        text += "; instead of the above:\n\n" if lines else ": the above.\n"
        text += rows(["option", "what it is", "value", "source"], lines) if lines else ""
    return text


def described(text: str) -> set[str]:
    """Return the types that have a block on the page."""
    return set(BLOCK.findall(text))


def to_describe(schema: Schema) -> set[str]:
    """Return the types that need a block: all but single values and the choice between forms of a rate."""
    return {ROOT, *schema["$defs"]} - QUANTITIES.keys() - {"Rate", "ReorderingTimer"}


def block(name: str, types: dict[str, Schema]) -> str:
    """Return the tables of one type: its fields, those of each variant, or its values."""
    schema = types[name]
    parts = []
    for table in schema.get("anyOf", [schema]):  # a type with a short form is one of two
        variants = table.get("oneOf", [])
        values = [variant for variant in variants if "const" in variant]
        if values:
            parts.append(rows(["value", "meaning"], [[f"`{v['const']}`", sentence(v)] for v in values]))
        for variant in [table] if "properties" in table else [v for v in variants if "properties" in v]:
            kind = variant["properties"].get("kind", {}).get("const")
            heading = f"**`{kind}`** " if kind else ""
            heading = "" if variant is table else f"{heading}{sentence(variant)}\n\n"
            parts.append(heading + fields(name, variant))
    return "\n".join(parts)


def fields(name: str, schema: Schema) -> str:
    """Return the table of the fields of one table of the scenario, in alphabetical order, required ones first."""
    required = schema.get("required", [])
    kind = schema["properties"].get("kind", {}).get("const")
    lines = []
    for field, item in sorted(schema["properties"].items(), key=lambda entry: (entry[0] not in required, entry[0])):
        if field == "kind":
            continue
        default = "required" if field in required else shown(item.get("default"))
        allowed = ALLOWED.get(f"{name}.{field}", ALLOWED.get(f"{name}.{kind}.{field}", ""))
        lines.append([f"`{field}`", kind_of(item), default, sentence(item), allowed])
    if not lines:
        return "It has no fields.\n"
    return rows(["field", "type", "default", "meaning", "allowed"], lines)


def kind_of(item: Schema) -> str:
    """Return the type of a field in words, with a link to its section where it is a table."""
    if "$ref" in item:
        name = item["$ref"].rpartition("/")[2]
        if name in QUANTITIES:
            return f"[{QUANTITIES[name]}](#quantities)"
        return f"[{words(name)}](#{SECTIONS.get(name, words(name).replace(' ', '-'))})"
    if "anyOf" in item:
        return " or ".join(kind_of(choice) for choice in item["anyOf"] if choice != {"type": "null"})
    if isinstance(item.get("additionalProperties"), dict):
        return f"tables by name: {kind_of(item['additionalProperties'])}"
    kind = item.get("type", "any value")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return f"list: {kind_of(item['items'])}"
    return str({"string": "text", "boolean": "truth value"}.get(kind, kind))


def words(name: str) -> str:
    """Return the name of a type as words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def shown(default: object) -> str:
    """Return a default as it would stand in TOML; a dash where nothing is set."""
    if default is None or default in ({}, []):
        return "–"
    if isinstance(default, dict):
        inner = ", ".join(f"{key} = {toml(value)}" for key, value in default.items())
        return f"`{{ {inner} }}`"
    return f"`{toml(default)}`"


def toml(value: object) -> str:
    """Return a plain value as TOML; JSON and TOML agree on these."""
    return json.dumps(value, ensure_ascii=False)


def sentence(schema: Schema) -> str:
    """Return a description on one line."""
    return " ".join(schema.get("description", "").split())


def rows(header: list[str], lines: list[list[str]]) -> str:
    """Return a table in Markdown."""
    table = [header, ["---"] * len(header), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in table)


def main() -> int:
    """Print the pages, or write them."""
    pages = {
        PAGE: page(PAGE.read_text(encoding="utf-8"), json.loads(engine().schema())),
        STACKS_PAGE: stacks_page(STACKS_PAGE.read_text(encoding="utf-8"), catalogue()),
        PLUGINS_PAGE: plugins_page(PLUGINS_PAGE.read_text(encoding="utf-8"), json.loads(engine().plugins())),
    }
    for path, text in pages.items():
        if "--write" in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
