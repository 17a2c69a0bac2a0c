"""Claims of the page-load study: the vocabulary, the published tables, and predicates on numbers made by hand."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
import yaml

from conftest import ROOT
from quiclab.result.stats import Array, Statistic
from quiclab.study.claims import Claim, Verdict, judge
from quiclab.study.findings import Grid, Key, NotMeasuredError, Resamples, Sample
from quiclab.study.printed import Printed
from quiclab_studies.page_load.claims import MEASURED as TOLD
from quiclab_studies.page_load.claims import PLACES, REFERENCE, Names, flow_of, flows_of
from quiclab_studies.reductions import jain

DIRECTORY = ROOT / "studies/quiclab_studies/page_load/reference"
NETS = ("base", "loss", "lat", "jit")
PAGES = ("1000x1", "500x2", "200x5", "100x10", "10x100", "5x200")
RATES, SIZES = (10, 50, 100), (5, 10, 100, 200, 500, 1000, 10000)
STACKS = ("quic1", "tcp", "gquic37", "tcp_replicated", "quic1_1rtt", "quic1_n1", "quic1_bbr", "tcp_bbr")
FACTORS: Mapping[str, Mapping[str, tuple[str | int | float, ...]]] = {
    "sizes": {"network": NETS, "rate": RATES, "size": SIZES},
    "counts": {"network": NETS, "rate": RATES, "page": PAGES},
    "fairness": {"flow": (1, 2, 3, 4, 5)},
    "hystart": {"page": ("100x10", "10x100")},
    "loss_window": {},
    "reordering": {},
}
SCENARIOS = {
    "quic_vs_quic": "Q2+Q2",
    "tcp_vs_tcp": "T+T",
    "quic_vs_tcp": "Q2+T",
    "quic_vs_tcp_x2": "Q2+2T",
    "quic_vs_tcp_x4": "Q2+4T",
    "quic_bbr_vs_tcp_bbr": "Qbbr+Tbbr",
    "quic_cubic_vs_tcp_bbr": "Q2+Tbbr",
}
CLAIMS = {claim.identity: (home, claim) for home in PLACES for claim in REFERENCE.claims(home)}


def rows(name: str) -> list[dict[str, str]]:
    with (DIRECTORY / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def published(home: str) -> Printed:
    """Return the published tables of page load times and of fairness, as the claims of a study read them."""
    means: dict[str, dict[Key, float]] = {"sizes": {}, "fairness": {}}
    deviations: dict[Key, float] = {}
    counts: dict[Key, int] = {}
    for number, net in zip((1, 3, 5, 7), NETS, strict=True):
        for row in rows(f"table_b0{number}_plt.csv"):
            key = (row["stack"], net, int(row["bandwidth_mbps"]), int(row["object_size_kb"]))
            means["sizes"][key] = float(row["plt_ms_mean"])
            deviations[key], counts[key] = float(row["plt_ms_std"]), int(row["n_runs"])
    flows: dict[str, int] = {}
    for row in [*rows("table_4_1_fairness_cubic.csv"), *rows("table_4_2_fairness_bbr.csv")]:
        name = SCENARIOS[row["scenario"]]
        flows[name] = flows.get(name, 0) + 1
        means["fairness"][name, flows[name]] = float(row["throughput_mbps_mean"])

    def grid(study: str, metric: str) -> Grid:
        name = study.removeprefix("page_load/") or home
        runs = {key: [value] for key, value in means.get(name, {}).items()} if not metric else {}
        return Grid(FACTORS[name], STACKS, runs)

    return Printed(grid, lambda study, metric: deviations, lambda study, metric: counts)  # noqa: ARG005


HOLDS = {"PL01", "PL02", "PL04", "PL05", "PL25", "PL34", "PL55"}
FAILS = {"PL08", "PL58"}


@pytest.mark.parametrize("identity", sorted(CLAIMS))
def test_predicates_on_the_published_tables(identity: str) -> None:
    home, claim = CLAIMS[identity]
    nothing = Resamples(lambda study, metric: Grid({}, (), {}), 10)  # noqa: ARG005
    outcome = judge(claim, nothing, published(home))
    assert outcome.verdict is Verdict.NOT_TESTED
    expected = True if identity in HOLDS else False if identity in FAILS else None
    assert outcome.on_published is expected


def test_each_finding_of_the_reference_belongs_to_one_study() -> None:
    entries = yaml.safe_load((DIRECTORY / "claims.yaml").read_text(encoding="utf-8"))
    placed = [identity for identities in PLACES.values() for identity in identities]
    assert sorted(placed) == sorted(entry["id"] for entry in entries)
    for entry in entries:
        _, claim = CLAIMS[entry["id"]]
        assert claim.source == " ".join(entry["source"].split())
        assert claim.statement == " ".join(entry["statement"].split())
        assert set(REFERENCE.entries[entry["id"]]) >= {"id", "source", "statement", "check"}


Values: TypeAlias = Mapping[tuple[str, str], Mapping[Any, float]]
"""Study and metric -> setting -> mean."""


class Made:
    """Findings of a function from study, metric, configuration and point to a mean."""

    def __init__(self, home: str, values: Values, std: float = 1.0) -> None:
        self.home, self.values, self.std, self.index = home, values, std, 0
        self.asked: set[tuple[str, str]] = set()

    def grid(self, study: str, metric: str) -> Grid:
        del metric
        return Grid(FACTORS[study.removeprefix("page_load/") or self.home], STACKS, {})

    def value(self, study: str, metric: str, statistic: Statistic, key: Key) -> float:
        if statistic == "std":
            return self.std
        name = study.removeprefix("page_load/") or self.home
        self.asked.add((name, metric))
        return self.values.get((name, metric), {}).get(key, 1.0)

    def series(self, study: str, metric: str, statistic: Statistic, key: Key) -> Array:
        return np.array([self.value(study, metric, statistic, key)])

    def count(self, study: str, metric: str, key: Key) -> int:
        del study, metric, key
        return 20


@pytest.mark.parametrize("identity", sorted(CLAIMS))
def test_every_name_of_every_predicate_means_something(identity: str) -> None:
    home, claim = CLAIMS[identity]
    assert claim.check is not None
    assert claim.numbers is not None
    for filler in ({}, {("sizes", ""): dict.fromkeys([("quic1", "base", 10, 5)], 2.0)}):
        sample = claim.sample(Made(home, filler))
        claim.check(sample)
        assert claim.numbers(sample), identity
    # a number is there for each function that tells
    assert all(name.split("(")[0] in TOLD for name in claim.numbers(claim.sample(Made(home, {}))))


def holds(identity: str, values: Values, std: float = 1.0) -> bool:
    home, claim = CLAIMS[identity]
    assert claim.check is not None
    return claim.check(claim.sample(Made(home, values, std)))


def many(study: str, metric: str, pairs: Mapping[Any, float]) -> Values:
    return {(study, metric): pairs}


def test_gquic_is_compared_with_the_tcp_of_its_time() -> None:
    made: Values = {
        ("counts", ""): {
            (stack, "base", rate, "10x100"): value
            for rate in (50, 100)
            for stack, value in {"quic1": 200.0, "tcp": 150.0, "gquic37": 300.0, "tcp_replicated": 250.0}.items()
        }
    }
    assert holds("PL13", made)
    # TCP of the other setup is slower than gQUIC: that must not matter
    slower = {("counts", ""): {**made["counts", ""], ("tcp_replicated", "base", 50, "10x100"): 310.0}}
    assert not holds("PL13", slower)
    # 50 ms and 20 runs: t = 50 / sqrt(2 * 100^2 / 20) = 1.6, not significant
    assert not holds("PL13", made, std=100.0)


def test_differences_without_scatter_have_no_verdict() -> None:
    made = {("counts", ""): {("quic1", "base", 50, "10x100"): 2.0}}
    with pytest.raises(NotMeasuredError, match="no p-value"):
        holds("PL13", made, std=0.0)


def test_one_megabyte_in_one_object_is_that_of_the_counts_there() -> None:
    made: Values = {
        ("counts", ""): {("quic1", "loss", 10, "1000x1"): 2.0},
        ("sizes", ""): {("quic1", "loss", 10, 1000): 4.0},
    }
    counts = Names(Sample(Made("counts", made)), "counts")
    assert counts.mean("loss", "quic1", 10, 1000) == 2.0
    assert Names(Sample(Made("sizes", made)), "sizes").mean("loss", "quic1", 10, 1000) == 4.0


def test_rates_of_flows() -> None:
    assert [flows_of(name) for name in ("Q2+Q2", "T+T", "Q2+T", "Q2+4T", "Qbbr+Tbbr")] == [2, 2, 2, 5, 2]
    assert (flow_of("quic1_bbr"), flow_of("tcp_bbr")) == (1, 2)
    assert jain([1.0, 3.0]) == pytest.approx(16 / 20)
    made = many("fairness", "", {("Q2+T", 1): 3.0, ("Q2+T", 2): 1.0})
    assert holds("PL55", made)  # three times
    # shares 0.75 of 1, 1/3 of 2/3: the formula does not hold
    assert not holds("PL58", made)
    # shares 1, 2/3, 2/5
    thirds: dict[Any, float] = {
        ("Q2+2T", 1): 4.0,
        **{("Q2+4T", flow): 1.0 if flow > 1 else 8 / 3 for flow in range(1, 6)},
    }
    assert holds("PL58", many("fairness", "", {("Q2+T", 1): 99.0, **thirds}))


def test_windows_and_traces_are_read_from_their_studies() -> None:
    window: Values = {("loss_window", "cwnd_mean_kb"): {("quic1",): 130.0, ("tcp",): 100.0}}
    assert holds("PL31", window)
    assert not holds("PL31", {("loss_window", "cwnd_mean_kb"): {("quic1",): 129.0, ("tcp",): 100.0}})
    jitter: dict[tuple[str, str], Mapping[Any, float]] = {
        ("reordering", "threshold_80s"): {("quic1",): 41.0},
        ("reordering", "lost_80_120"): {("quic1",): 4.0},
        ("reordering", "lost_0_40"): {("quic1",): 10.0},
        ("reordering", "cwnd_110_130_kb"): {("quic1",): 150.0},
        ("reordering", "cwnd_0_60_kb"): {("quic1",): 100.0},
    }
    assert holds("PL47", jitter)
    for metric, value in (("threshold_80s", 39.0), ("lost_80_120", 5.0), ("cwnd_110_130_kb", 149.0)):
        assert not holds("PL47", {**jitter, ("reordering", metric): {("quic1",): value}}), metric
    bbr: dict[tuple[str, str], Mapping[Any, float]] = {
        ("reordering", "cwnd_mean_kb"): {("quic1_bbr",): 200.0, ("quic1",): 100.0},
        ("reordering", "declared_lost"): {("quic1_bbr",): 10.0, ("quic1",): 10.0},
        ("reordering", "declared_falsely"): {("quic1_bbr",): 5.0, ("quic1",): 5.0},
    }
    assert holds("PL53", bbr)
    # a window that false losses did not meet shows nothing about them
    for stack in ("quic1", "quic1_bbr"):
        falsely = {**bbr["reordering", "declared_falsely"], (stack,): 4.0}
        assert not holds("PL53", {**bbr, ("reordering", "declared_falsely"): falsely}), stack
    static: Values = {("reordering", "seconds_with_losses"): {("gquic37",): 135.0}, ("reordering", "cwnd_p80_kb"): {}}
    assert holds("PL46", static)
    assert not holds("PL46", {**static, ("reordering", "cwnd_p80_kb"): {("gquic37",): 50.0}})


def test_the_estimate_of_tcp_is_taken_when_quic_leaves_slow_start() -> None:
    made: Values = {
        ("hystart", "hystart_exit_s"): {("quic1_n1", "10x100"): 0.24},
        ("hystart", "losses_before_exit"): {("quic1_n1", "10x100"): 0.0},
        ("hystart", "srtt_after_exit_ms"): {("quic1_n1", "10x100"): 60.0},
        # 240 + 20 ms: the next of the times is 300 ms
        ("hystart", "srtt_300_ms"): {("tcp", "10x100"): 44.9},
        ("hystart", "srtt_250_ms"): {("tcp", "10x100"): 99.0},
    }
    assert holds("PL19", made)
    assert not holds("PL19", {**made, ("hystart", "srtt_300_ms"): {("tcp", "10x100"): 45.0}})
    assert not holds("PL19", {**made, ("hystart", "losses_before_exit"): {("quic1_n1", "10x100"): 1.0}})
    # where a run does not leave it, the mean time has no value, and nobody asks for it
    never = {("hystart", "left_slow_start"): {("quic1_n1", "10x100"): 0.95}}
    assert not holds("PL19", {**made, **never, ("hystart", "hystart_exit_s"): {("quic1_n1", "10x100"): math.nan}})


def test_a_slope_of_the_handshake_leaves_out_the_round_trip_of_the_html() -> None:
    # QUIC: 0 + 1 round trips, TCP: 2 + 1 round trips and some think time
    made = many(
        "sizes",
        "html_ms",
        {
            ("quic1", "base", 100, 5): 46.0,
            ("quic1", "lat", 100, 5): 122.0,
            ("tcp", "base", 100, 5): 118.0,
            ("tcp", "lat", 100, 5): 346.0,
        },
    )
    names = Names(Sample(Made("sizes", made)), "sizes")
    assert (names.handshake_slope("quic1"), names.handshake_slope("tcp")) == (0.0, 2.0)
    assert CLAIMS["PL38"][1].by_construction


def runs_of(means: Mapping[Key, float], deviation: float) -> dict[Key, Sequence[float]]:
    """Return twenty runs a setting that scatter evenly about a mean."""
    return {key: [mean + deviation * (index - 9.5) / 9.5 for index in range(20)] for key, mean in means.items()}


def judged(claim: Claim, home: str, runs: Mapping[Key, Sequence[float]]) -> tuple[Verdict, int | None]:
    grid = Grid(FACTORS[home], STACKS, runs)
    found = judge(claim, Resamples(lambda study, metric: grid, 200), published(home))  # noqa: ARG005
    return found.verdict, found.least_runs


def test_significance_is_resampled() -> None:
    home, claim = CLAIMS["PL01"]
    means: dict[Key, float] = {
        (stack, "base", rate, size): mean
        for stack, mean in (("quic1", 100.0), ("tcp", 110.0))
        for rate in RATES
        for size in SIZES
    }
    assert judged(claim, home, runs_of(means, 2.0)) == (Verdict.CONFIRMED, 20)
    # 10 ms apart with deviations of about 60: rarely significant in any, never in all 21 cells
    assert judged(claim, home, runs_of(means, 100.0)) == (Verdict.REFUTED, 20)
    assert judged(claim, home, {key: [mean] * 20 for key, mean in means.items()})[0] is Verdict.NOT_TESTED
