"""Adapter files: places in TOML, words of commands, and lists that follow the format of scenarios."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from quiclab._base.native import extension
from quiclab.errors import RequestError
from quiclab.lane.adapter_file import WORKLOADS, read
from quiclab.lane.adapter_plan import Option
from quiclab.lane.placeholders import FIELDS
from quiclab.lane.toml_places import located
from quiclab.lane.words import plain, words_of

DOCUMENT = '''\
top = 1 # [not] = "a table"
"quoted.key" = 'it is'
dotted.a.b = 1979-05-27 07:32:00
[table]
many = [ 1, [ "a", { b = "] } #" } ], # a ] in a comment
  """two
lines""", ]
text = """a "quoted" \\""" end""""
literal = ~~~ a 'b'~~~
[[array]]
x = 1
[[array]]
x = { y.z = 2, kind = "kind" }
[array.below]
k = true
[later.below]
k = []
'''.replace("~~~", "'''")


def walk(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield each part of a document with its path."""
    if path:
        yield path, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        yield from walk(part, f"{path}.{step}" if path else str(step))


def test_places_are_those_of_the_values() -> None:
    document = tomllib.loads(DOCUMENT)
    for path, value in walk(document):
        error = located(RequestError("wrong", path=path, kind="OutOfRange"), Path("x.toml"), DOCUMENT)
        assert error.line is not None
        assert error.column is not None
        here = "\n".join(DOCUMENT.split("\n")[error.line - 1 :])[error.column - 1 :]
        if isinstance(value, dict | list):  # the name, or the header
            names = {step for step in path.split(".") if not step.isdigit()} | {"quoted.key"}
            assert any(here.lstrip('["').startswith(name) for name in names) or here.startswith(("[", "{")), path
        else:
            assert any(_reads(here[:end], value) for end in range(1, 60)), (path, here)


def _reads(text: str, value: object) -> bool:
    try:
        return bool(tomllib.loads(f"k = {text}")["k"] == value)
    except tomllib.TOMLDecodeError:
        return False


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a = " + "[" * 300 + "]" * 300, "a = " + "1" * 5000, 'a = "\n']
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(RequestError) as error:
        read(file)
    assert error.value.kind in ("Syntax", "UnknownField")
    assert str(file) in error.value.message


def test_numbers_are_written_without_exponent() -> None:
    values = [1e-5, 1e16, 1.125, 3.0, 3, True]
    assert [plain(value) for value in values] == ["0.00001", "10000000000000000", "1.125", "3.0", "3", "true"]
    assert words_of({"kind": "page", "share": 1e-5})["share"] == "0.00001"
    assert Option(None, "number", None, ("sender",)).word(1e-5) == "0.00001"


def test_workloads_and_their_fields_are_those_of_scenarios() -> None:
    types = json.loads(extension().schema())["$defs"]
    suffixes = {"size": "_bytes", "duration": "_s", "rate": "_bps"}
    fields: dict[str, set[str]] = {}
    for variant in types["Workload"]["oneOf"]:
        properties = dict(variant["properties"])
        names = fields[properties.pop("kind")["const"]] = set()
        for name, field in properties.items():
            references = [item["$ref"] for item in (field, *field.get("anyOf", ())) if "$ref" in item]
            quantities = [types[reference.rpartition("/")[2]].get("x-quantity") for reference in references]
            names |= {name + suffixes[quantity] for quantity in quantities if quantity in suffixes}
            names |= {name} if field.get("type") in ("integer", "number") else set()
    kinds = {workload.partition(".")[0] for workload in WORKLOADS}
    assert kinds <= set(fields)
    # names of variants, lists and distributions are in `{workload}` only, which is the whole table
    assert set(FIELDS) == set().union(*(fields[kind] for kind in kinds))
