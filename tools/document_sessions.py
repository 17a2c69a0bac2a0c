#!/usr/bin/env python3
"""Run documents as sessions, and write the outputs that they show anew.

A document is a session: its commands are run one after the other in one folder, where `scenarios/` is that of the
repository. Commands that take long are shortened, and some are not run (`document_sessions.toml`); any other command
runs as it stands, and must succeed, or end as its comment `# exit code N` says. A block of the language `text` right
below a block of commands is what they print (`document_outputs.py`); nothing is compared if a command of the block is
shortened or not run.

    python tools/document_sessions.py docs/sweeps.md            which outputs differ
    python tools/document_sessions.py docs/sweeps.md --write    and writes those of this version
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from os import environ, pathsep
from pathlib import Path

import document_outputs
from quiclab._base.native import extension

ROOT = Path(__file__).resolve().parent.parent

COMMANDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
NOT_RUN = [row["command"] for row in COMMANDS["not_run"]]
SHORTENED = [(row["command"], row["run"]) for row in COMMANDS["shortened"]]
# in an indented block only these are commands: such blocks show output and excerpts of files, too
INDENTED = ("quiclab ", "python ")
# results of a shortened study are incomplete, and these say so: exit code 1
INCOMPLETE = re.compile(
    r"quiclab (verify|study (compare|table|package)) (dual_connectivity(?!/pdcp)|validation|page_load|pacing|tunnel)\b"
    r"|quiclab study report validation\b(?!/loss_detection|/answers|/aqm|/blind|/regressions)"
    r"|quiclab study (report|multiverse) dual_connectivity(?!/)"
)

# the comment with which a document says that a command fails
FAILS = re.compile(r"\s+# exit code (\d+)$")


@dataclass(frozen=True)
class Block:
    """Something of a document that is not prose.

    Attributes
    ----------
    language
        As given after the fence; `sh` for indented blocks.
    text
        The block.
    before
        The paragraph before it.
    line
        The number of its first line, of the content of a fenced block.
    below
        Whether nothing is between it and the block before it.
    indented
        Whether it is indented instead of fenced.
    """

    language: str
    text: str
    before: str
    line: int
    below: bool = False
    indented: bool = False

    @property
    def file(self) -> str | None:
        """The file that the paragraph before says the block is."""
        names = re.findall(r"`([\w./-]+\.(\w+))`", self.before)
        kinds = {"python": "py", "toml": "toml", "csv": "csv"}
        return next((name for name, kind in names if kind == kinds.get(self.language)), None)


def blocks(text: str) -> list[Block]:
    """Return fenced blocks and indented ones, in the order of the document."""
    found: list[Block] = []
    paragraph: list[str] = []
    last = ""
    below = False
    lines = enumerate(text.splitlines())
    for number, line in lines:
        if line.startswith("```"):
            content = [inner for _, inner in itertools.takewhile(lambda inner: inner[1] != "```", lines)]
            body = "".join(f"{inner}\n" for inner in content)
            found.append(Block(line.removeprefix("```"), body, " ".join(paragraph) or last, number + 1, below))
            paragraph, last, below = [], "", True
        elif line.startswith("    ") and not paragraph:
            found.append(Block("sh", line.removeprefix("    ") + "\n", last, number, indented=True))
            below = False
        elif line.strip():
            paragraph.append(line)
            below = False
        elif paragraph:
            last, paragraph = " ".join(paragraph), []
    return found


def commands(block: Block) -> list[tuple[str, int]]:
    """Return the commands of a block and their exit codes; lines that go on are joined, and comments removed."""
    found: list[tuple[str, int]] = []
    for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
        fails = FAILS.search(line)
        command = re.sub(r"\s+# .*$", "", line).strip()
        if command and not command.startswith("#"):
            found.append((command, int(fails[1]) if fails else 0))
    return found


@dataclass(frozen=True)
class Step:
    """What a shell has to run for a document.

    Attributes
    ----------
    command
        A command, or a file to write.
    expected
        The exit code that it must have.
    block
        The number of its block, where its output can be shown; `None` if it is not what the document says.
    """

    command: str
    expected: int = 0
    block: int | None = None


def session(document: Path) -> list[Step]:
    """Return what a shell has to run for a document."""
    steps: list[Step] = []
    shortened = False
    for number, block in enumerate(blocks(document.read_text(encoding="utf-8"))):
        if block.language == "sh":
            for command, code in commands(block):
                if any(re.match(pattern, command) for pattern in NOT_RUN):
                    continue
                if block.indented and not command.startswith(INDENTED):
                    continue
                run = command
                for pattern, replacement in SHORTENED:
                    run = re.sub(pattern, replacement, run)
                shortened = shortened or run != command
                incomplete = shortened and INCOMPLETE.match(command)
                steps.append(Step(run, 1 if incomplete else code, None if incomplete or run != command else number))
        elif block.file or block.language == "python":
            file = block.file or f"example_{number}.py"
            steps.append(Step(f"mkdir -p $(dirname {file}); cat > {file} <<'END_OF_BLOCK'\n{block.text}END_OF_BLOCK"))
            if block.file is None:
                steps.append(Step(f"python {file}", 0, number))
    return steps


@dataclass(frozen=True)
class Ended:
    """A command of a document that was run.

    Attributes
    ----------
    step
        The command as it was run.
    code
        Its exit code.
    output, error
        What it printed.
    """

    step: Step
    code: int
    output: str
    error: str

    @property
    def failed(self) -> bool:
        """Whether its exit code is another than it must have."""
        return self.code != self.step.expected

    @property
    def printed(self) -> str:
        """What a reader sees who is not shown the progress: of a command that ends with an error, the error, too."""
        return self.output + (self.error if self.step.expected else "")


def run(document: Path, folder: Path) -> list[Ended]:
    """Run the session of a document in an empty folder, which is not that where its commands run."""
    here, programs = folder / "session", folder / "programs"
    here.mkdir()
    (here / "scenarios").symlink_to(ROOT / "scenarios")
    # what the documents call `mine.toml`, where they do not make it
    (here / "mine.toml").write_text(extension().template())
    (programs / "bin").mkdir(parents=True)
    for name, arguments in (("quiclab", "-m quiclab "), ("python", "")):
        program = programs / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
        program.chmod(0o755)
    steps = session(document)
    # one shell, so that what a document exports holds for what follows
    ends = (f"> {programs}/out.{n} 2> {programs}/err.{n}\necho $? > {programs}/code.{n}" for n in range(len(steps)))
    script = "\n".join(f"{{\n{step.command}\n}} {end}" for step, end in zip(steps, ends, strict=True))
    # tables are as wide as they are without a terminal
    variables = {key: value for key, value in environ.items() if key not in {"COLUMNS", "LINES"}}
    variables["PATH"] = pathsep.join([str(programs / "bin"), environ["PATH"]])
    subprocess.run(["/bin/bash", "-c", script], cwd=here, timeout=1800, check=True, env=variables)
    return [
        Ended(
            step,
            int((programs / f"code.{number}").read_text()),
            (programs / f"out.{number}").read_text(),
            (programs / f"err.{number}").read_text(),
        )
        for number, step in enumerate(steps)
    ]


def printed(text: str, ended: list[Ended]) -> dict[int, str]:
    """Return what each block of commands printed that was run as it stands, by the number of the block."""
    found: dict[int, str] = {}
    for number, block in enumerate(blocks(text)):
        own = [end for end in ended if end.step.block == number]
        whole = len(commands(block)) if block.language == "sh" else 1
        if own and len(own) == whole:
            found[number] = "".join(end.printed for end in own)
    return found


def renewed(text: str, ended: list[Ended]) -> str:
    """Return a document with what its commands print now. Raises ValueError where a passage is printed no longer."""
    outputs = printed(text, ended)
    lines = text.splitlines(keepends=True)
    # from the end, so that the numbers of the lines before hold
    for number, block in reversed(list(enumerate(blocks(text)))):
        if block.language == "text" and block.below and number - 1 in outputs:
            try:
                new = document_outputs.renewed(block.text, outputs[number - 1])
            except document_outputs.NoSuchLineError as error:
                message = f"line {block.line}: {error}"
                raise ValueError(message) from error
            lines[block.line : block.line + block.text.count("\n")] = [new]
    return "".join(lines)


def not_shown(text: str, ended: list[Ended]) -> list[str]:
    """Return the commands that print something of which a document shows nothing."""
    every = blocks(text)
    shown = {number - 1 for number, block in enumerate(every) if block.language == "text" and block.below}
    missing = [number for number, output in printed(text, ended).items() if output.strip() and number not in shown]
    return [every[number].text.strip() for number in missing]


def differences(old: str, new: str) -> str:
    """Return the lines in which two versions of a document differ."""
    lines = (version.splitlines(keepends=True) for version in (old, new))
    return "".join(difflib.unified_diff(*lines, "shown", "printed"))


def main() -> int:
    """Compare, and write where asked to; 1 if an output or an exit code differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="+", type=Path, metavar="DOCUMENT")
    parser.add_argument("--write", action="store_true", help="write the outputs of this version into the documents")
    arguments = parser.parse_args()
    differs = False
    for path in arguments.documents:
        if not path.is_file():
            parser.error(f"expected a document, got {path}: it does not exist")
        with tempfile.TemporaryDirectory() as folder:
            ended = run(path, Path(folder))
        failed = [end for end in ended if end.failed]
        for end in failed:
            print(
                f"{path}: expected exit code {end.step.expected}, got {end.code}: {end.step.command}\n{end.error}",
                file=sys.stderr,
            )
        text = path.read_text(encoding="utf-8")
        try:
            new = renewed(text, ended)
        except ValueError as error:
            print(f"{path}, {error}", file=sys.stderr)
            new, failed = text, ended
        print(differences(text, new), end="")
        if arguments.write and not failed:
            path.write_text(new, encoding="utf-8")
        differs = differs or bool(failed) or (new != text and not arguments.write)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
