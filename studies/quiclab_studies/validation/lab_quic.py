"""Real QUIC stacks compared with lab-quic with their profiles.

quinn runs in the same networks, with the same seeds; of aioquic 0.9.25 there are measurements in virtual time over the
same networks. lab-quic with the profile of each has to give the same goodput, datagrams and congestion events, the same
first byte, and the same throughput over Dual Connectivity.
"""

import math
from functools import partial

from quiclab.result import RunResult
from quiclab.study import (
    Assumption,
    Changes,
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    Metric,
    Presentation,
    Study,
    Table,
    Value,
    Variant,
)
from quiclab_studies.declarations import batch_factor, measures_of_criteria
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.explanations import explained
from quiclab_studies.validation.lab_quic_aioquic import (
    BATCH_CRITERIA,
    BATCHES,
    CONFIGURATION,
    DUAL_CONNECTIVITY,
    FIRST_BYTE,
    PATH,
    PATH_REFERENCE,
    SECONDS,
    batch_table,
    path_table,
)
from quiclab_studies.validation.lab_quic_chains import CHAINS, METRICS, ROUND_TRIPS, counts, criteria, lab_quic

QUINN = "quinn-proto 0.11.19 in the same networks"
AIOQUIC = "aioquic 0.9.25 in virtual time (validation/reference/aioquic)"
CHAIN = "scenarios/quic_path.toml"
LAB_QUIC = Engine("lab-quic")
# CRYPTO bytes of the server's Handshake packets are as measured: 634 with quinn, 599 with aioquic
QUINN_CERTIFICATE_BYTES, AIOQUIC_CERTIFICATE_BYTES = 376, 345
CONTROLS = (
    Configuration("newreno", "NewReno", {"flows.main.sender.congestion_control": "newreno"}),
    Configuration("cubic", "CUBIC", {"flows.main.sender.congestion_control": "cubic"}),
)
ONLY_AIOQUIC = (Configuration(CONFIGURATION, "aioquic 0.9.25", {}),)
QUINN_CRITERIA = explained(criteria("LQ-Q", "quinn", CONTROLS, {}))
AIOQUIC_CRITERIA = (*criteria("LQ-A", "aioquic", ONLY_AIOQUIC, PATH_REFERENCE), FIRST_BYTE)


def quinn_or_lab(engine: str) -> Changes:
    """Run one stack at both ends."""
    if engine == "quinn":
        return {"flows.main.stack": engine}
    return lab_quic("main", "quinn", QUINN_CERTIFICATE_BYTES)


def aioquic_profile(flow: str, _: str) -> Changes:
    """Run lab-quic with the profile of aioquic at both ends."""
    return lab_quic(flow, "aioquic", AIOQUIC_CERTIFICATE_BYTES)


def beside_an_engine(name: Value) -> Changes:
    """Return the chain of a name, for as long as another engine is run beside."""
    chain = CHAINS[str(name)]
    return chain.changes(chain.seconds)


def as_in_the_reference(name: Value) -> Changes:
    """Return the chain of a name, for as long as the reference was measured."""
    return CHAINS[str(name)].changes(SECONDS[str(name)])


def first_byte_ms(result: RunResult) -> float:
    """Time from the client's start to the first byte of the response [ms]; NaN if it did not arrive."""
    return float(result.flows["main"].receiver.get("first_byte_ms", math.nan))


def batch_throughput_mbps(result: RunResult) -> float:
    """File bits over the time from the client's start to the last byte [Mbit/s]; NaN if it did not finish."""
    flow = result.flows["dc"]
    return flow.goodput_mbps if flow.completed else math.nan


def goodput_figures(source: str, criteria: str) -> tuple[Figure, ...]:
    """Return the figures of goodput and congestion events, from the source and what its criteria begin with."""
    return (
        Figure("Goodput without random loss", source, "", "Handshake and slow start included.", f"{criteria}1"),
        Figure("Goodput under random loss", source, "", "Handshake and slow start included.", f"{criteria}2"),
        Figure("Goodput of both, no random loss", source, "", "Means over the runs.", f"{criteria}1", pairs=True),
        Figure("Goodput of both, random loss", source, "", "Means over the runs.", f"{criteria}2", pairs=True),
        Figure("Congestion events", source, "", "Reductions of the window.", f"{criteria}5"),
    )


