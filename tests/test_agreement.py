"""Agreement of verdicts with the tables of the sources, and whether the aims are met."""

from __future__ import annotations

import math

import pytest

from quiclab.result.stats import cohens_kappa, gwets_ac1
from quiclab.study.agreement import agreement, document, sentences


def test_kappa_hand_computed() -> None:
    # 20 times both yes, 5 and 10 times one of them, 15 times both no: p_o = 35/50; the first says yes 25, the second
    # 30 times: p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5; (0.7 - 0.5) / (1 - 0.5) = 0.4
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert cohens_kappa(first, second) == pytest.approx(0.4)
    assert cohens_kappa([True, False], [True, False]) == 1.0
    assert cohens_kappa([True, False], [False, True]) == -1.0
    assert cohens_kappa([True, True, False, False], [True, False, True, False]) == 0.0
    # chance agrees fully, or there is nothing to agree on
    assert math.isnan(cohens_kappa([True, True], [True, True]))
    assert math.isnan(cohens_kappa([], []))
    with pytest.raises(ValueError, match="same cases"):
        cohens_kappa([True], [])


def test_ac1_hand_computed() -> None:
    # as above: p_a = 35/50, both say yes to (25 + 30) / 100 of the cases, p_e = 2 * 0.55 * 0.45 = 0.495
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert gwets_ac1(first, second) == pytest.approx((0.7 - 0.495) / 0.505)
    # 118 of 125 times both yes, never both no: q = (123 + 120) / 250 = 0.972, p_e = 2 * 0.972 * 0.028 = 0.054432,
    # (0.944 - 0.054432) / 0.945568; kappa is below zero: p_e = 0.984 * 0.96 + 0.016 * 0.04 = 0.94528
    first = [True] * 123 + [False] * 2
    second = [True] * 118 + [False] * 5 + [True] * 2
    assert gwets_ac1(first, second) == pytest.approx(0.889568 / 0.945568)
    assert cohens_kappa(first, second) == pytest.approx((0.944 - 0.94528) / (1 - 0.94528))
    assert gwets_ac1([True, True], [True, True]) == 1.0
    assert gwets_ac1([True, False], [False, True]) == -1.0
    assert math.isnan(gwets_ac1([], []))
    with pytest.raises(ValueError, match="same cases"):
        gwets_ac1([True], [])


def test_agreement_counts_decided_claims_of_which_the_tables_can_tell() -> None:
    def claim(verdict: str, on_published: bool | None) -> dict[str, object]:
        return {"verdict": verdict, "on_published": on_published}

    found = agreement(
        [
            claim("confirmed", True),
            claim("confirmed", True),
            claim("refuted", False),
            claim("refuted", True),
            claim("refuted", None),
            claim("undecided", True),
            claim("at_the_limit", False),
            claim("by_construction", True),
            claim("not_tested", False),
        ]
    )
    # ours: yes yes no no, theirs: yes yes no yes; p_o = 3/4, p_e = 1/2 * 3/4 + 1/2 * 1/4 = 1/2
    assert (found.compared, found.agreed) == (4, 3)
    assert found.kappa == pytest.approx(0.5)
    # yes to 5 of 8: p_e = 2 * 5/8 * 3/8 = 15/32
    assert found.ac1 == pytest.approx((3 / 4 - 15 / 32) / (17 / 32))
    assert (found.undecided, found.at_the_limit, found.tested) == (1, 1, 7)
    assert found.agreed_share == 0.75
    assert found.undecided_share == pytest.approx(1 / 7)
    assert (found.agreed_aim_met, found.undecided_aim_met) == (False, False)
    assert document(found)["aims"] == {
        "agreed_share": {"at_least": 0.95, "met": False},
        "undecided_share": {"at_most": 0.05, "met": False},
    }
    assert sentences(found) == [
        "agreement with the tables of the sources: 3 of 4 decided claims (75.0 %; aim: at least 95 %, not met), Gwet's "
        "AC1 0.53, Cohen's kappa 0.50",
        "undecided: 1 of 7 tested claims (14.3 %; aim: at most 5 %, not met); 1 at the limit",
    ]


def test_aims_are_met_on_their_limits_and_unknown_without_claims() -> None:
    agreed = [{"verdict": "confirmed", "on_published": True}] * 19
    found = agreement([*agreed, {"verdict": "refuted", "on_published": True}])
    assert (found.agreed_aim_met, found.undecided_aim_met) == (True, True)
    assert math.isclose(found.kappa, 0.0, abs_tol=1e-12), "19 of 20 agree, and kappa is that of chance"
    assert found.ac1 > 0.9
    undecided = agreement([*agreed, {"verdict": "undecided", "on_published": True}])
    assert undecided.undecided_aim_met is True
    nothing = agreement([{"verdict": "not_tested", "on_published": None}])
    assert (nothing.agreed_aim_met, nothing.undecided_aim_met) == (None, None)
    assert sentences(nothing) == []
    assert document(nothing)["ac1"] is None
