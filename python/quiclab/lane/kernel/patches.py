"""Edits of the kernel source and the options of its configuration, both data of the package."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from quiclab.errors import QuiclabError, expected_got

if TYPE_CHECKING:
    from pathlib import Path

DATA = resources.files("quiclab.lane.kernel") / "data"
OPTION = re.compile(r"(?:# )?(CONFIG_\w+)(?:=(.*)| is not set)")


@dataclass(frozen=True)
class Edit:
    """One edit: `before` is replaced by `after` in `file`.

    Parameters
    ----------
    name
        Title.
    why
        Reason.
    file
        Path inside the source.
    before, after
        Text that must occur exactly once, and its replacement.
    unless
        Text whose presence in the file makes the edit unnecessary, if any.
    """

    name: str
    why: str
    file: str
    before: str
    after: str
    unless: str = ""


def edits() -> list[Edit]:
    """Read the edits."""
    table = tomllib.loads((DATA / "edits.toml").read_text(encoding="utf-8"))
    return [Edit(**entry) for entry in table["edits"]]


def fragment() -> str:
    """Return the options that are set on top of the default configuration."""
    return (DATA / "virtual.config").read_text(encoding="utf-8")


def configuration_hash() -> str:
    """Identify what configuration and edits make of a source: 8 hexadecimal digits of a SHA-256.

    Comments and the order of options are no part of it.
    """
    options = sorted((name, value) for name, (value, _) in wanted_options(fragment()).items())
    changes = [(edit.file, edit.before, edit.after, edit.unless) for edit in edits()]
    return hashlib.sha256(json.dumps([options, changes]).encode()).hexdigest()[:8]


def apply(root: Path, changes: list[Edit]) -> None:
    """Edit a source tree; nothing is written unless every edit fits.

    Earlier edits are left unchanged, so that an interrupted build can continue.

    Raises
    ------
    QuiclabError
        If the source is not as expected.
    """
    originals: dict[str, str] = {}
    texts: dict[str, str] = {}
    for edit in changes:
        if edit.file not in texts:
            try:
                originals[edit.file] = texts[edit.file] = (root / edit.file).read_text(encoding="utf-8")
            except OSError as error:
                raise _unsuitable(edit, f"the file {edit.file} does not exist") from error
        text = texts[edit.file]
        if edit.after in text or (edit.unless and edit.unless in originals[edit.file]):
            continue
        count = text.count(edit.before)
        if count != 1:
            raise _unsuitable(edit, expected_got(f"the replaced text once in {edit.file}", f"{count} times"))
        texts[edit.file] = text.replace(edit.before, edit.after)
    for name, text in texts.items():
        if text == originals[name]:
            continue  # make need not compile it anew
        (root / name).write_text(text, encoding="utf-8")


def _unsuitable(edit: Edit, reason: str) -> QuiclabError:
    return QuiclabError(
        f"this kernel source cannot be edited: for `{edit.name}` ({edit.why}), {reason}; choose another version with "
        "--source, such as linux-source-6.12"
    )


def wanted_options(text: str) -> dict[str, tuple[str, bool]]:
    """Read a fragment: option, its value (`n` for not set), and whether it may be missing in some versions."""
    options = {}
    optional = False
    for line in text.splitlines():
        match = OPTION.fullmatch(line.strip())
        if match:
            options[match.group(1)] = (match.group(2) or "n", optional)
        optional = line.strip() == "# optional:"
    return options


def missing_options(fragment_text: str, configuration: str) -> list[str]:
    """Return the options of a fragment that a configuration has not, as `NAME=value`."""
    have = {name: value for name, (value, _) in wanted_options(configuration).items()}
    return [
        f"{name}={value}"
        for name, (value, optional) in wanted_options(fragment_text).items()
        if not optional and have.get(name, "n") != value
    ]
