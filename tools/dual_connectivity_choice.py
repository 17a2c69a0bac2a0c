"""The table of docs/studies/dual_connectivity.md by which to choose a splitter, from the studies beyond the papers.

For each network: the best choice for the bearer's flow alone, its gain over the published default, and what the choice
costs the two flows with single connectivity when they share the links.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from quiclab.errors import QuiclabError
from quiclab.result.stats import Summary, difference_half_width
from quiclab.study.findings import Key
from quiclab_studies.dual_connectivity.beyond import CHOICES, NETWORKS, PUBLISHED
from quiclab_studies.dual_connectivity.lte import MARK

Reading: TypeAlias = Callable[[str, str, Key], Summary]
"""Gives the runs of a study `dual_connectivity/beyond_...` by its short name, of a metric, in a setting."""

HEADS = ("links", "default alone", "best choice", "alone", "gain", "bearer's flow with the others", "both others")
#: The trace of the publication must not be passed on, so that there are no stored runs of it.
CHOSEN = tuple(network for network in NETWORKS if network != MARK)


def table(read: Reading) -> list[str]:
    """Return the lines of the table, rates in Mbit/s."""
    rows = (_row(read, network) for network in CHOSEN if _has_runs(read, network))
    return [f"| {' | '.join(HEADS)} |", "| --- " * len(HEADS) + "|", *rows]


def _has_runs(read: Reading, network: str) -> bool:
    """Whether there are stored runs of a network: one that was added to the studies has none before they are run."""
    try:
        read("splitters", "throughput_mbps", (PUBLISHED, network))
        read("fairness", "", (PUBLISHED, network, "dc"))
    except QuiclabError:
        return False
    return True


def _row(read: Reading, network: str) -> str:
    alone = {name: read("splitters", "throughput_mbps", (name, network)) for name in CHOICES}
    best = max(alone, key=lambda name: alone[name].mean)
    default, found = alone[PUBLISHED], alone[best]

    def changed(metric: str) -> str:
        rates = {name: read("fairness", metric, (name, network, "dc")).mean for name in CHOICES}
        return f"{rates[PUBLISHED]:.1f} → {rates[best]:.1f}"

    cells = (
        network,
        f"{default.mean:.1f}",
        CHOICES[best].label,
        f"{found.mean:.1f}",
        _gain(default, found),
        changed(""),
        changed("single_connectivity_mbps"),
    )
    return f"| {' | '.join(cells)} |"


def _gain(default: Summary, found: Summary) -> str:
    """Write a gain with half of its 95 % interval, relative to the default."""
    margin = difference_half_width(default, found)
    return f"{100 * (found.mean / default.mean - 1):+.0f} ± {100 * margin / default.mean:.0f} %"
