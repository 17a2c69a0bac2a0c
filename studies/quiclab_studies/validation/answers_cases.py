"""All questions from public threads, and their settings as cases of the study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab_studies.validation import answers_control, answers_network, answers_protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab_studies.validation.answers_question import Case

QUESTIONS = (*answers_protocol.QUESTIONS, *answers_control.QUESTIONS, *answers_network.QUESTIONS)
CASES = tuple(case for question in QUESTIONS for case in question.cases)
BY_NAME: Mapping[str, Case] = {case.name: case for case in CASES}
