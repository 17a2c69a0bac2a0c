"""Writes the measurements of a stack as a scenario file: two hosts, and the download used for the measurement."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from quiclab.errors import QuiclabError
from quiclab.lane.calibration.costs import COSTS, START, Costs, Estimate, fit
from quiclab.lane.calibration.measure import DELAY, ENDS, FLOW, QUEUE_PACKETS, End, Measurement
from quiclab.lane.calibration.syscalls import Direction, SyscallLog
from quiclab.lane.calibration.timers import Slack, slack
from quiclab.scenario.quantity import byte_count
from quiclab.stacks.registry import catalogue

#: Sysctls of the socket buffers [B].
BUFFER_LIMIT = Path("/proc/sys/net/core/rmem_max")
BUFFER_DEFAULT = Path("/proc/sys/net/core/rmem_default")
#: Descriptions of costs for comments.
MEANINGS: Final = {
    "receive_datagram": "for each datagram received",
    "receive_call": "for each receiving call",
    "send_datagram": "for each datagram sent",
    "send_call": "for each sending call",
}
#: Duration of the scenario that is written; its download takes a few seconds.
DURATION: Final = "60 s"


def host_name(stack: str, end: str) -> str:
    """Return the name of a host: `quic-go` has `quic_go_client`."""
    return f"{re.sub(r'[^A-Za-z0-9_]', '_', stack)}_{end}"


def write_hosts(stack: str, measurement: Measurement, machine: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Return the file.

    Parameters
    ----------
    stack
        Name of the program.
    measurement
        The measurements.
    machine
        Facts about the machine, for the header.
    options
        Of the sender, as in scenarios.

    Raises
    ------
    QuiclabError
        If the measurement does not suffice for a fit.
    """
    runs = measurement.runs * len(measurement.settings)
    lines = [
        f"# Hosts of stack `{stack}` ({measurement.version}), measured by `quiclab kernel host {stack}`:",
        "# cost of datagrams and system calls in user space and kernel of this machine. This file is a scenario;",
        "# the tables below [hosts] can be copied into others. Method: docs/kernel.md.",
        "#",
        *(f"# {name}: {value}" for name, value in machine.items()),
        f"# runs: {runs}, {measurement.runs} of each setting, and one more of each under strace",
        *(f"# setting: {setting.name}" for setting in measurement.settings),
    ]
    if measurement.late_runs:
        lines.append(f"# In {measurement.late_runs} of them the machine was too busy to deliver packets on time.")
    lines += ["", "version = 1", f'name = "host of {stack}"', f'duration = "{DURATION}"', ""]
    for end in ENDS:
        lines += [*_host(stack, end, measurement), ""]
    lines += _download(stack, measurement, options)
    return "\n".join(lines) + "\n"


def _host(stack: str, end: str, measurement: Measurement) -> Iterator[str]:
    measured = measurement.ends[end]
    try:
        costs = fit(measured.observations)
    except ValueError as error:
        raise QuiclabError(f"the {end} of stack `{stack}` cannot be calibrated: {error}") from error
    share = sum(measured.user_share) / len(measured.user_share)
    start = costs.by_name[START]
    yield f"# The {end}: {costs.runs} runs, {100 * share:.0f} % of the CPU time in user space. The fit"
    yield f"# differs from a run by {100 * costs.residual:.1f} % (root mean square). Starting and ending took"
    yield f"# {_time(start.seconds)} more, {_interval(start)}. Intervals are of 95 %, by bootstrap over the runs."
    yield f"[hosts.{host_name(stack, end)}]"
    trace = together(measured.traces.values())
    yield from _buffer(trace)
    for way in ("receive", "send"):
        direction: Direction = getattr(trace, way)
        for name in COSTS:
            if name.startswith(way):
                yield from _cost(name, costs, direction)
        yield f"# {_batches(way, direction, measured)}"
        yield f"{way}_batch = {direction.most}"
    yield from _slack(slack(measurement.late_s, trace.grain_s), trace)


def _cost(name: str, costs: Costs, direction: Direction) -> Iterator[str]:
    estimate = costs.by_name[name]
    way, _, kind = name.partition("_")
    if estimate.apart:
        yield f"# {MEANINGS[name]}: {_interval(estimate)}"
    elif kind == "call":
        why = "one datagram each" if direction.largest <= 1 else "about as many datagrams in all settings"
        yield f"# {MEANINGS[name]}, its datagrams included ({why}): {_interval(estimate)}"
    else:
        yield f"# {MEANINGS[name]}: in {way}_call, from which it cannot be distinguished"
    yield f'{name} = "{_time(estimate.seconds)}"'


def _batches(way: str, direction: Direction, measured: End) -> str:
    means = [getattr(trace, way).batch for trace in measured.traces.values()]
    seen = f"{min(means):.2f} to {max(means):.2f} on average by setting, {direction.largest} at most"
    room = f"; room for {direction.room}" if direction.room > max(direction.largest, 1) else ""
    empty = f"; {direction.empty} calls more found nothing" if direction.empty else ""
    return f"datagrams per call under strace: {seen}{room}{empty}"


