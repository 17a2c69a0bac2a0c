"""The study of queue disciplines: its cells, and what it measures of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

from conftest import quiclab_process
from quiclab.errors import RequestError
from quiclab.lane.run import Lane
from quiclab.study.evaluate import Evaluation
from quiclab.study.plan import Plan
from quiclab.study.registry import find
from quiclab_studies.validation import aqm
from quiclab_studies.validation.aqm_cells import BY_NAME, CELLS, NETWORKS, SECONDS
from quiclab_studies.validation.blind import MODEL
from quiclab_studies.validation.stored.sojourns import sojourns

if TYPE_CHECKING:
    from pathlib import Path

    from quiclab.study import Changes


def test_each_queue_has_its_sets_of_flows_over_each_network() -> None:
    assert len(CELLS) == len(BY_NAME) == 80
    assert {(cell.rate_mbps, cell.rtt_ms) for cell in CELLS} == set(NETWORKS)
    assert {cell.rate_mbps for cell in CELLS} == set(SECONDS)
    described = {cell.description for cell in CELLS}
    assert len(described) == 80
    assert "dualpi2, 10 Mbit/s, 20 ms; cubic, dctcp" in described
    assert "pie, 4 Mbit/s, 40 ms; newreno with ECN, cubic with ECN, newreno with ECN, cubic with ECN" in described


def test_the_reference_is_the_kernel_with_queues_of_its_own() -> None:
    study = find("validation/aqm")
    lanes = {engine.name: engine.lane for engine in study.design.engines}
    assert lanes == {
        MODEL: None,
        aqm.KERNEL: Lane(clock="virtual", emulation="netem"),
    }
    jobs = Plan(study, list(study.points((MODEL, aqm.KERNEL), 1, variants=()))).first_runs()
    assert len(jobs) == 160
    programs = {job.point.labels["engine"]: '"stack":"linux"' in job.scenario.replace(" ", "") for job in jobs}
    assert programs == {MODEL: False, aqm.KERNEL: True}


def test_later_starts_are_for_the_kernel_too() -> None:
    study = find("validation/aqm")
    points = study.points((MODEL, aqm.KERNEL), 1, variants=("start_200us", "serialised"))
    assert {(point.engine, point.variant) for point in points} == {
        (MODEL, ""),
        (aqm.KERNEL, ""),
        (MODEL, "start_200us"),
        (aqm.KERNEL, "start_200us"),
        (MODEL, "serialised"),
    }
    study.check_variants(("start_200us", "serialised"), (MODEL,))
    study.check_variants(("start_200us",), (aqm.KERNEL,))
    message = "variant serialised of validation/aqm is run with lab-tcp, not with kernel-queues"
    with pytest.raises(RequestError, match=message):
        study.check_variants(("start_200us", "serialised"), (aqm.KERNEL,))


def test_the_kernel_is_asked_for_a_jiffy_less() -> None:
    study = find("validation/aqm")
    cells = ("pie_4mbit_40ms_drops", "fq_pie_10mbit_20ms_marks", "codel_4mbit_40ms_drops")
    points = study.points((MODEL, aqm.KERNEL), 1, {"cell": cells}, variants=())
    found = {
        (point.engine, str(point.values["cell"])): links_of(point.changes)["bottleneck"]["queue"] for point in points
    }
    for cell in cells[:2]:
        asked, model = found[aqm.KERNEL, cell], found[MODEL, cell]
        assert (model["update_interval"], asked["update_interval"]) == ("16 ms", "15 ms")
        assert {**asked, "update_interval": "16 ms"} == model
    assert found[aqm.KERNEL, cells[2]] == found[MODEL, cells[2]]


def test_the_rate_is_a_token_bucket_and_a_link_in_a_variant() -> None:
    study = find("validation/aqm")
    variant = next(variant for variant in study.design.variants if variant.name == "serialised")
    assert callable(variant.changes)
    for cell in (cell for cell in CELLS if not cell.shapes):
        bucket = {"kind": "token_bucket", "rate": f"{cell.rate_mbps:g} Mbit/s", "burst": "1614 B"}
        assert links_of(cell.changes)["bottleneck"]["rate"] == bucket
        serialised = links_of(variant.changes(cell.changes))
        assert serialised["bottleneck"].pop("rate") == f"{cell.rate_mbps:g} Mbit/s"
        assert {**serialised["bottleneck"], "rate": bucket} == links_of(cell.changes)["bottleneck"]
        assert {name: serialised[name] for name in ("far", "back")} == {
            name: links_of(cell.changes)[name] for name in ("far", "back")
        }
    # CAKE has the rate itself, in the kernel, too
    assert all(variant.changes(cell.changes) == cell.changes for cell in CELLS if cell.shapes)


def links_of(changes: Changes) -> dict[str, dict[str, Any]]:
    return cast("dict[str, dict[str, Any]]", changes["links"])


def packets(rows: list[tuple[int, str, str, str, int]]) -> Any:
    columns = ["time_ns", "element", "event", "flow", "packet_id"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return SimpleNamespace(packets=frame.with_columns(pl.col("element", "event", "flow").cast(pl.Categorical)))


def test_sojourn_times_are_those_of_packets_that_arrive_after_five_seconds(tmp_path: Path) -> None:
    run = packets(
        [
            (4_999_000_000, "bottleneck", "arrival", "flow1", 1),  # too early
            (5_001_000_000, "bottleneck", "arrival", "flow1", 2),
            (5_002_000_000, "bottleneck", "arrival", "flow2", 3),
            (5_003_000_000, "bottleneck", "arrival", "flow2", 4),  # dropped
            (5_004_000_000, "far", "arrival", "flow2", 3),
            (5_004_000_000, "bottleneck", "departure", "flow1", 1),
            (5_005_000_000, "bottleneck", "departure", "flow1", 2),
            (5_012_000_000, "bottleneck", "departure", "flow2", 3),
        ]
    )
    assert sojourns(run, tmp_path) == {"mean_ms": 7.0, "flow2_p99_ms": 10.0}
    assert sojourns(packets([]), tmp_path) == {"mean_ms": None, "flow2_p99_ms": None}


def test_a_cell_runs_in_the_sim_lane(tmp_path: Path) -> None:
    cell = "dualpi2_4mbit_40ms_pair"
    options = ["study", "run", "validation/aqm", "--runs", "1", "--only", f"cell={cell}", "--only", "engine=lab-tcp"]
    done = quiclab_process(*options, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    evaluation = Evaluation(find("validation/aqm"), tmp_path)
    found = {metric.name: evaluation.samples(MODEL, metric=metric.name)["tcp", cell] for metric in aqm.METRICS}
    [goodput], [sojourn], [marks], [drops] = (found[name] for name in ("goodput_mbps", "sojourn_ms", "marks", "drops"))
    # 1448 of 1514 bytes, of 4 Mbit/s
    assert 3.6 < goodput < 3.83
    # the target is 15 ms, and a packet takes 3 ms
    assert 10 < sojourn < 25
    assert marks > 500 > drops > 10
    assert found["signals"] == pytest.approx([marks + drops])
