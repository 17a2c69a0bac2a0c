"""Experiments F0 to F8: the bearer's flow with a single-connectivity flow on each link, for 180 s."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from quiclab.result import RunResult
from quiclab.study import Changes, Engine, Factor, Figure, Measures, Metric, Study, Table, Value, Variant
from quiclab.study.criteria import Criterion
from quiclab.study.published import read_published
from quiclab_studies.dual_connectivity.alone import (
    BANDWIDTH,
    BATCH,
    DELAY_HIGH,
    DELAY_LOW,
    DUPLICATED,
    EXACT_SPLIT,
    LOSS,
    MATCHED,
    SHARE,
    rows_where,
)
from quiclab_studies.dual_connectivity.common import (
    ASSUMPTIONS,
    FLOWS,
    LARGE_BUFFER,
    PAPER,
    PROXIES,
    REFERENCE,
    THESIS,
    VARIANTS,
    describe,
    design,
    file_over,
    lowercase_title,
    presentation,
    quic_flow,
)
from quiclab_studies.reductions import jain, series
from quiclab_studies.remarks import assumed

SECONDS = 180
SHARE_LIMIT = 2.0
LINKS = {"dc": "dc", "sc1": "sc1", "sc2": "sc2"}


def three(engine: str, impl: str = "aioquic", control: str = "newreno") -> Changes:
    """Run the bearer's flow, and one over each link; all are numbered and put in order, as by the proxies."""
    changes: dict[str, object] = {**PROXIES, "duration": f"{SECONDS} s"}
    for flow, link in (("sc1", "down1"), ("sc2", "down2")):
        changes[f"bearers.{flow}"] = {"links": [link], "reordering": {"timer": "200 ms", "sequence_bits": 16}}
    for flow in FLOWS:
        changes[f"flows.{flow}"] = {**quic_flow(engine, flow, impl, control), "workload": file_over("quic", "1 GB")}
    return {**changes, "until": "duration_over"}


def delivered_mbps(result: RunResult, flow: Value) -> float:
    """Application throughput of a flow over the run [Mbit/s]."""
    return 8 * result.flows[str(flow)].delivered_bytes / result.network_time_s / 1e6


def interface_mbps(result: RunResult, flow: Value) -> float:
    """Rate of a flow over both links with duplicates [Mbit/s of IP packets], as measured by the sources."""
    received = result.elements[f"{flow}.egress"]["received"]["bytes"]
    return float(8 * received / result.network_time_s / 1e6)


Rate = Callable[[RunResult, Value], float]


def share_of(rate: Rate) -> Callable[[RunResult, Value], float]:
    """Share of a flow in the total [%]."""
    return lambda result, flow: 100 * rate(result, flow) / math.fsum(rate(result, name) for name in FLOWS)


def index_of(rate: Rate) -> Callable[[RunResult], float]:
    """Jain's index of the three flows."""
    return lambda result: jain([rate(result, name) for name in FLOWS])


def max_min(result: RunResult, rate: Rate) -> float:
    """Least throughput relative to what each of three flows would have of an equal division."""
    rates = [rate(result, name) for name in FLOWS]
    return min(rates) / (math.fsum(rates) / len(rates))


def proportional(result: RunResult, rate: Rate) -> float:
    """Geometric over arithmetic mean of the throughputs: 1 where the sum of logarithms could not be larger."""
    rates = [rate(result, name) for name in FLOWS]
    return math.exp(math.fsum(math.log(value) for value in rates) / len(rates)) / (math.fsum(rates) / len(rates))


def metrics(rate: Rate) -> tuple[Metric, ...]:
    """Return throughput, Jain's index, share of each flow, and the further indices."""
    return (
        Metric("throughput_mbps", "Throughput", "Mbit/s", rate, of="flow"),
        Metric("jfi", "Jain's fairness index", "", index_of(rate)),
        Metric("share_percent", "Share of the total", "%", share_of(rate), of="flow"),
        Metric(
            "max_min_share", "Least throughput over the mean of the three", "", lambda result: max_min(result, rate)
        ),
        Metric(
            "proportional_fairness",
            "Geometric over arithmetic mean of the throughputs",
            "",
            lambda result: proportional(result, rate),
        ),
    )