SAME_NETWORK = Assumption(
    "The bottleneck counts IP packet and 14 bytes of Ethernet header; its queue holds one bandwidth-delay product of "
    "full frames; random loss strikes before the queue, downwards only; nothing queues elsewhere.",
    "That is the network of the measurements of aioquic, for both comparisons.",
)
JITTER = Assumption(
    "Jitter is a normal deviation of 1 ms of each packet's delay after the bottleneck, downwards, and reorders.",
    "Reordering by more than three packets is then mistaken for loss all the time: it decides the goodput.",
)
HANDSHAKE = Assumption(
    "Certificates are as long as the server's handshake messages of the other side need.",
    "The length of certificates is not a property of a stack.",
)
DATAGRAMS = Assumption(
    "Datagrams of 1280 bytes, an initial window of ten of them, no path MTU discovery.",
    "As measured with aioquic.",
)
EVENTS = Assumption(
    "A congestion event is a reduction of the window. Where nothing is random, events are not judged.",
    "Without randomness there are 2 to 26 in a run: one more of three is a third. They are shown.",
)
INTERVALS = (
    "Intervals are those of the means over the runs, of both sides; verdicts take the mean of the other side as given.",
    "Host and CPU cost nothing on either side.",
)
LATE_TIMERS = Variant(
    "late_timers",
    "timers of the server 0 to 2 ms late",
    "quinn's program has timers of whole milliseconds, up to two late (decision 0127); those of lab-quic are exact.",
    {
        "hosts.server": {"timer_slack": {"mean": "1 ms", "deviation": "1 ms", "distribution": "uniform"}},
        "flows.main.sender.host": "server",
    },
    runs=10,
)

QUINN_STUDY = Study(
    "validation/lab_quic/quinn",
    design=Design(
        scenario=CHAIN,
        configurations=CONTROLS,
        factors=(Factor("path", "path", "Path", "", tuple(CHAINS), beside_an_engine),),
        engines=(LAB_QUIC, Engine("quinn")),
        engine_changes=quinn_or_lab,
        runs=10,
        variants=(LATE_TIMERS,),
    ),
    measures=measures_of_criteria(METRICS, QUINN_CRITERIA, Table("", QUINN, engine="quinn")),
    presentation=Presentation(
        title="lab-quic compared with quinn",
        abstract="One download through a bottleneck, with NewReno and CUBIC of quinn and of lab-quic with quinn's "
        "profile: "
        "without and with random loss, without and with jitter that reorders.",
        source=QUINN,
        figures=goodput_figures(QUINN, "LQ-Q"),
        assumptions=(
            SAME_NETWORK,
            JITTER,
            DATAGRAMS,
            HANDSHAKE,
            EVENTS,
            *assumed(__file__, "lab_quic_quinn", round_trips=ROUND_TRIPS),
        ),
        limits=INTERVALS,
    ),
)

design = partial(Design, configurations=ONLY_AIOQUIC, engines=(LAB_QUIC,))
presentation = partial(Presentation, source=AIOQUIC)
"""A comparison with the measurements of aioquic."""

AIOQUIC_STUDY = Study(
    "validation/lab_quic/aioquic",
    design=design(
        scenario=CHAIN,
        factors=(Factor("path", "path", "Path", "", tuple(CHAINS), as_in_the_reference),),
        engine_changes=partial(aioquic_profile, "main"),
        runs=50,
    ),
    measures=measures_of_criteria(
        (*METRICS, Metric("first_byte_ms", "First byte", "ms", first_byte_ms)),
        AIOQUIC_CRITERIA,
        Table(PATH, AIOQUIC, lambda _: path_table()),
    ),
    presentation=presentation(
        title="lab-quic compared with aioquic",
        abstract="One download through a bottleneck, as measured with aioquic 0.9.25, and with lab-quic and its "
        "profile.",
        figures=(
            *goodput_figures(AIOQUIC, "LQ-A"),
            Figure("First byte", AIOQUIC, "", "From the client's start: handshake, request, response.", "LQ-A6"),
        ),
        assumptions=(SAME_NETWORK, JITTER, DATAGRAMS, HANDSHAKE, EVENTS),
        limits=(
            *INTERVALS,
            "The reference has 2 to 24 runs of a setting, with 800 to 2200 losses where any are random.",
        ),
    ),
)


DUAL_CONNECTIVITY_STUDY = Study(
    "validation/lab_quic/aioquic_dual_connectivity",
    design=design(
        scenario="scenarios/dual_connectivity.toml",
        factors=(batch_factor(BATCHES),),
        engine_changes=partial(aioquic_profile, "dc"),
        runs=10,
    ),
    measures=measures_of_criteria(
        (Metric("throughput_mbps", "Throughput", "Mbit/s", batch_throughput_mbps), *counts("dc")),
        BATCH_CRITERIA,
        Table(DUAL_CONNECTIVITY, AIOQUIC, lambda _: batch_table()),
    ),
    presentation=presentation(
        title="lab-quic compared with aioquic: batches of Dual Connectivity",
        abstract="100 MB over a bearer that is split between two links in batches, as measured with aioquic 0.9.25, "
        "and "
        "with lab-quic and its profile.",
        figures=(
            Figure("Throughput over the DC batch size", AIOQUIC, "batch", "Mean and standard deviation over the runs."),
            Figure("Distance from aioquic", AIOQUIC, "", "Mean over the runs.", "LQ-D1"),
        ),
        assumptions=(
            DATAGRAMS,
            HANDSHAKE,
            *assumed(__file__, "lab_quic_dual_connectivity"),
        ),
        limits=(*INTERVALS, "The reference has two runs of each batch size."),
    ),
)

STUDIES = (QUINN_STUDY, AIOQUIC_STUDY, DUAL_CONNECTIVITY_STUDY)
