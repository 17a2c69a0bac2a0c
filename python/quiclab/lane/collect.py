"""Reports of the programs of a flow, as numbers on the clock of the run.

| format | source | times |
| --- | --- | --- |
| `quiclab` | reports `FLOW.client.json` and `FLOW.server.json` (`quiclab.report/1`) | CLOCK_MONOTONIC, exact |
| `json_lines` | lines of the same on stdout, each completing those before; `{"sample": {}}` is one row | the same |
| `iperf3` | `--json` of both ends | from when the client was started |
| `curl` | `--write-out '%{json}'` of the client | from when the client was started |
| `none` | nothing: what the client has read is in the file `FLOW.received`, which is removed | those of the network |

Bytes are those that `quiclab.result.delivered` defines, each of them from where the client hands over what it has read:

| programs | read by the application |
| --- | --- |
| `linux` | what `read` returned (quiclab-live/src/tcp/client.rs) |
| `aioquic`, `quinn`, `quic-go` | data of streams in order, as their API returns them |
| `envoy` | bodies of responses over HTTP/3 (aioquic) |
| `iperf3` | `sum_received`: what its client has read from its sockets |
| `linux-h2` | `size_download` of curl: the body |
| `chromium`, `chromium-h2` | bodies of the responses of the last load |
| `ngtcp2` | size of the file that its client writes the body to |

A program that died, hung or reported nothing is a message in `problems`; earlier reports are retained, and `complete`
is
false. Without a message it is false if the run ended before the flow, as the result states.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab.lane.iperf3 import read_iperf3
from quiclab.lane.output import (
    ProgramOutput,
    Report,
    Row,
    is_number,
    json_object,
    numbers,
    scaled,
)

if TYPE_CHECKING:
    from quiclab.lane.adapter import Adapter

__all__ = ["RESERVED", "SCHEMA", "Report", "Row", "collect", "received_file"]

#: Version of the reports of quiclab's own programs.
SCHEMA: Final = "quiclab.report/1"
#: Columns of acknowledgements that are not of the program.
RESERVED: Final = ("time_ns", "time_s", "flow", "element", "gap_ms")


def collect(server: Adapter, client: Adapter, flow_name: str, directory: Path, epoch_ns: int) -> Report:
    """Read the reports of the programs of a flow from the directory of a run.

    Parameters
    ----------
    server, client
        The stacks of its ends.
    flow_name
        Its name.
    directory
        Where the run was.
    epoch_ns
        CLOCK_MONOTONIC at time 0 of the run.
    """
    ends = [end for end, adapter in (("sender", server), ("receiver", client)) if end in adapter.file.reporting]
    said = ProgramOutput({"server": server.name, "client": client.name}, flow_name, directory, epoch_ns, tuple(ends))
    of_one_end = {"quiclab": _report_file, "json_lines": _report_lines}
    formats = {"server": server.file.format, "client": client.file.format}
    readers: dict[str, Callable[[ProgramOutput], Report]] = dict.fromkeys(
        of_one_end, lambda said: _reports(said, lambda said, role: of_one_end[formats[role]](said, role))
    ) | {
        "iperf3": read_iperf3,
        "curl": _curl,
        "none": _file,
    }
    try:
        report = readers[client.file.format](said)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        what = f"wrote invalid output ({type(error).__name__}: {error})"
        return Report(problems=[said.problem("client", what)])
    if report.delivered_bytes is not None and report.delivered_bytes < 0:
        report.problems.append(said.problem("client", f"reported {report.delivered_bytes} bytes"))
        report.delivered_bytes, report.complete = None, False
    return report


def received_file(flow: str) -> str:
    """Return the name of the file to which the client of a flow writes what it reads, if it reports nothing."""
    return f"{flow}.received"


def _file(said: ProgramOutput) -> Report:
    """Return what a client has read that writes it to a file and reports nothing else; times are of the network."""
    report, path = Report(started_s=said.client_start_s()), said.directory / received_file(said.flow)
    try:
        report.delivered_bytes = path.stat().st_size
        path.unlink()
    except OSError:
        what = f"reports nothing and wrote no file {path.name}, so that it is not known what it has read"
        report.problems.append(said.problem("client", what))
        return report
    report.finished_s = said.client_end_s()
    report.complete = report.finished_s is not None
    return report


def _reports(said: ProgramOutput, read: Callable[[ProgramOutput, str], dict[str, Any] | str]) -> Report:
    """Both ends in the format of quiclab's own programs."""
    report = Report()
    client = read(said, "client") if "receiver" in said.ends else {}
    server = read(said, "server") if "sender" in said.ends else {}
    if isinstance(server, str):
        report.problems.append(server)
    else:
        report.sender = numbers(server.get("statistics"))
        report.series += _series(said, server, "sender")
        report.acknowledgements = _acknowledgements(said, server)
        if server.get("failure"):
            report.problems.append(said.problem("server", f"failed: {server['failure']}"))
    if isinstance(client, str):
        report.problems.append(client)
        return report
    if is_number(client.get("bytes")):
        report.delivered_bytes = int(client["bytes"])
    report.started_s = said.on_clock(client.get("started_ns"))
    report.first_byte_s = said.on_clock(client.get("first_byte_ns"))
    report.finished_s = said.on_clock(client.get("finished_ns"))
    report.receiver = numbers(client.get("statistics"))
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
            f"flow `{said.flow}`: the client of stack `{said.stacks['client']}` was stopped before its end; "
            f"{report.delivered_bytes or 0} bytes had arrived"
        )
    return report


def _report_file(said: ProgramOutput, role: str) -> dict[str, Any] | str:
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


def _report_lines(said: ProgramOutput, role: str) -> dict[str, Any] | str:
    """Objects of one line each on stdout; other lines are talk."""
    report: dict[str, Any] = {"statistics": {}, "samples": {}}
    found = False
    rows: list[dict[str, Any]] = []
    for line in said.text(f"{role}.out").splitlines():
        entry = json_object(line)
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


def _series(said: ProgramOutput, report: Mapping[str, Any], end: str) -> Iterator[Row]:
    samples = report.get("samples")
    if not isinstance(samples, dict) or not isinstance(samples.get("time_ns"), list):
        return
    times = [said.on_clock(time) for time in samples["time_ns"]]
    for name, values in samples.items():
        if name != "time_ns" and isinstance(values, list):
            for time, value in zip(times, values, strict=False):
                if time is not None and is_number(value):
                    yield time, f"{said.flow}.{end}", name, float(value)


def _acknowledgements(said: ProgramOutput, report: Mapping[str, Any]) -> dict[str, list[float | None]]:
    table = report.get("acknowledgements")
    if not isinstance(table, dict) or not isinstance(table.get("time_ns"), list):
        return {}
    columns: dict[str, list[float | None]] = {"time_s": [said.on_clock(time) for time in table["time_ns"]]}
    for name, values in table.items():
        if name not in RESERVED and isinstance(values, list):
            if len(values) != len(columns["time_s"]):
                raise ValueError(f"acknowledgements.{name} and time_ns have different lengths")
            columns[name] = [float(value) if is_number(value) else None for value in values]
    return columns


def _curl(said: ProgramOutput) -> Report:
    report = Report()
    entries = [entry for line in said.text("client.out").splitlines() if (entry := json_object(line)) is not None]
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
    report.receiver = numbers(
        {
            "handshake_ms": scaled(first.get("time_appconnect"), 1e3),
            "first_byte_ms": scaled(first.get("time_starttransfer"), 1e3),
            "http_version": scaled(first.get("http_version"), 1.0),
        }
    )
    return report
