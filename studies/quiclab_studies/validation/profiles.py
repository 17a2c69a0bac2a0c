"""Random scenarios in which senders differ most: how far the profiles of lab-quic are from their stacks.

A case is a network with a limiter, the loss of the end of a short file, a path that is silent for a while, or few
acknowledgements that arrive, drawn from the seed of the study. A stack in the process of the simulation and lab-quic
with its profile go through the same network. Every case has several seeds and an uneven delay of acknowledgements: one
course of a system that small differences change is no distribution.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import TYPE_CHECKING

from quiclab.study import (
    Design,
    Engine,
    Figure,
    Metric,
    Presentation,
    Study,
    Table,
)
from quiclab.study.criteria import Criterion
from quiclab_studies.declarations import measures_of_criteria, numbered_cases
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.blind import goodput_mbps, srtt_ms
from quiclab_studies.validation.blind_views import Views
from quiclab_studies.validation.lab_quic import QUINN_CERTIFICATE_BYTES
from quiclab_studies.validation.lab_quic_chains import lab_quic
from quiclab_studies.validation.lanes import DATAGRAM, QUIC, QUIC_STACKS

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study import Changes
    from quiclab.study.findings import Key

STACK, PROFILE = "stack", "lab-quic"
SOURCE = "the stacks themselves, in the process of the simulation"
KINDS = ("limiter", "tail", "silence", "thinning")
CASES, RUNS, FIRST_SEED = 24, 5, 1
GOODPUT, SHARE = 0.10, 0.75
#: Profile of each stack's release, and the length of certificates that gives the Handshake CRYPTO measured in the
#: process: 634 B with quinn, 613 B with aioquic 1.7.2.
PROFILES = {"quinn": ("quinn", QUINN_CERTIFICATE_BYTES), "aioquic": ("aioquic-1.7.2", 359)}
#: The adapter of aioquic waits as asyncio does, in whole milliseconds of epoll; quinn's timers are exact.
HOSTS: dict[str, dict[str, object]] = {"quinn": {}, "aioquic": {"timer_resolution": "1 ms"}}
#: Rates, RTTs and queues are uniform in their logarithm; the burst of a limiter and short files are in packets; where
#: few acknowledgements arrive, so many are lost.
RATE_MBPS, RTT_MS, QUEUE_BDP = (5.0, 50.0), (20.0, 400.0), (0.3, 3.0)
BURST_PACKETS, TAIL_PACKETS, SILENCE_S, ACK_LOSS_PERCENT = (4, 40), (5, 60), (0.5, 6.0), (30.0, 90.0)
FRAME_BYTES, SECONDS = 1322, 20


def kind(number: int) -> str:
    """Return what a case is about."""
    return KINDS[(number - 1) % len(KINDS)]


@cache
def case(seed: int, number: int) -> dict[str, object]:
    """Return what turns `scenarios/lanes.toml` into case `number` of a seed."""
    draw = random.Random(f"profiles/{seed}/{number}")  # noqa: S311 - no secret

    def between(limits: tuple[float, float]) -> float:
        return float(f"{math.exp(draw.uniform(math.log(limits[0]), math.log(limits[1]))):.3g}")

    rate, rtt = between(RATE_MBPS), between(RTT_MS)
    queue = max(10, round(1e3 * rate * rtt / (8 * FRAME_BYTES) * between(QUEUE_BDP)))
    half = f"{rtt / 2:g} ms"
    bottleneck: dict[str, object] = {
        "rate": f"{rate:g} Mbit/s",
        "overhead_per_packet": "14 B",
        "queue": {"kind": "drop_tail", "packets": queue},
    }
    back: dict[str, object] = {"delay": {"mean": half, "deviation": "1 ms", "distribution": "normal", "reorder": False}}
    changes: dict[str, object] = {
        "duration": f"{SECONDS} s",
        "until": "duration_over",
        "flows.main.workload": {"kind": "download", "duration": f"{SECONDS} s"},
        "flows.main.sender.congestion_control": draw.choice(("newreno", "cubic")),
        "record": {"series_interval": "10 ms"},
    }
    about = kind(number)
    if about == "limiter":
        burst = draw.randint(*BURST_PACKETS) * FRAME_BYTES
        bottleneck["policer"] = {"rate": f"{2.5 * rate:g} Mbit/s", "burst": f"{burst} B"}
    elif about == "tail":
        bottleneck["loss"] = f"{between((2.0, 15.0)):g} %"
        changes["flows.main.workload"] = {"kind": "download", "size": f"{draw.randint(*TAIL_PACKETS) * 1200} B"}
        changes["until"] = "workloads_done"
    elif about == "silence":
        start, length = draw.uniform(3.0, 8.0), between(SILENCE_S)
        rows = [{"at": "0 s"}, {"at": f"{start:.3f} s", "up": False}, {"at": f"{start + length:.3f} s", "up": True}]
        bottleneck["conditions"] = {"at_end": "hold", "while_down": "lose", "rows": rows}
    else:
        back["loss"] = f"{between(ACK_LOSS_PERCENT):g} %"
    return {**changes, "links": {"bottleneck": bottleneck, "far": {"delay": half}, "back": back}}


def as_profile(changes: Changes) -> Changes:
    """Return the changes of a setting with lab-quic and the profile of its stack."""
    stack = str(changes["flows.main.stack"])
    profile, certificate_bytes = PROFILES[stack]
    host = {"hosts": {"loop": HOSTS[stack]}, **{f"flows.main.{end}.host": "loop" for end in ("sender", "receiver")}}
    return {**changes, **lab_quic("main", profile, certificate_bytes), **(host if HOSTS[stack] else {})}


def speed_mbps(result: RunResult) -> float:
    """Return the goodput; of a file from the start of its download to its end [Mbit/s]."""
    flow = result.flows["main"]
    return flow.goodput_mbps if flow.completed else goodput_mbps(result)


METRICS = (
    Metric("goodput_mbps", "Goodput", "Mbit/s", speed_mbps),
    Metric("srtt_ms", "Mean smoothed RTT", "ms", srtt_ms),
)


def _described(seed: int, key: Key) -> str:
    return f"{key[0]}: {kind(int(key[1]))}, {case(seed, int(key[1]))['links']}"


VIEWS = Views(PROFILE, STACK, METRICS, frozenset(metric.name for metric in METRICS), _described)


_KEYS: list[Key] = [(name, number) for name in QUIC for number in range(1, CASES + 1)]


CRITERIA = (
    Criterion(
        "VP-1",
        f"Mean goodput is within 10 % of the stack's in at least three quarters of the cases, of {RUNS} runs each.",
        {},
        dict.fromkeys(_KEYS, GOODPUT),
        share=SHARE,
    ),
)


def profiles(seed: int) -> Study:
    """Return the study with the cases of a seed."""
    return Study(
        "validation/profiles",
        design=Design(
            scenario="scenarios/lanes.toml",
            configurations=QUIC_STACKS,
            factors=(numbered_cases(CASES, lambda number: case(seed, number)),),
            engines=(Engine(PROFILE, changes=as_profile), Engine(STACK, needs="quinn")),
            runs=RUNS,
            seed=seed,
        ),
        measures=measures_of_criteria(METRICS, CRITERIA, Table("", SOURCE, engine=STACK)),
        presentation=Presentation(
            title="Random scenarios: profiles and their stacks",
            abstract=f"{CASES} networks drawn at random, with a download by quinn and one by aioquic each, "
            "and the same with lab-quic and their profiles: limiters with short buckets, losses at the end of short "
            "files, paths that are silent for a while, few acknowledgements that arrive.",
            source="quiclab: no publication",
            figures=(
                VIEWS.figure(SOURCE, "cases", "the stacks"),
                Figure("Goodput", SOURCE, "", "Mean over the runs.", "VP-1", pairs=True),
            ),
            text_tables=VIEWS.tables,
            assumptions=assumed(__file__, "profiles", datagram=DATAGRAM),
            limits=("A pause of the application is no case: the workloads of these stacks have none.",),
        ),
        drawn=profiles,
    )


STUDY = profiles(FIRST_SEED)
STUDIES = (STUDY,)
