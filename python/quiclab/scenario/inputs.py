"""Inputs of a run besides scenario text, seed and engine.

Files that it names, functions of its plugins wherever they are, stacks written in Python, and the code that processes
its recordings.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab._base.files import hash_of, hash_of_folder
from quiclab._base.plugins import FunctionError, function_names, modules_of, source_files
from quiclab.errors import unexpected
from quiclab.stacks.registry import UnavailableStackError, find

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


def files_of(scenario: Mapping[str, Any]) -> list[str]:
    """Return the files that a scenario names (traces of rates), as it names them, sorted."""
    return sorted(_named(scenario)["file"])


def with_absolute_files(scenario: Mapping[str, Any], base_dir: Path) -> dict[str, Any]:
    """Return a scenario that names its files by absolute paths, so that it can be moved.

    Functions of plugins beside it are still looked for where the scenario is.
    """

    def located(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: located(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [located(item) for item in value]
        return str((base_dir / value).absolute()) if key == "file" and isinstance(value, str) else value

    found: dict[str, Any] = located(scenario)
    return found


def code_of(scenario: Mapping[str, Any], base_dir: Path) -> list[str]:
    """Return the files in `base_dir` that the functions of a scenario's plugins are made of, relative to it, sorted."""
    return sorted(file.relative_to(base_dir).as_posix() for file in source_files(function_names(scenario), base_dir))


def fingerprint(scenario: Mapping[str, Any], base_dir: Path) -> list[str]:
    """Return one line for each input of a run that its scenario only names; none for most scenarios.

    Contents of files count, their location does not.

    Parameters
    ----------
    scenario
        The resolved scenario.
    base_dir
        Directory that its files are relative to.

    Raises
    ------
    RequestError
        If a file cannot be read.
    """
    named = _named(scenario)
    lines = [f"file {name} {hash_of(base_dir / name)}" for name in sorted(named["file"])]
    lines += [f"code {name} {hash_of(base_dir / name)}" for name in code_of(scenario, base_dir)]
    outside = (name for name in function_names(scenario) if not source_files([name], base_dir))
    lines += [f"code {name} {_source_outside(name, base_dir)}" for name in outside]
    for name in sorted(named["stack"]):
        try:
            stack = find(name)
        except UnavailableStackError:
            lines.append(f"stack {name} absent")
        else:
            if stack is not None:
                lines.append(f"stack {name} {stack.version} {source_of(stack.factory, f'stack `{name}`')}")
    return lines


def _source_outside(name: str, base_dir: Path) -> str:
    """Return a hash of the source code of a plugin's function that is not in the folder of its scenario."""
    try:
        modules = modules_of(name, base_dir)
    except FunctionError:
        return "absent"  # the engine refuses it
    # a module without a file is part of Python
    return " ".join(_source_of(module) or platform.python_version() for module in modules)


def source_of(function: Callable[..., object], use: str) -> str:
    """Return a hash of the source code of a function.

    The hash covers the folder of its package, because modules of a package import each other, or only its file if it
    is in no package. Code that it imports from other packages is not covered.

    Parameters
    ----------
    function
        The function, or a class.
    use
        Its purpose, for the message.

    Raises
    ------
    RequestError
        If its module has no file, so that its changes cannot be detected.
    """
    if (source := _source_of(sys.modules[function.__module__])) is None:
        name = f"{function.__module__}.{function.__qualname__}"
        raise unexpected(use, "a function of a module that is a file", name)
    return source


def _source_of(module: ModuleType) -> str | None:
    """Return a hash of the folder of a module's package, or of its file if it is in none; `None` without a file."""
    if (name := getattr(module, "__file__", None)) is None:
        return None
    file = Path(name)
    return hash_of_folder(file.parent) if module.__package__ else hash_of(file)


def _named(scenario: object) -> dict[str, set[str]]:
    """Return the files and the stacks that a scenario names; called for each setting of a sweep."""
    found: dict[str, set[str]] = {"file": set(), "stack": set()}
    tables = [scenario]
    while tables:
        table = tables.pop()
        values = table.values() if isinstance(table, dict) else table if isinstance(table, list) else ()
        tables += [value for value in values if value.__class__ in (dict, list)]
        if isinstance(table, dict):
            for key, names in found.items():
                if isinstance(name := table.get(key), str):
                    names.add(name)
    return found
