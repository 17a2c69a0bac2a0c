"""The page-load study on a small sample: what follows from its mechanisms, and that the tables are near."""

from __future__ import annotations

import csv
import json
import math
from statistics import fmean

import pytest

import quiclab
from conftest import ROOT
from measure_browser_reads import ASKED, READ, lateness
from quiclab.errors import QuiclabError
from quiclab.scenario import Scenario, load
from quiclab.scenario.quantity import milliseconds
from quiclab.study import Study
from quiclab.study.plan import Plan
from quiclab.study.published import read_published
from quiclab.study.registry import find
from quiclab_studies.page_load.common import BROWSER_TIMES, CLIENT, REFERENCE

SIZES, COUNTS = "page_load/sizes", "page_load/counts"


def load_times(name: str, runs: int = 2, variant: str = "", **where: str) -> dict[tuple[object, ...], float]:
    """Return the mean page load time [ms] of the settings that are chosen."""
    study = find(name)
    only = {key: (value,) for key, value in where.items()} | ({"variant": (variant,)} if variant else {})
    points = list(study.points(("lab-quic",), runs, only, (variant,) if variant else ()))
    found: dict[tuple[object, ...], list[float]] = {}
    for job in Plan(study, points).first_runs():
        scenario = Scenario.from_dict(json.loads(job.scenario))
        for seed in range(job.seed, job.seed + job.point.runs):
            result = quiclab.run(scenario, seed, base_dir=ROOT / "scenarios")
            found.setdefault(job.point.key, []).append(study.measures.metric.value(result, {}))
    return {key: fmean(values) for key, values in found.items()}


def published(study: Study) -> dict[tuple[object, ...], float]:
    return {row.key: row.summary.mean for row in read_published(study)}


@pytest.mark.parametrize("stack", ["quic1", "tcp"])
@pytest.mark.parametrize("network", ["base", "lat"])
def test_pages_without_loss_take_as_long_as_published(stack: str, network: str) -> None:
    measured = load_times(SIZES, configuration=stack, network=network, rate="50")
    tables = published(find(SIZES))
    assert len(measured) == 7
    for key, value in measured.items():
        assert value == pytest.approx(tables[key], rel=0.035), key


def test_round_trips_are_those_of_the_handshakes() -> None:
    """HTML and image are two; TCP and TLS add two, QUIC in 1-RTT one. Two means differ by 2 ms, 0.03 of 76."""
    for stack, round_trips in (("quic1", 2), ("quic1_1rtt", 3), ("gquic37", 2), ("tcp", 4), ("tcp_replicated", 4)):
        times = load_times(SIZES, configuration=stack, rate="100", size="5")
        near, far = (times[stack, network, 100, 5] for network in ("base", "lat"))
        assert (far - near) / 76 == pytest.approx(round_trips, abs=0.12), stack


def test_jitter_leaves_the_mean_of_a_small_page_as_it_is() -> None:
    """Delays hold for longer than a page's packets are on the way: 2 round trips with a deviation of 20 ms each."""
    times = load_times(SIZES, runs=40, configuration="quic1", rate="50", size="5")
    error = 20.4 * math.sqrt(2 / 40)
    assert abs(times["quic1", "jit", 50, 5] - times["quic1", "lat", 50, 5]) < 4 * error


def test_only_what_the_browser_computes_makes_many_images_slow() -> None:
    """Quiche gives a stream back when its FIN has left: 200 objects wait for no round trip."""
    free = load_times(COUNTS, variant="browser_in_no_time", configuration="quic1", network="base", rate="100")
    one, many = (free["quic1", "base", 100, page] for page in ("1000x1", "5x200"))
    assert abs(many - one) < 18
    busy = load_times(COUNTS, configuration="quic1", network="base", rate="100")
    assert busy["quic1", "base", 100, "5x200"] > many + 80
    # a single image is issued, prepared and handled once
    page = load(ROOT / "scenarios" / "page_load.toml").to_dict()["flows"]["page"]["workload"]
    once = sum(milliseconds(page[name]) for name in BROWSER_TIMES)
    assert busy["quic1", "base", 100, "1000x1"] == pytest.approx(one + once, rel=0.01)


@pytest.mark.parametrize("stack", ["quic1", "tcp"])
def test_pages_of_several_images_take_as_long_as_published(stack: str) -> None:
    """200 images over QUIC are the farthest: the deviation of twenty published loads is 6 % there."""
    tables = published(find(COUNTS))
    measured = load_times(COUNTS, configuration=stack, network="base")
    assert len(measured) == 18
    for key, value in measured.items():
        assert value == pytest.approx(tables[key], rel=0.1), key


