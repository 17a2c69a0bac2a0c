"""Programs as stacks of the kernel lane: available programs, their requirements and their commands.

A program is described by a short TOML file (docs/adapters.md): the built-in ones are in `adapters/` next to this
module, users have their own. Nothing here starts a transfer: commands are made in the form of a job of `quiclab-live`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from quiclab.errors import RequestError, alternatives, not_one_of, shown, unexpected
from quiclab.kernel.programs import LIVE_PROGRAM, SYSTEM_PATH, live_program
from quiclab.lane.adapter_file import AdapterFile, read
from quiclab.lane.adapter_plan import Need, ProgramPlan
from quiclab.lane.placeholders import LATE, PLACEHOLDER
from quiclab.lane.words import words_of
from quiclab.recordings import ENDS

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
        standard = self._standard({})
        names = [(need.kind, _fill(need.name, standard, late=False) or need.name) for need in self.file.needs]
        found = [_which(name) if kind == "program" else name for kind, name in names if kind != "python"]
        return [path for path in map(Path, filter(None, found)) if path.is_file()]

    @property
    def tells_acknowledgements(self) -> bool:
        """Whether it can report the state of its sender at each acknowledgement."""
        return any("{probe}" in part for part in self.file.server.command)

    def missing(self) -> list[str]:
        """Return a message for each missing requirement, with the package that contains it."""
        return [message for need in self.file.needs if (message := self._lacks(need)) is not None]

    def _lacks(self, need: Need) -> str | None:
        name = _fill(need.name, self._standard({}), late=False) or need.name
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
        standard = self._standard({})
        words = [_fill(word, standard, late=False) or "" for word in self.file.version]
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

    def commands(self, flow: Mapping[str, Any], placeholders: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Return `server` and `client` of a flow, each as `Program` of a job.

        Parameters
        ----------
        flow
            A resolved flow: `sender`, `receiver`, `workload`.
        placeholders
            `flow` (its name) and `seed`; `quiclab_live`, `certificate` and similar, if they differ from the defaults.

        Raises
        ------
        RequestError
            If the program has not the options or the workload that are wanted.
        """
        above = f"flows.{placeholders.get('flow', '?')}."
        ends = {end: flow.get(end) or {} for end in ENDS}
        problems = [self.refuses(table, end, above) for end, table in ends.items()]
        for problem in (*problems, self.refuses_workload(flow["workload"], above)):
            if problem is not None:
                raise problem
        standard = self._standard(placeholders) | words_of(flow["workload"])
        standard["workload"] = json.dumps(dict(flow["workload"]))
        options = {end: self._options(table, end) for end, table in ends.items()}
        return {
            "server": _program(self.file.server, standard | self._of_other(options, "receiver") | options["sender"]),
            "client": _program(self.file.client, standard | self._of_other(options, "sender") | options["receiver"]),
        }

    def _of_other(self, options: Mapping[str, Mapping[str, str]], other: str) -> dict[str, str]:
        """Options of the other end: the client of some programs configures their server."""
        return {name: word for name, word in options[other].items() if self.file.options[name].ends == (other,)}

    def _options(self, table: Mapping[str, Any], end: str) -> dict[str, str]:
        """Words for the options of an endpoint, with defaults for unset options; an empty word counts as unset."""
        given = dict(_flat(table))
        values = {
            name: option.word(given.get(name, option.default))
            for name, option in self.file.options.items()
            if end in option.ends and given.get(name, option.default) is not None
        }
        return {name: value for name, value in values.items() if value}

    def _standard(self, placeholders: Mapping[str, str]) -> dict[str, str]:
        return {
            "python": sys.executable,
            "quiclab_live": _live(),
            "adapters": str(self.file.path.parent.resolve()),
            "programs": str(programs_folder()),
            "certificate": str(BUILT_IN / "certificate.pem"),
            "key": str(BUILT_IN / "key.pem"),
            "certificate_name": CERTIFICATE_NAME,
        } | dict(placeholders)


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
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quiclab" / "programs"


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


def _program(plan: ProgramPlan, values: Mapping[str, str]) -> dict[str, Any]:
    """Fill a plan in: the shape of `Program` in crates/quiclab-live/src/job.rs."""
    command: list[str] = []
    for part in plan.command:
        if isinstance(part, str):
            command.append(_required(part, values))
        else:
            filled = [_fill(word, values, late=True) for word in part]
            command += [word for word in filled if word is not None] if None not in filled else []
    program: dict[str, Any] = {
        "command": command,
        "ready": dict(plan.ready),
        # the same programs in a guest, whose own path is another
        "environment": {"PATH": _path()} | {name: _required(word, values) for name, word in plan.environment.items()},
    }
    if plan.ready_timeout is not None:
        program["ready_timeout"] = plan.ready_timeout
    if plan.grace is not None:
        program["grace"] = plan.grace
    return program


def _required(word: str, values: Mapping[str, str]) -> str:
    filled = _fill(word, values, late=True)
    if filled is None:
        names = [name for name in PLACEHOLDER.findall(word) if name not in values and name not in LATE]
        raise RequestError(
            f"`{word}`: no value for {', '.join(f'{{{name}}}' for name in names)}; "
            'write optional words as a group, such as [..., ["-C", "{congestion_control}"]]'
        )
    return filled


def _fill(word: str, values: Mapping[str, str], *, late: bool) -> str | None:
    """Put values into a word; None if one has none. If `late`, those that are filled at the program's start stay."""
    names = PLACEHOLDER.findall(word)
    if any(name not in values and not (late and name in LATE) for name in names):
        return None
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), word)


def _which(name: str) -> str | None:
    """Find a program where a run finds it."""
    return shutil.which(name, path=_path())


def _path() -> str:
    """Return where programs are looked for: PATH, then where Debian keeps servers."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), SYSTEM_PATH])
