"""Pages of docs/studies are what their templates give with the stored values, and the values are those of runs."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from conftest import tool
from quiclab.errors import QuiclabError
from quiclab.study.plan import available_engines
from quiclab.study.recording import result_of
from quiclab.study.registry import find
from quiclab.study.trial import measured

TERMS, PAGE, SAMPLE = (tool(name) for name in ("page_terms", "study_pages", "page_sample"))
NAMES = PAGE.made()
#: Values of each page that are run again; a transfer of minutes takes seconds.
REPEATED = 4


def test_there_are_pages() -> None:
    assert {"tunnel"} <= set(NAMES)


@pytest.mark.parametrize("name", PAGE.pages())
def test_templates_read_settings_and_variants_that_there_are(name: str) -> None:
    asked = PAGE.Asked()
    assert PAGE.rendered(name, asked)
    for (study, variant), settings in asked.needed.items():
        design = find(study).design
        assert variant in {"", *(item.name for item in design.variants)}, f"{study} has no variant {variant}"
        points = list(find(study).points((design.default_engine,), 1, variants=()))
        known = {(point.configuration, tuple(point.values[one.column] for one in design.swept)) for point in points}
        assert {setting[1:] for setting in settings} <= known, study


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_what_its_template_gives_with_the_stored_values(name: str) -> None:
    written = (PAGE.PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert PAGE.rendered(name, PAGE.Values(PAGE.stored(name), None)) == written, (
        f"docs/studies/{name}.md is not up to date; write it with `python tools/study_pages.py {name}`"
    )


@pytest.mark.parametrize("name", NAMES)
def test_all_stored_values_are_used_and_say_where_they_come_from(name: str) -> None:
    data = PAGE.stored(name)
    values = PAGE.Values(data, None)
    PAGE.rendered(name, values)
    assert PAGE.written({**values.document, "quiclab": data["quiclab"]}) == PAGE.written(data)
    settings, samples = (list(data.get(part, {}).values()) for part in ("values", "samples"))
    assert settings or samples
    for item in [*settings, *samples]:
        source = data["studies"][item["study"] + SAMPLE.of_engine(item.get("engine", ""))]
        assert source["versions"]
        assert find(item["study"]).measures.metric_of(item["metric"]).name == item["metric"]
    assert all(item["runs"] >= 1 for item in settings)
    for item in samples:
        width = len(find(item["study"]).design.columns) + len(item["seeds"])
        assert {len(row) for row in item["rows"]} == {width}
        assert item["seeds"][0] == data["studies"][item["study"] + SAMPLE.of_engine(item.get("engine", ""))]["seed"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_some_of_the_values_are_those_of_runs(name: str) -> None:
    """The first run of a few settings is made again: its value is the stored one to ten digits."""
    data = PAGE.stored(name)
    if SAMPLE.earlier(data):  # the page says so
        assert "Values of an earlier version" in (PAGE.PAGES / f"{name}.md").read_text(encoding="utf-8")
        return
    runs = first_runs(data)
    chosen = sorted(runs, key=lambda key: hashlib.sha256(key.encode()).digest())
    done = 0
    for item in (runs[key] for key in chosen):
        study = find(item["study"])
        engine = item.get("engine") or study.design.default_engine
        if available_engines(study, [engine])[1] or study.design.engine(engine).lane is not None:
            continue
        plan = SAMPLE.plan_of(item, data["studies"][SAMPLE.origin_of(item)]["seed"])
        (recipe, sets), scenario, seed = plan.setting(0), plan.scenario(0), int(plan.first_seeds[0])
        assert seed == item["seed"]
        result = recipe.run(sets, scenario, seed)
        assert not isinstance(result, str), result
        stored = result_of(*recipe.recording.row(result))
        value = measured(study, item["metric"], plan.points[0].labels, seed, stored)
        first = math.nan if item["first"] is None else item["first"]
        assert value == pytest.approx(first, rel=1e-9, nan_ok=True), f"{item}: {recipe.replay(sets, scenario, seed)}"
        done += 1
        if done == REPEATED:
            break
    assert done


def first_runs(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings of the values of a page, each with its first run."""
    found = dict(data.get("values", {}))
    for name, item in data.get("samples", {}).items():
        width = len(find(item["study"]).design.columns)
        for row in item["rows"]:
            first = {"setting": row[:width], "variant": "", "seed": item["seeds"][0], "first": row[width]}
            found[f"{name} of {row[:width]}"] = item | first
    return found


