"""Traces that the user has installed, because quiclab cannot ship them.

They are in `$XDG_DATA_HOME/quiclab/traces` (default: `~/.local/share`), as `NAME.csv`. `lte` is the one of the study
`QUIC over Dual Connectivity`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from quiclab._base.files import reported
from quiclab.errors import RequestError, unexpected
from quiclab.sources.traces import dataset
from quiclab.sources.traces.trace import Trace, read, write

LTE: Final = "lte"
#: The data set's file behind each name that a study uses; the ending may be missing.
PUBLISHED: Final = {LTE: "A_2018.02.12_16.14.02"}

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def directory() -> Path:
    """Return the directory of installed traces; it need not exist."""
    base = os.environ.get("XDG_DATA_HOME", "")
    # the specification requires relative paths to be ignored
    root = Path(base) if base.startswith("/") else Path.home() / ".local" / "share"
    return root / "quiclab" / "traces"


def path_of(name: str) -> Path:
    """Return where a trace is installed, or would be.

    Raises
    ------
    RequestError
        If it is no name.
    """
    if not _NAME.fullmatch(name):
        expected = f"up to 40 lower-case letters, digits, `-` and `_`, such as `{LTE}`"
        raise unexpected("trace name", expected, name)
    return directory() / f"{name}.csv"


def installed(name: str) -> Path | None:
    """Return the file of an installed trace; `None` if it is not there.

    Raises
    ------
    RequestError
        If it is no name, or the file is no trace, or for a name that a study uses not the published one.
    """
    path = path_of(name)
    with reported(f"cannot read {path}"):
        if not path.exists():
            return None
    check_published(name, read(path))
    return path


def check_published(name: str, trace: Trace) -> None:
    """Check that a name that a study uses refers to the published trace.

    Raises
    ------
    RequestError
        If it is another one.
    """
    wanted = PUBLISHED.get(name)
    if wanted is None:
        return
    origins = (f"{dataset.NAME}, file {wanted}", f"{dataset.NAME}, file {wanted}.csv")
    if trace.origin not in origins:
        raise RequestError(
            f"`{name}` is reserved for the published trace, {origins[1]}; the origin of this trace is "
            f"{trace.origin or 'unknown'}; install it under another name"
        )


def install(name: str, trace: Trace) -> Path:
    """Install a trace under a name, over an older one of that name; returns its file.

    Raises
    ------
    RequestError
        If it is no name, the trace is not the published one of that name, or the file cannot be written.
    """
    path = path_of(name)
    check_published(name, trace)
    with reported(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
    write(path, trace)
    return path
