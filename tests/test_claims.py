"""Verdicts, and the claims of the studies against the published tables."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
import yaml

from conftest import ROOT
from quiclab.errors import lower_first
from quiclab.result.stats import bootstrap
from quiclab.study.agreement import agreement
from quiclab.study.claims import (
    CONFIRMED_SHARE,
    EDGE_DECIDED_SHARE,
    REFUTED_SHARE,
    Claim,
    Errors,
    Judgement,
    Limit,
    Verdict,
    judge,
    verdict_of,
)
from quiclab.study.criteria import Criterion
from quiclab.study.findings import Grid, Key, NotMeasuredError, Resamples, Sample
from quiclab.study.margins import NAMES, quantitative, relative_rise
from quiclab.study.printed import Printed
from quiclab.study.published import printed_findings
from quiclab.study.registry import find, find_all, studies

FACTORS = {"x": (1, 2)}
NOTHING = Printed(lambda study, metric: Grid(FACTORS, (), {}))  # noqa: ARG005
RISING = Claim("T-1", "test", "rises", lambda t: t("a", x=1) < t("a", x=2), lambda t: {"gain": t("a", x=2)})


def judged(
    claim: Claim, samples: dict[Key, list[float]], configurations: tuple[str, ...] = ("a",), resamples: int = 2000
) -> Judgement:
    grid = Grid(FACTORS, configurations, samples)
    return judge(claim, Resamples(lambda study, metric: grid, resamples), NOTHING)  # noqa: ARG005


def verdict(low: list[float], high: list[float], claim: Claim = RISING) -> Verdict:
    samples: dict[Key, list[float]] = {("a", 1): low, ("a", 2): high}
    return judged(claim, samples, ("a",), resamples=400).verdict


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (1.0, Verdict.CONFIRMED),
        (0.975, Verdict.CONFIRMED),
        (0.9745, Verdict.UNDECIDED),
        (0.0255, Verdict.UNDECIDED),
        (0.025, Verdict.REFUTED),
        (0.0, Verdict.REFUTED),
    ],
)
def test_limits_of_the_verdicts(share: float, expected: Verdict) -> None:
    assert verdict_of(share) is expected


def test_separated_overlapping_and_reversed_samples() -> None:
    low, high = [1.0, 2.0, 3.0, 4.0, 5.0], [11.0, 12.0, 13.0, 14.0, 15.0]
    assert verdict(low, high) is Verdict.CONFIRMED
    assert verdict(high, low) is Verdict.REFUTED
    assert verdict(low, low) is Verdict.UNDECIDED


def test_few_runs_of_a_setting_that_is_read_leave_it_undecided() -> None:
    samples: dict[Key, list[float]] = {("a", 1): [1.0] * 5, ("a", 2): [2.0] * 4, ("b", 1): [0.0]}
    few = judged(RISING, samples, ("a", "b"), resamples=50)
    assert (few.verdict, few.share_true, few.least_runs) == (Verdict.UNDECIDED, 1.0, 4)
    assert few.reason == "4 runs; at least 5 are needed"
    enough = judged(RISING, samples | {("a", 2): [2.0] * 5}, ("a", "b"), resamples=50)
    assert (enough.verdict, enough.reason, enough.least_runs) == (Verdict.CONFIRMED, "", 5)


def test_a_missing_setting_is_not_tested_even_where_only_a_resample_asks_for_it() -> None:
    # the means stop at the first part; a resample of three times 1.0 goes on to the setting that is missing
    claim = Claim("T-6", "test", "", lambda t: t("a", x=1) < 2 and t("a", x=2) > 0, lambda t: {"x": t("a", x=2)})
    missing = judged(claim, {("a", 1): [1.0, 1.0, 9.0]})
    assert missing.verdict is Verdict.NOT_TESTED
    assert missing.reason.endswith(": a, 2")
    without_value = judged(claim, {("a", 1): [1.0] * 5, ("a", 2): [math.nan] * 5})
    assert without_value.verdict is Verdict.NOT_TESTED
    # what is false already needs no more, not even for its numbers
    false = judged(claim, {("a", 1): [9.0] * 5})
    assert (false.verdict, false.numbers) == (Verdict.REFUTED, {})


@pytest.mark.parametrize("runs", sorted(EDGE_DECIDED_SHARE))
def test_the_stated_share_of_wrong_decisions_at_the_edge(runs: int) -> None:
    trials, resamples = 1500, 400
    generator = np.random.default_rng(1)
    values = generator.normal(size=(trials, runs))
    picks = generator.integers(0, runs, size=(trials, resamples, runs))
    share = (values[np.arange(trials)[:, None, None], picks].mean(axis=2) > 0).mean(axis=1)
    decided = float(((share >= CONFIRMED_SHARE) | (share <= REFUTED_SHARE)).mean())
    stated = EDGE_DECIDED_SHARE[runs]
    # four standard errors, and what rounding and fewer resamples than 2000 do
    assert abs(decided - stated) <= 4 * math.sqrt(stated * (1 - stated) / trials) + 0.02


UPON = Claim(
    "T-8", "test", "at least 10", lambda t: t("a", x=1) >= 10.0, margin=lambda t: relative_rise(10.0, t("a", x=1))
)
NEAR: dict[Key, list[float]] = {("a", 1): [9.8, 10.2, 9.9, 10.1, 10.05]}


def table(mean: float, std: float, runs: int) -> Printed:
    """A publication of one setting."""
    key: Key = ("a", 1)
    return Printed(
        lambda study, metric: Grid(FACTORS, ("a",), {key: [mean]}),  # noqa: ARG005
        lambda study, metric: {key: std},  # noqa: ARG005
        lambda study, metric: {key: runs},  # noqa: ARG005
    )


def against(published: Printed, values: dict[Key, list[float]] = NEAR) -> Judgement:
    grid = Grid(FACTORS, ("a",), values)
    return judge(UPON, Resamples(lambda study, metric: grid), published)  # noqa: ARG005


def test_at_the_limit_is_what_the_table_leaves_open_too() -> None:
    # published 10.3 with a standard error of 0.6 / sqrt(9) = 0.2: the limit is 1.5 standard errors away
    found = against(table(10.3, 0.6, 9))
    assert found.verdict is Verdict.AT_THE_LIMIT
    assert found.limit is not None
    share = statistics.NormalDist().cdf(1.5)
    assert found.limit.published_share_true == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 2000))
    assert found.limit.published_margin == pytest.approx(0.3 / 10.3)
    assert found.limit.measured_margin == pytest.approx(0.01 / 10.01)
    # two standard errors and more away on either side, it has decided
    assert against(table(10.5, 0.6, 9)).verdict is Verdict.UNDECIDED
    assert against(table(9.5, 0.6, 9)).verdict is Verdict.UNDECIDED


def test_a_table_without_errors_is_drawn_with_those_of_the_runs() -> None:
    # the five runs have a standard error of 0.07 (of the bootstrap: divided by five, not four)
    error = math.sqrt(statistics.pvariance(NEAR["a", 1]) / 5)
    for published in (table(10.0 + error, math.nan, 9), table(10.0 + error, 0.6, 1)):
        found = against(published)
        assert found.verdict is Verdict.AT_THE_LIMIT
        assert found.limit is not None
        assert found.limit.errors is Errors.MEASURED
        assert found.limit.published_share_true == pytest.approx(statistics.NormalDist().cdf(1.0), abs=0.06)
    # further away than the runs scatter, the table has decided, and the runs have not: nothing is at the limit
    for mean in (10.0 - 4 * error, 10.0 + 4 * error):
        found = against(table(mean, math.nan, 9))
        assert found.verdict is Verdict.UNDECIDED
    limit = against(table(10.3, 0.6, 9)).limit
    assert limit is not None
    assert limit.errors is Errors.PRINTED


def test_no_table_tells_no_limit() -> None:
    found = against(NOTHING)
    assert found.verdict is Verdict.UNDECIDED
    assert found.limit is not None
    assert (found.limit.published_share_true, found.limit.errors) == (None, None)


def test_a_criterion_is_not_at_the_limit_because_its_runs_scatter() -> None:
    """Its table is its reference, in the middle of the limits, whatever the runs do."""
    criterion = Criterion("T-9", "within 1 %", {("a", 1): 10.0}, {("a", 1): 0.01})
    grid = Grid(FACTORS, ("a",), NEAR)
    found = judge(criterion.claim("test"), Resamples(lambda study, metric: grid), table(10.0, math.nan, 1))  # noqa: ARG005
    assert found.verdict is Verdict.UNDECIDED
    assert found.limit == Limit(None, None, None, None)


def test_a_criterion_whose_reference_has_not_run_a_setting_is_not_tested() -> None:
    limits: dict[Key, float] = {("a", 1): 0.2, ("a", 2): 0.2}
    criterion = Criterion("T-10", "within 20 % of the other engine", {("a", 1): 10.0}, limits, share=0.5)
    grid = Grid(FACTORS, ("a",), {**NEAR, ("a", 2): NEAR["a", 1]})
    found = judge(criterion.claim("test"), Resamples(lambda study, metric: grid), NOTHING)  # noqa: ARG005
    assert found.verdict is Verdict.NOT_TESTED
    assert "have not been made" in found.reason


def test_at_the_limit_is_no_confirmation() -> None:
    entries = [{"verdict": str(verdict), "on_published": True} for verdict in (Verdict.AT_THE_LIMIT, Verdict.CONFIRMED)]
    found = agreement(entries)
    assert (found.compared, found.at_the_limit, found.tested) == (1, 1, 2)


def test_decided_claims_and_those_with_few_runs_are_not_at_the_limit() -> None:
    decided = against(table(10.0, 0.6, 9), {("a", 1): [10.8, 11.2, 10.9, 11.1, 11.05]})
    assert (decided.verdict, decided.limit) == (Verdict.CONFIRMED, None)
    few = against(table(10.0, 0.6, 9), {("a", 1): [9.8, 10.2]})
    assert (few.verdict, few.limit) == (Verdict.UNDECIDED, None)
    assert few.read == {("", ("a", 1)): 2}


def test_redrawn_deviations_have_the_distribution_of_deviations() -> None:
    redrawn = table(10.0, 0.6, 9).redrawn(4000)
    deviations = redrawn.series("", "", "std", ("a", 1))
    assert deviations[0] == 0.6
    # s^2 is unbiased, and its variance is 2 sigma^4 / (n - 1)
    squares = deviations[1:] ** 2
    assert float(np.mean(squares)) == pytest.approx(0.36, abs=5 * 0.36 * math.sqrt(2 / 8 / 4000))
    assert redrawn.scattered
    assert np.array_equal(deviations, table(10.0, 0.6, 9).redrawn(4000).series("", "", "std", ("a", 1)))


@pytest.mark.parametrize(
    ("text", "margin"),
    [
        ("a < b", 0.5),
        ("a > b", -0.5),
        ("not a > b", 0.5),
        ("a <= b and b <= 2.5", 0.2),
        ("a > b or b <= 2.5", 0.2),
        ("1 <= b <= 2.5", 0.2),
        ("all(x < 4 for x in (a, b, 3))", 0.25),
        ("any(x > b for x in (a, b, 4))", 0.5),
        ("all([a < b, b < 4]) and True", 0.5),
        ("a == 1 and a < b", 0.5),
        ("a == 2", -math.inf),
        ("nothing is not None and nothing > 1", -math.inf),
        ("a < a", 0.0),
    ],
)
def test_margins_hand_computed(text: str, margin: float) -> None:
    code = compile(quantitative(text), "", "eval")
    names = {**NAMES, "a": 1, "b": 2, "nothing": None}
    assert eval(code, names) == pytest.approx(margin)  # noqa: S307 - the expressions above


def test_margins_have_the_sign_of_the_predicate_on_the_published_tables() -> None:
    """A margin and its predicate are read from the same expression in two ways."""
    compared = 0
    for study in map(find, studies()):
        printed = printed_findings(study) if not study.measures.table.engine else NOTHING
        for claim in study.measures.claims:
            if claim.check is None or claim.margin is None:
                continue
            try:
                sample = claim.sample(printed)
                holds, margin = claim.check(sample), claim.margin(sample)
            except NotMeasuredError:
                continue
            assert margin >= 0 if holds else margin <= 0, claim.identity
            compared += 1
    assert compared > 30


def test_untested_claims_have_a_reason() -> None:
    untested = Claim("T-2", "test", "needs more", reason="not available yet: x")
    judgement = judged(untested, {("a", 1): [1.0, 2.0]})
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_TESTED, "not available yet: x")
    partly = judged(RISING, {("a", 1): [1.0, 2.0]})
    assert partly.verdict is Verdict.NOT_TESTED
    assert "runs" in partly.reason
    single = judged(RISING, {("a", 1): [1.0], ("a", 2): [2.0]})
    assert single.verdict is Verdict.NOT_TESTED
    assert single.numbers == {"gain": 2.0}


def test_claims_by_construction_are_excluded() -> None:
    claim = Claim("T-3", "test", "put in", lambda t: t("a", x=1) < t("a", x=2), by_construction=True)
    assert verdict([1, 2], [8, 9], claim) is Verdict.BY_CONSTRUCTION


def test_the_whole_predicate_is_evaluated_on_each_resample() -> None:
    # each half holds in about half of the resamples; together they hold in about a quarter
    samples: dict[Key, list[float]] = {("a", 1): [-1.0, 1.0], ("a", 2): [-1.0, 1.0]}
    half = Claim("T-4", "test", "", lambda t: t("a", x=1) > -0.5)
    both = Claim("T-5", "test", "", lambda t: t("a", x=1) > -0.5 and t("a", x=2) > -0.5)
    shares = [judged(claim, samples).share_true for claim in (half, both)]
    # means -1, 0, 0, 1 are equally likely: 3/4 and 9/16, standard error 0.011
    assert shares[0] == pytest.approx(0.75, abs=0.05)
    assert shares[1] == pytest.approx(0.5625, abs=0.05)


def test_parts_of_the_same_runs_are_resampled_together() -> None:
    # two flows of which one has what the other lacks: their sum is the same in every run, and in every resample
    claim = Claim("T-7", "test", "", lambda t: abs(t("a", x=1) + t("a", x=2) - 10) < 1e-9)
    values: dict[Key, list[float]] = {("a", 1): [1.0, 2.0, 3.0, 7.0, 9.0], ("a", 2): [9.0, 8.0, 7.0, 3.0, 1.0]}
    together = Grid(FACTORS, ("a",), values, dict.fromkeys(values, (1, 2, 3, 4, 5)))
    apart = Grid(FACTORS, ("a",), values)

    def share(grid: Grid) -> float | None:
        return judge(claim, Resamples(lambda study, metric: grid, 400), NOTHING).share_true  # noqa: ARG005

    assert share(together) == 1.0
    alone = share(apart)
    assert alone is not None
    assert alone < 0.5


def test_a_missing_run_leaves_the_others_resampled_together() -> None:
    # 100 apart in each run, whose values lie ten times as far apart; the last run of the second setting is missing
    rise: dict[Key, list[float]] = {
        ("a", 1): [0.0, 1000.0, 2000.0, 3000.0, 1500.0],
        ("a", 2): [100.0, 1100.0, 2100.0, 3100.0],
    }
    grid = Grid(FACTORS, ("a",), rise, {("a", 1): (1, 2, 3, 4, 5), ("a", 2): (1, 2, 3, 4)})
    runs = Resamples(lambda study, metric: grid, 4000)  # noqa: ARG005
    first, second = (runs.series("", "", "mean", key)[1:] for key in rise)
    alone = Resamples(lambda study, metric: Grid(FACTORS, ("a",), rise), 4000)  # noqa: ARG005
    # each alone is what it would be: variance of the four values over four, within five standard errors
    variance = float(np.var(rise["a", 2])) / 4
    assert float(np.var(second)) == pytest.approx(variance, rel=5 * math.sqrt(2 / 4000))
    assert float(np.mean(second)) == pytest.approx(1600.0, abs=5 * math.sqrt(variance / 4000))
    assert np.array_equal(first, bootstrap(rise["a", 1], "1,2,3,4,5", 4000)[1:]), "as if nothing was missing"
    apart = [alone.series("", "", "mean", key)[1:] for key in rise]
    assert float(np.var(second - first)) < 0.5 * float(np.var(apart[1] - apart[0]))


def test_a_predicate_reads_other_studies_metrics_and_deviations() -> None:
    def check(sample: Sample) -> bool:
        other = sample.of("other", "delay_ms")
        return other("b", x=1) > sample("a", x=1) and sample.of(statistic="std")("a", x=1) > 0

    grids: dict[tuple[str, str], dict[Key, list[float]]] = {
        ("", ""): {("a", 1): [1.0, 2.0]},
        ("other", "delay_ms"): {("b", 1): [5.0] * 7},
    }
    read = Resamples(lambda study, metric: Grid(FACTORS, ("a", "b"), grids[study, metric]), 200)
    found = judge(Claim("T-8", "test", "", check), read, NOTHING)
    assert found.least_runs == 2
    # both runs are the same one in half of the resamples, and then do not deviate
    assert found.share_true == pytest.approx(0.5, abs=0.15)


def test_a_setting_that_was_not_run_is_named_in_words() -> None:
    """Not by its key, which is of no use to a reader; without words by its key."""
    study = find("dual_connectivity/batch_size")
    key = ("quic_default_buffer", 500)
    said = study.setting_label(key)
    assert said.startswith(f"{study.design.labels['quic_default_buffer']}, ")
    assert said.endswith(" 500 packets")
    assert "quic_default_buffer" not in said
    metric = study.measures.metric
    assert study.setting_label((*key, metric.name)) == f"{said}, {lower_first(metric.label)}"

    def check(sample: Sample) -> bool:
        return sample.at(key) > 0

    factors = {factor.name: factor.values for factor in study.design.factors}
    for name, words in ((study.setting_label, said), (None, "quic_default_buffer, 500")):
        grid = Grid(factors, (), {}, name=name)
        runs = Resamples(lambda study, metric, grid=grid: grid, 10)  # type: ignore[misc]  # noqa: ARG005
        found = judge(Claim("T-9", "test", "", check), runs, NOTHING)
        assert found.reason.endswith(f"gave no value: {words}")


@pytest.mark.parametrize("name", studies())
def test_every_claim_without_runs_says_which_it_needs(name: str) -> None:
    study = find(name)

    def no_runs(other: str, metric: str) -> Grid:  # noqa: ARG001
        read = find(other) if other else study
        factors = {factor.name: factor.values for factor in read.design.factors}
        return Grid(factors, (), {}, known=tuple(read.design.labels), name=read.setting_label)

    reasons: list[str] = []
    runs, criteria = Resamples(no_runs, 2), {item.identity for item in study.measures.criteria}
    for claim in study.measures.claims:
        if claim.identity not in criteria:
            judgement = judge(claim, runs, printed_findings(study))
            assert judgement.verdict is Verdict.NOT_TESTED, claim.identity
            assert "gave no value" in judgement.reason or claim.check is None, claim.identity
            reasons.append(judgement.reason)
    # another study is named with its group
    if name == "page_load/counts":
        assert any(reason.endswith(" of page_load/sizes") for reason in reasons), reasons


def test_predicates_on_the_published_tables_match_the_reference() -> None:
    text = (ROOT / "studies/quiclab_studies/dual_connectivity/reference" / "claims.yaml").read_text(encoding="utf-8")
    reference = {entry["id"]: entry for entry in yaml.safe_load(text)}
    seen = set()
    for study in find_all("dual_connectivity"):
        published = printed_findings(study)
        for claim in study.measures.claims:
            seen.add(claim.identity)
            expected = reference[claim.identity]["on_source_tables"]
            if claim.check is None:
                assert expected == "not_tabulated", claim.identity
                continue
            outcome = judge(claim, Resamples(lambda study, metric: Grid({}, (), {}), 10), published)  # noqa: ARG005
            assert outcome.verdict is Verdict.NOT_TESTED
            assert outcome.on_published is {"holds": True, "fails": False, "not_tabulated": None}[expected], (
                claim.identity
            )
    assert seen == set(reference)


def test_every_claim_is_tested_or_says_why_and_is_there_once() -> None:
    claims = list(itertools.chain.from_iterable(study.measures.claims for study in studies().values()))
    assert len({claim.identity for claim in claims}) == len(claims)
    for claim in claims:
        assert (claim.check is None) == bool(claim.reason), claim.identity
        assert (claim.check is None) == (claim.numbers is None), claim.identity
