"""Studies: what they vary is what was published; results, report and archive."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.compare import table_rows
from quiclab.errors import RequestError
from quiclab.evaluate import Evaluation, jobs_of, read_published
from quiclab.registry import find, find_all, studies
from quiclab.report import digest_of_digests

NAME = "dual_connectivity/share"
ONLY = ["--only", "share=40", "--only", "share=50", "--only", "share=60"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shares with one run of each setting; the large file is not needed to test tables."""
    out = tmp_path_factory.mktemp("results")
    assert cli.invoke(["study", "run", NAME, "--runs", "1", *ONLY, "--out", str(out)]) == 0
    return out


def test_names_are_the_agreed_ones() -> None:
    assert list(studies()) == ["dual_connectivity/batch_size", "dual_connectivity/share"]
    assert [study.name for study in find_all("dual_connectivity")] == list(studies())
    with pytest.raises(RequestError, match="is a group"):
        find("dual_connectivity")
    with pytest.raises(RequestError, match="there is no study `dual`; there are dual_connectivity/batch_size"):
        find_all("dual")


@pytest.mark.parametrize("name", ["dual_connectivity/batch_size", "dual_connectivity/share"])
def test_the_grid_is_that_of_the_published_table(name: str) -> None:
    study = find(name)
    available = {configuration.name for configuration in study.configurations}
    published = {row.key for row in read_published(study) if row.key[0] in available}
    points = [point for point in study.points((study.default_engine,)) if point.variant == ""]
    assert {(point.configuration, *point.values.values()) for point in points} == published
    assert len(points) == len(published)
    assert {point.runs for point in points} == {10}
    assert {int(row.cells["n_runs"]) for row in read_published(study)} == {10}


def test_scenarios_are_the_published_default_point() -> None:
    study = find("dual_connectivity/batch_size")
    points = list(study.points(("quinn",), only={"batch": ("2",), "variant": ("",)}))
    jobs = jobs_of(study, points)
    assert [job.seed for job in jobs] == [*range(1, 11)] * 2
    for job, buffer in ((jobs[0], 212_992), (jobs[10], 33_554_432)):
        tree = json.loads(job.scenario)
        assert tree["bearers"]["dc"]["batch_packets"] == 2
        size, unit = tree["hosts"]["client"]["receive_buffer"].split()
        assert float(size) * {"B": 1, "KiB": 1024, "MiB": 1024**2}[unit] == buffer
        assert tree["hosts"]["client"]["receive_datagram"] == "35 us"
        flow = tree["flows"]["dc"]
        assert (flow["sender"]["stack"], flow["receiver"]["stack"]) == ("quinn", "quinn")
        assert flow["receiver"]["host"] == "client"
        assert flow["sender"]["congestion_control"] == "newreno"
        for link in ("down1", "down2"):
            assert tree["links"][link]["rate"] == "20 Mbit/s"
            assert tree["links"][link]["queue"] == {"kind": "drop_tail", "packets": 100}
            assert tree["links"][link]["delay"]["deviation"] == "1 ms"
    assert jobs[0].replay.startswith("quiclab run scenarios/dual_connectivity.toml --set ")
    assert "--set bearers.dc.batch_packets=2" in jobs[0].replay
    assert "--set 'hosts.client.receive_buffer=212992 B'" in jobs[0].replay
    assert jobs[3].replay.endswith("--seed 4")


def test_variants_change_the_cost_of_a_datagram_only() -> None:
    study = find(NAME)
    points = list(study.points(("quinn",), 10, {"share": ("50",), "configuration": ("quic_large_buffer",)}))
    scenarios = {job.labels["variant"]: json.loads(job.scenario) for job in jobs_of(study, points)}
    assert set(scenarios) == {"", "slow_receiver", "free_receiver"}
    costs = {name: tree["hosts"]["client"].pop("receive_datagram") for name, tree in scenarios.items()}
    assert costs == {"": "35 us", "slow_receiver": "300 us", "free_receiver": "0 ns"}
    assert scenarios[""] == scenarios["slow_receiver"] == scenarios["free_receiver"]


