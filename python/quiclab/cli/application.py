"""Commands and groups of the command line as quiclab has them: help in sections, `-h`, and suggestions.

typer has sections in help texts of its library of colours only, which takes half a second to load; here they are plain
text. A section is the `rich_help_panel` of an option, or that of a command.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import TyperPath

from quiclab.errors import RequestError, expected_got, lower_first, nearest, shown, unexpected, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Sections of help texts.
KERNEL_LANE = "Kernel lane (real programs)"
OUTPUT = "Output"
#: Options of output; they have a section of their own where a command has many options.
OUTPUT_OPTIONS = {"--json", "--out", "--force", "--compress", "--har", "--to", "--keep"}
#: First and last instant of a time: where a command has both, neither is an output.
WINDOW_OPTIONS = {"--from", "--to"}
MANY = 10

#: Of every command; its groups and commands inherit them.
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

# the common base class of errors of the option parser; typer does not export it
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]

Rows: TypeAlias = list[tuple[str, str]]


def _sections(entries: Iterable[tuple[str, tuple[str, str]]]) -> dict[str, Rows]:
    """Return rows of a help text by their sections, in the order in which the sections begin."""
    found: dict[str, Rows] = {}
    for section, row in entries:
        found.setdefault(section, []).append(row)
    return found


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    """Write arguments and options to a help text, in their sections; those without one come first."""
    rows = [(item, item.get_help_record(ctx)) for item in command.get_params(ctx)]
    long = len(rows) > MANY
    given = {word for item, _ in rows for word in item.opts}
    outputs = OUTPUT_OPTIONS - WINDOW_OPTIONS if given >= WINDOW_OPTIONS else OUTPUT_OPTIONS
    entries = []
    for item, row in rows:
        if row is not None:
            own = "Arguments" if item.param_type_name == "argument" else "Options"
            own = OUTPUT if long and outputs & set(item.opts) else own
            entries.append((getattr(item, "rich_help_panel", None) or own, row))
    sections = _sections(entries)
    first = [name for name in ("Arguments", "Options") if name in sections]
    last = [name for name in (OUTPUT, KERNEL_LANE) if name in sections]
    for name in [*first, *(name for name in sections if name not in first + last), *last]:
        with formatter.section(name):
            formatter.write_dl(sections[name])


class GivenPath(TyperPath):
    """The type of every path on the command line: an empty text is none, and not the working directory."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path."""
        if not str(value):
            self.fail(expected_got("a path", shown("")), param, ctx)
        return super().convert(value, param, ctx)


class Command(TyperCommand):
    """A command whose help has sections, and whose errors say what is expected."""

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **named)
        for item in self.params:
            if isinstance(item.type, TyperPath):
                item.type = GivenPath(path_type=item.type.type)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage: options that must be given, too, and nothing in the braces in which typer has arguments."""
        needed = [
            f"{item.opts[0]} {item.make_metavar(ctx)}"
            for item in self.params
            if item.param_type_name == "option" and item.required
        ]
        first, *rest = [re.sub(r"^\{(.*)\}$", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]
        return [first, *needed, *rest]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command.

        Raises
        ------
        RequestError
            If there are too many.
        """
        ctx.allow_extra_args = True
        try:
            rest = super().parse_args(ctx, args)
        except UsageError as error:
            error.ctx = error.ctx or ctx  # an option without its value does not tell its command
            raise
        if rest and not ctx.resilient_parsing:
            raise RequestError(f"unexpected argument {shown(rest[0])}; {_usage(ctx)}", value=rest[0])
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, by section."""
        _write_options(self, ctx, formatter)


class Group(TyperGroup):
    """A group whose help has sections and whole sentences, and which suggests the command that was meant."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write options and commands, by section."""
        _write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with the first paragraph of their help, which typer cuts in the middle of a sentence."""
        del ctx
        entries = []
        for name, command in self.commands.items():
            paragraph = inspect.cleandoc(command.help or "").partition("\n\n")[0]
            section = getattr(command, "rich_help_panel", None) or "Commands"
            entries.append((section, (name, " ".join(paragraph.split()))))
        for section, rows in _sections(entries).items():
            with formatter.section(section):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command by its name.

        Raises
        ------
        RequestError
            If there is none of that name.
        """
        if args and args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise unknown("command", args[0], self.commands, listing=f"{ctx.command_path} --help")
        return super().resolve_command(ctx, args)


