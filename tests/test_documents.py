"""Documents run: commands and examples as written, links lead somewhere, every scenario completes.

A document is a session: its commands are run one after the other in one folder, where `scenarios/` is that of the
repository. What takes long is shortened (`SHORTENED`), what is not run is named with its reason (`NOT_RUN`); any other
command runs as it stands.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from os import environ, pathsep
from pathlib import Path

import pytest

import quiclab
from conftest import ROOT, has_stack
from quiclab import cli
from quiclab.native import extension
from quiclab.scenario import load
from quiclab.studies.hosts import AIOQUIC_DATAGRAM

DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in path.parts),
]
EVERY_DOCUMENT = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))

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
    (r"(quiclab study run (?!dual_connectivity|validation|page_load|pacing|queues)\S+)\b.*", r"\1 --runs 1"),
]
# results of a shortened study are incomplete, and these say so: exit code 1
INCOMPLETE = re.compile(
    r"quiclab (verify|study (compare|table|package)) (dual_connectivity|validation|page_load|pacing)\b"
    r"|quiclab study report validation\b(?!/loss_detection|/blind|/regressions)"
    r"|quiclab study (report|multiverse) dual_connectivity(?!/)"
)


# a claim with its verdict, as `quiclab verify` prints it; a setting with an interval, as `quiclab sweep` prints it
VERDICT = re.compile(r"^[A-Z]+-\d+  (?:confirmed|refuted|undecided).*$|^ [^\n]+ ± [^\n]+$", re.MULTILINE)


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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the scenarios of the repository, and a `bin` with `quiclab` and `python`."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    # what the documents call `mine.toml`, where they do not make it
    (tmp_path / "mine.toml").write_text(extension().template())
    (tmp_path / "bin").mkdir()
    for name, arguments in (("quiclab", "-m quiclab "), ("python", "")):
        command = tmp_path / "bin" / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
        command.chmod(0o755)
    return tmp_path


SESSION = """\
Text.

    make demo   # all
    quiclab run a.toml
    quiclab: this is output

```sh
ls x    # what is there
ls \\
  y
quiclab run FILE
```

Save this as `a.py`:

```python
print(1)
```

And:

```python
print(2)
```
```text
output
```
```sh
quiclab study run dual_connectivity/share --runs 3
quiclab verify dual_connectivity
quiclab study list
```
"""


def test_sessions_are_read(tmp_path: Path) -> None:
    document = tmp_path / "d.md"
    document.write_text(SESSION)
    steps = session(document)
    files = [step for step, _ in steps if step.startswith("mkdir")]
    assert ["cat > a.py" in files[0], "print(1)" in files[0], "print(2)" in files[1]] == [True] * 3
    rest = [item for item in steps if item[0] not in files]
    assert rest[:3] == [("quiclab run a.toml", 0), ("ls x", 0), ("ls y", 0)]
    assert rest[3][0].startswith("python example_")
    assert rest[4:] == [
        ("quiclab study run dual_connectivity/share --runs 1 --only share=50", 0),
        ("quiclab verify dual_connectivity", 1),
        ("quiclab study list", 0),
    ]


def takes_long(document: Path) -> bool:
    """Whether a session runs studies or kills sweeps; others are done in seconds."""
    return any(re.match(r"quiclab study run|for .* timeout ", step) for step, _ in session(document))


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(
            path,
            id=str(path.relative_to(ROOT)),
            # users begin with README.md: it is always tested
            marks=[pytest.mark.slow] if takes_long(path) and path != ROOT / "README.md" else [],
        )
        for path in DOCUMENTS
    ],
)
def test_commands_and_examples_run(document: Path, folder: Path) -> None:
    steps = session(document)
    text = "".join(step for step, _ in steps)
    for program, package in (("tshark", "tshark"),):
        if re.search(rf"\b{program}\b", text) and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (apt-get install {package})")
    if "aioquic" in text and not has_stack("aioquic"):
        pytest.skip("the extra aioquic is not installed")
    # one shell, so that what a document exports holds for what follows
    script = "\n".join(f"{{\n{step}\n}} > out.{n} 2> err.{n}\necho $? > code.{n}" for n, (step, _) in enumerate(steps))
    path = pathsep.join([str(folder / "bin"), environ["PATH"]])
    subprocess.run(["/bin/bash", "-c", script], cwd=folder, timeout=1800, check=True, env=environ | {"PATH": path})
    for number, (step, expected) in enumerate(steps):
        code = int((folder / f"code.{number}").read_text())
        error = (folder / f"err.{number}").read_text()
        assert code == expected, f"{step}\n{error}"
        assert "Traceback" not in error, step
    said = "".join((folder / f"out.{number}").read_text() for number in range(len(steps)))
    shown = VERDICT.findall(
        "".join(b.text for b in blocks(document.read_text(encoding="utf-8")) if b.language == "text")
    )
    assert [verdict for verdict in shown if verdict not in said] == []


def test_the_readme_has_commands_and_an_example() -> None:
    steps = [step for step, _ in session(ROOT / "README.md")]
    assert any(step.startswith("quiclab run") for step in steps)
    assert any(step.startswith("quiclab study run") for step in steps)
    assert any(step.startswith("python ") for step in steps)


@pytest.mark.parametrize("document", EVERY_DOCUMENT, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    for target in targets:
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        assert (document.parent / target.split("#")[0]).exists(), target


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda path: path.stem)
def test_scenarios_run_and_complete(file: Path) -> None:
    result = quiclab.run(load(file), 1, base_dir=file.parent)
    assert result.flows
    assert all(flow.completed and flow.delivered_bytes > 0 for flow in result.flows.values())
    assert result.warnings == ()


def test_the_new_scenario_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["scenario", "new"]) == 0
    file = tmp_path / "new.toml"
    file.write_text(capsys.readouterr().out)
    assert cli.invoke(["run", str(file)]) == 0
    assert "completed" in capsys.readouterr().out


def test_the_readme_types_no_result() -> None:
    """Its numbers are those of commands, releases and options; what was measured is on generated pages."""
    text = re.sub(
        r"```.*?```|^    .*$|`[^`]*`", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.M | re.S
    )
    words = "two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|fifty|hundred"
    assert re.findall(rf"\b(?:\d+|{words}) (?:runs?|seeds|resamples|repetitions)\b", text) == []
    assert re.findall(r"\d+\.\d+ ?(?:Mbit/s|%|ms|s)\b|\d+ ?%", text) == []
    assert f"the {AIOQUIC_DATAGRAM.replace('us', 'µs')} that aioquic's client takes" in text
