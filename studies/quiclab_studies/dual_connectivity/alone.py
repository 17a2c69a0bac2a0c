"""Experiments T1 to T9: one download over the bearer, one factor at a time, in three configurations."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quiclab.result import RunResult
from quiclab.scenario.quantity import bits_per_second
from quiclab.study import Changes, Engine, Factor, Figure, Measures, Metric, Model, Study, Table, Value, Variant
from quiclab.study.published import csv_rows
from quiclab_studies.declarations import batch_factor
from quiclab_studies.dual_connectivity.common import (
    CONFIGURATIONS,
    ENGINES,
    LINUX,
    PAPER,
    PROXIES_MS,
    QUEUE_300,
    REFERENCE,
    THESIS,
    VARIANTS,
    delays,
    describe,
    design,
    loss,
    lowercase_title,
    no_pacer,
    presentation,
    rates,
    split,
    split_by_ratio,
    variant,
)
from quiclab_studies.dual_connectivity.model import estimate

RATIOS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
SHARES = tuple(range(0, 101, 10))
BATCHES = (2, 10, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500)
SIZES_MB = (10, *range(100, 1001, 100))
LOSSES = tuple(round(0.01 * step, 2) for step in range(21))
DUPLICATED_LOSSES = tuple(round(0.2 * step, 1) for step in range(26))
MATCHED_SHARES = dict(zip(RATIOS, (50, 60, 67, 71, 75, 78, 80, 82, 83), strict=True))


def throughput_mbps(result: RunResult) -> float:
    """File bits divided by the download time, as the sources define it [Mbit/s]; NaN if it did not finish."""
    flow = result.flows["dc"]
    return 8 * flow.delivered_bytes / flow.download_time_s / 1e6 if flow.download_time_s else math.nan


def socket_drops(result: RunResult) -> float:
    """Datagrams dropped at the client's socket; TCP has no host that could."""
    return float(result.flows["dc"].receiver.get("receive_buffer_drops", 0.0))


def unique_loss_share(result: RunResult) -> float:
    """Share of the numbers given out of which no copy arrived, without those that overflowed both queues.

    Both links get the same packets, so that one that finds a queue full mostly finds the other full, too: as many as
    the queue with fewer drops has dropped do not count.
    """
    statistics, sent = result.elements["dc.egress"]["statistics"], result.elements["dc.ingress"]["received"]["packets"]
    overflows = min(result.elements[link]["statistics"]["dropped_queue_full_packets"] for link in ("down1", "down2"))
    return float((statistics["skipped_packets"] - statistics["late_packets"] - overflows) / sent)


def expiries(result: RunResult) -> float:
    """How often t-Reordering expired."""
    return float(result.elements["dc.egress"]["statistics"]["timer_expiries"])


def queue_drops(result: RunResult) -> float:
    """Packets that found the queue of a link full."""
    return float(sum(result.elements[link]["statistics"]["dropped_queue_full_packets"] for link in ("down1", "down2")))


THROUGHPUT = Metric("throughput_mbps", "Throughput", "Mbit/s", throughput_mbps)
DROPS = Metric("rcvbuf_errors", "Datagrams dropped at the socket", "", socket_drops)
EXPIRIES = Metric("timer_expiries", "Expiries of t-Reordering", "", expiries)
OVERFLOWS = Metric("queue_drops", "Packets that found a queue full", "", queue_drops)
UNIQUE_LOSS = Metric("unique_loss_share", "Packets of which no copy arrived", "", unique_loss_share)


def rows_where(**wanted: str) -> Callable[[Path], Sequence[Mapping[str, str]]]:
    """Read the rows of a published table that have these values."""

    def read(path: Path) -> Sequence[Mapping[str, str]]:
        return [row for row in csv_rows(path) if all(row[column] == value for column, value in wanted.items())]

    return read


def file_of(size_mb: Value) -> Changes:
    """Download a file of this size."""
    return {"flows.dc.workload.size": f"{size_mb} MB"}


def duplicated(percent: Value) -> Changes:
    """Send every packet over both links, and lose packets of each at random."""
    return {"bearers.dc": bearer("duplicate"), **loss(percent)}


def bearer(mode: str) -> dict[str, object]:
    """Return the bearer of the scenario with another mode; duplication has neither batches nor shares."""
    return {
        "links": ["down1", "down2"],
        "mode": mode,
        "reordering": {"timer": "200 ms", "sequence_bits": 16},
    }


def described(**constants: str | int) -> Callable[[Mapping[str, Any], Mapping[str, Value]], Mapping[str, object]]:
    """Return the columns of a setting, with those that an experiment has in all of its rows."""
    return lambda scenario, labels: {**describe(scenario, labels), **constants}


def estimated(name: str) -> Callable[[str, Mapping[str, Value]], float | None]:
    """Return the analytical estimate of an experiment, from configuration and value of its factor by column."""

    def estimate_at(configuration: str, values: Mapping[str, Value]) -> float | None:
        value = float(next(iter(values.values())))
        return estimate(configuration, uplink_delay_ms=10.0 + PROXIES_MS, **parameters_at(name, value))

    return estimate_at


