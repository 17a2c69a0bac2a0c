"""Results as files: each field that is read is checked, and a run replaces whatever an older one left."""

from __future__ import annotations

import json
import tomllib
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import fields
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL
from quiclab import run
from quiclab.analysis.inspect import open_run, render, side
from quiclab.errors import RequestError
from quiclab.result import TABLES, RunResult
from quiclab.scenario import Scenario


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """The result of a run as JSON has it."""
    document: dict[str, Any] = json.loads(run(Scenario.from_dict(tomllib.loads(SMALL))).to_json())
    return document


def refusal(file: Path) -> RequestError | None:
    """Return the error of `quiclab inspect` about a result; None if it writes its report."""
    try:
        render([side(open_run(file, 1000, lambda *_: nullcontext()))])
    except RequestError as error:
        return error
    return None


def test_each_field_of_a_result_is_checked(recorded: dict[str, Any], tmp_path: Path) -> None:
    file, number = tmp_path / "result.json", 0
    for path in [
        *("scenario", "seed", "digest", "warnings", "versions", "run", "flows", "elements"),
        *("run.network_time_s", "run.events", "run.ended_by", "run.kernel", "scenario.flows", "scenario.record"),
        *("scenario.taps", "scenario.links", "scenario.links.down1", "flows.dc", "flows.dc.completed"),
        *("flows.dc.delivered_bytes", "flows.dc.sender", "flows.dc.finish_s"),
    ]:
        *above, name = path.split(".")
        for wrong in (None, {"": 5}, [5], "x", 5, True):
            document = deepcopy(recorded)
            table = reduce(getitem, above, document)
            if wrong is None:
                table.pop(name, None)
            else:
                table[name] = wrong
            file.write_text(json.dumps(document))
            error = refusal(file)
            if error is None:
                continue
            number += 1
            if "is not the result of a run" in error.message:  # else the scenario in it is wrong
                assert error.path.startswith(path), wrong
                assert error.message.startswith(f"{file} is not the result of a run: {error.path}: ")
            else:
                assert path.startswith("scenario."), error.message
    assert number > 80


@pytest.mark.parametrize(("field", "value"), [("network_time_s", "1e999"), ("network_time_s", f"1{'0' * 400}")])
def test_numbers_of_a_result_are_finite(recorded: dict[str, Any], field: str, value: str) -> None:
    document = {**recorded, "run": {**recorded["run"], field: 77.5}}
    with pytest.raises(RequestError) as error:
        RunResult.from_json(json.dumps(document).replace("77.5", value))
    assert error.value.path == f"run.{field}"


@pytest.mark.parametrize("kind", [[], {}, 5, True, None])
def test_the_kind_of_a_variant_may_be_anything(kind: object) -> None:
    document = tomllib.loads(SMALL)
    document["links"]["down1"]["queue"] = {"kind": kind}
    with pytest.raises(RequestError) as error:
        Scenario.from_dict(document)
    assert error.value.path == "links.down1.queue.kind"


def test_each_recorded_table_is_a_field_of_a_result() -> None:
    assert {field.name for field in fields(RunResult)} == {"data", "taps", *TABLES}
