"""Examples of scenarios: listed, described, and written with what they name, from the installed distribution."""

from __future__ import annotations

from pathlib import Path

import pytest

import quiclab
from conftest import ROOT
from quiclab.errors import QuiclabError, RequestError
from quiclab.scenario import examples as module
from quiclab.scenario.examples import Example, example, examples


def test_every_scenario_of_the_repository_is_an_example_with_a_description() -> None:
    assert list(examples()) == sorted(file.stem for file in (ROOT / "scenarios").glob("*.toml"))
    assert all(len(found.description) > 20 for found in examples().values())


def test_an_example_without_a_description_has_the_first_sentence_of_its_comment(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text("# Two flows\n# share a link. More is said here.\n\nversion = 1\n")
    assert Example("two", file).description == "Two flows share a link."


@pytest.mark.parametrize("name", ["cellular_trace", "plugins", "l4s"])
def test_an_example_runs_where_it_is_written(name: str, tmp_path: Path) -> None:
    written = example(name).write(tmp_path / "mine.toml")
    assert {file.relative_to(tmp_path).as_posix() for file in written} == {"mine.toml", *example(name).files}
    there, here = quiclab.load(example(name).file), quiclab.load(tmp_path / "mine.toml")
    shorter = [
        scenario.with_value("duration", "1 s").with_value("until", "duration_over") for scenario in (there, here)
    ]
    assert len({quiclab.run(scenario, seed=1).digest for scenario in shorter}) == 1


def test_files_that_exist_are_kept(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    own = tmp_path / "traces" / "cellular.csv"
    own.write_text("mine")
    assert own not in example("cellular_trace").write(tmp_path / "mine.toml")
    assert own.read_text() == "mine"


def test_a_name_that_is_no_example_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(RequestError, match=r"unknown example `l4`; .* did you mean `l4s`\?"):
        example("l4")


def test_two_distributions_with_an_example_of_one_name_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Point:
        def __init__(self, folder: Path) -> None:
            self.folder = folder

        def load(self) -> Path:
            return self.folder

    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        (folder / "same.toml").write_text("version = 1\n")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [Point(folder) for folder in folders])
    module.examples.cache_clear()
    try:
        with pytest.raises(QuiclabError, match="two distributions have an example `same`"):
            examples()
    finally:
        module.examples.cache_clear()
