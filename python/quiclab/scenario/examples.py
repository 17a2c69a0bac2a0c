"""Examples of scenarios, in the folders that distributions name.

An entry point of the group `quiclab.scenarios` names the path of a folder: each TOML file in it is an example.
"""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

from quiclab._base.files import read_text, reported
from quiclab.errors import QuiclabError, unknown
from quiclab.scenario.inputs import code_of, files_of

GROUP = "quiclab.scenarios"


@dataclass(frozen=True)
class Example:
    """An example.

    Attributes
    ----------
    name
        Its name: that of the file without the suffix.
    file
        Path of the file.
    """

    name: str
    file: Path

    @property
    def text(self) -> str:
        """Return the scenario as TOML, with comments."""
        return read_text(self.file)

    @property
    def description(self) -> str:
        """Return its description, or the first sentence of the comment at its start."""
        if found := tomllib.loads(self.text).get("description"):
            return str(found)
        comment = takewhile(lambda line: line.startswith("#"), self.text.splitlines())
        first, _, _ = " ".join(line.removeprefix("#").strip() for line in comment).partition(". ")
        return first.removesuffix(".") + "."

    @property
    def files(self) -> list[str]:
        """Return the files that it names and the code of its plugins, relative to its folder."""
        scenario = tomllib.loads(self.text)
        return [*files_of(scenario), *code_of(scenario, self.file.parent)]

    def write(self, file: Path) -> list[Path]:
        """Write the example to a file, and what it names beside it unless that exists; returns what was written.

        Raises
        ------
        RequestError
            If something cannot be read or written.
        """
        written = [file]
        with reported(f"cannot write {file}"):
            file.write_text(self.text, encoding="utf-8")
            for name in self.files:
                if not (copy := file.parent / name).exists():
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(self.file.parent / name, copy)
                    written.append(copy)
        return written


@cache
def examples() -> dict[str, Example]:
    """Return all examples by name, sorted.

    Raises
    ------
    QuiclabError
        If two distributions have an example of the same name.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - it takes a while, and most commands need none

    found: dict[str, Example] = {}
    for point in entry_points(group=GROUP):
        for file in Path(point.load()).glob("*.toml"):
            other = found.setdefault(file.stem, Example(file.stem, file))
            if other.file != file:
                raise QuiclabError(f"two distributions have an example `{file.stem}`: {other.file} and {file}")
    return dict(sorted(found.items()))


def example(name: str) -> Example:
    """Return an example.

    Raises
    ------
    RequestError
        If there is none of this name.
    """
    found = examples()
    if name not in found:
        raise unknown("example", name, found, listing="quiclab scenario list")
    return found[name]
