"""The pacing study: its network and hosts are those described, its numbers are what their names say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conftest import ROOT
from quiclab import load, run
from quiclab.analysis.pacing.runs import extract
from quiclab.study import Study
from quiclab.study.findings import Sample
from quiclab.study.registry import find
from quiclab_studies.pacing import claims as _pacing_claims
from quiclab_studies.pacing import common as _pacing
from quiclab_studies.pacing import metrics
from quiclab_studies.pacing import tables as _pacing_tables
from quiclab_studies.pacing import variants as _variants

STUDIES = ("utilisation", "intervals", "acks")


def analysis(at_ms: list[float], counts: list[int], **further: Any) -> SimpleNamespace:
    """Return a run of which this was kept: intervals of the sender, and as many ACK intervals."""
    spacing = {"count": sum(counts), "at_ms": at_ms, "counts": counts, "quantiles_ms": {"0.01": 1.0, "0.99": 3.5}}
    data = {"intervals": spacing, "bursts": {"sizes": {"1": 3, "2": 1}}, "clusters": {"expected": [], "found": []}}
    acks = {"intervals": spacing, "packets": {"2": 90, "200": 10}, "found": []}
    return SimpleNamespace(data={"kept": {"data": {**data, **further}, "acks": acks, "period_s": None}})


def test_the_queue_is_the_rest_of_netem_after_its_delay() -> None:
    """25 ms are 31 250 B at 10 Mbit/s, 20.6 frames of 1514 B; ten times that at 100: 206."""
    queues = [_pacing.rate(rate)["links.bottleneck.queue"] for rate in (10, 100)]
    assert queues == [{"kind": "drop_tail", "packets": packets} for packets in (1000 - 21, 1000 - 206)]
    # 200 ms of 10 Mbit/s and the bucket
    assert _variants.four_bdp(_pacing.rate(10))["links.bottleneck.queue"] == {"kind": "drop_tail", "bytes": "251600 B"}


def test_the_socket_option_has_the_rate_of_the_bottleneck() -> None:
    changes = _pacing.configuration("so_max_pacing_rate").changes
    assert callable(changes)
    paced = changes(_pacing.rate(100))
    assert paced["flows.main.sender"]["pacing"]["max_rate"] == "100 Mbit/s"  # type: ignore[index]
    # 1448 of 1514 B are payload: 95.64 Mbit/s, rounded down to kbit/s
    slower = _variants.payload_rate(paced)["flows.main.sender"]
    assert slower["pacing"]["max_rate"] == "95640 kbit/s"  # type: ignore[index]


@pytest.mark.parametrize("name", [*_pacing.ENDS])
def test_each_stack_runs_past_the_tap(name: str) -> None:
    """A second of each; at most 1.25 MB a second pass a link of 10 Mbit/s."""
    changes = _pacing.configuration(name).changes
    assert callable(changes)
    short = {"duration": "1 s", "flows.main.workload": {"kind": "download", "duration": "1 s"}}
    scenario = load(ROOT / _pacing.SCENARIO).with_values(changes({**_pacing.rate(10), **short}))
    result = run(scenario, 1)
    frames = result.taps["at_sender"].filter(result.taps["at_sender"]["direction"] == "down")
    assert frames.height > 500
    assert 0 < result.flows["main"].delivered_bytes <= 1_250_000
    assert result.acks["covered"].sum() > 0


def test_every_claim_is_placed_once_and_finds_its_metrics() -> None:
    """Predicates are evaluated on numbers that say nothing, so that each term is asked for."""
    studies = {name: find(f"pacing/{name}") for name in STUDIES}
    placed = [identity for names in _pacing_claims.REFERENCE.places.values() for identity in names]
    assert sorted(placed) == sorted(_pacing_claims.REFERENCE.entries)
    for home, identities in _pacing_claims.REFERENCE.places.items():
        for identity in identities:
            sample = Asked(studies, home)
            claim = _pacing_claims.REFERENCE.claim(identity, home)
            assert claim.check is not None
            for value in (0.5, 3.0, 200.0):
                sample.value = value
                claim.check(sample)
            assert sample.asked, identity


class Asked(Sample):
    """A sample whose settings all have one value, and that fails for what no study measures."""

    def __init__(self, studies: dict[str, Study], home: str) -> None:
        self.studies, self.home, self.value, self.asked = studies, home, 0.0, []  # type: ignore[var-annotated]

    def of(self, study: str = "", metric: str = "", statistic: str = "mean") -> Asked:
        """Return the same for a metric that there is."""
        del statistic
        found = self.studies[study.removeprefix("pacing/") or self.home]
        assert metric in [item.name for item in found.measures.metrics], f"{found.name} has no {metric}"
        self.asked.append(metric)
        self._study = found
        return self

    def __call__(self, configuration: str, **point: str | float) -> float:
        """Return the value, for a setting that there is."""
        assert configuration in self._study.design.labels, configuration
        assert point["rate"] in self._study.design.factor("rate").values
        return self.value


def test_the_link_has_assumptions_of_its_own() -> None:
    """Without a router there is no netem; what is said of the queue, 200 ms and the bucket, is what it is."""
    said = {
        name: " ".join(item.statement for item in find(f"pacing/{name}").presentation.assumptions) for name in STUDIES
    }
    assert "979" in said["intervals"]
    assert "979" not in said["utilisation"]
    assert "0.1 ms" in said["utilisation"]
    # 200 ms of 100 Mbit/s are 2.5 MB
    assert _pacing.link(100)["links.bottleneck"]["queue"] == {"kind": "drop_tail", "bytes": "2501600 B"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("control", "rate", "gap_ms"),
    [
        ('"bbr-picoquic"', 10, 1440 / (2.8854 * 2 * 1536) * 50),
        ('"bbr-picoquic"', 100, 1440 / (2.8854 * 2 * 1536) * 50),
        ('"newreno", pacing = { kind = "none" }', 10, 2 * 1.186),
    ],
)
def test_the_pacer_of_picoquic_says_when_it_acknowledges(control: str, rate: int, gap_ms: float) -> None:
    """A BBR that sends acknowledgements only stays in STARTUP, with the smallest window a round trip for its rate.

    It sends no MAX_DATA, whose timeout would end STARTUP.
    """
    windows = ", ".join(f'{name} = "{value}"' for name, value in _pacing.FILE_WINDOWS.items())
    receiver = f'{{ profile = "picoquic", {windows}, congestion_control = {control} }}'
    changes = [("duration", "4 s"), ("flows.main.workload.duration", "4 s"), ("flows.main.receiver", receiver)]
    changes += [("links.bottleneck.rate.rate", f"{rate} Mbit/s")]
    acks = run(load(ROOT / "studies/quiclab_studies/scenarios/pacing.toml", changes)).acks
    sender = acks.filter((acks["element"] == "main.sender") & (acks["time_ns"] > 2e9))
    assert sender["gap_ms"].median() == pytest.approx(gap_ms, rel=0.01)


def test_windows_that_grow_let_a_timeout_end_the_startup_of_a_client() -> None:
    """At 100 Mbit/s a MAX_DATA is in flight while the queue of the server's STARTUP is built up."""
    changes = _pacing.configuration("picoquic_bbr").changes
    assert callable(changes)
    short = {"duration": "4 s", "flows.main.workload": {"kind": "download", "duration": "4 s"}}
    whole = changes({**_pacing.rate(100), **short})
    scenario = load(ROOT / _pacing.SCENARIO)
    ends = (whole, _variants.growing_windows(whole))
    clients = [run(scenario.with_values(one), 1).elements["main.receiver"]["statistics"] for one in ends]
    assert [client["timeouts"] for client in clients] == [0, 1]


