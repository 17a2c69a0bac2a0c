"""Loss detection beside its standards: the models by hand, the readers, and a few engines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from quiclab.analysis.losses import rfc8985, rfc9002
from quiclab.analysis.losses.events import AckReceived, Lost, Sent
from quiclab.analysis.losses.tcp_trace import _declared
from quiclab.analysis.losses.verdict import agrees, agrees_in_number
from quiclab.experiment.execute import execute
from quiclab.experiment.recording import run_and_keep
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.report.figures import specification
from quiclab.scenario import Scenario
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import write_manifest
from quiclab.study.plan import Plan
from quiclab.study.registry import find
from quiclab_studies.validation.loss_detection_cases import BY_NAME

NAME = "validation/loss_detection"
MSS = 1000


def flight(packets: int, *, at_ms: float = 0.0, first: int = 0, gap_ms: float = 1.0) -> list[Sent | AckReceived]:
    """Return packets sent one after the other."""
    return [Sent(at_ms + gap_ms * number, first + number) for number in range(packets)]


def ack(time_ms: float, *ranges: tuple[int, int]) -> AckReceived:
    return AckReceived(time_ms, ranges)


def told(lost: list[Lost]) -> list[tuple[int, float, str]]:
    return [(item.number, round(item.time_ms, 6), item.rule) for item in lost]


def test_quic_three_later_ones_are_the_packet_threshold() -> None:
    """Packet 0 is missing: with 2 acknowledged it is not lost, with 3 it is (section 6.1.1)."""
    events = [*flight(5), ack(101, (1, 1)), ack(102, (1, 2)), ack(103, (1, 3)), ack(104, (1, 4))]
    assert told(rfc9002.declared(events)) == [(0, 103.0, "packet threshold")]


def test_quic_the_time_threshold_is_nine_eighths_of_the_larger_rtt() -> None:
    """Packet 0, sent at 0, is overtaken by 1, RTT 100 ms: lost at 112.5 ms; acknowledged before that, it is not.

    The RTT of the second acknowledgement, 120 ms, is the latest: 9/8 of it are 135 ms, and packet 2, sent at 2 ms and
    overtaken by 3, is lost at 137 ms.
    """
    events = [*flight(2), ack(101, (1, 1))]
    assert told(rfc9002.declared(events)) == [(0, 112.5, "time threshold")]
    assert rfc9002.declared([*events, ack(112, (0, 1))]) == []
    later = [*flight(4), ack(101, (0, 1)), ack(123, (3, 3))]
    assert told(rfc9002.declared(later)) == [(2, 137.0, "time threshold")]


def test_quic_a_lost_tail_is_declared_when_its_probe_is_acknowledged() -> None:
    """Packets 2 to 4 of five are lost; 5, the probe of 230 ms, is acknowledged at 330 ms.

    2 is three below it; 3 and 4 were sent more than 9/8 of 100 ms before. Nothing is declared at the probe itself.
    """
    events = [*flight(5), ack(101, (0, 1)), Sent(230, 5), ack(330, (0, 1), (5, 5))]
    expected = [(2, 330.0, "packet threshold"), (3, 330.0, "time threshold"), (4, 330.0, "time threshold")]
    assert told(rfc9002.declared(events)) == expected


def test_quic_the_peers_delay_is_taken_off_the_smoothed_rtt() -> None:
    """RTTs 100 and 140 ms, 20 ms of it delay: smoothed 7/8 * 100 + 1/8 * 120 = 102.5; the latest, 140, counts."""
    events = [Sent(0, 0), ack(100, (0, 0)), *flight(2, at_ms=200, first=1), AckReceived(341, ((2, 2),), delay_ms=20)]
    assert told(rfc9002.declared(events)) == [(1, 200 + 9 / 8 * 140, "time threshold")]


def test_quic_nothing_is_declared_of_a_closed_connection() -> None:
    events = [*flight(2), ack(101, (1, 1))]
    assert rfc9002.declared(events, closed_ms=112.0) == []


def segments(count: int, *, at_ms: float = 0.0, first: int = 0, again: bool = False) -> list[Sent | AckReceived]:
    """Return segments sent one a millisecond."""
    numbers = range(first, first + count)
    return [Sent(at_ms + n - first, n, (n * MSS, (n + 1) * MSS), again=again) for n in numbers]


def sacks(time_ms: float, upto: int, *blocks: tuple[int, int], echo_ms: float | None = None) -> AckReceived:
    """Return an acknowledgement in segments: all below `upto`, and blocks."""
    return AckReceived(time_ms, tuple((a * MSS, b * MSS) for a, b in blocks), cumulative=upto * MSS, echo_ms=echo_ms)


STRICT = "reordering window 0: three selectively acknowledged"
RTT = [*segments(1), sacks(100, 1)]
"""Segment 0 gives a min_RTT of 100 ms: a quarter is 25 ms."""


def test_rack_three_selectively_acknowledged_make_the_window_zero() -> None:
    """Segments 1 to 4 leave at 200 to 203 ms; 1 is missing. With two above it waits, with the third it is lost."""
    start = [*RTT, *segments(4, at_ms=200, first=1), sacks(301, 1, (2, 3)), sacks(302, 1, (2, 4))]
    assert told(rfc8985.declared([*start, sacks(303, 1, (2, 5))])) == [(1, 303.0, STRICT)]
    # with two, its time is 200 + RACK.rtt 100 + 25 ms
    assert told(rfc8985.declared(start)) == [(1, 325.0, "reordering window")]


def test_rack_reordering_that_was_seen_leaves_the_window() -> None:
    """1 arrives behind 2 without a retransmission; from then on five above 4 do not make it lost, 25 ms do."""
    seen = [*RTT, *segments(2, at_ms=200, first=1), sacks(301, 1, (2, 3)), sacks(302, 3)]
    late = [*segments(6, at_ms=400, first=3), *(sacks(500 + n, 3, (4, 4 + n)) for n in range(1, 6))]
    # 3 left at 400; RACK.rtt is 100 ms
    assert told(rfc8985.declared([*seen, *late])) == [(3, 525.0, "reordering window")]
    assert rfc8985.declared([*seen, *late, sacks(510, 9)]) == []


def test_rack_the_window_grows_with_dsack() -> None:
    """After the spurious loss of 3 at 525 ms a DSACK doubles the window: 13 waits until 800 + 100 + 50 ms."""
    seen = [*RTT, *segments(2, at_ms=200, first=1), sacks(301, 1, (2, 3)), sacks(302, 3)]
    late = [*segments(6, at_ms=400, first=3), *(sacks(500 + n, 3, (4, 4 + n)) for n in range(1, 6))]
    spurious = [*segments(1, at_ms=526, first=3, again=True), sacks(530, 9), sacks(626, 9, (3, 4))]
    third = [*segments(2, at_ms=800, first=9), sacks(901, 9, (10, 11))]
    found = told(rfc8985.declared([*seen, *late, *spurious, *third]))
    assert found == [(3, 525.0, "reordering window"), (9, 950.0, "reordering window")]


def test_rack_a_probe_of_the_last_segment_shows_the_loss_of_those_before() -> None:
    """Segments 1 to 3 are lost; 3 is sent again at 500 ms and acknowledged at 600 ms: 1 and 2 are lost, 3 never is.

    The acknowledgement of what is out of order echoes an old timestamp.
    """
    events = [*RTT, *segments(3, at_ms=200, first=1), *segments(1, at_ms=500, first=3, again=True)]
    found = told(rfc8985.declared([*events, sacks(600, 1, (3, 4), echo_ms=0)]))
    assert [(number, time_ms) for number, time_ms, _ in found] == [(1, 600.0), (2, 600.0)]


def test_rack_a_retransmission_can_be_lost_and_an_early_answer_is_not_its_own() -> None:
    """1 is lost at 303 ms, sent again then, and lost again: 5, sent at 304 ms, is acknowledged at 404 ms.

    Acknowledged 50 ms after the retransmission, less than min_RTT, it says nothing of what was sent before that.
    """
    start = [*RTT, *segments(4, at_ms=200, first=1), *(sacks(300 + n, 1, (2, 2 + n)) for n in (1, 2, 3))]
    again = [*segments(1, at_ms=303, first=1, again=True), *segments(1, at_ms=304, first=5)]
    found = told(rfc8985.declared([*start, *again, sacks(404, 1, (2, 6))]))
    assert found == [(1, 303.0, STRICT), (1, 404.0, STRICT)]
    early = [*segments(1, at_ms=303, first=1, again=True), sacks(353, 5)]
    assert told(rfc8985.declared([*start, *early])) == [(1, 303.0, STRICT)]


def test_retransmissions_take_the_oldest_declarations_and_probes_none() -> None:
    """A counter that goes up by 2 at 300 ms names the retransmissions of 300 and 310 ms, not the probe of 250 ms."""
    events = [*segments(3), *segments(1, at_ms=250, first=2, again=True)]
    events += [*segments(1, at_ms=300, first=0, again=True), *segments(1, at_ms=310, first=1, again=True)]
    assert _declared(events, [(300.0, 2)]) == [Lost(0, 0.0, 300.0), Lost(1, 1.0, 300.0)]


def test_agreement_is_of_packets_and_of_times() -> None:
    one, two = Lost(1, 10.0, 110.0), Lost(2, 11.0, 111.0)
    assert agrees([one, two], [two, one], 0.0)
    assert agrees([one], [Lost(1, 10.0, 110.9)], 1.0)
    assert not agrees([one], [Lost(1, 10.0, 111.1)], 1.0)
    assert not agrees([one], [one, two], 1.0)
    assert not agrees([one, one], [one], 1.0)


def test_of_a_stack_that_counts_only_number_and_times_are_compared() -> None:
    """What is named by the adapter may be another packet; one more, or one 1.1 ms later, is a deviation."""
    one, two, other = Lost(1, 10.0, 110.0), Lost(2, 11.0, 111.0), Lost(7, 16.0, 110.0)
    assert agrees_in_number([one, two], [two, other], 0.0)
    assert not agrees([one, two], [two, other], 0.0)
    assert agrees_in_number([one], [Lost(1, 10.0, 110.9)], 1.0)
    assert not agrees_in_number([one], [Lost(1, 10.0, 111.1)], 1.0)
    assert not agrees_in_number([one], [one, two], 1.0)


def kept(configuration: str, case: str) -> dict[str, object]:
    """Run one cell of the study."""
    study = find(NAME)
    only = {"configuration": (configuration,), "case": (case,)}
    [job] = Plan(study, list(study.points(("sim",), 1, only))).first_runs()
    result = run_and_keep(
        Scenario.from_dict(json.loads(job.scenario)), job.seed, job.recipe.base_dir, job.recipe.recording.keep
    )
    found: dict[str, object] = result.data["kept"]
    return found


def counts(found: dict[str, object], which: str) -> tuple[int, int]:
    rows = found[which]
    assert isinstance(rows, list)
    return len(rows), sum(row["spurious"] for row in rows)


CASES = [str(case) for case in find(NAME).design.factors[0].values]


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_a_hand_computed_result(case: str) -> None:
    """The standards' answers are in the study, with their derivations; engines that follow them give these."""
    by_hand = BY_NAME[case]
    for configuration, expected in (("lab-quic:rfc9002", by_hand.quic), ("lab-tcp:linux-7", by_hand.tcp)):
        found = kept(configuration, case)
        assert counts(found, "expected") == expected, configuration
        deviates = (configuration, case) == ("lab-tcp:linux-7", "twice_5")
        assert found["agrees"] is not deviates, configuration


