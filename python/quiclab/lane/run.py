"""One run of the kernel lane: a job becomes a result.

`quiclab-live` starts the programs of a job behind the scenario's network, in this machine or, with the virtual clock,
in a guest; their reports become the summary of the flows.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from quiclab._base.files import hash_of, hash_of_folder, write_atomically
from quiclab._base.native import build_id, checked_seed, source_commit
from quiclab.errors import QuiclabError
from quiclab.lane import frames
from quiclab.lane.adapter import Adapter, load_adapters
from quiclab.lane.adapter_plan import GuestPlan
from quiclab.lane.choices import (
    DEFAULT_CERTIFICATE,
    JOB_FILE,
    REPORTS,
    TABLES,
    Certificate,
    Clock,
    DelayStage,
    Emulation,
    key_log,
)
from quiclab.lane.collect import Report, collect, received_file
from quiclab.lane.job import check_programs, extra_s, make_job, stack_of, stacks_of
from quiclab.lane.kernel.cache import newest_kernel
from quiclab.lane.kernel.programs import live_program
from quiclab.lane.kernel.virtual import GUEST_DIRECTORY, MEMORY, boot
from quiclab.lane.kernel.watch import watch
from quiclab.lane.keylog import embed
from quiclab.result import RunResult
from quiclab.result.delivered import check_delivered
from quiclab.result.recordings import ENDS, RESULT_FILE
from quiclab.result.series import summary, values_of
from quiclab.scenario import Scenario
from quiclab.scenario.quantity import seconds

#: Seconds for setting up and for collecting, beyond the duration of the scenario.
MARGIN_S = 60.0
#: Variables that programs get from the user in real time: no proxies or tuning of libraries, as in a guest.
PASSED_ON = ("PATH", "HOME", "QUICLAB_LIVE", "QUICLAB_PROGRAMS")
#: Seconds that an interrupted run has to write its results.
GRACE_S = 5.0
#: Maximum time of this machine for each second of a guest.
MAX_GUEST_SLOWDOWN = 20.0

#: Prefix of error messages of quiclab-live.
SPEAKER = "quiclab-live: "

Progress = Callable[[float, int, float], None]


@dataclass(frozen=True)
class Lane:
    """How the kernel lane runs.

    Parameters
    ----------
    clock
        `real`: this machine; `virtual`: a guest whose clock is frozen while programs compute.
    emulation
        `engine`: the elements of the sim lane between TUN devices; `netem`: queueing disciplines of the kernel.
    adapters
        Files of further adapters.
    syscall_cost_ns
        With the virtual clock: what each system call takes [ns].
    tracer
        Words before the command of each program, such as those of `strace`; `{flow}` and `{role}` in them become the
        name of the flow and `server` or `client`.
    delay_stage
        Where netem delays packets: `next_hop`, `child` (of the discipline that has the rate) or `same`. From Linux 6.12
        on, packets in the delay stage of the latter two take slots of the queue (docs/emulation.md).
    certificate
        Key of the certificate of servers, `ed25519`, `p-256` or `rsa-2048`; with `-chain-2` or `-chain-3` the leaf of a
        chain of which the server sends this many certificates.
    client_words
        Arguments after the command of each client that are not part of a scenario, such as the number of page loads.
    """

    clock: Clock = "real"
    emulation: Emulation = "engine"
    adapters: tuple[Path, ...] = ()
    syscall_cost_ns: int | None = None
    tracer: tuple[str, ...] = ()
    delay_stage: DelayStage = "next_hop"
    certificate: Certificate = DEFAULT_CERTIFICATE
    client_words: tuple[str, ...] = ()

    def programs(self) -> dict[str, Adapter]:
        """Return the programs by name."""
        return load_adapters(self.adapters)

    def stacks(self) -> str:
        """Return the programs as `quiclab.scenario.load` takes them: JSON."""
        return json.dumps([_stack(adapter) for adapter in self.programs().values()])

    def runs(self, scenario: Mapping[str, Any]) -> bool:
        """Whether the stacks of a resolved scenario are programs."""
        return set(stacks_of(scenario)) <= set(self.programs())

    def check_programs(self, scenario: Mapping[str, Any]) -> None:
        """Check that the programs of a resolved scenario are on this machine.

        Raises
        ------
        RequestError
            If one is missing.
        """
        check_programs(scenario, load_adapters(self.adapters))

    def problem(self) -> str | None:
        """Return the reason why this machine cannot run it; None if no reason is known."""
        try:
            live_program()
            if self.clock == "virtual":
                newest_kernel()
        except QuiclabError as error:
            return error.message
        return None

    def identity(self, scenario: Mapping[str, Any]) -> list[str]:
        """Return the inputs of results besides scenario and seed: options, quiclab-live, kernel, adapters, programs.

        Parameters
        ----------
        scenario
            The resolved scenario as a tree.
        """
        lines = [f"{self.clock} {self.emulation} {self.delay_stage} {self.syscall_cost_ns} {self.tracer}"]
        lines += [self.certificate, *self.client_words]
        lines += [hash_of(live_program()), *_hashes_of_packages()]
        lines.append(hash_of(newest_kernel().path) if self.clock == "virtual" else platform.release())
        for name in dict.fromkeys(stacks_of(scenario)):
            lines += _identity_of(name, self.adapters)
        return lines

    def files(self) -> list[Path]:
        """Return the files that identities are made from, for all programs that are available; nothing is started."""
        kernel = [newest_kernel().path] if self.clock == "virtual" else []
        return [live_program(), *kernel, *_files_of_programs(self.adapters)]

    def arguments(self) -> list[str]:
        """Return the options of `quiclab run` that mean this."""
        options = ["--lane", "kernel", "--clock", self.clock, "--emulation", self.emulation]
        if self.delay_stage != Lane.delay_stage:
            options += ["--delay-stage", self.delay_stage]
        if self.certificate != Lane.certificate:
            options += ["--certificate", self.certificate]
        if self.syscall_cost_ns is not None:
            options += ["--syscall-cost", str(self.syscall_cost_ns)]
        return options + [word for path in self.adapters for word in ("--adapter", shlex.quote(str(path)))]

    def run(
        self,
        scenario: Scenario,
        seed: int = 1,
        *,
        base_dir: str | Path | None = None,
        record_dir: str | Path | None = None,
        progress: Progress | None = None,
    ) -> RunResult:
        """Run a scenario with programs and the kernel's transports.

        Parameters
        ----------
        scenario
            The scenario; its stacks are programs.
        seed
            Seed of the elements, and with the virtual clock of everything else.
        base_dir
            Directory that files named in the scenario are relative to; `None` is that of the scenario's file.
        record_dir
            Existing directory for the job, the output of the programs and captures (default: they are removed).
        progress
            Called periodically with the network time [s], the bytes that all flows have delivered, and the completed
            share of the run (0 to 1).

        Raises
        ------
        RequestError
            If the scenario is wrong, or a program is missing.
        QuiclabError
            If the run fails, or a program reports more data than its network carries.
        """
        seed, adapters = checked_seed(seed), self.programs()
        scenario = scenario.below(base_dir).resolved(self.stacks())
        with tempfile.TemporaryDirectory(prefix="quiclab-") as scratch:
            directory = Path(record_dir).resolve() if record_dir is not None else Path(scratch)
            job = make_job(scenario, seed, self, adapters)
            write_atomically(directory / JOB_FILE, json.dumps(job, indent=2).encode())
            _remove_older(directory, job)
            limit_s = MARGIN_S + seconds(job["scenario"]["duration"]) + extra_s(job)
            if self.clock == "virtual":
                guests = [adapters[name].file.guest for name in stacks_of(job["scenario"])]
                said = _run_in_guest(directory, seed, limit_s, self.syscall_cost_ns, guests, progress)
            else:
                said = _run_here(directory, limit_s, progress)
            return _result(directory, adapters, said)


def _remove_older(directory: Path, job: Mapping[str, Any]) -> None:
    """Remove the files of an older run from a directory, so that they are not mistaken for those of this run."""
    said = [f"{flow}.{role}.{kind}" for flow in job["flows"] for role in ("client", "server") for kind in REPORTS]
    for name in (RESULT_FILE, *said, *map(key_log, job["flows"]), *map(received_file, job["flows"])):
        (directory / name).unlink(missing_ok=True)
    shutil.rmtree(directory / TABLES, ignore_errors=True)


@cache
def _identity_of(name: str, adapters: tuple[Path, ...]) -> list[str]:
    """Return the identity of a program: name, hashes of its adapter and of its files, version."""
    adapter = load_adapters(adapters)[name]
    return [name, hash_of(adapter.file.path), *map(hash_of, adapter.files()), adapter.version() or ""]


@cache
def _files_of_programs(adapters: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the files of all programs that are available, with their adapters."""
    found = load_adapters(adapters).values()
    return tuple(file for adapter in found for file in (adapter.file.path, *adapter.files()))


