"""Pacing and acknowledgements of anybody's captures: analysis, table and page (docs/pacing.md).

| file | what it does |
| --- | --- |
| `settings` | what an analysis is told, and what is allowed |
| `document` | types of what it says |
| `analysis` | which files a name stands for; what each of them says |
| `shown` | the flows of all files: a name of its own for each, numbers as texts, what to know before one reads them |
| `table` | the tables of the command line |
| `series` | distributions and counts as points and bars of figures |
| `axes`, `distributions`, `figure` | what the figures share; those of intervals; all of them |
| `page` | the page |
"""

from quiclab.pacing.analysis import FLOWS, Analysis, Failure, analyse
from quiclab.pacing.settings import BBR_GAINS, Settings

__all__ = ["BBR_GAINS", "FLOWS", "Analysis", "Failure", "Settings", "analyse"]
