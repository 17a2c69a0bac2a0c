"""Documents run (`tools/document_sessions.py`), their links lead somewhere, every scenario completes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import quiclab
from conftest import ROOT, has_stack, tool
from quiclab import cli
from quiclab.scenario import load
from quiclab.studies.hosts import AIOQUIC_DATAGRAM

sessions = tool("document_sessions")

DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in path.parts),
]
EVERY_DOCUMENT = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))

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
    steps = sessions.session(document)
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
    return any(re.match(r"quiclab study run|for .* timeout ", step) for step, _ in sessions.session(document))


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
    text = "".join(step for step, _ in sessions.session(document))
    for program, package in (("tshark", "tshark"),):
        if re.search(rf"\b{program}\b", text) and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (apt-get install {package})")
    if "aioquic" in text and not has_stack("aioquic"):
        pytest.skip("the extra aioquic is not installed")
    ended = sessions.run(document, tmp_path)
    for step in ended:
        assert step.code == step.expected, f"{step.command}\n{step.error}"
        assert "Traceback" not in step.error, step.command
    output = "".join(step.output for step in ended)
    stale = [result for result in sessions.shown(document.read_text(encoding="utf-8")) if result not in output]
    assert stale == [], f"python tools/document_sessions.py {document.relative_to(ROOT)} --write"


TABLE = """\
 rate     stack    Goodput        runs{pad}
 ───────────────────────────────────{rule}
 10       quinn    {first}      5
 10       lab-tcp  {second}     5
"""


def test_results_are_written_anew() -> None:
    old = TABLE.format(pad="", rule="", first="7.9 ± 0.03", second="7.544")
    new = TABLE.format(pad="  ", rule="──", first="8.1 ± 0.0251", second="7.6")
    document = f"Text of 7.544.\n\n```text\n{old}...\n```\n"
    assert sessions.shown(document) == old.splitlines()[2:]
    assert sessions.renewed(document, new) == f"Text of 7.544.\n\n```text\n{new}...\n```\n"
    with pytest.raises(ValueError, match=r"expected one row like '10 +quinn +7\.9"):
        sessions.renewed(document, new.replace("10", "20"))
    with pytest.raises(ValueError, match="got 2"):
        sessions.renewed(document, new.replace("lab-tcp", "quinn  "))


def test_the_readme_has_commands_and_an_example() -> None:
    steps = [step for step, _ in sessions.session(ROOT / "README.md")]
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