def test_shares_are_of_closed_ranges() -> None:
    result = analysis([0.05, 0.1, 0.2, 1.0], [1, 2, 3, 4])
    assert metrics.share_metric("send", 0, 0.1).measure(result) == 0.3
    assert metrics.share_metric("ack", 0.1, 0.2).measure(result) == 0.5
    assert metrics.width_metric().measure(result) == 2.5


def test_packets_of_bursts_and_acks() -> None:
    result = analysis([1.0], [1])
    assert metrics.count_mode_metric("burst").measure(result) == 1
    assert metrics.count_share_metric("covered", 2, 3).measure(result) == 0.9
    # of 2180 packets 180 are of the 90 ACKs of two: the median packet is of one of 200
    assert metrics.count_quantile_metric("covered", 0.5, by_packets=True).measure(result) == 200
    assert metrics.count_quantile_metric("covered", 0.5).measure(result) == 2
    assert metrics.PERIOD.measure(result) == 0


def test_clusters_are_those_nearest_to_the_intervals_of_the_gains() -> None:
    clusters = {
        "expected": [{"gain": 1.0, "interval_ms": 1.0, "share": 0.25}],
        "found": [{"centre_ms": 0.97}, {"centre_ms": 1.02}, {"centre_ms": 1.5}],
    }
    result = analysis([0.89, 0.95, 1.02, 2.0], [5, 1, 1, 1], clusters=clusters)
    result.scenario = load(ROOT / _pacing.SCENARIO)
    assert metrics.cluster_share(result, 1.0) == 25  # type: ignore[arg-type]
    assert metrics.cluster_centre(result, 1.0) == 1.02  # type: ignore[arg-type]


