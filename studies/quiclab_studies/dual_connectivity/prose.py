"""Experiments that the sources mention without a table: no pacer, and the better link alone."""

from __future__ import annotations

from dataclasses import replace

from quiclab.study import Changes, Configuration, Factor, Figure, Measures, Study, Table, Value
from quiclab_studies.dual_connectivity.alone import BATCH, DELAY_HIGH, DROPS, EXPIRIES, THROUGHPUT
from quiclab_studies.dual_connectivity.common import (
    CONFIGURATIONS,
    ENGINES,
    LARGE_BUFFER,
    LARGE_BUFFER_BYTES,
    THESIS,
    client,
    delays,
    design,
    no_pacer,
    presentation,
)

SPREAD = "Mean and standard deviation."


def without_pacer(changes: Changes) -> Changes:
    """Take the pacer from the sender of the large buffer."""
    return no_pacer({**changes, **client(LARGE_BUFFER_BYTES)})


PACER_OFF = Study(
    "dual_connectivity/pacer_off",
    design=design(
        configurations=(LARGE_BUFFER, Configuration("pacer_off", "QUIC, large buffer, no pacer", without_pacer)),
        factors=(BATCH,),
        engines=ENGINES[:1],
    ),
    measures=Measures(
        metric=THROUGHPUT,
        further=(EXPIRIES,),
        table=Table("", f"{THESIS}, prose"),
    ),
    presentation=presentation(
        title="Dual Connectivity: without the pacer",
        abstract="The batch size with and without aioquic's pacer. Published in prose only: some experiments were "
        "repeated "
        "without it.",
        figures=(
            Figure(
                "Throughput with and without the pacer",
                f"{THESIS}, prose",
                "batch",
                "Mean and standard deviation over the runs; 100 MB, two links of 20 Mbit/s, even split.",
            ),
        ),
    ),
)

PACER_HIGH_DELAY = Study(
    "dual_connectivity/pacer_high_delay",
    design=replace(
        PACER_OFF.design,
        factors=(replace(DELAY_HIGH, values=(1.0,)),),
    ),
    measures=PACER_OFF.measures,
    presentation=replace(
        PACER_OFF.presentation,
        title="Dual Connectivity: without the pacer, 200 ms of delay together",
        abstract="Two links of 100 ms each, with and without aioquic's pacer. Published in prose only: without it the "
        "download is slower.",
        figures=(Figure("Throughput at 200 ms with and without the pacer", f"{THESIS} §5.2.4", "", SPREAD),),
    ),
)

BETTER: dict[str, Changes] = {
    "rate": {
        "bearers.dc.shares": [100, 0],
        "links.down1.rate": "33.33 Mbit/s",
        "links.down2.rate": "6.67 Mbit/s",
    },
    "delay": {"bearers.dc.shares": [0, 100], **delays(5.0, 200.0)},
}
"""The better of two links at a ratio of 5, alone: that with the higher rate, and that with the lower delay."""
BETTER_WORDS: dict[Value, str] = {"rate": "link 1, of 33.3 Mbit/s", "delay": "link 2, of 33.3 ms"}


def better_alone(value: Value) -> Changes:
    """Lead the download over the better link, through the same proxies."""
    return BETTER[str(value)]


BETTER_LINK = Study(
    "dual_connectivity/better_link",
    design=design(
        configurations=CONFIGURATIONS,
        factors=(Factor("link", "better_link", "Better link", "", tuple(BETTER), better_alone, BETTER_WORDS),),
        engines=ENGINES[:1],
    ),
    measures=Measures(metric=THROUGHPUT, further=(EXPIRIES, DROPS), table=Table("", f"{THESIS} §6.1.3")),
    presentation=presentation(
        title="Dual Connectivity: the better link alone",
        abstract="One link in place of two that differ by five in rate (40 Mbit/s together) or in delay (200 ms "
        "together). Published in prose only: links that differ so much are worse together than the better one alone.",
        figures=(Figure("Throughput over the better link alone", f"{THESIS} §6.1.3", "link", SPREAD),),
    ),
)

PROSE = (PACER_OFF, PACER_HIGH_DELAY, BETTER_LINK)
