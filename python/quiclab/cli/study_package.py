"""`quiclab study package`."""

from __future__ import annotations

from pathlib import Path

from quiclab.cli.output import show_written
from quiclab.cli.study_group import for_each
from quiclab.cli.study_options import NameArgument, OutOption
from quiclab.cli.values import JsonOption
from quiclab.errors import QuiclabError
from quiclab.report.archive import write_package
from quiclab.study import Study
from quiclab.study.evaluate import Evaluation
from quiclab.study.plan import RESULTS, sweep_command
from quiclab.study.registry import find_all


def package_command(name: NameArgument, out: OutOption = RESULTS, as_json: JsonOption = False) -> None:
    """Carry out `quiclab study package`."""

    def action(study: Study) -> None:
        evaluation = Evaluation(study, out)
        if evaluation.missing_anywhere:
            raise QuiclabError(
                f"an archive requires complete results, but {evaluation.missing_anywhere} runs are missing; run "
                f"{sweep_command(study, out, f' --runs {evaluation.runs}')}"
            )
        written.append(write_package(evaluation))
        if not as_json:
            show_written(written[-1:], as_json)

    written: list[Path] = []
    try:
        for_each(find_all(name), action)
    finally:
        if as_json:
            show_written(written, as_json)