def unique_mbps(result: RunResult, flow: Value) -> float:
    """Rate of a flow's packets behind the bearer, copies counted once [Mbit/s of IP packets]."""
    return float(8 * result.elements[f"{flow}.egress"]["sent"]["bytes"] / result.network_time_s / 1e6)


GOODPUT = Metric("goodput_mbps", "Goodput of the application", "Mbit/s", delivered_mbps, of="flow")
"""What the rate at the interfaces is worth where both copies of a packet count."""
UNIQUE = Metric("unique_mbps", "Rate without copies", "Mbit/s", unique_mbps, of="flow")


FLOW = Factor("flow", "flow", "Flow", "", FLOWS, None)
FAIRNESS_ASSUMPTIONS = (
    *ASSUMPTIONS,
    *assumed(__file__, "fairness"),
)
FAIRNESS_VARIANTS = (
    Variant(
        "staggered",
        "started one second apart",
        "The sources do not give the order of starts: here link 1, then link 2, then the bearer.",
        {"flows.sc2.start": "1 s", "flows.dc.start": "2 s"},
        runs=3,
    ),
    Variant(
        "window_200s",
        "measured over 200 s",
        "The totals look as if the volume of 180 s had been divided by 200 s; the shares do not depend on it.",
        {"duration": "200 s"},
        runs=3,
    ),
    Variant(
        "unordered_single",
        "single connectivity without PDCP",
        "Whether the flows on one link wait for their lost packets depends on a switch of the proxies.",
        {"bearers.sc1.reordering.enabled": False, "bearers.sc2.reordering.enabled": False},
        runs=3,
    ),
    Variant(
        "second_uplink",
        "an uplink on link 2",
        "The uplink of link 2 is not described.",
        {
            "links.up2": {
                "rate": "20 Mbit/s",
                "overhead_per_packet": "14 B",
                "queue": {"kind": "drop_tail", "packets": 10000},
                "delay": {"mean": "10 ms", "deviation": "1 ms", "distribution": "normal", "reorder": True},
            },
            "flows.sc2.up": ["up2"],
        },
        runs=3,
    ),
)


def published(column: str, **wanted: str) -> Callable[[Path], Sequence[Mapping[str, str]]]:
    """Read a table of three flows over a column, with the share of each flow in the total of its run.

    Parameters
    ----------
    column
        The column that the runs differ in.
    **wanted
        Values of columns that the rows have; default: all rows.
    """

    def read(path: Path) -> Sequence[Mapping[str, str]]:
        rows = rows_where(**wanted)(path)
        totals: dict[str, float] = {}
        for row in rows:
            totals[row[column]] = totals.get(row[column], 0.0) + float(row["throughput_mbps_mean"])
        return [
            {**row, **{f"share_percent_{end}": percent(row, end, totals[row[column]]) for end in ("mean", "std")}}
            for row in rows
        ]

    return read


def table(number: str, file: str, factor: Factor, **wanted: str) -> Table:
    """Return a published table of three flows over a factor, or those of its rows that have these values."""
    return Table(f"{REFERENCE}/table_{file}.csv", f"{THESIS}, Table {number}", published(factor.column, **wanted))


def percent(row: Mapping[str, str], end: str, total_mbps: float) -> str:
    """Write mean or deviation of a flow's throughput as a part of the total of the means."""
    return str(100 * float(row[f"throughput_mbps_{end}"]) / total_mbps)


def shares_within(identity: str, study: Study) -> Study:
    """Add the criterion that each flow's share is within two percentage points of the published one."""
    rows = read_published(replace(study, file=Path(__file__)), "share_percent")
    reference = {row.key: row.summary.mean for row in rows}
    criterion = Criterion(
        identity,
        "The share of each flow in the total is within 2 percentage points of the published one.",
        reference,
        dict.fromkeys(reference, SHARE_LIMIT),
        metric="share_percent",
        relative=False,
    )
    figure = Figure(
        title="Share of each flow: difference from the publication",
        source=study.measures.table.source,
        x="",
        caption="",
        criterion=identity,
    )
    return replace(
        study,
        measures=replace(study.measures, criteria=(criterion,)),
        presentation=replace(study.presentation, figures=(*study.presentation.figures, figure)),
    )