def parameters_at(name: str, value: float) -> dict[str, float | bool]:
    """Return the parameters of the model in a setting of an experiment."""
    if name.startswith("bandwidth_ratio"):
        first, second = split_by_ratio(value, 40.0)
        matched = {"share_percent": float(MATCHED_SHARES[value])} if name.endswith("matched") else {}
        return {"rate_1_mbps": first, "rate_2_mbps": second, **matched}
    if name.startswith("delay_ratio"):
        first, second = split_by_ratio(value, 20.0 if name.endswith("low") else 200.0)
        return {"delay_1_ms": first, "delay_2_ms": second}
    if name.startswith("loss"):
        copied = {"duplicate": True} if name.endswith("duplicated") else {}
        return {"loss_1_percent": value, "loss_2_percent": value, **copied}
    return {{"file_size": "file_mb", "batch_size": "batch_packets", "share": "share_percent"}[name]: value}


def experiment(
    name: str,
    title: str,
    abstract: str,
    factor: Factor,
    table: Table,
    figure: str,
    caption: str,
    further: tuple[Metric, ...] = (),
    variants: tuple[Variant, ...] = (),
    kernel: tuple[Engine, ...] = (),
    **constants: str | int,
) -> Study:
    """Return one of the experiments."""
    return Study(
        f"dual_connectivity/{name}",
        design=design(
            configurations=CONFIGURATIONS,
            factors=(factor,),
            engines=(*ENGINES, *kernel),
            variants=(*VARIANTS, *variants),
        ),
        measures=Measures(
            metric=THROUGHPUT,
            further=(DROPS, EXPIRIES, OVERFLOWS, *further),
            table=table,
            model=Model("model", "docs/studies/dual_connectivity_model.md", estimated(name)),
        ),
        presentation=presentation(
            title=f"Dual Connectivity: {title}",
            abstract=abstract,
            figures=(
                Figure(
                    title=f"Throughput over the {lowercase_title(factor.label)}",
                    source=figure,
                    x=factor.name,
                    caption=caption,
                ),
            ),
            describe=described(**constants),
        ),
    )


def table(number: str, file: str, **wanted: str) -> Table:
    """Return a published table, or those of its rows that have these values."""
    read = rows_where(**wanted) if wanted else None
    return Table(f"{REFERENCE}/table_{file}.csv", f"{THESIS}, Table {number}", read)


def ratio(column: str, label: str, changes: Callable[[Value], Changes]) -> Factor:
    """Return a ratio of link 1 to link 2 as a factor."""
    return Factor("ratio", column, label, "", RATIOS, changes)


BATCH = batch_factor(BATCHES)
SHARE = Factor("share", "link1_share_percent", "Share of packets on link 1", "%", SHARES, split)
BANDWIDTH = ratio("bandwidth_ratio_link1_to_link2", "Ratio of the link rates", rates)
MATCHED = ratio(
    "bandwidth_ratio_link1_to_link2",
    "Ratio of the link rates",
    lambda value: {**rates(value), **split(MATCHED_SHARES[float(value)])},
)
DELAY_LOW = ratio("delay_ratio_link1_to_link2", "Ratio of the link delays", lambda value: delays(value, 20.0))
DELAY_HIGH = ratio("delay_ratio_link1_to_link2", "Ratio of the link delays", lambda value: delays(value, 200.0))
LOSS = Factor("loss", "loss_percent_per_link", "Random loss of each link", "%", LOSSES, loss)
DUPLICATED = Factor("loss", "loss_percent_per_link", "Random loss of each link", "%", DUPLICATED_LOSSES, duplicated)
EXACT_SPLIT = Variant(
    "exact_split",
    "exact fractions",
    "The split follows the exact ratio of the rates, not the printed whole percentages: a share is rounded up to "
    "packets.",
    lambda changes: {**changes, "bearers.dc.shares": [rate_of(changes, "down1"), rate_of(changes, "down2")]},
    runs=3,
)

NO_PACER = variant(
    "no_pacer",
    "QUIC without pacer",
    "Some experiments were repeated with aioquic's pacer switched off.",
    no_pacer,
)


def printed_spread(changes: Changes) -> Changes:
    """Give both downlinks the spread of the printed command, whatever their delay."""
    edited = dict(changes)
    for link in ("down1", "down2"):
        found = edited[f"links.{link}.delay"]
        edited[f"links.{link}.delay"] = {**found, "deviation": "1 ms"}  # type: ignore[dict-item]
    return edited


PRINTED_SPREAD = variant(
    "spread_1ms",
    "delays with a deviation of 1 ms",
    "The text says a tenth of the mean, the only printed command has 1 ms: with a tenth, QUIC differs from run to run "
    "by several Mbit/s, without any by a tenth of one. A ping through the testbed's link would decide.",
    printed_spread,
)


def better_link(link: int, quantity: str) -> Variant:
    """Return the download over one link alone, through the same proxies: that which is better at all ratios."""
    return variant(
        "better_link",
        f"link {link} alone",
        f"Single connectivity on the link with the {quantity}: what the bearer has to beat.",
        {"bearers.dc.shares": [100, 0] if link == 1 else [0, 100]},
    )


