"""Dependencies between sibling modules, and the cycles among them.

A module path is a tuple of names below its crate or package: `("link", "trace")`. A reference from one path to another
is an arrow between the two siblings at which the paths part: `("link", "trace")` to `("queue",)` is `link -> queue`.

Where one path begins with the other there is no arrow: a parent may use the items of its children, and a child may use
the types of its parent. Only cycles between siblings are errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Path = tuple[str, ...]


@dataclass(frozen=True)
class Reference:
    """The code at `place` (file:line), in the module `source`, uses something of the module `target`."""

    source: Path
    target: Path
    place: str


@dataclass
class Siblings:
    """The arrows between the children of one module: for each, the first place that makes it."""

    arrows: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, source: str, target: str, place: str) -> None:
        """Note an arrow; the first place stays."""
        self.arrows.setdefault(source, {}).setdefault(target, place)

    def cycles(self) -> Iterator[list[str]]:
        """Find the strongly connected components of more than one module, each sorted by name."""
        seen: set[str] = set()
        for name in sorted(self.arrows):
            if name in seen:
                continue
            forward = self.reachable(name)
            component = {name} | {other for other in forward if name in self.reachable(other)}
            seen |= component
            if len(component) > 1:
                yield sorted(component)

    def reachable(self, start: str) -> set[str]:
        """Collect all modules that arrows lead to from `start`."""
        found: set[str] = set()
        todo = [start]
        while todo:
            for target in self.arrows.get(todo.pop(), {}):
                if target not in found:
                    found.add(target)
                    todo.append(target)
        return found


def cycles(name: str, references: Iterable[Reference]) -> Iterator[str]:
    """Describe each cycle between siblings in the crate or package `name`: a line, then one for each of its arrows."""
    levels: dict[Path, Siblings] = {}
    for reference in references:
        parted = [
            level
            for level, pair in enumerate(zip(reference.source, reference.target, strict=False))
            if len(set(pair)) > 1
        ]
        if parted:
            level = parted[0]
            siblings = levels.setdefault(reference.source[:level], Siblings())
            siblings.add(reference.source[level], reference.target[level], reference.place)
    for parent, siblings in sorted(levels.items()):
        for component in siblings.cycles():
            yield f"{'/'.join((name, *parent))}: modules depend on each other: {', '.join(component)}"
            for source in component:
                for target, place in siblings.arrows[source].items():
                    if target in component:
                        yield f"    {source} -> {target}: {place}"
