"""Pacing and acknowledgements of captures from any source: analysis, table and report (docs/pacing.md).

| file | content |
| --- | --- |
| `settings` | settings of an analysis, and their limits |
| `document` | types of its result |
| `analysis` | files of an argument; result of each |
| `labels` | the flows of all files: a unique label for each, numbers as strings, cautions |
| `table` | the tables of the command line |
| `series` | distributions and counts as points and bars of figures |
| `axes`, `distributions`, `figure` | shared parts of figures; figures of intervals; all figures |
| `page` | the page |
"""

from quiclab.analysis.pacing.analysis import FLOWS, Analysis, Failure, analyse
from quiclab.analysis.pacing.settings import BBR_GAINS, Settings

__all__ = ["BBR_GAINS", "FLOWS", "Analysis", "Failure", "Settings", "analyse"]
