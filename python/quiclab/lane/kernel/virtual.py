"""Starts the virtual-clock kernel with one command in it.

The guest is a User-Mode Linux kernel, a process of the host. Its clock jumps to the next timer whenever everything in
it waits, so that waiting is free and the host's load has no effect. Byte-identical runs also require
the seed, no randomised addresses, and the same command line, environment and paths. Each guest therefore gets
separate namespaces, in which its files always have the same names:

========================= ============================================================
path in the namespace     content
========================= ============================================================
`/dev/shm`                empty, private: the guest's memory, its sockets
`/dev/shm/linux`          the kernel
`/dev/shm/init`           the first program, `quiclab-live guest`
`/dev/shm/job`            the directory of the run; the guest mounts it at `/run/quiclab/job`
========================= ============================================================

The PID namespace ends with its parent: nothing of a guest outlives the process that started it.

A guest and the processes in it run one at a time and wake each other for every system call. They share one CPU of the
host (`quiclab.lane.kernel.pin`): to wake a process on another CPU takes several times as long as the call.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab._base.files import write_atomically
from quiclab._base.native import MAX_SEED
from quiclab.errors import QuiclabError, RequestError, unexpected
from quiclab.lane.kernel.pin import reserved_cpu
from quiclab.lane.kernel.programs import live_program, required
from quiclab.lane.kernel.watch import Watched, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.lane.kernel.cache import Kernel

SCHEMA = "quiclab.guest/1"
#: Where the guest has the directory of the run.
GUEST_DIRECTORY = "/run/quiclab/job"
TASK_FILE, EXIT_FILE, OUTPUT_FILE = "guest.json", "guest-exit.json", "guest-stdout.txt"
#: Nanoseconds since 1970 when the guest starts (2027-01-15): a constant, so that all runs have the same date, and a
#: day on which the certificates of the programs are valid.
START_NS = 1_800_000_000_000_000_000
SEED_VARIABLE = "QUICLAB_GUEST_SEED"
#: Memory of a guest; it sizes buffers, so results are those of it.
MEMORY = "512M"

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Addresses are also the same in each run.
SYSCTLS = {"kernel.randomize_va_space": "0"}

# $1 kernel, $2 first program, $3 directory of the run, the rest: arguments of the kernel. Whatever lies below /dev/shm
# is opened before it is covered; `mount --no-canonicalize` takes what is open, not its name, which may be covered.
SCRIPT = """
set -e
exec 8<"$1" 9<"$2"
cd "$3"
shift 3
mount -t tmpfs -o mode=0755 tmpfs /dev/shm
mkdir /dev/shm/job /dev/shm/uml
touch /dev/shm/linux /dev/shm/init
mount --no-canonicalize --bind /proc/self/fd/8 /dev/shm/linux
mount --no-canonicalize --bind /proc/self/fd/9 /dev/shm/init
exec 8<&- 9<&-
mount --no-canonicalize --bind . /dev/shm/job
cd /
unset OLDPWD PWD
setarch -R /dev/shm/linux "$@" </dev/null
"""


@dataclass(frozen=True)
class Exit:
    """How a guest ended.

    Parameters
    ----------
    code
        Exit code of the command; None if a signal ended it.
    signal
        The signal that ended it; None otherwise.
    virtual_s
        Seconds on the guest's clock, from its start to the end of the command.
    wall_s
        Seconds on the host's clock.
    cpu_s
        CPU seconds of the host: the kernel and everything in it.
    lines
        Last lines of the console.
    """

    code: int | None
    signal: int | None
    virtual_s: float
    wall_s: float
    cpu_s: float
    lines: tuple[str, ...] = ()


def boot(
    kernel: Kernel,
    command: Sequence[str],
    result_dir: Path,
    seed: int,
    timeout_s: float,
    memory: str = MEMORY,
    syscall_cost_ns: int | None = None,
    on_line: Callable[[str], None] | None = None,
    environment: Mapping[str, str] | None = None,
    sysctls: Mapping[str, str] | None = None,
    console: bool = False,
    init: Path | None = None,
) -> Exit:
    """Run one command in a guest with a virtual clock, as the guest's root.

    The command sees the files of the host, read-only, and `result_dir` as `/run/quiclab/job`, its working directory,
    which is writable. Files below `/tmp` and `/run` are discarded at the end. Standard output goes to
    `guest-stdout.txt` in `result_dir`, standard error to the console, which is read line by line.

    Parameters
    ----------
    kernel
        The kernel, from `quiclab.lane.kernel.newest_kernel`.
    command
        Program and arguments; paths are those of the host.
    result_dir
        Existing directory. Its name does not reach the guest.
    seed
        0 to 2^64 - 1. Every random number of the guest follows from it.
    timeout_s
        Seconds on the host's clock after which the guest is killed.
    memory
        Memory of the guest, such as `512M`. The host provides only used memory.
    syscall_cost_ns
        Virtual nanoseconds that each system call takes; none by default, as computations take none either.
    on_line
        Is called with each line of the console, without its end.
    environment
        The whole environment of the command; a short constant one by default.
    sysctls
        Settings such as `net.core.rmem_max`, in addition to `SYSCTLS`.
    console
        Whether standard output also goes to the console. Unread output delays the guest once
        it is more than a megabyte.
    init
        First program of the guest, started with the argument `guest`; by default `quiclab-live`.

    Returns
    -------
    Exit
        How the command ended.

    Raises
    ------
    RequestError
        If an argument is wrong.
    QuiclabError
        If the machine does not allow namespaces, or the guest failed, or it did not end in time.
    """
    _check(kernel, command, result_dir, seed, timeout_s, memory, syscall_cost_ns)
    first = init or live_program()
    task = {
        "schema": SCHEMA,
        "command": list(command),
        "environment": dict(environment) if environment is not None else {"HOME": "/root", "LANG": "C", "PATH": PATH},
        "sysctls": {**SYSCTLS, **(sysctls or {})},
        "console": console,
    }
    for name in (EXIT_FILE, OUTPUT_FILE):
        (result_dir / name).unlink(missing_ok=True)
    write_atomically(result_dir / TASK_FILE, json.dumps(task).encode())
    arguments = kernel_arguments(kernel, memory, syscall_cost_ns)
    files = [str(path.resolve()) for path in (kernel.path, first, result_dir)]
    line = [*isolation(), "--", required("sh"), "-c", SCRIPT, "sh", *files, *arguments]
    # constant width: strings on the host's stack must not move
    variables = {"PATH": PATH, "HOME": "/", "TMPDIR": "/dev/shm", SEED_VARIABLE: f"{seed:020d}"}  # noqa: S108 (covered)
    with reserved_cpu() as cpu:
        watched = watch([required("taskset"), "--cpu-list", str(cpu), *line], variables, timeout_s, on_line)
    if not watched.ended:
        raise QuiclabError(f"the guest did not end within {timeout_s:g} s and has been killed{_last(watched.lines)}")
    return _exit(result_dir / EXIT_FILE, watched)


def kernel_arguments(kernel: Kernel, memory: str, syscall_cost_ns: int | None) -> list[str]:
    """Return the kernel's command line; it depends on nothing that differs between runs of one setting."""
    cost = [f"syscall_cost_ns={syscall_cost_ns}"] if syscall_cost_ns else []
    return [
        f"mem={memory}",
        "umid=quiclab",
        "uml_dir=/dev/shm/uml/",
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init=/dev/shm/init"),
        *("time-travel=inf-cpu", f"time-travel-start={START_NS}"),
        *(["seccomp=on"] if kernel.seccomp else []),
        # the kernel would put `console=tty0` behind the arguments of the first program if it were not here
        *("console=tty0", "con=null", "con0=null,fd:1", "ssl=null"),
        *("loglevel=4", "quiet", "oops=panic", "panic=-1"),
        *("dummy.numdummies=0", "ifb.numifbs=0"),
        *cost,
        *("--", "guest"),
    ]


