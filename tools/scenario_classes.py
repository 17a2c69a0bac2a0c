"""Makes python/quiclab/scenario/options.py from the JSON schema of scenarios: Python classes of all options.

A table becomes a dataclass, a choice between names a `Literal`, a choice between tables a union. The class of a table
with a `kind` is named after it, unless the Rust variant has a `title`. tools/scenario_reference.py calls this.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from pathlib import Path
from typing import Any, TypeAlias

from quiclab.tree import toml_value

Schema: TypeAlias = dict[str, Any]

PATH = Path(__file__).resolve().parent.parent / "python" / "quiclab" / "scenario" / "options.py"
#: The class of the whole file; `quiclab.scenario.Scenario` adds methods to it.
ROOT = "ScenarioFields"
WIDTH = 120
#: Stands for a space at which no line ends.
NO_BREAK = "\0"
CHOICE = ("anyOf", "oneOf")
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
HEADER = '''"""The options of scenario files as dataclasses.

Made from the JSON schema of the engine by `python tools/scenario_reference.py --write`; change the Rust types instead.
`None` means that an option is not given: the engine fills in its default. Defaults are shown as in TOML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

'''


def module(schema: Schema) -> str:
    """Return the text of the module.

    Raises
    ------
    ValueError
        If two types would have the same name, or one that Python reserves.
    """
    definitions = Definitions(schema["$defs"])
    definitions.add_class(ROOT, schema)
    names = "".join(f'    "{name}",\n' for name in sorted(definitions.made))
    return f"{HEADER}__all__ = [\n{names}]\n\n" + "\n\n".join(definitions.made.values())


class Definitions:
    """The classes and aliases of a schema, each after those that it needs."""

    def __init__(self, types: dict[str, Schema]) -> None:
        self.types = types
        self.quantities = {item["x-quantity"]: name for name, item in types.items() if "x-quantity" in item}
        #: Text of each definition by its name.
        self.made: dict[str, str] = {}
        self.expressions: dict[str, str] = {}

    def named(self, name: str) -> str:
        """Return the expression for a type of the schema, which is defined with it."""
        if name not in self.expressions:
            schema = self.types[name]
            if "x-quantity" in schema:
                self.add(name, alias(name, quantity(schema), ["str"] if schema.get("type") else ["float", "str"]))
                self.expressions[name] = name
            else:
                members = self.members(schema, name)
                if name not in self.made:
                    self.add(name, alias(name, meaning(schema), members))
                    members = [name]
                self.expressions[name] = " | ".join(members)
        return self.expressions[name]

    def members(self, schema: Schema, owner: str) -> list[str]:
        """Return the types that a value may have; a table without a name has that of its owner."""
        if "$ref" in schema:
            return [self.named(schema["$ref"].rpartition("/")[2])]
        if "x-quantity" in schema:
            return [self.named(self.quantities[schema["x-quantity"]])]
        choices = [choice for key in CHOICE for choice in schema.get(key, []) if choice != {"type": "null"}]
        if choices:
            names = [choice["const"] for choice in choices if "const" in choice]
            others = [self.members(choice, owner) for choice in choices if "const" not in choice]
            return ([literal(names)] if names else []) + [member for members in others for member in members]
        if "properties" in schema:
            kind = schema["properties"].get("kind", {}).get("const", "")
            name = schema.get("title") or kind.title().replace("_", "") or owner
            self.add_class(name, schema)
            return [name]
        return [literal(schema["enum"]) if "enum" in schema else self.plain(schema, owner)]

    def plain(self, schema: Schema, owner: str) -> str:
        """Return the type of a list, a map of tables or a single value."""
        kinds = schema.get("type", [])
        kind = next((item for item in ([kinds] if isinstance(kinds, str) else kinds) if item != "null"), None)
        if kind == "array":
            return f"tuple[{self.union(schema['items'], owner)}, ...]"
        if kind == "object":
            return f"dict[str, {self.union(schema['additionalProperties'], owner)}]"
        return PLAIN.get(str(kind), "object")

    def union(self, schema: Schema, owner: str) -> str:
        """Return the type of a value as one expression."""
        return " | ".join(self.members(schema, owner))

    def add_class(self, name: str, schema: Schema) -> None:
        """Define the dataclass of a table: required fields, then the others as in Rust, then its tag."""
        properties, required = schema["properties"], schema.get("required", [])
        order = schema.get("x-order", sorted(properties))
        names = [item for item in order if "const" not in properties[item]]
        names.sort(key=lambda item: item not in required)
        lines = [self.field(item, properties[item], item in required, name) for item in names]
        tag = properties.get("kind", {}).get("const")
        lines += [f'kind: Literal["{tag}"] = "{tag}"'] if tag else []
        notes = [(identifier(item), explanation(properties[item], item in required)) for item in names]
        text = f"@dataclass(frozen=True, kw_only=True)\nclass {name}:\n"
        text += docstring(meaning(schema), notes)
        self.add(name, text + "\n" + "".join(f"    {line}\n" for line in lines))

    def field(self, name: str, schema: Schema, required: bool, owner: str) -> str:
        """Return the definition of a field of a dataclass."""
        kind = self.union(schema, owner)
        options = {}
        if not required and kind.startswith("dict["):
            options["default_factory"] = "dict"
        elif not required:
            options["default"] = "None"
            kind += "" if kind == "object" else " | None"
        elif "minimum" in schema and schema["minimum"] == schema.get("maximum"):
            options["default"] = str(schema["minimum"])
        if identifier(name) != name:
            options["metadata"] = f'{{"name": "{name}"}}'
        if not options:
            return f"{identifier(name)}: {kind}"
        arguments = ", ".join(f"{key}={value}" for key, value in options.items())
        value = options["default"] if options.keys() == {"default"} else f"field({arguments})"
        return f"{identifier(name)}: {kind} = {value}"

    def add(self, name: str, text: str) -> None:
        """Add a definition.

        Raises
        ------
        ValueError
            If the name is taken or reserved.
        """
        if name in self.made or keyword.iskeyword(name):
            raise ValueError(f"{name} cannot name a type: give the variant a `title`, or the type a `rename`, in Rust")
        self.made[name] = text


def identifier(name: str) -> str:
    """Return the name of a field in Python."""
    return f"{name}_" if keyword.iskeyword(name) else name


def literal(values: list[object]) -> str:
    """Return the type of one of several values."""
    return f"Literal[{', '.join(toml_value(value, inside=True) for value in values)}]"


def alias(name: str, comment: list[str], members: list[str]) -> str:
    """Return the definition of a type that is no class."""
    lines = [f"#: {line}" for paragraph in comment for line in wrapped(paragraph, WIDTH - 3)]
    text = f"{name}: TypeAlias = {' | '.join(members)}"
    if len(text) > WIDTH and len(members) == 1:
        text = f"{name}: TypeAlias = {exploded(members[0], '', 0)}"
    elif len(text) > WIDTH:
        text = "\n    | ".join(exploded(member, "    ", WIDTH - len("    | ")) for member in members)
        text = f"{name}: TypeAlias = (\n    {text}\n)"
    return "\n".join([*lines, text]) + "\n"


def exploded(expression: str, indent: str, room: int) -> str:
    """Return a literal that needs more room with a line for each value; anything else unchanged."""
    if not expression.startswith("Literal[") or len(expression) <= room:
        return expression
    values = expression.removeprefix("Literal[").removesuffix("]").split(", ")
    return "Literal[\n" + "".join(f"{indent}    {value},\n" for value in values) + f"{indent}]"


def quantity(schema: Schema) -> list[str]:
    """Return the description of a quantity."""
    examples = [example for item in [schema, *schema.get("anyOf", [])] for example in item.get("examples", [])]
    return [f"A {schema['x-quantity']}, such as {' or '.join(toml_value(item, inside=True) for item in examples)}."]


def meaning(schema: Schema) -> list[str]:
    """Return the paragraphs of a description: its text, then its values."""
    choices = [schema, *schema.get("anyOf", [])]
    text = next((choice["description"] for choice in choices if "description" in choice), "")
    values = [item for item in schema.get("oneOf", []) if "const" in item]
    return [sentence(text), *(f"- `{item['const']}`: {sentence(item.get('description', ''))}" for item in values)]


def explanation(schema: Schema, required: bool) -> str:
    """Return the description of a field: its meaning, limits and default."""
    text = sentence(schema.get("description", ""))
    if expected := schema.get("x-expected"):
        text += f" Takes {expected}."
    if not required and schema.get("default") not in (None, {}, []):
        text += f" Default: `{toml_value(schema['default'], inside=True)}`."
    return text.strip()


def sentence(text: str) -> str:
    """Return a description on one line, with a full stop."""
    text = " ".join(text.split())
    return text if text.endswith(".") or not text else f"{text}."


def docstring(description: list[str], notes: list[tuple[str, str]]) -> str:
    """Return the docstring of a class: a summary of one line, further description, its attributes."""
    summary, *rest = description
    end = len(summary)
    if end > WIDTH - len('    """"""'):
        end = next((summary.find(mark) + 1 for mark in (". ", "; ", ": ") if 0 < summary.find(mark) < WIDTH - 10), end)
    summary, more = summary[:end], summary[end:].strip()
    lines = [summary.rstrip(";:.") + "."]
    for paragraph in ([more[:1].upper() + more[1:]] if more else []) + rest:
        lines += ["", *wrapped(paragraph, WIDTH - 4)]
    if notes:
        lines += ["", "Attributes", "----------"]
        for name, text in notes:
            lines += [name, *(f"    {line}" for line in wrapped(text, WIDTH - 8))]
    if len(lines) == 1:
        return f'    """{lines[0]}"""\n'
    body = "".join(f"    {line}".rstrip() + "\n" for line in lines[1:])
    return f'    """{lines[0]}\n{body}    """\n'


def wrapped(text: str, width: int) -> list[str]:
    """Return a text in lines, which do not end inside quotes; the points of a list are indented below their mark."""
    indent = "  " if text.startswith("- ") else ""
    kept = re.sub(r'"[^"]*"', lambda quoted: quoted[0].replace(" ", NO_BREAK), text)
    lines = textwrap.wrap(kept, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]
