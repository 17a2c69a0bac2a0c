"""Functions that plugins and splitters of bearers name, as `module:function`, found next to the scenario.

The module is searched in the folder of the scenario first, then on Python's module path. A module in that folder is
executed again for each end of each flow and for each bearer, with the modules of the folder that it imports: its
module-level state belongs to one connection, and is shared neither with other flows nor with earlier runs in the same
process. So a run depends on scenario, seed and code only, with any number of workers.

A function of a plugin takes a dictionary of the operation's inputs (and `result`, after the computation) and returns a
number, or `None`; one of a splitter takes what is known of a packet and of the links, and returns the index of a link.
A class is also accepted: one instance per endpoint, or bearer, is created, and called. It must not read clocks or draw
unseeded random numbers.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import threading
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

#: Prefix of operations that take functions; other operations are options.
COMPUTATION = "compute."
#: The form of a function name, for messages.
FORM = "`module:function`, with a module in the folder of the scenario or installed"

# while a module is loaded, the folder of its scenario goes before everything else, for the whole process
_LOADING = threading.RLock()


class FunctionError(Exception):
    """A function is not available.

    Parameters
    ----------
    name
        As written in the scenario.
    reason
        Why it cannot be used.
    allowed
        The names that are expected.
    """

    def __init__(self, name: str, reason: str, allowed: str = FORM) -> None:
        super().__init__(f"`{name}`: {reason}; expected {allowed}")
        self.name, self.reason, self.allowed = name, reason, allowed


def load_functions(names: Sequence[str], base_dir: str) -> list[Callable[[dict[str, float]], float | None]]:
    """Return the functions of one end of a flow; those of the same module share its state.

    Parameters
    ----------
    names
        `module:function` each.
    base_dir
        Folder of the scenario.

    Raises
    ------
    FunctionError
        The first function that is not available.
    """
    with _folder_first(Path(base_dir)):
        modules: dict[str, ModuleType] = {}
        functions = []
        for name in names:
            module, attribute = _divided(name)
            if module not in modules:
                modules[module] = _import(name, module)
            functions.append(_function(name, modules[module], attribute))
        return functions


def function_names(scenario: Mapping[str, Any]) -> list[str]:
    """Return the functions that a resolved scenario runs, sorted.

    Parameters
    ----------
    scenario
        As plain values. Plugins that no flow names do not count.
    """
    used = {name for flow in scenario.get("flows", {}).values() for name in flow.get("plugins") or ()}
    exchanges = [
        exchange
        for name, plugin in (scenario.get("plugins") or {}).items()
        if name in used
        for exchange in plugin["exchanges"]
        if exchange["operation"].startswith(COMPUTATION)
    ]
    anchors = ("replace", "before", "after")
    named = {str(exchange[anchor]) for exchange in exchanges for anchor in anchors if exchange.get(anchor)}
    splitters = (bearer["splitter"].get("function") for bearer in (scenario.get("bearers") or {}).values())
    return sorted(named | {str(function) for function in splitters if function})


def source_files(names: Sequence[str], base_dir: Path) -> list[Path]:
    """Return the files in the folder of a scenario that its functions are made of, sorted.

    Imports are followed as far as they are written as such and lead to other files of the folder. Installed modules
    have none here.
    """
    found: set[Path] = set()
    waiting = [_divided(name)[0] for name in names]
    while waiting:
        module = waiting.pop()
        for file in _files_of(module, base_dir):
            if file not in found:
                found.add(file)
                waiting += _imports(file, module)
    return sorted(found)


@cache
def modules_of(name: str, base_dir: Path) -> tuple[ModuleType, ...]:
    """Return the loaded modules of a function outside of the folder of a scenario: the named one, and its own.

    Raises
    ------
    FunctionError
        If it is not available.
    """
    (function,) = load_functions([name], str(base_dir))
    names = {_divided(name)[0], str(getattr(function, "__module__", None))}
    return tuple(sys.modules[module] for module in sorted(names) if module in sys.modules)


def _divided(name: str) -> tuple[str, str]:
    module, colon, attribute = name.partition(":")
    parts = (*module.split("."), attribute)
    if not colon or not all(part.isidentifier() for part in parts):
        raise FunctionError(name, "not the name of a function")
    return module, attribute


def _import(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise FunctionError(name, f"module `{module}` not found") from error
        raise FunctionError(name, f"its module cannot be loaded: {error}") from error
    except Exception as error:
        raise FunctionError(name, f"its module cannot be loaded: {describe(error)}") from error


def _function(name: str, module: ModuleType, attribute: str) -> Callable[[dict[str, float]], float | None]:
    function = getattr(module, attribute, None)
    if function is None:
        own = [
            key
            for key, value in vars(module).items()
            if callable(value) and not key.startswith("_") and getattr(value, "__module__", None) == module.__name__
        ]
        allowed = ", ".join(f"`{module.__name__}:{key}`" for key in own) or "none: the module has no function"
        raise FunctionError(name, f"module `{module.__name__}` has no `{attribute}`", allowed)
    if inspect.isclass(function):
        try:
            function = function()
        except Exception as error:
            raise FunctionError(name, f"the class cannot be instantiated: {describe(error)}") from error
    if not callable(function):
        raise FunctionError(name, f"`{attribute}` is a {type(function).__name__}, which is not callable")
    ready: Callable[[dict[str, float]], float | None] = function
    return ready


def describe(error: BaseException) -> str:
    """Describe an exception on one line: type, message and location."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        place = f" ({Path(error.filename or '?').name}, line {error.lineno})"
        return f"SyntaxError: {error.msg}{place}"
    place = "" if trace is None else f" ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})"
    return " ".join(f"{type(error).__name__}: {error}".split()) + place


@contextmanager
def _folder_first(folder: Path) -> Iterator[None]:
    """Make imports search `folder` first, and remove modules imported from there afterwards."""
    folder = folder.resolve()

    def lies_there(name: str) -> bool:
        top = name.partition(".")[0]
        return top not in ("__main__", "quiclab") and bool(_files_of(top, folder))

    def forget() -> dict[str, ModuleType]:
        return {name: sys.modules.pop(name) for name in list(sys.modules) if lies_there(name)}

    with _LOADING:
        hidden, path, bytecode = forget(), list(sys.path), sys.dont_write_bytecode
        sys.path.insert(0, str(folder))
        # bytecode distinguishes files by second and length only, and would remain in the folder
        sys.dont_write_bytecode = True
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path[:], sys.dont_write_bytecode = path, bytecode
            forget()
            sys.modules.update(hidden)


def _files_of(module: str, folder: Path) -> list[Path]:
    """Return the files of a module and of the packages that it lies in; none if it is not in `folder`."""
    *packages, last = module.split(".")
    files, here = [], folder
    for package in packages:
        here /= package
        files.append(here / "__init__.py")
    own = [here / f"{last}.py", here / last / "__init__.py"]
    return [file for file in (*files, *own) if file.is_file()] if any(file.is_file() for file in own) else []


def _imports(file: Path, module: str) -> list[str]:
    """List the modules that a file imports, also those that may be no more than names in a module."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []  # loading it reports the error
    found = []
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            start = ".".join([*above, *((node.module or "").split(".") if node.module else [])])
            found += [start, *(f"{start}.{alias.name}" if start else alias.name for alias in node.names)]
    return [name for name in found if name]
