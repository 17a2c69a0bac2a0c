"""Reports of the programs of a flow, as numbers on the clock of the run.

| format | source | times |
| --- | --- | --- |
| `quiclab` | reports `FLOW.client.json` and `FLOW.server.json` (`quiclab.report/1`) | CLOCK_MONOTONIC, exact |
| `json_lines` | lines of the same on stdout, each completing those before; `{"sample": {}}` is one row | the same |
| `iperf3` | `--json` of both ends | from when the client was started |
| `curl` | `--write-out '%{json}'` of the client | from when the client was started |
| `none` | nothing: the elements have counted the bytes | |

A program that died, hung or reported nothing is a message in `problems`; earlier reports are retained, and `complete`
is
false. Without a message it is false if the run ended before the flow, as the result states.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from quiclab.lane.adapter import Adapter

#: Version of the reports of quiclab's own programs.
SCHEMA: Final = "quiclab.report/1"
_LAST_WORDS: Final = 300
#: Columns of acknowledgements that are not of the program.
RESERVED: Final = ("time_ns", "time_s", "flow", "element", "gap_ms")

#: A row of a time series: time in seconds, element, metric, value.
Row = tuple[float, str, str, float]


@dataclass
class Report:
    """Reports of the programs of a flow.

    Parameters
    ----------
    delivered_bytes
        Bytes that the client's application has read.
    started_s, first_byte_s, finished_s
        Times on the run's clock; None if it did not happen or is not reported.
    sender, receiver
        Values over the whole transfer.
    series
        Rows (time in seconds, element, metric, value), in order of time for each metric.
    acknowledgements
        State of the sender at each acknowledgement, as columns of equal length: `time_s` and metrics; a value that is
        not known is None. Empty where the kernel was not asked to trace it.
    complete
        Whether the client did all it had to.
    problems
        Messages about missing reports.
    """

    delivered_bytes: int | None = None
    started_s: float | None = None
    first_byte_s: float | None = None
    finished_s: float | None = None
    sender: dict[str, float] = field(default_factory=dict)
    receiver: dict[str, float] = field(default_factory=dict)
    series: list[Row] = field(default_factory=list)
    acknowledgements: dict[str, list[float | None]] = field(default_factory=dict)
    complete: bool = False
    problems: list[str] = field(default_factory=list)


def collect(adapter: Adapter, flow_name: str, directory: Path, epoch_ns: int) -> Report:
    """Read the reports of the programs of a flow from the directory of a run.

    Parameters
    ----------
    adapter
        The stack of the flow.
    flow_name
        Its name.
    directory
        Where the run was.
    epoch_ns
        CLOCK_MONOTONIC at time 0 of the run.
    """
    said = _ProgramOutput(adapter.name, flow_name, directory, epoch_ns, adapter.file.reporting)
    readers: dict[str, Callable[[_ProgramOutput], Report]] = {
        "quiclab": lambda said: _reports(said, _report_file),
        "json_lines": lambda said: _reports(said, _report_lines),
        "iperf3": _iperf3,
        "curl": _curl,
        "none": lambda _: Report(complete=True),
    }
    try:
        report = readers[adapter.file.format](said)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        what = f"wrote invalid output ({type(error).__name__}: {error})"
        return Report(problems=[said.problem("client", what)])
    if report.delivered_bytes is not None and report.delivered_bytes < 0:
        report.problems.append(said.problem("client", f"reported {report.delivered_bytes} bytes"))
        report.delivered_bytes, report.complete = None, False
    return report


@dataclass(frozen=True)
class _ProgramOutput:
    """Where the words of the programs of a flow are."""

    stack: str
    flow: str
    directory: Path
    epoch_ns: int
    #: Ends that report.
    ends: tuple[str, ...]

    def text(self, name: str) -> str:
        """Return the output of a program (such as `client.out`); empty if the file does not exist."""
        try:
            return (self.directory / f"{self.flow}.{name}").read_bytes().decode(errors="replace")
        except OSError:
            return ""

    def problem(self, role: str, what: str) -> str:
        """Return a message about a program, with the last line of its output."""
        words = self.text(f"{role}.err").strip() or self.text(f"{role}.out").strip()
        if words.startswith("{"):
            words = ""  # its report, not a message
        last = f"; its last words: {' / '.join(words[-_LAST_WORDS:].splitlines())}" if words else "; it said nothing"
        return f"flow `{self.flow}`: the {role} of stack `{self.stack}` {what}{last}"

    def on_clock(self, monotonic_ns: object) -> float | None:
        """Return a time of CLOCK_MONOTONIC on the run's clock, in seconds."""
        if isinstance(monotonic_ns, int | float) and _is_number(monotonic_ns):
            return (int(monotonic_ns) - self.epoch_ns) / 1e9
        return None

    def result(self) -> dict[str, Any]:
        """Return the result of the elements; an empty one if there is none."""
        try:
            result = json.loads((self.directory / "result.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return result if isinstance(result, dict) else {}

    def client_start_s(self) -> float:
        """Return when the client was started, for programs whose times begin with themselves."""
        start_s = _part(self.result(), "flows", self.flow).get("start_s")
        return float(start_s) if isinstance(start_s, int | float) else 0.0

    def cut_short(self) -> bool:
        """Whether the run ended before its flows: the result states this, and it is not an error of a program."""
        return _part(self.result(), "run").get("ended_by") in ("duration_over", "delivered", "interrupted")


def _reports(said: _ProgramOutput, read: Callable[[_ProgramOutput, str], dict[str, Any] | str]) -> Report:
    """Both ends in the format of quiclab's own programs."""
    report = Report()
    client = read(said, "client") if "receiver" in said.ends else {}
    server = read(said, "server") if "sender" in said.ends else {}
    if isinstance(server, str):
        report.problems.append(server)
    else:
        report.sender = _numbers(server.get("statistics"))
        report.series += _series(said, server, "sender")
        report.acknowledgements = _acknowledgements(said, server)
        if server.get("failure"):
            report.problems.append(said.problem("server", f"failed: {server['failure']}"))
    if isinstance(client, str):
        report.problems.append(client)
        return report
    if _is_number(client.get("bytes")):
        report.delivered_bytes = int(client["bytes"])
    report.started_s = said.on_clock(client.get("started_ns"))
    report.first_byte_s = said.on_clock(client.get("first_byte_ns"))
    report.finished_s = said.on_clock(client.get("finished_ns"))
    report.receiver = _numbers(client.get("statistics"))
    connected = said.on_clock(client.get("connected_ns"))
    if report.started_s is not None:
        for name, time in (("handshake_ms", connected), ("first_byte_ms", report.first_byte_s)):
            if time is not None:
                report.receiver.setdefault(name, (time - report.started_s) * 1e3)
    report.series += _series(said, client, "receiver")
    report.complete = report.finished_s is not None and not client.get("failure")
    if client.get("failure"):
        report.problems.append(said.problem("client", f"failed: {client['failure']}"))
    elif not report.complete and not said.cut_short():
        report.problems.append(
            f"flow `{said.flow}`: the client of stack `{said.stack}` was stopped before its end; "
            f"{report.delivered_bytes or 0} bytes had arrived"
        )
    return report


def _report_file(said: _ProgramOutput, role: str) -> dict[str, Any] | str:
    text = said.text(f"{role}.json")
    if not text:
        return said.problem(role, "left no report")
    try:
        report = json.loads(text)
    except ValueError:
        return said.problem(role, f"wrote a report that is not JSON ({said.flow}.{role}.json)")
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        return said.problem(role, f"wrote an unknown report: expected `schema` `{SCHEMA}`")
    return report


def _report_lines(said: _ProgramOutput, role: str) -> dict[str, Any] | str:
    """Objects of one line each on stdout; other lines are talk."""
    report: dict[str, Any] = {"statistics": {}, "samples": {}}
    found = False
    rows: list[dict[str, Any]] = []
    for line in said.text(f"{role}.out").splitlines():
        entry = _object(line)
        if entry is None:
            continue
        found = True
        sample = entry.pop("sample", None)
        if isinstance(sample, dict):
            rows.append(sample)
        statistics = entry.pop("statistics", None)
        if isinstance(statistics, dict):
            report["statistics"].update(statistics)
        report.update(entry)
    names = sorted({name for row in rows for name in row})
    if rows:
        report["samples"] = {name: [row.get(name) for row in rows] for name in names}
    if found or role == "server":
        return report
    return said.problem(role, "printed no line of JSON")


def _object(line: str) -> dict[str, Any] | None:
    """Read a line that is a JSON object; a truncated last line is not."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _series(said: _ProgramOutput, report: Mapping[str, Any], end: str) -> Iterator[Row]:
    samples = report.get("samples")
    if not isinstance(samples, dict) or not isinstance(samples.get("time_ns"), list):
        return
    times = [said.on_clock(time) for time in samples["time_ns"]]
    for name, values in samples.items():
        if name != "time_ns" and isinstance(values, list):
            for time, value in zip(times, values, strict=False):
                if time is not None and _is_number(value):
                    yield time, f"{said.flow}.{end}", name, float(value)


def _acknowledgements(said: _ProgramOutput, report: Mapping[str, Any]) -> dict[str, list[float | None]]:
    table = report.get("acknowledgements")
    if not isinstance(table, dict) or not isinstance(table.get("time_ns"), list):
        return {}
    columns: dict[str, list[float | None]] = {"time_s": [said.on_clock(time) for time in table["time_ns"]]}
    for name, values in table.items():
        if name not in RESERVED and isinstance(values, list):
            if len(values) != len(columns["time_s"]):
                raise ValueError(f"acknowledgements.{name} and time_ns have different lengths")
            columns[name] = [float(value) if _is_number(value) else None for value in values]
    return columns


def _iperf3(said: _ProgramOutput) -> Report:
    report = Report()
    client, server = (_iperf3_output(said, role) for role in ("client", "server"))
    start_s = said.client_start_s()
    for end, output in (("sender", server), ("receiver", client)):
        report.series += _iperf3_series(f"{said.flow}.{end}", output, start_s)
    if not client.get("start"):
        report.problems.append(said.problem("client", "printed no JSON"))
        return report
    received = _part(client, "end", "sum_received")
    intervals = [_part(interval, "sum") for interval in client.get("intervals") or []]
    told = received.get("bytes") or sum(int(interval.get("bytes", 0)) for interval in intervals)
    report.delivered_bytes = int(told)
    report.started_s = start_s
    error = client.get("error")
    report.complete = error is None and _is_number(received.get("seconds"))
    if report.complete:
        report.finished_s = start_s + float(received["seconds"])
    elif not said.cut_short():
        report.problems.append(said.problem("client", f"stopped early: {error or 'no sum at its end'}"))
    report.receiver = _numbers({"goodput_mbps": _scaled(received.get("bits_per_second"), 1e-6)})
    streams = _part(server, "end").get("streams") or [{}]
    sender = _part(streams[0], "sender")
    report.sender = _numbers(
        {
            "retransmitted_packets": sender.get("retransmits"),
            "srtt_ms": _scaled(sender.get("mean_rtt"), 1e-3),
            "min_rtt_ms": _scaled(sender.get("min_rtt"), 1e-3),
            "cwnd_bytes": sender.get("max_snd_cwnd"),
        }
    )
    return report


def _iperf3_output(said: _ProgramOutput, role: str) -> dict[str, Any]:
    """Return the object that holds the test: a server that is stopped prints another one with an error."""
    text = said.text(f"{role}.out").lstrip()
    decoder = json.JSONDecoder()
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except ValueError:
            return {}
        if isinstance(value, dict) and value.get("start"):
            return value
        text = text[end:].lstrip()
    return {}


def _iperf3_series(element: str, output: Mapping[str, Any], start_s: float) -> Iterator[Row]:
    names = {"snd_cwnd": ("cwnd_bytes", 1.0), "rtt": ("srtt_ms", 1e-3), "rttvar": ("rttvar_ms", 1e-3)}
    for interval in output.get("intervals") or []:
        stream = (interval.get("streams") or [{}])[0]
        for key, (metric, factor) in names.items():
            value = _scaled(stream.get(key), factor)
            if value is not None and _is_number(stream.get("end")):
                yield start_s + float(stream["end"]), element, metric, value


def _curl(said: _ProgramOutput) -> Report:
    report = Report()
    entries = [entry for line in said.text("client.out").splitlines() if (entry := _object(line)) is not None]
    if not entries:
        report.problems.append(said.problem("client", "printed no line of JSON"))
        return report
    start_s = report.started_s = said.client_start_s()
    report.delivered_bytes = sum(int(entry.get("size_download") or 0) for entry in entries)
    first, last = entries[0], max(entries, key=lambda entry: float(entry.get("time_total") or 0.0))
    if first.get("time_starttransfer"):
        report.first_byte_s = start_s + float(first["time_starttransfer"])
    failed = [entry for entry in entries if entry.get("exitcode") != 0 or entry.get("response_code") not in (200, 206)]
    for entry in failed:
        what = entry.get("errormsg") or f"status {entry.get('response_code')}"
        report.problems.append(said.problem("client", f"failed: {what}"))
    report.complete = not failed
    if report.complete:
        report.finished_s = start_s + float(last["time_total"])
    report.receiver = _numbers(
        {
            "handshake_ms": _scaled(first.get("time_appconnect"), 1e3),
            "first_byte_ms": _scaled(first.get("time_starttransfer"), 1e3),
            "http_version": _scaled(first.get("http_version"), 1.0),
        }
    )
    return report


def _part(tree: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """Return a table inside of a tree; an empty one if it is not there."""
    here: Any = tree
    for name in path:
        here = here.get(name) if isinstance(here, Mapping) else None
    return dict(here) if isinstance(here, Mapping) else {}


def _numbers(table: object) -> dict[str, float]:
    """Return the entries of a table that are finite numbers."""
    if not isinstance(table, Mapping):
        return {}
    return {str(name): float(value) for name, value in table.items() if _is_number(value)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _scaled(value: object, factor: float) -> float | None:
    """Return a number in another unit; curl writes some as text."""
    try:
        number = float(value) * factor if isinstance(value, int | float | str) else None
    except ValueError:
        return None
    return number
