#!/usr/bin/env python3
"""Run documents as sessions, and write the results that they show anew.

A document is a session: its commands are run one after the other in one folder, where `scenarios/` is that of the
repository. What takes long is shortened (`SHORTENED`), what is not run is named with its reason (`NOT_RUN`); any other
command runs as it stands. Results are the verdicts of claims and the rows of tables in blocks of the language `text`.

    python tools/document_sessions.py docs/sweeps.md            which results differ
    python tools/document_sessions.py docs/sweeps.md --write    and writes those of this version
"""

from __future__ import annotations

import argparse
import itertools
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from os import environ, pathsep
from pathlib import Path

from quiclab.native import extension

ROOT = Path(__file__).resolve().parent.parent

# what is not run, and why
NOT_RUN = {
    r"make ": "builds the project, or runs all tests",
    r"\. \.venv/bin/activate": "the test has its own environment",
    r"cargo ": "builds the project",
    r"apt-get ": "changes the system",
    r"quiclab kernel build": "compiles a kernel",
    r"quiclab kernel host": "takes minutes, and needs root and programs of the machine",
    r"quiclab kernel calibrate": "needs root and the machine for itself",
    r"quiclab browse": "needs root, a browser and a server; tests/test_kernel_browser.py runs it",
    r"python tools/measure_browser": "takes a quarter of an hour, and the machine for itself",
    r"quiclab shell": "needs root and programs of the machine; tests/test_kernel_shell.py runs it",
    r"quiclab trace import": "needs a file of the data set, which is not here; tests/test_trace_import.py runs it",
    r"quiclab .*\b[A-Z]{2,}\b": "a pattern with a word to replace, not a command",
    r"quiclab .*--lane kernel": "needs namespaces and a machine that keeps up; tests/test_kernel_*.py run it",
    r"quiclab .*validation/lanes": "the same",
}
# in an indented block only these are commands: such blocks show output and excerpts of files, too
INDENTED = ("quiclab ", "python ")
# a study runs one setting once: (what is written, what is run)
SHORTENED = [
    (r"(quiclab study run dual_connectivity/batch_size)\b.*", r"\1 --runs 1 --only batch=100"),
    (
        r"quiclab study run dual_connectivity(?!/batch_size).*",
        "quiclab study run dual_connectivity/share --runs 1 --only share=50",
    ),
    (r"(quiclab study run validation/linux_tcp)\b.*", r"\1/short --runs 1 --only size=5000"),
    (r"(quiclab study run validation/loss_detection)\b.*", r"\1 --only configuration=lab-quic:rfc9002"),
    (r"quiclab study run validation/(blind|blind_quic)\b.*", r"quiclab study run validation/\1 --runs 1 --only case=3"),
    (r"(quiclab sweep case.toml) --vary (\S+):lin34\b.*", r"\1 --vary \2:lin2"),
    (
        r"(quiclab study run controls/alone)\b.*",
        r"\1 --runs 1 --only rate=10 --only rtt=20 --only queue=1 --only configuration=tcp_cubic",
    ),
    (r"(quiclab study run controls/beside)\b.*", r"\1 --runs 1 --only queue=1 --only first=tcp_cubic"),
    (
        r"(quiclab study run slow_start/alone)\b.*",
        r"\1 --runs 1 --only stack=lab-quic --only queue=1 --only 'path=10 Mbit/s, 20 ms'",
    ),
    (
        r"(quiclab study run slow_start/disturbed)\b.*",
        r"\1 --runs 1 --only stack=lab-quic --only disturbance=jitter --only 'path=10 Mbit/s, 20 ms'",
    ),
    (r"(quiclab study run slow_start/satellite)\b.*", r"\1 --runs 1 --only stack=lab-quic --only configuration=none"),
    (r"(quiclab study run validation/aqm)\b.*", r"\1 --runs 1 --only cell=codel_4mbit_40ms_drops"),
    (r"(quiclab study run validation/regressions)\b.*", r"\1 --runs 1 --only cell=short_queue"),
    (r"(quiclab study run validation/lab_quic)\b.*", r"\1/quinn --runs 1 --only path=10mbit_112ms"),
    (
        r"quiclab study run page_load\b.*",
        "quiclab study run page_load/sizes --runs 2 --only rate=100 --only network=base",
    ),
    (r"(quiclab study run pacing/intervals)\b.*", r"\1 --runs 1 --only rate=10 --only configuration=netcat"),
    (
        r"(quiclab study run pacing/beyond_bursts)\b.*",
        r"\1 --runs 1 --only burst=1 --only configuration=whole --only buffer=1",
    ),
    (
        r"(quiclab study run (?!dual_connectivity|validation|page_load|pacing|controls|queues|slow_start)\S+)\b.*",
        r"\1 --runs 1",
    ),
]
# results of a shortened study are incomplete, and these say so: exit code 1
INCOMPLETE = re.compile(
    r"quiclab (verify|study (compare|table|package)) (dual_connectivity|validation|page_load|pacing)\b"
    r"|quiclab study report validation\b(?!/loss_detection|/aqm|/blind|/regressions)"
    r"|quiclab study (report|multiverse) dual_connectivity(?!/)"
)