def experiment(
    name: str,
    title: str,
    abstract: str,
    factor: Factor | None,
    figure: str,
    table: Table | None = None,
    rate: Rate = delivered_mbps,
    further: tuple[Metric, ...] = (),
    variants: tuple[Variant, ...] = (),
    **constants: str | int,
) -> Study:
    """Return one of the experiments; `constants` are columns of all of its rows."""
    main, *indices = metrics(rate)
    swept = () if factor is None else (factor,)
    over = "" if factor is None else f" over the {lowercase_title(factor.label)}"
    x = FLOW.name if factor is None else factor.name
    return Study(
        f"dual_connectivity/{name}",
        design=design(
            configurations=(LARGE_BUFFER,),
            factors=(*swept, FLOW),
            engines=(Engine("lab-quic"), Engine("quinn", runs=3), Engine("noq", runs=3)),
            engine_changes=three,
            variants=(*VARIANTS, *FAIRNESS_VARIANTS, *variants),
        ),
        measures=Measures(
            metric=main,
            further=(*indices, *further),
            table=table or Table("", figure),
            scored="share_percent",
        ),
        presentation=presentation(
            title=f"Dual Connectivity, three flows: {title}",
            abstract=abstract,
            figures=(
                Figure(
                    title=f"Throughput of the flows{over}",
                    source=figure,
                    x=x,
                    caption="Mean and standard deviation over the runs of 180 s; dc: the flow over the bearer, "
                    "sc1 and sc2: the flows with link 1 and link 2 alone.",
                ),
                Figure(
                    title=f"Jain's fairness index{over}",
                    source=figure,
                    x=x,
                    caption="Mean and standard deviation over the runs of 180 s.",
                    metric="jfi",
                ),
            ),
            assumptions=FAIRNESS_ASSUMPTIONS,
            describe=lambda scenario, labels: {**describe_run(scenario, labels), **constants},
        ),
    )


def describe_run(scenario: Mapping[str, object], labels: Mapping[str, Value]) -> dict[str, object]:
    """Return the columns of the published fairness tables for a setting."""
    columns = describe(scenario, labels)
    flow = str(labels["flow"])
    return {
        **columns,
        "duration_s": SECONDS,
        "flow": flow,
        "flow_links": {"dc": "1+2", "sc1": "1", "sc2": "2"}[flow],
        "counts_both_copies": bool(columns["duplicate"]) and flow == "dc",
    }


def per_second_mbps(result: RunResult, flow: str) -> list[float]:
    """Rate of a flow behind the client's proxy, second by second [Mbit/s of IP packets]."""
    values = series(result, f"{flow}.egress", "sent_bytes").sort("time_s")["value"].to_list()
    return [8 * (after - before) / 1e6 for before, after in itertools.pairwise(values)]


def rates_by_second(result: RunResult) -> list[list[float]]:
    """Rate of each flow behind the client's proxies, second by second [Mbit/s of IP packets]."""
    return [per_second_mbps(result, flow) for flow in FLOWS]


def windowed_jfi(result: RunResult, window_s: int) -> float:
    """Mean of Jain's index of the flows over windows of some seconds."""
    rates = rates_by_second(result)
    starts = range(0, len(rates[0]) - window_s + 1, window_s)
    indices = [jain([math.fsum(rate[start : start + window_s]) for rate in rates]) for start in starts]
    return math.fsum(indices) / len(indices)


def time_below(result: RunResult) -> float:
    """Share of the seconds in which the bearer's flow has less than a third of the total."""
    seconds = list(zip(*rates_by_second(result), strict=True))
    below = [second[0] < math.fsum(second) / len(second) for second in seconds]
    return below.count(True) / len(below)


def watched(study: Study) -> Study:
    """Sample a study's flows every second, and measure how they differ for a while."""
    windows = tuple(
        Metric(
            f"windowed_jfi_{seconds}s",
            f"Mean of Jain's index over windows of {seconds} s",
            "",
            lambda result, window=seconds: windowed_jfi(result, window),
        )
        for seconds in (5, 30, 180)
    )
    below = Metric("time_share_below", "Time in which the bearer's flow has less than a third", "", time_below)
    sampled = {"record.series_interval": "1 s"}
    return replace(
        study,
        design=replace(study.design, engine_changes=lambda engine: {**three(engine), **sampled}, variants=()),
        measures=replace(
            study.measures, further=(*study.measures.further, *windows, below), kept_series=("sent_bytes",)
        ),
    )


