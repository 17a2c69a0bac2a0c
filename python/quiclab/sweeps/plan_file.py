"""Plans of sweeps as files, for shards on many machines."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab.errors import RequestError
from quiclab.experiment import shards
from quiclab.native import MAX_SEED
from quiclab.sweeps.plan import MAX_SEEDS, Plan

if TYPE_CHECKING:
    from quiclab.experiment.shards import PlanFile

SCHEMA: Final = "quiclab.plan/1"
COMMAND: Final = "`quiclab sweep plan`"


def write_plan(plan: Plan, file: Path) -> None:
    """Write a plan."""
    values = {item.name: getattr(plan, item.name) for item in fields(plan) if item.name != "lane"}
    shards.write_plan(file, SCHEMA, {**values, "file": str(plan.file.absolute())})


def plan_of(read: PlanFile) -> Plan:
    """Return the plan of a file.

    Raises
    ------
    RequestError
        If a value is missing, or does not fit.
    """

    def are_pairs(value: Any) -> bool:
        return isinstance(value, list) and all(shards.are_texts(pair) and len(pair) == 2 for pair in value)

    return Plan(
        file=Path(read.text("file", "the name of a file")),
        text=read.text("text", "the text of a scenario"),
        sets=tuple(map(tuple, read.value("sets", "a list of pairs of texts", are_pairs))),
        varied=read.texts("varied"),
        zipped=read.texts("zipped"),
        sample=read.value("sample", "a text or null", lambda value: value is None or isinstance(value, str)),
        seeds=read.whole("seeds", 1, MAX_SEEDS),
        first_seed=read.whole("first_seed", 0, MAX_SEED - MAX_SEEDS),
        metrics=read.texts("metrics"),
        keep=read.texts("keep"),
    )


def has_changed(plan: Plan) -> bool:
    """Return whether the scenario file of a plan is there and is not what it was; shards do not need it."""
    try:
        return plan.file.read_text(encoding="utf-8") != plan.text
    except (OSError, UnicodeDecodeError):
        return plan.file.is_file()


def check_unchanged(plan: Plan, file: Path) -> None:
    """Check that the scenario file of a plan is what it was when the plan was written.

    Raises
    ------
    RequestError
        If it is not.
    """
    if has_changed(plan):
        raise RequestError(
            f"{file}: the scenario {plan.file} has changed since the plan was written; give it its former text, or "
            f"write a new plan with {COMMAND}",
            kind="Conflict",
        )
