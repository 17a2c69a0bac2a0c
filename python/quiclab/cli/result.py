"""`quiclab result`: the form of results and the metrics in them."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated

import typer

from quiclab.cli.values import JsonOption
from quiclab.errors import unknown
from quiclab.report import show
from quiclab.result.metrics import metrics, pattern, result_schema
from quiclab.scenario.tree import to_json


def schema_command(as_json: JsonOption = False) -> None:
    """Carry out `quiclab result schema`."""
    del as_json  # it is JSON with and without it
    print(to_json(result_schema()))


def metrics_command(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="A metric, or a part of the names of some.", show_default="all")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab result metrics`."""
    numbered = re.sub("[0-9]+", "<k>", name)  # that of a link or path
    found = [
        item
        for item in metrics()
        if any(name in known or numbered in known or re.fullmatch(pattern(known), name) for known in item.names)
    ]
    if not found:
        raise unknown(
            "metric", name, [known for metric in metrics() for known in metric.names], "", "quiclab result metrics"
        )
    if as_json:
        print(to_json({"schema": "quiclab.metrics/1", "metrics": [asdict(metric) for metric in found]}))
        return
    rows = [
        [
            metric.element,
            metric.names[0] + (", ..." if len(metric.names) > 1 else ""),
            metric.kind,
            metric.unit,
            metric.meaning,
        ]
        for metric in found
    ]
    show.table_of("Metrics", ["element", "name", "kind", "unit", "meaning"], rows, left=5)
