#!/usr/bin/env python3
"""Draw the animation of README.md: two flows at one bottleneck, every packet of a run in its queue and on its link.

The picture is an SVG file without scripts. Its metadata names the scenario, the seed and the digest of the run; the
same run gives the same bytes.

    python tools/animation.py            whether docs/figures/two_flows.svg is that of this version
    python tools/animation.py --write    and writes it
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import polars as pl

import quiclab
from quiclab import RunResult

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "figures" / "two_flows.svg"
SCENARIO, SEED = "scenarios/tcp_bbr_and_cubic.toml", 1

#: Names of the flows in the scenario, with their names and colours in the picture, in light and dark mode.
FLOWS = {"bbr": ("BBR", "#0072b2", "#56b4e9"), "cubic": ("CUBIC", "#d55e00", "#e69f00")}
BOTTLENECK = "bottleneck"
#: Propagation delay and rate of the bottleneck, in ns and in packets of 1500 B.
DELAY_NS, PACKETS_ON_LINK, PACKETS_IN_QUEUE = 20_000_000, 34, 134
END_S = 20
#: Network time between two pictures, and time for which each is shown.
STEP_MS, SHOWN_S = 100, 0.08

WIDTH, LEFT, CELL = 900, 46, 5
PLOT = 840
LINK_X = LEFT + PACKETS_IN_QUEUE * CELL
CWND_Y, RATE_Y, HEIGHT = 150, 330, 130


@dataclass(frozen=True)
class Plot:
    """A chart over time, revealed as time passes."""

    top: int
    title: str
    largest: int
    ticks: tuple[int, ...]

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        return self.top + HEIGHT - HEIGHT * value / self.largest

    def frame(self) -> Iterator[str]:
        """Draw title and grid."""
        yield f'<text x="{LEFT}" y="{self.top - 10}">{self.title}</text>'
        for tick in self.ticks:
            yield f'<path class="grid" d="M{LEFT} {self.y(tick):.0f}h{PLOT}"/>'
            yield f'<text class="small" x="{LEFT - 6}" y="{self.y(tick) + 4:.0f}" text-anchor="end">{tick}</text>'


def x_of(seconds: float) -> float:
    """Return the horizontal position of a time."""
    return LEFT + PLOT * seconds / END_S


def line(points: list[tuple[float, float]], plot: Plot) -> str:
    """Return the path through values over time."""
    return "M" + "L".join(f"{x_of(time):.1f} {plot.y(value):.1f}" for time, value in points)


def cells(flows: list[tuple[int, str]]) -> dict[str, str]:
    """Return the path of each flow over cells, given as position and flow: a dash for each packet."""
    paths = dict.fromkeys(FLOWS, "")
    ordered = sorted(flows)
    runs = groupby(enumerate(ordered), lambda item: (item[1][1], item[1][0] - item[0] * CELL))
    for (flow, _), items in runs:
        positions = [position for _, (position, _) in items]
        paths[flow] += f"M{positions[0]} 0h{len(positions) * CELL - 1}"
    return paths


def pictures(result: RunResult) -> Iterator[dict[str, str]]:
    """Return, for each moment, the packets of each flow in the queue and on the link.

    A packet that departs from the bottleneck has left its queue one propagation delay before.
    """
    packets = result.packets.filter(pl.col("element") == BOTTLENECK).sort("time_ns", maintain_order=True)
    kinds = {kind: packets.filter(pl.col("event") == kind) for kind in ("arrival", "departure")}
    departed = dict(kinds["departure"].select("packet_id", "time_ns").iter_rows())
    arrived = [
        (time, departed[packet], str(flow))
        for packet, time, flow in kinds["arrival"].select("packet_id", "time_ns", "flow").iter_rows()
        if packet in departed
    ]
    for now_ms in range(0, END_S * 1000, STEP_MS):
        now = now_ms * 1_000_000
        waiting = [flow for arrival, departure, flow in arrived if arrival <= now < departure - DELAY_NS]
        queue = [(LINK_X - CELL * (place + 1), flow) for place, flow in enumerate(waiting)]
        spacing = DELAY_NS / PACKETS_ON_LINK
        link = [
            (LINK_X + 8 + CELL * int((now - departure + DELAY_NS) / spacing), flow)
            for _, departure, flow in arrived
            if departure - DELAY_NS <= now < departure
        ]
        yield cells([*queue, *dict(link).items()])


def goodput(result: RunResult, flow: str) -> list[tuple[float, float]]:
    """Return what the receiving application got in each half second, in Mbit/s."""
    table = result.goodput_over_time(flow, every="500 ms")
    return [(float(time), float(rate)) for time, rate in table.iter_rows() if time <= END_S]


def window(result: RunResult, flow: str) -> list[tuple[float, float]]:
    """Return the congestion window over time, in kB."""
    rows = result.series.filter(
        pl.col("element") == f"{flow}.sender", pl.col("metric") == "cwnd_bytes", pl.col("time_s") <= END_S
    )
    return [(float(time), float(value) / 1000) for time, value in rows.select("time_s", "value").iter_rows()]


STYLE = """\
text{{font:14px system-ui,sans-serif;fill:#24292f}}.small{{font-size:11px;fill:#57606a}}
.grid{{stroke:#d0d7de;fill:none}}.cells path{{stroke-width:22;stroke-dasharray:4 1}}.line{{fill:none;stroke-width:2}}
{light}
.frame{{visibility:hidden;animation:show {loop:.2f}s infinite step-end}}
@keyframes show{{0%{{visibility:visible}}{part:.4f}%{{visibility:hidden}}}}
.cover,.now{{animation:move {loop:.2f}s infinite linear}}
@keyframes move{{from{{transform:translateX(0)}}to{{transform:translateX({width}px)}}}}
.back{{fill:#fff}}
@media(prefers-color-scheme:dark){{text{{fill:#e6edf3}}.small{{fill:#8d96a0}}.grid{{stroke:#30363d}}.back{{fill:#0d1117}}
{dark}}}
@media(prefers-reduced-motion:reduce){{.frame,.cover,.now{{animation:none}}.cover{{display:none}}#last{{visibility:visible}}}}"""


def draw(result: RunResult) -> str:
    """Return the picture of a run."""
    frames = list(pictures(result))
    loop = len(frames) * SHOWN_S
    cwnd = Plot(CWND_Y, "Congestion window [kB]", 300, (0, 100, 200, 300))
    rate = Plot(RATE_Y, "Goodput [Mbit/s]", 20, (0, 5, 10, 15, 20))
    colours = [
        "\n".join(f".{flow}{{stroke:{names[mode]}}}.{flow}-text{{fill:{names[mode]}}}" for flow, names in FLOWS.items())
        for mode in (1, 2)
    ]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {RATE_Y + HEIGHT + 40}" role="img">',
        "<title>BBR and CUBIC at one bottleneck: its queue, packet by packet, their windows and their goodput</title>",
        f"<metadata>scenario {SCENARIO}, seed {SEED}, digest {result.digest}</metadata>",
        "<style>"
        + STYLE.format(light=colours[0], dark=colours[1], loop=loop, part=100 / len(frames), width=PLOT)
        + "</style>",
        f'<rect class="back" width="{WIDTH}" height="{RATE_Y + HEIGHT + 40}"/>',
        f'<text x="{LEFT}" y="28">Queue of the bottleneck, packet by packet</text>',
        f'<text x="{LINK_X + 8}" y="28">and on the link</text>',
        f'<path class="grid" d="M{LEFT} 38h{LINK_X - LEFT}M{LEFT} 66h{LINK_X - LEFT}M{LINK_X + 3} 36v32"/>',
    ]
    for place, (flow, names) in enumerate(FLOWS.items()):
        out.append(f'<text class="{flow}-text" font-weight="600" x="{LEFT + place * 70}" y="92">{names[0]}</text>')
    out.append('<g class="cells" transform="translate(0 52)">')
    for number, frame in enumerate(frames):
        paths = "".join(f'<path class="{flow}" d="{path}"/>' for flow, path in frame.items() if path)
        last = ' id="last"' if number == len(frames) - 1 else ""
        out.append(f'<g class="frame"{last} style="animation-delay:{number * SHOWN_S - loop:.2f}s">{paths}</g>')
    out.append("</g>")
    for plot, values in ((cwnd, window), (rate, goodput)):
        out += [f'<path class="line {flow}" d="{line(values(result, flow), plot)}"/>' for flow in FLOWS]
    top = CWND_Y - 4
    bottom = RATE_Y + HEIGHT
    out += [
        # what is still to come is covered, up to the moment that the queue above shows
        f'<svg x="{LEFT}" y="{top}" width="{PLOT + 4}" height="{HEIGHT + 6}"><rect class="cover back" '
        f'width="{PLOT + 4}" height="100%"/></svg>',
        f'<svg x="{LEFT}" y="{RATE_Y - 4}" width="{PLOT + 4}" height="{HEIGHT + 6}"><rect class="cover back" '
        f'width="{PLOT + 4}" height="100%"/></svg>',
        *cwnd.frame(),
        *rate.frame(),
        f'<path class="now grid" d="M{LEFT} {top}V{bottom}"/>',
    ]
    for second in range(0, END_S + 1, 5):
        out.append(
            f'<text class="small" x="{x_of(second):.0f}" y="{bottom + 18}" text-anchor="middle">{second} s</text>'
        )
    return "\n".join([*out, "</svg>"]) + "\n"


def main() -> int:
    """Draw the picture; 1 if it differs and is not written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the picture of this version")
    arguments = parser.parse_args()
    scenario = quiclab.load(ROOT / SCENARIO).with_value("record.packets", True)
    new = draw(quiclab.run(scenario, SEED))
    if arguments.write:
        FILE.write_text(new, encoding="utf-8")
        return 0
    if not FILE.is_file() or FILE.read_text(encoding="utf-8") != new:
        print(f"{FILE.relative_to(ROOT)} differs: python tools/animation.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
