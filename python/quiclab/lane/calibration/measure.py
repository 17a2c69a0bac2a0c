"""Runs a stack of the kernel lane at several rates and sizes, and records its cost.

| setting | why |
| --- | --- |
| download, slow | few datagrams per call; what starting costs |
| download, fast, short and long | more datagrams per call; costs per datagram against those of starting |
| requests and responses, both small | one datagram for each that is received |
| small requests, longer responses | short batches |
| long requests, small responses | the client sends what else the server does |

The rates follow from a first look at the stack: at them its busier end takes the shares `LOADS` of a CPU. Each setting
runs once more under `strace`, which makes programs slower: from there come the datagrams per call, never times. The
calls of a timed run are its datagrams over the datagrams per call of its setting.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from quiclab.errors import QuiclabError, RequestError, unknown
from quiclab.lane.adapter import Adapter
from quiclab.lane.calibration.costs import Observation
from quiclab.lane.calibration.syscalls import SyscallLog, read_trace, trace_file, tracer
from quiclab.lane.calibration.timers import Lateness
from quiclab.lane.run import Lane
from quiclab.result import RunResult
from quiclab.scenario import Scenario

#: Ends of a flow, as hosts are called and as elements and traces are.
ENDS: Final = {"server": "sender", "client": "receiver"}
FLOW: Final = "main"
#: Shares of a CPU that the busier end takes in the slow and the fast setting: neither idle nor near saturation.
LOADS: Final = (0.12, 0.4)
#: Limits of the measured rates [bit/s]: the elements also use CPU time for each packet.
MIN_BPS, MAX_BPS = 1_000_000, 120_000_000
#: Time that a download takes [s].
SHORT_S, LONG_S = 1.0, 3.0
#: Rate [bit/s] and sizes [B] of the first look; its datagrams are so few that any stack keeps up.
LOOK_BPS: Final = 20_000_000
LOOK_BYTES: Final = (500_000, 3_000_000)
#: Length of requests and responses [B], and their number.
EXCHANGES: Final = ((100, 1_000, 500), (100, 20_000, 250), (20_000, 100, 250))
#: One-way delay of the network: longer than scheduling delays on a loaded machine.
DELAY: Final = "1 ms"
#: Limit of the queue: so long that nothing is lost.
QUEUE_PACKETS: Final = 10_000
DURATION: Final = "60 s"


@dataclass(frozen=True)
class Setting:
    """A transfer and its rate.

    Attributes
    ----------
    name
        Name in progress messages; runs of one name are repetitions.
    workload
        The transfer, as the table `workload` of a scenario.
    rate_bps
        Rate of the link [bit/s].
    """

    name: str
    workload: Mapping[str, Any]
    rate_bps: int


@dataclass
class End:
    """Measurements at one end.

    Parameters
    ----------
    observations
        Of all timed runs.
    traces
        By setting.
    user_share
        Share of user time in the CPU time, of each timed run.
    """

    observations: list[Observation] = field(default_factory=list)
    traces: dict[str, SyscallLog] = field(default_factory=dict)
    user_share: list[float] = field(default_factory=list)


@dataclass
class Measurement:
    """Measurements of a stack.

    Parameters
    ----------
    settings
        In the order of the runs.
    ends
        `server` and `client`.
    late_s
        Lateness of timers during the timed runs [s].
    runs
        Timed runs of each setting.
    late_runs
        Runs in which the machine was too busy for the elements to be on time.
    version
        Version reported by the stack.
    """

    settings: tuple[Setting, ...]
    ends: dict[str, End]
    late_s: list[float]
    runs: int
    late_runs: int = 0
    version: str = ""


def stack_of_interest(lane: Lane, name: str) -> Adapter:
    """Return the program, if its hosts can be calibrated.

    Raises
    ------
    RequestError
        If there is no such stack, it is TCP, it cannot download, or something that it needs is missing.
    """
    programs = lane.programs()
    if name not in programs:
        raise unknown("stack", name, programs, where="lane kernel")
    adapter = programs[name]
    if adapter.protocol == "tcp":
        raise RequestError(
            f"stack `{name}` is TCP: its packets are sent by the kernel, so the program has no cost per datagram"
        )
    if "download.size" not in adapter.file.workloads:
        raise RequestError(f"stack `{name}` does not support `download.size`, which calibration uses")
    if missing := adapter.missing():
        raise RequestError("; ".join(missing))
    return adapter


def scenario(stack: str, setting: Setting, options: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a setting; `options` are those of both ends that are not the stack's defaults."""
    flow = {
        "stack": stack,
        "sender": dict(options),
        "down": ["down"],
        "up": ["up"],
        "workload": dict(setting.workload),
    }
    queue = {"kind": "drop_tail", "packets": QUEUE_PACKETS}
    down = {"rate": f"{setting.rate_bps} bit/s", "delay": DELAY, "queue": queue}
    links = {"down": down, "up": {"delay": DELAY}}
    return Scenario.from_dict(
        {
            "version": 1,
            "name": f"host of {stack}: {setting.name}",
            "duration": DURATION,
            "links": links,
            "flows": {FLOW: flow},
        }
    )