def test_a_value_that_is_not_stored_names_the_command() -> None:
    names = TERMS.names_of("tunnel", PAGE.Values({}, None))
    with pytest.raises(QuiclabError, match=r"tunnel/four: rtt_ms of fq, homo, rr is not stored; .*study_pages"):
        names["rtt_ms"]("tcp4", "homo", "rr", "fq")
    with pytest.raises(QuiclabError, match="TN01 is not stored"):
        names["verdict"]("TN01")


def test_placeholders_read_values_variants_and_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: dict[str, dict[str, Any]] = {
        "studies": {name: {"runs": 7} for name in ("tunnel/four", "tunnel/bottleneck", "tunnel/window")},
        "values": {
            "tunnel/four: rtt_ms of fq, homo, rr": {"mean": 25.25, "std": 0.5, "median": 25.0, "runs": 7},
            "tunnel/four: rtt_ms of fq, homo, rr, variant at_once": {"mean": 20.0, "std": None, "runs": 7},
        },
        "claims": {"TN14": {"verdict": "at_the_limit", "on_published": None}},
    }
    (tmp_path / "templates").mkdir()
    monkeypatch.setattr(PAGE, "PAGES", tmp_path)
    template = (
        "{{ rtt_ms('tcp4', 'homo', 'rr', 'fq') | figures(1) }} {{ of('four', 'rtt_ms', 'std')('fq', net='homo', "
        "sched='rr') | figures(2) }} {{ under('at_once').rtt_ms('tcp4', 'homo', 'rr', 'fq') | figures(0) }} "
        "{{ verdict('TN14') }} {{ runs('four') }}"
    )
    (tmp_path / "templates" / "tunnel.md.j2").write_text(template, encoding="utf-8")
    values = PAGE.Values(stored, None)
    assert PAGE.rendered("tunnel", values).splitlines()[-1] == "25.2 0.50 20 at the limit 7"
    assert set(values.document["values"]) == set(stored["values"])
    asked = PAGE.Asked()
    PAGE.rendered("tunnel", asked)
    assert asked.needed == {
        ("tunnel/four", ""): {("lab-quic", "fq", ("homo", "rr"))},
        ("tunnel/four", "at_once"): {("lab-quic", "fq", ("homo", "rr"))},
    }
    assert json.loads(PAGE.written(values.document))["values"] == values.document["values"]
    assert math.isnan(TERMS.PageFindings(values, "at_once").value("tunnel/four", "rtt_ms", "std", ("fq", "homo", "rr")))


def test_placeholders_read_engines_criteria_and_published_values(monkeypatch: pytest.MonkeyPatch) -> None:
    # every run of the model has 21 Mbit/s, every one of the kernel 20; the engine is asked for last
    monkeypatch.setattr(
        PAGE.Values, "value", lambda _, *asked: {"mean": 20.0 if asked[-1] else 21.0, "std": None, "runs": 1}
    )
    names = TERMS.names_of("validation", PAGE.Values({}, None))
    assert names["of"]("lanes", "", "mean", "", "kernel-virtual")("reno", path="20mbit_40ms_q1") == 20
    # VL-1: eight paths without loss, at most 15 % each and 5 % in the mean
    found = names["criterion"]("VL-1", "", ("reno",))
    assert [line.difference for line in found.lines] == pytest.approx([0.05] * 8)
    assert TERMS.largest(found.lines).key[0] == "reno"
    # bulk.csv: three runs of CUBIC at 20 Mbit/s, 20 ms and 30 packets; its criterion compares with them
    published = names["published"]("linux_tcp/bulk")("cubic", path="20mbit_20ms_q30")
    assert 19 < published < 19.2
    line = next(one for one in names["criterion"]("LT-B1").lines if one.key == ("cubic", "20mbit_20ms_q30"))
    assert line.difference == pytest.approx(21 / published - 1, rel=1e-5)


def test_values_of_another_engine_have_their_own_source() -> None:
    name = "validation/lanes: goodput_mbps of reno, 20mbit_40ms_q1, engine kernel-virtual"
    stored = {
        "studies": {"validation/lanes, engine kernel-virtual": {"runs": 1}, "validation/lanes": {"runs": 3}},
        "values": {name: {"mean": 18.5, "runs": 1}},
    }
    values = PAGE.Values(stored, None)
    read = TERMS.names_of("validation", values)["of"]("lanes", "", "mean", "", "kernel-virtual")
    assert read("reno", path="20mbit_40ms_q1") == 18.5
    assert values.document["studies"] == {"validation/lanes, engine kernel-virtual": {"runs": 1}}
