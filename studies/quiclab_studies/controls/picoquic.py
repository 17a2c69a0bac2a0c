"""The tests of draft-huitema-ccwg-c4-test with lab-quic, and the times that the draft reports for picoquic."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab.study import (
    Configuration,
    Design,
    Factor,
    Figure,
    Metric,
    Presentation,
    Study,
    Table,
)
from quiclab.study.criteria import Criterion
from quiclab.study.published import csv_rows
from quiclab_studies.controls.picoquic_tests import CONTROLS, TESTS
from quiclab_studies.declarations import measures_of_criteria, value_as
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.result import RunResult
    from quiclab.study import Changes
    from quiclab.study.findings import Key

SOURCE = "draft-huitema-ccwg-c4-test (private-octopus/c4, doc/c4-tests.md)"
FILE = "controls/reference/picoquic_tests.csv"
MAIN, TEST, SENDER = "main", "test", "sender"
CONFIGURATION = "lab_quic"
PUBLISHED_RUNS = "100"
RUNS = 10
#: Largest difference of a test, relative.
LIMIT = 0.10


def published(path: Path) -> Sequence[Mapping[str, str]]:
    """Return the published means in the form of the study."""
    return [
        {
            TEST: row["test"],
            SENDER: row["sender"],
            "configuration": CONFIGURATION,
            "n_runs": PUBLISHED_RUNS,
            "end_s_mean": str(float(row["time_us"]) / 1e6),
            "end_s_std": "",
        }
        for row in csv_rows(path)
    ]


PUBLISHED: dict[Key, float] = {
    (CONFIGURATION, row[TEST], row[SENDER]): float(row["end_s_mean"])
    for row in published(Path(__file__).parent / "reference" / "picoquic_tests.csv")
}


def network(given: Changes) -> Changes:
    """Return the scenario of a test with a congestion control of the main connection."""
    rest = dict(given)
    test, control = TESTS[str(rest.pop(TEST))], str(rest.pop(SENDER))
    return {
        **rest,
        "duration": "120 s",
        "until": "workloads_done",
        "links": test.links,
        "flows": test.flows(control),
        "record": {},
    }


def end_s(result: RunResult) -> float:
    """Return when the main connection has its last byte, from the start of the run [s]."""
    flow = result.flows[MAIN]
    if flow.download_time_s is None or flow.start_s is None:
        return math.nan
    return flow.start_s + flow.download_time_s


def _criterion(identity: str, statement: str, names: Sequence[str]) -> Criterion:
    keys = [(CONFIGURATION, name, control) for name in names for control in CONTROLS]
    return Criterion(identity, statement, {key: PUBLISHED[key] for key in keys}, dict.fromkeys(keys, LIMIT))


METRIC = Metric("end_s", "End of the main download", "s", end_s)
ALONE = tuple(name for name, test in TESTS.items() if test.background is None)
BESIDE = tuple(name for name in TESTS if name not in ALONE)
CRITERIA = (
    _criterion("CP-1", "A connection alone ends within 10 % of the time of picoquic.", ALONE),
    _criterion("CP-2", "A connection beside another one ends within 10 % of the time of picoquic.", BESIDE),
)

STUDY = Study(
    "controls/picoquic",
    design=Design(
        scenario="scenarios/c4.toml",
        configurations=(Configuration(CONFIGURATION, "lab-quic", network),),
        factors=(
            Factor(TEST, TEST, "Test", "", tuple(TESTS), value_as(TEST)),
            Factor(SENDER, SENDER, "Main connection", "", tuple(CONTROLS), value_as(SENDER)),
        ),
        runs=RUNS,
    ),
    measures=measures_of_criteria((METRIC,), CRITERIA, Table(FILE, SOURCE, read=published)),
    presentation=Presentation(
        title="C4, BBR and CUBIC in the tests of the draft of C4",
        abstract=f"{len(TESTS)} tests of draft-huitema-ccwg-c4-test, each with C4, BBR version 3 and CUBIC as the main "
        "connection: alone on links that are constant, change, stop or jitter, and beside a connection with C4, BBR or "
        "CUBIC. The draft reports the time of each with picoquic in its own simulator.",
        source=SOURCE,
        figures=(
            Figure("Alone", SOURCE, TEST, "Until the last byte of the main download.", "CP-1", pairs=True),
            Figure("Beside another connection", SOURCE, TEST, "The same.", "CP-2", pairs=True),
        ),
        assumptions=assumed(__file__, "picoquic"),
        limits=(
            "The tests with ECN, media and careful resume are left out; `slow_start/satellite` has the last.",
            "picoquic differs in acknowledgements, pacing and loss detection, not in congestion control alone.",
            "The limits were fixed after a first look at four runs of each setting.",
        ),
    ),
)
