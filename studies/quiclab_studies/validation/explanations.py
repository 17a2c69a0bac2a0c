"""Refuted criteria of the comparisons with Linux and with real stacks: the mechanism, and the runs that show it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quiclab.study.ablation import Ablation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quiclab.study.criteria import Criterion

SHORT = "'20mbit_20ms', 'jitter'"
"""Settings whose round trip is short enough for a timer of a millisecond to count, and in which packets overtake."""
TIMERS = """
    quinn in process has the timers of its program, whole milliseconds and up to two late; those of lab-quic are exact.
    Where packets overtake one another, a late timer of loss detection leaves them more time, which counts where an
    eighth of the round trip is as short. In the settings with the shortest round trip and jitter the difference is {{
    (100 * distance(WHERE)) | figures(1) }} % in the mean; with timers of the server that are as late (variant
    `late_timers`) it is {{ (100 * under('late_timers').distance(WHERE)) | figures(1) }} %.
    """.replace("WHERE", SHORT)
LATE_TIMERS = Ablation(
    "not the claim, but most of the difference: timers of the server are as late as those of quinn's program"
    " (`late_timers`), and in the settings with the shortest round trip and jitter the difference is less than half",
    shows=f"under('late_timers').distance({SHORT}) < 0.5 * distance({SHORT})",
)

JITTER = "'100mbit_112ms_q1867_uniform25ms_64MB'"
EXPLANATIONS: dict[str, str] = {
    **dict.fromkeys(("LQ-Q1", "LQ-Q2", "LQ-Q3", "LQ-Q4"), TIMERS),
    "LT-B1": """
        The cause is not known. All settings are within the limit but the two with the largest jitter, of each of which
        the reference has a single run: CUBIC has {{ value('cubic', JITTER) | figures(1) }} Mbit/s with a standard
        deviation of {{ deviation('cubic', JITTER) | figures(1) }} where the kernel's run has {{ reference('cubic',
        JITTER) | figures(1) }}, Reno {{ value('reno', JITTER) | figures(1) }} with {{ deviation('reno', JITTER) |
        figures(1) }} where it has {{ reference('reno', JITTER) | figures(1) }}. HyStart alone is not it: without it
        (variant `no_hystart`) CUBIC has {{ under('no_hystart').value('cubic', JITTER) | figures(1) }} with {{
        under('no_hystart').deviation('cubic', JITTER) | figures(1) }}, and Reno has none. More runs of the kernel would
        tell whether its mean differs from the model's.
        """.replace("JITTER", JITTER),
}
ABLATIONS: dict[str, Ablation] = dict.fromkeys(("LQ-Q1", "LQ-Q2", "LQ-Q3", "LQ-Q4"), LATE_TIMERS)


def explained(criteria: Iterable[Criterion]) -> tuple[Criterion, ...]:
    """Add the explanations of criteria and their ablations."""
    return tuple(
        replace(item, explanation=EXPLANATIONS.get(item.identity, ""), ablation=ABLATIONS.get(item.identity))
        for item in criteria
    )
