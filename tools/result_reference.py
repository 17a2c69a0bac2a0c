"""Tables of docs/reference/result.md, from the schema of results, the metrics and the phases that the engine defines.

After `<!-- result: TYPE -->` are the keys of a type of the schema, after `<!-- metrics: statistics -->` and
`<!-- metrics: series -->` the metrics at the end of a run and over time, after `<!-- phases -->` the phases of
congestion controls.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from quiclab.metrics import Metric, metrics, result_schema
from quiclab.native import extension

BLOCK = re.compile(r"<!-- (result: \w+|metrics: \w+|phases) -->\n.*?<!-- end -->", re.DOTALL)
DISTRIBUTION = "_mean, _min, _max, _p50, _p95, _p99"


def result_page(text: str, rows: Callable[[list[str], list[list[str]]], str]) -> str:
    """Return the page with every block generated again; `rows` writes a table."""
    schema = result_schema()
    types = {"RunResult": schema, **schema["$defs"]}

    def block(found: re.Match[str]) -> str:
        what, _, name = found[1].partition(": ")
        if what == "result":
            lines = keys(types[name])
        elif what == "metrics":
            lines = [row for group in by_element(name == "series") for row in group]
        else:
            lines = [
                [str(number), f"`{name}`", meaning] for number, (name, _, meaning) in enumerate(extension().phases())
            ]
        header = {"result": ["key", "type", "meaning"], "metrics": ["element", "name", "kind", "unit", "meaning"]}
        return f"<!-- {found[1]} -->\n{rows(header.get(what, ['number', 'name', 'meaning']), lines)}<!-- end -->"

    return BLOCK.sub(block, text)


def keys(schema: dict[str, Any]) -> list[list[str]]:
    """Return key, type and meaning of each property; of a choice value, type and meaning of each."""
    if "oneOf" in schema:
        return [[f"`{item['const']}`", "string", one_line(item)] for item in schema["oneOf"]]
    return [[f"`{name}`", kind(item), one_line(item)] for name, item in schema["properties"].items()]


def kind(item: dict[str, Any]) -> str:
    """Return the type of a value in a word or two."""
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


def by_element(in_series: bool) -> list[list[list[str]]]:
    """Return the rows of each element: the first one has its name."""
    found: dict[str, list[list[str]]] = {}
    for metric in metrics():
        if metric.in_series if in_series else metric.at_end:
            of_element = found.setdefault(metric.element, [])
            of_element.append(["" if of_element else metric.element, *row(metric)])
    return list(found.values())


def row(metric: Metric) -> list[str]:
    """Return name, kind, unit and meaning."""
    name = f"`{metric.names[0]}`"
    if metric.kind == "distribution":
        name = f"`{metric.names[0].removesuffix('_mean')}` with `{DISTRIBUTION}`".replace(", ", "`, `")
    return [name, metric.kind, metric.unit, metric.meaning]
