"""Results of a study: table, report and archive, on a study of short downloads."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab._base.files import file_names
from quiclab.report.study_page import digest_of_digests
from quiclab.study.compare import table_rows
from quiclab.study.evaluate import Evaluation
from quiclab.study.plan import Plan
from quiclab.study.registry import find

NAME = "tiny/rate"
TINY = ROOT / "tests" / "data" / "tiny"


@pytest.fixture(scope="module", autouse=True)
def tiny_studies() -> Iterator[None]:
    """Let the study files be those of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICLAB_STUDIES", str(TINY / "studies"))
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, tiny_studies: None) -> Path:
    """The whole study with both engines."""
    del tiny_studies
    out = tmp_path_factory.mktemp("results")
    assert cli.invoke(["study", "run", NAME, "--engines", "all", "--out", str(out)]) == 0
    return out


def test_table_has_one_row_for_each_published_row(results: Path) -> None:
    evaluation = Evaluation(find(NAME), results)
    rows = table_rows(evaluation, ["quinn"])
    results_columns = ["goodput_mbps_mean", "goodput_mbps_std", "n_runs"]
    assert list(rows[0]) == ["configuration", "rate_mbps", "duplicate", "engine", "profile", "lane", *results_columns]
    places = [(row["configuration"], row["rate_mbps"]) for row in rows]
    assert places == [("near", 5), ("far", 5), ("near", 20), ("far", 20)]
    for row in rows:
        assert (row["engine"], row["lane"], row["duplicate"], row["n_runs"]) == ("quinn", "sim", False, 3)
        assert row["goodput_mbps_mean"] > 0


def test_the_measured_table_is_read_while_its_inputs_are_the_same(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    shutil.copytree(results, out)
    directory = out / NAME

    def resolved(_: Evaluation) -> None:
        raise AssertionError("runs are resolved again")

    table = Evaluation(find(NAME), out).table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluation, "all_runs", property(resolved))
        again = Evaluation(find(NAME), out)
        assert again.table.equals(table)
        assert table_rows(again, ["quinn"]) == table_rows(Evaluation(find(NAME), results), ["quinn"])
        assert again.missing_anywhere == 0
        # a shard that changed, another key and a damaged table are noticed
        for change in (
            (directory / "shards" / "000001.parquet").touch,
            lambda: (directory / "runs.key").write_text("other"),
            lambda: (directory / "runs.parquet").write_bytes(b"damaged"),
        ):
            change()
            with pytest.raises(AssertionError, match="resolved again"):
                _ = Evaluation(find(NAME), out).table
            patch.undo()
            assert Evaluation(find(NAME), out).table.equals(table)
            patch.setattr(Evaluation, "all_runs", property(resolved))