# a claim with its verdict, as `quiclab verify` prints it; a row that begins with a number or has an interval, as
# `quiclab sweep` prints it
RESULT = re.compile(r"^[A-Z]+-\d+  (?:confirmed|refuted|undecided).*$|^ (?:\d|[^\n]+ ± )[^\n]+$", re.MULTILINE)
# the last line of the names of columns, and the rule below it
HEAD = re.compile(r"^((.*)\n ─+ ?)$", re.MULTILINE)


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
    indented
        Whether it is indented instead of fenced.
    """

    language: str
    text: str
    before: str
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
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("```"):
            content = list(itertools.takewhile(lambda inner: inner != "```", lines))
            found.append(Block(line.removeprefix("```"), "\n".join(content) + "\n", " ".join(paragraph) or last))
            paragraph, last = [], ""
        elif line.startswith("    ") and not paragraph:
            found.append(Block("sh", line.removeprefix("    ") + "\n", last, indented=True))
        elif line.strip():
            paragraph.append(line)
        elif paragraph:
            last, paragraph = " ".join(paragraph), []
    return found


def commands(block: Block) -> list[str]:
    """Return the commands of a block, with lines that go on joined and comments removed."""
    joined = re.sub(r"\\\n\s*", "", block.text)
    lines = [re.sub(r"\s+# .*$", "", line).strip() for line in joined.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def session(document: Path) -> list[tuple[str, int]]:
    """Return what a shell has to run for a document, with the exit code that each command must have."""
    steps: list[tuple[str, int]] = []
    shortened = False
    for number, block in enumerate(blocks(document.read_text(encoding="utf-8"))):
        if block.language == "sh":
            for command in commands(block):
                if any(re.match(pattern, command) for pattern in NOT_RUN):
                    continue
                if block.indented and not command.startswith(INDENTED):
                    continue
                run = command
                for pattern, replacement in SHORTENED:
                    run = re.sub(pattern, replacement, run)
                shortened = shortened or run != command
                steps.append((run, 1 if shortened and INCOMPLETE.match(command) else 0))
        elif block.file or block.language == "python":
            file = block.file or f"example_{number}.py"
            here = f"mkdir -p $(dirname {file}); cat > {file} <<'END_OF_BLOCK'\n{block.text}END_OF_BLOCK"
            steps.append((here, 0))
            if block.file is None:
                steps.append((f"python {file}", 0))
    return steps


@dataclass(frozen=True)
class Ended:
    """A command of a document that was run.

    Attributes
    ----------
    command
        As it was run.
    code, expected
        Its exit code, and the one that it must have.
    output, error
        What it printed.
    """

    command: str
    code: int
    expected: int
    output: str
    error: str


def run(document: Path, folder: Path) -> list[Ended]:
    """Run the session of a document in an empty folder."""
    (folder / "scenarios").symlink_to(ROOT / "scenarios")
    # what the documents call `mine.toml`, where they do not make it
    (folder / "mine.toml").write_text(extension().template())
    (folder / "bin").mkdir()
    for name, arguments in (("quiclab", "-m quiclab "), ("python", "")):
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
        program.chmod(0o755)
    steps = session(document)
    # one shell, so that what a document exports holds for what follows
    script = "\n".join(f"{{\n{step}\n}} > out.{n} 2> err.{n}\necho $? > code.{n}" for n, (step, _) in enumerate(steps))
    path = pathsep.join([str(folder / "bin"), environ["PATH"]])
    subprocess.run(["/bin/bash", "-c", script], cwd=folder, timeout=1800, check=True, env=environ | {"PATH": path})
    return [
        Ended(
            step,
            int((folder / f"code.{number}").read_text()),
            expected,
            (folder / f"out.{number}").read_text(),
            (folder / f"err.{number}").read_text(),
        )
        for number, (step, expected) in enumerate(steps)
    ]


def shown(document: str) -> list[str]:
    """Return the results that a document shows."""
    return RESULT.findall("".join(block.text for block in blocks(document) if block.language == "text"))


def cells(row: str) -> list[str]:
    """Return the cells of a row of a table."""
    return re.split(r"\s{2,}", row.strip())


def same_cells(first: str, second: str) -> int:
    """Return with how many equal cells two rows begin."""
    pairs = zip(cells(first), cells(second), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def row_of(old: str, results: list[str]) -> str:
    """Return the result that an older one is now."""
    same = {new: same_cells(old, new) for new in results if len(cells(new)) == len(cells(old))}
    best = [new for new, number in same.items() if number == max(same.values()) > 0]
    if len(best) != 1:
        message = f"expected one row like {old.strip()!r} in the output, got {len(best)}"
        raise ValueError(message)
    return best[0]


def renewed(document: str, output: str) -> str:
    """Return a document with the results of an output instead of those that it shows.

    A row belongs to the row of the output that begins with the most cells of the same text: the levels of the factors
    come first. Where the block begins with the title of a table, that row comes after the title. Raises ValueError
    where there is none, or several are.
    """
    for block in blocks(document):
        if block.language != "text":
            continue
        results = RESULT.findall(output[max(output.find(block.text.splitlines()[0]), 0) :])
        new = block.text
        for old in RESULT.findall(block.text):
            if old not in results:
                new = new.replace(old + "\n", row_of(old, results) + "\n")
        document = document.replace(block.text, new)
    # columns are as wide as their widest cell: the line of their names and the rule below it follow
    heads = {tuple(cells(names)): head for head, names in HEAD.findall(output)}
    for head, names in HEAD.findall(document):
        document = document.replace(head, heads.get(tuple(cells(names)), head))
    return document


def main() -> int:
    """Compare, and write where asked to; 1 if a result or an exit code differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="+", type=Path, metavar="DOCUMENT")
    parser.add_argument("--write", action="store_true", help="write the results of this version into the documents")
    arguments = parser.parse_args()
    differs = False
    for path in arguments.documents:
        if not path.is_file():
            parser.error(f"expected a document, got {path}: it does not exist")
        with tempfile.TemporaryDirectory() as folder:
            ended = run(path, Path(folder))
        for step in ended:
            if step.code != step.expected:
                print(f"{path}: expected exit code {step.expected}, got {step.code}: {step.command}", file=sys.stderr)
                differs = True
        output = "".join(step.output for step in ended)
        text = path.read_text(encoding="utf-8")
        for old in shown(text):
            if old not in output:
                print(f"{path}: not in the output:\n{old}")
                differs = differs or not arguments.write
        if arguments.write and not any(step.code != step.expected for step in ended):
            try:
                path.write_text(renewed(text, output), encoding="utf-8")
            except ValueError as error:
                print(f"{path}: {error}", file=sys.stderr)
                differs = True
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
