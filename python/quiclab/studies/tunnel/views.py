"""Views of single runs of the tunnel, as the thesis shows them: rates, queues, sojourn times, latencies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quiclab.libraries import alt
from quiclab.report.panels import Line, Panel, panel_per_run, panels
from quiclab.studies.tunnel.common import flows_of, per_second_mbps, rtts_ms, series
from quiclab.study import View

if TYPE_CHECKING:
    from quiclab.result import RunResult

Results = Mapping[str, "RunResult"]
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
        ),
        "rrul": (View("Latency", "Figures B.4 to B.6", "One run.", shown("homo", "rr", *three), {}, latencies),),
    }
    return views.get(study, ())
