"""Writes the generated pages of docs/reference: scenario, result, plugins, vpn, errors.

Text is in docs/reference/templates, tables come from the definitions: `fields(TYPE)` of the JSON schema of scenarios
(of vpn.schema.json on the page of the VPN), `options(STACK)`, `result(TYPE)` of the schema of results,
`metrics("statistics")` and `metrics("series")`, `phases()` of congestion controls, `plugins()` that are built in, and
`operations()`, the computations that plugins can replace. Errors are those of tests/data/wrong_inputs.toml.
`--vpn-schema` first reads the output of `quiclab-tunnel schema` from standard input and stores what the VPN has alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import wrong_inputs
from quiclab._base.native import extension
from quiclab.report import show
from quiclab.result.metrics import metrics, result_schema
from quiclab.scenario.fields import Link, Schema, Table, scenario_types, tables, types_of, words
from quiclab.scenario.tree import toml_value

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
TEMPLATES = REFERENCE / "templates"
VPN_SCHEMA = REFERENCE / "vpn.schema.json"
ERRORS = "errors.md"
#: All generated pages, which are not in the repository.
PAGES = (*sorted(path.name.removesuffix(".j2") for path in TEMPLATES.glob("*.j2")), ERRORS)
#: Types of the VPN that it has alone; the others are those of scenarios.
VPN_TYPES = ("Config", "Server", "ServerConnectIp", "Peer", "Client", "ClientConnectIp", "Path")
DISTRIBUTION = "_mean, _min, _max, _p50, _p95, _p99"
#: Types whose section has another name than the type.
SECTIONS = {
    "Rate": "rate-of-a-link",
    "ShapedRate": "rate-of-a-link",
    "EndpointConfig": "endpoint",
    "TcpAckRule": "acknowledgement-rule",
    "TcpLossDetection": "loss-detection",
    "TcpMetrics": "metrics-of-a-destination",
    "QuicFlowControl": "flow-control",
    "FlowPath": "further-paths",
    "PathRoutes": "routes-of-a-path-of-a-tunnel",
    "AckPath": "path-of-acknowledgements",
    "PageObjects": "page",
    "PageResource": "page",
    "ObjectKind": "page",
    "FramingKind": "framing",
    "Priorities": "page",
    "CarrierKind": "carrier",
    "TimerRule": "reordering-timer",
    "PluginEnds": "ends-of-a-plugin",
    "WireDirection": "wire",
}


def pages() -> dict[str, str]:
    """Return the text of each page that has a template, by its name, such as `scenario.md`."""
    engine = extension()
    stacks = {stack["name"]: stack for stack in json.loads(engine.native_stacks())}
    known = json.loads(engine.plugins())
    schema = result_schema()
    results = {"RunResult": schema, **schema["$defs"]}
    names: dict[str, Callable[..., str]] = {
        "fields": lambda name: fields(scenario_types()[name], section),
        "options": lambda name: options(stacks[name]),
        "result": lambda name: rows(["key", "type", "meaning"], keys(results[name])),
        "metrics": lambda where: of_elements(where == "series"),
        "phases": lambda: rows(
            ["number", "name", "meaning"],
            [[str(n), f"`{name}`", text] for n, (name, _, text) in enumerate(engine.phases())],
        ),
        "plugins": lambda: plugins(known["plugins"]),
        "operations": lambda: operations(known["operations"]),
    }
    vpn = types_of(json.loads(VPN_SCHEMA.read_text(encoding="utf-8")), "Config")
    of_vpn = {"fields": lambda name: fields(vpn[name], vpn_section)}
    loader = FileSystemLoader(TEMPLATES)
    environment = Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - Markdown
    return {
        name: environment.get_template(f"{name}.j2").render(**names | (of_vpn if name == "vpn.md" else {}))
        for name in PAGES
        if name != ERRORS
    }


def section(name: str, quantity: str) -> str:
    """Return the name of a type with a link to its section of the page of scenarios."""
    if quantity:
        return f"[{quantity}](#quantities)"
    return f"[{words(name)}](#{SECTIONS.get(name, words(name).replace(' ', '-'))})"


def vpn_section(name: str, quantity: str) -> str:
    """Return the same for the page of the VPN: other types are on the page of scenarios."""
    here = section(name, quantity)
    return here if name in VPN_TYPES else here.replace("(#", "(scenario.md#")


def vpn_schema(printed: str) -> str:
    """Return the schema that `quiclab-tunnel schema` prints, without the types of scenarios."""
    schema = json.loads(printed)
    schema["$defs"] = {name: item for name, item in schema["$defs"].items() if name in VPN_TYPES}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def fields(schema: Schema, link: Link) -> str:
    """Return the tables of one type: its fields, those of each variant, or its values."""
    return "\n".join(of_table(table) for table in tables(schema, link)).rstrip("\n")


def of_table(table: Table) -> str:
    """Return one of them, below the kind and the meaning of its variant."""
    heading = f"**`{table.kind}`** {table.meaning}" if table.kind else table.meaning
    heading = f"{heading}\n\n" if heading else ""
    if table.values:
        return heading + rows(["value", "meaning"], ([f"`{value}`", meaning] for value, meaning in table.values)) + "\n"
    if not table.fields:
        return f"{heading}It has no fields.\n"
    lines = [
        [f"`{field.name}`", field.type, default(field.default), field.meaning, field.constraint]
        for field in table.fields
    ]
    return heading + rows(["field", "type", "default", "meaning", "constraint"], lines) + "\n"


def default(value: str) -> str:
    """Return a default as code; a dash if nothing is set."""
    return {"": "–", "required": value}.get(value, f"`{value}`")


def options(stack: Schema) -> str:
    """Return version, description, options and fixed properties of a stack, then of each of its profiles."""
    own = [item for item in stack["options"] if item.get("option")]
    fixed = [item for item in stack["options"] if not item.get("option")]
    parts = [
        f"Version {stack['version']}: {stack['description']}.",
        rows(
            ["option", "meaning", "default", "source of the default"],
            ([f"`{item['option']}`", item["meaning"], item["default"], item["source"]] for item in own),
        ),
    ]
    if fixed:
        lines = ([item["meaning"], item["default"], item["source"]] for item in fixed)
        parts.append(rows(["fixed property", "value", "source"], lines))
    for profile in stack["profiles"]:
        departing = [
            [
                f"`{item['option']}`" if item.get("option") else "(fixed)",
                item["meaning"],
                item["default"],
                item["source"],
            ]
            for item in show.departures(stack, profile)
        ]
        ending = "; instead of the above:" if departing else ": the above."
        parts.append(f"**Profile `{profile['name']}`**: {profile['description']}{ending}")
        parts += [rows(["option", "meaning", "value", "source"], departing)] if departing else []
    return "\n\n".join(parts)


def plugins(known: Schema) -> str:
    """Return the table of the built-in plugins."""
    lines = []
    for name, plugin in sorted(known.items()):
        exchanges = [
            f"`{item['operation']}` = `{toml_value(item['replace'], inside=True)}`" for item in plugin["exchanges"]
        ]
        lines.append([f"`{name}`", plugin["description"], ", ".join(exchanges)])
    return rows(["plugin", "effect", "sets"], lines)


def operations(known: list[Schema]) -> str:
    """Return the tables of the computations: results, then inputs."""
    results = [
        [f"`{item['name']}`", item["meaning"], show.limits(item), item["when"].replace("|", "")] for item in known
    ]
    inputs = [
        [f"`{item['name']}`", ", ".join(f"`{name}` ({meaning})" for name, meaning in item["inputs"])] for item in known
    ]
    return rows(["operation", "result", "limits", "computed"], results) + "\n\n" + rows(["operation", "inputs"], inputs)


def keys(schema: dict[str, Any]) -> list[list[str]]:
    """Return key, type and meaning of each property of a result; of a choice value, type and meaning of each."""
    if "oneOf" in schema:
        return [[f"`{item['const']}`", "string", one_line(item)] for item in schema["oneOf"]]
    return [[f"`{name}`", kind(item), one_line(item)] for name, item in schema["properties"].items()]


def kind(item: dict[str, Any]) -> str:
    """Return the type of a value of a result in a word or two."""
    if "$ref" in item:
        return "table" if item["$ref"].rpartition("/")[2] != "EndedBy" else "string"
    found = item.get("type", "object")
    found = found if isinstance(found, str) else next(name for name in found if name != "null")
    if found == "object":
        values = item.get("additionalProperties")
        return "map of tables" if isinstance(values, dict) and "$ref" in values else "table"
    return {"array": "list"}.get(found, found)


def one_line(item: dict[str, Any]) -> str:
    """Return a description on one line."""
    return " ".join(item.get("description", "").split())


def of_elements(in_series: bool) -> str:
    """Return the table of metrics by element; the first row of each element has its name."""
    found: dict[str, list[list[str]]] = {}
    for metric in metrics():
        if not (metric.in_series if in_series else metric.at_end):
            continue
        name = f"`{metric.names[0]}`"
        if metric.kind == "distribution":
            name = f"`{metric.names[0].removesuffix('_mean')}` with `{DISTRIBUTION}`".replace(", ", "`, `")
        of_element = found.setdefault(metric.element, [])
        of_element.append(["" if of_element else metric.element, name, metric.kind, metric.unit, metric.meaning])
    return rows(["element", "name", "kind", "unit", "meaning"], (row for group in found.values() for row in group))


def rows(header: list[str], lines: Iterable[list[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *lines))


def main() -> int:
    """Write the pages."""
    if "--vpn-schema" in sys.argv[1:]:
        VPN_SCHEMA.write_text(vpn_schema(sys.stdin.read()), encoding="utf-8")
    for name, text in (pages() | {ERRORS: wrong_inputs.page()}).items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
