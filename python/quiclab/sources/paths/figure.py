"""The figure of a path over a minute: rate, one-way delay, its distribution, and loss, of both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt, np
from quiclab.report.figures import COLOURS, NEUTRAL, titled
from quiclab.sources.paths.library import DIRECTIONS
from quiclab.sources.paths.probe import load, probe

if TYPE_CHECKING:
    from quiclab.sources.paths.library import NamedPath
    from quiclab.sources.paths.probe import Load, Probes

#: Time that the figure shows, and width of the bins of measured rates and losses.
SHOWN_S: Final = 60
BIN_S: Final = 1
#: Points of a distribution.
QUANTILES: Final = 400
WIDTH: Final = 680

Rows = list[dict[str, Any]]


def specification(path: NamedPath, seed: int = 1) -> dict[str, Any]:
    """Return the Vega-Lite specification of the figure of a path, from probes and loads in the sim lane."""
    probes = {link: probe(path, link, SHOWN_S, seed) for link in DIRECTIONS}
    loads = {link: load(path, link, SHOWN_S, seed) for link in DIRECTIONS}
    ended = [f"{link} for {run.duration_s:.0f} s" for link, run in loads.items() if run.duration_s < SHOWN_S]
    short = f"; loaded: {', '.join(ended)}" if ended else ""
    subtitle = [path.description, f"lines: definition; points: measured over a loaded link and with probes{short}"]
    panels = [_rates(path, loads), _delays(path, probes), _distribution(probes), _losses(probes)]
    return titled(alt.vconcat(*panels), f"paths/{path.name}", subtitle)


def _direction() -> Any:
    scale = alt.Scale(domain=list(DIRECTIONS), range=[COLOURS[0], COLOURS[1]])
    return alt.Color("link:N", title=None, scale=scale, legend=alt.Legend(orient="top", direction="horizontal"))


def _time(field: str = "time_s:Q") -> Any:
    scale = alt.Scale(domain=[0, SHOWN_S], nice=False)
    return alt.X(field, title="Time [s]", scale=scale, axis=alt.Axis(grid=False, tickCount=12))


def _rates(path: NamedPath, loads: dict[str, Load]) -> Any:
    """Return the panel of the rates; the times at which the link is down are shaded."""
    steps: Rows = []
    down: Rows = []
    measured: Rows = []
    for link, definition in path.links.items():
        for part in definition.over(SHOWN_S):
            ends = (part.start_s, part.end_s)
            steps += [{"time_s": time, "rate_mbps": part.rate_mbps, "link": link} for time in ends]
            if not part.up:
                down.append({"time_s": part.start_s, "end_s": part.end_s})
        loaded = loads[link]
        edges = np.arange(0, loaded.duration_s + 1e-9, BIN_S)
        measured += [
            {"time_s": float(edge) + BIN_S / 2, "rate_mbps": loaded.rate_mbps(edge, edge + BIN_S), "link": link}
            for edge in edges[:-1]
        ]
    y = alt.Y("rate_mbps:Q", title="Rate [Mbit/s]", scale=alt.Scale(zero=True))
    line = alt.Chart({"values": steps}).mark_line(strokeWidth=1.5).encode(x=_time(), y=y, color=_direction())
    points = alt.Chart({"values": measured}).mark_point(size=18, filled=True, opacity=0.7)
    points = points.encode(x=_time(), y=y, color=_direction())
    shades = alt.Chart({"values": down}).mark_rect(color=NEUTRAL, opacity=0.35).encode(x=_time(), x2="end_s:Q")
    layers = [shades, line, points] if down else [line, points]
    return alt.layer(*layers).properties(width=WIDTH, height=150)


def _delays(path: NamedPath, probes: dict[str, Probes]) -> Any:
    """Return the panel of the one-way delays over time."""
    rows: Rows = [
        {"time_s": float(sent), "delay_ms": float(delay), "link": link}
        for link, found in probes.items()
        for sent, delay in zip(found.sent_s, found.delay_ms, strict=True)
        if not np.isnan(delay)
    ]
    steps: Rows = [
        {"time_s": time, "delay_ms": part.delay_ms, "link": link}
        for link, definition in path.links.items()
        for part in definition.over(SHOWN_S)
        for time in (part.start_s, part.end_s)
    ]
    y = alt.Y("delay_ms:Q", title="One-way delay [ms]", scale=alt.Scale(zero=True))
    points = alt.Chart({"values": rows}).mark_point(size=4, filled=True, opacity=0.5)
    line = alt.Chart({"values": steps}).mark_line(strokeWidth=1).encode(x=_time(), y=y, color=_direction())
    return alt.layer(points.encode(x=_time(), y=y, color=_direction()), line).properties(width=WIDTH, height=150)


def _distribution(probes: dict[str, Probes]) -> Any:
    """Return the panel of the distribution of the one-way delay."""
    shares = np.linspace(0, 1, QUANTILES)
    rows: Rows = [
        {"delay_ms": float(delay), "share": float(share), "link": link}
        for link, found in probes.items()
        if len(found.arrived_ms)
        for share, delay in zip(shares, np.quantile(found.arrived_ms, shares), strict=True)
    ]
    line = alt.Chart({"values": rows}).mark_line(strokeWidth=1.5, interpolate="step-after")
    x = alt.X("delay_ms:Q", title="One-way delay [ms]", scale=alt.Scale(zero=True))
    y = alt.Y("share:Q", title="Share of probes up to it", scale=alt.Scale(domain=[0, 1]))
    return line.encode(x=x, y=y, color=_direction()).properties(width=WIDTH, height=150)


def _losses(probes: dict[str, Probes]) -> Any:
    """Return the panel of the share of lost probes over time."""
    rows: Rows = []
    for link, found in probes.items():
        lost = np.isnan(found.delay_ms)
        for start in range(0, SHOWN_S, BIN_S):
            inside = (found.sent_s >= start) & (found.sent_s < start + BIN_S)
            if inside.any():
                share = 100 * float(lost[inside].mean())
                rows.append({"time_s": start + BIN_S / 2, "loss_percent": share, "link": link})
    line = alt.Chart({"values": rows}).mark_line(strokeWidth=1.5, interpolate="step")
    most = max([1.0, *(row["loss_percent"] for row in rows)])
    y = alt.Y("loss_percent:Q", title="Lost probes [%]", scale=alt.Scale(domain=[0, most]))
    return line.encode(x=_time(), y=y, color=_direction()).properties(width=WIDTH, height=80)
