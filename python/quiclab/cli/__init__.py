"""The command line: `quiclab` and `python -m quiclab`.

Results go to stdout, progress and messages to stderr. Exit codes: 0 fine, 1 something failed or is incomplete, 2 the
request was wrong, 130 and 143 stopped by SIGINT (Ctrl-C) and SIGTERM. Every error is a one-line message.

Only the module of the command that is named is loaded: names and descriptions of all are here.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, TextIO

try:  # loading takes time; Ctrl-C during it also gives a one-line message
    import typer

    from quiclab._base import termination
    from quiclab._base.native import build_id, extension
    from quiclab.cli.application import Application, UsageError, about_usage
    from quiclab.errors import QuiclabError, RequestError
except KeyboardInterrupt:
    print("quiclab: stopped", file=sys.stderr)
    sys.exit(130)

# what typer returns after Ctrl-C: 128 and the number of the signal, as shells have it
STOPPED = 128 + signal.SIGINT
# the common base class of errors of the option parser; typer does not export it
ParserError: type[typer.BadParameter] = UsageError.__mro__[1]


@dataclass(frozen=True)
class Part:
    """A command, or a group of commands.

    Attributes
    ----------
    section
        Its section in the list of commands.
    module, attribute
        Where it is below this package: a function for a command, an application of typer for a group.
    help
        Its description.
    """

    section: str
    module: str
    attribute: str
    help: str


RUNS, ANALYSIS, STUDIES, INPUTS = "Runs", "Analysis", "Studies", "Networks, stacks and the machine"

COMMANDS = {
    "run": Part(RUNS, "run", "run_command", "Run a scenario once, and print its flows, delays and losses."),
    "shell": Part(
        RUNS,
        "shell",
        "shell_command",
        "Run a command behind the scenario's network; its exit code is that of the command.",
    ),
    "browse": Part(
        RUNS,
        "browse",
        "browse_command",
        "Load the page of a scenario with a real browser over HTTP/2 and HTTP/3, many times, and compare.",
    ),
    "page": Part(
        RUNS,
        "page",
        "page_command",
        "Replay a recorded page load (HAR) over a network with several stacks, and write a report with waterfalls.",
    ),
    "shard": Part(
        RUNS, "shards", "shard_command", "Run one shard of a plan of a sweep or a study, as a job of a cluster."
    ),
    "diff": Part(
        ANALYSIS,
        "run",
        "diff_command",
        "Show the first packet at which two runs differ, and their summaries side by side.",
    ),
    "inspect": Part(
        ANALYSIS,
        "inspect",
        "inspect_command",
        "Write an HTML report about the packets of one run, or of two side by side; it works offline.",
    ),
    "verify": Part(STUDIES, "verify", "verify_command", "Print claims and their verdicts, with numbers."),
}
GROUPS = {
    "sweep": Part(
        RUNS, "sweep", "app", "Run a scenario over the levels of factors, with many seeds: a table, a figure, a page."
    ),
    "pacing": Part(ANALYSIS, "pacing", "app", "Pacing and acknowledgements of captures from any source."),
    "qlog": Part(ANALYSIS, "scenario", "qlog_app", "qlog files of runs."),
    "study": Part(STUDIES, "study", "app", "Published studies: run them and compare."),
    "store": Part(STUDIES, "store", "app", "Stored runs: list them, and remove those that nothing uses."),
    "result": Part(ANALYSIS, "result", "app", "Schema of results, and the meaning of their metrics."),
    "scenario": Part(INPUTS, "scenario", "scenario_app", "Write, print and describe scenarios."),
    "path": Part(INPUTS, "path", "app", "Named paths: networks with a name and the source of each value."),
    "stack": Part(INPUTS, "scenario", "stack_app", "Stacks and profiles, with the source of each value."),
    "trace": Part(INPUTS, "trace", "app", "Rates over time for links: make, import and show them."),
    "kernel": Part(INPUTS, "kernel", "app", "Virtual-clock kernel, and kernel-lane features of this machine."),
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
    app = Application(
        name="quiclab",
        help="A laboratory for QUIC and TCP over difficult networks.",
        no_args_is_help=True,
        add_completion=True,
    )
    app.callback()(options)
    for name, part in COMMANDS.items():
        command = load(part) if name == named else None
        app.command(name, help=part.help, rich_help_panel=part.section)(command if callable(command) else not_loaded)
    for name, part in GROUPS.items():
        group = load(part) if name == named else None
        app.add_typer(
            group if isinstance(group, typer.Typer) else Application(),
            name=name,
            help=part.help,
            rich_help_panel=part.section,
        )
    return app


def first_word(given: Sequence[str]) -> str:
    """Return the word that names a command: of the command line, or of one that a shell wants to be completed."""
    words = list(given)
    if "_QUICLAB_COMPLETE" in os.environ:  # words of bash; of zsh and fish
        words = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()[1:]
    return next((word for word in words if not word.startswith("-")), "")


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
    termination.take_over()
    code = invoke(arguments)
    sys.exit(128 + signal.SIGTERM if termination.was_received() and code == STOPPED else code)


def invoke(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; every error becomes one line on stderr."""
    try:
        given = sys.argv[1:] if arguments is None else arguments
        code = application(first_word(given))(args=given, prog_name="quiclab", standalone_mode=False)
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
