"""How soon one download fills two lines through a tunnel, with the model of the program.

Without windows of the paths that lead slow starts inside, and a queue that shows the rate of a path, the download
waited for the windows of the paths, left its slow start, and took ten seconds and more until it used both lines.
"""

from __future__ import annotations

import pytest

import quiclab
from two_lines import BOTH_MBPS, goodput_mbps, model

#: The window of TCP inside grows to that of both lines in slow start, so that little is left to congestion avoidance.
SOON_S, SOON = 2, 0.9
#: BBR leaves 2 % of the time to PROBE_RTT and drains its probes of bandwidth; paced, its slow start takes longer.
LATER_S, LATER = 10, 0.94


def test_a_download_fills_both_lines_within_seconds() -> None:
    result = quiclab.run(model((40, 40), 8), seed=1)
    assert goodput_mbps(result, SOON_S, 8) >= SOON * BOTH_MBPS


@pytest.mark.parametrize("rtts_ms", [(20, 20), (40, 40)], ids=lambda rtts: f"{rtts[0]}_ms")
def test_a_download_fills_both_lines_with_bbr(rtts_ms: tuple[int, int]) -> None:
    result = quiclab.run(model(rtts_ms, 20, "bbr-linux"), seed=1)
    assert goodput_mbps(result, LATER_S, 20) >= LATER * BOTH_MBPS
