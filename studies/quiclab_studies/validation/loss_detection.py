"""Loss detection of every engine under the same disturbances, compared with RFC 9002 and RFC 8985.

A download through a link that drops or holds back packets by number. Of each run the packets and acknowledgements are
read as the sender saw them; independent models of the standards (`quiclab.analysis.losses`) say what they would have
declared lost of just these, and when. A deviation is a finding about the engine, not a failure: an implementation may
tolerate more reordering (RFC 9002 section 6.1).
"""

import math
from typing import Any

from quiclab.analysis.losses import judge
from quiclab.result import RunResult
from quiclab.study import (
    Changes,
    Configuration,
    Design,
    Factor,
    Measures,
    Metric,
    Presentation,
    Study,
    Table,
    TextTable,
)
from quiclab_studies.declarations import drawn_figure
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.loss_detection_cases import BY_NAME, CASE, SCENARIO, chosen, resolved
from quiclab_studies.validation.loss_detection_views import HEADS, listing, matrix, packets_of

STANDARDS = "RFC 9002 section 6 and RFC 8985 section 6"
SENDER = {"congestion_control": "fixed", "initial_window": "76800 B"}
DATAGRAM = {"datagram_size": "1280 B"}
LAB_QUIC = (
    *("rfc9002", "quinn", "aioquic", "aioquic-0.8.8", "quic-go", "ngtcp2-2020", "ngtcp2-2022"),
    *("picoquic", "chromium-quic1", "chromium-gquic37"),
)
LAB_TCP = ("linux-4.15", "linux-4.19", "linux-5.3", "linux-5.15", "linux-7")


def quic(stack: str, profile: str = "") -> Changes:
    """Run a QUIC stack at both ends; the model reads the frames of QUIC version 1 only."""
    end: dict[str, object] = {**DATAGRAM, **({"profile": profile} if profile else {})}
    if "gquic" in profile:
        end["quic"] = {"version": "v1"}
    return {"flows.main.stack": stack, "flows.main.sender": {**SENDER, **end}, "flows.main.receiver": end}


def tcp(profile: str) -> Changes:
    """Run TCP at both ends."""
    end: dict[str, object] = {"profile": profile, "tcp": {"kernel_hz": 1000}}
    return {"flows.main.stack": "lab-tcp", "flows.main.sender": {**SENDER, **end}, "flows.main.receiver": end}


STACKS = {
    **{f"lab-quic:{name}": (f"lab-quic, {name}", quic("lab-quic", name)) for name in LAB_QUIC},
    "quinn": ("quinn (the library)", quic("quinn")),
    "noq": ("noq (the library)", quic("noq")),
    **{f"lab-tcp:{name}": (f"lab-tcp, {name}", tcp(name)) for name in LAB_TCP},
}


def kept(result: RunResult) -> dict[str, Any]:
    """Return what was kept of a run's recordings."""
    found: dict[str, Any] = result.data["kept"]
    return found


def agrees(result: RunResult) -> float:
    """1 if the engine declared lost what the standard does, when it does; 0 otherwise.

    Of quinn and noq only the number of losses and their times; they do not report packet numbers.
    """
    return float(kept(result)["agrees"])


def count(which: str, *, spurious: bool = False) -> Metric:
    """Return how many packets were, or should have been, declared lost; or how many of these had arrived."""
    label = {"declared": "Declared lost", "expected": "Declared lost by the standard"}[which]
    name = f"{which}_{'spurious' if spurious else 'lost'}_packets"

    def measure(result: RunResult) -> float:
        return float(sum(row["spurious"] or not spurious for row in kept(result)[which]))

    return Metric(name, f"{label}{', but arrived' if spurious else ''}", "packets", measure)


def when(which: str) -> Metric:
    """Return how long after its sending the first packet was declared lost; NaN if none was."""
    label = {"declared": "First loss declared", "expected": "First loss declared by the standard"}[which]

    def measure(result: RunResult) -> float:
        return next((row["time_ms"] - row["sent_ms"] for row in kept(result)[which]), math.nan)

    return Metric(f"{which}_after_ms", label, "ms", measure)


STUDY = Study(
    "validation/loss_detection",
    design=Design(
        scenario=SCENARIO,
        configurations=tuple(
            Configuration(name, label, resolved(changes)) for name, (label, changes) in STACKS.items()
        ),
        factors=(Factor(CASE, CASE, "Case", "", tuple(BY_NAME), chosen),),
        runs=1,
    ),
    measures=Measures(
        metric=Metric("agrees", "Agrees with the standard (1: yes)", "", agrees),
        further=(
            count("declared"),
            count("expected"),
            count("declared", spurious=True),
            count("expected", spurious=True),
            when("declared"),
            when("expected"),
        ),
        table=Table("", STANDARDS),
        keep=judge,
    ),
    presentation=Presentation(
        title="Loss detection compared with RFC 9002 and RFC 8985",
        abstract="Packets of a download are dropped or held by packet number. Which packets each engine declares lost,"
        " when, and which of these had arrived; compared with the losses that the standard declares for the "
        "same packets and acknowledgements.",
        source=STANDARDS,
        figures=(
            drawn_figure(
                "Losses declared by each engine",
                "Packets declared lost, and behind the stroke (on a phone below) how many the standard declares; s: "
                "some had arrived. Blue: the same packets at the same times; violet: as many at the same times, of "
                "stacks that count only. Orange: other packets. Between: the same at other times.",
                matrix,
                STANDARDS,
            ),
            *(
                drawn_figure(
                    f"Case {name}: {case.label}",
                    f"{case.why} Packets by their numbers: acknowledged, declared lost, sent (again); a ring marks "
                    "losses declared by the standard. Most were sent at about 0, left of the axis.",
                    packets_of(name),
                    STANDARDS,
                )
                for name, case in BY_NAME.items()
            ),
        ),
        text_tables=(TextTable("Declared losses", HEADS, listing),),
        assumptions=assumed(__file__, "loss_detection"),
        limits=(
            "quinn and noq do not name the packets that they declare lost: at the moment their counter goes up, their "
            "adapter names the oldest, as RFC 9002 would. Only count and times are compared. lab-tcp: the "
            "counter gives the time, the retransmissions that follow the segments.",
            "aioquic itself writes no qlog here; its profile in lab-quic represents it.",
            "Retransmission timeouts are outside the model; one case comes to one with Linux 5.3 and 5.15.",
        ),
    ),
)

STUDIES = (STUDY,)