def test_extracted_data_is_stored_and_reported(tmp_path: Path) -> None:
    """Two cells through the sweep: the table and the matrix are made of what was stored."""
    study = find(NAME)
    names = ("lab-quic:rfc9002", "lab-quic:chromium-quic1", "quinn")
    only = {"configuration": names, "case": ("late_20",)}
    points = list(study.points(("sim",), 1, only))
    plan = Plan(study, points)
    without = Plan(replace(study, measures=replace(study.measures, keep=None)), points)
    identities = [{one.identity(index)[0] for index in range(len(one))} for one in (plan, without)]
    assert list(map(len, identities)) == [3, 3]
    assert not identities[0] & identities[1]
    directory = tmp_path / study.name
    outcome = execute(Runs.of(plan), Store(directory), plan.executor(workers=1))
    assert outcome.failures == []
    write_manifest(study, directory, 1, partial=True)
    evaluation = Evaluation(study, tmp_path)
    (table,) = study.presentation.text_tables
    cells = [(row[0], *row[2:8]) for row in table.rows(evaluation, "sim")]
    assert [(row[0], row[1] == "none", row[4] == "none", row[6]) for row in cells] == [
        ("lab-quic, rfc9002", False, False, "yes"),
        ("lab-quic, chromium-quic1", True, False, "no"),
        ("quinn (the library)", False, False, "yes (count and time only)"),
    ]
    spec = json.dumps(specification(evaluation, study.presentation.figures[0], "sim"))
    assert '"1s|1"' in spec
    assert '"0|1"' in spec
    assert '"same number, same times"' in spec


