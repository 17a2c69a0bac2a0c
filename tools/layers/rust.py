"""The modules of a Rust crate and what they use of each other, without code for tests.

The check reads `use` declarations and paths that begin with `crate` or `super`, in code and in the strings of
attributes (`#[serde(with = "crate::units::bytes")]`). A name that a module re-exports or imports leads to the module
that defines it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from layers.graph import Path as ModulePath
from layers.graph import Reference

#: Comments, strings and characters.
TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/
    | b?r(?P<hashes>\#*)".*?"(?P=hashes) | b?"(?P<text>(?:\\.|[^"\\])*)" | b?'(?:\\.[^']*|[^\\'])'""",
    re.VERBOSE | re.DOTALL,
)
PATH_STRING = re.compile(r"(crate|super|self)(::\w+)+")
TEST_ONLY = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*")
ITEM = re.compile(
    r"(pub\b(\s*\([^)]*\))?\s*)?(async|const|enum|extern|fn|impl|let|macro_rules|mod|static|struct|trait|type|union|unsafe|use)\b"
)
CHILD = re.compile(r"\bmod\s+(\w+)\s*([;{])")
DEFINITION = re.compile(r"\b(?:enum|fn|const|static|struct|trait|type|union|macro_rules!)\s+(\w+)")
SEPARATOR = re.compile(r"\s*::\s*")
SPACE = re.compile(r"\s*")
START = re.compile(r"(?<![\w:])(?:crate|super)\s*::\s*")
#: Imports of imports that a path is followed through.
MAX_IMPORTS = 8
NAME = re.compile(r"\s*(?:r#)?(\w+|\*)\s*(?:as\s+(\w+)\s*)?")


@dataclass
class Module:
    """A module: its file, and the names of other modules in it."""

    path: ModulePath
    file: str
    #: The code without tests, comments and strings; positions and lines are those of the file.
    code: str
    children: dict[str, Module] = field(default_factory=dict)
    imports: dict[str, list[str]] = field(default_factory=dict)
    globs: list[list[str]] = field(default_factory=list)

    def descendants(self) -> Iterator[Module]:
        """List the module and all below it."""
        yield self
        for child in self.children.values():
            yield from child.descendants()


def references(root_file: Path, base: Path) -> Iterator[Reference]:
    """List what modules of the crate with this root file use of each other; places are relative to `base`."""
    top = read(root_file, (), root_file.parent, base)
    for module in top.descendants():
        for position, names in paths(module.code):
            target = resolve(top, module, names)
            line = module.code.count("\n", 0, position) + 1
            yield Reference(module.path, target.path, f"{module.file}:{line}")


def read(file: Path, path: ModulePath, folder: Path, base: Path) -> Module:
    """Read the module in `file`, whose children are files in `folder`."""
    code = without_tests(without_text(file.read_text()))
    return module_of(code, str(file.relative_to(base)), path, folder, base)


def module_of(code: str, file: str, path: ModulePath, folder: Path, base: Path) -> Module:
    """Make the module with this code; its children are read or cut out of it."""
    module = Module(path, file, code)
    while match := CHILD.search(module.code):
        name, end = match[1], match.end()
        if match[2] == "{":
            end = block_end(module.code, end - 1)
            inner = blank(module.code[: match.end()]) + module.code[match.end() : end]
            module.children[name] = module_of(inner, file, (*path, name), folder / name, base)
        else:
            # a file that several modules are made of stands beside them: `#[path]`
            places = (folder / f"{name}.rs", folder.parent / f"{name}.rs")
            module.children[name] = read(next(p for p in places if p.exists()), (*path, name), folder / name, base)
        module.code = module.code[: match.start()] + blank(module.code[match.start() : end]) + module.code[end:]
    for match in re.finditer(r"\buse\s+(\w[^;]*);", module.code):
        for names, alias in tree(match[1], 0):
            if names[-1] == "*":
                module.globs.append(names[:-1])
            else:
                module.imports[alias or names[-1]] = names
    return module


