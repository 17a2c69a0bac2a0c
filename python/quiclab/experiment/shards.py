"""Plans in shards, without a daemon: a plan in a file, shards that machines run alone, and what joins them.

Run number `i` of the plan belongs to shard `i mod N`, so that shards have settings of all kinds and about the same
cost. Each shard is a store of its own below `PLAN.shards/`: a killed one goes on where it was.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quiclab._base.files import write_atomically
from quiclab._base.libraries import np, pl
from quiclab._base.native import extension
from quiclab.errors import QuiclabError, RequestError, missing_field, shown, unexpected
from quiclab.experiment import kept
from quiclab.experiment.execute import Outcome, check, execute, row_kinds
from quiclab.experiment.failures import note_failures, read_failures
from quiclab.experiment.identity import VERSIONS
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import IDENTITY, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from quiclab.experiment.executors import Executor
    from quiclab.experiment.plan import Plan

MAX_NAMED: Final = 8


def directory_of(file: Path) -> Path:
    """Return where the shards of a plan are."""
    return file.with_name(f"{file.name.removesuffix('.json')}.shards")


class Kind(NamedTuple):
    """A kind of plans in files.

    Attributes
    ----------
    schema
        Schema of its documents.
    command
        The command that writes them.
    fields
        What is expected of each value, and whether a value is that.
    """

    schema: str
    command: str
    fields: Mapping[str, tuple[str, Callable[[Any], bool]]]


def is_text(value: object) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def are_texts(value: object) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(map(is_text, value))


def whole(least: int, most: int) -> tuple[str, Callable[[Any], bool]]:
    """Return the field of a whole number."""
    return f"a whole number from {least} to {most}", lambda value: type(value) is int and least <= value <= most


def optional(expected: str, fits: Callable[[Any], bool]) -> tuple[str, Callable[[Any], bool]]:
    """Return a field that may be null."""
    return f"{expected} or null", lambda value: value is None or fits(value)


def write_plan(file: Path, kind: Kind, values: Mapping[str, Any]) -> None:
    """Write a plan, from the values that describe it."""
    document = {"schema": kind.schema, "quiclab": extension().version(), **values}
    write_atomically(file, (json.dumps(document, indent=1) + "\n").encode())


def read_plan(file: Path, *kinds: Kind) -> tuple[Kind, dict[str, Any]]:
    """Read a plan; returns its kind, and its values with tuples in place of lists.

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
        commands = " or ".join(kind.command for kind in kinds)
        raise RequestError(f"{file} is not a plan of {commands}: it is not JSON: {error}", kind="Syntax") from error
    where = f"{file} is not a plan"
    schema = document.get("schema") if isinstance(document, dict) else None
    if (kind := next((kind for kind in kinds if kind.schema == schema), None)) is None:
        raise unexpected("schema", " or ".join(f"`{kind.schema}`" for kind in kinds), schema, where=where)
    if (version := extension().version()) != (found := document.get("quiclab")):
        hint = f"{kind.command} writes a new one"
        raise unexpected("quiclab", f"a plan of version {version}", found, hint, where=str(file))
    for name, (expected, fits) in kind.fields.items():
        if name not in document:
            raise missing_field(name, expected, where=where)
        if not fits(value := document[name]):
            raise unexpected(name, expected, value, where=where, got=shown(value))
    return kind, {name: _tuples(document[name]) for name in kind.fields}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def run_shard(plan: Plan, directory: Path, index: int, of: int, executor: Executor) -> Outcome:
    """Make the runs of one shard that are not stored; `directory` is that of the shards of the plan.

    Raises
    ------
    RequestError
        If a setting is wrong.
    """
    runs = Runs.of(plan).shard(index, of)
    check(plan, np.unique(runs.settings).tolist())
    store = Store(directory / f"{index}-of-{of}")
    return execute(runs, store, executor, title=f"{plan.name}: shard {index} of {of}")


def merge(plan: Plan, file: Path, directory: Path, store: Store) -> Outcome:
    """Add the runs of all shards to a store.

    Parameters
    ----------
    plan, file
        The plan, and its file.
    directory
        Where its shards are.
    store
        The store.

    Raises
    ------
    QuiclabError
        If shards lack runs; the message names them.
    """
    of = _count(file, directory)
    check(plan)
    runs, kinds = Runs.of(plan), row_kinds(plan.recording)
    with store.locked():
        stored = runs.stored(store)
        before = int(stored[runs.is_first].sum())
        others: set[str] = set()
        failed: dict[str, str] = {}
        for index in range(of):
            shard = Store(directory / f"{index}-of-{of}")
            for part in runs.rows_in(shard, kinds):
                rows, positions = runs.found_in(part[IDENTITY])
                new = ~stored[positions]
                kept.copy(shard.directory, store.directory, plan.recording.tables, runs.names(positions[new]))
                store.append_frame(part[rows[new]])
                stored[positions] = True
                others.update(np.delete(part[VERSIONS].to_numpy(), rows).tolist())
            failed |= read_failures(shard.directory)
        note_failures(store.directory, failed, runs.names(np.flatnonzero(stored)) if failed else ())
    outcome = Outcome(int(runs.is_first.sum()), int(stored[runs.is_first].sum()))
    outcome.executed = outcome.done - before
    if failed:  # made, without a result
        stored[runs.found_in(pl.Series(list(failed), dtype=pl.String))[1]] = True
    outcome.failed = int(stored[runs.is_first].sum()) - outcome.done
    lost = np.bincount(runs.numbers[runs.is_first & ~stored] % of, minlength=of)
    own = {plan.identity(index)[1] for index in range(len(plan))}
    if lost.any() and others - own:
        raise QuiclabError(
            f"the shards hold runs of other versions ({'; '.join(sorted(others - own))}) than this machine computes "
            f"({'; '.join(sorted(own))}); merge them with the versions that ran them"
        )
    if missing := np.flatnonzero(lost).tolist():
        named = ", ".join(map(str, missing[:MAX_NAMED]))
        named += f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        raise QuiclabError(
            f"{lost.sum()} of {outcome.total} runs are missing, of {'shard' if len(missing) == 1 else 'shards'} "
            f"{named}; run `quiclab shard {file} --index {missing[0]} --of {of}`"
        )
    return outcome


def _count(file: Path, directory: Path) -> int:
    """Return into how many shards a plan was divided.

    Raises
    ------
    RequestError
        If no shard was run, or shards are of different divisions.
    """
    names = [path.name for path in directory.glob("*-of-*") if path.is_dir()]
    found = sorted({int(end) for name in names if (end := name.rpartition("-of-")[2]).isdigit()})
    if not found:
        raise RequestError(f"no shard of {file} has been run: `quiclab shard {file} --index 0 --of N`")
    if len(found) > 1:
        counts = " and ".join(map(str, found))
        raise RequestError(f"{directory} has shards of {counts}; remove those that are not wanted")
    return found[0]