@cache
def _hashes_of_packages() -> tuple[str, ...]:
    """Return hashes of the code that makes jobs of scenarios, runs them, and makes numbers of reports."""
    home = Path(__file__).parent
    packages = (hash_of_folder(home / name) for name in ("adapters", "browser", "endpoints", "kernel"))
    return (*packages, *map(hash_of, sorted(home.glob("*.py"))))


def _run_here(directory: Path, limit_s: float, progress: Progress | None) -> tuple[str, ...]:
    """Run a job on this machine; returns the last lines of its output. Its processes end with this process."""
    command = [str(live_program()), "run", str(directory)]
    environment = {"HOME": "/root", "LANG": "C", **{key: os.environ[key] for key in PASSED_ON if key in os.environ}}
    watched = watch(command, environment, limit_s, lambda line: _report_progress(line, progress), GRACE_S)
    if not watched.ended:
        raise QuiclabError(f"the run did not end within {limit_s:.0f} s and was stopped")
    return watched.lines


def _run_in_guest(
    directory: Path,
    seed: int,
    limit_s: float,
    syscall_cost_ns: int | None,
    guests: Sequence[GuestPlan],
    progress: Progress | None,
) -> tuple[str, ...]:
    """Run a job in a guest with the virtual clock; returns the last lines of its output."""
    memory = max((plan.memory for plan in guests if plan.memory is not None), key=_megabytes, default=MEMORY)
    ended = boot(
        newest_kernel(),
        [str(live_program()), "run", GUEST_DIRECTORY],
        directory,
        seed,
        limit_s * MAX_GUEST_SLOWDOWN,
        memory=memory,
        syscall_cost_ns=syscall_cost_ns,
        sysctls={name: value for plan in guests for name, value in plan.sysctls.items()},
        on_line=lambda line: _report_progress(line, progress),
        console=True,
    )
    return ended.lines


