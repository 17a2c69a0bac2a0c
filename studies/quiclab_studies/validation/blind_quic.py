"""Random scenarios with QUIC: how far stacks in process are from their programs on sockets.

Each case is a network and a download, drawn from the seed of the study. quinn and aioquic run in the process of the
simulation, and as programs in the kernel lane with the virtual clock, behind the same elements. In both the host takes
no time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.lane.run import Lane
from quiclab.study import (
    Design,
    Engine,
    Figure,
    Presentation,
    Study,
    Table,
)
from quiclab.study.criteria import Criterion
from quiclab_studies.declarations import measures_of_criteria, numbered_cases
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.blind import METRIC, RELATIVE
from quiclab_studies.validation.blind import METRICS as TCP_METRICS
from quiclab_studies.validation.blind_cases import QUIC_CASES, draw_quic_case
from quiclab_studies.validation.blind_starts import STARTS
from quiclab_studies.validation.blind_views import Views
from quiclab_studies.validation.lanes import DATAGRAM, QUIC, QUIC_STACKS

if TYPE_CHECKING:
    from quiclab.study.findings import Key

MODEL, KERNEL = "sim", "kernel-virtual"
SOURCE = "programs in the kernel lane with the virtual clock, the same elements as the network"
RUNS = 2
GOODPUT, MEDIAN_GOODPUT, SHARE = 0.05, 0.005, 0.95
FIRST_SEED = 1
#: Of the metrics of TCP, those that all programs report.
METRICS = tuple(metric for metric in TCP_METRICS if metric.name in (METRIC.name, "srtt_ms"))


def _described(seed: int, key: Key) -> str:
    return f"{QUIC[str(key[0])]}: {draw_quic_case(seed, int(key[1])).description}"


VIEWS = Views(MODEL, KERNEL, METRICS, RELATIVE, _described)


_KEYS: list[Key] = [(name, number) for name in QUIC for number in range(1, QUIC_CASES + 1)]
CRITERIA = (
    Criterion(
        "VBQ-1",
        "Goodput is within 5 % in at least 95 % of the cases, and within 0.5 % in the median.",
        {},
        dict.fromkeys(_KEYS, GOODPUT),
        median_limit=MEDIAN_GOODPUT,
        share=SHARE,
    ),
)


def blind_quic(seed: int) -> Study:
    """Return the study with the cases of a seed."""
    return Study(
        "validation/blind_quic",
        design=Design(
            scenario="scenarios/lanes.toml",
            configurations=QUIC_STACKS,
            factors=(numbered_cases(QUIC_CASES, lambda number: draw_quic_case(seed, number).quic_changes),),
            engines=(Engine(MODEL, needs="quinn"), Engine(KERNEL, lane=Lane(clock="virtual"))),
            variants=STARTS,
            runs=RUNS,
            seed=seed,
        ),
        measures=measures_of_criteria(METRICS, CRITERIA, Table("", SOURCE, engine=KERNEL)),
        presentation=Presentation(
            title="Random scenarios: QUIC stacks in process and as programs",
            abstract=f"{QUIC_CASES} networks drawn at random, with a download by quinn and one by aioquic each: "
            "NewReno or CUBIC over links of 1 to 200 Mbit/s with round trip times of 2 to 600 ms, queues of 0.1 to 10 "
            "bandwidth-delay products, queue disciplines, loss, jitter, and split bearers.",
            source="quiclab: no publication",
            figures=(
                VIEWS.figure(SOURCE, "cases", "the programs"),
                Figure("Goodput", SOURCE, "", "Mean over the runs.", "VBQ-1", pairs=True),
            ),
            text_tables=VIEWS.tables,
            assumptions=assumed(__file__, "blind_quic", datagram=DATAGRAM),
            limits=(
                "Many cases are sensitive to small differences: two runs of the programs are as far apart as the table "
                "says.",
            ),
        ),
        drawn=blind_quic,
    )


STUDY = blind_quic(FIRST_SEED)
STUDIES = (STUDY,)
