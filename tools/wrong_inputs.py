"""Wrong inputs, each with its error message: docs/reference/errors.md, which tools/reference.py writes.

The inputs are those of tests/data/wrong_inputs.toml. Each runs in a separate directory, so that messages do not depend
on the machine.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import typer

from quiclab import RequestError, cli

ROOT = Path(__file__).resolve().parent.parent
INPUTS = ROOT / "tests" / "data" / "wrong_inputs.toml"
HEAD = """\
# Errors

Wrong inputs, each with its error message. A message names the field, the expected values and the actual value; if the
field is in a file, it shows the line with the location marked. The exit code is 2 if the input is wrong, 1 if something
failed. In Python the same errors are exceptions, `quiclab.ScenarioError` for scenarios and `quiclab.RequestError` for
everything else, with the attributes `path`, `kind`, `expected` and `rendered`.

The inputs are changes of the files in `scenarios/`, listed in `tests/data/wrong_inputs.toml`; `make reference` writes
this page.
"""


@dataclass(frozen=True)
class Case:
    """A wrong input; see tests/data/wrong_inputs.toml."""

    title: str
    scenario: str = ""
    old: str = ""
    new: str = ""
    arguments: tuple[str, ...] = ("run", "FILE")
    path: str = ""
    name: str = ""

    @property
    def file(self) -> str:
        """Name of the file with the scenario."""
        return f"{self.scenario}.toml"


@dataclass(frozen=True)
class Answer:
    """Exit code and error message of the command line for a case."""

    case: Case
    exit_code: int
    error: str
    path: str
    """Path of the error as data: a field or an option; empty if it is about neither."""


def cases() -> list[Case]:
    """Return all wrong inputs."""
    table = tomllib.loads(INPUTS.read_text(encoding="utf-8"))
    return [Case(**{**case, "arguments": tuple(case.get("arguments", Case.arguments))}) for case in table["case"]]


@cache
def answer(case: Case) -> Answer:
    """Run the command line with a wrong input."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        if case.scenario:
            text = (ROOT / "scenarios" / case.file).read_text(encoding="utf-8")
            if case.old not in text:
                raise ValueError(f"{case.title}: {case.file} does not contain {case.old!r}")
            Path(case.file).write_text(text.replace(case.old, case.new, 1), encoding="utf-8")
            shutil.copytree(ROOT / "scenarios" / "traces", "traces")
        arguments = [case.file if word == "FILE" else word for word in case.arguments]
        error = io.StringIO()
        with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
            exit_code = cli.invoke(arguments)
            path = path_of_error(arguments)
    return Answer(case, exit_code, error.getvalue().rstrip(), path)


def path_of_error(arguments: list[str]) -> str:
    """Return the path of the error that a wrong input ends with; that of an option is the option."""
    try:
        cli.application(arguments[0])(args=arguments, standalone_mode=False)
    except RequestError as error:
        return error.path
    except typer.BadParameter as error:
        return error.param.opts[0] if error.param is not None else ""
    except cli.ParserError:
        return ""
    raise ValueError(f"{arguments} is no wrong input")


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for case in cases():
        words = [case.file if word == "FILE" else word for word in case.arguments]
        command = " ".join(["quiclab", *(f"'{word}'" if " " in word else word for word in words)])
        parts.append(f"## {case.title}\n\n`{command}`\n\n```text\n{answer(case).error}\n```\n")
    return "\n".join(parts)