LOWER_DELAY, HIGHER_RATE = better_link(2, "lower delay"), better_link(1, "higher rate")


def rate_of(changes: Changes, link: str) -> int:
    """Return the rate that a setting gives a link, in bit/s."""
    return bits_per_second(str(changes[f"links.{link}.rate"]))


DEFAULT_POINT = "100 MB, two links of 20 Mbit/s, even split, batches of 100"
BARS = "Mean and standard deviation over the runs; "

ALONE = (
    experiment(
        "file_size",
        "file size",
        "A download of 10 to 1000 MB. Published: from 100 MB on the size does not matter; the set-up time of 10 "
        "MB does.",
        Factor("size", "file_size_mb", "File size", "MB", SIZES_MB, file_of),
        table("5.2", "5_02_file_size"),
        f"{THESIS}, Fig. 5.4",
        BARS + "two links of 20 Mbit/s, even split, batches of 100.",
    ),
    experiment(
        "batch_size",
        "batch size",
        "Half a batch of packets goes to link 1, the other half to link 2. Published: up to about 250 packets a batch "
        "the queues of the links bridge the pauses; beyond, the links take turns, and at 500 a third of the throughput "
        "is lost.",
        BATCH,
        table("5.3", "5_03_batch_size"),
        f"{THESIS}, Fig. 5.5; {PAPER}, Fig. 4a",
        BARS + "100 MB, two links of 20 Mbit/s, even split.",
        variants=(QUEUE_300,),
        kernel=(LINUX,),
    ),
    experiment(
        "share",
        "share of the links",
        "Of each batch of 100 packets a share goes to link 1 and the rest to link 2. Published: with equal links the "
        "even split nearly doubles the throughput of one link; each step away from it costs, the first ones most.",
        SHARE,
        table("5.4", "5_04_dc_ratio"),
        f"{THESIS}, Fig. 5.9; {PAPER}, Fig. 7a",
        BARS + "100 MB, two links of 20 Mbit/s, batches of 100.",
    ),
    experiment(
        "bandwidth_ratio",
        "rate ratio, fixed split",
        "The links share 40 Mbit/s unevenly while the split stays even. Published: the slower link bounds the total at "
        "about twice its rate.",
        BANDWIDTH,
        table("5.5", "5_05_bandwidth_ratio", split_mode="fixed_1_to_1"),
        f"{THESIS}, Fig. 5.11a; {PAPER}, Fig. 7b",
        BARS + "100 MB, 40 Mbit/s together, even split, batches of 100.",
        variants=(HIGHER_RATE,),
        split_mode="fixed_1_to_1",
    ),
    experiment(
        "bandwidth_ratio_matched",
        "rate ratio, matched split",
        "The links share 40 Mbit/s unevenly, and the split follows in the printed whole percentages.",
        MATCHED,
        table("5.5", "5_05_bandwidth_ratio", split_mode="matched_to_bandwidth"),
        f"{THESIS}, Fig. 5.11b",
        BARS + "100 MB, 40 Mbit/s together, split by rate, batches of 100.",
        variants=(EXACT_SPLIT, HIGHER_RATE),
        split_mode="matched_to_bandwidth",
    ),
    experiment(
        "delay_ratio_low",
        "delay ratio, 20 ms together",
        "The links share 20 ms of delay unevenly. Published: it hardly matters.",
        DELAY_LOW,
        table("5.6", "5_06_delay_ratio", delay_sum_ms="20"),
        f"{THESIS}, Fig. 5.12a",
        BARS + DEFAULT_POINT + ".",
        variants=(NO_PACER, LOWER_DELAY),
        delay_sum_ms=20,
    ),
    experiment(
        "delay_ratio_high",
        "delay ratio, 200 ms together",
        "The links share 200 ms of delay unevenly, with deviations of a tenth.",
        DELAY_HIGH,
        table("5.6", "5_06_delay_ratio", delay_sum_ms="200"),
        f"{THESIS}, Fig. 5.12b",
        BARS + DEFAULT_POINT + ".",
        variants=(NO_PACER, LOWER_DELAY, PRINTED_SPREAD),
        kernel=(LINUX,),
        delay_sum_ms=200,
    ),
    experiment(
        "loss",
        "random loss",
        "Each downlink loses packets at random. Published: at 0.2 % less than 30 % of the throughput is left.",
        LOSS,
        table("5.7", "5_07_random_loss", duplicate="false"),
        f"{THESIS}, Fig. 5.13a; {PAPER}, Fig. 9c",
        BARS + DEFAULT_POINT + ".",
    ),
    experiment(
        "loss_duplicated",
        "random loss, duplicated packets",
        "Every packet goes over both links, each of which loses packets at random.",
        DUPLICATED,
        table("5.7", "5_07_random_loss", duplicate="true"),
        f"{THESIS}, Fig. 5.13b",
        BARS + "100 MB, every packet over both links of 20 Mbit/s.",
        further=(UNIQUE_LOSS,),
    ),
)
