"""Look inside one run, or two side by side: from results and qlog files to one page that works offline.

| file | content |
| --- | --- |
| `source` | resolution of an argument: a result, a scenario to run, a qlog file |
| `ends` | one endpoint of a connection, as the report shows it, from any source |
| `qlog` | an endpoint from a trace of a qlog file |
| `records` | an endpoint from the tables of a run, where there is no qlog |
| `sequence` | packets of two endpoints matched to arrows |
| `limits` | what keeps a sender from sending more |
| `window` | a part of the time |
| `links` | queues and rates of the links of a run |
| `columns` | numbers as short JSON |
| `tiles` | large columns: an overview, and all rows in blocks |
| `blocks` | columns of integers, compressed |
| `connection` | a connection as JSON of the page |
| `view` | all of it as the JSON of the page |
| `html` | the page |
"""

from quiclab.analysis.inspect.html import render
from quiclab.analysis.inspect.source import DEFAULT_POINTS, Run, open_run
from quiclab.analysis.inspect.view import Side, side

__all__ = ["DEFAULT_POINTS", "Run", "Side", "open_run", "render", "side"]
