"""Tests that share a resource of the machine run on one worker of pytest-xdist."""

from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("one")
def test_a_group_is_known_to_the_scheduler() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("runs without workers")
    assert os.environ["PYTEST_CURRENT_TEST"].startswith(
        "tests/test_groups.py::test_a_group_is_known_to_the_scheduler@one"
    )
