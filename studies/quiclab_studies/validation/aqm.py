"""Queue disciplines and those of the Linux kernel, with TCP through them: goodput, sojourn times, marks and drops.

The kernel lane with the virtual clock runs Linux TCP through the kernel's own disciplines, and is compared with the sim
lane. What a difference is due to, TCP or the queue, a run in the kernel lane with quiclab's elements tells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quiclab.lane.run import Lane
from quiclab.study import (
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    Metric,
    Presentation,
    Study,
    Table,
    Variant,
)
from quiclab.study.criteria import Criterion
from quiclab_studies.declarations import kept_metric, measures_of_criteria
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.aqm_cells import BY_NAME, CELLS, serialised, with_kernel_timers
from quiclab_studies.validation.blind import MODEL, goodput_mbps
from quiclab_studies.validation.blind_starts import STARTS
from quiclab_studies.validation.blind_views import Views
from quiclab_studies.validation.stored.sojourns import BOTTLENECK, sojourns

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study.findings import Key

KERNEL = "kernel-queues"
SOURCE = "the kernel lane with the virtual clock: Linux TCP through the kernel's queueing disciplines"
NETEM = Lane(clock="virtual", emulation="netem")
RUNS = 2
GOODPUT, SOJOURN, SIGNALS, SHARE = 0.05, 0.10, 0.10, 0.95


def marks(result: RunResult) -> float:
    """Return the packets that the queue marked."""
    return float(result.elements[BOTTLENECK]["statistics"]["ce_marks"])


def drops(result: RunResult) -> float:
    """Return the packets that the queue dropped."""
    return float(result.elements[BOTTLENECK]["dropped"]["packets"])


def signals(result: RunResult) -> float:
    """Return the packets that the queue marked or dropped."""
    return marks(result) + drops(result)


#: What the cells were before their rate was a token bucket; only for the sim lane, as the kernel has none.
SERIALISED = Variant(
    "serialised",
    "a link that serialises each packet",
    "A token bucket passes the first packet of a busy period at once; a link takes the time of its serialisation.",
    serialised,
    RUNS,
)

METRICS = (
    Metric("goodput_mbps", "Goodput of all flows", "Mbit/s", goodput_mbps),
    kept_metric("sojourn_ms", "Mean time in the bottleneck", "ms", "mean_ms"),
    kept_metric("flow2_sojourn_p99_ms", "Time of flow 2 in the bottleneck, 99 %", "ms", "flow2_p99_ms"),
    Metric("signals", "Marks and drops", "packets", signals),
    Metric("marks", "Marks", "packets", marks),
    Metric("drops", "Drops", "packets", drops),
)
RELATIVE = frozenset(metric.name for metric in METRICS)
VIEWS = Views(MODEL, KERNEL, METRICS, RELATIVE, lambda _, key: BY_NAME[str(key[1])].description)


_KEYS: list[Key] = [("tcp", cell.name) for cell in CELLS]
CRITERIA = tuple(
    Criterion(identity, statement, {}, dict.fromkeys(_KEYS, limit), metric, share=SHARE)
    for identity, statement, limit, metric in (
        ("VA-1", "Goodput is within 5 % in at least 95 % of the cells.", GOODPUT, ""),
        (
            "VA-2",
            "Mean time in the bottleneck is within 10 % in at least 95 % of the cells.",
            SOJOURN,
            "sojourn_ms",
        ),
        ("VA-3", "The number of marks and drops is within 10 % in at least 95 % of the cells.", SIGNALS, "signals"),
    )
)

STUDY = Study(
    "validation/aqm",
    design=Design(
        scenario="scenarios/linux_tcp.toml",
        configurations=(Configuration("tcp", "TCP", {}),),
        factors=(Factor("cell", "cell", "Cell", "", tuple(BY_NAME), lambda name: BY_NAME[str(name)].changes),),
        engines=(
            Engine(MODEL),
            Engine(KERNEL, lane=NETEM, stacks={MODEL: "linux"}, changes=with_kernel_timers),
        ),
        variants=(*(replace(start, engines=(KERNEL,)) for start in STARTS), SERIALISED),
        runs=RUNS,
    ),
    measures=measures_of_criteria(METRICS, CRITERIA, Table("", SOURCE, engine=KERNEL), keep=sojourns),
    presentation=Presentation(
        title="Queue disciplines and Linux",
        abstract=f"{len(CELLS)} cells: CoDel, FQ-CoDel, PIE, FQ-PIE, DualPI2, RED and CAKE with two to four "
        "TCP downloads through them, with and without ECN, over links of 4 to 40 Mbit/s with round trip times of 20 to "
        "80 ms; the sim lane, and Linux TCP through the disciplines of the kernel.",
        source="quiclab: no publication",
        figures=(
            VIEWS.figure(SOURCE, "cells", "the kernel"),
            Figure("Goodput", SOURCE, "", "Mean over the runs.", "VA-1", pairs=True),
            Figure("Mean time in the bottleneck", SOURCE, "", "Mean over packets and runs.", "VA-2", pairs=True),
            Figure("Marks and drops", SOURCE, "", "Mean over the runs.", "VA-3", pairs=True),
        ),
        text_tables=VIEWS.tables,
        assumptions=assumed(__file__, "aqm"),
        limits=(
            "Where a queue drops a few dozen packets, two runs of the kernel differ by more than the limits: PIE and "
            "DualPI2 draw random numbers, and flows of few packets follow them.",
            "The guest has an infinitely fast CPU, and so has the model.",
        ),
    ),
)

STUDIES = (STUDY,)
