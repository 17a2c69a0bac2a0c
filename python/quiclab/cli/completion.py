"""What a shell offers for a word that is not yet complete: names of studies, stacks, paths, metrics, examples, fields.

`quiclab --install-completion` installs it. Each function takes the word as far as it is typed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab._base.native import resolve_file
from quiclab.errors import QuiclabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# the modules behind the names are loaded when a name is completed


def studies(incomplete: str) -> list[str]:
    """Return names of studies and of their groups."""
    from quiclab.study.registry import studies as found  # noqa: PLC0415

    groups = {name[:place] for name in found() for place, letter in enumerate(name) if letter == "/"}
    return _starting(sorted({*found(), *groups}), incomplete)


def stacks(incomplete: str) -> list[str]:
    """Return names of stacks."""
    from quiclab.stacks.registry import catalogue  # noqa: PLC0415

    return _starting((stack["name"] for stack in catalogue()), incomplete)


def paths(incomplete: str) -> list[str]:
    """Return names of networks."""
    from quiclab.sources.paths import names  # noqa: PLC0415

    return _starting(names(), incomplete)


def examples(incomplete: str) -> list[str]:
    """Return names of examples of scenarios."""
    from quiclab.scenario.examples import examples as found  # noqa: PLC0415

    return _starting(found(), incomplete)


def metrics(incomplete: str) -> list[str]:
    """Return names of metrics of sweeps, after those that are already there, with commas."""
    from quiclab.experiment.sweeps.metrics import METRICS  # noqa: PLC0415

    before, comma, word = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting((metric.name for metric in METRICS), word)]


def fields(incomplete: str) -> list[str]:
    """Return paths of fields of the scenario that the command names, with its defaults."""
    file = next((path for word in typed() if (path := Path(word)).is_file()), None)
    if file is None:
        return []
    try:
        scenario = json.loads(resolve_file(file))
    except QuiclabError:
        return []
    return _starting(_paths(scenario), incomplete)


def typed() -> list[str]:
    """Return the words after the name of the program on a line that a shell wants to be completed."""
    # of bash; of zsh and fish
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()[1:]


def _starting(names: Iterable[str], word: str) -> list[str]:
    return [name for name in names if name.startswith(word)]


def _paths(table: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield the paths of all values of a document."""
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from _paths(value, f"{before}{name}.")
        else:
            yield f"{before}{name}"
