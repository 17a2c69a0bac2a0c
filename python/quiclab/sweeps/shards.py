"""Sweeps in shards, without a daemon: a plan in a file, shards that machines run alone, and what joins them.

Run number `i` of the sweep belongs to shard `i mod N`, so that shards have settings of all kinds and about the same
cost. Each shard is a store of its own below `PLAN.shards/`: a killed one goes on where it was.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab.errors import QuiclabError, RequestError, unexpected
from quiclab.files import write_atomically
from quiclab.libraries import np
from quiclab.native import extension
from quiclab.store import IDENTITY, Store
from quiclab.sweeps import kept
from quiclab.sweeps.plan import Plan
from quiclab.sweeps.run import Outcome, check, execute, row_kinds
from quiclab.sweeps.runs import Runs, measured

if TYPE_CHECKING:
    from quiclab.executors import Executor

PLAN_SCHEMA: Final = "quiclab.plan/1"
MAX_NAMED: Final = 8


def directory_of(file: Path) -> Path:
    """Return where the shards of a plan are."""
    return file.with_name(f"{file.name.removesuffix('.json')}.shards")


def write_plan(plan: Plan, file: Path) -> None:
    """Write a plan."""
    values = {item.name: getattr(plan, item.name) for item in fields(plan) if item.name != "lane"}
    document = {"schema": PLAN_SCHEMA, "quiclab": extension().version(), **values, "file": str(plan.file.absolute())}
    write_atomically(file, (json.dumps(document, indent=1) + "\n").encode())


def read_plan(file: Path) -> Plan:
    """Read a plan.

    Raises
    ------
    RequestError
        If it cannot be read, is none, or was written by another version.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"cannot read the plan {file}: {error.strerror}") from error
    except ValueError as error:
        raise RequestError(f"{file} is not a plan: {error}", kind="Syntax") from error
    if not isinstance(document, dict) or document.get("schema") != PLAN_SCHEMA:
        raise RequestError(f"{file} is not a plan: schema: expected `{PLAN_SCHEMA}`", path="schema")
    if (version := extension().version()) != document.get("quiclab"):
        raise unexpected("quiclab", f"a plan of version {version}", document.get("quiclab"), where=str(file))
    return _decoded(document, file)


def _decoded(document: dict[str, Any], file: Path) -> Plan:
    try:
        return Plan(
            file=Path(document["file"]),
            text=str(document["text"]),
            sets=tuple((str(path), str(text)) for path, text in document["sets"]),
            varied=tuple(map(str, document["varied"])),
            zipped=tuple(map(str, document["zipped"])),
            sample=None if document["sample"] is None else str(document["sample"]),
            seeds=int(document["seeds"]),
            first_seed=int(document["first_seed"]),
            metrics=tuple(map(str, document["metrics"])),
            keep=tuple(map(str, document["keep"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RequestError(f"{file} is not a plan: {type(error).__name__}: {error}") from error


def run_shard(plan: Plan, file: Path, index: int, of: int, executor: Executor) -> Outcome:
    """Make the runs of one shard that are not stored."""
    runs = Runs.of_shard(plan, index, of)
    check(plan, np.unique(runs.settings).tolist())
    store = Store(directory_of(file) / f"{index}-of-{of}")
    return execute(runs, store, executor, title=f"{plan.name}: shard {index} of {of}")


def merge(plan: Plan, file: Path, store: Store) -> None:
    """Add the runs of all shards to a store.

    Raises
    ------
    QuiclabError
        If shards lack runs; the message names them.
    """
    of = _count(file)
    check(plan)
    columns = [measure.column for measure in plan.measures]
    runs = Runs.of(plan)
    with store.locked():
        stored = runs.stored(store, columns)
        for index in range(of):
            shard = Store(directory_of(file) / f"{index}-of-{of}")
            for part in measured(shard, columns, row_kinds(columns)):
                rows, positions = runs.found_in(part[IDENTITY])
                new = ~stored[positions]
                kept.copy(shard.directory, store.directory, plan.keep, runs.names(positions[new]))
                store.append_frame(part[rows[new]])
                stored[positions] = True
    lost = np.bincount(np.flatnonzero(~stored[runs.first]) % of, minlength=of)
    if missing := np.flatnonzero(lost).tolist():
        named = ", ".join(map(str, missing[:MAX_NAMED]))
        named += f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        raise QuiclabError(
            f"{lost.sum()} of {plan.total} runs are missing, of shards {named}; "
            f"run `quiclab shard {file} --index {missing[0]} --of {of}`"
        )


def _count(file: Path) -> int:
    """Return into how many shards a plan was divided.

    Raises
    ------
    RequestError
        If no shard was run, or shards are of different divisions.
    """
    names = [path.name for path in directory_of(file).glob("*-of-*") if path.is_dir()]
    found = sorted({int(end) for name in names if (end := name.rpartition("-of-")[2]).isdigit()})
    if not found:
        raise RequestError(f"no shard of {file} has been run: `quiclab shard {file} --index 0 --of N`")
    if len(found) > 1:
        counts = " and ".join(map(str, found))
        raise RequestError(f"{directory_of(file)} has shards of {counts}; remove those that are not wanted")
    return found[0]
