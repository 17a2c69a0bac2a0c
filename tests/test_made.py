"""What commands make in results directories: what they have made before goes, and nothing of the user's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from quiclab._base import files, made
from quiclab._base.made import MADE, write_files
from quiclab.errors import RequestError
from quiclab.report import reports
from quiclab.report.sweeps.output import check_directory


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.name != MADE and path.is_file()}


def test_what_is_made_no_more_goes_and_what_a_user_made_or_changed_stays(tmp_path: Path) -> None:
    old = {"report.html": b"old", "throughput.svg": b"old", "changed.svg": b"old", "table_1.csv": b"old"}
    write_files(tmp_path, "report", old)
    write_files(tmp_path, "report_noq", {"throughput_noq.svg": b"noq"})
    (tmp_path / "changed.svg").write_text("mine")
    (tmp_path / "figure_1.svg").write_text("mine")
    write_files(tmp_path, "report", {"report.html": b"new", "goodput.svg": b"new"})
    mine = {"changed.svg": "mine", "figure_1.svg": "mine"}
    noq = {"throughput_noq.svg": "noq"}
    assert contents(tmp_path) == {"report.html": "new", "goodput.svg": "new", **mine, **noq}
    assert made.read(tmp_path)["report"].keys() == {"report.html", "goodput.svg"}
    write_files(tmp_path, "report", {})
    assert contents(tmp_path) == {**mine, **noq}


@pytest.mark.parametrize("written", range(3))
def test_after_a_kill_all_that_was_made_is_known(written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not a file was replaced before the kill."""
    write_files(tmp_path, "report", {"a.svg": b"old", "b.svg": b"old"})
    write, left = files.write_atomically, [written + 1]  # the list, then so many files

    def killed(path: Path, content: bytes) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        write(path, content)

    monkeypatch.setattr(made, "write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, "report", {"a.svg": b"new", "b.svg": b"new"})
    monkeypatch.setattr(made, "write_atomically", write)
    assert list(contents(tmp_path).values()).count("new") == written
    write_files(tmp_path, "report", {"c.svg": b"last"})
    assert contents(tmp_path) == {"c.svg": "last"}


def test_a_list_that_is_damaged_lists_nothing(tmp_path: Path) -> None:
    (tmp_path / MADE).write_text('{"schema": "quiclab.made/1", "files": {"report": ["a"]}}')
    (tmp_path / "a").write_text("mine")
    write_files(tmp_path, "report", {"b": b"new"})
    assert contents(tmp_path) == {"a": "mine", "b": "new"}


@pytest.mark.parametrize("text", ["", "[]", '{"mine": 1}'])
def test_a_file_of_the_user_with_the_name_of_the_list_stays(text: str, tmp_path: Path) -> None:
    (tmp_path / MADE).write_text(text)
    with pytest.raises(RequestError, match=r"made\.json is not the list"):
        check_directory(tmp_path)
    with pytest.raises(RequestError, match=r"made\.json is not the list"):
        write_files(tmp_path, "report", {"b": b"new"})
    assert [path.name for path in tmp_path.iterdir()] == [MADE]
    assert (tmp_path / MADE).read_text() == text


def test_a_changed_file_that_is_made_again_is_replaced(tmp_path: Path) -> None:
    write_files(tmp_path, "report", {"a": b"old"})
    (tmp_path / "a").write_text("mine")
    write_files(tmp_path, "report", {"a": b"new"})
    assert contents(tmp_path) == {"a": "new"}


def test_names_that_lead_elsewhere_are_no_files_of_it(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    out.mkdir()
    other.write_bytes(b"old")
    write_files(out, "report", {"a": b"old", "b": b"old"})
    document = json.loads((out / MADE).read_text())
    document["files"]["report"]["../other"] = document["files"]["report"]["a"]
    (out / MADE).write_text(json.dumps(document))
    (out / "b").unlink()
    (out / "b").symlink_to(other)
    write_files(out, "report", {}, ["../other"])
    assert other.exists()
    assert [path.name for path in out.iterdir() if path.name != MADE] == ["b"]


def test_a_directory_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot write"):
        write_files(tmp_path / "absent", "report", {"a": b""})


class Runs:
    """As much of an evaluation as a report without figures needs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def file_of(self, kind: str, engines: list[str]) -> Path:
        return self.directory / "derived" / f"{'-'.join([kind, *engines])}.json"


def test_a_report_of_a_version_without_the_list_is_known_by_its_document(tmp_path: Path) -> None:
    """Only as long as its files have the times that it has noted."""
    (tmp_path / "derived").mkdir()
    times = []
    for number, name in enumerate(("report.html", "figure_1.svg", "changed.svg")):
        (tmp_path / name).write_text("old")
        os.utime(tmp_path / name, ns=(number, number))
        times.append(number)
    document = {"files": ["report.html", "figure_1.svg", "changed.svg"], "times": times}
    runs = Runs(tmp_path)
    runs.file_of("report", ["quinn"]).write_text(json.dumps({"document": {"document": document}}))
    os.utime(tmp_path / "changed.svg", ns=(9, 9))
    assert reports.files_of_last(runs, "quinn") == ["report.html", "figure_1.svg"]  # type: ignore[arg-type]
    assert reports.files_of_last(runs, "noq") == []  # type: ignore[arg-type]
