"""The adapter file of a program: a short TOML file with its commands and the names of its options.

The format is described in docs/adapters.md; here it is read, strictly. Every error is a one-line message that names
file, field, value and expected values.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from quiclab._base.files import read_text
from quiclab.errors import RequestError, missing_field, not_one_of, unexpected, unknown, unknown_field
from quiclab.lane.adapter_plan import Command, GuestPlan, Need, Option, ProgramPlan
from quiclab.lane.placeholders import EARLY, FIELDS, LATE, PLACEHOLDER
from quiclab.lane.toml_places import located, syntax_error
from quiclab.lane.words import EXPECTED, plain
from quiclab.result.recordings import ENDS
from quiclab.scenario import quantity

PROTOCOLS: Final = ("tcp", "quic", "udp")
#: Workloads that a program can support; a download is limited by a size or by a duration.
WORKLOADS: Final = ("download.size", "download.duration", "request_response", "page", "ping", "datagrams")
#: How the output of a program becomes numbers.
FORMATS: Final = ("quiclab", "json_lines", "iperf3", "curl", "none")
#: Formats in which the report of an end does not need that of the other.
FORMATS_OF_ONE_END: Final = ("quiclab", "json_lines")
#: Units in which the value of an option is passed on.
UNITS: Final = tuple(EXPECTED)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
_MEMORY: Final = re.compile(r"[1-9][0-9]*[MG]")
_DURATION: Final = "a time such as `5 s`"
_FIELDS_OF_A_FILE: Final = [
    "name",
    "description",
    "protocol",
    "application",
    "workloads",
    "version",
    "needs",
    "options",
    "server",
    "client",
    "collect",
    "guest",
]


@dataclass(frozen=True)
class AdapterFile:
    """The validated contents of a file."""

    path: Path
    name: str
    description: str
    protocol: str
    #: Protocol above the transport, by which its ends understand those of other files; None if they do not.
    application: str | None
    workloads: tuple[str, ...]
    version: tuple[str, ...] | None
    needs: tuple[Need, ...]
    options: Mapping[str, Option]
    server: ProgramPlan
    client: ProgramPlan
    format: str
    reporting: tuple[str, ...]
    guest: GuestPlan


def read(path: Path) -> AdapterFile:
    """Read the file of a program.

    Raises
    ------
    RequestError
        If it cannot be read, or something in it is wrong.
    """
    text = read_text(path, "the adapter")
    try:
        return _Reader(path, text).adapter(tomllib.loads(text))
    except ValueError as error:  # also an integer with too many digits
        raise syntax_error(text, path) or RequestError(f"{path}: not valid TOML: {error}", kind="Syntax") from error
    except RecursionError as error:
        raise RequestError(f"{path}: not valid TOML: it is nested too deeply", kind="Syntax") from error


class _Reader:
    """Reads one file; knows its path and text for errors."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text_of_file = path, text

    def adapter(self, tree: dict[str, Any]) -> AdapterFile:
        self._fields("", tree, _FIELDS_OF_A_FILE, required=("name", "protocol", "workloads", "server", "client"))
        name = self._text("name", tree["name"])
        if _NAME.fullmatch(name) is None:
            self._wrong("name", name, "lower-case letters, digits, `.`, `_` and `-`, such as `my-program`")
        options = {
            option: self._option(f"options.{option}", value)
            for option, value in self._table("options", tree.get("options", {})).items()
        }
        collect = self._table("collect", tree.get("collect", {"format": "none"}))
        self._fields("collect", collect, ["format", "ends"], required=("format",))
        reporting = collect.get("ends", list(ENDS))
        needs = self._items("needs", tree.get("needs", []))
        version = self._list("version", tree["version"]) if "version" in tree else None
        adapter = AdapterFile(
            path=self._path,
            name=name,
            description=self._text("description", tree.get("description", name)),
            protocol=self._choice("protocol", tree["protocol"], PROTOCOLS),
            application=self._text("application", tree["application"]) if "application" in tree else None,
            workloads=tuple(
                self._choice(path, item, WORKLOADS) for path, item in self._items("workloads", tree["workloads"])
            ),
            version=version,
            needs=tuple(self._need(path, item) for path, item in needs),
            options=options,
            server=self._program("server", tree["server"], options),
            client=self._program("client", tree["client"], options),
            format=self._choice("collect.format", collect["format"], FORMATS),
            reporting=self._choices("collect.ends", reporting, ENDS),
            guest=self._guest("guest", tree.get("guest", {})),
        )
        if version is not None:
            self._placeholders("version", version, EARLY)
        if adapter.application is not None and adapter.format not in FORMATS_OF_ONE_END:
            self._refuse(not_one_of("collect.format", adapter.format, FORMATS_OF_ONE_END, "with `application`"))
        return adapter

    def _need(self, path: str, value: object) -> Need:
        table = self._table(path, value)
        kinds = [kind for kind in ("program", "file", "python") if kind in table]
        if len(kinds) != 1:
            self._wrong(path, table, "exactly one of `program`, `file` and `python`, and `package`")
        self._fields(path, table, [kinds[0], "package"], required=("package",))
        name = self._text(f"{path}.{kinds[0]}", table[kinds[0]])
        self._known(f"{path}.{kinds[0]}", name, EARLY)
        return Need(kinds[0], name, self._text(f"{path}.package", table["package"]))

    def _guest(self, path: str, value: object) -> GuestPlan:
        table = self._table(path, value)
        self._fields(path, table, ["memory", "sysctls"], required=())
        memory = self._text(f"{path}.memory", table["memory"]) if "memory" in table else None
        if memory is not None and _MEMORY.fullmatch(memory) is None:
            self._wrong(f"{path}.memory", memory, "a number with M or G, such as `2G`")
        settings = self._table(f"{path}.sysctls", table.get("sysctls", {}))
        return GuestPlan(memory, {name: self._text(f"{path}.sysctls.{name}", word) for name, word in settings.items()})

    def _option(self, path: str, value: object) -> Option:
        table = self._table(path, value)
        self._fields(path, table, ["values", "unit", "default", "ends"])
        if ("values" in table) == ("unit" in table):
            self._wrong(path, table, "either `values` (a word for each value) or `unit`")
        ends = tuple(
            self._choice(place, end, ENDS) for place, end in self._items(f"{path}.ends", table.get("ends", ["sender"]))
        )
        default = plain(table["default"]) if "default" in table else None
        if "unit" in table:
            unit = self._choice(f"{path}.unit", table["unit"], UNITS)
            option = Option(None, unit, default, ends)
            if default is not None and option.word(default) is None:
                self._refuse(option.refusal(f"{path}.default", default))
            return option
        values = {
            name: self._text(f"{path}.values.{name}", word)
            for name, word in self._table(f"{path}.values", table["values"]).items()
        }
        if not values:
            self._wrong(f"{path}.values", values, "at least one value")
        if default is not None:
            self._choice(f"{path}.default", default, tuple(values))
        return Option(values, None, default, ends)

    def _program(self, path: str, value: object, options: Mapping[str, Option]) -> ProgramPlan:
        table = self._table(path, value)
        self._fields(path, table, ["command", "ready", "environment", "ready_timeout", "grace"], required=("command",))
        command = self._command(f"{path}.command", table["command"])
        known = (*EARLY, *LATE, *FIELDS, *options)
        for index, part in enumerate(command):
            place = f"{path}.command.{index}"
            if isinstance(part, str):
                self._known(place, part, known)
            else:
                self._placeholders(place, part, known)
        environment = {
            name: self._text(f"{path}.environment.{name}", word)
            for name, word in self._table(f"{path}.environment", table.get("environment", {})).items()
        }
        # addresses are put into commands only
        early = (*EARLY, *FIELDS, *options)
        for name, word in environment.items():
            self._known(f"{path}.environment.{name}", word, early)
        for name in ("ready_timeout", "grace"):
            if name in table and (quantity.parse(table[name]) or ("",))[0] != "nanoseconds":
                self._wrong(f"{path}.{name}", table[name], _DURATION)
        return ProgramPlan(
            command=command,
            ready=self._ready(f"{path}.ready", table["ready"]) if "ready" in table else {"kind": "started"},
            environment=environment,
            ready_timeout=table.get("ready_timeout"),
            grace=table.get("grace"),
        )

    def _ready(self, path: str, value: object) -> dict[str, Any]:
        table = self._table(path, value)
        kind = self._choice(f"{path}.kind", table.get("kind"), ("started", "port", "output"))
        fields = {"started": (), "port": ("protocol", "port"), "output": ("text",)}[kind]
        self._fields(path, table, ["kind", *fields], required=fields)
        if kind == "port":
            self._choice(f"{path}.protocol", table["protocol"], ("tcp", "udp"))
            port = table["port"]
            if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 1 << 16:
                self._wrong(f"{path}.port", port, "a number from 1 to 65535")
        elif kind == "output":
            self._text(f"{path}.text", table["text"])
        return dict(table)

    def _command(self, path: str, value: object) -> Command:
        if not isinstance(value, list) or not value or not isinstance(value[0], str):
            self._wrong(path, value, 'a list of strings, such as ["iperf3", "-s", ["-C", "{congestion_control}"]]')
        parts: list[str | tuple[str, ...]] = []
        for place, part in self._items(path, value):
            if isinstance(part, list):
                group = self._list(place, part)
                if not any(PLACEHOLDER.search(word) for word in group):
                    self._wrong(place, part, "a group with a placeholder, which decides whether it is omitted")
                parts.append(group)
            else:
                parts.append(self._text(place, part))
        return tuple(parts)

    def _placeholders(self, path: str, words: tuple[str, ...], known: tuple[str, ...]) -> None:
        for index, word in enumerate(words):
            self._known(f"{path}.{index}", word, known)

    def _known(self, path: str, word: str, known: tuple[str, ...]) -> None:
        """Check the placeholders of a word."""
        for name in PLACEHOLDER.findall(word):
            if name not in known:
                self._refuse(unknown("placeholder", f"{{{name}}}", [f"{{{item}}}" for item in known], path))

    def _fields(
        self, path: str, table: Mapping[str, Any], known: list[str], required: tuple[str, ...] | list[str] = ()
    ) -> None:
        for name in table:
            if name not in known:
                self._refuse(unknown_field(f"{path}.{name}" if path else name, name, known))
        for name in required:
            if name not in table:
                self._refuse(missing_field(f"{path}.{name}" if path else name))

    def _table(self, path: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._wrong(path, value, "a table")
        return value

    def _items(self, path: str, value: object) -> list[tuple[str, Any]]:
        """Return the items of a list, each with its path."""
        if not isinstance(value, list):
            self._wrong(path, value, "a list")
        return [(f"{path}.{index}", item) for index, item in enumerate(value)]

    def _list(self, path: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not value:
            self._wrong(path, value, "a list of strings")
        return tuple(self._text(place, word) for place, word in self._items(path, value))

    def _text(self, path: str, value: object) -> str:
        if not isinstance(value, str):
            self._wrong(path, value, "a string")
        return value

    def _choices(self, path: str, value: object, allowed: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._choice(place, item, allowed) for place, item in self._items(path, value))

    def _choice(self, path: str, value: object, allowed: tuple[str, ...]) -> str:
        if not isinstance(value, str) or value not in allowed:
            self._refuse(not_one_of(path, value, allowed))
        return value

    def _wrong(self, path: str, value: object, expected: str) -> NoReturn:
        self._refuse(unexpected(path, expected, value))

    def _refuse(self, error: RequestError) -> NoReturn:
        raise located(error, self._path, self._text_of_file)
