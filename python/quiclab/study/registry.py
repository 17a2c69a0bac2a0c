"""Finds study files: `studies/*.py` of the source checkout, or of the directory in `QUICLAB_STUDIES`.

Files whose names start with `_` are parts of studies, which these import by name. A study is looked for only in
files that have its group, the first part of its name, at the start of a string, in the file itself or in a part of it:
loading all of them takes a second.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab.errors import QuiclabError, RequestError, unexpected, unknown
from quiclab.study.check import check_study

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quiclab.study import Study

ENVIRONMENT = "QUICLAB_STUDIES"


def studies_directory() -> Path:
    """Return the directory of the study files.

    Raises
    ------
    RequestError
        If there is none.
    """
    named = os.environ.get(ENVIRONMENT)
    directory = Path(named) if named else Path(__file__).resolve().parents[3] / "studies"
    if not directory.is_dir():
        raise RequestError(
            f"the directory {directory} does not exist; set {ENVIRONMENT} to the directory of the studies"
        )
    return directory.absolute()


def root() -> Path:
    """Return the directory that scenarios and reference tables of studies are relative to."""
    return studies_directory().parent


def studies() -> dict[str, Study]:
    """Return all studies by name, sorted by file, in the order of each file."""
    return {study.name: study for path in study_files() for study in _load(path)}


def study_files() -> list[Path]:
    """Return the study files."""
    return sorted(path for path in studies_directory().glob("*.py") if not path.name.startswith("_"))


def part_files() -> list[Path]:
    """Return the files that study files import."""
    return sorted(studies_directory().glob("_*.py"))


def file_of(name: str) -> Path:
    """Return the file that defines a study."""
    return next(path for path in _files_with(name) if any(study.name == name for study in _load(path)))


def about(found: Sequence[Study]) -> list[str]:
    """Return the descriptions of the files of some studies: the paragraphs of their docstrings."""
    paragraphs = []
    for path in dict.fromkeys(file_of(study.name) for study in found):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        paragraphs += [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    return paragraphs


def find(name: str) -> Study:
    """Return one study.

    Raises
    ------
    RequestError
        If the name is not the name of one study.
    """
    found = find_all(name)
    if len(found) > 1 or found[0].name != name:
        names = ", ".join(f"`{study.name}`" for study in found)
        raise unexpected("", "one study", hint=f"its studies are {names}", got=f"the group `{name}`")
    return found[0]


def find_parts(name: str) -> list[Study]:
    """Return one study, or the studies of a group, such as `validation/linux_tcp`.

    Raises
    ------
    RequestError
        If the name is neither; groups of studies are not.
    """
    found = find_all(name)
    return found if "/" in name.strip("/") else [find(name)]


def find_all(name: str | None) -> list[Study]:
    """Return one study, the studies of a group or the parts of a study, or all.

    Raises
    ------
    RequestError
        If there is none of that name.
    """
    if name is None:
        return list(studies().values())
    likely = {study.name: study for path in _files_with(name) for study in _load(path)}
    found = [study for key, study in likely.items() if key == name or key.startswith(name.rstrip("/") + "/")]
    if not found:
        raise unknown("study", name, _names_of_all(), listing="quiclab study list")
    return found


def _names_of_all() -> list[str]:
    """Return all names that `find_all` takes: those of studies, of their groups and of studies with parts."""
    names: dict[str, None] = {}
    for name in studies():
        steps = name.split("/")
        names |= dict.fromkeys("/".join(steps[: count + 1]) for count in range(len(steps)))
    return list(names)


def _files_with(name: str) -> list[Path]:
    """Return the study files that may define studies of the group of a name."""
    group = re.compile(rf"""["']{re.escape(name.split("/", maxsplit=1)[0])}["'/]""")
    return [path for path in study_files() if group.search(_text_of(path))]


@cache
def _text_of(path: Path) -> str:
    """Return the text of a study file and of all parts that it is made of."""
    texts: dict[Path, str] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file in texts:
            continue
        try:
            texts[file] = file.read_text(encoding="utf-8", errors="replace")
        except OSError:  # loading it reports the error
            texts[file] = ""
        parts = re.findall(r"^\s*(?:from|import)\s+(_\w+)", texts[file], re.MULTILINE)
        waiting += [path.with_name(f"{part}.py") for part in parts]
    return "\n".join(texts.values())


@cache
def _load(path: Path) -> tuple[Study, ...]:
    specification = importlib.util.spec_from_file_location(f"quiclab_studies.{path.stem}", path)
    if specification is None or specification.loader is None:
        raise QuiclabError(f"cannot load the study file {path}")
    module = importlib.util.module_from_spec(specification)
    try:
        with _importable(path.parent):
            specification.loader.exec_module(module)
        listed = getattr(module, "STUDIES", None)
        if not isinstance(listed, tuple | list):
            raise RequestError(
                "STUDIES: expected a tuple of studies at the end of the file, such as `STUDIES = (MINE,)`"
            )
        found: tuple[Study, ...] = tuple(listed)
        for study in found:
            check_study(study)
    except RequestError as error:
        raise RequestError(f"{path}: {error.message}") from error
    except Exception as error:  # any error of a study file becomes a one-line message
        raise QuiclabError(f"cannot load the study file {path}: {type(error).__name__}: {error}") from error
    return found


@contextmanager
def _importable(directory: Path) -> Iterator[None]:
    """Let a study file import its parts, and forget them again: another directory may have parts of the same name."""
    before = set(sys.modules)
    sys.path.append(str(directory))
    try:
        yield
    finally:
        sys.path.remove(str(directory))
        for name in set(sys.modules) - before:
            if Path(getattr(sys.modules[name], "__file__", None) or "").parent == directory:
                del sys.modules[name]
