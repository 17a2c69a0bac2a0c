"""Wrong inputs get a message that names their field; the page of errors has all messages."""

from __future__ import annotations

import pytest

from conftest import tool

wrong_inputs = tool("wrong_inputs")
CASES = wrong_inputs.cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_wrong_input_is_refused_and_its_field_is_named(case: object) -> None:
    answer = wrong_inputs.answer(case)
    assert answer.exit_code == 2, answer.error
    assert answer.path == answer.case.path
    assert answer.case.path or answer.case.name, "each case says what its message is about"
    assert answer.case.path in answer.error
    assert answer.case.name in answer.error
    assert "Traceback" not in answer.error