def measure(
    adapter: Adapter, lane: Lane, options: Mapping[str, Any], runs: int, step: Callable[[str, int, int], None]
) -> Measurement:
    """Measure a stack in the kernel lane.

    Parameters
    ----------
    adapter
        The stack.
    lane
        The kernel lane, with the real clock.
    options
        Options of the sender.
    runs
        Number of timed runs of each setting.
    step
        Called before each run with its description, its index from 0 and the total number of runs; after the last
        run with `done` and that number twice.

    Raises
    ------
    QuiclabError
        If a run fails, or `strace` is missing.
    """
    traced = replace(lane, tracer=tracer())
    settings: tuple[Setting, ...] = ()
    others = len(LOOK_BYTES)
    kinds = 3 + (len(EXCHANGES) if "request_response" in adapter.file.workloads else 0)
    total, number = others + kinds * (runs + 1), 0

    def go(lane: Lane, setting: Setting, what: str, seed: int, directory: Path) -> RunResult:
        nonlocal number
        step(f"{setting.name}, {what}", number, total)
        number += 1
        return _run(lane, scenario(adapter.name, setting, options), seed, directory)

    with tempfile.TemporaryDirectory(prefix="quiclab-host-") as folder:
        directory = Path(folder)
        looks = [Setting("first look", _download(size), LOOK_BPS) for size in LOOK_BYTES]
        results = [go(lane, look, str(look.workload["size"]), 1, directory) for look in looks]
        cpu = [max(_cpu_s(result, end)[0] for end in ENDS) for result in results]
        settings = choose(cpu, "request_response" in adapter.file.workloads)
        found = Measurement(settings, {end: End() for end in ENDS}, [], runs, version=adapter.version() or adapter.name)
        counted: dict[tuple[str, str], tuple[float, float]] = {}
        for setting in settings:
            result = go(traced, setting, "counting calls", 1, directory)
            for end in ENDS:
                with Path(trace_file(directory, FLOW, end)).open(encoding="utf-8", errors="replace") as lines:
                    trace = read_trace(lines)
                found.ends[end].traces[setting.name] = trace
                received, sent = _datagrams(result, end)
                if not trace.receive.calls or not trace.send.calls:
                    raise QuiclabError(
                        f"the {end} of stack `{adapter.name}` made no calls that strace records; does it use UDP?"
                    )
                counted[setting.name, end] = (received / trace.receive.calls, sent / trace.send.calls)
        for repetition in range(1, runs + 1):
            # all settings in each repetition: drift of the machine affects all settings equally
            for setting in settings:
                with Lateness() as lateness:
                    result = go(lane, setting, f"run {repetition} of {runs}", repetition, directory)
                found.late_s += lateness.late_s
                found.late_runs += not result.data["run"]["kernel"]["kept_up"]
                for end, measured in found.ends.items():
                    whole, user = _cpu_s(result, end)
                    received, sent = _datagrams(result, end)
                    per_receive, per_send = counted[setting.name, end]
                    measured.user_share.append(user / whole)
                    measured.observations.append(
                        Observation(
                            setting.name, whole, received, received / max(per_receive, 1), sent, sent / max(per_send, 1)
                        )
                    )
        step("done", total, total)
    return found


def choose(cpu_s: Sequence[float], requests: bool) -> tuple[Setting, ...]:
    """Return the settings after the first look.

    Parameters
    ----------
    cpu_s
        CPU time [s] of the busier end for each of `LOOK_BYTES`.
    requests
        Whether the stack can do requests and responses.
    """
    per_byte_s = max((cpu_s[1] - cpu_s[0]) / (LOOK_BYTES[1] - LOOK_BYTES[0]), 1e-10)
    slow, fast = (int(round(min(max(8 * load / per_byte_s, MIN_BPS), MAX_BPS), -5)) for load in LOADS)
    if fast < 2 * slow:
        slow = round(fast / 4)
    settings = [_timed("slow", slow, LONG_S), _timed("fast, short", fast, SHORT_S), _timed("fast, long", fast, LONG_S)]
    for request, response, count in EXCHANGES if requests else ():
        sizes = {"request": f"{request} B", "response": f"{response} B"}
        settings.append(
            Setting(
                f"{count} requests of {request} B, responses of {response} B",
                {"kind": "request_response", "count": count, **sizes},
                fast,
            )
        )
    return tuple(settings)


def _timed(name: str, rate_bps: float, seconds: float) -> Setting:
    rate = int(rate_bps)
    return Setting(f"download, {name} ({rate / 1e6:g} Mbit/s)", _download(round(rate * seconds / 8)), rate)


def _download(size: int) -> dict[str, Any]:
    return {"kind": "download", "size": f"{size} B"}


def _run(lane: Lane, scenario: Scenario, seed: int, directory: Path) -> RunResult:
    """Run once; a transfer that is not complete is an error."""
    result = lane.run(scenario, seed, record_dir=directory)
    flow = result.flows[FLOW]
    if flow.failed or not flow.completed:
        reason = flow.failure or "; ".join(result.warnings) or f"did not finish within {DURATION}"
        raise QuiclabError(f"{scenario.name}: {reason}")
    return result


def _cpu_s(result: RunResult, end: str) -> tuple[float, float]:
    """Return CPU time and user time [s] of an end."""
    usage = result.data["run"]["kernel"].get("programs", {}).get(f"{FLOW}.{ENDS[end]}")
    if usage is None:
        raise QuiclabError(
            "this quiclab-live does not report the CPU time of programs; `make setup` builds a newer version"
        )
    return usage["cpu_user_s"] + usage["cpu_system_s"], usage["cpu_user_s"]


def _datagrams(result: RunResult, end: str) -> tuple[int, int]:
    """Return how many datagrams the device of an end has received and sent."""
    counters = result.data["elements"][f"{FLOW}.{ENDS[end]}"]
    return counters["received"]["packets"], counters["created"]["packets"]
