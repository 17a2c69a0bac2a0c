"""Machines for tests of the installed tunnel, booted by systemd-nspawn: this machine with changes in memory."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

#: The hierarchy in which systemd keeps its units, of version 1 or 2.
CGROUPS = Path("/sys/fs/cgroup/systemd")
if not CGROUPS.is_dir():
    CGROUPS = CGROUPS.parent


@cache
def isolation() -> str:
    """Return why no machine can be set up here; empty if one can: root of a container may lack the privileges."""
    script = (
        "mount -t tmpfs none /mnt && cd /mnt && mkdir a b c && "
        "mount -t overlay overlay -o lowerdir=/,upperdir=a,workdir=b c"
    )
    command = ["unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"no mount namespace with an overlay: {done.stderr.strip()}"
    return "" if os.access(CGROUPS, os.W_OK) else f"{CGROUPS} cannot be written"


def require(*programs: str) -> None:
    """Skip a test unless this is root on Linux with these programs."""
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        pytest.skip("needs root and /dev/net/tun")
    missing = [program for program in (*programs, "unshare") if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if why := isolation():
        pytest.skip(why)


def run(*command: str | Path) -> str:
    """Run a program, and return what it prints; an error shows all that it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(map(str, command))}: {done.stdout}{done.stderr}"
    return done.stdout


def until(what: str, seconds: float, holds: Callable[[], bool]) -> None:
    """Look until something holds; fail if it does not in time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)  # between two looks


def overlay(folder: Path) -> str:
    """Return a script that mounts this machine's files at `folder`/root; changes to them stay in memory.

    It is for a mount namespace of its own, with which everything goes.
    """
    return (
        f"set -e; cd {folder}; mount -t tmpfs none .; cd {folder}; mkdir upper work root; "
        f"mount -t overlay overlay -o lowerdir=/,upperdir={folder}/upper,workdir={folder}/work root; cd root; "
    )


class Machine:
    """A machine with the package and a configuration, booted in a network namespace."""

    def __init__(self, folder: Path, name: str, package: Path, script: str) -> None:
        """Boot it: `script` prepares its files from their root, with the package installed."""
        self.folder, self.name = folder, name
        folder.mkdir()
        self.cgroup = CGROUPS / f"quiclab-{os.getpid()}-{name}"
        self.cgroup.mkdir()
        self.log = (folder.parent / f"{name}.log").open("w")
        command = (
            f"echo $$ > {self.cgroup}/cgroup.procs; {overlay(folder)}"
            f"cp {package} tmp/package.deb; chroot . dpkg -i /tmp/package.deb; {script} "
            # as udev makes it: open to all users
            "mknod -m 666 ../tun c 10 200; "
            # of the units of this machine, the tunnel's only
            "printf '[Unit]\\nWants=quiclab-tunnel@qlt0.service basic.target\\n' > etc/systemd/system/lab.target; "
            "exec systemd-nspawn --quiet --directory=. --register=no --keep-unit --link-journal=no --console=pipe "
            f"--network-namespace-path=/run/netns/{name} --capability=CAP_NET_ADMIN "
            f"--bind={folder}/tun:/dev/net/tun "
            "--boot systemd.unit=lab.target systemd.log_target=console"
        )
        namespace: list[str] = ["unshare", "--mount", "--propagation", "private", "bash", "-c", command]
        self.process = subprocess.Popen(
            namespace,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self) -> Self:
        """Wait until its service manager answers."""
        until(f"{self.name} has booted", 60, lambda: self.try_("systemctl", "is-active", "basic.target"))
        return self

    def __exit__(self, kind: object, *details: object) -> None:
        """Shut it down; after an error, show its console."""
        if kind is not None:
            print(f"{self.name}:\n{self.said()}")
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        for name, _, _ in os.walk(self.cgroup, topdown=False):
            Path(name).rmdir()

    def said(self) -> str:
        """Return what is on its console so far."""
        return (self.folder.parent / f"{self.name}.log").read_text(errors="replace")

    def _inside(self, command: tuple[str, ...]) -> list[str]:
        assert self.process.poll() is None, self.said()
        own = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        leader = Path(own).read_text().split()
        return ["nsenter", "--target", leader[0], "--all", *command] if leader else ["false"]

    def try_(self, *command: str) -> bool:
        """Return whether a program in it succeeds."""
        return subprocess.run(self._inside(command), capture_output=True, check=False).returncode == 0

    def run(self, *command: str) -> str:
        """Run a program in it, and return what it prints."""
        return run(*self._inside(command))

    def property(self, name: str) -> str:
        """Return a property of the unit of the tunnel."""
        return self.run("systemctl", "show", "--value", "-p", name, "quiclab-tunnel@qlt0").strip()
