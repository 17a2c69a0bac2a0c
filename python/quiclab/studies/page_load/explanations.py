"""Refuted claims of the page-load study: the mechanism, and the runs that show it."""

from __future__ import annotations

from quiclab.study.ablation import Ablation

PROCESSOR = """
    In the model the browser's time for each image is the whole cost of many small objects: QUIC takes {{ mean('base',
    'quic1', 100, 10, 100) | figures(0) }} ms for a hundred of them and {{ mean('base', 'quic1', 100, 1000, 1) |
    figures(0) }} ms for one, and {{ under('browser_in_no_time').mean('base', 'quic1', 100, 10, 100) | figures(0) }}
    and {{ under('browser_in_no_time').mean('base', 'quic1', 100, 1000, 1) | figures(0) }} without that time (variant
    `browser_in_no_time`). Requests that leave late and the servers' cost of an object are not modelled.
    """
IN_NO_TIME = Ablation(
    "the browser takes no time (`browser_in_no_time`), and a hundred images take as long as one; not so with it",
    shows="under('browser_in_no_time').mean('base', 'quic1', 100, 10, 100)"
    " <= 1.02 * under('browser_in_no_time').mean('base', 'quic1', 100, 1000, 1)"
    " and mean('base', 'quic1', 100, 10, 100) > 1.05 * mean('base', 'quic1', 100, 1000, 1)",
)
EXPLANATIONS: dict[str, str] = {
    "PL13": PROCESSOR,
    "PL14": PROCESSOR,
    "PL16": PROCESSOR,
    "PL19": """
        The first half holds: slow start ends by delay, without loss, and QUIC's estimate is
        {{ srtt_ms('quic1_n1', 10, 100, 0) | figures(0) }} ms then, since the browser reads late: without its time
        (`browser_in_no_time`)
        {{ (100 * under('browser_in_no_time').left_slow_start('quic1_n1', 10, 100)) | figures(0) }}
        % of the runs leave slow start, with it {{ (100 * left_slow_start('quic1_n1', 10, 100)) | figures(0) }} %. But
        TCP's estimate has grown as well at that moment.
        """,
    "PL46": """
        {{ seconds_with_losses('gquic37', 'jit') | figures(0) }} seconds have losses, as claimed; the 80th percentile
        of the window is {{ window_kb('gquic37', 'jit', 'cwnd_p80_kb') | figures(0) }} kB, where less than 50 is
        claimed. A delay that changes more often (variant `script_in_no_time`) makes it {{
        under('script_in_no_time').window_kb('gquic37', 'jit', 'cwnd_p80_kb') | figures(0) }}.
        """,
    "PL49": """
        Images that the browser takes time for make BBR's delivery rate that of the browser: QUIC is behind for 200
        objects at 100 Mbit/s (by {{ (-D('base', 'quic1_bbr', 'tcp_bbr', 100, 5, 200)) | figures(0) }} %).
        """,
    "PL55": """
        QUIC takes {{ rate('Q2+T', 1) | figures(2) }} Mbit/s of five, TCP {{ rate('Q2+T', 2) | figures(2) }}, because
        CUBIC that stands for two connections reduces its window less at a loss: with one connection they are
        {{ rate('Q1+T', 1) | figures(2) }} and {{ rate('Q1+T', 2) | figures(2) }}. Why the ratio exceeds the published
        one is not known.
        """,
}
ABLATIONS: dict[str, Ablation] = {
    "PL55": Ablation(
        "CUBIC for one connection in place of two, and the rates are equal within a quarter",
        shows="0.8 <= rate('Q1+T', 1) / rate('Q1+T', 2) <= 1.25",
    ),
    "PL13": IN_NO_TIME,
    "PL14": IN_NO_TIME,
    "PL16": IN_NO_TIME,
    "PL19": Ablation(
        "the browser takes no time (`browser_in_no_time`), and QUIC does not leave slow start",
        shows="under('browser_in_no_time').left_slow_start('quic1_n1', 10, 100) < left_slow_start('quic1_n1', 10, 100)",
    ),
    "PL46": Ablation("the delay changes more often (`script_in_no_time`), and the claim holds", "script_in_no_time"),
    "PL49": Ablation("the browser takes no time (`browser_in_no_time`), and the claim holds", "browser_in_no_time"),
}
