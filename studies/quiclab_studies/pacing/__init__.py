"""Pacing and acknowledgements of QUIC stacks and TCP (Keller, thesis, TU Munich, 2021).

Downloads past a tap on a fast link, in front of a bottleneck of 10 or 100 Mbit/s: how evenly are packets spaced, how
far do acknowledgements set the pace, and how does a receiver acknowledge? The numbers are those of `quiclab pacing
analyse`.

Beyond the thesis: every sender with every receiver, and what pacing buys.
"""

from quiclab_studies.pacing.beyond_bearer import DUAL_CONNECTIVITY
from quiclab_studies.pacing.beyond_studies import BEYOND
from quiclab_studies.pacing.matrix import MATRIX
from quiclab_studies.pacing.studies import PUBLISHED

STUDIES = (*PUBLISHED, *MATRIX, *BEYOND, DUAL_CONNECTIVITY)
