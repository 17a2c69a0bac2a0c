"""Random scenarios in the sim lane and on the kernel: how far the TCP model is from Linux without tuning.

Each case is a network and one to four TCP downloads, drawn from the seed of the study (`--seed`). The kernel lane with
the virtual clock runs the same elements with Linux TCP. Whoever changes a mechanism runs the study with a new seed.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from quiclab.lane.run import Lane
from quiclab.libraries import alt
from quiclab.stats import reduced
from quiclab.studies.validation.blind_cases import CASES, Case, draw_case
from quiclab.study import (
    Assumption,
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    Measures,
    Metric,
    Presentation,
    Study,
    Table,
    TextTable,
)
from quiclab.study.criteria import Criterion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.result import RunResult
    from quiclab.study.evaluate import Evaluation
    from quiclab.study.findings import Key

MODEL, KERNEL = "lab-tcp", "kernel-virtual"
SOURCE = "the kernel lane with the virtual clock, the same elements as the network"
RUNS = 2
WORST = 10
GOODPUT, MEDIAN_GOODPUT, ROUND_TRIP_TIME, SHARE = 0.05, 0.005, 0.05, 0.95
FIRST_SEED = 1


def goodput_mbps(result: RunResult) -> float:
    """Return the goodput of all flows from their start to the end of the run, added up [Mbit/s]."""
    end_s = result.data["run"]["network_time_s"]
    flows = result.flows.values()
    return math.fsum(8e-6 * flow.delivered_bytes / (end_s - flow.start_s) for flow in flows if flow.start_s is not None)


def srtt_ms(result: RunResult) -> float:
    """Return the smoothed RTT of the senders, mean over time and flows [ms]."""
    return _mean([result.over_time(f"{name}.sender", "srtt_ms", "mean") for name in result.flows])


def largest_srtt_ms(result: RunResult) -> float:
    """Return the largest smoothed RTT of each sender, mean over the flows [ms]."""
    return _mean([result.over_time(f"{name}.sender", "srtt_ms", "largest") for name in result.flows])


def retransmissions(result: RunResult) -> float:
    """Return the segments sent again, as a share of all [%]."""
    senders = [flow.sender for flow in result.flows.values()]
    sent = math.fsum(sender["packets_sent"] for sender in senders)
    return 100 * math.fsum(sender["retransmitted_packets"] for sender in senders) / sent if sent else math.nan


def fairness(result: RunResult) -> float:
    """Return Jain's index over the goodputs of the flows; 1 for one flow."""
    end_s = result.data["run"]["network_time_s"]
    rates = [
        flow.delivered_bytes / (end_s - flow.start_s) for flow in result.flows.values() if flow.start_s is not None
    ]
    squares = math.fsum(rate * rate for rate in rates)
    return math.fsum(rates) ** 2 / (len(rates) * squares) if squares else math.nan


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


METRIC = Metric("goodput_mbps", "Goodput of all flows", "Mbit/s", goodput_mbps)
FURTHER = (
    Metric("srtt_ms", "Mean smoothed RTT", "ms", srtt_ms),
    Metric("largest_srtt_ms", "Largest smoothed RTT", "ms", largest_srtt_ms),
    Metric("retransmissions_percent", "Segments sent again", "%", retransmissions),
    Metric("jfi", "Jain's fairness index", "", fairness),
)
RELATIVE = {METRIC.name, "srtt_ms", "largest_srtt_ms"}


def differences(evaluation: Evaluation, metric: str, engine: str = MODEL) -> dict[Key, float]:
    """Return the difference of the model from the kernel by case: relative [%], or in the unit of the metric."""
    reference = _means(evaluation.samples(KERNEL, metric=metric))
    return _apart(_means(evaluation.samples(engine, metric=metric)), reference, metric)


def repeatability(evaluation: Evaluation, metric: str) -> dict[Key, float]:
    """Return the difference of the kernel's second run from its first by case: what chance alone makes."""
    runs = {key: values for key, values in evaluation.samples(KERNEL, metric=metric).items() if len(values) > 1}
    first, second = ({key: values[index] for key, values in runs.items()} for index in (0, 1))
    return _apart(second, first, metric)


