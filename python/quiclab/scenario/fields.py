"""Fields of scenario files, and of the VPN's configuration: type, default, meaning and limits, from a JSON schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from quiclab._base.native import extension
from quiclab.errors import unexpected, unknown_field
from quiclab.scenario.tree import toml_value

Schema: TypeAlias = Mapping[str, Any]
#: Writes the name of a type that has its own fields; the second argument is the kind of a quantity, else empty.
Link: TypeAlias = Callable[[str, str], str]


@dataclass(frozen=True)
class Field:
    """A field of a table.

    Attributes
    ----------
    name, type, meaning
        Name, type in prose, and meaning with the unit.
    default
        Default as TOML, "required", or empty if nothing is set.
    constraint
        Values that it accepts, in prose; empty if its type says it all.
    """

    name: str
    type: str
    default: str
    meaning: str
    constraint: str


@dataclass(frozen=True)
class Table:
    """Fields of a table of a scenario, or of one of its variants; or the values of a choice.

    Attributes
    ----------
    kind
        Value of `kind` that selects the variant; empty if there is one form only.
    meaning
        Meaning of the variant.
    fields
        Fields in alphabetical order, required ones first.
    values
        Values of a choice, each with its meaning.
    """

    kind: str
    meaning: str
    fields: tuple[Field, ...] = ()
    values: tuple[tuple[str, str], ...] = ()


@cache
def scenario_types() -> dict[str, Schema]:
    """Return the types of scenario files by name; `Scenario` is the whole file."""
    return types_of(json.loads(extension().schema()), "Scenario")


def types_of(schema: Schema, root: str) -> dict[str, Schema]:
    """Return the types of a JSON schema by name, with the whole document as `root`."""
    return {root: schema, **schema["$defs"]}


@cache
def quantities() -> dict[str, str]:
    """Return the kind of quantity of each type that is a number with a unit, such as `duration`."""
    return {name: item["x-quantity"] for name, item in scenario_types().items() if "x-quantity" in item}


def words(name: str) -> str:
    """Return the name of a type as words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def sentence(schema: Schema) -> str:
    """Return a description on one line."""
    return " ".join(schema.get("description", "").split())


def _plain(name: str, quantity: str) -> str:
    return quantity or words(name)


def tables(schema: Schema, link: Link = _plain) -> list[Table]:
    """Return the tables of a type: its fields, those of each variant, or its values."""
    found = []
    for form in schema.get("anyOf", [schema]):  # a type with a short form is one of two
        variants = form.get("oneOf", [])
        values = tuple((str(item["const"]), sentence(item)) for item in variants if "const" in item)
        if values:
            found.append(Table("", "", values=values))
        if "properties" in form:
            found.append(Table("", "", _fields(form, link)))
        else:
            tagged = (variant for variant in variants if "properties" in variant)
            found.extend(Table(_kind(variant), sentence(variant), _fields(variant, link)) for variant in tagged)
    return found


def at(path: str) -> list[Table]:
    """Return the tables of the field at a path of a scenario, of each variant that has it, and those of its type.

    Parameters
    ----------
    path
        Names joined by dots, such as `links.down1.queue`: any name stands for one that a scenario gives, any number for
        an entry of a list. Empty for the whole file.

    Raises
    ------
    RequestError
        If there is no such field.
    """
    own: list[Table] = []
    items: list[Schema] = [scenario_types()["Scenario"]]
    steps = path.split(".") if path else []
    for count, step in enumerate(steps, 1):
        here = ".".join(steps[:count])
        forms = [form for item in items for form in _forms(item)]
        inner = [form[key] for form in forms for key in ("additionalProperties", "items") if form.get(key)]
        with_field = [form for form in forms if step in form.get("properties", {})]
        if not with_field and not inner:
            raise unknown_field(here, step, sorted({name for form in forms for name in form.get("properties", {})}))
        if not with_field and not step.isdecimal() and any("items" in form for form in forms):
            raise unexpected(here, "the number of an entry of a list, from 0", step)
        own = [Table(_kind(form), "", (_field(step, form["properties"][step], form, _plain),)) for form in with_field]
        items = [form["properties"][step] for form in with_field] or inner
    of_type = [table for item in items for table in tables(_target(item))]
    return list(dict.fromkeys([*own, *of_type]))


def _kind(form: Schema) -> str:
    """Return the value of `kind` that selects a variant."""
    return str(form["properties"].get("kind", {}).get("const", ""))


def _target(item: Schema) -> Schema:
    """Return the type that a field refers to, without the alternative null; entries of a list or a map are its own."""
    choices = [choice for choice in item.get("anyOf", []) if choice != {"type": "null"}]
    if "$ref" in item:
        return _target(scenario_types()[item["$ref"].rpartition("/")[2]])
    if "items" in item:
        return _target(item["items"])
    if isinstance(item.get("additionalProperties"), Mapping):
        return _target(item["additionalProperties"])
    if any("$ref" in choice for choice in choices):
        return {"anyOf": [form for choice in choices for form in _target(choice).get("anyOf", [_target(choice)])]}
    return item


def _forms(item: Schema) -> Iterator[Schema]:
    """Yield the forms that a value of a type may have, variants of tables included."""
    if "$ref" in item:
        yield from _forms(scenario_types()[item["$ref"].rpartition("/")[2]])
        return
    yield item
    for key in ("anyOf", "oneOf"):
        for choice in item.get(key, []):
            yield from _forms(choice)


def _fields(form: Schema, link: Link) -> tuple[Field, ...]:
    required = form.get("required", [])
    entries = sorted(form["properties"].items(), key=lambda entry: (entry[0] not in required, entry[0]))
    # the heading has the tag of a variant
    return tuple(_field(name, item, form, link) for name, item in entries if name != "kind" or "const" not in item)


def _field(name: str, item: Schema, form: Schema, link: Link) -> Field:
    default = item.get("default")
    shown = "" if default in (None, {}, []) else toml_value(default, inside=True)
    shown = "required" if name in form.get("required", []) else shown
    return Field(name, _type(item, link), shown, sentence(item), item.get("x-expected", ""))


def _type(item: Schema, link: Link) -> str:
    """Return the type of a field in prose."""
    if "$ref" in item:
        name = item["$ref"].rpartition("/")[2]
        return link(name, quantities().get(name, ""))
    if "anyOf" in item:
        return " or ".join(_type(choice, link) for choice in item["anyOf"] if choice != {"type": "null"})
    if isinstance(item.get("additionalProperties"), Mapping):
        return f"map of tables: {_type(item['additionalProperties'], link)}"
    kind = item.get("type", "any value")
    kind = kind[0] if isinstance(kind, list) else kind
    return f"list: {_type(item['items'], link)}" if kind == "array" else str(kind)