def _buffer(trace: SyscallLog) -> Iterator[str]:
    """Return the receive buffer as the kernel counts it: twice the requested size, within the limit (socket(7))."""
    if trace.receive_buffer is None:
        yield f"# the program asks for no receive buffer: {BUFFER_DEFAULT} of this machine"
        yield f'receive_buffer = "{_integer(BUFFER_DEFAULT)} B"'
        return
    limit = math.inf if trace.beyond_limit else _integer(BUFFER_LIMIT)
    granted = int(2 * min(trace.receive_buffer, limit))
    limited = f", of which {BUFFER_LIMIT} allows {limit}" if limit < trace.receive_buffer else ""
    yield f"# the program asks for {trace.receive_buffer} B (SO_RCVBUF){limited}; the kernel counts twice that"
    yield f'receive_buffer = "{granted} B"'


def _slack(late: Slack, trace: SyscallLog) -> Iterator[str]:
    grain = f"in whole milliseconds: up to {1e3 * trace.grain_s:g} ms more" if trace.grain_s else "without a grain"
    interval = f"{_time(late.low_s)} to {_time(late.high_s)}"
    yield f"# lateness of timers: mean {interval} from {late.samples} sleeps during the runs"
    yield f"# and the granularity of the program's timers; they fire in {trace.waits_with}, {grain};"
    yield f"# nearest distribution: {late.distribution}, {late.distance:.2f} away (Kolmogorov and Smirnov)"
    if late.measured_s > late.deviation_s:
        yield f"# the deviation measured is {_time(late.measured_s)}; no such distribution has it at this mean"
    # uniform: scenarios give half of the width
    deviation = late.deviation_s * (math.sqrt(3) if late.distribution == "uniform" else 1.0)
    table = f'mean = "{_time(late.mean_s)}", deviation = "{_time(deviation)}", distribution = "{late.distribution}"'
    yield f"timer_slack = {{ {table} }}"


def together(traces: Iterable[SyscallLog]) -> SyscallLog:
    """Return the traces of all settings as one."""
    whole = SyscallLog()
    for trace in traces:
        for way in ("receive", "send"):
            into, of = getattr(whole, way), getattr(trace, way)
            into.calls, into.datagrams, into.empty = (
                into.calls + of.calls,
                into.datagrams + of.datagrams,
                into.empty + of.empty,
            )
            into.largest, into.room = max(into.largest, of.largest), max(into.room, of.room)
        if trace.receive_buffer is not None:
            whole.receive_buffer = max(whole.receive_buffer or 0, trace.receive_buffer)
        whole.beyond_limit |= trace.beyond_limit
        for name, count in trace.waits.items():
            whole.waits[name] = whole.waits.get(name, 0) + count
    return whole


def _download(stack: str, measurement: Measurement, options: Mapping[str, str]) -> Iterator[str]:
    """Return the longest download, between the two hosts, with the stack of the sim lane."""
    setting = max(
        (item for item in measurement.settings if item.workload["kind"] == "download"),
        key=lambda item: (item.rate_bps, byte_count(str(item.workload["size"]))),
    )
    name, profile = sim_stack(stack)
    yield f"# {setting.name[0].upper()}{setting.name[1:]}, as it was measured."
    yield "[links.down]"
    yield f'rate = "{setting.rate_bps} bit/s"'
    yield f'delay = "{DELAY}"'
    yield f'queue = {{ kind = "drop_tail", packets = {QUEUE_PACKETS} }}'
    yield ""
    yield "[links.up]"
    yield f'delay = "{DELAY}"'
    yield ""
    yield f"[flows.{FLOW}]"
    yield f'stack = "{name}"'
    for end, table in ENDS.items():
        fields = {"host": host_name(stack, end)} | ({"profile": profile} if profile else {})
        fields |= dict(options) if table == "sender" else {}
        yield f"{table} = {{ {', '.join(f'{key} = {json.dumps(value)}' for key, value in fields.items())} }}"
    yield 'down = ["down"]'
    yield 'up = ["up"]'
    yield f'workload = {{ kind = "download", size = "{setting.workload["size"]}" }}'


def sim_stack(stack: str) -> tuple[str, str | None]:
    """Return the stack of the sim lane that represents a program, and its profile if required."""
    engines = catalogue()
    if any(item["name"] == stack for item in engines):
        return stack, None
    profiles = {item["name"]: [profile["name"] for profile in item["profiles"]] for item in engines}
    return "lab-quic", stack if stack in profiles["lab-quic"] else None


def _integer(path: Path) -> int:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise QuiclabError(f"cannot read {path}: {error}") from error


def _interval(estimate: Estimate) -> str:
    return f"{_time(estimate.low)} to {_time(estimate.high)}"


def _time(seconds: float) -> str:
    """Write a time as scenarios do, to the nanosecond."""
    nanoseconds = max(round(seconds * 1e9), 0)
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if nanoseconds >= size:
            return (
                f"{nanoseconds / size:.4g} {unit}" if nanoseconds / size < 1000 else f"{nanoseconds / size:.0f} {unit}"
            )
    return f"{nanoseconds} ns"
