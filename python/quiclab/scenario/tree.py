"""Plain trees: dictionaries, lists, texts, numbers and booleans, as of a TOML or JSON file."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from quiclab.errors import unexpected


def plain(value: Any) -> Any:
    """Return a copy with dictionaries and lists, without what is `None` in tables."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def paths(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of all values of a plain tree, those of tables and lists before what is in them."""
    if path:
        yield path
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, f"{path}.{key}" if path else str(key))


def not_plain(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what is no plain value, with its path: no text, finite number, boolean, list or dictionary."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from not_plain(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from not_plain(item, f"{path}.{index}")
    elif not isinstance(value, str | int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
        yield path, value


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


def change_text(value: Any) -> str:
    """Write a plain value as `--set` reads it: text is bare, unless TOML would read another value in it."""
    if not isinstance(value, str):
        return toml_value(value)
    try:
        tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return value
    return toml_value(value, inside=True)


def brief(value: Any) -> str:
    """Write a plain value for people: without quotes, and only the names and values of a table."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {brief(item)}" if key != "kind" else brief(item) for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(brief, value))
    return toml_value(value)


def to_json(value: object) -> str:
    """Write JSON as the command line prints it."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
