"""Traces of link rates: a synthetic model, a reader of a published data set, and files that state their origin.

>>> from pathlib import Path
>>> from quiclab.sources import traces
>>> traces.write(Path("lte.csv"), traces.generate(seed=7))
>>> traces.read(Path("lte.csv")).synthetic
True
>>> traces.installed("lte")  # the published trace, where the user has installed it
"""

from quiclab.sources.traces.dataset import read_dataset
from quiclab.sources.traces.describe import Statistics, statistics
from quiclab.sources.traces.library import install, installed
from quiclab.sources.traces.model import generate
from quiclab.sources.traces.trace import Trace, read, to_csv, write

__all__ = [
    "Statistics",
    "Trace",
    "generate",
    "install",
    "installed",
    "read",
    "read_dataset",
    "statistics",
    "to_csv",
    "write",
]
