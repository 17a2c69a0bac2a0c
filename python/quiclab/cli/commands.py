"""The commands: name, description, section, and the function that carries it out; `commands.toml` has the table."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True)
class Part:
    """A command.

    Attributes
    ----------
    function
        Where it is: `module:function`, of a module of this package.
    help
        Its description.
    section
        Its section in the list of commands.
    """

    function: str
    help: str
    section: str | None = None


@dataclass(frozen=True)
class Group:
    """A group of commands.

    Attributes
    ----------
    section, help
        As of `Part`.
    commands
        Its commands by their names.
    default
        The command where none is named; empty where one must be.
    """

    section: str
    help: str
    commands: dict[str, Part]
    default: str = ""


def _parts(table: dict[str, Any]) -> dict[str, Part]:
    return {name: Part(**fields) for name, fields in table.items()}


_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

COMMANDS: Final = _parts(_TABLE["commands"])
GROUPS: Final = {
    name: Group(**fields | {"commands": _parts(fields["commands"])}) for name, fields in _TABLE["groups"].items()
}
