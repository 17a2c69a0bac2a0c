"""The Python classes of scenarios: generated from the schema, and what the generator does with each of its forms."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

import scenario_classes
from quiclab.native import extension
from quiclab.scenario import AckEvery, Hold, Page, TcpOptions


def test_the_classes_are_current() -> None:
    made = scenario_classes.module(json.loads(extension().schema()))
    assert made == scenario_classes.PATH.read_text(encoding="utf-8"), "run `make reference`"


def test_docstrings_give_meaning_limits_and_default() -> None:
    lines = [line.strip() for line in (AckEvery.__doc__ or "").splitlines()]
    meaning = "Number of ack-eliciting packets that trigger an acknowledgement."
    assert lines[lines.index("packets") + 1] == f"{meaning} Takes an integer of at least 1. Default: `2`."


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        (Hold, ["packet", "by", "behind"]),
        (TcpOptions, ["mss", "timestamps", "sack", "max_receive_buffer"]),
        (Page, ["html", "resources", "browser_time", "kind"]),
    ],
)
def test_required_fields_come_first_then_the_order_of_rust(kind: type, order: list[str]) -> None:
    assert [item.name for item in dataclasses.fields(kind) if item.name in order] == order


def schema(**fields: dict[str, Any]) -> dict[str, Any]:
    """A schema of a file with these fields, with types of every form."""
    types = {
        "Duration": {"type": "string", "x-quantity": "duration", "examples": ["10 ms"]},
        "Mode": {"oneOf": [{"const": "a", "description": "First"}, {"const": "b", "description": "Second."}]},
        "Shape": {
            "description": "A shape.",
            "oneOf": [
                {"properties": {"kind": {"const": "very_round"}, "radius": {"type": "integer"}}, "required": ["kind"]},
                {"properties": {"kind": {"const": "none"}}, "required": ["kind"], "title": "NoShape"},
            ],
        },
        "Spread": {
            "anyOf": [{"type": "string", "x-quantity": "duration"}, {"properties": {"mean": {"type": "number"}}}]
        },
    }
    return {"description": "A file.", "properties": fields, "$defs": types}


@pytest.mark.parametrize(
    ("field", "lines"),
    [
        ({"type": ["boolean", "null"]}, ["name: bool | None = None"]),
        ({"type": "array", "items": {"type": "string"}}, ["name: tuple[str, ...] | None = None"]),
        ({"enum": [1, 2]}, ["name: Literal[1, 2] | None = None"]),
        ({}, ["name: object = None"]),
        ({"$ref": "#/$defs/Duration"}, ['#: A duration, such as "10 ms".', "name: Duration | None = None"]),
        (
            {"$ref": "#/$defs/Mode"},
            ["#: - `a`: First.", 'Mode: TypeAlias = Literal["a", "b"]', "name: Mode | None = None"],
        ),
        ({"$ref": "#/$defs/Shape"}, ["class VeryRound:", "class NoShape:", "Shape: TypeAlias = VeryRound | NoShape"]),
        ({"$ref": "#/$defs/Spread"}, ["class Spread:", "name: Duration | Spread | None = None"]),
        (
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/Mode"}},
            ["name: dict[str, Mode] = field(default_factory=dict)"],
        ),
    ],
)
def test_each_form_of_a_field(field: dict[str, Any], lines: list[str]) -> None:
    made = [line.strip() for line in scenario_classes.module(schema(name=field)).splitlines()]
    assert [line for line in lines if line not in made] == []


def test_a_name_that_python_keeps_is_another_one() -> None:
    made = scenario_classes.module(schema(**{"from": {"type": "string"}}))
    assert 'from_: str | None = field(default=None, metadata={"name": "from"})' in made


def test_names_that_collide_are_refused() -> None:
    types = schema(shape={"$ref": "#/$defs/Shape"}, mode={"$ref": "#/$defs/VeryRound"})
    types["$defs"]["VeryRound"] = types["$defs"]["Mode"]
    with pytest.raises(ValueError, match="VeryRound cannot name a type: give the variant a `title`"):
        scenario_classes.module(types)
