"""Every pair of a sender and a receiver: whose acknowledgements do what to whose pacing.

The network is that of the thesis (`_pacing`), hosts cost nothing, and every receiver offers the same wide windows, so
that receivers differ only in their acknowledgements. Profiles are models, which cannot exchange packets with real
libraries: those form a separate matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.study import Configuration, Factor, Presentation, Study, Value
from quiclab_studies.pacing.beyond import (
    BURST,
    BURSTY,
    CLOCKED,
    COVERED,
    FIXED,
    GOODPUT,
    LOSS,
    SOJOURN,
    SOJOURN_P95,
    VARIATION,
    design,
    measures,
)
from quiclab_studies.pacing.beyond_views import figure, pairs
from quiclab_studies.pacing.common import DELAY_S, RATE
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from quiclab.study import Changes

PROFILES = (
    "rfc9002",
    "aioquic-0.8.8",
    "picoquic",
    "quic-go",
    "ngtcp2-2020",
    "ngtcp2-2022",
    "quinn",
    "chromium-quic1",
)
LIBRARIES = ("quinn", "noq")
RUNS = 2
SECONDS = 20
WINDOWS = {"stream_receive_window": "16 MiB", "connection_receive_window": "24 MiB"}
HALF = f"{DELAY_S * 1000:g} ms"
NETWORK: Changes = {
    "duration": f"{SECONDS} s",
    "taps.behind": {},
    "links.bottleneck.delay": "0 ms",
    "links.far": {"delay": {"mean": HALF, "deviation": "1 ms", "distribution": "uniform", "every": "10 min"}},
    "links.back.delay": {"mean": HALF, "deviation": "0.02 ms", "distribution": "normal"},
    "flows.main.down": ["fast", "at_sender", "bottleneck", "behind", "far"],
    "flows.main.workload": {"kind": "download", "duration": f"{SECONDS} s"},
}
ASSUMPTIONS = assumed(__file__, "matrix")
METRICS = (VARIATION, CLOCKED, COVERED, BURST, *FIXED, SOJOURN, SOJOURN_P95, LOSS, GOODPUT)
HALF_SPACING = "half of the bottleneck's spacing"
FIGURES = tuple(
    figure(title, caption, pairs(metric, decimals=decimals, log=log))
    for title, caption, metric, decimals, log in (
        (
            "Packets in bursts",
            f"Part of the packets that follow another within {HALF_SPACING}.",
            BURSTY,
            2,
            False,
        ),
        ("Mean burst", "Packets in a burst.", BURST, 1, True),
        ("Unevenness", "Coefficient of variation of the intervals: 0 is even, 1 are pairs.", VARIATION, 1, True),
        (
            "ACK clocking",
            f"Bursts that begin within {HALF_SPACING} after an ACK, beyond chance.",
            CLOCKED,
            2,
            False,
        ),
        ("Packets per acknowledgement", "Packets newly covered.", COVERED, 1, True),
        ("Queueing", "Mean time in the bottleneck [ms].", SOJOURN, 0, True),
    )
)


def matrix(name: str, title: str, senders: tuple[str, ...], library: bool) -> Study:
    """Return the study of all pairs of some senders and receivers."""

    def end(which: str) -> dict[str, object]:
        return {"stack": which} if library else {"stack": "lab-quic", "profile": which}

    def receiver(value: Value) -> Changes:
        return {"flows.main.receiver": {**end(str(value)), **WINDOWS}}

    configurations = tuple(Configuration(item, item, {"flows.main.sender": end(item)}) for item in senders)
    return Study(
        f"pacing/{name}",
        design=design(
            configurations=configurations,
            factors=(Factor("receiver", "receiver", "Receiver", "", senders, receiver), RATE),
            engine_changes=lambda _: NETWORK,
            runs=RUNS,
        ),
        measures=measures(
            metric=BURSTY,
            further=METRICS,
        ),
        presentation=Presentation(
            title=title,
            abstract="Each sender with each receiver, at 10 and 100 Mbit/s: spacing, ACK clocking and queue.",
            source="quiclab, in the network of the pacing thesis",
            figures=FIGURES,
            assumptions=ASSUMPTIONS,
        ),
    )


MATRIX = (
    matrix("matrix", "Every sender with every receiver", PROFILES, library=False),
    matrix("matrix_libraries", "quinn and noq with each other", LIBRARIES, library=True),
)
