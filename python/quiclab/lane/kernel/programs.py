"""Programs of the machine that building and starting a kernel need."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from quiclab.errors import QuiclabError, RequestError, unexpected

#: Debian packages of the programs and headers that are required.
PACKAGES = {
    "apt-cache": "apt",
    "apt-config": "apt",
    "apt-get": "apt",
    "bc": "bc",
    "bison": "bison",
    "dpkg-deb": "dpkg",
    "flex": "flex",
    "gcc": "gcc",
    "ip": "iproute2",
    "make": "make",
    "setarch": "util-linux",
    "setpriv": "util-linux",
    "sh": "dash",
    "tar": "tar",
    "tc": "iproute2",
    "unshare": "util-linux",
    "xz": "xz-utils",
}
#: Where system programs are that a user's PATH may leave out.
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
LIVE_PROGRAM = "quiclab-live"
LIVE_VARIABLE = "QUICLAB_LIVE"


def found(name: str) -> str | None:
    """Return the path of a program, or None."""
    return shutil.which(name) or shutil.which(name, path=SYSTEM_PATH)


def required(name: str) -> str:
    """Return the path of a program.

    Raises
    ------
    QuiclabError
        If the machine has it not.
    """
    path = found(name)
    if path is None:
        raise QuiclabError(f"the program `{name}` is missing; `apt-get install {PACKAGES.get(name, name)}` installs it")
    return path


def tied(name: str) -> list[str]:
    """Return the start of a command that ends with this process, even if this process is killed."""
    return [required("setpriv"), "--pdeathsig", "TERM", "--", required(name)]


def live_program() -> Path:
    """Return the file of `quiclab-live`.

    Searched in the variable `QUICLAB_LIVE`, next to the Python interpreter, where `make setup` puts it, and on PATH.

    Raises
    ------
    RequestError
        If it is not built.
    """
    named = os.environ.get(LIVE_VARIABLE)
    if named:
        path = Path(named)
        if not os.access(path, os.X_OK) or not path.is_file():
            raise unexpected(LIVE_VARIABLE, f"the path of the program {LIVE_PROGRAM}", Path(named))
        return path.absolute()
    beside = Path(sys.executable).parent / LIVE_PROGRAM
    somewhere = str(beside) if os.access(beside, os.X_OK) else found(LIVE_PROGRAM)
    if somewhere is None:
        raise RequestError(
            f"the program {LIVE_PROGRAM} is missing, which wheels for Linux have: `make setup` of a checkout builds "
            f"it, or set {LIVE_VARIABLE} to its path"
        )
    return Path(somewhere).absolute()
