"""Mistakes in studies: names are checked when a study is loaded, errors in functions are one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quiclab import cli
from quiclab.errors import QuiclabError, RequestError
from quiclab.experiment.own_code import own_code
from quiclab.study import Metric, Study, registry
from quiclab.study.check import check_study
from quiclab.study.claims import Claim
from quiclab.study.findings import Grid, Sample
from quiclab.study.plan import available_engines
from quiclab.study.registry import find, studies


@pytest.fixture(scope="module")
def study() -> Study:
    return find("dual_connectivity/share")


def changed(study: Study, part: str) -> Study:
    """Return the study with one mistake."""
    design, measures, presentation = study.design, study.measures, study.presentation
    figure, claim = presentation.figures[0], Claim("X-1", "", "", metric="goodputt")
    twice = replace(design.configurations[1], name=design.configurations[0].name)

    def with_figure(**changes: Any) -> Study:
        return replace(study, presentation=replace(presentation, figures=(replace(figure, **changes),)))

    changes: dict[str, Study] = {
        "twice": replace(study, design=replace(design, configurations=(design.configurations[0], twice))),
        "factor twice": replace(study, design=replace(design, factors=(design.factors[0], design.factors[0]))),
        "x": with_figure(x="shaer"),
        "metric": with_figure(metric="goodput_mbs"),
        "claim": replace(study, measures=replace(measures, claims=(claim,))),
        "scored": replace(study, measures=replace(measures, scored="moon")),
        "group": replace(study, name="share"),
    }
    return changes[part]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("twice", ["configurations", "expected distinct names, got"]),
        ("factor twice", ["factors", "expected distinct names, got"]),
        ("x", ["figure", "x: unknown factor `shaer`", "did you mean `share`?"]),
        ("metric", ["figure", "unknown metric `goodput_mbs`"]),
        ("claim", ["claim X-1: metric: unknown metric `goodputt`"]),
        ("scored", ["scored: unknown metric `moon`"]),
        ("group", ['expected "GROUP/NAME", got "share"']),
    ],
)
def test_names_are_checked(study: Study, part: str, words: list[str]) -> None:
    with pytest.raises(RequestError) as error:
        check_study(changed(study, part))
    assert [word for word in (f"study {changed(study, part).name}", *words) if word not in error.value.message] == []


def test_the_studies_have_no_such_mistakes() -> None:
    for found in studies().values():
        check_study(found)


def test_a_claim_names_factors_that_exist() -> None:
    class Found:
        index = 0

        def grid(self, *_: str) -> Grid:
            return Grid({"rate": (5, 10)}, ("tcp",), {("tcp", 5): [1.0]})

    sample = Sample(Found(), "", "")  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="unknown factor `rat`; expected `rate`; did you mean `rate`"):
        sample("tcp", rat=5)
    with pytest.raises(RequestError, match="a value of `rate` is missing for configuration `tcp`"):
        sample("tcp")


def test_an_error_in_a_function_names_its_line() -> None:
    broken = Metric("ratio", "Ratio", "", lambda _: 1 / 0)
    with pytest.raises(QuiclabError) as error, own_code("metric `ratio`, seed 1"):
        broken.value(None, {})  # type: ignore[arg-type]
    assert error.value.message.startswith("metric `ratio`, seed 1: ZeroDivisionError: division by zero (")
    assert Path(__file__).name in error.value.message


def test_a_study_file_without_studies_says_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "studies"
    folder.mkdir()
    (folder / "mine.py").write_text('NAME = "mine/one"\n')
    monkeypatch.setenv("QUICLAB_STUDIES", str(folder))
    with pytest.raises(RequestError, match=r"mine\.py: STUDIES: expected a tuple of studies"):
        studies()


OWN = """\
from quiclab.study import Configuration, Design, Measures, Metric, Presentation, Study

GOOD = Study(
    "own/good",
    design=Design(
        scenario="scenarios/one.toml",
        configurations=(Configuration("tcp", "TCP", {"flows.main.stack": "lab-tcp"}),),
        runs=1,
    ),
    measures=Measures(metric=Metric("goodput_mbps", "Goodput", "Mbit/s", lambda run: run.flows["main"].goodput_mbps)),
    presentation=Presentation(title="One", abstract="One."),
)
STUDIES = (GOOD,)
"""
BROKEN = """\
from quiclab.study import Design

STUDIES = (Design(scenario="one.toml"),)
"""
FAILING = """\
from dataclasses import replace

from quiclab.study import Factor

from .b import GOOD

def changes(value):
    return {}[value]

FACTOR = Factor("x", "x", "X", "", (1, 2), changes)
STUDIES = (replace(GOOD, name="own/other", design=replace(GOOD.design, factors=(FACTOR,))),)
"""


@pytest.mark.parametrize(
    ("broken", "broken_text", "line", "error"),
    [
        ("a.py", BROKEN, 3, "TypeError: Design.__init__() missing"),
        ("a2.py", 'import json\n\nSTUDIES = (json.loads("{"),)\n', 3, "JSONDecodeError"),
        ("c.py", FAILING, 8, "KeyError: 1"),
    ],
)
def test_a_source_of_studies_that_fails_hides_no_other(
    broken: str,
    broken_text: str,
    line: int,
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "studies").mkdir()
    for name, text in ((broken, broken_text), ("b.py", OWN)):
        (tmp_path / "studies" / name).write_text(text)
    monkeypatch.setenv("QUICLAB_STUDIES", str(tmp_path / "studies"))
    assert cli.invoke(["study", "list", "--json"]) == 1
    shown = capsys.readouterr()
    assert [(item["name"], item["engines"]) for item in json.loads(shown.out)["studies"]] == [("own/good", ["sim"])]
    assert error in shown.err
    assert f"{tmp_path / 'studies' / broken}:{line}" in shown.err
    assert find("own/good").name == "own/good"
    if line == 3:  # a group without the studies of a source that cannot be loaded would not be whole
        with pytest.raises(QuiclabError, match=error.partition(":")[0]):
            registry.find_all("own")


def test_a_study_without_engines_runs_with_the_stacks_of_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "b.py").write_text(OWN)
    monkeypatch.setenv("QUICLAB_STUDIES", str(tmp_path / "studies"))
    assert available_engines(find("own/good"), ["sim"]) == (["sim"], [])


def test_without_any_distribution_of_studies_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUICLAB_STUDIES", raising=False)
    monkeypatch.setattr(registry, "_entry_points", tuple)
    for name in (None, "tunnel"):
        with pytest.raises(QuiclabError, match="pip install quiclab-studies"):
            registry.find_all(name)