FAIRNESS = (
    watched(
        experiment(
            "fairness_default",
            "default point",
            "Default point, with time series. Published: the three flows share almost perfectly, with differences "
            "that last up to half a minute.",
            None,
            f"{THESIS}, Fig. 5.14d",
        )
    ),
    shares_within(
        "DC-F1",
        experiment(
            "fairness_batch_size",
            "batch size",
            "Published: the flow over the bearer pays for batches of 150 packets and more; the others gain.",
            BATCH,
            f"{THESIS}, Fig. 5.15; {PAPER}, Fig. 5a",
            table("5.8", "5_08_fairness_batch_size", BATCH),
        ),
    ),
    shares_within(
        "DC-F2",
        experiment(
            "fairness_share",
            "share of the links",
            "Published: fairest at the even split; with all packets on one link two flows share that link.",
            SHARE,
            f"{THESIS}, Fig. 5.16; {PAPER}, Fig. 8a",
            table("5.9", "5_09_fairness_dc_ratio", SHARE),
        ),
    ),
    shares_within(
        "DC-F3",
        experiment(
            "fairness_bandwidth_ratio",
            "rate ratio, fixed split",
            "The links share 40 Mbit/s unevenly while the split stays even. Published: the flow over the bearer "
            "follows the slower link.",
            BANDWIDTH,
            f"{THESIS}, Fig. 5.17a; {PAPER}, Fig. 8b",
            table("5.10", "5_10_fairness_bandwidth_ratio", BANDWIDTH, split_mode="fixed_1_to_1"),
            split_mode="fixed_1_to_1",
        ),
    ),
    shares_within(
        "DC-F4",
        experiment(
            "fairness_bandwidth_ratio_matched",
            "rate ratio, matched split",
            "The links share 40 Mbit/s unevenly, and the split follows in the printed whole percentages.",
            MATCHED,
            f"{THESIS}, Fig. 5.17b; {PAPER}, Fig. 8c",
            table("5.10", "5_10_fairness_bandwidth_ratio", MATCHED, split_mode="matched_to_bandwidth"),
            variants=(EXACT_SPLIT,),
            split_mode="matched_to_bandwidth",
        ),
    ),
    shares_within(
        "DC-F5",
        experiment(
            "fairness_delay_ratio_low",
            "delay ratio, 20 ms together",
            "The links share 20 ms of delay unevenly. Published: it hardly matters.",
            DELAY_LOW,
            f"{THESIS}, Fig. 5.18a; {PAPER}, Fig. 10a",
            table("5.11", "5_11_fairness_delay_ratio", DELAY_LOW, delay_sum_ms="20"),
            delay_sum_ms=20,
        ),
    ),
    shares_within(
        "DC-F6",
        experiment(
            "fairness_delay_ratio_high",
            "delay ratio, 200 ms together",
            "The links share 200 ms of delay unevenly. Published: the flow over the bearer pays.",
            DELAY_HIGH,
            f"{THESIS}, Fig. 5.18b; {PAPER}, Fig. 10b",
            table("5.11", "5_11_fairness_delay_ratio", DELAY_HIGH, delay_sum_ms="200"),
            delay_sum_ms=200,
        ),
    ),
    shares_within(
        "DC-F7",
        experiment(
            "fairness_loss",
            "random loss",
            "Each downlink loses packets at random. Published: it hardly matters.",
            LOSS,
            f"{THESIS}, Fig. 5.19a; {PAPER}, Fig. 10c",
            table("5.12", "5_12_fairness_random_loss", LOSS, duplicate="false"),
        ),
    ),
    shares_within(
        "DC-F8",
        experiment(
            "fairness_loss_duplicated",
            "random loss, duplicated packets",
            "The bearer sends every packet over both links, each of which loses packets at random. Rates are those at "
            "the links: of the bearer's flow both copies count.",
            DUPLICATED,
            f"{THESIS}, Fig. 5.19b; {PAPER}, Fig. 11b",
            table("5.12", "5_12_fairness_random_loss", DUPLICATED, duplicate="true"),
            rate=interface_mbps,
            further=(GOODPUT, UNIQUE),
        ),
    ),
)
