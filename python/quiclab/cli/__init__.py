"""The command line: `quiclab` and `python -m quiclab`.

Results go to stdout, progress and messages to stderr. Exit codes: 0 fine, 1 something failed or is incomplete, 2 the
request was wrong, 130 and 143 stopped by SIGINT (Ctrl-C) and SIGTERM. Every error is a one-line message.

`commands` has names, descriptions and modules of all commands: only the module of the command that is named is loaded,
and imports what it needs.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, TextIO

try:  # loading takes time; Ctrl-C during it also gives a one-line message
    import typer

    from quiclab._base import termination
    from quiclab._base.native import build_id, extension
    from quiclab.cli import completion
    from quiclab.cli.application import Application, RunByDefault, UsageError, about_usage
    from quiclab.cli.commands import COMMANDS, GROUPS, Part
    from quiclab.errors import QuiclabError, RequestError
except KeyboardInterrupt:
    print("quiclab: stopped", file=sys.stderr)
    sys.exit(130)

# what typer returns after Ctrl-C: 128 and the number of the signal, as shells have it
STOPPED = 128 + signal.SIGINT
# the common base class of errors of the option parser; typer does not export it
ParserError: type[typer.BadParameter] = UsageError.__mro__[1]


def application(*named: str) -> typer.Typer:
    """Return the command line with one loaded command; of the others only the help texts.

    Parameters
    ----------
    named
        First words on the command line: a command, or a group and a command of it; if they are neither, no command is
        loaded.
    """
    app = Application(
        name="quiclab",
        help="A laboratory for QUIC and TCP over difficult networks.",
        no_args_is_help=True,
        add_completion=True,
    )
    app.callback()(options)
    word, *rest = *named, ""
    for name, part in COMMANDS.items():
        add(app, name, part, loaded=name == word)
    for name, group in GROUPS.items():
        below = Application(cls=RunByDefault) if group.default else Application(no_args_is_help=True)
        for own, part in group.commands.items() if name == word else ():
            chosen = rest[0] if rest[0] in group.commands else group.default
            add(below, own, part, loaded=own == chosen)
        app.add_typer(below, name=name, help=group.help, rich_help_panel=group.section)
    return app


def add(app: typer.Typer, name: str, part: Part, *, loaded: bool) -> None:
    """Add a command to a group: itself, or its help text only."""
    module, _, function = part.function.partition(":")
    command = getattr(import_module(f"quiclab.cli.{module}"), function) if loaded else not_loaded
    app.command(name, help=part.help, rich_help_panel=part.section)(command)


def first_words(given: Sequence[str]) -> Sequence[str]:
    """Return the words that name a command: of the command line, or of one that a shell wants to be completed."""
    words = list(given)
    if "_QUICLAB_COMPLETE" in os.environ:
        words = completion.typed()
    while words and words[0].startswith("-"):
        del words[0]
    return [word for word in words[:3] if word != "--"][:2]


def not_loaded() -> None:
    """Stand for a command that is not loaded: the help requires a function."""
    raise AssertionError("the command that was named is not loaded")


def print_version(wanted: bool) -> None:
    """Print the version and exit, if requested."""
    if wanted:
        print(f"quiclab {extension().version()} (build {build_id()})")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Read the options before a command."""
    del version  # handled by its callback


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    warnings.showwarning = note
    termination.take_over()
    code = invoke(arguments)
    sys.exit(128 + signal.SIGTERM if termination.was_received() and code == STOPPED else code)


def invoke(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; every error becomes one line on stderr."""
    try:
        given = sys.argv[1:] if arguments is None else arguments
        code = application(*first_words(given))(args=given, prog_name="quiclab", standalone_mode=False)
    except QuiclabError as error:
        return fail(error.message, error.exit_code, error.rendered if isinstance(error, RequestError) else "")
    except ParserError as error:
        context = getattr(error, "ctx", None)
        if context is not None and error.message == context.get_help():  # no command was given
            print(error.message)
            return 2
        return fail(message_of(error, context), 2)
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except BrokenPipeError:
        # stdout was closed (`| head`); Python must not report an error when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if code == STOPPED:
        return fail("stopped", STOPPED)
    return code if isinstance(code, int) else 0


def message_of(error: typer.BadParameter, context: Any) -> str:
    """Return what an error of the parser of options says."""
    if context is not None and (found := about_usage(error, context)) is not None:
        return found.message
    return error.format_message()


def note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Write a warning about a former name as a note of one line to stderr; others as Python does."""
    if issubclass(category, extension().FormerName):
        print(f"note: {message}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=file or sys.stderr)


def fail(message: str, code: int, rendered: str = "") -> int:
    """Write an error to stderr, with the line of the file if it is `rendered`, and return its exit code."""
    print(rendered or f"quiclab: {' '.join(message.split())}", file=sys.stderr)
    return code
