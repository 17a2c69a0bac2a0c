"""The command line: `quiclab` and `python -m quiclab`.

Results go to stdout, progress and messages to stderr. Exit codes: 0 fine, 1 something failed or is incomplete, 2 the
request was wrong. Every error is a one-line message.

Only the module of the command that is named is loaded: names and descriptions of all are here.
"""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, TextIO

try:  # loading takes time; Ctrl-C during it also gives a one-line message
    import typer

    from quiclab.errors import QuiclabError, RequestError
    from quiclab.native import build_id, extension
except KeyboardInterrupt:
    sys.exit("quiclab: stopped")

# what typer returns after Ctrl-C
STOPPED = 130
# the common base class of errors of the option parser; typer does not export it
ParserError: type[typer.BadParameter] = typer.BadParameter.__mro__[2]


@dataclass(frozen=True)
class Part:
    """A command, or a group of commands.

    Attributes
    ----------
    module, attribute
        Where it is below this package: a function for a command, an application of typer for a group.
    help
        Its description.
    """

    module: str
    attribute: str
    help: str


COMMANDS = {
    "shell": Part(
        "shell",
        "shell_command",
        "Run a command behind the scenario's network; its exit code is that of the command.",
    ),
    "run": Part("run", "run_command", "Run a scenario once."),
    "browse": Part(
        "browse",
        "browse_command",
        "Load the page of a scenario with a real browser over HTTP/2 and HTTP/3, many times, and compare.",
    ),
    "diff": Part(
        "run", "diff_command", "Show the first packet at which two runs differ, and their summaries side by side."
    ),
    "inspect": Part(
        "inspect",
        "inspect_command",
        "Write an HTML report about the packets of one run, or of two side by side; it works offline.",
    ),
    "page": Part(
        "page",
        "page_command",
        "Replay a recorded page load (HAR) over a network with several stacks, and write a report with waterfalls.",
    ),
    "shard": Part("sweep", "shard_command", "Run one shard of a plan of `quiclab sweep plan`, as a job of a cluster."),
    "verify": Part("verify", "verify_command", "Print claims and their verdicts, with numbers."),
}
GROUPS = {
    "qlog": Part("scenario", "qlog_app", "qlog files of runs."),
    "scenario": Part("scenario", "scenario_app", "Write, print and describe scenarios."),
    "kernel": Part("kernel", "app", "Virtual-clock kernel, and kernel-lane features of this machine."),
    "path": Part("path", "app", "Named paths: networks with a name and the source of each value."),
    "pacing": Part("pacing", "app", "Pacing and acknowledgements of captures from any source."),
    "study": Part("study", "app", "Published studies: run them and compare."),
    "stack": Part("scenario", "stack_app", "Stacks and profiles, with the source of each value."),
    "store": Part("store", "app", "Stored runs: list them, and remove those that nothing uses."),
    "sweep": Part(
        "sweep", "app", "Run a scenario over the levels of factors, with many seeds: a table, a figure, a page."
    ),
    "trace": Part("trace", "app", "Rates over time for links: make, import and show them."),
}


def load(part: Part) -> object:
    """Return the command or group of commands."""
    found: object = getattr(import_module(f"quiclab.cli.{part.module}"), part.attribute)
    return found


def application(named: str) -> typer.Typer:
    """Return the command line with one loaded command; of the others only the help texts.

    Parameters
    ----------
    named
        First word on the command line; if it is not a command, no command is loaded.
    """
    app = typer.Typer(
        name="quiclab",
        help="A laboratory for QUIC and TCP over difficult networks.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # help as plain text: the other formats take half a second
        pretty_exceptions_enable=False,
    )
    app.callback()(options)
    for name, part in COMMANDS.items():
        command = load(part) if name == named else None
        app.command(name, help=part.help)(command if callable(command) else not_loaded)
    for name, part in GROUPS.items():
        group = load(part) if name == named else None
        app.add_typer(group if isinstance(group, typer.Typer) else typer.Typer(), name=name, help=part.help)
    return app


def not_loaded() -> None:
    """Do nothing: the help requires a function for a command that is not loaded."""


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
    sys.exit(invoke(arguments))


def invoke(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; every error becomes one line on stderr."""
    try:
        given = sys.argv[1:] if arguments is None else arguments
        named = next((word for word in given if not word.startswith("-")), "")
        code = application(named)(args=given, standalone_mode=False)
    except QuiclabError as error:
        return fail(error.message, error.exit_code, error.rendered if isinstance(error, RequestError) else "")
    except ParserError as error:
        context = getattr(error, "ctx", None)
        if context is not None and error.message == context.get_help():  # no command was given
            print(error.message)
            return 2
        parameter = error.param if type(error) is typer.BadParameter else None
        message = f"{parameter.opts[0]}: {error.message}" if parameter else error.format_message()
        return fail(message, 2)
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except BrokenPipeError:
        # stdout was closed (`| head`); Python must not report an error when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if code == STOPPED:
        return fail("stopped", 1)
    return code if isinstance(code, int) else 0


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
