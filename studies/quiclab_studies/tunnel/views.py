"""Views of single runs of the tunnel, as the thesis shows them: rates, queues, sojourn times, latencies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quiclab.report.panels import Line, Panel, panel_per_run, panels
from quiclab.study import View
from quiclab.study.libraries import alt
from quiclab_studies.tunnel.common import flows_of, per_second_mbps, rtts_ms, series

if TYPE_CHECKING:
    from quiclab.result import RunResult

Results = Mapping[str, "RunResult"]
SCHEDULERS = {"rr": "round robin", "lowrtt": "lowest RTT"}
QUEUES = {
    "queue of the plugin": ("vpn.server", "queue_bytes"),
    "reserved frames": ("vpn.server", "reserved_bytes"),
    "link A": ("down1", "queue_bytes"),
}


def rates(results: Results) -> alt.TopLevelMixin:
    """Draw the rate of each download second by second."""

    def lines(result: RunResult) -> dict[str, Line]:
        return {
            flow: [(second + 0.5, rate) for second, rate in enumerate(per_second_mbps(result, flow))]
            for flow in flows_of(result, "down")
        }

    return panel_per_run(results, lines, "Rate [Mbit/s]", height=150)


def queues(results: Results) -> alt.TopLevelMixin:
    """Draw what waits in each place."""

    def lines(result: RunResult) -> dict[str, Line]:
        return {name: [(at_s, value / 1e3) for at_s, value in series(result, *where)] for name, where in QUEUES.items()}

    return panel_per_run(results, lines, "Waiting [kB]", height=150)


def sojourns(results: Results) -> alt.TopLevelMixin:
    """Draw the longest sojourn time of each flow in each tenth of a second."""

    def lines(result: RunResult) -> dict[str, Line]:
        return {flow: series(result, f"vpn.server:{flow}", "sojourn_longest_ms") for flow in flows_of(result, "down")}

    return panel_per_run(results, lines, "Sojourn [ms]", level=5.0, height=150)


def latencies(results: Results) -> alt.TopLevelMixin:
    """Draw the distribution of the pings' round trip times."""

    def line(result: RunResult) -> list[tuple[float, float]]:
        values = sorted(rtts_ms(result))
        return [(value, (index + 1) / len(values)) for index, value in enumerate(values)]

    return panels(
        [Panel({label: line(result) for label, result in results.items()}, "", "Part of the pings")], "RTT [ms]"
    )


def shown(net: str, sched: str, *configurations: str) -> dict[str, tuple[str, dict[str, str | int | float]]]:
    """Return settings with their labels."""
    labels = {"fifo": "PQUIC, FIFO", "fq": "PQUIC, FQ-CoDel", "direct_fq": "nothing behind the queue, FQ-CoDel"}
    return {labels[name]: (name, {"net": net, "sched": sched}) for name in configurations}


def by_scheduler(net: str, configuration: str) -> dict[str, tuple[str, dict[str, str | int | float]]]:
    """Return a configuration with both schedulers, each with its label."""
    return {label: (configuration, {"net": net, "sched": name}) for name, label in SCHEDULERS.items()}


def paths(results: Results) -> alt.TopLevelMixin:
    """Draw what is in flight on each path, and its window."""

    def lines(result: RunResult) -> dict[str, Line]:
        names = {
            f"path {letter}, {word}": f"path{number}_{what}_bytes"
            for number, letter in ((1, "A"), (2, "B"))
            for what, word in (("in_flight", "in flight"), ("cwnd", "window"))
        }
        return {
            label: [(at_s, value / 1e3) for at_s, value in series(result, "vpn.server", name) if 10 <= at_s <= 12]
            for label, name in names.items()
        }

    return panel_per_run(results, lines, "On the path [kB]", height=150)


def views_of(study: str) -> tuple[View, ...]:
    """Return the views of a study."""
    three = ("fifo", "fq", "direct_fq")
    views = {
        "bottleneck": (
            View("What waits where", "Figure 4.1a", "One run of each.", shown("single", "rr", *three), {}, queues),
        ),
        "single": (
            View("Latency", "Figure B.1", "One run of each.", shown("homo", "rr", *three), {}, latencies),
            View("Rate over time", "Figure 6.1a", "One run of each.", shown("homo", "rr", *three), {}, rates),
        ),
        "delayed": (
            View("Rate over time", "Figure 6.2a", "One run of each.", shown("homo", "rr", *three), {}, rates),
            View(
                "Sojourn times",
                "Figure 6.2b",
                "Longest sojourn time in each hundredth of a second; the line is CoDel's target.",
                shown("homo", "rr", "fq", "direct_fq"),
                {},
                sojourns,
            ),
        ),
        "four": (
            View("Rate over time", "Figure 6.4a", "One run of each.", shown("hetero", "rr", *three), {}, rates),
            View("Latency", "Figure B.3", "One run of each.", shown("hetero", "lowrtt", *three), {}, latencies),
            View(
                "Latency by path scheduler",
                "Figures 6.4 and B.3",
                "PQUIC with FQ-CoDel over unequal paths, one run of each.",
                by_scheduler("hetero", "fq"),
                {},
                latencies,
            ),
            View(
                "Use of the paths by path scheduler",
                "Section 6.3",
                "PQUIC with FQ-CoDel over unequal paths, seconds 10 to 12: a full window leaves no choice.",
                by_scheduler("hetero", "fq"),
                {"record.series_interval": "10 ms"},
                paths,
            ),
        ),
        "rrul": (View("Latency", "Figures B.4 to B.6", "One run.", shown("homo", "rr", *three), {}, latencies),),
    }
    return views.get(study, ())