def _megabytes(memory: str) -> int:
    return int(memory[:-1]) * {"M": 1, "G": 1024}[memory[-1]]


def _report_progress(line: str, progress: Progress | None) -> None:
    """Pass a line of progress on; other lines are none."""
    if progress is None or not line.startswith('{"progress"'):
        return
    with suppress(ValueError, KeyError):
        state = json.loads(line)["progress"]
        fraction = min(1.0, state["time_s"] / state["duration_s"]) if state["duration_s"] else 0.0
        progress(state["time_s"], sum(state["payload_bytes"].values()), fraction)


def _result(directory: Path, adapters: Mapping[str, Adapter], said: Sequence[str]) -> RunResult:
    """Return the result of a job, with what its programs report."""
    try:
        data = json.loads((directory / RESULT_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        reasons = [line for line in said if line.startswith(SPEAKER)] or list(said[-1:]) or ["it said nothing"]
        raise QuiclabError(f"the run failed: {reasons[-1].removeprefix(SPEAKER)}") from None
    tables = frames.read(directory)
    shutil.rmtree(directory / TABLES)
    sampled, acks = [tables.series], []
    for name, flow in data["scenario"]["flows"].items():
        if data["flows"][name]["start_s"] is None:
            continue  # the run ended before: its client was not started, and has no report
        server, client = (adapters[stack_of(flow, end)] for end in ENDS)
        report = collect(server, client, name, directory, data["run"]["kernel"]["epoch_ns"])
        if data["scenario"]["record"]["pcapng"]:
            embed(directory, name)
        if data["scenario"]["record"]["acks"] and not report.acknowledgements:
            said_so = (directory / f"{name}.server.err").read_text(encoding="utf-8", errors="replace").strip()
            report.problems.append(f"flow `{name}`: acknowledgements were not traced: {said_so[-200:] or 'none came'}")
        _merge(data, name, report)
        sampled.append(frames.rows(report.series))
        acks.append(frames.traced(name, report.acknowledgements))
    used = set(stacks_of(data["scenario"]))
    check_delivered(data, {name: adapters[name].file.protocol for name in used})
    data["versions"] |= {name: adapter.version() for name, adapter in adapters.items() if name in used}
    if (commit := source_commit()) is not None:
        data["versions"]["commit"] = commit
    data["versions"]["build"] = build_id()
    series = frames.together(sampled)
    if not series.is_empty():
        data["series"] = summary(values_of(series))
    return RunResult(data, series, tables.packets, tables.taps, frames.together(acks))


def _merge(data: dict[str, Any], name: str, report: Report) -> None:
    """Add the reports of the programs of a flow to its summary; other values are those of the elements."""
    flow, end_s = data["flows"][name], data["run"]["network_time_s"]
    data["warnings"] += report.problems
    flow["sender"] |= report.sender
    flow["receiver"] |= report.receiver
    if report.started_s is not None:
        flow["start_s"] = report.started_s
    if not report.complete:  # regardless of the exit code of its process
        flow |= {"completed": False, "finish_s": None, "download_time_s": None}
    if report.delivered_bytes is None:  # what the network counts is no data of the application
        if not flow["failed"]:
            flow |= {"failed": True, "failure": " ".join(report.problems) or "its client reports no bytes"}
        return
    flow["delivered_bytes"] = report.delivered_bytes
    flow["completed"] = report.complete and report.finished_s is not None
    flow["finish_s"] = report.finished_s if flow["completed"] else None
    took = (report.finished_s if flow["completed"] else end_s) - flow["start_s"]
    flow["download_time_s"] = took if flow["completed"] else None
    flow["goodput_mbps"] = 8e-6 * report.delivered_bytes / took if took > 0 else 0.0
    if report.first_byte_s is not None:
        flow["receiver"]["first_byte_ms"] = 1e3 * (report.first_byte_s - flow["start_s"])


def _stack(adapter: Adapter) -> dict[str, Any]:
    """Return the description of a program for validation."""
    return {
        "name": adapter.name,
        "protocol": adapter.protocol,
        "acknowledgements": adapter.tells_acknowledgements,
        "workloads": sorted({kind.partition(".")[0] for kind in adapter.file.workloads}),
        "options": {
            name: None if option.values is None else list(option.values)
            for name, option in adapter.file.options.items()
        },
    }
