"""The analysis of several captures: the files of an argument, and the result of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from quiclab._base.files import GZIP, reported
from quiclab._base.native import extension
from quiclab.analysis.pacing.document import SCHEMA, Capture
from quiclab.analysis.pacing.settings import Settings
from quiclab.errors import RequestError
from quiclab.result.recordings import ENDS, RECORDINGS, RESULT_FILE

EXPECTED: Final = (
    "expected a capture (pcapng, pcap), a qlog file, or a directory that `quiclab run --out` wrote with "
    "record.pcapng or record.qlog"
)
KEY_LOG: Final = "expected a key log (SSLKEYLOGFILE)"
#: Default number of analysed flows per file.
FLOWS: Final = 8
#: File name extensions of recordings.
RECORDED: Final = RECORDINGS["pcapng"], RECORDINGS["qlog"]
#: Stacks whose qlog contains more than their captures, and what it is.
RICHER_QLOG: Final = {
    "lab-quic": "the qlog of lab-quic has the frames of all packets, also those of further paths and of Google QUIC, "
    "which cannot be read from a capture"
}

Progress: TypeAlias = Callable[[int, int], None]
"""Called periodically with the number of bytes read so far, and the total size of all files [B]."""


@dataclass(frozen=True)
class Failure:
    """A file that could not be read, and why."""

    file: str
    reason: str


@dataclass(frozen=True)
class Analysis:
    """Pacing and acknowledgements of captures.

    Attributes
    ----------
    settings
        The settings of the analysis.
    captures
        One entry for each file that was read, in the order given.
    failures
        The files that could not be read, with the reason.
    """

    settings: Settings
    captures: tuple[Capture, ...]
    failures: tuple[Failure, ...] = ()

    def without(self) -> list[str]:
        """Return the reason for each file without a flow."""
        empty = (capture for capture in self.captures if not capture["flows"])
        return [
            *(f"cannot read {item.file}: {item.reason}" for item in self.failures),
            *(f"{item['file']} has no packet of a TCP, QUIC or UDP flow" for item in empty),
        ]

    def document(self) -> dict[str, Any]:
        """Return everything as `quiclab pacing analyse --json` prints it."""
        return {
            "schema": SCHEMA,
            "settings": self.settings.document(),
            "captures": list(self.captures),
            "failures": [{"file": item.file, "reason": item.reason} for item in self.failures],
        }


def analyse(
    paths: Sequence[Path | str],
    settings: Settings | None = None,
    key_logs: Sequence[Path | str] = (),
    *,
    flows: int = FLOWS,
    progress: Progress | None = None,
) -> Analysis:
    """Analyse pacing and acknowledgements of captures and qlog files from any source.

    Parameters
    ----------
    paths
        The files; a directory of a run represents its recordings.
    settings
        The settings (default: the default values).
    key_logs
        Files of TLS secrets, as programs write them to SSLKEYLOGFILE.
    flows
        Maximum number of flows of each file; those with the most bytes are analysed.
    progress
        Called periodically with the number of bytes read so far, and the total size of all files [B].

    Returns
    -------
    Analysis
        With a failure for each file that cannot be read, as long as there is one that can.

    Raises
    ------
    RequestError
        If no file can be read, a directory is none of a run, or a key log cannot be read.
    """
    chosen = settings or Settings()
    recordings = [recording for path in paths for recording in recordings_of(Path(path))]
    files = [recording.file for recording in recordings]
    for key_log in key_logs:
        _check_key_log(Path(key_log))
    sizes = [_size(file) for file in files]
    told = json.dumps(chosen.document())
    captures: list[Capture] = []
    failures: list[Failure] = []
    for number, file in enumerate(files):
        step = None if progress is None else _Part(progress, sum(sizes[:number]), sizes[number], sum(sizes))
        try:
            text = extension().analyse_packets(str(file), told, [str(path) for path in key_logs], flows, step)
        except (OSError, ValueError) as error:
            failures.append(Failure(str(file), _reason(error)))
        else:
            capture = json.loads(text)
            capture["notes"] += recordings[number].notes
            captures.append(capture)
    if not captures:
        raise RequestError("; ".join(f"cannot read {item.file}: {item.reason}" for item in failures))
    return Analysis(chosen, tuple(captures), tuple(failures))


@dataclass(frozen=True)
class Recording:
    """A file that is analysed, and why it and no other: notes for its reader."""

    file: Path
    notes: tuple[str, ...] = ()


def recordings_of(path: Path) -> list[Recording]:
    """Return the files at a path: the file itself, or the recordings of the run in a directory.

    Of an end with a capture and a qlog file, one is returned: the qlog file of the stacks in `RICHER_QLOG`, else the
    capture. A run with captures is represented only by the ends that have one. The sender's file of a flow precedes the
    receiver's.

    Raises
    ------
    RequestError
        If the path is a directory without recordings.
    """
    with reported(f"cannot read {path}", EXPECTED):
        if not path.is_dir():
            return [Recording(path)]
        there = sorted(path.iterdir()) if (path / RESULT_FILE).is_file() else []
    captures, qlogs = (
        sorted((file for file in there if file.name.endswith(endings)), key=_flow_and_end) for endings in RECORDED
    )
    if captures:
        stacks = _stacks(path / RESULT_FILE) if qlogs else {}
        return [_richer(capture, stacks.get(_element(capture)), qlogs) for capture in captures]
    if qlogs:
        return [Recording(qlog) for qlog in qlogs]
    raise RequestError(f"{path} is a directory without captures of a run; {EXPECTED}")


def _richer(capture: Path, stack: str | None, qlogs: Sequence[Path]) -> Recording:
    """Return the recording of an end from which more can be read, with a note if there was a choice."""
    qlog = next((file for file in qlogs if _element(file) == _element(capture)), None)
    if qlog is None:
        return Recording(capture)
    if (reason := RICHER_QLOG.get(stack or "")) is not None:
        return Recording(qlog, (f"read instead of {capture.name}: {reason}",))
    return Recording(capture, (f"read instead of {qlog.name}: a capture has the packets as they left the host",))


def _stacks(result: Path) -> dict[str, str]:
    """Return the stack of each end of a run by the name of its element; nothing if the result does not tell."""
    try:
        flows = json.loads(result.read_text(encoding="utf-8"))["scenario"]["flows"]
        ends = {
            f"{name}.{end}": flow[end].get("stack") or flow.get("stack") for name, flow in flows.items() for end in ENDS
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}  # the files can be analysed without
    return {end: stack for end, stack in ends.items() if isinstance(stack, str)}


def _element(recording: Path) -> str:
    """Return the name of the element whose recording this is."""
    return Path(recording.name.removesuffix(GZIP)).stem


def _flow_and_end(file: Path) -> tuple[str, int, str]:
    name = _element(file)
    flow, _, end = name.rpartition(".")
    return flow, ENDS.index(end) if end in ENDS else len(ENDS), file.name


def _check_key_log(path: Path) -> None:
    with reported(f"--keys: cannot read {path}", KEY_LOG):
        # a pipe is empty after the first capture; to open it would wait for its writer
        if path.exists() and not path.is_file():
            raise RequestError(f"--keys: cannot read {path}: not a regular file; {KEY_LOG}")
        with path.open("rb"):
            pass


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # reported when the file is read
        return 0


def _reason(error: OSError | ValueError) -> str:
    """Return the message of an error, on one line and without a full stop."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(said.split()).rstrip(".")


@dataclass(frozen=True)
class _Part:
    """Progress of one file, converted to progress over all files."""

    progress: Progress
    before: int
    size: int
    total: int

    def __call__(self, done: int, of: int) -> None:
        self.progress(self.before + round(self.size * min(done / max(of, 1), 1.0)), self.total)
