"""Questions that people asked in public, answered by runs, with the range of theory beside each answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab.result.stats import reduced
from quiclab.study import (
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    Measures,
    Metric,
    Presentation,
    Study,
    TextTable,
)
from quiclab.study.criteria import Criterion
from quiclab_studies.remarks import assumed
from quiclab_studies.validation.answers_cases import BY_NAME, CASES, QUESTIONS
from quiclab_studies.validation.answers_measures import SERIES

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study.evaluate import Evaluation
    from quiclab.study.findings import Key
    from quiclab_studies.validation.answers_question import Case

SOURCE = "theory, by the formula of each question"
#: Runs of a case: those with random losses differ.
RUNS = 5
#: Distance from a range of width zero, and the largest one that is shown.
FAR = 10.0


def case_of(result: RunResult) -> Case:
    """Return the case of a run, which the name of its scenario says."""
    return BY_NAME[str(result.data["scenario"]["name"])]


def answer(result: RunResult) -> float:
    """Return what is measured of a run, in the unit of its question."""
    return case_of(result).question.measure(result)


def position(result: RunResult) -> float:
    """Return where the answer is in the range of theory: -1 at its lower end, 1 at its upper end."""
    setting = case_of(result).setting
    middle, half = (setting.low + setting.high) / 2, (setting.high - setting.low) / 2
    distance = answer(result) - middle
    if math.isnan(distance):
        return math.nan
    return max(-FAR, min(FAR, distance / half if half else math.copysign(FAR, distance) if distance else 0.0))


METRIC = Metric("answer", "Answer", "", answer)
POSITION = Metric("position", "Position in the range of theory", "", position)


def _criterion() -> Criterion:
    keys: list[Key] = [("lab", case.name) for case in CASES]
    statement = "Each answer is in the range of theory."
    nothing, end = dict.fromkeys(keys, 0.0), dict.fromkeys(keys, 1.0)
    return Criterion("VQ-1", statement, nothing, end, relative=False)


CRITERION = _criterion()
HEADS = ("question", "threads", "setting", "quantity", "unit", "theory", "quiclab", "command")


def listing(runs: Evaluation, engine: str) -> list[tuple[str, ...]]:
    """Return the rows of the table: each case, the range of theory, and the mean of the runs."""
    samples = runs.samples(engine, metric=METRIC.name)
    rows: list[tuple[str, ...]] = []
    for case in CASES:
        question, setting = case.question, case.setting
        values = samples.get(("lab", case.name), ())
        measured = f"{reduced(values, 'mean'):.4g}" if values else ""
        rows.append(
            (
                question.asks,
                ", ".join(question.threads),
                setting.name,
                question.quantity,
                question.unit,
                case.theory_range,
                measured,
                case.command,
            )
        )
    return rows


STUDY = Study(
    "validation/answers",
    design=Design(
        scenario="scenarios/questions/window_limit.toml",
        configurations=(Configuration("lab", "quiclab", {}),),
        factors=(
            Factor(
                "case",
                "case",
                "Case",
                "",
                tuple(BY_NAME),
                lambda name: {**BY_NAME[str(name)].setting.changes, "name": str(name)},
                scenario=lambda name: BY_NAME[str(name)].scenario,
            ),
        ),
        engines=(Engine("as stated", needs="lab-quic"),),
        runs=RUNS,
        failures_are_results=True,
    ),
    measures=Measures(
        metric=POSITION,
        further=(METRIC,),
        kept_series=SERIES,
        criteria=(CRITERION,),
        claims=(CRITERION.claim(SOURCE),),
    ),
    presentation=Presentation(
        title="Questions from the field",
        abstract=f"{len(QUESTIONS)} questions that were asked in public threads on QUIC and TCP, as {len(CASES)} "
        "scenarios of a few lines, with the range in which theory puts each answer.",
        source="the threads that each question names",
        figures=(
            Figure(
                "Position of each answer in the range of theory",
                SOURCE,
                "",
                "Mean over the runs; -1 and 1 are the ends of the range.",
                CRITERION.identity,
            ),
        ),
        text_tables=(TextTable("Answers", HEADS, listing),),
        assumptions=assumed(__file__, "answers"),
        limits=(
            "A range with one end that is far away says only that the answer is on the right side.",
            "Widths of the ranges were chosen when answers of quiclab were known: this is no blind comparison.",
        ),
    ),
)

STUDIES = (STUDY,)
