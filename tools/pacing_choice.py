"""Print which pacer, burst and acknowledgement to choose when, from the results of the studies `pacing/beyond_*`.

    quiclab study run pacing
    python tools/pacing_choice.py [--out results]

Three tables as markdown. For each situation: the pacers whose goodput is within 1 % of the best, or not told apart from
it by the 95 % interval; the best and the worst; what the best gains over none; and losses and times in the bottleneck
without a pacer and with the best. Then the longest bursts, and the fewest acknowledgements, that cost at most 1 % of
goodput. The best of seven is a little lucky: gains below 1 % are none. docs/studies/pacing_beyond.md rests on them.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from quiclab.errors import QuiclabError
from quiclab.result.stats import Summary, difference_half_width, summarise
from quiclab.study.evaluate import Evaluation
from quiclab.study.findings import Key
from quiclab.study.registry import find

if TYPE_CHECKING:
    from quiclab.study import Study, Value

Reading: TypeAlias = Callable[[str, str, Key], Summary]
"""Gives the runs of a study `pacing/beyond_...` by its short name, of a metric, in a setting."""

ENGINE = "lab-quic"
COST = 0.01
"""Part of the goodput that may be lost for longer bursts or fewer acknowledgements."""
BUFFERS = (0.1, 0.25, 0.5, 1, 2, 4)


@dataclass(frozen=True)
class Situation:
    """A setting of a study, but for its configuration; `without` is the configuration that is compared with."""

    label: str
    study: str
    at: tuple[Value, ...]
    without: str = "unpaced"
    among: tuple[str, ...] = ()


EVERY_SECOND, RARE = "every second packet", "every 25 ms"
TCP = ("tcp_unpaced", "tcp_linux", "tcp_fq")
QUIC = ("unpaced", "bucket_2", "bucket_10", "bucket_16", "even", "quantum", "time_bucket")
SITUATIONS = (
    *(Situation(f"buffer of {size:g} BDP, ACKs {EVERY_SECOND}", "pacers", (size, EVERY_SECOND)) for size in BUFFERS),
    *(Situation(f"buffer of {size:g} BDP, ACKs {RARE}", "pacers", (size, RARE)) for size in BUFFERS),
    *(Situation(f"TCP, buffer of {size:g} BDP", "pacers_tcp", (size,), "tcp_unpaced") for size in (0.1, 0.5, 1, 4)),
    *(
        Situation(f"changing: {what}", "changing", (what,), among=QUIC)
        for what in ("rate, steps of 5 s", "rate, synthetic LTE", "RTT, each 2 s")
    ),
    *(
        Situation(f"{count} flow{'s at once' if count > 1 else ''}, buffer of {size:g} BDP", "flows", (count, size))
        for size in (0.25, 1)
        for count in (1, 30, 100)
    ),
    *(Situation(f"Dual Connectivity, batches of {size}", "dual_connectivity", (size,)) for size in (10, 100, 400)),
)

LIMITS = (
    (
        "bursts",
        "Bursts: the longest that cost at most 1 % of goodput",
        ("bursts", "lost [%], there → at the largest"),
        "loss_percent",
    ),
    (
        "ack_frequency",
        "Acknowledgements: the most packets for each that cost at most 1 % of goodput",
        ("pacer", "returning packets, there → at the largest"),
        "returned_packets",
    ),
)


def study_of(name: str) -> Study:
    """Return a study by its short name."""
    return find(f"pacing/beyond_{name}")


class Results:
    """The summaries of the studies in a results directory, read once."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.known: dict[str, Evaluation] = {}
        self.found: dict[tuple[str, str], dict[Key, Summary]] = {}

    def were_made(self, study: str) -> bool:
        """Return whether the study was run, with all of its settings."""
        try:
            self.known[study] = evaluation = Evaluation(study_of(study), self.out)
            return evaluation.missing(ENGINE) == 0
        except QuiclabError as error:
            print(f"pacing/beyond_{study} is left out: {error}", file=sys.stderr)
            return False

    def read(self, study: str, metric: str, key: Key) -> Summary:
        """Return the runs of a setting."""
        if (study, metric) not in self.found:
            self.found[study, metric] = self.known[study].summaries(ENGINE, metric=metric)
        return self.found[study, metric].get(key, summarise([]))


def spread(summary: Summary, decimals: int = 2) -> str:
    """Write a mean with its standard deviation."""
    return f"{summary.mean:.{decimals}f} ± {summary.std:.{decimals}f}"


