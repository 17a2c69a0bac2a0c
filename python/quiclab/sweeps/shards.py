"""Sweeps in shards, without a daemon: a plan in a file, shards that machines run alone, and what joins them.

Run number `i` of the sweep belongs to shard `i mod N`, so that shards have settings of all kinds and about the same
cost. Each shard is a store of its own below `PLAN.shards/`: a killed one goes on where it was.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab.errors import QuiclabError, RequestError, missing_field, shown, unexpected
from quiclab.failures import note_failures, read_failures
from quiclab.files import write_atomically
from quiclab.identity import VERSIONS
from quiclab.libraries import np, pl
from quiclab.native import MAX_SEED, extension
from quiclab.store import IDENTITY, Store
from quiclab.sweeps import kept
from quiclab.sweeps.plan import MAX_SEEDS, Plan
from quiclab.sweeps.run import Outcome, check, execute, row_kinds
from quiclab.sweeps.runs import Runs, measured

if TYPE_CHECKING:
    from collections.abc import Callable

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
        If it cannot be read, is not a plan, or was written by another version.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"cannot read the plan {file}: {error.strerror}") from error
    except ValueError as error:
        reason = f"{file} is not a plan of `quiclab sweep plan`: it is not JSON: {error}"
        raise RequestError(reason, kind="Syntax") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != PLAN_SCHEMA:
        raise unexpected("schema", f"`{PLAN_SCHEMA}`", schema, where=f"{file} is not a plan")
    if (version := extension().version()) != (found := document.get("quiclab")):
        hint = "`quiclab sweep plan` writes a new one"
        raise unexpected("quiclab", f"a plan of version {version}", found, hint, where=str(file))
    return _decoded(document, file)


def _decoded(document: dict[str, Any], file: Path) -> Plan:
    where = f"{file} is not a plan"

    def field(name: str, expected: str, fits: Callable[[Any], bool]) -> Any:
        if name not in document:
            raise missing_field(name, expected, where=where)
        if not fits(document[name]):
            raise unexpected(name, expected, document[name], where=where, got=shown(document[name]))
        return document[name]

    def whole(name: str, least: int, most: int) -> int:
        limits = f"a whole number from {least} to {most}"
        return int(field(name, limits, lambda value: type(value) is int and least <= value <= most))

    def texts(name: str) -> tuple[str, ...]:
        return tuple(field(name, "a list of texts", lambda value: _all(value, _is_text)))

    return Plan(
        file=Path(field("file", "the name of a file", _is_text)),
        text=field("text", "the text of a scenario", _is_text),
        sets=tuple(map(tuple, field("sets", "a list of pairs of texts", lambda value: _all(value, _is_pair)))),
        varied=texts("varied"),
        zipped=texts("zipped"),
        sample=field("sample", "a text or null", lambda value: value is None or _is_text(value)),
        seeds=whole("seeds", 1, MAX_SEEDS),
        first_seed=whole("first_seed", 0, MAX_SEED - MAX_SEEDS),
        metrics=texts("metrics"),
        keep=texts("keep"),
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and _all(value, _is_text)


def _all(value: object, fits: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def has_changed(plan: Plan) -> bool:
    """Return whether the scenario file of a plan is there and is not what it was; shards do not need it."""
    try:
        return plan.file.read_text(encoding="utf-8") != plan.text
    except (OSError, UnicodeDecodeError):
        return plan.file.is_file()


def run_shard(plan: Plan, file: Path, index: int, of: int, executor: Executor) -> Outcome:
    """Make the runs of one shard that are not stored.

    Raises
    ------
    RequestError
        If the scenario file has been changed since the plan was written, or a setting is wrong.
    """
    if has_changed(plan):
        raise RequestError(
            f"{file}: the scenario {plan.file} has changed since the plan was written; give it its former text, or "
            "write a new plan with `quiclab sweep plan`",
            kind="Conflict",
        )
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
        others: set[str] = set()
        failed: dict[str, str] = {}
        for index in range(of):
            shard = Store(directory_of(file) / f"{index}-of-{of}")
            for part in measured(shard, columns, row_kinds(columns)):
                rows, positions = runs.found_in(part[IDENTITY])
                new = ~stored[positions]
                kept.copy(shard.directory, store.directory, plan.keep, runs.names(positions[new]))
                store.append_frame(part[rows[new]])
                stored[positions] = True
                others.update(np.delete(part[VERSIONS].to_numpy(), rows).tolist())
            failed |= read_failures(shard.directory)
        note_failures(store.directory, failed, runs.names(np.flatnonzero(stored)) if failed else ())
    if failed:  # made, without a result
        stored[runs.found_in(pl.Series(list(failed), dtype=pl.String))[1]] = True
    lost = np.bincount(np.flatnonzero(~stored[runs.first]) % of, minlength=of)
    own = {plan.identity(index)[1] for index in range(len(plan.design.settings))}
    if lost.any() and others - own:
        raise QuiclabError(
            f"the shards hold runs of other versions ({'; '.join(sorted(others - own))}) than this machine computes "
            f"({'; '.join(sorted(own))}); merge them with the versions that ran them"
        )
    if missing := np.flatnonzero(lost).tolist():
        named = ", ".join(map(str, missing[:MAX_NAMED]))
        named += f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        raise QuiclabError(
            f"{lost.sum()} of {plan.total} runs are missing, of {'shard' if len(missing) == 1 else 'shards'} {named}; "
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
