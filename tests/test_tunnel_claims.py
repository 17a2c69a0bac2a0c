"""Claims of the tunnel thesis: what the names of their predicates read, and their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from quiclab.result.stats import Statistic
from quiclab.study.claims import Claim
from quiclab.study.findings import Grid, Key
from quiclab.study.registry import find
from quiclab_studies.tunnel.claims import GROUP, METRICS, PLACES, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.result.stats import Array

CLAIMS: Mapping[str, tuple[str, Claim]] = {
    claim.identity: (home, claim) for home in PLACES for claim in REFERENCE.claims(home)
}
TERMS = {
    "TN01": 4, "TN02": 4, "TN03": 2, "TN04": 1, "TN05": 2, "TN06": 2, "TN07": 3, "TN08": 1, "TN09": 1, "TN10": 2,
    "TN11": 1, "TN12": 3, "TN13": 2, "TN14": 2, "TN15": 6, "TN16": 2, "TN17": 1, "TN18": 2, "TN19": 2, "TN20": 4,
    "TN21": 2, "TN22": 6, "TN23": 12, "TN24": 2, "TN25": 2, "TN26": 5, "TN27": 3,
}  # fmt: skip
"""Number of the values that each predicate needs."""


class Made:
    """Findings of a mapping from study, metric and setting to a mean; all others are `rest`."""

    def __init__(self, home: str, values: Mapping[tuple[str, str, Key], float], rest: float = 1.0) -> None:
        self.home, self.values, self.rest, self.index = home, values, rest, 0
        self.asked: set[tuple[str, str, Key]] = set()

    def grid(self, study: str, metric: str) -> Grid:
        del study, metric
        return Grid({}, (), {})

    def value(self, study: str, metric: str, statistic: Statistic, key: Key) -> float:
        assert statistic == "mean"
        asked = (study.removeprefix(f"{GROUP}/") or self.home, metric, key)
        self.asked.add(asked)
        return self.values.get(asked, self.rest)

    def series(self, study: str, metric: str, statistic: Statistic, key: Key) -> Array:
        return np.array([self.value(study, metric, statistic, key)])

    def count(self, study: str, metric: str, key: Key) -> int:
        del study, metric, key
        return 20


def evidence(claim: Claim, findings: Made) -> Mapping[str, float]:
    assert claim.numbers is not None
    return claim.numbers(claim.sample(findings))


def holds(identity: str, values: Mapping[tuple[str, str, Key], float], rest: float = 1.0) -> bool:
    home, claim = CLAIMS[identity]
    assert claim.check is not None
    return claim.check(claim.sample(Made(home, values, rest)))


@pytest.mark.parametrize("identity", sorted(CLAIMS))
def test_predicates_read_settings_and_metrics_that_their_studies_have(identity: str) -> None:
    home, claim = CLAIMS[identity]
    made = Made(home, {})
    evidence(claim, made)
    for study, metric, (configuration, *point) in made.asked:
        design, measures = find(f"{GROUP}/{study}").design, find(f"{GROUP}/{study}").measures
        assert configuration in {item.name for item in design.configurations}
        assert all(value in factor.values for factor, value in zip(design.factors, point, strict=True))
        assert metric in {item.name for item in measures.metrics}


@pytest.mark.parametrize("identity", sorted(CLAIMS))
@pytest.mark.parametrize("rest", [1e-9, 1.0, 36.0])
def test_the_evidence_has_every_value_whatever_decides(identity: str, rest: float) -> None:
    home, claim = CLAIMS[identity]
    made = Made(home, {}, rest)
    numbers = evidence(claim, made)
    assert len(numbers) == len(made.asked) == TERMS[identity]
    assert {text.split("(")[0] for text in numbers} <= {*METRICS, "queue_bytes"}


def test_every_name_is_read_by_a_predicate() -> None:
    read = {text.split("(")[0] for home, claim in CLAIMS.values() for text in evidence(claim, Made(home, {}))}
    assert read == {*METRICS, "queue_bytes"}


SINGLE: Key = ("fifo", "single", "rr")
FQ: Key = ("fq", "homo", "rr")
SLOW: Key = ("fq", "hetero", "rr")
FAST: Key = ("fq", "hetero", "lowrtt")


def test_the_queue_is_compared_with_each_other_place() -> None:
    values = {("bottleneck", "queue_bytes", (*SINGLE, "datagram_cc")): 9.5}
    assert holds("TN01", values)
    assert not holds("TN01", {**values, ("bottleneck", "queue_bytes", (*SINGLE, "sockets")): 1.1})


def test_one_and_four_downloads_are_of_two_studies() -> None:
    four = ("four", "rtt_ms", FQ)
    assert holds("TN14", {four: 24.0, ("single", "rtt_ms", FQ): 21.5})
    assert not holds("TN14", {four: 24.0, ("single", "rtt_ms", FQ): 20.5})
    assert not holds("TN14", {four: 29.0, ("single", "rtt_ms", FQ): 28.0})


def test_schedulers_are_compared_on_unequal_paths() -> None:
    assert holds("TN19", {("four", "rtt_ms", FAST): 12.0, ("four", "rtt_ms", SLOW): 24.0})
    assert not holds("TN19", {("four", "rtt_ms", FAST): 24.0, ("four", "rtt_ms", SLOW): 12.0})
    rates = {("four", "goodput_mbps", FAST): 27.0, ("four", "goodput_mbps", SLOW): 25.0}
    assert holds("TN20", {**rates, ("four", "reordered", FAST): 0.1, ("four", "reordered", SLOW): 0.2})
    assert not holds("TN20", {**rates, ("four", "reordered", FAST): 0.2, ("four", "reordered", SLOW): 0.1})


def test_windows_and_media_have_settings_of_their_own() -> None:
    assert holds("TN25", {})
    assert not holds("TN25", {("window", "in_flight", ("static", "hetero", "rr")): 1.01})
    assert holds("TN26", {("media", "highest_second_mbps", (*FQ, "media")): 3.0})
    assert not holds("TN26", {("media", "goodput_mbps", ("fifo", "homo", "rr", "udp")): 7.3})
