"""`quiclab demo`: a published finding, from its runs to its verdicts and its page."""

from __future__ import annotations

import sys
from typing import Final

from quiclab.cli.study_options import OutOption
from quiclab.cli.study_report import report_command
from quiclab.cli.study_request import Request
from quiclab.cli.study_run import report, run_all
from quiclab.cli.values import JobsOption, JsonOption
from quiclab.experiment.repetitions import MIN_RUNS
from quiclab.study.plan import RESULTS
from quiclab.study.registry import find_all

STUDY: Final = "dual_connectivity/pdcp"
#: Runs of each setting: as many as verdicts need.
RUNS: Final = MIN_RUNS


def demo_command(jobs: JobsOption = None, out: OutOption = RESULTS, as_json: JsonOption = False) -> None:
    """Carry out `quiclab demo`."""
    presentation = find_all(STUDY)[0].presentation
    print(f"{presentation.title} ({STUDY}): {presentation.abstract}", file=sys.stderr)
    report(STUDY, run_all(Request(STUDY, runs=RUNS), jobs, "processes", out), out, as_json=False)
    report_command(STUDY, out, as_json)