def blank(text: str) -> str:
    """Replace everything but line ends by spaces."""
    return re.sub(r"[^\n]", " ", text)


def without_text(source: str) -> str:
    """Blank comments and strings, except strings that are one path."""

    def kept(match: re.Match[str]) -> str:
        text = match["text"]
        return f" {text} " if text is not None and PATH_STRING.fullmatch(text) else blank(match[0])

    return TOKEN.sub(kept, source).replace("$crate", " crate")


def without_tests(code: str) -> str:
    """Blank every item under `#[cfg(test)]`."""
    while match := TEST_ONLY.search(code):
        end = item_end(code, match.end())
        code = code[: match.start()] + blank(code[match.start() : end]) + code[end:]
    return code


def item_end(code: str, start: int) -> int:
    """Find the end of the item, field or match arm at `start`."""
    ends = ";" if ITEM.match(code, start) else ";,"
    position = start
    while position < len(code):
        character = code[position]
        if character in ends or character in ")]}":
            return position + (character in ends)
        if character in "([{":
            position = block_end(code, position)
            if character == "{":
                return position + 1
        position += 1
    return position


def block_end(code: str, start: int) -> int:
    """Find the bracket that closes the one at `start`."""
    depth = 0
    for position in range(start, len(code)):
        depth += (code[position] in "([{") - (code[position] in ")]}")
        if depth == 0:
            return position
    return len(code)


def paths(code: str) -> Iterator[tuple[int, list[str]]]:
    """Find the paths that begin with `crate` or `super`, each with its position."""
    hidden = re.sub(r"\bpub\s*\([^)]*\)", lambda match: blank(match[0]), code)
    for match in START.finditer(hidden):
        for names, _ in tree(hidden, match.start()):
            yield match.start(), names


def tree(code: str, start: int) -> list[tuple[list[str], str | None]]:
    """Split the `use` tree at `start` into paths, each with the name after `as`; a plain path is a tree of one."""
    found: list[tuple[list[str], str | None]] = []

    def walk(position: int, before: list[str]) -> int:
        """Read the tree at `position`, whose paths begin with `before`, and return its end."""
        names, alias = list(before), None
        while match := NAME.match(code, position):
            position = match.end()
            if match[1] != "self" or not names:
                names.append(match[1])
            alias = match[2]
            if separator := SEPARATOR.match(code, position):
                position = separator.end()
            if not separator or code.startswith("{", position):
                break
        if not code.startswith("{", position) or not separator:
            found.append((names, alias))
            return position
        while code[position] in "{,":
            position = SPACE.match(code, position + 1).end()  # type: ignore[union-attr]
            if code[position] != "}":
                position = walk(position, names)
        return SPACE.match(code, position + 1).end()  # type: ignore[union-attr]

    walk(start, [])
    return found


def resolve(top: Module, module: Module, names: list[str], depth: int = 0) -> Module:
    """Find the module that defines what the path `names` in `module` leads to."""
    current = module
    for index, name in enumerate(names):
        if name == "crate":
            current = top
        elif name == "self":
            continue
        elif name == "super":
            current = find(top, current.path[:-1])
        elif name in current.children:
            current = current.children[name]
        elif depth == MAX_IMPORTS or name == "*" or name in DEFINITION.findall(current.code):
            break
        elif current.imports.get(name, [name])[0] != name:
            return resolve(top, current, current.imports[name] + names[index + 1 :], depth + 1)
        else:
            followed = (resolve(top, current, [*glob, *names[index:]], depth + 1) for glob in current.globs)
            return next((target for target in followed if name in DEFINITION.findall(target.code)), current)
    return current


def find(top: Module, path: ModulePath) -> Module:
    """Return the module at `path`."""
    for name in path:
        top = top.children[name]
    return top
