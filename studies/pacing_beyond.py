"""Beyond the pacing thesis: every sender with every receiver, and what pacing buys."""

from _pacing_beyond_bearer import DUAL_CONNECTIVITY
from _pacing_beyond_studies import BEYOND
from _pacing_matrix import MATRIX

STUDIES = (*MATRIX, *BEYOND, DUAL_CONNECTIVITY)