def test_a_hundred_images_end_slow_start_over_quic_since_acknowledgements_are_late() -> None:
    """So they take longer than over TCP, which is two round trips behind; not so without the browser's times."""
    for variant, sign in (("", 1), ("browser_in_no_time", -1)):
        quic, tcp = (
            load_times(COUNTS, variant=variant, configuration=stack, network="base", rate="100", page="10x100")
            for stack in ("quic1", "tcp")
        )
        assert sign * (quic["quic1", "base", 100, "10x100"] - tcp["tcp", "base", 100, "10x100"]) > 72


def test_the_times_of_the_browser_are_those_measured() -> None:
    page = load(ROOT / "scenarios" / "page_load.toml").to_dict()["flows"]["page"]["workload"]
    file = ROOT / "studies/quiclab_studies" / REFERENCE / "browser_objects.csv"
    with file.open() as rows:
        measured = next(row for row in csv.DictReader(rows) if (row["protocol"], row["object_count"]) == ("h2", "200"))
    for name, column in BROWSER_TIMES.items():
        assert milliseconds(page[name]) == pytest.approx(CLIENT * float(measured[column]), abs=0.005), name


def test_servers_take_a_fraction_of_the_time_of_the_browser() -> None:
    """So the model has no cost of an object in servers (decision 0128)."""
    folder = ROOT / "studies/quiclab_studies" / REFERENCE
    with (folder / "browser_objects.csv").open() as rows:
        browser = min(1000 * float(row["object_ms"]) for row in csv.DictReader(rows))
    with (folder / "server_objects.csv").open() as rows:
        servers = {(row["server"], row["object_size_kb"]): float(row["object_us"]) for row in csv.DictReader(rows)}
    assert servers.keys() == {(name, size) for name in ("nginx", "apache") for size in ("5", "10")}
    assert 0 < max(servers.values()) < browser / 8


def test_a_browser_reads_late_more_often_with_the_short_round_trip() -> None:
    """As loads of the testbed leave slow start early: nearly all with 36 ms, a part with 112 ms."""
    with (ROOT / "studies/quiclab_studies" / REFERENCE / "browser_reads.csv").open() as rows:
        measured = {int(row["rtt_ms"]): row for row in csv.DictReader(rows)}
    assert all(float(row["turns"]) > 0 for row in measured.values())
    assert float(measured[36]["late_percent"]) > 50 > float(measured[112]["late_percent"])


def test_lateness_of_reads_from_a_net_log() -> None:
    """The second packet arrives while requests are prepared, at 5, and is read at 9; the third after them, at 21."""
    address = {"self_address": "10.2.0.0:4000"}
    reads = [(time, READ, {**address, "size": 1200 + time}) for time in (1, 9, 22)]
    events: list[tuple[float, str, dict[str, object]]] = [(time, ASKED, {}) for time in (0, 4, 8, 20)]
    events = sorted([*events, *reads], key=lambda event: event[0])
    arrivals = [[1000, 4000, 1201], [2000, 4001, 1300], [5000, 4000, 1209], [21000, 4000, 1222]]
    assert lateness(events, arrivals) == {"during": [4], "after": [1], "turns": 1}
    with pytest.raises(QuiclabError, match="not those that arrived"):
        lateness(events, arrivals[2:])


def test_settings_have_seeds_of_their_own_that_variants_share() -> None:
    study = find(SIZES)
    only = {"network": ("loss",), "rate": ("10",), "size": ("5", "10"), "configuration": ("quic1", "tcp")}
    points = list(study.points(("lab-quic",), 1, only, ("loss_of_data",)))
    seeds = {
        (point.variant, point.configuration, point.values["object_size_kb"]): study.design.first_seed(point)
        for point in points
    }
    assert len({seed for (variant, *_), seed in seeds.items() if not variant}) == 4
    assert all(seeds["", *setting] == seeds["loss_of_data", *setting] for setting in (("quic1", 5), ("tcp", 10)))
    assert study.series_key(("tcp", "loss", 10, 5)) == ("tcp", "loss", 10)


@pytest.mark.parametrize("name", [SIZES, COUNTS, "page_load/hystart", "page_load/loss_window", "page_load/reordering"])
def test_every_setting_has_the_columns_of_the_tables(name: str) -> None:
    study = find(name)
    describe = study.presentation.describe
    assert describe is not None
    for point in study.points(("lab-quic",), 1, {}, ()):
        flow = {"stack": "lab-quic", "sender": {"profile": "chromium-quic1", "congestion_control": "cubic"}}
        columns = describe({"flows": {"page": flow}}, point.labels)
        assert {"stack", "cc", "rtt_ms", "jitter_ms", "loss_percent", "object_size_kb", "object_count"} <= set(columns)
