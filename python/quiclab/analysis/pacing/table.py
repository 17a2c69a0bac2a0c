"""The tables of `quiclab pacing analyse`: one row for each flow of each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.analysis.pacing.labels import NONE, amount, cautions, digits, flows_of, percent, plain
from quiclab.report import show

if TYPE_CHECKING:
    from rich.table import Table

    from quiclab.analysis.pacing.analysis import Analysis
    from quiclab.analysis.pacing.labels import LabelledFlow

DATA = (
    "flow",
    "protocol",
    "packets",
    "frame [B]",
    "rate [Mbit/s]",
    "utilisation",
    "interval [ms]",
    "variation",
    "in bursts",
    "mean burst",
)
ACKS = (
    "flow",
    "ACKs",
    "packets per ACK",
    "mode",
    "interval [ms]",
    "of nothing new",
    "after an ACK",
    "by chance",
    "explained",
)


def analysis(found: Analysis) -> None:
    """Print the results of an analysis: spacing, acknowledgements and caveats."""
    out = show.console()
    flows = flows_of(found.captures)
    if flows:
        out.print(_spacing(flows))
        if any(item.flow["data"]["clusters"]["expected"] for item in flows):
            out.print(_expected(flows, found.settings.gains))
        out.print(_acknowledgements(flows))
    for caution in cautions(flows, found.settings):
        out.print(f"{caution.label}: {caution.title}. {caution.text}", style="yellow", soft_wrap=True)
    for item in flows:
        for note in item.flow["notes"]:
            out.print(f"{item.label}: {plain(note)}", soft_wrap=True)
    for capture in found.captures:
        name = plain(capture["file"])
        if not capture["flows"]:
            out.print(f"{name}: no flow in {amount(capture['frames'])} frames", style="yellow", soft_wrap=True)
        for note in capture["notes"]:
            out.print(f"{name}: {plain(note)}", soft_wrap=True)
        for problem, count in capture["problems"].items():
            out.print(f"{name}: {plain(problem)}: {amount(count)}", soft_wrap=True)
        if capture["further_flows"]:
            further = f"{amount(capture['further_flows'])} with {amount(capture['further_packets'])} packets"
            out.print(f"{name}: further flows, not shown: {further}", soft_wrap=True)


def _spacing(flows: list[LabelledFlow]) -> Table:
    shown = show.table("Packet spacing (interval: median; variation: of intervals)", DATA, left=2)
    for item in flows:
        data = item.flow["data"]
        shown.add_row(
            item.label,
            item.flow["protocol"],
            amount(data["packets"]),
            str(data["frame_median_bytes"]),
            digits(data["rate_mbps"]),
            percent(data["utilisation"]),
            digits(data["intervals"]["quantiles_ms"].get("0.5")),
            digits(data["intervals"]["variation"], 3),
            percent(data["bursts"]["share_of_packets"]),
            digits(data["bursts"]["mean_packets"], 3),
        )
    return shown


def _expected(flows: list[LabelledFlow], gains: tuple[float, ...]) -> Table:
    heads = [head for gain in gains for head in (f"gain {gain:g} [ms]", "share")]
    shown = show.table("Share of the intervals around those of evenly spaced packets", ["flow", *heads])
    for item in flows:
        near = {row["gain"]: row for row in item.flow["data"]["clusters"]["expected"]}
        cells = [
            (digits(near[gain]["interval_ms"]), percent(near[gain]["share"])) if gain in near else (NONE, NONE)
            for gain in gains
        ]
        shown.add_row(item.label, *(text for pair in cells for text in pair))
    return shown


def _acknowledgements(flows: list[LabelledFlow]) -> Table:
    shown = show.table("Acknowledgements (bursts that begin soon after an ACK: ACK clocking)", ACKS)
    for item in flows:
        acks = item.flow["acks"]
        shown.add_row(
            item.label,
            amount(acks["count"]),
            digits(acks["packets_mean"], 3),
            amount(acks["packets_mode"]),
            digits(acks["intervals"]["quantiles_ms"].get("0.5")),
            percent(acks["duplicate_share"]),
            *(percent(acks["clocking"][name]) for name in ("share", "by_chance", "explained")),
        )
    return shown
