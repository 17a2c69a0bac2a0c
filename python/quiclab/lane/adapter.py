"""Programs as stacks of the kernel lane: available programs, their requirements and their commands.

A program is described by a short TOML file (docs/adapters.md): the built-in ones are in `adapters/` next to this
module, users have their own. Nothing here starts a transfer.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from quiclab._base.files import cache_folder
from quiclab.errors import RequestError, alternatives, not_one_of, shown, unexpected
from quiclab.lane.adapter_file import AdapterFile, read
from quiclab.lane.adapter_plan import Need
from quiclab.lane.choices import DEFAULT_CERTIFICATE, Certificate
from quiclab.lane.kernel.programs import LIVE_PROGRAM, SYSTEM_PATH, live_program
from quiclab.lane.placeholders import fill

#: Folder of the built-in files.
BUILT_IN: Final = Path(__file__).parent / "adapters"
#: Name in the certificate that servers have.
CERTIFICATE_NAME: Final = "quiclab.test"
#: Options of an end that are no matter of its program.
_NOT_OF_THE_PROGRAM: Final = ("stack", "host")
#: Fields whose value is a named variant with its own options, such as `pacing`.
_TAG: Final = "kind"
_VERSION_TIMEOUT_S: Final = 10


class Adapter:
    """A program that can be the stack of a flow.

    Parameters
    ----------
    file
        The contents of its file.
    """

    def __init__(self, file: AdapterFile) -> None:
        self.file = file

    @property
    def name(self) -> str:
        """Name as the stack of a flow."""
        return self.file.name

    @property
    def description(self) -> str:
        """Description of the program."""
        return self.file.description

    @property
    def protocol(self) -> str:
        """`tcp`, `quic` or `udp`."""
        return self.file.protocol

    def files(self) -> list[Path]:
        """Return the required programs and files that are available."""
        standard = self.standard({})
        names = [(need.kind, fill(need.name, standard, late=False) or need.name) for need in self.file.needs]
        found = [_which(name) if kind == "program" else name for kind, name in names if kind != "python"]
        return [path for path in map(Path, filter(None, found)) if path.is_file()]

    @property
    def has_certificate(self) -> bool:
        """Whether its server has one: programs without TLS have none."""
        parts = (*self.file.server.command, *self.file.client.command)
        return any("certificate" in word for part in parts for word in ([part] if isinstance(part, str) else part))

    @property
    def takes_certificate(self) -> bool:
        """Whether its server has the one that it is given, and none of its own."""
        return any("{key}" in part for part in self.file.server.command)

    @property
    def tells_acknowledgements(self) -> bool:
        """Whether it can report the state of its sender at each acknowledgement."""
        return any("{probe}" in part for part in self.file.server.command)

    def missing(self) -> list[str]:
        """Return a message for each missing requirement, with the package that contains it."""
        return [message for need in self.file.needs if (message := self._lacks(need)) is not None]

    def _lacks(self, need: Need) -> str | None:
        name = fill(need.name, self.standard({}), late=False) or need.name
        found = {
            "program": lambda: _which(name) is not None,
            "file": lambda: Path(name).exists(),
            "python": lambda: importlib.util.find_spec(name) is not None,
        }[need.kind]()
        what = {"program": "the program", "file": "the file", "python": "the Python package"}[need.kind]
        return None if found else f"stack `{self.name}` needs {what} `{name}`: {need.package}"

    def version(self) -> str | None:
        """Return the first line that its version command prints; None if it has none, or it prints nothing."""
        if self.file.version is None or self.missing():
            return None
        standard = self.standard({})
        words = [fill(word, standard, late=False) or "" for word in self.file.version]
        try:
            done = subprocess.run(
                [_which(words[0]) or words[0], *words[1:]],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_VERSION_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
        return next((line for line in lines if line), None)

    def refuses(self, options: Mapping[str, Any], end: str = "sender", above: str = "") -> RequestError | None:
        """Return the error in the options of an endpoint; None if they are valid.

        Parameters
        ----------
        options
            The table `sender` or `receiver` of a resolved flow.
        end
            `sender` or `receiver`.
        above
            What its path begins with, such as `flows.main.`.
        """
        for name, value in _flat(options):
            path, option = f"{above}{end}.{name}", self.file.options.get(name)
            if option is None or end not in option.ends:
                supported = [known for known, other in self.file.options.items() if end in other.ends]
                names = ", ".join(f"`{known}`" for known in supported) or "none"
                return RequestError(
                    f"{path}: not supported by the {end} of stack `{self.name}`; supported options: {names}",
                    path=path,
                    kind="Unsupported",
                    expected=alternatives(supported),
                    value=shown(value),
                )
            if option.word(value) is None:
                return option.refusal(path, value, f"for stack `{self.name}`")
        return None

    def refuses_workload(self, workload: Mapping[str, Any], above: str = "") -> RequestError | None:
        """Return why it cannot do a workload (the table of a resolved flow), or None; `above` as of `refuses`."""
        kind = _kind(workload)
        if kind in self.file.workloads:
            return None
        return not_one_of(f"{above}workload", kind, self.file.workloads, f"for stack `{self.name}`")

    def words(self, table: Mapping[str, Any], end: str) -> dict[str, str]:
        """Return words for the options of an endpoint, with defaults where they are unset; an empty word is unset."""
        given = dict(_flat(table))
        values = {
            name: option.word(given.get(name, option.default))
            for name, option in self.file.options.items()
            if end in option.ends and given.get(name, option.default) is not None
        }
        return {name: value for name, value in values.items() if value}

    def standard(self, placeholders: Mapping[str, str]) -> dict[str, str]:
        """Return the placeholders that are no options; `placeholders` take precedence."""
        return (
            {
                "python": sys.executable,
                "quiclab_live": _live(),
                "adapters": str(self.file.path.parent.resolve()),
                "programs": str(programs_folder()),
                "certificate_name": CERTIFICATE_NAME,
            }
            | certificate_words(DEFAULT_CERTIFICATE)
            | dict(placeholders)
        )


def certificate_words(certificate: Certificate) -> dict[str, str]:
    """Return the placeholders of a certificate: files of what servers send, of its key, and of what clients trust."""
    key, _, chain = certificate.partition("-chain-")
    names = {
        "certificate": f"certificate-{certificate}",
        "key": f"key-{key}",
        "authority": f"authority-{key}" if chain else f"certificate-{key}",
    }
    return {placeholder: str(BUILT_IN / f"{name}.pem") for placeholder, name in names.items()}


def load_adapters(extra_paths: Iterable[Path | str] = ()) -> dict[str, Adapter]:
    """Return all programs by name: the built-in ones, then the user's.

    Parameters
    ----------
    extra_paths
        TOML files, or folders with such files.

    Raises
    ------
    RequestError
        If a file is wrong, or two have the same name.
    """
    files = sorted(BUILT_IN.glob("*.toml"))
    for path in map(Path, extra_paths):
        files += sorted(path.glob("*.toml")) if path.is_dir() else [path]
    adapters: dict[str, Adapter] = {}
    for file in files:
        adapter = Adapter(read(file))
        if adapter.name in adapters:
            other = adapters[adapter.name].file.path
            raise unexpected("name", f"a name other than that of {other}", adapter.name, where=str(file))
        adapters[adapter.name] = adapter
    return adapters


def programs(extra_paths: Iterable[Path | str] = ()) -> list[dict[str, Any]]:
    """Return a description of each program on this machine: `name`, `protocol`, `description`, `version`, `missing`.

    `missing` has messages, none if it is available; `version` is None if it is unavailable or not reported.
    """
    return [
        {
            "name": adapter.name,
            "protocol": adapter.protocol,
            "description": adapter.description,
            "workloads": list(adapter.file.workloads),
            "version": adapter.version(),
            "missing": adapter.missing(),
        }
        for adapter in load_adapters(extra_paths).values()
    ]


def programs_folder() -> Path:
    """Return the folder of the programs that `make adapters` builds: `$QUICLAB_PROGRAMS`, or that of the checkout."""
    named = os.environ.get("QUICLAB_PROGRAMS")
    if named:
        return Path(named)
    root = Path(__file__).resolve().parents[3]
    if (root / "adapters").is_dir():
        return root / "adapters" / "bin"
    return cache_folder() / "programs"


def _live() -> str:
    """Return the path of `quiclab-live`, or its bare name if it is missing, so that adapters can be listed."""
    try:
        return str(live_program())
    except RequestError:
        return LIVE_PROGRAM


def _kind(workload: Mapping[str, Any]) -> str:
    kind = str(workload.get("kind"))
    if kind != "download":
        return kind
    return "download.size" if workload.get("size") is not None else "download.duration"


def _flat(options: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    """Options with dotted names; the tag of a variant has the name of its table."""
    found: list[tuple[str, Any]] = []
    for name, value in options.items():
        if value is None or (not above and name in _NOT_OF_THE_PROGRAM):
            continue
        if isinstance(value, Mapping):
            found += _flat(value, f"{above}{name}.")
        else:
            found.append((above.rstrip(".") if above and name == _TAG else above + name, value))
    return found


def _which(name: str) -> str | None:
    """Find a program where a run finds it."""
    return shutil.which(name, path=program_path())


def program_path() -> str:
    """Return where programs are looked for: PATH, then where Debian keeps servers."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), SYSTEM_PATH])
