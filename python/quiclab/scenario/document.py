"""A scenario: the document of a scenario file, and what can be done with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab._base import notebook
from quiclab._base.native import extension, resolve, resolve_file
from quiclab.errors import RequestError, ScenarioError, unexpected, unknown
from quiclab.scenario import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Version of the format of scenarios.
VERSION = 1
#: Entries of a table that a notebook shows.
MAX_SHOWN = 10


class Scenario:
    """One network with its flows: the document of a scenario file, whose fields the engine defines.

    `docs/reference/scenario.md` has all fields. Quantities are texts with a unit (`"20 Mbit/s"`). What is not given has
    its default once the scenario is resolved, which `load` does. Scenarios do not change: `with_value` makes another.

    Parameters
    ----------
    document
        The tree as plain Python values; a value that is `None` is not given, and `version` is 1 where it is not. Former
        names of fields and values are read with a `FutureWarning`.
    base_dir
        Directory that files named in it (traces) are relative to; no part of the document.

    Raises
    ------
    RequestError
        If a field does not exist, is missing or has another type.
    """

    __slots__ = ("_document", "base_dir")

    def __init__(self, document: Mapping[str, Any], base_dir: str | Path = ".") -> None:
        if not isinstance(document, Mapping):
            raise unexpected("scenario", "a table", document, kind="WrongType")
        self._document: dict[str, Any] = _read({"version": VERSION, **tree.plain(document)})
        self.base_dir = str(base_dir)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], base_dir: str | Path = ".") -> Scenario:
        """Build a scenario from plain Python values; as the class itself."""
        return cls(plain, base_dir)

    @classmethod
    def from_toml(cls, text: str, base_dir: str | Path = ".") -> Scenario:
        """Build a scenario from the text of a scenario file, resolved as by `load`."""
        return cls(json.loads(resolve(text, "text", str(base_dir), form="toml")), base_dir)

    def __eq__(self, other: object) -> bool:
        """Compare the documents."""
        return self._document == other._document if isinstance(other, Scenario) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of a dictionary

    def __repr__(self) -> str:
        """Show name, links and flows."""
        links, flows = (", ".join(self._document.get(table, {})) or "none" for table in ("links", "flows"))
        return f"<Scenario {self.name!r}: links {links}; flows {flows}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: links and flows, and folded what else has names."""
        found = {name: self._document[name] for name in fields() if name in tables() and self._document.get(name)}
        shown = [f"<p>{name.capitalize()}</p>{_table(found[name])}" for name in ("links", "flows") if name in found]
        shown += [
            notebook.folded(f"{name.capitalize()} ({len(entries)})", _table(entries))
            for name, entries in found.items()
            if name not in ("links", "flows")
        ]
        return notebook.block(
            f"Scenario {self.name}", notebook.sentence(str(self._document.get("description", ""))), *shown
        )

    def __getattr__(self, name: str) -> Any:
        """Say how fields are read."""
        if name in fields():
            raise AttributeError(f'fields are read by their path: scenario["{name}"]')
        raise AttributeError(f"a scenario has no `{name}`")

    def __getitem__(self, path: str) -> Any:
        """Return the value at a path, as `value`; IPython and Jupyter complete the path.

        Raises
        ------
        RequestError
            If no value is given there.
        """
        if not isinstance(path, str):
            raise unexpected("path", 'a text such as "links.down1.rate"', path, kind="WrongType")
        if (found := self.value(path)) is None:
            raise unknown("path", path, tree.paths(self._document), listing="quiclab scenario show FILE")
        return found

    __iter__ = None  # a document, not a sequence

    def _ipython_key_completions_(self) -> list[str]:
        """Return the paths of all values, which completion shows after `scenario["`."""
        return list(tree.paths(self._document))

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self._document["name"])

    def value(self, path: str, default: Any = None) -> Any:
        """Return the value at a path such as `links.down1.rate`, or the default where none is given.

        Parameters
        ----------
        path
            Names joined by dots; entries of lists are counted from 0.
        default
            What to return where the path leads nowhere. A path that no scenario can have is not noticed.

        Returns
        -------
        A plain value: a text, a number, a boolean, a list or a dictionary, of which a change has no effect.
        """
        found: Any = self._document
        for step in path.split("."):
            if isinstance(found, Mapping):
                found = found.get(step)
            elif isinstance(found, list) and step.isdecimal():
                found = found[int(step)] if int(step) < len(found) else None
            else:
                return default
            if found is None:
                return default
        return tree.plain(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the document as plain Python values, without what is not given."""
        copy: dict[str, Any] = tree.plain(self._document)
        return copy

    def to_json(self) -> str:
        """Return the document as JSON with sorted keys."""
        return json.dumps(self._document, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def with_value(self, path: str, value: object) -> Scenario:
        """Return a copy in which one value is another.

        Parameters
        ----------
        path
            Names joined by dots, such as `bearers.dc.batch_packets`, as of `--set`: `*` is every name, entries of lists
            are counted from 0. A link, bearer, host or flow that does not exist yet is added by giving it whole.
        value
            The new value; `None` removes it.

        Raises
        ------
        RequestError
            If the path does not exist, also for a value that is removed.
        """
        return self.with_values({path: value})

    def with_values(self, changes: Mapping[str, object]) -> Scenario:
        """Return a copy in which several values are others, in their order; as `with_value`.

        If a link is changed, the links of `network` take its place in the copy, with every default; the scenario has to
        be valid before the changes then.
        """
        plain = self.to_dict()
        if "network" in plain and "network" not in changes and any(path.startswith("links.") for path in changes):
            plain |= {"links": json.loads(self.resolved_json())["links"]}
            del plain["network"]
        for given, value in changes.items():
            for path in paths(plain, given):
                plain = _with_value(plain, path, value)
        return Scenario(plain, self.base_dir)

    def resolved(self, programs: str | None = None) -> Scenario:
        """Return the scenario validated and with every default filled in; `programs` as in `load`."""
        return Scenario(json.loads(self.resolved_json(programs)), self.base_dir)

    def below(self, base_dir: str | Path | None) -> Scenario:
        """Return the scenario whose files are relative to this directory; `None` leaves it where it is."""
        if base_dir is None:
            return self
        moved = Scenario.__new__(Scenario)
        moved._document, moved.base_dir = self._document, str(base_dir)
        return moved

    def resolved_json(self, programs: str | None = None) -> str:
        """Return the validated scenario with every default filled in, as JSON of the engine."""
        return resolve(self.to_json(), None, self.base_dir, form="json", programs=programs)


@cache
def fields() -> dict[str, Any]:
    """Return the fields of a scenario, with their JSON schema."""
    properties: dict[str, Any] = json.loads(extension().schema())["properties"]
    return properties


@cache
def tables() -> frozenset[str]:
    """Return the tables of a scenario that hold others by name, such as `links`."""
    return frozenset(name for name, field in fields().items() if isinstance(field.get("additionalProperties"), dict))


def _table(entries: Mapping[str, Any]) -> str:
    """Return a row for each entry of a table, for notebooks; columns are the fields of any of them."""
    columns = list(dict.fromkeys(name for entry in entries.values() for name, value in entry.items() if value != {}))
    rows = [[name, *(_cell(entry.get(column, "")) for column in columns)] for name, entry in entries.items()]
    return notebook.table(["", *columns], rows, left=len(columns) + 1, max_rows=MAX_SHOWN)


def _cell(value: Any) -> str:
    """Write the value of a field; a delay that is constant by its mean alone."""
    constant = isinstance(value, Mapping) and value.get("distribution") == "constant"
    return tree.brief(value["mean"] if constant else value)


def _read(document: dict[str, Any]) -> dict[str, Any]:
    """Check the fields of a document, and return it with present names in place of former ones."""
    native = extension()
    try:
        text = json.dumps(document, allow_nan=False)
    except (TypeError, ValueError):
        path, value = next(tree.not_plain(document), ("", document))
        raise unexpected(path or "scenario", "a plain value", value, kind="WrongType") from None
    try:
        present = native.read_fields(text)
    except native.ScenarioError as found:
        raise ScenarioError.of(found) from None
    return document if present is None else dict(json.loads(present))


def paths(plain: Mapping[str, Any], path: str) -> list[str]:
    """Return the paths that a path with `*` in it stands for in a plain tree: one for each name, or entry of a list.

    Raises
    ------
    RequestError
        If `*` is a part of a name, or stands for nothing.
    """
    if "*" not in path:
        return [path]
    native = extension()
    try:
        return list(native.paths(json.dumps(plain, allow_nan=False), path))
    except native.ScenarioError as found:
        raise ScenarioError.of(found) from None


def _with_value(plain: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a tree in which one value is another; `None` removes it."""
    table, _, rest = path.partition(".")
    name, _, inside = rest.partition(".")
    if table in tables() and (inside or value is None):
        present = plain.get(table, {})
        if name and name not in present:
            raise unknown(table.removesuffix("s"), name, sorted(present), f"{table}.{name}")
    if value is None:
        _check_field(plain, path)
    changed: dict[str, Any] = tree.with_value(plain, path, tree.plain(value))
    return changed


def _check_field(plain: dict[str, Any], path: str) -> None:
    """Check that the field at a path exists: if it does, a value that no field takes is an error about its type."""
    try:
        _read(tree.with_value(plain, path, [[[[]]]]))
    except RequestError as error:
        if error.kind == "UnknownField":
            raise


def load(path: str | Path, sets: Sequence[tuple[str, str]] = (), programs: str | None = None) -> Scenario:
    """Read a scenario file (TOML, or JSON by its suffix), validate it and fill in every default.

    Parameters
    ----------
    path
        The file.
    sets
        Changes as (path, value text), as `--set path=value` of the command line.
    programs
        For a scenario of the kernel lane: its programs, see `quiclab.lane.run.programs`.

    Raises
    ------
    RequestError
        If the file cannot be read or is not a valid scenario.
    """
    path = Path(path)
    return Scenario(json.loads(resolve_file(path, sets, programs)), path.parent.absolute())