def test_chromium_tolerates_a_second_reordering_of_the_same_depth_and_its_ancestor_does_not() -> None:
    """The adaptive threshold is 6 after the first; static, 3 each time."""
    assert counts(kept("lab-quic:chromium-quic1", "twice_5"), "declared") == (1, 1)
    assert counts(kept("lab-quic:chromium-gquic37", "twice_5"), "declared") == (2, 2)


def test_chromium_waits_for_a_quarter_of_the_rtt() -> None:
    """20 ms late are more than RTT / 8 and less than RTT / 4 = 25 ms."""
    found = kept("lab-quic:chromium-quic1", "late_20")
    assert (counts(found, "declared"), counts(found, "expected")) == ((0, 0), (1, 1))


@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_the_libraries_follow_rfc9002_in_number_and_times(stack: str) -> None:
    # they read what arrives together before they acknowledge: a packet that comes with the third later one is not late
    for case, expected in (("single", (1, 0)), ("behind_2", (0, 0)), ("behind_3", (0, 0)), ("behind_5", (1, 1))):
        found = kept(stack, case)
        assert found["agrees"] is True
        assert found["named"] is False, "their adapter names packets as RFC 9002 would: that proves nothing"
        assert (counts(found, "declared")[0], counts(found, "expected")) == (expected[0], expected)


def test_linux_4_15_counts_duplicates_in_addition_to_rack() -> None:
    """Five duplicates are enough for it although reordering was seen; RFC 8985 waits for min_RTT / 4."""
    found = kept("lab-tcp:linux-4.15", "seen_5")
    assert (counts(found, "declared"), counts(found, "expected")) == ((1, 1), (0, 0))
