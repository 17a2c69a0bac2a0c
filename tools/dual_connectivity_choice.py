"""Print which splitter, batch and timer to choose for which links, from the results of the studies beyond the papers.

    quiclab study run dual_connectivity/beyond_splitters && quiclab study run dual_connectivity/beyond_fairness
    python tools/dual_connectivity_choice.py [--out results]

For each network: the best choice for the bearer's flow alone, its gain over the published default, and what the choice
costs the two flows with single connectivity when they share the links.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from quiclab.stats import Summary, difference_half_width
from quiclab.study.evaluate import Evaluation
from quiclab.study.registry import find

PUBLISHED = "published"


def main() -> None:
    """Print the table as markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="results directory")
    out = parser.parse_args().out
    alone = Evaluation(find("dual_connectivity/beyond_splitters"), out)
    beside = Evaluation(find("dual_connectivity/beyond_fairness"), out)
    throughput = alone.summaries("lab-quic")
    flows = beside.summaries("lab-quic")
    single = beside.summaries("lab-quic", metric="single_connectivity_mbps")
    labels = alone.study.design.labels
    names = [item.name for item in alone.study.design.configurations]
    print("| links | default alone | best choice | alone | gain | bearer's flow beside others | both others |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for network in alone.study.design.factors[0].values:
        if any((name, network) not in throughput for name in names):
            continue  # not run
        default = throughput[PUBLISHED, network]
        best = max(names, key=lambda name, at=network: throughput[name, at].mean)
        found = throughput[best, network]
        dc = [flows[name, network, "dc"] for name in (PUBLISHED, best)]
        others = [single[name, network, "dc"] for name in (PUBLISHED, best)]
        print(
            f"| {network} | {default.mean:.1f} | {labels[best]} | {found.mean:.1f} | {gain(default, found)} "
            f"| {dc[0].mean:.1f} → {dc[1].mean:.1f} | {others[0].mean:.1f} → {others[1].mean:.1f} |"
        )


def gain(default: Summary, found: Summary) -> str:
    """Write a gain with half of its 95 % interval, relative to the default."""
    margin = difference_half_width(default, found)
    return f"{100 * (found.mean / default.mean - 1):+.0f} ± {100 * margin / default.mean:.0f} %"


if __name__ == "__main__":
    main()
