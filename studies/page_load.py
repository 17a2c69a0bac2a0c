"""Page load times of two generations of QUIC against TCP (Muthuraj, thesis, University of Alberta, 2024).

One page at a time through a bridge with rate, delay and loss in both directions: one image of 5 kB to 10 MB, or a
megabyte in 1 to 200 images; with 36 and 112 ms, with 1 % loss, and with a delay that a script changes ten times in a
second. When is QUIC faster, and which mechanism makes it so?
"""

from __future__ import annotations

from _page_load import (
    CONFIGURATIONS,
    ENGINES,
    NETWORK,
    PAGE,
    PLT,
    RATE,
    RUNS,
    SCENARIO,
    SIZE,
    SOURCE,
    completed,
    describe,
    table,
)
from quiclab.study import Study


def study(name: str, title: str, abstract: str, **parts: object) -> Study:
    """Return a study of page load times, with what all of them have."""
    return Study(
        name=f"page_load/{name}",
        title=title,
        abstract=abstract,
        source=SOURCE,
        scenario=SCENARIO,
        configurations=tuple(completed(item) for item in CONFIGURATIONS),
        metric=PLT,
        engines=ENGINES,
        engine_changes=lambda _: {},
        runs=RUNS,
        own_seeds=True,
        describe=describe,
        claims=(),
        figures=(),
        assumptions=(),
        **parts,  # type: ignore[arg-type]
    )


SIZES = study(
    "sizes",
    "Pages with one image",
    "One image of 5 kB to 10 MB, over two generations of QUIC and over TCP.",
    factors=(NETWORK, RATE, SIZE),
    along="kb",
    table=table("Tables B.1 to B.15 of pages with one image", 1, 3, 5, 7, 9, 11, 13, 15),
)
COUNTS = study(
    "counts",
    "Pages with several images",
    "A megabyte in 1 to 200 images, over two generations of QUIC and over TCP.",
    factors=(NETWORK, RATE, PAGE),
    along="page",
    table=table("Tables B.2 to B.16 of pages with several images", 2, 4, 6, 8, 10, 12, 14, 16),
)
STUDIES = (SIZES, COUNTS)
