"""Kernels that have been built, in the user's cache.

Each is a directory `<version>-<hash of configuration and edits>` below `$XDG_CACHE_HOME/quiclab/kernel`, with `linux`,
`config` and `metadata.json`. Building happens in `work/` next to them; a kernel's directory appears in one step when it
is complete.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from quiclab._base.files import cache_folder
from quiclab.errors import RequestError

METADATA_SCHEMA = "quiclab.kernel/1"
#: First version in which processes of the guest are held by seccomp filters instead of ptrace, for half the CPU time.
FIRST_WITH_SECCOMP = (6, 16)


@dataclass(frozen=True)
class Kernel:
    """A kernel that has been built.

    Parameters
    ----------
    path
        Its file, a program of the host.
    version
        Of Linux, such as `7.3.4`.
    package
        Package or file that the source came from.
    package_version
        Version of that package; empty if it was none.
    configuration
        Identity of configuration and edits, 8 hexadecimal digits.
    seccomp
        Whether it can hold processes by seccomp filters; with ptrace it takes twice the CPU time.
    compiler
        First line of `gcc --version`.
    """

    path: Path
    version: str
    package: str
    package_version: str
    configuration: str
    seccomp: bool
    compiler: str

    def metadata(self) -> str:
        """Return what `metadata.json` holds."""
        fields = {key: value for key, value in asdict(self).items() if key != "path"}
        return json.dumps({"schema": METADATA_SCHEMA, **fields}, indent=2) + "\n"


def cache_directory() -> Path:
    """Return the directory of kernels; it need not exist."""
    return cache_folder() / "kernel"


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version, for ordering: `7.3.4-1~bpo13+1` gives (7, 3, 4)."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def has_seccomp(version: str) -> bool:
    """Return whether Linux of that version can pause the guest's processes by seccomp filters."""
    return version_key(version) >= FIRST_WITH_SECCOMP


def kernels(directory: Path | None = None) -> list[Kernel]:
    """List the kernels of the cache, newest version first.

    Incomplete or unreadable kernels are skipped: `quiclab kernel build` rebuilds them.
    """
    found = []
    for file in (directory or cache_directory()).glob("*/metadata.json"):
        try:
            found.append(read_kernel(file.parent / "linux"))
        except RequestError:
            continue
    # several of one version: the one made last
    return sorted(found, key=lambda kernel: (version_key(kernel.version), kernel.path.stat().st_mtime_ns), reverse=True)


def newest_kernel(directory: Path | None = None) -> Kernel:
    """Return the newest kernel of the cache.

    Raises
    ------
    RequestError
        If there is none.
    """
    found = kernels(directory)
    if not found:
        where = directory or cache_directory()
        raise RequestError(f"no virtual-clock kernel in {where}; `quiclab kernel build` builds one")
    return found[0]


def read_kernel(path: Path) -> Kernel:
    """Return the kernel whose file is `path`, with its `metadata.json`.

    Raises
    ------
    RequestError
        If the file is missing or not executable, or the metadata is missing or of another kind.
    """
    if not path.is_file():
        raise RequestError(f"the kernel {path} does not exist; `quiclab kernel build` builds one")
    if not os.access(path, os.X_OK):
        raise RequestError(f"the kernel {path} is not executable; `quiclab kernel build --force` rebuilds it")
    file = path.with_name("metadata.json")
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data.pop("schema") != METADATA_SCHEMA:
            raise ValueError
        return Kernel(path=path, **data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RequestError(
            f"{file} does not describe a kernel of this version of quiclab ({METADATA_SCHEMA}); "
            "`quiclab kernel build --force` rebuilds it"
        ) from error
