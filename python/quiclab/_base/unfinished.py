"""Unfinished files and folders: each lies beside its final place, under a hidden name, and is held by its process.

A process locks (`flock`) what it writes, and the operating system frees the lock when the process ends, however it
ends. So whoever gets the lock knows that the writer is gone, and may remove what it has left. Where a file system has
no locks, nothing is removed.

A file `NAME` is written as `.NAME.PID.quiclab-tmp`: a file with such a name that is not locked is taken for one of
quiclab, for it has nothing else that says so. A folder is `.recording-` and eight characters; it has the file
`quiclab.lock`, which is locked, and the folder `files`, and nothing else.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

#: Ending of an unfinished file, which no other program gives its own.
ENDING: Final = ".quiclab-tmp"
_FILE: Final = re.compile(rf"\.(?P<name>.+)\.[0-9]+{re.escape(ENDING)}", re.DOTALL)
_PREFIX: Final = ".recording-"
_FOLDER: Final = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}")
#: What a folder has: the file that is locked, and the files that are written.
_LOCK, _FILES = "quiclab.lock", "files"
#: How often a file is opened, or a folder made, that another process takes away in between.
_TRIES: Final = 100
#: Directories that this process has written to -> final names of what others had left there, so that a directory with
#: many files is listed once.
_left: dict[Path, set[str]] = {}


@contextmanager
def unfinished_file(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Give a file that is written in place of `path`, and its name, to be renamed; it is gone after an error.

    What processes that were killed have left of the same file goes first.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    _remove_left(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}{ENDING}")
    with _held(temporary) as file:
        try:
            file.truncate(0)  # of a process with the same number, such as one of another container
            yield temporary, file
        except BaseException:
            with suppress(OSError):  # the reason may forbid this, too
                temporary.unlink(missing_ok=True)
            raise


@contextmanager
def unfinished_folder(directory: Path) -> Iterator[Path]:
    """Give a folder inside a directory; it is gone afterwards, and so are those of processes that were killed.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    for path in abandoned_folders(directory):
        _remove_folder(path)
    with ExitStack() as stack:
        made = _made(directory, stack)
        try:
            (made / _FILES).mkdir()
            yield made / _FILES
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _remove_left(path: Path) -> None:
    """Remove what was left of a file before this process wrote to its directory."""
    directory = path.parent.absolute()
    if (left := _left.get(directory)) is None:
        matches = (_FILE.fullmatch(entry.name) for entry in _entries(directory))
        left = _left[directory] = {match["name"] for match in matches if match is not None}
    if path.name in left:
        left.discard(path.name)
        remove_abandoned(path.parent, {path.name})


def _made(directory: Path, stack: ExitStack) -> Path:
    """Make a folder and lock it."""
    for _ in range(_TRIES):
        made = Path(mkdtemp(prefix=_PREFIX, dir=directory))
        try:
            stack.enter_context(_held(made / _LOCK))
        except FileNotFoundError:
            if made.exists():
                raise
            continue  # another process has taken it for abandoned, before it was locked
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            raise
        return made
    raise OSError(errno.EAGAIN, "another process removes each folder that is made", str(directory))


def abandoned_files(directory: Path, names: Collection[str] | None = None) -> list[Path]:
    """Return the unfinished files in a directory whose processes are gone: all, or those with these final names."""
    found = []
    for path in _entries(directory):
        matched = _FILE.fullmatch(path.name)
        if matched is None or not (names is None or matched["name"] in names):
            continue
        if path.is_file() and not path.is_symlink():
            with _taken(path) as free:
                found += [path] if free else []
    return found


def abandoned_folders(directory: Path) -> list[Path]:
    """Return the unfinished folders in a directory whose processes are gone."""
    found = []
    for path in _entries(directory):
        if _FOLDER.fullmatch(path.name) is None or path.is_symlink():
            continue
        names = {entry.name for entry in _entries(path)}
        if _LOCK in names and names <= {_LOCK, _FILES}:
            with _taken(path / _LOCK) as free:
                found += [path] if free else []
    return found


def remove_abandoned(directory: Path, names: Collection[str] | None = None) -> None:
    """Remove what killed processes have left in a directory: folders, and unfinished files, as `abandoned_files`."""
    for path in abandoned_files(directory, names):
        with _taken(path) as free, suppress(OSError):
            if free:
                path.unlink()
    for path in abandoned_folders(directory):
        _remove_folder(path)


def _remove_folder(path: Path) -> None:
    with _taken(path / _LOCK) as free:
        if free:
            shutil.rmtree(path, ignore_errors=True)


def _entries(directory: Path) -> list[Path]:
    """List a directory; nothing if it is none, or cannot be read."""
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


@contextmanager
def _held(path: Path) -> Iterator[BinaryIO]:
    """Open a file and lock it, until it is closed; its content stays."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    for _ in range(_TRIES):
        try:
            descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise OSError(error.errno, f"{path.name} is a symbolic link", str(path)) from error
            raise
        with os.fdopen(descriptor, "ab") as file:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(path, file):  # not removed, or renamed, while this process waited
                yield file
                return
    raise OSError(errno.EAGAIN, f"another process takes {path.name} away each time", str(path))


@contextmanager
def _taken(path: Path) -> Iterator[bool]:
    """Lock a file if no process has; says whether this has succeeded."""
    try:  # to be written, too: over NFS only such a file is locked
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC), "r+b")
    except OSError:
        yield False
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = _is_at(path, file)
        except OSError:
            free = False
        yield free


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except OSError:
        return False