def test_table_formats_and_engines(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["study", "table", NAME, "--out", str(results)]
    assert cli.invoke(common) == 0
    captured = capsys.readouterr()
    assert captured.err == "moon: not available yet: too far\n"
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    assert [row["engine"] for row in rows] == ["quinn"] * 4
    assert rows[0]["duplicate"] == "false"
    assert cli.invoke([*common, "--engines", "all", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(row["engine"], row["n_runs"]) for row in document["rows"]] == [("quinn", 3)] * 4 + [("noq", 2)] * 4
    assert float(rows[0]["goodput_mbps_mean"]) == document["rows"][0]["goodput_mbps_mean"]
    assert cli.invoke([*common, "--format", "table"]) == 0
    assert "goodput" in capsys.readouterr().out


def test_verdicts_with_numbers(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["verify", NAME, "--json", "--out", str(results)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["runs_missing"] == 0
    verdicts = {claim["identity"]: claim["verdict"] for claim in document["claims"]}
    assert verdicts["TI-1"] == "undecided"  # three runs are too few
    assert verdicts["TI-3"] == "not_tested"
    assert document["claims"][0]["numbers"]["near"] > 0
    assert document["claims"][1]["on_published"] is False
    assert cli.invoke(["verify", "--out", str(results)]) == 0
    assert "not tested" in capsys.readouterr().out


def test_comparison(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["study", "compare", NAME, "--json", "--out", str(results)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["configuration"] for row in document["rows"]] == ["near", "near", "far", "far"]
    for row in document["rows"]:
        assert row["difference"] == pytest.approx(row["measured_mean"] - row["published_mean"], abs=1e-4)
        assert row["measured_low"] <= row["measured_mean"] <= row["measured_high"]
    assert {item["configuration"] for item in document["fidelity"]} == {"near", "far"}
    assert cli.invoke(["study", "compare", NAME, "--out", str(results)]) == 0
    assert "95 % interval" in capsys.readouterr().out


def study_run(out: Path, *arguments: str) -> int:
    return cli.invoke(["study", "run", NAME, *arguments, "--out", str(out)])


def test_a_partial_sweep_leaves_a_complete_study_complete(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study_run(results, "--runs", "1", "--only", "rate=5") == 0
    assert "0 of them new" in capsys.readouterr().err
    assert Evaluation(find(NAME), results).runs == 3


def test_more_runs_of_some_settings_do_not_make_a_study_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # partial sweeps alone fix nothing: the first full one does
    assert study_run(tmp_path, "--runs", "2", "--only", "rate=5") == 0
    assert study_run(tmp_path, "--runs", "1") == 0
    assert Evaluation(find(NAME), tmp_path).missing_anywhere == 0
    capsys.readouterr()
    assert study_run(tmp_path, "--only", "rate=5", "--only", "configuration=near", "--only", "variant=") == 0
    assert "use 1 runs of each setting" in capsys.readouterr().err
    evaluation = Evaluation(find(NAME), tmp_path)
    assert (evaluation.runs, evaluation.missing_anywhere) == (1, 0)
    # and a full one with more runs counts all of them; with fewer again it says that it does not
    assert study_run(tmp_path, "--runs", "2") == 0
    capsys.readouterr()
    assert study_run(tmp_path, "--runs", "1") == 0
    assert "keeps 2 runs" in capsys.readouterr().err
    assert Evaluation(find(NAME), tmp_path).runs == 2


@pytest.mark.parametrize("content", ["[1]", "{}", '{"runs": "3"}', '{"runs": 0}', "no JSON"])
def test_a_broken_manifest_is_one_message(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tmp_path / NAME / "sweep.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(content)
    assert cli.invoke(["study", "compare", NAME, "--out", str(tmp_path)]) == 1
    assert "sweep.json is not the list of a sweep; delete it" in capsys.readouterr().err


def test_claims_over_settings_that_were_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study_run(tmp_path, "--only", "configuration=far", "--only", "variant=") == 0
    capsys.readouterr()
    assert cli.invoke(["verify", NAME, "--json", "--out", str(tmp_path)]) == 1
    claims = {claim["identity"]: claim for claim in json.loads(capsys.readouterr().out)["claims"]}
    assert claims["TI-1"]["verdict"] == "not_tested"
    assert claims["TI-1"]["reason"].endswith(": 5 ms away, rate 5 Mbit/s")
    assert cli.invoke(["study", "report", NAME, "--out", str(tmp_path)]) == 0


def test_replay_names_a_file_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = find(NAME)
    points = list(study.points(("quinn",), 1, {"rate": ("5",), "variant": ("",)}))
    for directory in (ROOT, TINY, tmp_path):
        monkeypatch.chdir(directory)
        words = shlex.split(Plan(study, points).first_runs()[0].replay)
        assert words[:2] == ["quiclab", "run"]
        assert Path(words[2]).samefile(TINY / "scenarios" / "tiny.toml")
        assert Path(words[2]).is_absolute() == (directory == tmp_path)


class Page(HTMLParser):
    """Collects what a page consists of, and complains about tags that do not match."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: dict[str, int] = {}
        self.table = ""
        self.links: list[str] = []
        self.identities: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.links += [values[name] for name in ("src", "href", "action", "data") if name in values]
        if "id" in values:
            self.identities.append(values["id"])
        if tag == "table":
            self.table = values.get("id", "")
        if tag == "tr":
            self.rows[self.table] = self.rows.get(self.table, 0) + 1
        if tag not in self.VOID and not self._inside_svg(tag):
            self.open.append(tag)

    def _inside_svg(self, tag: str) -> bool:
        return "svg" in self.open and tag != "svg"

    def handle_endtag(self, tag: str) -> None:
        if not self._inside_svg(tag) or tag == "svg":
            assert self.open.pop() == tag


def test_report_is_complete_and_needs_no_network(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["study", "report", NAME, "--out", str(results)]) == 0
    path = Path(capsys.readouterr().out.strip())
    text = path.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert [link for link in page.links if not link.startswith("#")] == ["data:,"]
    assert "default-src 'none'" in text  # the browser itself forbids every request
    assert "@import" not in text
    assert page.rows["comparison"] == 1 + 2 + 4  # head, configurations, points
    assert "&lt;50 ms&gt; &amp; away" in text
    assert len(page.identities) == len(set(page.identities))
    for claim in ("TI-1", "TI-2", "TI-3"):
        assert claim in page.identities
    evaluation = Evaluation(find(NAME), results)
    table = evaluation.table
    main = table.filter((table["variant"] == "") & (table["engine"] == "quinn"))
    assert digest_of_digests(main["digest"].to_list()) in text
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    # files of figures have names that say what they show
    [*_, figure] = file_names([figure.title for figure in evaluation.study.presentation.figures][:1])
    assert path.with_name(f"{figure}.svg").read_text().startswith("<svg")
    assert path.with_name(f"{figure}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_archive_is_deterministic_and_complete(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["study", "package", NAME, "--out", str(results)]) == 0
    path = Path(capsys.readouterr().out.strip())
    first = path.read_bytes()
    assert cli.invoke(["study", "package", NAME, "--out", str(results)]) == 0
    capsys.readouterr()
    assert path.read_bytes() == first
    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        names = archive.getnames()
        assert names == sorted(names)
        assert {member.mtime for member in archive.getmembers()} == {0}
        prefix = "tiny-rate"
        runs = archive.extractfile(f"{prefix}/runs.csv")
        assert runs is not None
        rows = list(csv.DictReader(io.TextIOWrapper(runs, encoding="utf-8")))
    evaluation = Evaluation(find(NAME), results)
    assert [row["digest"] for row in rows] == evaluation.table["digest"].to_list()
    for row in rows:
        assert f"{prefix}/{row['setting']}" in names
    for name in ("README.md", "rerun.sh", "runs.parquet", "table.csv", "compare.json", "claims.json"):
        assert f"{prefix}/{name}" in names
    for name in ("studies/tiny.py", "scenarios/tiny.toml", "reference/tiny.csv"):
        assert f"{prefix}/{name}" in names


def test_an_archive_needs_complete_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["study", "run", NAME, "--runs", "1", "--only", "rate=5", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert cli.invoke(["study", "package", NAME, "--out", str(tmp_path)]) == 1
    assert "2 runs are missing" in capsys.readouterr().err


def test_the_archive_runs_again_to_the_same_bytes(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["study", "package", NAME, "--out", str(results)]) == 0
    with tarfile.open(capsys.readouterr().out.strip()) as archive:
        archive.extractall(tmp_path, filter="data")
    command = tmp_path / "bin" / "quiclab"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m quiclab "$@"\n')
    command.chmod(0o755)
    path = os.pathsep.join([str(command.parent), os.environ["PATH"]])
    done = subprocess.run(
        ["/bin/sh", str(tmp_path / "tiny-rate" / "rerun.sh")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"PATH": path},
    )
    assert (done.returncode, done.stdout) == (0, "identical\n"), done.stderr


def test_another_build_of_the_same_source_gives_the_same_list_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `rerun.sh` compares does not name the build."""
    lists = []
    for build in ("one", "another"):
        monkeypatch.setattr("quiclab.experiment.runs.build_id", lambda build=build: build)
        assert study_run(tmp_path / build, "--runs", "1", "--jobs", "1") == 0
        assert cli.invoke(["study", "package", NAME, "--out", str(tmp_path / build)]) == 0
        with tarfile.open(capsys.readouterr().out.strip()) as archive:
            member = archive.extractfile("tiny-rate/runs.csv")
            assert member is not None
            lists.append(member.read())
    assert lists[0] == lists[1]
