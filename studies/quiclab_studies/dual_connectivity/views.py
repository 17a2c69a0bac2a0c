"""Views of QUIC over Dual Connectivity: what happens inside single runs, as the sources show it in figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from quiclab.report.panels import Line, Panel, panel_per_run, panels
from quiclab.result import RunResult
from quiclab.study import Study, View
from quiclab.study.libraries import alt
from quiclab_studies.dual_connectivity.common import FLOWS, LARGE_BUFFER, PAPER, THESIS
from quiclab_studies.dual_connectivity.event import draw as reordering_event
from quiclab_studies.dual_connectivity.fairness import per_second_mbps
from quiclab_studies.dual_connectivity.mechanisms import FIRST_S, LINK_MBPS, link_rates
from quiclab_studies.reductions import series

Results = Mapping[str, RunResult]

LINKS = {"down1": "link 1", "down2": "link 2"}
SMOOTHED_BINS = 5
DATAGRAM_BYTES = 1280
WINDOWS = {
    "in_flight_bytes": "in flight",
    "cwnd_bytes": "congestion window",
    "ssthresh_bytes": "slow-start threshold",
}


def rates_of(flows: Mapping[str, str]) -> Callable[[Results], alt.TopLevelMixin]:
    """Draw the rate of flows second by second; name in the scenario -> name in the figure."""

    def lines(result: RunResult) -> dict[str, Line]:
        return {
            shown: [(second + 1.0, rate) for second, rate in enumerate(per_second_mbps(result, flow))]
            for flow, shown in flows.items()
        }

    def draw(results: Results) -> alt.TopLevelMixin:
        return panel_per_run(results, lines, "Rate [Mbit/s]", height=170)

    return draw


def link_use(results: Results) -> alt.TopLevelMixin:
    """Draw the rate of both links over the first seconds, averaged over some bins."""

    def smoothed(result: RunResult, link: str) -> list[tuple[float, float]]:
        rates = [LINK_MBPS * rate for rate in link_rates(result, link)]
        starts = range(len(rates) - SMOOTHED_BINS + 1)
        width = FIRST_S / len(rates)
        return [
            ((start + SMOOTHED_BINS / 2) * width, sum(rates[start : start + SMOOTHED_BINS]) / SMOOTHED_BINS)
            for start in starts
        ]

    def lines(result: RunResult) -> dict[str, Line]:
        return {LINKS[link]: smoothed(result, link) for link in LINKS}

    return panel_per_run(results, lines, "Rate [Mbit/s]", "Time since the handshake [s]", level=LINK_MBPS)


def windows(results: Results) -> alt.TopLevelMixin:
    """Draw window, data in flight and threshold of the sender, and below them the queues of both links."""

    def line(result: RunResult, element: str, metric: str, unit: float) -> list[tuple[float, float]]:
        rows = series(result, element, metric).select("time_s", "value").iter_rows()
        return [(time, value / unit) for time, value in rows]

    shown = []
    for label, result in results.items():
        window = {text: line(result, "dc.sender", metric, DATAGRAM_BYTES) for metric, text in WINDOWS.items()}
        queues = {f"queue of {text}": line(result, link, "queue_packets", 1.0) for link, text in LINKS.items()}
        shown += [
            Panel(window, label, "Datagrams", height=150),
            Panel(queues, "", "Packets", height=80),
        ]
    return panels(shown)


BINS = "record.series_interval"
THREE_FLOWS = View(
    title="Rate of the three flows",
    source=f"{THESIS}, Fig. 5.14d",
    caption="Behind the client's proxies, second by second, at the default point.",
    shown={"QUIC, large buffer": (LARGE_BUFFER.name, {})},
    changes={BINS: "1 s"},
    draw=rates_of(dict(zip(FLOWS, ("dc: both links", "sc1: link 1", "sc2: link 2"), strict=True))),
)
TWO_FLOWS = View(
    title="Rate of the two flows",
    source=f"{THESIS}, Fig. 5.14a to c; {PAPER}, Fig. 23",
    caption="Behind the client's proxies, second by second, over one link of 20 Mbit/s.",
    shown={
        "QUIC and QUIC": ("quic_quic", {}),
        "QUIC (first) and TCP (second)": ("quic_tcp", {}),
        "TCP and TCP": ("tcp_tcp", {}),
    },
    changes={BINS: "1 s"},
    draw=rates_of({"first": "first flow", "second": "second flow"}),
)
LINK_USE = View(
    title="Rate of each link in the first 3 s",
    source=f"{THESIS}, Fig. 5.6 to 5.8 and 5.10; {PAPER}, Fig. 4b, 4c and 6",
    caption="Bins of 10 ms, mean over five of them; dashed: the rate of a link. With small batches both links are busy "
    "together, with large ones they take turns.",
    shown={
        "batches of 50": ("batch_50", {}),
        "batches of 200": ("batch_200", {}),
        "batches of 500": ("batch_500", {}),
        "90 % on link 1": ("share_90", {}),
    },
    changes={BINS: "10 ms"},
    draw=link_use,
)
INSIDE = "The sender every 100 ms, in datagrams of 1280 bytes, and below it the queues of the links."
PDCP_WINDOWS = View(
    title="Window and queues",
    source=f"{THESIS}, Fig. 5.2",
    caption=f"{INSIDE} Without PDCP, packets that overtake one another look lost, and the window is cut again and "
    "again.",
    shown={
        "one link, no PDCP": ("single_link", {}),
        "two links, no PDCP": ("dc_without_pdcp", {}),
        "two links, PDCP": ("dc_with_pdcp", {}),
    },
    changes={BINS: "100 ms"},
    draw=windows,
)
BATCH_WINDOWS = View(
    title="Window and queues with small and large batches",
    source=f"{THESIS}, Fig. 5.2",
    caption=f"{INSIDE} The large receive buffer; with batches of 500 packets one queue runs empty while the other "
    "fills.",
    shown={
        "batches of 100": (LARGE_BUFFER.name, {"batch": 100}),
        "batches of 500": (LARGE_BUFFER.name, {"batch": 500}),
    },
    changes={BINS: "100 ms"},
    draw=windows,
)
EVENT = View(
    title="First expiry of t-Reordering",
    source=f"{THESIS}, section 5.1, of which no figure shows this event (Fig. 5.3 shows losses without PDCP)",
    caption="Packets at the client's proxy around the first expiry of t-Reordering, with the default receive buffer: "
    "all that follow a missing packet wait until the timer gives it up, and leave in one burst; what the socket cannot "
    "hold of it is dropped.",
    shown={"two links, PDCP": ("dc_with_pdcp", {})},
    changes={"record.packets": True},
    draw=reordering_event,
)

VIEWS = {
    "pdcp": (PDCP_WINDOWS, EVENT),
    "batch_size": (BATCH_WINDOWS,),
    "utilisation": (LINK_USE,),
    "fairness_default": (THREE_FLOWS,),
    "pairs": (TWO_FLOWS,),
}
"""Views of each study, by its name without the group."""


def with_views(study: Study) -> Study:
    """Add its views to a study."""
    views = VIEWS.get(study.name.rpartition("/")[2], ())
    return replace(study, presentation=replace(study.presentation, views=views))
