"""Table and figures of loss detection: engine by case, and the packets of each case over time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quiclab.report.figures.heatmap import ink
from quiclab.report.figures.theme import COLOURS, NEUTRAL, WIDTH, Layers, of_rows
from quiclab.study.libraries import alt
from quiclab_studies.validation.loss_detection_cases import BY_NAME

if TYPE_CHECKING:
    from quiclab.study.evaluate import Evaluation

Row = Mapping[str, Any]

HEADS = ("Engine", "Case", "Declared lost", "After [ms]", "Spurious", "The standard", "After [ms]", "Agrees", "Why not")
SAME, TIMES, OTHER = "same packets, same times", "same packets, other times", "other packets"
NUMBER = "same number, same times"
AGREEMENT = {SAME: COLOURS[1], NUMBER: "#6b6fb3", TIMES: "#b9a44c", OTHER: COLOURS[0]}
BY_NUMBER = "count and time only"
ROW = 22
"""Height of a row of the matrix in pixels."""
IS_NARROW = "width < 450"
"""Whether the matrix is on a phone, as an expression of Vega over the width of the plot."""
SHOWN = ("lab-quic:rfc9002", "lab-quic:chromium-quic1", "quinn", "lab-tcp:linux-7")
AROUND, EARLY_MS, AFTER_MS = 14, 60.0, 10.0
RING, POINT = 300, 55
"""Areas of marks: losses of the standard are rings around those of the engine."""
X = "time since the first packet concerned was sent [ms]"
DECLARED, EXPECTED = "declared lost", "declared lost by the standard"
MARKS = {
    "sent": ("circle", NEUTRAL),
    "acknowledged": ("triangle-up", COLOURS[2]),
    DECLARED: ("diamond", COLOURS[0]),
    f"{DECLARED}, but had arrived": ("square", COLOURS[3]),
    EXPECTED: ("circle", COLOURS[1]),
}
UNDO = (
    "a hole that the delayed original fills counts as reordering (tcp_try_undo_partial), which RFC 8985 section 6.2 "
    "step 3 does not say of what was sent again"
)
CHROMIUM = "packet threshold grows after a spurious loss; 5/4 of the RTT (general_loss_algorithm.h)"
TIMEOUT = (
    "retransmission timeout, which the model has not: the first flight fills the window, and nothing is sent after it"
)
MECHANISMS = {
    "noq": "timers of its program: whole milliseconds, up to two late",
    "lab-quic:chromium-quic1": CHROMIUM,
    "lab-quic:chromium-gquic37": "packet threshold 3 for ever; 5/4 of the RTT (early retransmission)",
    "lab-quic:picoquic": "no packet threshold: 5/4 of the RTT stand in the profile for picoquic's RACK (sender.c)",
    "lab-tcp:linux-4.15": "three duplicates count in addition to RACK (RFC 6675 section 4), regardless of observed "
    "reordering",
    **{f"lab-tcp:linux-{release}": UNDO for release in ("4.19", "5.3", "5.15", "7")},
    **{f"lab-tcp:linux-{release}, retransmission": TIMEOUT for release in ("5.3", "5.15")},
}
"""Why an engine deviates, or why it does in one case."""


def runs_of(evaluation: Evaluation, engine: str) -> dict[tuple[str, str], Row]:
    """Return the stored data of each run, by configuration and case."""
    rows = evaluation.table.filter(evaluation.table["engine"] == engine).iter_rows(named=True)
    return {(row["configuration"], row["case"]): json.loads(row["result"])["kept"] for row in rows}


def agreement(run: Row) -> str:
    """Describe the agreement of declared losses with the standard."""
    if run["agrees"]:
        return SAME if run["named"] else NUMBER
    packets = [sorted((row["number"], row["sent_ms"]) for row in run[which]) for which in ("declared", "expected")]
    return TIMES if packets[0] == packets[1] else OTHER


def listing(evaluation: Evaluation, engine: str) -> list[tuple[str, ...]]:
    """Return the table: a row for each engine and case."""
    found: list[tuple[str, ...]] = []
    for (configuration, case), run in runs_of(evaluation, engine).items():
        declared, expected = run["declared"], run["expected"]
        known = MECHANISMS.get(f"{configuration}, {case}") or MECHANISMS.get(configuration, "")
        why = "" if run["agrees"] else known
        found.append(
            (
                evaluation.study.design.labels[configuration],
                BY_NAME[case].label,
                _numbers(declared),
                _after(declared),
                _numbers([row for row in declared if row["spurious"]]),
                _numbers(expected),
                _after(expected),
                f"{'yes' if run['agrees'] else 'no'}{'' if run['named'] else f' ({BY_NUMBER})'}",
                why,
            )
        )
    return found


def _numbers(rows: Sequence[Row]) -> str:
    """Return numbers as text, those in a row as a range."""
    ranges: list[list[int]] = []
    for number in sorted(row["number"] for row in rows):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges) or "none"


def _after(rows: Sequence[Row]) -> str:
    """Return the time from sending to the declaration of loss: the minimum, and the maximum if it differs."""
    after = sorted(row["time_ms"] - row["sent_ms"] for row in rows)
    if not after:
        return "-"
    return f"{after[0]:.1f}" if after[-1] - after[0] < 0.05 else f"{after[0]:.1f} to {after[-1]:.1f}"


def matrix(evaluation: Evaluation, engine: str) -> Layers:
    """Draw engines by cases, coloured by agreement."""
    cells = []
    for (configuration, case), run in runs_of(evaluation, engine).items():
        spurious = any(row["spurious"] for row in run["declared"])
        numbers = f"{len(run['declared'])}{'s' if spurious else ''}", f"{len(run['expected'])}"
        cells.append(
            {
                "engine": evaluation.study.design.labels[configuration],
                "case": BY_NAME[case].label,
                "agreement": agreement(run),
                "text": "|".join(numbers),
                "lines": "\n".join(numbers),
                "ink": ink(AGREEMENT[agreement(run)]),
                "packets": _numbers(run["declared"]),
                "after": _after(run["declared"]),
                "standard": f"{_numbers(run['expected'])} after {_after(run['expected'])}",
                "told": run["told"],
            }
        )
    return matrix_of(cells, list(evaluation.study.design.labels.values()))


def matrix_of(cells: Sequence[Row], engines: Sequence[str]) -> Layers:
    """Declare the matrix, engines in their order."""
    base = alt.Chart({"values": list(cells)}).encode(
        x=alt.X(
            "case:N",
            title=None,
            sort=[item.label for item in BY_NAME.values()],
            axis=alt.Axis(orient="top", labelAngle=-50, labelLimit=320),
        ),
        y=alt.Y(
            "engine:N",
            title=None,
            sort=list(engines),
            # on a phone, names of engines are above their rows, not beside them
            scale=alt.Scale(**dict.fromkeys(("paddingInner", "paddingOuter"), alt.ExprRef(f"{IS_NARROW} ? 0.5 : 0"))),
        ),
    )
    squares = base.mark_rect(stroke="white", strokeWidth=1, opacity=1).encode(
        color=alt.Color(
            "agreement:N",
            scale=alt.Scale(domain=list(AGREEMENT), range=list(AGREEMENT.values())),
            legend=alt.Legend(title=None, orient="bottom", direction="horizontal", symbolType="square"),
        ),
        tooltip=[
            alt.Tooltip("engine:N", title="Engine"),
            alt.Tooltip("case:N", title="Case"),
            alt.Tooltip("packets:N", title="Declared lost"),
            alt.Tooltip("after:N", title="After [ms]"),
            alt.Tooltip("standard:N", title="The standard"),
            alt.Tooltip("told:N", title="Known from"),
        ],
    )
    # cells of a phone are narrower than their text
    text = base.mark_text(fontSize=10, lineBreak="\n", lineHeight=10, dy=alt.ExprRef(f"{IS_NARROW} ? -5 : 0")).encode(
        text=alt.value(alt.ExprRef(f"{IS_NARROW} ? datum.lines : datum.text")),
        color=alt.Color("ink:N", scale=None),
    )
    return of_rows(alt.layer(squares, text), len({cell["engine"] for cell in cells}), ROW)


def packets_of(case: str) -> Callable[[Evaluation, str], alt.VConcatChart]:
    """Return what draws the packets of a case over time, one panel an engine."""

    def draw(evaluation: Evaluation, engine: str) -> alt.VConcatChart:
        found = runs_of(evaluation, engine)
        shown = {evaluation.study.design.labels[name]: found[name, case] for name in SHOWN if (name, case) in found}
        charts = [_panel(label, run, last=label == list(shown)[-1]) for label, run in shown.items()]
        # one time axis for all, whose title is below the last
        drawn: alt.VConcatChart = alt.vconcat(*charts).resolve_scale(x="shared")
        return drawn

    return draw


def _concerned(run: Row) -> list[int]:
    """Return the numbers that a panel is about; the middle of the flight where nothing was lost or declared."""
    rows = [row["number"] for row in (*run["declared"], *run["expected"])]
    numbers = sorted({*rows, *(number for _, number in run["dropped"])})
    return numbers or _overtaken(run) or [run["sent"][len(run["sent"]) // 2][1]]


def _last_flight(numbers: Sequence[int]) -> list[int]:
    """Return those of the last flight: it shows the effect of earlier events."""
    found = [numbers[0]]
    for number in numbers[1:]:
        found = [*found, number] if number - found[-1] < AROUND else [number]
    return found


def _overtaken(run: Row) -> list[int]:
    """Return packets acknowledged after a packet that was sent later."""
    found, largest = [], -1
    for _, number in run["acknowledged"]:
        if number < largest and number not in found:
            found.append(number)
        largest = max(largest, number)
    return found[:1]


def _panel(title: str, run: Row, *, last: bool) -> alt.Chart:
    numbers = _last_flight(_concerned(run))
    first = next(time for time, number in run["sent"] if number == numbers[0])
    low, high = numbers[0] - 3, min(numbers[0] + AROUND, max(numbers[-1] + 5, numbers[0] + 8))
    rows = [
        *({"at": time, "number": number, "what": "sent"} for time, number in run["sent"]),
        *({"at": time, "number": number, "what": "acknowledged"} for time, number in run["acknowledged"]),
        *({"at": row["time_ms"], "number": row["number"], "what": EXPECTED} for row in run["expected"]),
        *(
            {
                "at": row["time_ms"],
                "number": row["number"],
                "what": f"{DECLARED}, but had arrived" if row["spurious"] else DECLARED,
            }
            for row in run["declared"]
        ),
    ]
    concerned = [row["at"] for row in rows if row["number"] in numbers]
    end = max(concerned) + AFTER_MS
    # what was sent at first is an RTT before all that is to be seen: zero of the axis, left of it
    rows = [
        {**row, "at": round(row["at"] - first, 3)}
        for row in rows
        if low <= row["number"] <= high and first + EARLY_MS < row["at"] <= end
    ]
    shape = alt.Shape(
        "what:N",
        scale=alt.Scale(domain=list(MARKS), range=[mark for mark, _ in MARKS.values()]),
        legend=alt.Legend(title=None, orient="top", columns=3, symbolSize=120),
    )
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(domain=list(MARKS), range=[colour for _, colour in MARKS.values()]),
        legend=alt.Legend(title=None, orient="top", columns=3, symbolSize=120),
    )
    drawn: alt.Chart = (
        alt.Chart({"values": rows})
        .mark_point(strokeWidth=2, clip=True)
        .encode(
            x=alt.X("at:Q", title=X if last else None, scale=alt.Scale(zero=False)),
            y=alt.Y("number:Q", title="Packet", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=False)),
            color=colour,
            shape=shape,
            size=alt.condition(alt.datum.what == EXPECTED, alt.value(RING), alt.value(POINT)),
            tooltip=[
                alt.Tooltip("what:N", title="What"),
                alt.Tooltip("number:Q", title="Packet"),
                alt.Tooltip("at:Q", title="Time [ms]"),
            ],
        )
        .properties(title=title, width=WIDTH, height=150)
    )
    return drawn
