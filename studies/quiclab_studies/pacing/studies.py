"""The studies of the pacing thesis: utilisation, intervals, acknowledgements, clusters, the kernel."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from quiclab.analysis.pacing.runs.extract import GAINS, link_use, main_flow
from quiclab.study import Design, Factor, Figure, Measures, Metric, Presentation, Study, Table
from quiclab_studies.pacing import kernel
from quiclab_studies.pacing.claims import REFERENCE
from quiclab_studies.pacing.common import (
    ASSUMPTIONS,
    ENGINES,
    LINK,
    LINK_ASSUMPTIONS,
    LONG,
    QUIC,
    RATE,
    REAL,
    RUNS,
    SCENARIO,
    SOURCE,
    TCP,
    configurations,
    describe,
    filling,
    rates,
)
from quiclab_studies.pacing.figures import acks_figures, interval_figures, rate_figures
from quiclab_studies.pacing.further import ACK_METRICS, CLUSTER_METRICS, INTERVAL_METRICS, LINK_RATE
from quiclab_studies.pacing.metrics import (
    BURSTY,
    BURSTY_FIXED,
    CENTRE,
    CLOCKED,
    CLOCKED_FIXED,
    CLUSTER,
    COVERED,
    DUPLICATES,
    EVEN,
    EVEN_PARTS,
    FRAME,
    LARGE_ACK,
    LOSS,
    MEDIAN_INTERVAL,
    NOMINAL,
    PERIOD,
    count_mode_metric,
    count_quantile_metric,
    count_share_metric,
    even_share_metric,
    largest_metric,
    mode_metric,
    peaks_metric,
    quantile_metric,
    share_metric,
    width_metric,
)
from quiclab_studies.pacing.tables import ACKNOWLEDGED, CLUSTERS, FRAMES, UTILISED, theory
from quiclab_studies.pacing.variants import SLOW_PYTHON, VARIANTS

if TYPE_CHECKING:
    from quiclab.result import RunResult


design = partial(
    Design,
    scenario=SCENARIO,
    engines=ENGINES,
    engine_changes=lambda _: LONG,
    runs=RUNS,
    own_seeds=True,
    variants=VARIANTS,
)
measures = partial(Measures, keep=main_flow, table=Table("", SOURCE))
presentation = partial(Presentation, source=SOURCE, assumptions=ASSUMPTIONS, describe=describe)


def study(name: str, *, design: Design, measures: Measures, presentation: Presentation) -> Study:
    """Return a study of pacing with its claims."""
    return Study(f"pacing/{name}", design, replace(measures, claims=REFERENCE.claims(name)), presentation)


def utilisation(result: RunResult) -> float:
    """Part of the link's rate that is used."""
    return float(result.data["kept"]["utilisation"])


