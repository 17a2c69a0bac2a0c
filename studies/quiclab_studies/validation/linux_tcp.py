"""Linux TCP, measured, compared with its model.

Kernels in virtual time (7.3.4, infinitely fast CPU, exact timers) sent bulk and short transfers through one
bottleneck, two flows against each other, and a download over Dual Connectivity. The same networks with the model in
place of the kernel have to give the same goodput, round trip time, transfer times, shares and throughput.
"""

from functools import partial

from quiclab.lane.run import Lane
from quiclab.study import (
    Changes,
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    Presentation,
    Study,
    Table,
    Unavailable,
    Variant,
)
from quiclab_studies.declarations import batch_factor, measures_of_criteria
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.explanations import explained
from quiclab_studies.validation.linux_tcp_bulk import BULK, BULK_CRITERIA, PATHS, bulk_table
from quiclab_studies.validation.linux_tcp_cells import CONTROLS
from quiclab_studies.validation.linux_tcp_metrics import BATCH_METRICS, BULK_METRICS, PAIR_METRICS, TRANSFER_TIME
from quiclab_studies.validation.linux_tcp_parts import (
    ACCESSES,
    BATCH_CRITERIA,
    BATCHES,
    DUAL_CONNECTIVITY,
    PAIR_CRITERIA,
    PAIR_NAMES,
    PAIRS,
    PUBLISHED_BATCHES,
    SHORT,
    SHORT_CRITERIA,
    SIZES,
    STARTS,
    batch_table,
    pair_changes,
    pair_table,
    short_table,
    start_times,
)

LINUX = "Linux 7.3.4 in virtual time (validation/reference/linux_tcp)"
CHAIN, PAIR = "scenarios/linux_tcp.toml", "scenarios/linux_tcp_pair.toml"
#: The model; and the kernel itself, in virtual time, behind the same elements (needs `quiclab kernel build`).
ENGINES = (Engine("lab-tcp"), Engine("linux", runs=3, lane=Lane(clock="virtual")))
#: Over Dual Connectivity also with the kernel's own links: the delay on the next hop; and as the published commands
#: have it, in a child of the queueing discipline with rate and limit.
ALL_ENGINES = (
    *ENGINES,
    Engine("linux-netem", runs=3, lane=Lane(clock="virtual", emulation="netem")),
    Engine("linux-netem-child", runs=3, lane=Lane(clock="virtual", emulation="netem", delay_stage="child")),
)
LINUX_PROFILE = "linux-7"
JUDGED_BULK = explained(BULK_CRITERIA)
LABELS = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR"}


def main_stack(engine: str) -> Changes:
    """Run one stack at both ends; what the profile of the model stands for, the kernel is."""
    return ends(engine, "main")


def both_stacks(engine: str) -> Changes:
    """Run one stack at all ends of both flows."""
    return {**ends(engine, "first"), **ends(engine, "second")}


def ends(engine: str, flow: str) -> Changes:
    """Return what makes a stack that of both ends of a flow."""
    stack: Changes = {f"flows.{flow}.stack": engine}
    if engine != "linux":
        return stack
    # namespaces have the buffers of the reference as they are
    return {**stack, f"flows.{flow}.sender": {"tcp": {"mss": "1460 B"}}, f"flows.{flow}.receiver": {}}


def dual_connectivity_flow(engine: str) -> Changes:
    """Put a Reno download of TCP in the place of the QUIC flow: frames of 1336 bytes with the number of the bearer."""
    end: dict[str, object] = {"tcp": {"mss": "1280 B"}}
    is_kernel = engine.startswith("linux")
    if not is_kernel:
        end["profile"] = LINUX_PROFILE
    flow = {
        "stack": "linux" if is_kernel else engine,
        "down": ["dc"],
        "up": ["up1"],
        "workload": {"kind": "download", "size": "100 MB", "request": "16 B"},
        "sender": {**end, "congestion_control": "newreno"},
        "receiver": end,
    }
    return {"flows.dc": flow}


SAME_EVERYWHERE = assumed(__file__, "linux_tcp")
LIMITS = (
    "Deviations over seeds show the effect of random loss, jitter and start phase alone, in the reference and here: in "
    "both, CPUs are infinitely fast and timers exact. Without these, runs repeat each other.",
    "Of random settings the reference has few runs (3; one with buffers of 64 MB): a miss by little may be chance.",
)

design = partial(Design, scenario=CHAIN, engines=ENGINES, engine_changes=main_stack)
"""A comparison with Linux: through the chain with one flow, unless the call says otherwise."""
presentation = partial(Presentation, source=LINUX, limits=LIMITS)

