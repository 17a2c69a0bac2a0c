"""A scenario: its options, and what can be done with it."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_origin, get_type_hints

from quiclab import tree
from quiclab.errors import RequestError, ScenarioError, unknown
from quiclab.native import extension, resolve, resolve_file
from quiclab.scenario.options import ScenarioFields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, kw_only=True)
class Scenario(ScenarioFields):
    """One network with its flows.

    `base_dir` is not part of the tree: it is the directory that files named in it (traces) are relative to. After
    `load` it is that of the file, whatever the working directory is later. All other fields are those of
    `ScenarioFields`.
    """

    base_dir: str = field(default=".", compare=False, repr=False, metadata={"internal": True})

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain Python values, without what is `None`."""
        plain: dict[str, Any] = tree.to_plain(self)
        return plain

    def to_json(self) -> str:
        """Return the tree as JSON with sorted keys."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Scenario:
        """Build a scenario from plain Python values; former names of fields and values are read with a `FutureWarning`.

        Raises
        ------
        RequestError
            If a field does not exist, is missing or has another type.
        """
        try:
            scenario: Scenario = tree.from_plain(cls, plain, "")
        except RequestError as error:
            refused = error
        else:
            return scenario
        try:
            text = json.dumps(plain, allow_nan=False)
        except (TypeError, ValueError):  # not a plain value
            raise refused from None
        present = json.loads(extension().replace_former_names(text))
        if present != plain:
            return cls.from_dict(present)
        raise _of_engine(text, refused)

    def with_value(self, path: str, value: object) -> Scenario:
        """Return a copy in which one value is another.

        Parameters
        ----------
        path
            Names joined by dots, such as `bearers.dc.batch_packets`, as of `--set`: `*` is every name, entries of lists
            are counted from 0. A link, bearer, host or flow that does not exist yet is added by giving it whole.
        value
            The new value: a plain value or one of the dataclasses; `None` removes it.

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
        if self.network is not None and "network" not in changes and any(path.startswith("links.") for path in changes):
            plain |= {"links": json.loads(self.resolved_json())["links"], "network": None}
        for given, value in changes.items():
            for path in paths(plain, given):
                plain = _with_value(plain, path, value)
        return self._like(plain)

    def resolved(self, programs: str | None = None) -> Scenario:
        """Return the scenario validated and with every default filled in; `programs` as in `load`."""
        return self._like(json.loads(self.resolved_json(programs)))

    def below(self, base_dir: str | Path | None) -> Scenario:
        """Return the scenario whose files are relative to this directory; `None` leaves it where it is."""
        return self if base_dir is None else dataclasses.replace(self, base_dir=str(base_dir))

    def _like(self, plain: Mapping[str, Any]) -> Scenario:
        """Build a scenario whose files are where those of this one are."""
        return dataclasses.replace(Scenario.from_dict(plain), base_dir=self.base_dir)

    def resolved_json(self, programs: str | None = None) -> str:
        """Return the validated scenario with every default filled in, as JSON of the engine."""
        return resolve(self.to_json(), None, self.base_dir, form="json", programs=programs)


#: Tables that hold others by name.
TABLES: Final = frozenset(name for name, kind in get_type_hints(ScenarioFields).items() if get_origin(kind) is dict)


def _of_engine(text: str, error: RequestError) -> RequestError:
    """Return the error of the engine about the field that `error` is about, as it knows what quantities look like.

    If the engine refuses another field first, `error` stays. If it accepts the scenario, the classes are out of date.
    """
    native = extension()
    try:
        native.to_toml(text)
    except native.ScenarioError as found:
        better = ScenarioError.of(found)
        paths = [f"{better.path}.", f"{error.path}."]
        if better.path and (paths[0].startswith(paths[1]) or paths[1].startswith(paths[0])):
            return better
    else:
        if error.kind in ("UnknownField", "UnknownName"):
            hint = "the engine knows it: the classes of quiclab.scenario are older; run `make reference`"
            return RequestError(f"{error.message}; {hint}", path=error.path, kind=error.kind, value=error.value)
    return error


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
    if table in TABLES and (inside or value is None):
        present = plain.get(table, {})
        if name and name not in present:
            raise unknown(table.removesuffix("s"), name, sorted(present), f"{table}.{name}")
    changed: dict[str, Any] = tree.with_value(plain, path, tree.to_plain(value))
    if value is None:
        _check_field(plain, path)
    return changed


def _check_field(plain: dict[str, Any], path: str) -> None:
    """Check that the field at a path exists: if it does, a value that no field takes is an error about its type."""
    try:
        tree.from_plain(ScenarioFields, tree.with_value(plain, path, object()), "")
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
    scenario = Scenario.from_dict(json.loads(resolve_file(path, sets, programs)))
    return dataclasses.replace(scenario, base_dir=str(path.parent.absolute()))