def _means(samples: Mapping[Key, Sequence[float]]) -> dict[Key, float]:
    return {key: reduced(values, "mean") for key, values in samples.items()}


def _apart(measured: Mapping[Key, float], reference: Mapping[Key, float], metric: str) -> dict[Key, float]:
    def apart(one: float, other: float) -> float:
        if metric not in RELATIVE:
            return one - other
        return 100 * (one / other - 1) if other else math.nan

    found = {key: apart(measured[key], reference[key]) for key in reference if key in measured}
    return {key: value for key, value in found.items() if not math.isnan(value)}


def _quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest magnitude that at least this share of the values has at most."""
    ordered = sorted(map(abs, values))
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def distribution(evaluation: Evaluation, engine: str) -> list[list[str]]:
    """Return the rows of the table of differences, one for each metric and pair."""
    del engine
    rows = []
    for metric in (METRIC, *FURTHER):
        pairs = {
            "model and kernel": differences(evaluation, metric.name),
            "kernel, second and first run": repeatability(evaluation, metric.name),
        }
        for pair, found in pairs.items():
            values = list(found.values())
            unit = "%" if metric.name in RELATIVE else metric.unit or "1"
            cells = [f"{_quantile(values, share):.2g}" for share in (0.5, 0.9, 0.95, 1.0)]
            within = (
                f"{100 * sum(abs(value) <= 5 for value in values) / len(values):.0f} %"
                if values and metric.name in RELATIVE
                else ""
            )
            rows.append([metric.label, pair, str(len(values)), *cells, unit, within])
    return rows


def worst(evaluation: Evaluation, engine: str) -> list[list[str]]:
    """Return the rows of the cases with the largest differences of goodput or RTT."""
    del engine
    cases = _cases(evaluation.study.design.seed)
    goodput, rtt = differences(evaluation, METRIC.name), differences(evaluation, "srtt_ms")
    chance = repeatability(evaluation, METRIC.name)
    order = sorted(goodput.keys() & rtt.keys(), key=lambda key: -max(abs(goodput[key]), abs(rtt[key])))
    return [
        [
            str(key[1]),
            f"{goodput[key]:+.1f} %",
            f"{rtt[key]:+.1f} %",
            f"{chance[key]:+.1f} %" if key in chance else "",
            cases[int(key[1])].description,
            f"quiclab study inspect {evaluation.study.name} --seed {evaluation.study.design.seed} --only case={key[1]}",
        ]
        for key in order[:WORST]
    ]


def curves(metrics: Mapping[str, str]) -> Callable[[Evaluation, str], Any]:
    """Return what draws the share of cases over the magnitude of their difference, for metrics by their label."""

    def draw(evaluation: Evaluation, engine: str) -> Any:
        del engine
        rows = []
        for label, metric in metrics.items():
            for pair, found in (
                ("model and kernel", differences(evaluation, metric)),
                ("kernel, second and first run", repeatability(evaluation, metric)),
            ):
                ordered = sorted(map(abs, found.values()))
                rows += [
                    {
                        "metric": label,
                        "pair": pair,
                        "difference": max(value, 0.01),
                        "share": 100 * (place + 1) / len(ordered),
                    }
                    for place, value in enumerate(ordered)
                ]
        return (
            alt.Chart(alt.InlineData(values=rows))
            .mark_line(interpolate="step-after")
            .encode(
                x=alt.X("difference:Q", scale=alt.Scale(type="log", domain=[0.01, 100]), title="difference [%]"),
                y=alt.Y("share:Q", title="cases with at most this [%]", scale=alt.Scale(domain=[0, 100])),
                color=alt.Color("metric:N", title=None),
                strokeDash=alt.StrokeDash("pair:N", title=None),
            )
        )

    return draw


@cache
def _cases(seed: int) -> dict[int, Case]:
    return {number: draw_case(seed, number) for number in range(1, CASES + 1)}


def _criteria() -> tuple[Criterion, ...]:
    keys: list[Key] = [("tcp", number) for number in range(1, CASES + 1)]
    return (
        Criterion(
            "VB-1",
            "Goodput is within 5 % in at least 95 % of the cases, and within 0.5 % in the median.",
            {},
            dict.fromkeys(keys, GOODPUT),
            median_limit=MEDIAN_GOODPUT,
            share=SHARE,
        ),
        Criterion(
            "VB-2",
            "Mean RTT is within 5 % in at least 95 % of the cases.",
            {},
            dict.fromkeys(keys, ROUND_TRIP_TIME),
            "srtt_ms",
            share=SHARE,
        ),
    )


CRITERIA = _criteria()


def blind(seed: int) -> Study:
    """Return the study with the cases of a seed."""
    return Study(
        "validation/blind",
        design=Design(
            scenario="scenarios/linux_tcp.toml",
            configurations=(Configuration("tcp", "TCP", {}),),
            factors=(
                Factor(
                    "case",
                    "case",
                    "Case",
                    "",
                    tuple(range(1, CASES + 1)),
                    lambda number: _cases(seed)[int(number)].changes,
                ),
            ),
            engines=(Engine(MODEL), Engine(KERNEL, lane=Lane(clock="virtual"), stacks={MODEL: "linux"})),
            engine_changes=lambda _: {},
            runs=RUNS,
            seed=seed,
        ),
        measures=Measures(
            metric=METRIC,
            further=FURTHER,
            table=Table("", SOURCE, engine=KERNEL),
            criteria=CRITERIA,
            claims=tuple(item.claim(SOURCE) for item in CRITERIA),
        ),
        presentation=Presentation(
            title="Random scenarios: the TCP model and Linux",
            abstract=f"{CASES} networks and one to four TCP downloads each, drawn at random: Reno, CUBIC and BBR over "
            "links of 1 to 200 Mbit/s with round trip times of 2 to 600 ms, queues of 0.1 to 10 bandwidth-delay "
            "products, queue disciplines, loss, jitter, and split bearers; in the sim lane and on the kernel with the "
            "virtual clock.",
            source="quiclab: no publication",
            figures=(
                Figure(
                    "Distribution of the differences",
                    SOURCE,
                    "",
                    "Share of the cases over the magnitude of the difference, of means over the runs; dashed: two "
                    "runs of the kernel, which is what chance makes.",
                    draw=curves({"goodput": METRIC.name, "mean RTT": "srtt_ms", "largest RTT": "largest_srtt_ms"}),
                ),
                Figure("Goodput", SOURCE, "", "Mean over the runs.", "VB-1", pairs=True),
                Figure("Mean RTT", SOURCE, "", "Mean over time, flows and runs.", "VB-2", pairs=True),
            ),
            text_tables=(
                TextTable(
                    "Differences",
                    ("metric", "of", "cases", "median", "90 %", "95 %", "largest", "unit", "within 5 %"),
                    distribution,
                ),
                TextTable(
                    f"The {WORST} largest differences",
                    (
                        "case",
                        "goodput",
                        "mean RTT",
                        "goodput, kernel's second and first run",
                        "scenario",
                        "packets of both",
                    ),
                    worst,
                ),
            ),
            assumptions=(
                Assumption(
                    "Both lanes have the same elements with the same seeds.",
                    "What differs is TCP alone: losses and delays are drawn alike, packet by packet.",
                ),
                Assumption(
                    "Socket buffers are limited to 4 MiB (sender) and 6 MiB (receiver) in both lanes.",
                    "The kernel's own limits depend on the memory of the machine, which is small in the guest.",
                ),
            ),
            limits=(
                "Many cases are sensitive to small differences: the kernel's two runs, which differ in the seed, are "
                "as far apart as the table says.",
                "The guest has an infinitely fast CPU, and so has the model.",
            ),
        ),
        drawn=blind,
    )


STUDY = blind(FIRST_SEED)
STUDIES = (STUDY,)
