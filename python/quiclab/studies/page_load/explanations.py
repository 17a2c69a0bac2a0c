"""Refuted claims of the page-load study: the mechanism, and the runs that show it."""

from __future__ import annotations

from quiclab.study.ablation import Ablation

EXPLANATIONS: dict[str, str] = {
    "PL46": """
        {{ seconds_with_losses('gquic37', 'jit') | figures(0) }} seconds have losses, as claimed; the 80th percentile
        of the window is {{ window_kb('gquic37', 'jit', 'cwnd_p80_kb') | figures(0) }} kB, where less than 50 is
        claimed. A delay that changes more often (variant `script_in_no_time`) makes it {{
        under('script_in_no_time').window_kb('gquic37', 'jit', 'cwnd_p80_kb') | figures(0) }}.
        """,
    "PL58": """
        QUIC takes {{ rate('Q2+T', 1) | figures(2) }} Mbit/s of five, TCP {{ rate('Q2+T', 2) | figures(2) }}, because
        CUBIC that stands for two connections reduces its window less at a loss: with one connection they are
        {{ rate('Q1+T', 1) | figures(2) }} and {{ rate('Q1+T', 2) | figures(2) }}. No share follows from counting
        connections alone.
        """,
}
ABLATIONS: dict[str, Ablation] = {
    "PL46": Ablation("the delay changes more often (`script_in_no_time`), and the claim holds", "script_in_no_time"),
    "PL58": Ablation(
        "CUBIC for one connection in place of two, and the rates are equal within a quarter",
        shows="0.8 <= rate('Q1+T', 1) / rate('Q1+T', 2) <= 1.25",
    ),
}
