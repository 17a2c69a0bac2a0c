"""Finds studies: by the entry points `quiclab.studies` of installed distributions, or in a folder of one's own.

The name of an entry point is the start of the names of its studies, with dots for slashes: `validation.lanes` has
`validation/lanes` and what is below it. Only entry points that may have a requested study are loaded, because loading
all takes a second. The directory in `QUICLAB_STUDIES` replaces them: each of its files `*.py` lists studies, except
those whose names start with `_`, which these import relatively (`from ._parts import ...`).
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Final

from quiclab.errors import QuiclabError, RequestError, unexpected, unknown
from quiclab.study.check import check_study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.study import Study

ENVIRONMENT: Final = "QUICLAB_STUDIES"
#: The distribution of the published studies.
PUBLISHED: Final = "quiclab-studies"
#: Entry points of this group list studies.
GROUP: Final = "quiclab.studies"


@dataclass(frozen=True)
class Source:
    """A module that lists studies.

    Attributes
    ----------
    prefix
        Start of the names of its studies; empty if any name may be there.
    module, attribute
        The module, and the name in it of a tuple of studies.
    origin
        The distribution and the module, or the file, for messages.
    """

    prefix: str
    module: str
    attribute: str
    origin: str

    def may_have(self, name: str) -> bool:
        """Whether a study, or a study of a group, of this name may be there."""
        return not self.prefix or f"{self.prefix}/".startswith(f"{name}/") or name.startswith(f"{self.prefix}/")


def own_directory() -> Path | None:
    """Return the directory of studies of one's own, if there is one.

    Raises
    ------
    RequestError
        If it does not exist.
    """
    named = os.environ.get(ENVIRONMENT)
    if not named:
        return None
    directory = Path(named)
    if not directory.is_dir():
        raise unexpected(ENVIRONMENT, "a directory of study files", str(directory), hint="it does not exist")
    return directory.resolve()


def studies() -> dict[str, Study]:
    """Return all studies by name, sorted by module, in the order of each module."""
    return {study.name: study for source in sources() for study in load(source)}


def sources() -> tuple[Source, ...]:
    """Return the modules that list studies, in the order of their names."""
    directory = own_directory()
    return _entry_points() if directory is None else _files(directory)


@cache
def _entry_points() -> tuple[Source, ...]:
    """Return the modules that installed distributions name.

    Raises
    ------
    QuiclabError
        If two distributions have studies of the same group.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - it takes a while, and most commands need none

    found: dict[str, Source] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        name = "" if point.dist is None else f"{point.dist.name} {point.dist.version}"
        source = Source(point.name.replace(".", "/"), point.module, point.attr, f"{name} ({point.module})")
        other = found.setdefault(source.prefix, source)
        if other != source:
            raise QuiclabError(
                f"two distributions have studies of the group `{source.prefix}`: {other.origin} and {source.origin}; "
                "remove one of them"
            )
    return tuple(found.values())


def _files(directory: Path) -> tuple[Source, ...]:
    """Return the study files of a directory, which become modules of one package."""
    package = f"quiclab_own_studies_{hashlib.sha256(str(directory).encode()).hexdigest()[:8]}"
    if package not in sys.modules:
        specification = ModuleSpec(package, None, is_package=True)
        specification.submodule_search_locations = [str(directory)]
        sys.modules[package] = importlib.util.module_from_spec(specification)
    files = sorted(path for path in directory.glob("*.py") if not path.name.startswith("_"))
    return tuple(Source("", f"{package}.{path.stem}", "STUDIES", str(path)) for path in files)


def _place_of(error: Exception, source: Source) -> str:
    """Return `FILE:LINE: ` of the last statement of a source that led to an error; empty without one."""
    package = importlib.util.find_spec(source.module.partition(".")[0])
    folders = [*(package.submodule_search_locations or ()), *filter(None, [package.origin])] if package else []
    frames = [
        frame
        for frame in extract_tb(error.__traceback__)
        if any(Path(frame.filename).is_relative_to(folder) for folder in folders)
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def about(found: Sequence[Study]) -> tuple[str, list[str]]:
    """Return the title of some studies and the further paragraphs about them, from the docstrings of their modules.

    The title is that of their module. Studies of several modules have that of their package; the title is empty if they
    have no package in common, because that of one module would be said of all.
    """
    files = list(dict.fromkeys(study.file for study in found))
    if len(files) > 1:
        homes = {file.parent for file in files}
        package = next(iter(homes)) / "__init__.py"
        files = [package] if len(homes) == 1 and package.is_file() else []
    paragraphs = []
    for path in files:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        paragraphs += [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    return (paragraphs[0].partition(" (")[0].rstrip("."), paragraphs[1:]) if paragraphs else ("", [])


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


def installed() -> tuple[Source, ...]:
    """Return `sources`, of which there must be one.

    Raises
    ------
    QuiclabError
        If no distribution with studies is installed.
    """
    found = sources()
    if not found and own_directory() is None:
        raise QuiclabError(f"no studies are installed; {PUBLISHED} brings the published ones: pip install {PUBLISHED}")
    return found


def find_all(name: str | None) -> list[Study]:
    """Return one study, the studies of a group or the parts of a study, or all.

    Raises
    ------
    RequestError
        If there is none of that name.
    QuiclabError
        If no distribution with studies is installed.
    """
    known = installed()
    if name is None:
        return list(studies().values())
    wanted = name.rstrip("/")
    found: list[Study] = []
    failed: list[QuiclabError] = []
    for source in known:
        if source.may_have(wanted):
            try:
                studies_there = load(source)
            except QuiclabError as error:  # a study may be in another source; a group would not be whole
                failed.append(error)
                continue
            found += [study for study in studies_there if study.name == wanted or study.name.startswith(f"{wanted}/")]
    if failed and all(study.name != wanted for study in found):
        raise failed[0]
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


@cache
def load(source: Source) -> tuple[Study, ...]:
    """Return the studies that a module lists, each with its file.

    Raises
    ------
    QuiclabError
        If the module cannot be loaded, or lists something else.
    """
    try:
        module = importlib.import_module(source.module)
        listed = getattr(module, source.attribute, None)
        if not isinstance(listed, tuple | list):
            raise RequestError(
                f"{source.attribute}: expected a tuple of studies at the end of the file, such as `STUDIES = (MINE,)`"
            )
        for study in listed:
            check_study(study)
            if not source.may_have(study.name):
                raise unexpected("name", f"a name that starts with `{source.prefix}/`", study.name)
    except RequestError as error:
        raise RequestError(f"{source.origin}: {error.message}") from error
    except Exception as error:  # any error of a study's module becomes a one-line message
        hint = ""
        if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("_"):
            hint = f"; parts of studies are imported relatively: `from .{error.name} import ...`"
        reason = f"{_place_of(error, source)}{type(error).__name__}: {error}{hint}"
        raise QuiclabError(f"cannot load the studies of {source.origin}: {reason}") from error
    file = Path(module.__file__ or "")
    return tuple(replace(study, file=file) for study in listed)