def test_engines_and_only() -> None:
    study = find(NAME)
    assert study.chosen_engines("default") == ("quinn",)
    assert study.chosen_engines("all") == ("quinn", "noq", "aioquic")
    assert study.chosen_engines("noq,quinn") == ("quinn", "noq")
    with pytest.raises(RequestError, match="has no engine `linux`"):
        study.chosen_engines("linux")
    slow = list(study.points(("aioquic",), 10))
    assert {point.runs for point in slow} == {3}
    assert {point.variant for point in slow} == {""}
    with pytest.raises(RequestError, match="has no `loss` to choose by"):
        list(study.points(("quinn",), only={"loss": ("0",)}))
    with pytest.raises(RequestError, match=r"no setting of .* has"):
        list(study.points(("quinn",), only={"share": ("55",)}))


def test_table_has_one_row_for_each_published_row(results: Path) -> None:
    evaluation = Evaluation(find(NAME), results)
    rows = table_rows(evaluation, ["quinn"])
    with (ROOT / evaluation.study.table.file).open(newline="") as file:
        published = [row for row in csv.DictReader(file) if row["configuration"] != "tcp"]
    assert len(rows) == len(published) == 22
    results_columns = ["throughput_mbps_mean", "throughput_mbps_std", "n_runs"]
    factors = [name for name in published[0] if name not in results_columns]
    assert list(rows[0]) == [*factors, "engine", "profile", "lane", *results_columns]
    for row, reference in zip(rows, published, strict=True):
        assert row["link1_share_percent"] == int(reference["link1_share_percent"])
        assert row["impl"] == "aioquic"
        measured = row["link1_share_percent"] in (40, 50, 60)
        assert row["n_runs"] == (1 if measured else 0)
        assert (row["throughput_mbps_mean"] is not None) == measured
        if measured:
            assert 0 < row["throughput_mbps_mean"] <= 40  # two links of 20 Mbit/s


def test_throughput_is_file_bits_over_download_time(results: Path) -> None:
    evaluation = Evaluation(find(NAME), results)
    for row in evaluation.table.iter_rows(named=True):
        flow = json.loads(row["result"])["flows"]["dc"]
        assert row["throughput_mbps"] == pytest.approx(800 / flow["download_time_s"])
        assert flow["delivered_bytes"] == 100_000_000


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
    assert page.links == ["data:,"]
    assert "default-src 'none'" in text  # the browser itself forbids every request
    assert "@import" not in text
    assert page.rows["comparison"] == 1 + 22
    assert len(page.identities) == len(set(page.identities))
    for claim in ("DC-25", "DC-26", "DC-27"):
        assert claim in page.identities
    evaluation = Evaluation(find(NAME), results)
    table = evaluation.table
    main = table.filter((table["variant"] == "") & (table["engine"] == "quinn"))
    assert digest_of_digests(main["digest"].to_list()) in text
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    assert path.with_name("figure_1.svg").read_text().startswith("<svg")
    assert path.with_name("figure_1.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


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
        prefix = "dual_connectivity-share"
        runs = archive.extractfile(f"{prefix}/runs.csv")
        assert runs is not None
        rows = list(csv.DictReader(io.TextIOWrapper(runs, encoding="utf-8")))
    evaluation = Evaluation(find(NAME), results)
    assert [row["digest"] for row in rows] == evaluation.table["digest"].to_list()
    for row in rows:
        assert f"{prefix}/{row['setting']}" in names
    for name in ("README.md", "rerun.sh", "runs.parquet", "table.csv", "compare.json", "claims.json"):
        assert f"{prefix}/{name}" in names
    for name in ("studies/dual_connectivity.py", "scenarios/dual_connectivity.toml", find(NAME).table.file):
        assert f"{prefix}/{name}" in names
