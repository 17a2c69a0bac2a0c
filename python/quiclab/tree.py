"""Conversion between frozen dataclasses and the plain tree of a TOML or JSON file.

Tagged unions are dataclasses with a `kind` whose default is the tag; a field whose name is a Python keyword carries
its real name as `metadata={"name": ...}`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from quiclab.errors import RequestError, missing_field, not_one_of, unexpected, unknown_field


def to_plain(value: object) -> Any:
    """Turn dataclasses into dictionaries and tuples into lists, leaving out fields that are `None`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            _name(item): to_plain(getattr(value, item.name))
            for item in dataclasses.fields(value)
            if getattr(value, item.name) is not None and not item.metadata.get("internal")
        }
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: Any, value: Any, path: str) -> Any:
    """Build `kind` (a dataclass, container, union or plain type) from plain values.

    Raises
    ------
    RequestError
        If a field is unknown, missing or of another type; its path starts with `path`, which is empty for a document.
    """
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind, value, path)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union(arguments, value, path)
    if origin is tuple:
        _expect(isinstance(value, list | tuple), path, value, "a list")
        return tuple(from_plain(arguments[0], item, _below(path, index)) for index, item in enumerate(value))
    if origin is dict:
        _expect(isinstance(value, Mapping), path, value, "a table")
        return {key: from_plain(arguments[1], item, _below(path, key)) for key, item in value.items()}
    if origin is Literal:
        if value not in arguments:
            raise not_one_of(path, value, arguments)
        return value
    _expect(
        _is_plain(kind, value),
        path,
        value,
        {str: "a string", int: "an integer", bool: "a boolean", float: "a finite number"}.get(
            kind, f"a {kind.__name__}"
        ),
    )
    return value


def with_value(plain: Mapping[str, Any], path: str, value: Any, above: str = "") -> dict[str, Any]:
    """Return a copy of a plain tree in which the value at a dotted path is another; `None` removes it.

    Entries of a list are counted from 0; the number after the last one appends. `above` is the path of `plain` itself,
    for errors.

    Raises
    ------
    RequestError
        If the path runs through something that is neither a table nor a list, or an entry of a list does not exist.
    """
    head, _, rest = path.partition(".")
    here = f"{above}{head}"
    copy = dict(plain)
    if not rest:
        if value is None:
            copy.pop(head, None)
        else:
            copy[head] = value
        return copy
    inner = copy.get(head, {})
    if isinstance(inner, list | tuple):
        entries = {str(index): entry for index, entry in enumerate(inner)}
        if (index := rest.partition(".")[0]) not in (*entries, str(len(entries))):
            raise unexpected(here, f"an index from 0 to {len(entries)}", index)
        copy[head] = list(with_value(entries, rest, value, f"{here}.").values())
        return copy
    if not isinstance(inner, Mapping):
        raise unexpected(
            here, "a table", inner, f"`{rest}` in it cannot be set; set {here} as a table", kind="WrongType"
        )
    copy[head] = with_value(inner, rest, value, f"{here}.")
    return copy


def toml_value(value: Any, *, inside: bool = False) -> str:
    """Write a plain value as TOML; a string stays bare, as `--set` accepts it, except `inside` a table or list."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if inside else value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml_value(item, inside=True)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item, inside=True) for item in value) + "]"
    return str(value)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _below(path: str, step: object) -> str:
    """Return the path of a part of the value at a path, as the engine writes it: `links.down1`, `flows.main.down.0`."""
    return f"{path}.{step}" if path else str(step)


def _name(item: dataclasses.Field[Any]) -> str:
    return str(item.metadata.get("name", item.name))


def _dataclass(kind: type, value: Any, path: str) -> Any:
    if isinstance(value, kind):
        return value
    _expect(isinstance(value, Mapping), path, value, "a table")
    fields = {_name(item): item for item in dataclasses.fields(kind) if not item.metadata.get("internal")}
    for key in value:
        if key not in fields:
            raise unknown_field(_below(path, key), str(key), sorted(fields))
    arguments = {}
    for key, item in fields.items():
        if key in value and value[key] is not None:
            arguments[item.name] = from_plain(_hints(kind)[item.name], value[key], _below(path, key))
        elif item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            raise missing_field(_below(path, key))
    return kind(**arguments)


def _union(members: tuple[Any, ...], value: Any, path: str) -> Any:
    """Choose the member of a union: by `kind` for tables, else the first plain type that fits."""
    classes = [item for item in members if dataclasses.is_dataclass(item)]
    if isinstance(value, tuple(item for item in classes if isinstance(item, type))):
        return value
    if isinstance(value, Mapping) and len(classes) == 1:
        return from_plain(classes[0], value, path)
    if isinstance(value, Mapping) and classes:
        tags = {next((f.default for f in dataclasses.fields(item) if f.name == "kind"), None): item for item in classes}
        tag = value.get("kind")
        if not isinstance(tag, str | None) or tag not in tags:
            raise not_one_of(_below(path, "kind"), tag, (item for item in tags if item is not None))
        return from_plain(tags[tag], value, path)
    others = [item for item in members if item not in classes and item is not types.NoneType]
    failure: RequestError | None = None
    for item in others:
        try:
            return from_plain(item, value, path)
        except RequestError as error:
            failure = error
    raise failure or unexpected(path, "a table", value, kind="WrongType")


def _is_plain(kind: Any, value: Any) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _expect(fits: bool, path: str, value: Any, expected: str) -> None:
    if not fits:
        raise unexpected(path, expected, value, kind="WrongType")


def to_json(value: object) -> str:
    """Write JSON as the command line prints it."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
