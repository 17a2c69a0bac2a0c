"""Access to the compiled engine: a readable error where it is missing, and the identity of its build."""

from __future__ import annotations

import importlib
from functools import cache
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Final, SupportsIndex

from quiclab._base.files import read_text
from quiclab.errors import QuiclabError, ScenarioError, unexpected

#: The largest seed: seeds of the simulator are unsigned 64-bit integers.
MAX_SEED: Final = 2**64 - 1
#: What helps where a scenario is not found.
EXAMPLES: Final = "`quiclab scenario list` lists examples, and `quiclab scenario new NAME --out FILE` writes one"
#: Directory of the named paths, which scenarios take as `network = "paths/NAME"`.
PATHS: Final = Path(__file__).resolve().parents[1] / "scenario" / "paths"

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Literal


def checked_seed(seed: object) -> int:
    """Return a seed as the engine takes it.

    Raises
    ------
    RequestError
        If it is not an integer, or too large.
    """
    expected = f"an integer from 0 to {MAX_SEED}"
    if not isinstance(seed, SupportsIndex):
        raise unexpected("seed", expected, seed, kind="WrongType")
    number = index(seed)
    if not 0 <= number <= MAX_SEED:
        raise unexpected("seed", expected, number)
    return number


def extension() -> ModuleType:
    """Return the extension module.

    Raises
    ------
    QuiclabError
        If it is not built.
    """
    try:
        return importlib.import_module("quiclab._quiclab")
    except ImportError as error:
        raise QuiclabError(
            f"the extension quiclab._quiclab cannot be loaded ({error}); build it with `make setup` or `uv sync`"
        ) from error


@cache
def build_id() -> str:
    """Identify the build of the native extension: 16 hexadecimal digits of the SHA-256 of the extension file.

    A run is the same run only if scenario, seed and build agree.
    """
    file = extension().__file__
    if file is None:
        raise QuiclabError("the native extension quiclab._quiclab has no file, so results cannot identify its build")
    import hashlib  # noqa: PLC0415 - it loads OpenSSL, which help texts do not need

    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]


@cache
def source_commit() -> str | None:
    """Return the commit of the checkout that contains this package; None outside of one.

    It ends in `+dirty` if a tracked file differs from the commit.
    """
    import shutil  # noqa: PLC0415 - only what makes a result needs it

    root = Path(__file__).resolve().parents[3]
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    commit = _output(git, root, "rev-parse", "HEAD")
    if not commit:
        return None
    return commit + ("+dirty" if _output(git, root, "status", "--porcelain", "--untracked-files=no") else "")


def _output(git: str, root: Path, *arguments: str) -> str:
    """Return the output of git; git is found on PATH, and no part of the command comes from a user."""
    import subprocess  # noqa: PLC0415 - as above

    done = subprocess.run([git, "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def resolve_file(path: Path, sets: Sequence[tuple[str, str]] = (), programs: str | None = None) -> str:
    """Read a scenario file (TOML, or JSON by its suffix), validate it and fill in its defaults.

    Parameters
    ----------
    path, sets, programs
        As of `quiclab.scenario.load`.

    Returns
    -------
    str
        The resolved scenario as JSON.

    Raises
    ------
    RequestError
        If the file cannot be read or is not a valid scenario.
    """
    form: Literal["toml", "json"] = "json" if path.suffix == ".json" else "toml"
    return resolve(read_text(path, hint=EXAMPLES), str(path), path.parent, sets, form, programs)


def resolve(
    text: str,
    file: str | None,
    base_dir: str | Path = ".",
    sets: Sequence[tuple[str, str]] = (),
    form: Literal["toml", "json"] = "toml",
    programs: str | None = None,
) -> str:
    """Validate a scenario text and fill in its defaults.

    Parameters
    ----------
    text
        The scenario.
    file
        Its name, for error messages; `None` if it is not in a file.
    base_dir
        Directory that files named in the scenario are relative to.
    sets
        Changes as (path, value), applied before validation.
    form
        What `text` is.
    programs
        For the kernel lane: JSON list of the programs that are its stacks.

    Returns
    -------
    str
        The resolved scenario as JSON.

    Raises
    ------
    RequestError
        If the scenario is invalid.
    """
    native = extension()
    try:
        return str(native.resolve(text, file, str(base_dir), list(sets), form, str(PATHS), programs))
    except native.ScenarioError as error:
        raise ScenarioError.of(error) from error