BULK_STUDY = Study(
    "validation/linux_tcp/bulk",
    design=design(
        configurations=tuple(
            Configuration(name, label, {"flows.main.sender.congestion_control": CONTROLS[name]})
            for name, label in LABELS.items()
        ),
        factors=(Factor("path", "path", "Path", "", tuple(PATHS), lambda name: PATHS[str(name)].changes),),
        runs=5,
        variants=(
            Variant(
                "no_hystart",
                "slow start without HyStart",
                "An ablation: whether chance in the end of slow start makes CUBIC's runs differ under jitter.",
                {"flows.main.sender.slow_start_exit": "none"},
                runs=5,
            ),
        ),
    ),
    measures=measures_of_criteria(
        BULK_METRICS, JUDGED_BULK, Table(BULK, f"{LINUX}, bulk.csv", lambda _: bulk_table()), LINUX
    ),
    presentation=presentation(
        title="Linux TCP: bulk transfers",
        abstract="Reno, CUBIC and BBR send for 30 or 45 seconds through a bottleneck with a short or long queue, with "
        "random loss, or with jitter that reorders.",
        figures=(
            Figure("Goodput without random loss", LINUX, "", "Goodput, start-up included.", "LT-B1"),
            Figure("Goodput under random loss", LINUX, "", "Goodput, start-up included.", "LT-B2"),
            Figure("Round trip time", LINUX, "", "Smoothed RTT of the sender, mean over time.", "LT-B3"),
        ),
        assumptions=(
            *SAME_EVERYWHERE,
            *assumed(__file__, "linux_tcp_bulk"),
        ),
    ),
)

SHORT_STUDY = Study(
    "validation/linux_tcp/short",
    design=design(
        configurations=tuple(Configuration(name, access.label, access.changes) for name, access in ACCESSES.items()),
        factors=(
            Factor("size", "size_bytes", "Size", "B", SIZES, lambda size: {"flows.main.workload.size": f"{size} B"}),
        ),
        runs=20,
    ),
    measures=measures_of_criteria(
        (TRANSFER_TIME,), SHORT_CRITERIA, Table(SHORT, f"{LINUX}, short_transfers.csv", lambda _: short_table()), LINUX
    ),
    presentation=presentation(
        title="Linux TCP: short transfers",
        abstract="A new CUBIC connection fetches 5 kB to 10 MB, without and with 1 % loss.",
        figures=(
            Figure("Short transfers without loss", LINUX, "", "Median over the repetitions.", "LT-S1"),
            Figure("Short transfers with 1 % loss", LINUX, "", "Median over the repetitions.", "LT-S2"),
        ),
        assumptions=(
            SAME_EVERYWHERE[0],
            SAME_EVERYWHERE[1],
            *assumed(__file__, "linux_tcp_short"),
        ),
    ),
)

PAIRS_STUDY = Study(
    "validation/linux_tcp/pairs",
    design=design(
        scenario=PAIR,
        configurations=tuple(
            Configuration(name, " with ".join(LABELS[control] for control in name.split("-")), pair_changes(name))
            for name in PAIR_NAMES
        ),
        factors=(Factor("starts", "starts", "Start times", "", tuple(STARTS), start_times),),
        engine_changes=both_stacks,
        runs=5,
    ),
    measures=measures_of_criteria(
        PAIR_METRICS, PAIR_CRITERIA, Table(PAIRS, f"{LINUX}, two_flows.csv", lambda _: pair_table()), LINUX
    ),
    presentation=presentation(
        title="Linux TCP: two flows",
        abstract="Two flows share 20 Mbit/s, 20 ms and a queue of 100 packets for two minutes.",
        figures=(Figure("Shares", LINUX, "", "Share of the first flow, mean over the start times.", "LT-P1"),),
        assumptions=(
            *SAME_EVERYWHERE,
            *assumed(__file__, "linux_tcp_pairs"),
        ),
    ),
)

DUAL_CONNECTIVITY_STUDY = Study(
    "validation/linux_tcp/dual_connectivity",
    design=design(
        scenario="scenarios/dual_connectivity.toml",
        configurations=(Configuration("linux", "Linux 7.3.4, and the model", {}),),
        factors=(batch_factor(BATCHES),),
        engines=ALL_ENGINES,
        engine_changes=dual_connectivity_flow,
        runs=5,
        unavailable=(
            Unavailable(
                "published",
                "published testbed (server kernel 5.3)",
                "a testbed with older kernels, TLS and HTTP/2: shown, not compared",
            ),
        ),
    ),
    measures=measures_of_criteria(
        BATCH_METRICS,
        BATCH_CRITERIA,
        Table(
            DUAL_CONNECTIVITY,
            f"{LINUX}, dual_connectivity_batch.csv",
            lambda _: batch_table(),
            (PUBLISHED_BATCHES,),
        ),
        LINUX,
    ),
    presentation=presentation(
        title="Linux TCP: batches of Dual Connectivity",
        abstract="A Reno download of 100 MB over a bearer that is split between two links in batches, as published, "
        "with "
        "the kernel's TCP and with the model.",
        figures=(
            Figure("Throughput over the DC batch size", LINUX, "batch", "Mean and standard deviation over the runs."),
            Figure("Distance from Linux", LINUX, "", "Mean over the runs.", "LT-D1"),
        ),
        assumptions=(
            *SAME_EVERYWHERE[:1],
            SAME_EVERYWHERE[2],
            *assumed(__file__, "linux_tcp_dual_connectivity"),
        ),
        limits=(*LIMITS, "Batches of 2 and 10 packets were measured once in the reference."),
    ),
)

STUDIES = (BULK_STUDY, SHORT_STUDY, PAIRS_STUDY, DUAL_CONNECTIVITY_STUDY)
