"""Output of iperf3 as a report: `--json` of both ends; its times begin when the client is started."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from quiclab.lane.output import (
    ProgramOutput,
    Report,
    Row,
    is_number,
    numbers,
    part_of,
    scaled,
)


def read_iperf3(said: ProgramOutput) -> Report:
    """Return the report of a flow."""
    report = Report()
    client, server = (_iperf3_output(said, role) for role in ("client", "server"))
    start_s = said.client_start_s()
    for end, output in (("sender", server), ("receiver", client)):
        report.series += _iperf3_series(f"{said.flow}.{end}", output, start_s)
    if not client.get("start"):
        report.problems.append(said.problem("client", "printed no JSON"))
        return report
    received = part_of(client, "end", "sum_received")
    intervals = [part_of(interval, "sum") for interval in client.get("intervals") or []]
    told = received.get("bytes") or sum(int(interval.get("bytes", 0)) for interval in intervals)
    report.delivered_bytes = int(told)
    report.started_s = start_s
    error = client.get("error")
    report.complete = error is None and is_number(received.get("seconds"))
    if report.complete:
        report.finished_s = start_s + float(received["seconds"])
    elif not said.cut_short():
        report.problems.append(said.problem("client", f"stopped early: {error or 'no sum at its end'}"))
    report.receiver = numbers({"goodput_mbps": scaled(received.get("bits_per_second"), 1e-6)})
    streams = part_of(server, "end").get("streams") or [{}]
    sender = part_of(streams[0], "sender")
    report.sender = numbers(
        {
            "retransmitted_packets": sender.get("retransmits"),
            "srtt_ms": scaled(sender.get("mean_rtt"), 1e-3),
            "min_rtt_ms": scaled(sender.get("min_rtt"), 1e-3),
            "cwnd_bytes": sender.get("max_snd_cwnd"),
        }
    )
    return report


def _iperf3_output(said: ProgramOutput, role: str) -> dict[str, Any]:
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
            value = scaled(stream.get(key), factor)
            if value is not None and is_number(stream.get("end")):
                yield start_s + float(stream["end"]), element, metric, value
