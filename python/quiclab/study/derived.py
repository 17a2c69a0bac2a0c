"""Documents made from stored runs: kept until what they are made from changes.

A document lies in `derived/` of the results of its study, with the state of each study that it was made from: its own,
and those that its claims read. A state is a hash over stored runs and manifest, the files of its package and those
beside scenario and published table, quiclab and its build, and the engines that are available here with what their runs
are identified by: stacks written in Python, and the files of the kernel lane.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import quiclab
from quiclab._base.files import write_atomically
from quiclab._base.native import build_id
from quiclab.errors import RequestError
from quiclab.experiment.failures import FILE
from quiclab.experiment.store import Store
from quiclab.scenario.inputs import source_of
from quiclab.stacks.registry import available
from quiclab.study.manifest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from quiclab.study import Study

FOLDER: Final = "derived"
SCHEMA: Final = "quiclab.derived/1"


def state_of(study: Study, directory: Path, engines: Sequence[str]) -> str:
    """Return the hash of everything that tables and documents of a study are made from.

    Parameters
    ----------
    study
        The study.
    directory
        Its results.
    engines
        Its engines that are available.
    """
    lines = [study.name, build_id(), *engines, *_stacks(), *_package()]
    for lane in dict.fromkeys(study.design.engine(name).lane for name in engines):
        if lane is not None:
            lines += [platform.release(), *_states(lane.files())]
    results = directory.parents[study.name.count("/")]
    read = [study.home / name for name in (*study.design.scenarios, study.measures.table.file) if name]
    for folder in sorted({_distribution(study.file), *(file.parent for file in read)}):
        lines += _states(_files(folder, results))
    lines += _states([*Store(directory).files(), directory / MANIFEST, directory / FILE])
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _stacks() -> Iterator[str]:
    """List versions and code of the stacks written in Python; native ones are part of the build."""
    for stack in available():
        try:
            source = source_of(stack.factory, f"stack `{stack.name}`")
        except RequestError:
            source = ""  # of an interactive session, which can run none of them
        yield f"{stack.name} {stack.version} {source}"


@cache
def _package() -> tuple[str, ...]:
    """Return the states of the files of quiclab, but for the extension, which has the build."""
    root = Path(quiclab.__file__).parent
    return tuple(_states(file for file in _files(root) if file.suffix != ".so"))


def _distribution(file: Path) -> Path:
    """Return the folder of the package that is not in another one, from that of a module."""
    folder = file.parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _files(folder: Path, results: Path | None = None) -> Iterator[Path]:
    """List the files of a folder and those below it, except results, compiled modules and hidden folders."""
    without = None if results is None else results.resolve()
    for parent, folders, names in os.walk(folder):
        here = Path(parent)
        kept = (name for name in folders if name != "__pycache__" and not name.startswith("."))
        folders[:] = sorted(name for name in kept if (here / name).resolve() != without)
        yield from (here / name for name in sorted(names))


def _states(files: Iterable[Path]) -> Iterator[str]:
    """List name, size and time of change of files, which change with their contents."""
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        yield f"{file} {status.st_size} {status.st_mtime_ns}"


def read(path: Path, state: Callable[[str], str]) -> Any:
    """Return a document whose inputs are as they were; `None` if there is none.

    Parameters
    ----------
    path
        The file.
    state
        Returns the state of a study by its name.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        current = content["schema"] == SCHEMA and all(state(name) == was for name, was in content["inputs"].items())
        return content["document"] if current else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write(path: Path, inputs: dict[str, str], document: Any) -> None:
    """Keep a document; a directory that cannot be written to stays as it is."""
    content = {"schema": SCHEMA, "inputs": inputs, "document": document}
    try:
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, json.dumps(content).encode())
    except (OSError, RequestError):
        return
