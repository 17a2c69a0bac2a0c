"""The studies of page load times: sizes, counts, fairness, HyStart, windows, reordering."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from quiclab.study import Design, Factor, Measures, Presentation, Study, Variant
from quiclab_studies.declarations import drawn_figure
from quiclab_studies.page_load.bulk import BESIDE, FAIRNESS_TABLE, FLOW, THROUGHPUT, bulk, concurrent_transfers
from quiclab_studies.page_load.claims import REFERENCE
from quiclab_studies.page_load.common import (
    ENGINES,
    NETWORK,
    PAGE,
    PLT,
    RATE,
    RUNS,
    SCENARIO,
    SIZE,
    SOURCE,
    configurations,
    describe,
    networks,
    pages,
    rates,
    table,
)
from quiclab_studies.page_load.figures import lines, maps, phases, rates_beside, view
from quiclab_studies.page_load.interpretations import ASSUMPTIONS, VARIANTS
from quiclab_studies.page_load.mechanisms import OF_PAGES, OF_TRACES
from quiclab_studies.page_load.traces import (
    FAIRNESS_METRICS,
    HTML,
    HYSTART_METRICS,
    KEPT_SERIES,
    REORDERING_METRICS,
    WINDOW_METRICS,
)

FAIRNESS_RUNS = 5
STACKS_SHOWN = (("quic1_n1", "QUICv1, N = 1"), ("tcp", "TCP"), ("gquic37", "gQUIC 37"))
JITTER_SHOWN = (("gquic37", "gQUIC 37"), ("quic1", "QUICv1"), ("tcp", "TCP"), ("quic1_bbr", "QUICv1, BBR"))


design = partial(Design, scenario=SCENARIO, engines=ENGINES, runs=RUNS, own_seeds=True)
measures = partial(Measures, metric=PLT)
presentation = partial(Presentation, source=SOURCE, assumptions=ASSUMPTIONS, describe=describe)


def chosen(*names: str) -> tuple[Variant, ...]:
    """Return the variants of these names."""
    return tuple(item for item in (*VARIANTS, *OF_PAGES, *OF_TRACES) if item.name in names)


def study(name: str, *, design: Design, measures: Measures, presentation: Presentation) -> Study:
    """Return a study of page load times with its claims."""
    return Study(f"page_load/{name}", design, replace(measures, claims=REFERENCE.claims(name)), presentation)


def all_networks(name: str, title: str, abstract: str, pages: Factor, **parts: Any) -> Study:
    """Return a study of pages in all networks and at all rates."""
    return study(
        name,
        design=design(
            configurations=configurations(),
            factors=(NETWORK, RATE, pages),
            variants=(*VARIANTS, *OF_PAGES),
        ),
        measures=measures(series_factor=pages.name, **parts),
        presentation=presentation(
            title=title,
            abstract=abstract,
            figures=maps(name),
        ),
    )


SIZES = all_networks(
    "sizes",
    "Pages with one image",
    "One image of 5 kB to 10 MB, over two generations of QUIC and over TCP.",
    SIZE,
    further=(HTML,),
    table=table("Tables B.1 to B.15 of pages with one image", 1, 3, 5, 7, 9, 11, 13, 15),
)
COUNTS = all_networks(
    "counts",
    "Pages with several images",
    "A megabyte in 1 to 200 images, over two generations of QUIC and over TCP.",
    PAGE,
    table=table("Tables B.2 to B.16 of pages with several images", 2, 4, 6, 8, 10, 12, 14, 16),
)
HYSTART = study(
    "hystart",
    design=design(
        configurations=configurations("quic1_n1", "tcp", "quic1", "gquic37", "quic1_bbr"),
        factors=(networks("base"), rates(100), pages("100x10", "10x100")),
        engine_changes=lambda _: {"record.series_interval": "5 ms"},
        variants=chosen("browser_in_no_time", "traces_at_10_mbit"),
    ),
    measures=measures(
        kept_series=KEPT_SERIES,
        further=HYSTART_METRICS,
        table=table("Figure 4.8"),
    ),
    presentation=presentation(
        title="When Hybrid Slow Start ends",
        abstract="Ten large images or a hundred small ones without loss: when does each stack leave slow start, and "
        "why?",
        views=(
            view(
                "Window and phases",
                "Figure 4.8a and b",
                "The server's window; colours are phases.",
                {
                    f"{label}, {page}": (name, {"network": "base", "rate": 100, "page": page})
                    for page in ("100x10", "10x100")
                    for name, label in (("quic1_n1", "QUICv1, N = 1"), ("tcp", "TCP"))
                },
                phases,
                series_interval="1 ms",
            ),
            view(
                "RTT estimate",
                "Figure 4.8c and d",
                "Smoothed RTT of the server, for a hundred small images.",
                {label: (name, {"network": "base", "rate": 100, "page": "10x100"}) for name, label in STACKS_SHOWN},
                lambda results: lines(results, "srtt_ms", "RTT [ms]"),
                series_interval="1 ms",
            ),
        ),
    ),
)
LOSS_WINDOW = study(
    "loss_window",
    design=design(
        configurations=tuple(bulk(name, 60) for name in ("tcp", "quic1", "quic1_n1", "gquic37")),
        factors=(networks("loss"), rates(100)),
        engine_changes=lambda _: {"record.series_interval": "100 ms"},
        runs=FAIRNESS_RUNS,
    ),
    measures=measures(
        kept_series=KEPT_SERIES,
        metric=WINDOW_METRICS[0],
        table=table("Figure 4.10"),
    ),
    presentation=presentation(
        title="The window under loss",
        abstract="A long transfer with 1 % loss: what standing for two connections makes of the window.",
        views=(
            view(
                "Window under loss",
                "Figure 4.10",
                "The window with 1 % loss at 100 Mbit/s.",
                {
                    label: (name, {"network": "loss", "rate": 100})
                    for name, label in (("tcp", "TCP"), ("quic1", "QUICv1, N = 2"), ("quic1_n1", "QUICv1, N = 1"))
                },
                lambda results: lines(results, "cwnd_bytes", "Window [kB]", 1e3),
                series_interval="50 ms",
            ),
        ),
    ),
)
REORDERING = study(
    "reordering",
    design=design(
        configurations=tuple(bulk(name, 160) for name in ("gquic37", "quic1", "tcp", "quic1_bbr")),
        factors=(networks("jit"), rates(100)),
        engine_changes=lambda _: {"record.series_interval": "100 ms"},
        runs=FAIRNESS_RUNS,
        variants=chosen("script_in_no_time", "queue_10_mb", "adaptive_time_threshold"),
    ),
    measures=measures(
        kept_series=KEPT_SERIES,
        metric=REORDERING_METRICS[0],
        further=REORDERING_METRICS[1:],
        table=table("Figures 4.12 and 4.13"),
    ),
    presentation=presentation(
        title="A long transfer under jitter",
        abstract="210 MB while the delay changes and later packets overtake earlier ones: losses declared, the "
        "threshold, the window.",
        views=tuple(
            view(
                title,
                "Figures 4.12 and 4.13",
                caption,
                {label: (name, {"network": "jit", "rate": 100}) for name, label in shown},
                lambda results, metric=metric, label=label, unit=unit: lines(results, metric, label, unit),
                series_interval="200 ms",
            )
            for title, caption, metric, label, unit, shown in (
                (
                    "Window under jitter",
                    "The window while later packets overtake earlier ones.",
                    "cwnd_bytes",
                    "Window [kB]",
                    1e3,
                    JITTER_SHOWN,
                ),
                (
                    "Packets declared lost under jitter",
                    "Late packets, which arrive all the same, and overflows of the bridge's queue: the network loses "
                    "nothing else.",
                    "lost_packets",
                    "Declared lost",
                    1.0,
                    JITTER_SHOWN,
                ),
                (
                    "Packets declared lost that were acknowledged later",
                    "The late ones among them.",
                    "spurious_losses",
                    "Declared lost, acknowledged later",
                    1.0,
                    JITTER_SHOWN,
                ),
                (
                    "Reordering that is permitted",
                    "Later packets that may be acknowledged before one is lost.",
                    "reordering_packets",
                    "Packets",
                    1.0,
                    JITTER_SHOWN[:2],
                ),
            )
        ),
    ),
)
FAIRNESS = study(
    "fairness",
    design=design(
        configurations=tuple(concurrent_transfers(name) for name in BESIDE),
        factors=(FLOW,),
        engine_changes=lambda _: {"record.series_interval": "10 ms"},
        variants=chosen("queue_whole_packets"),
        runs=FAIRNESS_RUNS,
    ),
    measures=measures(
        kept_series=("cwnd_bytes",),
        metric=THROUGHPUT,
        further=FAIRNESS_METRICS,
        table=FAIRNESS_TABLE,
    ),
    presentation=presentation(
        title="QUIC and TCP sharing 5 Mbit/s",
        abstract="Transfers that begin together share 5 Mbit/s and a queue of 30 kB.",
        describe=None,
        figures=(
            drawn_figure(
                "Rates of concurrent transfers",
                "Each mark is a flow: hollow squares are published means, discs are measured values.",
                rates_beside,
                "Tables 4.1 and 4.2",
            ),
        ),
        views=(
            view(
                "Windows of concurrent transfers",
                "Figures 4.1 and 4.3",
                "QUIC is the first flow.",
                {concurrent_transfers(name).label: (name, {}) for name in ("Q2+T", "Q1+T", "Qbbr+Tbbr", "Q2+Tbbr")},
                lambda results: lines(results, "cwnd_bytes", "Window [kB]", 1e3, flows=2),
                series_interval="50 ms",
            ),
        ),
    ),
)
STUDIES = (SIZES, COUNTS, FAIRNESS, HYSTART, LOSS_WINDOW, REORDERING)