UTILISATION = study(
    "utilisation",
    design=design(
        configurations=filling(
            "aioquic", "picoquic_bbr", "picoquic_cubic", "quic-go", "ngtcp2", "netcat", "apache", "custom", *REAL
        ),
        factors=(LINK,),
        engine_changes=lambda _: {},
        variants=(SLOW_PYTHON,),
    ),
    measures=measures(
        metric=Metric("utilisation", "Utilisation of the link", "", utilisation),
        further=(LINK_RATE,),
        keep=link_use,
        table=UTILISED,
    ),
    presentation=presentation(
        title="Utilisation of a link",
        abstract="Server and client on one link of 10 Mbit/s to 10 Gbit/s: which stacks fill it?",
        assumptions=LINK_ASSUMPTIONS,
        figures=(Figure("Utilisation", "Figures 6.1 and 6.2", "rate", "Frames of the server over rate and time."),),
    ),
)
INTERVALS = study(
    "intervals",
    design=design(
        configurations=configurations(*QUIC, *TCP, *REAL),
        factors=(RATE,),
    ),
    measures=measures(
        metric=NOMINAL,
        further=(
            MEDIAN_INTERVAL,
            EVEN,
            BURSTY,
            BURSTY_FIXED,
            CLOCKED,
            CLOCKED_FIXED,
            FRAME,
            width_metric(),
            share_metric("send", 0, 0.1),
            *(share_metric("send", centre - 0.1, centre + 0.1) for centre in (0.949, 1.186, 1.581)),
            *(peaks_metric("send", centre - 0.1, centre + 0.1) for centre in (0.949, 1.186, 1.581)),
            peaks_metric("send", 0.108, 0.13),
            share_metric("send", 0.84, 1.05),
            mode_metric("send"),
            *map(even_share_metric, EVEN_PARTS),
            quantile_metric("ack", "0.5"),
            largest_metric("ack"),
            peaks_metric("ack", 0.09, 0.13),
            peaks_metric("ack", 0.3, 0.4),
            share_metric("between_fixed", 0.05, 0.5),
            quantile_metric("within_fixed", "0.5"),
            quantile_metric("within_fixed", "0.01"),
            count_mode_metric("burst"),
            count_mode_metric("burst_fixed"),
            count_quantile_metric("burst_fixed", 0.99),
            count_quantile_metric("burst_fixed", 0.999),
            *INTERVAL_METRICS,
        ),
        table=FRAMES,
    ),
    presentation=presentation(
        title="Intervals between packets",
        abstract="Packets of a sender on a fast link before a bottleneck: intervals, bursts, and ACK clocking.",
        figures=(*interval_figures(), *rate_figures()),
    ),
)
ACKS = study(
    "acks",
    design=design(
        configurations=configurations(*QUIC, *TCP, *REAL),
        factors=(RATE,),
    ),
    measures=measures(
        metric=count_mode_metric("covered"),
        further=(
            COVERED,
            DUPLICATES,
            LOSS,
            PERIOD,
            quantile_metric("ack", "0.5"),
            largest_metric("ack"),
            count_share_metric("covered", 2, 2),
            count_share_metric("covered", 2, 3),
            count_share_metric("covered", LARGE_ACK),
            count_quantile_metric("covered", 0.95),
            count_quantile_metric("covered", 0.5, by_packets=True),
            *ACK_METRICS,
        ),
        table=ACKNOWLEDGED,
    ),
    presentation=presentation(
        title="How receivers acknowledge",
        abstract="Packets per acknowledgement, intervals between acknowledgements, and duplicate acknowledgements.",
        figures=acks_figures(),
    ),
)
GAIN = Factor("gain", "pacing_gain", "Pacing gain", "", GAINS, None)
CLUSTERED = study(
    "clusters",
    design=design(
        configurations=configurations("picoquic_bbr", "bbr"),
        factors=(rates(10), GAIN),
    ),
    measures=measures(
        metric=CLUSTER,
        further=(CENTRE, *CLUSTER_METRICS),
        table=CLUSTERS,
        model=theory(),
    ),
    presentation=presentation(
        title="Clusters of BBR's gain cycle",
        abstract="BBR paces with gains of 1.25, 1 and 0.75 in turn: how many intervals lie around each of the three?",
        figures=(
            Figure(
                "Intervals around those of the gains", "Table 6.3", "gain", "Within 0.1 ms of frame over rate and gain."
            ),
        ),
    ),
)
KERNEL = study(
    "kernel",
    design=design(
        configurations=kernel.configurations(),
        factors=(kernel.RATE,),
        engines=kernel.ENGINES,
        engine_changes=lambda _: {},
        runs=kernel.RUNS,
        variants=(),
    ),
    measures=measures(
        metric=EVEN,
        further=(
            MEDIAN_INTERVAL,
            BURSTY,
            BURSTY_FIXED,
            CLOCKED,
            CLOCKED_FIXED,
            FRAME,
            COVERED,
            DUPLICATES,
            width_metric(),
            share_metric("send", 0, 0.1),
            quantile_metric("ack", "0.5"),
            count_mode_metric("burst"),
            count_mode_metric("covered"),
        ),
    ),
    presentation=presentation(
        title="Real programs and the kernel's TCP",
        abstract="The same link and tap with Linux itself and unmodified QUIC programs, on a virtual clock: exact "
        "stamps, and no cost "
        "of computing.",
        describe=describe,
        assumptions=kernel.ASSUMPTIONS,
        figures=interval_figures("not published: programs of today"),
    ),
)

PUBLISHED = (UTILISATION, INTERVALS, ACKS, CLUSTERED, KERNEL)
