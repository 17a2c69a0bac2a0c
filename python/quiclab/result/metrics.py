"""Metrics of results: definitions, which the engine has at each mechanism, and values with completion."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from quiclab._base.native import extension
from quiclab.errors import unknown


@dataclass(frozen=True)
class Metric:
    """Definition of a metric.

    Attributes
    ----------
    element
        Which element has it, and under which condition.
    in_flow
        Whether the element is an end of a flow.
    names
        Names of its numbers: one, or those of a distribution; `<k>` stands for the number of a link or path, `<name>`
        for the name of a counter of the kernel.
    kind
        `counter` (a total since the start; those of several connections add up), `gauge`, `mean`, `minimum`, `maximum`,
        `time` or `distribution`.
    unit
        Symbol of the unit; empty for counts.
    at_end, in_series
        Whether it is in the statistics of a run, and in time series.
    meaning
        Meaning, in one line.
    """

    element: str
    in_flow: bool
    names: tuple[str, ...]
    kind: str
    unit: str
    at_end: bool
    in_series: bool
    meaning: str


def pattern(name: str) -> str:
    """Return the regular expression of a name, in which the number of a link or path, or a counter, is open."""
    return re.escape(name).replace("<k>", "[0-9]+").replace("<name>", "[A-Za-z0-9]+")


@cache
def metrics() -> tuple[Metric, ...]:
    """Return the definitions of all metrics, by element, in the order of documents."""
    groups = extension().metric_groups()
    return tuple(
        Metric(element, in_flow, tuple(names), *about) for element, in_flow, found in groups for names, *about in found
    )


def result_schema() -> dict[str, Any]:
    """Return the JSON schema of `quiclab.run/1`, with the metrics as properties of statistics."""
    schema: dict[str, Any] = json.loads(extension().result_schema())
    schema = json.loads(re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", json.dumps(schema)))  # links lead nowhere in a schema
    numbers: dict[str, Any] = {}
    for metric in metrics():
        for name in metric.names if metric.at_end else ():
            about = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", f"{metric.element}: {metric.meaning}")
            known = numbers.setdefault(name, {"type": "number", "description": about, "x-kind": metric.kind})
            if known["description"] != about:
                known["description"] += f" {about}"
            if metric.unit:
                known["x-unit"] = metric.unit
    schema["$defs"]["Statistics"] = {
        "type": "object",
        "description": "Metrics over the whole run.",
        "properties": {name: about for name, about in sorted(numbers.items()) if "<" not in name},
        "patternProperties": {f"^{pattern(name)}$": about for name, about in sorted(numbers.items()) if "<" in name},
        "additionalProperties": {"type": "number"},
    }
    schema["properties"]["series"] = {
        "type": "object",
        "description": "Only with `record.series_interval`: element, then metric, then `mean`, minimum (`least`) and "
        "maximum (`largest`) value and number of `samples` of its [time series](#time-series).",
    }
    for table, field in (("FlowResult", "sender"), ("FlowResult", "receiver"), ("ElementResult", "statistics")):
        about = schema["$defs"][table]["properties"][field]
        schema["$defs"][table]["properties"][field] = {
            "description": about["description"],
            "$ref": "#/$defs/Statistics",
        }
    return schema


class Statistics(dict[str, Any]):
    """Metrics of one end of a flow, or of an element, over the whole run: as keys and as attributes.

    Units are the ends of the names; `quiclab result metrics` lists the meanings.

    Examples
    --------
    >>> from quiclab.result.metrics import Statistics
    >>> Statistics(lost_packets=3.0).lost_packets
    3.0
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(unknown("metric", name, sorted(self)).message) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def statistics(values: Mapping[str, Any]) -> Statistics:
    """Return values of metrics with their names as attributes."""
    return values if isinstance(values, Statistics) else Statistics(values)
