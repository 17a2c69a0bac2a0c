"""A page of docs/studies is current while a sample of its runs has the digests of its results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import tool
from quiclab.errors import QuiclabError
from quiclab.experiment.execute import execute
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import write_manifest
from quiclab.study.plan import Plan, results_directory
from quiclab.study.registry import find

SAMPLE, VALUES, PAGE = (tool(name) for name in ("page_sample", "page_values", "study_pages"))
#: Events of the runs that the first tier makes of each page: about a second.
FEW_EVENTS = 600_000
#: A study of few packets: a run takes milliseconds.
STUDY, ENGINE = "page_load/hystart", "lab-quic"
SETTINGS = 3


def stored(name: str) -> dict[str, Any]:
    """Return the stored values of a page that has a sample."""
    data: dict[str, Any] = PAGE.stored(name)
    if not data.get("digests"):
        pytest.skip("the page has no sample, and says that its values are of an earlier version")
    return data


@pytest.mark.parametrize("name", PAGE.made())
def test_a_part_of_the_sample_has_the_recorded_digests(name: str) -> None:
    data = stored(name)
    found = SAMPLE.repeat(name, data, FEW_EVENTS, 1)
    assert not SAMPLE.problems(name, data, found, whole=False)
    smallest = min(run["events"] for run in data["digests"].values())
    assert found.runs > 0 or smallest > FEW_EVENTS


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGE.made())
def test_the_sample_has_the_recorded_digests_unless_the_page_says_otherwise(name: str) -> None:
    data = stored(name)
    assert not SAMPLE.problems(name, data, SAMPLE.repeat(name, data, workers=1))


@pytest.mark.parametrize("name", PAGE.made())
def test_a_sample_covers_the_configurations_of_its_page(name: str) -> None:
    data = stored(name)
    sampled = {(run.get("engine", ""), run["setting"][0]) for run in data["digests"].values()}
    for item in data.get("values", {}).values():
        if SAMPLE.is_simulated(item["study"], item.get("engine", "")):
            assert (item.get("engine", ""), item["setting"][0]) in sampled
    assert {SAMPLE.origin_of(run) for run in data["digests"].values()} <= data["studies"].keys()
    assert all(SAMPLE.is_simulated(run["study"], run.get("engine", "")) for run in data["digests"].values())


def run(configuration: str, value: str, events: int, **other: Any) -> dict[str, Any]:
    """Return a run of a sample."""
    return {"study": "a/b", "variant": "", "setting": [configuration, value], "seed": 1, "events": events, **other}


def test_a_sample_has_each_configuration_and_other_names_while_there_is_room() -> None:
    all_events = SAMPLE.EVENTS
    runs = [
        run("quic", "wired", 600_000),
        run("quic", "satellite", 700_000),
        run("quic", "satellite", 800_000, variant="hystart"),
        run("quic", "wired", 900_000, variant="hystart"),
        run("tcp", "wired", all_events),
        run("quic", "radio", all_events + 1),
    ]

    def sample(runs: list[dict[str, Any]], kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a sample in the order of its events."""
        return sorted(SAMPLE.chosen(runs, kept).values(), key=lambda item: int(item["events"]))

    assert sample(runs, []) == sample(runs[::-1], []) == [*runs[:3], runs[4]]
    # what is kept counts, and its configurations are covered
    assert sample(runs[:1], runs[1:2]) == runs[:2]
    full = run("tcp", "radio", all_events)
    assert sample(runs[3:5], [full]) == [runs[3], full]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of three settings of a study."""
    out = tmp_path_factory.mktemp("results")
    study = find(STUDY)
    directory = results_directory(study, out)
    plan = Plan(study, list(study.points((ENGINE,), 1, variants=()))[:SETTINGS])
    outcome = execute(Runs.of(plan), Store(directory), plan.executor())
    assert outcome.done == SETTINGS
    write_manifest(study, directory, 1, partial=True, variants=())
    return out


@pytest.fixture
def data(results: Path) -> dict[str, Any]:
    """Values of a page that reads the three settings."""
    values = VALUES.Values({}, results)
    for key in Evaluation(find(STUDY), results).samples(ENGINE):
        values.value(STUDY, "", "", key)
    found: dict[str, Any] = json.loads(PAGE.written(values.document))
    return found


def test_the_digests_of_results_are_those_of_their_runs(data: dict[str, Any]) -> None:
    assert len(data["digests"]) == SETTINGS
    assert data["studies"][STUDY]["events"] == sum(run["events"] for run in data["digests"].values())
    found = SAMPLE.repeat("page_load", data, workers=1)
    assert (found.runs, found.different) == (SETTINGS, {})
    assert SAMPLE.problems("page_load", data, found) == []
    assert SAMPLE.earlier(data) == []
    assert PAGE.banner("page_load", data) == ""


def test_runs_with_other_digests_are_named_unless_the_page_says_so(data: dict[str, Any]) -> None:
    name, first = next(iter(data["digests"].items()))
    other = data | {"digests": data["digests"] | {name: first | {"digest": "0" * 32}}}
    found = SAMPLE.repeat("page_load", other, workers=1)
    assert found.different == {STUDY: [f"{name}: expected digest {'0' * 32}, got {first['digest']}"]}
    message = "\n".join(SAMPLE.problems("page_load", other, found))
    assert name in message
    assert "make page_load-page" in message
    noted = other | {"earlier": [STUDY]}
    assert (PAGE.banner("page_load", other), STUDY in PAGE.banner("page_load", noted)) == ("", True)
    assert SAMPLE.problems("page_load", noted, found) == []
    assert SAMPLE.earlier(noted) == [STUDY]
    same = SAMPLE.repeat("page_load", data, workers=1)
    assert SAMPLE.problems("page_load", data | {"earlier": [STUDY]}, same)
    assert not SAMPLE.problems("page_load", data | {"earlier": [STUDY]}, same, whole=False)


def test_a_setting_that_is_gone_is_a_difference(data: dict[str, Any]) -> None:
    name, first = next(iter(data["digests"].items()))
    for gone in (first | {"setting": ["gone", *first["setting"][1:]]}, first | {"variant": "gone"}):
        found = SAMPLE.repeat("page_load", data | {"digests": {name: gone}}, workers=1)
        assert (found.runs, list(found.different)) == (0, [STUDY])


def test_a_page_without_a_sample_has_values_of_an_earlier_version() -> None:
    data: dict[str, Any] = {
        "studies": {STUDY: {}, "validation/lanes, engine kernel-virtual": {}, "validation/lanes": {}}
    }
    assert SAMPLE.earlier(data) == [STUDY, "validation/lanes"]
    assert SAMPLE.problems("lanes", data, SAMPLE.Repeated(0, {}, 0.0)) == []
    assert PAGE.banner("lanes", data) != ""


def test_a_claim_that_came_after_the_values_is_not_tested_until_they_are_made_again() -> None:
    values: dict[str, Any] = {"studies": {"tunnel/four": {}}, "claims": {"TN01": {"verdict": "confirmed"}}}
    older = VALUES.Values(values, None)
    assert older.claim("tunnel/four", "TN01")["verdict"] == "confirmed"
    assert older.claim("tunnel/four", "TN02")["verdict"] == "not_tested"
    current = values | {"digests": {"a run": run("fq", "homo", 1)}}
    with pytest.raises(QuiclabError, match="TN02 is not stored"):
        VALUES.Values(current, None).claim("tunnel/four", "TN02")


@pytest.mark.parametrize("kept", [True, False])
def test_results_leave_no_values_of_runs_with_other_digests_beside_them(
    kept: bool, results: Path, data: dict[str, Any]
) -> None:
    """A setting that was not run again has the stored value if other runs of the study are what they were."""
    first = next(iter(Evaluation(find(STUDY), results).samples(ENGINE)))
    name = f"{STUDY}: plt_ms of {', '.join(map(str, first))}, variant another"
    stored = data | {"values": data["values"] | {name: {"mean": 21.0}}}
    if not kept:
        stored["digests"] = {key: row | {"digest": "0" * 32} for key, row in data["digests"].items()}
    values = VALUES.Values(stored, results)
    if kept:
        assert values.value(STUDY, "another", "plt_ms", first)["mean"] == 21.0
    else:
        with pytest.raises(QuiclabError, match="is not stored; run the study"):
            values.value(STUDY, "another", "plt_ms", first)


def test_results_of_one_study_keep_the_sample_of_another(results: Path, data: dict[str, Any]) -> None:
    """Values of a study without results stay, and with them its runs of the sample."""
    other = run("quic", "wired", 1, study="page_load/sizes", digest="1" * 32)
    stored = data | {"digests": {SAMPLE.name_of(other): other}, "earlier": ["page_load/sizes"]}
    stored["studies"] = data["studies"] | {"page_load/sizes": {"runs": 1, "seed": 1}}
    values = VALUES.Values(stored, results)
    for key in Evaluation(find(STUDY), results).samples(ENGINE):
        values.value(STUDY, "", "", key)
    values.used["studies"]["page_load/sizes"] = stored["studies"]["page_load/sizes"]
    document = values.document
    assert document["earlier"] == ["page_load/sizes"]
    assert set(document["digests"]) == {SAMPLE.name_of(other), *data["digests"]}
