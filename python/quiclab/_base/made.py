"""Files that commands make in a results directory: what an earlier version, or an earlier definition, made goes.

`made.json` lists each file that a command has made, with a hash of its content. A later command removes those that it
no longer makes, if their content is still that: such a file that a user has changed stays, and so does what is not in
the list. A file that is made again is replaced, also where it was changed.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from quiclab._base.files import write_atomically
from quiclab.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MADE: Final = "made.json"
SCHEMA: Final = "quiclab.made/1"

Hashes: TypeAlias = dict[str, list[str]]
"""Name of a file -> hashes of the contents that were written to it: of two, after a kill, either may be there."""


def write_files(directory: Path, owner: str, contents: Mapping[str, bytes], earlier: Iterable[str] = ()) -> None:
    """Write files to a results directory, and remove those that the same command has made before and makes no more.

    Parameters
    ----------
    directory
        The directory.
    owner
        What makes them, such as `report`; each owner has its own files.
    contents
        The files by their names.
    earlier
        Names of files that are known to be made by it, as they are now, where it has none in the list: by a version
        without one.

    Raises
    ------
    RequestError
        If the directory cannot be written to, or a file of the user has the name of the list.
    """
    check(directory)
    listed = read(directory)
    before = listed.get(owner)
    if before is None:
        before = {name: _hashes(directory / name) for name in earlier if name == Path(name).name}
    now = {name: [_hash(content)] for name, content in contents.items()}
    # before the files: after a kill, each is known to be made
    _write(directory, {**listed, owner: {**before, **{name: [*before.get(name, []), *now[name]] for name in now}}})
    for name, content in contents.items():
        write_atomically(directory / name, content)
    for name, hashes in before.items():
        path = directory / name
        if name not in now and not path.is_symlink() and set(_hashes(path)) & set(hashes):
            with suppress(OSError):
                path.unlink()
    _write(directory, {**listed, owner: now})


def is_of_user(directory: Path) -> bool:
    """Return whether something else than a list lies in its place."""
    path = directory / MADE
    if not (path.exists() or path.is_symlink()):
        return False
    try:
        return bool(json.loads(path.read_text(encoding="utf-8"))["schema"] != SCHEMA)
    except (OSError, ValueError, KeyError, TypeError):
        return True


def check(directory: Path) -> None:
    """Check that the list can be written.

    Raises
    ------
    RequestError
        If a file of the user has its name.
    """
    if is_of_user(directory):
        raise RequestError(
            f"{directory / MADE} is not the list of files that quiclab keeps there, which would replace it; move it, "
            "or choose another directory with --out",
            path="--out",
            kind="Conflict",
        )


def read(directory: Path) -> dict[str, Hashes]:
    """Return what is listed, by owner; nothing if there is no list, or something else in its place."""
    try:
        content = json.loads((directory / MADE).read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            return {}
        return {
            owner: {name: [str(item) for item in hashes] for name, hashes in files.items() if name == Path(name).name}
            for owner, files in content["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write(directory: Path, files: Mapping[str, Hashes]) -> None:
    content = {"schema": SCHEMA, "files": files}
    write_atomically(directory / MADE, (json.dumps(content, indent=2) + "\n").encode())


def _hashes(path: Path) -> list[str]:
    """Return the hash of a file in a list; an empty one if there is none."""
    try:
        return [_hash(path.read_bytes())] if path.is_file() else []
    except OSError:
        return []


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
