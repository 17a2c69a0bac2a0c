"""Plans of sweeps as files, for shards on many machines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from quiclab._base.native import MAX_SEED
from quiclab.errors import RequestError
from quiclab.experiment import shards
from quiclab.experiment.shards import are_texts, is_text, optional, whole
from quiclab.experiment.sweeps.plan import MAX_SEEDS, Plan


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(are_texts(pair) and len(pair) == 2 for pair in value)


KIND: Final = shards.Kind(
    "quiclab.plan/1",
    "`quiclab sweep plan`",
    {
        "file": ("the name of a file", is_text),
        "text": ("the text of a scenario", is_text),
        "sets": ("a list of pairs of texts", _are_pairs),
        "varied": ("a list of texts", are_texts),
        "zipped": ("a list of texts", are_texts),
        "sample": optional("a text", is_text),
        "seeds": whole(1, MAX_SEEDS),
        "first_seed": whole(0, MAX_SEED - MAX_SEEDS),
        "metrics": ("a list of texts", are_texts),
        "keep": ("a list of texts", are_texts),
    },
)


def write_plan(plan: Plan, file: Path) -> None:
    """Write a plan."""
    values = {name: getattr(plan, name) for name in KIND.fields}
    shards.write_plan(file, KIND, {**values, "file": str(plan.file.absolute())})


def plan_of(values: Mapping[str, Any]) -> Plan:
    """Return the plan of a file, from its values."""
    return Plan(**{**values, "file": Path(values["file"])})


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
            f"write a new plan with {KIND.command}",
            kind="Conflict",
        )
