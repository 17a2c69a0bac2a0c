"""Documents run (`tools/document_sessions.py`), their links lead somewhere, every scenario completes."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

import quiclab
from conftest import ROOT, documents, has_stack, tool
from quiclab import cli
from quiclab.scenario import load

sessions = tool("document_sessions")
outputs = sessions.document_outputs

DOCUMENTS = [ROOT / "python" / "README.md", *(path for path in documents() if "decisions" not in path.parts)]
REFERENCE = tool("reference").pages()
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))
#: Pages that show what each of their commands prints.
WITH_OUTPUTS = [
    ROOT / "docs" / f"{name}.md"
    for name in (
        "tutorial",
        "recordings",
        "transports",
        "multipath",
        "plugins",
        "python",
        "run-a-study",
        "write-a-study",
    )
]

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
ls z    # exit code 2
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
    steps = [(step.command, step.expected) for step in sessions.session(document)]
    files = [step for step, _ in steps if step.startswith("mkdir")]
    assert ["cat > a.py" in files[0], "print(1)" in files[0], "print(2)" in files[1]] == [True] * 3
    rest = [item for item in steps if item[0] not in files]
    assert rest[:4] == [("quiclab run a.toml", 0), ("ls x", 0), ("ls y", 0), ("ls z", 2)]
    assert rest[4][0].startswith("python example_")
    assert rest[5:] == [
        ("quiclab study run dual_connectivity/share --runs 1 --only share=50", 0),
        ("quiclab verify dual_connectivity", 1),
        ("quiclab study list", 0),
    ]


def takes_long(document: Path) -> bool:
    """Whether a session runs studies or kills sweeps; others are done in seconds."""
    steps = sessions.session(document)
    return any(re.match(r"quiclab study run|for .* timeout ", step.command) for step in steps)


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
def test_commands_and_examples_run(document: Path, tmp_path: Path) -> None:
    text = "".join(step.command for step in sessions.session(document))
    for program, package in (("tshark", "tshark"),):
        if re.search(rf"\b{program}\b", text) and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (apt-get install {package})")
    if "aioquic" in text and not has_stack("aioquic"):
        pytest.skip("the extra aioquic is not installed")
    ended = sessions.run(document, tmp_path)
    for end in ended:
        assert not end.failed, f"{end.step.command}\n{end.error}"
        assert "Traceback" not in end.error, end.step.command
    content = document.read_text(encoding="utf-8")
    different = sessions.differences(content, sessions.renewed(content, ended))
    assert different == "", f"python tools/document_sessions.py {document.relative_to(ROOT)} --write"
    if document in WITH_OUTPUTS:
        assert sessions.not_shown(content, ended) == []


@pytest.mark.parametrize("name", REFERENCE)
def test_commands_of_the_reference_run(name: str, tmp_path: Path) -> None:
    page = tmp_path / name
    page.write_text(REFERENCE[name], encoding="utf-8")
    for end in sessions.run(page, tmp_path):
        assert not end.failed, f"{end.step.command}\n{end.error}"


SHOWN = """\
```sh
echo one; echo two
```

```text
{first}
```

```sh
echo three
```

Text.

```text
nine
```

```sh
quiclab browse   # not run
echo four
```

```text
ten
```
"""


def test_only_what_commands_print_right_above_is_written(tmp_path: Path) -> None:
    document = tmp_path / "d.md"
    document.write_text(SHOWN.format(first="two"))
    ended = sessions.run(document, tmp_path)
    assert sessions.renewed(document.read_text(), ended) == SHOWN.format(first="one\ntwo")
    assert sessions.not_shown(document.read_text(), ended) == ["echo three"]


def test_a_command_that_must_fail_shows_its_error(tmp_path: Path) -> None:
    document = tmp_path / "d.md"
    text = "```sh\necho out; echo wrong >&2; (exit 2)   # exit code 2\n```\n\n```text\n{}```\n"
    document.write_text(text.format(""))
    (end,) = sessions.run(document, tmp_path)
    assert not end.failed
    assert sessions.renewed(document.read_text(), [end]) == text.format("out\nwrong\n")


PRINTED = """\
a run: 4 events

 flow   state       goodput
 ──────────────────────────
 main   completed         8
 side   completed         9

 rate   stack     goodput
 ────────────────────────
 10     quinn     7.9
 10     lab-tcp   7.5
 20     quinn     9.9

digest abc7
"""


@pytest.mark.parametrize(
    ("shown", "new"),
    [
        ("", PRINTED),
        # the whole output, however old
        ("a run: 3 events\nold\n", PRINTED),
        # the beginning, up to a row whose numbers and width have changed
        ("a run: 3 events\n main   done   7\n...\n", PRINTED[: PRINTED.index(" side")] + "...\n"),
        # a row belongs to that with the most equal cells at its beginning
        ("...\n 10     lab-tcp   7.444\n...\n", "...\n 10     lab-tcp   7.5\n...\n"),
        # a passage takes what has come in between; the end of the output is the end of the block
        (
            "...\n flow   state\n side   x\n...\ndigest abc6\n",
            "...\n" + PRINTED[PRINTED.index(" flow") : PRINTED.index("\n rate")] + "...\ndigest abc7\n",
        ),
    ],
)
def test_outputs_are_written_anew(shown: str, new: str) -> None:
    assert outputs.renewed(shown, PRINTED) == new
    assert outputs.renewed(new, PRINTED) == new


def test_spaces_and_empty_lines_at_the_ends_are_not_written() -> None:
    assert outputs.renewed("", "\n  \n a  \n\n b \n   \n") == " a\n\n b\n"


def test_a_passage_that_is_printed_no_longer_is_an_error() -> None:
    with pytest.raises(outputs.NoSuchLineError, match="no line like 'receiver   4' in the output"):
        outputs.renewed("...\n receiver   4\n...\n", PRINTED)


def test_the_readme_has_commands_and_an_example() -> None:
    steps = [step.command for step in sessions.session(ROOT / "README.md")]
    assert any(step.startswith("quiclab run") for step in steps)
    assert any(step.startswith("quiclab study run") for step in steps)
    assert any(step.startswith("python ") for step in steps)


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
        r"```.*?```|^    [^\n]*$|`[^`]*`|<!-- demo -->.*?<!-- /demo -->",  # tools/demo_time.py writes the last
        "",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        flags=re.M | re.S,
    )
    words = "two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|fifty|hundred"
    assert re.findall(rf"\b(?:\d+|{words}) (?:runs?|seeds|resamples|repetitions)\b", text) == []
    assert re.findall(r"\d+\.\d+ ?(?:Mbit/s|%|ms|s)\b|\d+ ?%", text) == []


def test_the_description_of_the_package_needs_no_repository() -> None:
    """An index of packages shows it alone: no relative link, no picture; it begins as README.md does."""
    text = (ROOT / "python" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https?:)", text) == []
    opening = text.split("\n\n")[1]
    assert opening in (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["readme"] == "python/README.md"