class RunByDefault(Group):
    """The group of `quiclab sweep`: `run` is the command where no other is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` before a word that is not the name of a command.

        Raises
        ------
        RequestError
            If it is a misspelled one, and no file.
        """
        word = args[0] if args else "-"
        if word not in self.commands:
            named = word[:1] != "-" and not ctx.resilient_parsing and not os.path.lexists(word)
            if named and nearest(word, self.commands):
                raise unknown("command", word, self.commands)
            args = ["run", *args]
        return super().parse_args(ctx, args)


class Application(typer.Typer):
    """A group of commands of quiclab."""

    def __init__(self, **settings: Any) -> None:
        given: dict[str, Any] = {"cls": Group, "add_completion": False, "context_settings": SETTINGS} | settings
        super().__init__(rich_markup_mode=None, pretty_exceptions_enable=False, **given)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Add a command, as typer does."""
        return super().command(name, **({"cls": Command} | settings))


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses: each of their fields is an argument or option of it, at their place."""
    hints, groups, parameters = get_type_hints(command, include_extras=True), dict[str, Any](), []
    for name, item in inspect.signature(command).parameters.items():
        if not is_dataclass(hint := hints[name]):
            parameters.append(item.replace(annotation=hint))
            continue
        groups[name], own = hint, get_type_hints(hint, include_extras=True)
        for part in fields(hint):
            default = item.empty if part.default is MISSING else part.default
            parameters.append(item.replace(name=part.name, default=default, annotation=own[part.name]))

    @wraps(command)
    def called(**values: Any) -> None:
        made = {
            name: group(**{part.name: values.pop(part.name) for part in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **values)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {item.name: item.annotation for item in parameters}
    return called


def about_usage(error: Any, ctx: Any) -> RequestError | None:
    """Return an error of the parser as quiclab words it: the parameter, and what it expects.

    Parameters
    ----------
    error
        The error; its class is none that typer exports, so that it is known by its name.
    ctx
        The context of the command.

    Returns
    -------
    RequestError or None
        `None` for an error of another class.
    """
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return about_option(error.option_name, ctx)
    item = getattr(error, "param", None)
    if kind == "BadParameter" and item is not None:
        return RequestError(f"{_name(item, ctx)}: {error.message}", path=_name(item, ctx))
    if kind == "BadOptionUsage":
        item = next((item for item in ctx.command.get_params(ctx) if error.option_name in item.opts), None)
        if item is not None and getattr(item, "is_flag", False):
            return RequestError(f"{error.option_name}: takes no value", path=error.option_name, kind="WrongType")
    if item is None or kind not in ("MissingParameter", "BadOptionUsage"):
        return None
    # the rest of a help text explains: `-h` shows it
    about = lower_first(re.split(r"[.;:](?: |$)", item.help or "a value")[0])
    if item.param_type_name == "option":
        about = f"{item.make_metavar(ctx)}: {about}"
    return unexpected(_name(item, ctx), about, hint=_usage(ctx) if kind == "MissingParameter" else "")


def _name(item: Any, ctx: Any) -> str:
    """Return what help texts call a parameter."""
    return str(item.opts[0] if item.param_type_name == "option" else item.make_metavar(ctx).strip("[]"))


def _usage(ctx: Any) -> str:
    return f"usage: {' '.join([ctx.command_path, *ctx.command.collect_usage_pieces(ctx)])}"


def about_option(name: str, ctx: Any) -> RequestError:
    """Return the error about an option that a command does not have."""
    known = [word for item in ctx.command.get_params(ctx) for word in getattr(item, "opts", ()) if word[:1] == "-"]
    suggestion = nearest(name, known)
    meant = f"did you mean `{suggestion}`?" if suggestion else f"`{ctx.command_path} --help` lists all"
    return RequestError(f"unknown option `{name}`; {meant}", path=name, kind="UnknownName", suggestion=suggestion)