def gain(base: Summary, found: Summary) -> str:
    """Write a gain with half of its 95 % interval, relative to the base."""
    margin = difference_half_width(base, found)
    return f"{100 * (found.mean / base.mean - 1):+.1f} ± {100 * margin / base.mean:.1f} %"


def row(read: Reading, situation: Situation) -> str:
    """Return the row of a situation: those within 1 % or within the interval of the best one are as good."""
    study = study_of(situation.study)
    labels = study.design.labels
    names = situation.among or labels
    goodput = {name: read(situation.study, "goodput_mbps", (name, *situation.at)) for name in names}
    best, worst = (choose(goodput, key=lambda name: goodput[name].mean) for choose in (max, min))
    found, without = goodput[best], goodput[situation.without]
    alike = [
        name
        for name, summary in goodput.items()
        if found.mean - summary.mean <= max(COST * found.mean, difference_half_width(summary, found))
    ]
    choice = "any" if len(alike) == len(goodput) else "; ".join(labels[name] for name in alike)
    changed = []
    for metric, unit in (("loss_percent", "%"), ("dropped_percent", "%"), ("sojourn_p95_ms", "ms")):
        if metric in {item.name for item in study.measures.metrics}:
            old, new = (read(situation.study, metric, (name, *situation.at)) for name in (situation.without, best))
            changed.append(f"{old.mean:.{2 if unit == '%' else 0}f} → {new.mean:.{2 if unit == '%' else 0}f} {unit}")
    cells = (
        situation.label,
        choice,
        spread(without),
        f"{spread(found)} ({labels[best]})",
        gain(without, found),
        f"{spread(goodput[worst])} ({labels[worst]})",
        *changed,
    )
    return f"| {' | '.join((*cells, *('–' for _ in range(8 - len(cells)))))} |"


def longest(values: dict[int, Summary]) -> int:
    """Return the largest number at which the goodput is within 1 % of the best at that or any smaller one."""
    fitting = 0
    best = max(summary.mean for summary in values.values())
    for number in sorted(values):
        if values[number].mean < (1 - COST) * best:
            break
        fitting = number
    return fitting


def numbers_of(read: Reading, study: str, configuration: str, other: Value, metric: str) -> dict[int, Summary]:
    """Return the summaries over the first factor, at a value of the second."""
    values = study_of(study).design.factors[0].values
    found = {int(value): read(study, metric, (configuration, value, other)) for value in values}
    return {value: summary for value, summary in found.items() if not math.isnan(summary.mean)}


def limits(read: Reading, study: str, heads: tuple[str, str], metric: str) -> list[str]:
    """Return a table of the largest number that costs at most 1 %, by configuration and value of the second factor."""
    design = study_of(study).design
    second = design.factors[1]
    lines = [f"| {heads[0]} | {second.label} | at most | goodput there | at the largest | {heads[1]} |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for item in design.configurations:
        for value in second.values:
            goodput = numbers_of(read, study, item.name, value, "goodput_mbps")
            at = longest(goodput)
            further = numbers_of(read, study, item.name, value, metric)
            last = max(goodput)
            shown = spread(goodput[at]) if at else "–"
            beside = f"{further[at].mean:.3g} → {further[last].mean:.3g}" if at else f"– → {further[last].mean:.3g}"
            cells = (item.label, value, at or "none", shown, f"{spread(goodput[last])} ({last})", beside)
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def tables(read: Reading, made: Callable[[str], bool] = lambda study: True) -> list[str]:  # noqa: ARG005
    """Return the lines of all tables.

    Parameters
    ----------
    read
        Gives the runs.
    made
        Whether there are runs of a study; it is left out otherwise.
    """
    studies = dict.fromkeys([*(item.study for item in SITUATIONS), *(item[0] for item in LIMITS)])
    present = {name: made(name) for name in studies}
    lines = ["| when | as good as the best | without a pacer | best | gain | worst | losses | 95 % of the waits |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
    lines += [row(read, situation) for situation in SITUATIONS if present[situation.study]]
    for study, title, heads, metric in LIMITS:
        if present[study]:
            lines += ["", title, "", *limits(read, study, heads, metric)]
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="results directory")
    results = Results(parser.parse_args().out)
    print("\n".join(tables(results.read, results.were_made)))


if __name__ == "__main__":
    main()
