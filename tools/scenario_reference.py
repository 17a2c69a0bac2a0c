"""Prints the files that are generated from the schemas: tables in docs/reference.

Between `<!-- fields: TYPE -->` and `<!-- end -->` are the fields of a type of the JSON schema of scenarios (vpn.md: of
vpn.schema.json), after `<!-- options: STACK -->` the options of a stack, after `<!-- plugins -->` and `<!-- operations
-->` the built-in plugins and the computations that plugins can replace; of result.md see result_reference.py. `--write`
writes all files; `--vpn-schema` first reads the output of `quiclab-tunnel schema` from standard input. Type, default,
meaning and limits are defined at the Rust fields.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from quiclab.native import extension
from quiclab.report import show
from quiclab.stacks import catalogue
from quiclab.tree import toml_value
from result_reference import result_page

Schema: TypeAlias = dict[str, Any]

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
PAGE = REFERENCE / "scenario.md"
STACKS_PAGE = REFERENCE / "stacks.md"
PLUGINS_PAGE = REFERENCE / "plugins.md"
VPN_PAGE = REFERENCE / "vpn.md"
RESULT_PAGE = REFERENCE / "result.md"
VPN_SCHEMA = REFERENCE / "vpn.schema.json"
BLOCK = re.compile(r"<!-- fields: (\w+) -->\n.*?<!-- end -->", re.DOTALL)
OPTIONS_BLOCK = re.compile(r"<!-- options: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
PLUGINS_BLOCK = re.compile(r"<!-- (plugins|operations) -->\n.*?<!-- end -->", re.DOTALL)
ROOT = "Scenario"
VPN_ROOT = "Config"
#: Types of the VPN that it has alone; the others are those of scenarios.
VPN_TYPES = {VPN_ROOT, "Server", "ServerConnectIp", "Peer", "Client", "ClientConnectIp", "Path"}
VALUES = ("meaning", "default", "source")
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


def page(text: str, schema: Schema) -> str:
    """Return the page with every block generated again.

    Raises
    ------
    KeyError
        If a block names a type that the schema does not have, or a stack that is not native.
    """
    types: dict[str, Schema] = {ROOT: schema, **schema["$defs"]}
    text = BLOCK.sub(lambda found: f"<!-- fields: {found[1]} -->\n{block(found[1], types)}<!-- end -->", text)
    return stacks_page(text, json.loads(extension().native_stacks()))


def vpn_schema(printed: str) -> str:
    """Return the schema that `quiclab-tunnel schema` prints, without the types of scenarios."""
    schema = json.loads(printed)
    schema["$defs"] = {name: item for name, item in schema["$defs"].items() if name in VPN_TYPES}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def vpn_page(text: str, schema: Schema) -> str:
    """Return the page of the VPN with every block generated again; other types are on the page of scenarios."""
    types: dict[str, Schema] = {VPN_ROOT: schema, **schema["$defs"]}
    own = {words(name).replace(" ", "-") for name in VPN_TYPES}

    def link(found: re.Match[str]) -> str:
        return found[0] if found[1] in own else f"(scenario.md#{found[1]})"

    def made(found: re.Match[str]) -> str:
        tables = re.sub(r"\(#([\w-]+)\)", link, block(found[1], types))
        return f"<!-- fields: {found[1]} -->\n{tables}<!-- end -->"

    return BLOCK.sub(made, text)


def stacks_page(text: str, stacks: list[Schema]) -> str:
    """Return the page of the stacks with every block generated again.

    Raises
    ------
    KeyError
        If a block names a stack that is not available: aioquic is an extra.
    """
    by_name = {stack["name"]: stack for stack in stacks}
    return OPTIONS_BLOCK.sub(
        lambda found: f"<!-- options: {found[1]} -->\n{options(by_name[found[1]])}<!-- end -->", text
    )


def plugins_page(text: str, known: Schema) -> str:
    """Return the page of the plugins with both tables generated again from `plugins` of the extension."""
    tables = {"plugins": plugins(known["plugins"]), "operations": operations(known["operations"])}
    return PLUGINS_BLOCK.sub(lambda found: f"<!-- {found[1]} -->\n{tables[found[1]]}<!-- end -->", text)


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
    text = rows(["operation", "result", "limits", "computed"], results)
    return text + "\n" + rows(["operation", "inputs"], inputs)


def options(stack: Schema) -> str:
    """Return version, description, options and fixed properties of a stack."""
    own = [item for item in stack["options"] if item.get("option")]
    fixed = [item for item in stack["options"] if not item.get("option")]
    text = f"Version {stack['version']}: {stack['description']}.\n\n"
    if not stack["options"]:
        return text + "It has no options.\n"
    text += rows(
        ["option", "meaning", "default", "source of the default"],
        [[f"`{item['option']}`", item["meaning"], item["default"], item["source"]] for item in own],
    )
    if fixed:
        lines = [[item["meaning"], item["default"], item["source"]] for item in fixed]
        text += "\n" + rows(["fixed property", "value", "source"], lines)
    for profile in stack["profiles"]:
        lines = [
            [f"`{item['option']}`" if item.get("option") else "(fixed)", *(item[k] for k in VALUES)]
            for item in show.departures(stack, profile)
        ]
        text += f"\n**Profile `{profile['name']}`**: {profile['description']}"
        text += "; instead of the above:\n\n" if lines else ": the above.\n"
        text += rows(["option", "meaning", "value", "source"], lines) if lines else ""
    return text


def described(text: str) -> set[str]:
    """Return the types that have a block on the page."""
    return set(BLOCK.findall(text))


def to_describe(schema: Schema) -> set[str]:
    """Return the types that need a block: all but quantities and the choice between forms of a rate."""
    return {ROOT, *schema["$defs"]} - quantities().keys() - {"Rate", "ReorderingTimer"}


@cache
def quantities() -> dict[str, str]:
    """Return the kind of quantity of each type that is a number with a unit, such as `duration`."""
    types = json.loads(extension().schema())["$defs"]
    return {name: item["x-quantity"] for name, item in types.items() if "x-quantity" in item}


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
            parts.append(heading + fields(variant))
    return "\n".join(parts)


def fields(schema: Schema) -> str:
    """Return the table of the fields of one table of the scenario, in alphabetical order, required ones first."""
    required = schema.get("required", [])
    lines = []
    for field, item in sorted(schema["properties"].items(), key=lambda entry: (entry[0] not in required, entry[0])):
        if field == "kind" and "const" in item:  # the heading has the tag of a variant
            continue
        default = "required" if field in required else shown(item.get("default"))
        allowed = item.get("x-expected", "")
        lines.append([f"`{field}`", kind_of(item), default, sentence(item), allowed])
    if not lines:
        return "It has no fields.\n"
    return rows(["field", "type", "default", "meaning", "constraint"], lines)


def kind_of(item: Schema) -> str:
    """Return the type of a field in prose, with a link to its section if it is a table."""
    if "$ref" in item:
        name = item["$ref"].rpartition("/")[2]
        if name in quantities():
            return f"[{quantities()[name]}](#quantities)"
        return f"[{words(name)}](#{SECTIONS.get(name, words(name).replace(' ', '-'))})"
    if "anyOf" in item:
        return " or ".join(kind_of(choice) for choice in item["anyOf"] if choice != {"type": "null"})
    if isinstance(item.get("additionalProperties"), dict):
        return f"map of tables: {kind_of(item['additionalProperties'])}"
    kind = item.get("type", "any value")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return f"list: {kind_of(item['items'])}"
    return str(kind)


def words(name: str) -> str:
    """Return the name of a type as words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def shown(default: object) -> str:
    """Return a default as TOML; a dash if nothing is set."""
    return "–" if default in (None, {}, []) else f"`{toml_value(default, inside=True)}`"


def sentence(schema: Schema) -> str:
    """Return a description on one line."""
    return " ".join(schema.get("description", "").split())


def rows(header: list[str], lines: list[list[str]]) -> str:
    """Return a table in Markdown."""
    table = [header, ["---"] * len(header), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in table)


def main() -> int:
    """Print the files, or write them."""
    schema = json.loads(extension().schema())
    if "--vpn-schema" in sys.argv[1:]:
        VPN_SCHEMA.write_text(vpn_schema(sys.stdin.read()), encoding="utf-8")
    result = RESULT_PAGE.read_text(encoding="utf-8")
    pages = {
        RESULT_PAGE: result_page(result, rows),
        PAGE: page(PAGE.read_text(encoding="utf-8"), schema),
        VPN_PAGE: vpn_page(VPN_PAGE.read_text(encoding="utf-8"), json.loads(VPN_SCHEMA.read_text(encoding="utf-8"))),
        STACKS_PAGE: stacks_page(STACKS_PAGE.read_text(encoding="utf-8"), catalogue()),
        PLUGINS_PAGE: plugins_page(PLUGINS_PAGE.read_text(encoding="utf-8"), json.loads(extension().plugins())),
    }
    for path, text in pages.items():
        if "--write" in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
