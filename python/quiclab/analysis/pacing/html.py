"""The page: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab.analysis.pacing import axes, figure, labels
from quiclab.report import figures
from quiclab.report.html import bundle, environment, inline_json, responsive, with_contents
from quiclab.result.formats import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.analysis.pacing.analysis import Analysis
    from quiclab.analysis.pacing.labels import LabelledFlow
    from quiclab.analysis.pacing.settings import Settings

BESIDE_PANELS: Final = 72
"""Width of the vertical axis of panels, and of the margins, in pixels."""
MAX_CLUSTERS: Final = 8
"""Clusters that were found, at most, in the table of a flow."""
PARTS: Final = 10
"""Steps of progress: eight figures, their declarations, and the page."""


def render(found: Analysis, advance: Callable[[], object] = lambda: None) -> str:
    """Return the page of an analysis.

    Every string of a file is escaped. `advance` is called `PARTS` times: for each figure there
    can be, and for those that there are not, when it is known; for the declarations; and for the page itself.
    """
    flows = labels.flows_of(found.captures)
    drawn = flows[: axes.MAX_DRAWN]
    declared = figure.figures(drawn, found.settings) if drawn else []
    for _ in range(PARTS - 1 - len(declared)):
        advance()
    charts = []
    for number, item in enumerate(declared, start=1):
        charts.append(_chart(number, item))
        advance()
    page = (
        environment()
        .get_template("pacing.html.j2")
        .render(
            title=_title(found),
            settings=settings_rows(found.settings),
            captures=found.captures,
            failures=found.failures,
            flows=[_flow(number, item) for number, item in enumerate(flows)],
            numbers=[(name, [text(item.flow) for item in flows]) for name, text in labels.NUMBERS],
            cautions=labels.cautions(flows, found.settings),
            charts=charts,
            most_drawn=axes.MAX_DRAWN,
            amount=labels.amount,
            light=inline_json(figures.LIGHT),
            dark=inline_json(figures.DARK),
            beside_panels=BESIDE_PANELS,
            bundle=bundle() if any(item["spec"] for item in charts) else "",
        )
    )
    advance()
    return with_contents(page)


def _title(found: Analysis) -> str:
    names = [Path(capture["file"]).name for capture in found.captures]
    return f"Pacing of {names[0]}" if len(names) == 1 else f"Pacing of {len(names)} files"


def settings_rows(settings: Settings) -> list[tuple[str, str]]:
    """Return the settings of the analysis, with their labels in the report."""
    rows = [
        ("Rate of the bottleneck", _rate(settings.bottleneck_mbps)),
        ("Rate of the link", _rate(settings.link_mbps)),
        ("Expected pacing gains", ", ".join(f"{gain:g}" for gain in settings.gains)),
        ("Window around an expected interval", f"± {labels.duration(settings.window_ms)}"),
        ("Maximum gap in a burst", labels.duration(settings.burst_gap_ms)),
        ("After an ACK", f"up to {labels.duration(settings.clocked_ms)}"),
        ("Skipped at the start", labels.duration(1000 * settings.skip_s)),
    ]
    if settings.until_s is not None:
        rows.append(("Ignored after", labels.duration(1000 * settings.until_s)))
    return [*rows, ("Maximum frame of one packet", f"{settings.frame_limit_bytes} B")]


def _rate(rate_mbps: float | None) -> str:
    return "unknown" if rate_mbps is None else f"{labels.digits(rate_mbps)} Mbit/s"


def _chart(number: int, item: figure.Figure) -> dict[str, Any]:
    if isinstance(item.chart, str):
        return {"number": number, "title": item.title, "caption": item.chart, "spec": ""}
    spec = figures.declaration(item.chart)
    drawn = {"spec": inline_json(responsive(spec)), "svg": figures.to_svg(spec)}
    return {"number": number, "title": item.title, "caption": item.caption, **drawn}


def _flow(number: int, item: LabelledFlow) -> dict[str, Any]:
    """Return the data of a flow for the report, with numbers as strings."""
    data, acks = item.flow["data"], item.flow["acks"]
    colour, (dash, gap) = axes.style(number)
    clocking = acks["clocking"]["explained"]
    return {
        "label": item.label,
        "drawn": number < axes.MAX_DRAWN,
        "colour": colour,
        "dash": f"{dash} {gap}" if gap else "",
        "flow": item.flow,
        "large": [
            ("Rate [Mbit/s]", labels.digits(data["rate_mbps"]), ""),
            ("Interval, median", *_split(labels.duration(data["intervals"]["quantiles_ms"].get("0.5")))),
            ("In bursts", *_split(labels.percent(data["bursts"]["share_of_packets"]))),
            ("Packets in a burst", labels.digits(data["bursts"]["mean_packets"], 3), "mean"),
            ("Packets per ACK", labels.digits(acks["packets_mean"], 3), "mean"),
            ("ACK clocking explains", *_split(labels.percent(clocking))),
        ],
        "small": [
            counted(data["packets"], "packet", labels.amount),
            f"variation {labels.digits(data['intervals']['variation'], 3)}",
            *([f"{labels.percent(data['utilisation'])} of the link"] if data["utilisation"] is not None else []),
            counted(acks["count"], "ACK", labels.amount),
        ],
        "expected": [
            {
                "gain": f"{near['gain']:g}",
                "interval": labels.duration(near["interval_ms"]),
                "centre": labels.duration(near["centre_ms"]),
                "share": labels.percent(near["share"]),
            }
            for near in data["clusters"]["expected"]
        ],
        "found": _found(data["clusters"]["found"]),
        "found_acks": _found(acks["found"]),
    }


def _found(clusters: list[Any]) -> list[dict[str, str]]:
    largest = sorted(clusters, key=lambda item: -float(item["share"]))[:MAX_CLUSTERS]
    return [
        {
            "centre": labels.duration(item["centre_ms"]),
            "reach": f"{labels.duration(item['from_ms'])} to {labels.duration(item['to_ms'])}"
            if item["from_ms"]
            else f"up to {labels.duration(item['to_ms'])}",
            "share": labels.percent(item["share"]),
        }
        for item in sorted(largest, key=lambda item: float(item["centre_ms"]))
    ]


def _split(text: str) -> tuple[str, str]:
    number, _, unit = text.partition(" ")
    return number, unit
