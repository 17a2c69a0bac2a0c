"""What commands write: one meaning of `--out` and of `--force`.

A command never replaces a file that exists, unless `--force` is given; then it replaces what it writes, and removes
what its earlier results consist of, but nothing else, and never one of its inputs. Everything is written beside its
final place and renamed, so that after a kill or a full disk the old files or the new ones are there. Results
directories (`quiclab sweep`, `quiclab study`, `quiclab shard`) are no exception but another thing: stores to which each
command adds.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Any

import typer

from quiclab._base.files import reported
from quiclab._base.plugins import FunctionError
from quiclab._base.unfinished import unfinished_folder
from quiclab.errors import RequestError, unexpected
from quiclab.lane.choices import TABLES
from quiclab.result.recordings import KEPT, recorded_in
from quiclab.scenario.inputs import code_of, files_of
from quiclab.scenario.tree import to_json

#: Directories that commands make in that of their results.
FOLDERS = {TABLES}
#: Files from this size on [B] are no scenarios that name others.
MAX_SCENARIO = 1_000_000
#: Names that an error message lists.
MAX_LISTED = 4

ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace existing files of this command; other files are kept.")
]


def show_written(paths: Sequence[Path], as_json: bool, **more: Any) -> None:
    """Print what a command has written: a name on each line, or JSON.

    Parameters
    ----------
    paths
        The files.
    as_json
        Whether JSON is printed.
    more
        Further fields of the JSON document.
    """
    if as_json:
        print(to_json({"schema": "quiclab.written/1", "files": [str(path) for path in paths], **more}))
    else:
        for path in paths:
            print(path)


def check_new(path: Path, force: bool, inputs: Iterable[Path] = (), option: str = "--out") -> None:
    """Check that a file can be written and replaces nothing; before the work whose result it is.

    Parameters
    ----------
    path
        The file.
    force
        Whether it may be replaced.
    inputs
        What the command reads: files, scenarios with the files that they name and the code of their plugins beside
        them, and directories of runs. Nothing of them is replaced.
    option
        The option that names the file.

    Raises
    ------
    RequestError
        If `path` is an input, `path` exists and `force` is not set, `path` is a directory, or its directory is missing
        or read-only.
    """
    check_no_input([path], inputs, option)
    with reported(f"cannot write {path}"):  # a directory that may not be read, a name that is too long
        directory, there = path.is_dir(), path.exists() or path.is_symlink()
    if directory:
        raise RequestError(f"cannot write {path}: it is a directory")
    if path.exists() and not path.is_file():  # a device or a pipe, also through a link such as /dev/stdout
        raise RequestError(f"cannot write {path}: it is not a regular file")
    if there and not force:
        raise RequestError(f"{path} already exists; --force replaces it", kind="Conflict")
    if not path.parent.is_dir():
        raise RequestError(f"cannot write {path}: there is no directory {path.parent}", kind="File")
    if not os.access(path.parent, os.W_OK):
        raise RequestError(f"cannot write {path}: Permission denied", kind="File")


def check_no_input(paths: Iterable[Path], inputs: Iterable[Path], option: str) -> None:
    """Check that no file that is to be written is an input, whatever links lead to it.

    Parameters
    ----------
    paths
        The files.
    inputs, option
        As of `check_new`.

    Raises
    ------
    RequestError
        If one is, or is one of the recordings in a directory or of the files that a scenario names.
    """
    there = [path for path in paths if os.path.lexists(path)]
    for given in inputs if there else ():
        for file in (given, *_read_with(given)):
            if path := next((path for path in there if _is_same(path, file)), None):
                what = f"it is {'' if file == given else 'part of '}the input {given}"
                expected = "a file that is not an input of the command"
                raise unexpected(option, expected, path, f"{what}, which --force does not replace", kind="Conflict")


def _read_with(given: Path) -> list[Path]:
    """Return what is read with an input: the recordings in a directory, the files that a scenario names.

    A scenario may have any name but that of a recording; what is no TOML names nothing.
    """
    try:
        if given.is_dir():
            return recorded_in(given)
        if given.name.endswith(KEPT) or not given.is_file() or given.stat().st_size >= MAX_SCENARIO:
            return []
        document = tomllib.loads(given.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []  # reported when it is read
    names = files_of(document)
    # nothing is resolved or checked yet: errors of its plugins are reported when they are loaded
    with suppress(FunctionError, AttributeError, KeyError, TypeError, OSError, SyntaxError, ValueError):
        names += code_of(document, given.parent)
    paths = [given.parent / name for name in names]
    return [path for path in paths if os.path.isfile(path)]  # noqa: PTH113 - `Path.is_file` fails for a long name


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one is not there
        return False


def make_directory(path: Path, option: str = "--out") -> None:
    """Make a directory for results and check that files can be written there; `option` is what names it.

    Raises
    ------
    RequestError
        If it cannot be made or written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise unexpected(option, "a directory", str(path), "it is a file", kind="WrongType") from error
    except OSError as error:
        raise RequestError(f"cannot write to {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise RequestError(f"cannot write to {path}: Permission denied")


def claim_directory(
    path: Path, names: Collection[str], force: bool, option: str = "--out", inputs: Iterable[Path] = ()
) -> set[str]:
    """Make a directory for the files of a command, unless it has such files already.

    Parameters
    ----------
    path
        The directory; other files in it do not matter.
    names
        Names of the files that the command may write, and of those of its earlier result in this directory.
    force
        Whether these may be replaced.
    option
        The option that names the directory.
    inputs
        What the command reads, as of `check_new`.

    Returns
    -------
    set
        Those of the names that are in the directory.

    Raises
    ------
    RequestError
        If one is an input, there are any and `force` is not set, or the directory cannot be made or written to.
    """
    make_directory(path, option)
    with reported(f"cannot read {path}"):
        there = {entry.name for entry in path.iterdir()} & set(names)
        strange = sorted(name for name in there if name not in FOLDERS and _is_no_file(path / name))
    check_no_input((path / name for name in sorted(there)), inputs, option)
    if strange:  # nothing that a command has written, and not to be removed with all that is in it
        raise RequestError(
            f"cannot write {path / strange[0]}: it exists, and is not a regular file", path=option, kind="Conflict"
        )
    if there and not force:
        listed = sorted(there)
        more = f" and {len(listed) - MAX_LISTED} more" if len(listed) > MAX_LISTED else ""
        raise RequestError(
            f"{path} already has {', '.join(listed[:MAX_LISTED])}{more}; --force replaces them, or choose another "
            f"directory with {option}",
            path=option,
            kind="Conflict",
        )
    return there


def _is_no_file(path: Path) -> bool:
    """Return whether a name is that of something else than a file or a link, such as a directory of the user."""
    return not (path.is_symlink() or path.is_file())


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Give a temporary directory inside a directory; it is gone afterwards, whatever happens.

    Raises
    ------
    RequestError
        If the disk is full or read-only.
    """
    with reported(f"cannot write to {path}"), unfinished_folder(path) as folder:
        yield folder


@contextmanager
def replacing(path: Path, earlier: Collection[str], names: Collection[str], last: str) -> Iterator[None]:
    """Keep the files of an earlier result aside while a command writes new ones in their place.

    If the command fails, what it wrote is removed and the earlier files are back; otherwise they are gone. A kill
    leaves them in a hidden directory, `.earlier-` and some letters.

    Parameters
    ----------
    path
        The directory.
    earlier
        Names of the files of the earlier result, as of `claim_directory`; nothing is done if there are none.
    names
        Names of the files that the command may write.
    last
        The name of the file that says that a result is there: it goes first and comes back last.
    """
    if not earlier:
        yield
        return
    aside = Path(mkdtemp(prefix=".earlier-", dir=path))
    moved: list[str] = []

    def put_back() -> None:
        for name in reversed(moved):
            (aside / name).rename(path / name)
        aside.rmdir()

    try:
        for name in sorted(earlier, key=lambda name: (name != last, name)):
            (path / name).rename(aside / name)
            moved.append(name)
    except OSError:
        put_back()
        raise
    try:
        yield
    except BaseException:  # Ctrl-C and exit codes, too
        remove_files(path, names)
        put_back()
        raise
    shutil.rmtree(aside)


def publish(staged: Path, path: Path, earlier: Collection[str], last: str) -> None:
    """Move complete files to a directory in place of the files of an earlier result.

    The file `last` says that a result is there: the earlier one goes first and the new one comes last, so that a kill
    in between leaves no result that has files of two runs.

    Parameters
    ----------
    staged
        Directory of the new files, on the same file system.
    path
        The directory.
    earlier
        Names of the files of the earlier result, as of `claim_directory`.
    last
        The name of the file that says that a result is there.
    """
    remove_files(path, sorted(earlier, key=lambda name: name != last))
    for file in sorted(staged.iterdir(), key=lambda file: (file.name == last, file.name)):
        file.replace(path / file.name)


def remove_files(path: Path, names: Iterable[str]) -> None:
    """Remove files, or directories that a command has made, from a directory.

    Raises
    ------
    RequestError
        If they cannot be removed.
    """
    with reported(f"cannot write to {path}"):
        for name in names:
            if name in FOLDERS and (path / name).is_dir() and not (path / name).is_symlink():
                shutil.rmtree(path / name)
            else:
                (path / name).unlink(missing_ok=True)