@cache
def isolation() -> tuple[str, ...]:
    """Return the command that puts another one into its own namespaces: as root, or as a user if that is allowed.

    Raises
    ------
    QuiclabError
        If the machine allows neither.
    """
    base = [required("setpriv"), "--pdeathsig", "KILL", "--", required("unshare"), "--mount", "--pid", "--fork"]
    base.append("--kill-child")
    required("setarch")
    for extra in ([], ["--user", "--map-root-user"]):
        line = [*base, *extra]
        probe = [*line, "--", required("sh"), "-c", "mount -t tmpfs tmpfs /dev/shm"]
        done = subprocess.run(probe, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return tuple(line)
    reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
    raise QuiclabError(
        f"this machine does not permit mount and PID namespaces ({reason[0]}); run as root, or enable user namespaces "
        "(see `quiclab kernel doctor`)"
    )


def _check(
    kernel: Kernel,
    command: Sequence[str],
    result_dir: Path,
    seed: int,
    timeout_s: float,
    memory: str,
    syscall_cost_ns: int | None,
) -> None:
    """Refuse wrong arguments of `boot`."""
    if not kernel.path.is_file() or not os.access(kernel.path, os.X_OK):
        raise RequestError(f"the kernel {kernel.path} is not an executable file; `quiclab kernel build` builds one")
    if not command or isinstance(command, str):
        raise unexpected("command of the guest", "a list of a program and its arguments", command)
    if not result_dir.is_dir():
        raise unexpected("directory of the guest", "an existing directory", result_dir)
    if not 0 <= seed <= MAX_SEED:
        raise unexpected("seed of the guest", f"0 to {MAX_SEED}", seed)
    if not timeout_s > 0:
        raise unexpected("timeout_s of the guest", "a number above 0", timeout_s)
    if not re.fullmatch(r"[1-9]\d*[KMG]", memory):
        raise unexpected("memory of the guest", "a number with K, M or G, such as 512M", memory)
    if syscall_cost_ns is not None and not 0 <= syscall_cost_ns <= 1_000_000:
        raise unexpected("syscall_cost_ns of the guest", "0 to 1000000", syscall_cost_ns)


def _exit(file: Path, watched: Watched) -> Exit:
    """Read the exit report of the guest."""
    try:
        data = json.loads(file.read_bytes())
        if data["schema"] != SCHEMA:
            raise ValueError
        error, code, number, virtual_s = data["error"], data["code"], data["signal"], data["uptime_ns"] / 1e9
    except FileNotFoundError as error:
        raise QuiclabError(f"the guest stopped before its command did{_last(watched.lines)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise QuiclabError(f"{file} is not of this version of quiclab ({SCHEMA}); rebuild quiclab-live") from error
    if error is not None:
        raise QuiclabError(f"in the guest: {error}")
    return Exit(code, number, virtual_s, watched.wall_s, watched.cpu_s, watched.lines)


def _last(lines: Sequence[str]) -> str:
    """Return the end of a message with the last line of the console."""
    texts = [line.strip() for line in lines if line.strip()]
    for before, text in pairwise(["", *texts]):
        if "Kernel panic" in text:  # registers and addresses follow
            return f": {text}" + (f"; the line before was `{before}`" if before else "")
    return f"; its last line was `{texts[-1]}`" if texts else "; it wrote nothing to its console"
