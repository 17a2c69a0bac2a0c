"""A run, its result with metrics and tables, statistics over runs, and how numbers are written.

| module | subject |
| --- | --- |
| `document` | the result of one run |
| `simulate` | a run in virtual time |
| `metrics` | metrics of the ends of a flow |
| `windows`, `series` | parts of the time of a run; statistics of time series |
| `delivered` | bytes that count as delivered |
| `recordings` | files that a run writes |
| `shape` | the form of documents that are read |
| `stats` | statistics over runs |
| `formats` | numbers in sentences and tables |
"""

from quiclab.result.document import NOT_KEPT, RUN_SCHEMA, TABLES, FlowResult, NotKept, RunResult
from quiclab.result.simulate import Keep, run, run_resolved

__all__ = [
    "NOT_KEPT",
    "RUN_SCHEMA",
    "TABLES",
    "FlowResult",
    "Keep",
    "NotKept",
    "RunResult",
    "run",
    "run_resolved",
]