def test_theory_is_gain_times_phases() -> None:
    """1.25, 6 and 0.75 of 8: 15.625, 75 and 9.375 %."""
    model = _pacing_tables.theory()
    assert [model.estimate("", {"gain": gain}) for gain in (1.25, 1.0, 0.75)] == [15.625, 75, 9.375]
    # the theoretical cell of Table 6.4: half of the intervals lie within pairs
    assert model.estimate("bbr", {"gain": 1.25}) == 7.8125


def test_the_period_of_acknowledgements() -> None:
    """ACKs that cover 2 packets for six seconds, then 8 for six: a period of 12 s; none if all cover 2."""
    import polars as pl  # noqa: PLC0415

    def heard(covered: list[int]) -> SimpleNamespace:
        seconds = range(len(covered))
        table = pl.DataFrame(
            {
                "element": ["main.sender"] * len(covered),
                "time_ns": [1_000_000_000 * second + 5 for second in seconds],
                "covered": covered,
            }
        )
        return SimpleNamespace(acks=table)

    def silent(covered: list[int]) -> SimpleNamespace:
        """Without every fifth second."""
        acks = heard(covered).acks
        return SimpleNamespace(acks=acks.filter(pl.col("time_ns") // 1_000_000_000 % 5 != 4))

    square = [2 if second // 6 % 2 else 8 for second in range(120)]
    assert extract.period_s(heard(square)) == 12  # type: ignore[arg-type]
    assert extract.period_s(heard([2] * 120)) is None  # type: ignore[arg-type]
    # a ramp is correlated with itself at any lag, and has no period
    assert extract.period_s(heard([*range(1, 121)])) is None  # type: ignore[arg-type]
    wave = [10, 12, 14, 16, 18, 20, 18, 16, 14, 12]
    assert extract.period_s(heard([wave[second % 10] + second // 2 for second in range(120)])) == 10  # type: ignore[arg-type]
    assert extract.period_s(silent([wave[second % 10] for second in range(120)])) == 10  # type: ignore[arg-type]
    # what goes on growing with the lag beyond 30 s has no maximum there: half a period of 80 s each way
    slow = [abs(second % 80 - 40) + 1 for second in range(240)]
    assert extract.period_s(heard(slow)) is None  # type: ignore[arg-type]
    # 31 s is out of reach, 30 s and 3 s are within
    for period, found in ((31, None), (30, 30), (3, 3)):
        spikes = [20 if second % period == 0 else 2 for second in range(240)]
        assert extract.period_s(heard(spikes)) == found, period  # type: ignore[arg-type]
