"""Builds the virtual-clock kernel: fetch, unpack, edit, configure, compile, install.

Each step leaves its result under its final name only when it is complete, so that a killed build resumes where it
stopped: a download continues where it was interrupted, `make` compiles missing files.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab._base.files import write_atomically
from quiclab.errors import QuiclabError, RequestError
from quiclab.lane.kernel import patches
from quiclab.lane.kernel.cache import Kernel, has_seccomp, read_kernel
from quiclab.lane.kernel.programs import PACKAGES, found, required, tied
from quiclab.lane.kernel.source import Apt, Source, tree_version
from quiclab.lane.kernel.unpack import Progress, ending, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Programs that the kernel's Makefile calls.
TOOLS = ("bc", "bison", "flex", "gcc", "make", "tar", "xz")
#: Header of libelf, which a tool of the kernel is compiled with.
ELF_HEADER, ELF_PACKAGE = "gelf.h", "libelf-dev"
#: Disk space of package, unpacked source and objects (7.3: 2.0 GB).
NEEDED_BYTES = 2_500_000_000
#: Lines about compiling that `make` prints for 7.3 with this configuration; others differ by some percent.
EXPECTED_OBJECTS = 1700
#: Nothing of the machine or the moment is in the kernel.
CONSTANT = {"KBUILD_BUILD_USER": "quiclab", "KBUILD_BUILD_HOST": "quiclab", "KBUILD_BUILD_TIMESTAMP": "2023-11-14"}


@dataclass(frozen=True)
class Plan:
    """A build: source, directory and result.

    Parameters
    ----------
    source
        The source.
    apt
        Where it is fetched from; None if it is a file.
    cache
        Directory of kernels.
    jobs
        Compilers at a time.
    """

    source: Source
    apt: Apt | None
    cache: Path
    jobs: int

    @property
    def name(self) -> str:
        """Name of the kernel's directory."""
        return f"{self.source.version or 'unknown'}-{patches.configuration_hash()}"

    @property
    def work(self) -> Path:
        """Directory of temporary files of the build."""
        return self.cache / "work" / f"{self.source.package}-{self.name}"

    @property
    def target(self) -> Path:
        """The kernel."""
        return self.cache / self.name / "linux"


def missing_tools() -> list[str]:
    """Return the Debian packages that building needs and the machine has not."""
    missing = [PACKAGES[tool] for tool in TOOLS if found(tool) is None]
    compiler = found("gcc")
    if compiler is not None:
        probe = [compiler, "-E", "-include", ELF_HEADER, "-x", "c", os.devnull, "-o", os.devnull]
        if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
            missing.append(ELF_PACKAGE)
    return missing


def check_tools() -> None:
    """Refuse to start without the programs.

    Raises
    ------
    QuiclabError
        With the line that installs them.
    """
    missing = missing_tools()
    if missing:
        names = " ".join(missing)
        raise QuiclabError(
            f"building the kernel requires {', '.join(missing)}; `apt-get install {names}` installs them"
        )


def check_space(directory: Path, needed_bytes: int = NEEDED_BYTES) -> None:
    """Refuse to start if the disk is too small.

    Raises
    ------
    QuiclabError
        With the required and the available space.
    """
    free = shutil.disk_usage(directory).free
    if free < needed_bytes:
        raise QuiclabError(
            f"building the kernel requires {needed_bytes / 1e9:.1f} GB in {directory}, {free / 1e9:.1f} GB are free; "
            "set XDG_CACHE_HOME to choose another directory"
        )


@contextmanager
def only_one(work: Path) -> Iterator[None]:
    """Let one process build in a directory.

    Raises
    ------
    RequestError
        If another one does.
    """
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RequestError(f"another build is running in {work}; wait until it ends") from error
        yield


def build(plan: Plan, progress: Progress, force: bool = False) -> Kernel:
    """Build a kernel, or return the existing one.

    Parameters
    ----------
    plan
        The build.
    progress
        Called with the progress.
    force
        Start from nothing, even if the kernel is there.

    Raises
    ------
    QuiclabError
        If a step fails; the next call continues there.
    """
    if plan.target.exists() and not force:
        return read_kernel(plan.target)
    check_tools()
    with only_one(plan.work):
        if force:
            for path in plan.work.iterdir():
                _remove(path)
        if not (plan.work / "source").exists():
            check_space(plan.work)
            unpack(_fetch(plan, progress), plan.work, progress)
        tree, log = plan.work / "source", plan.work / "make.log"
        log.write_bytes(b"")
        version = tree_version(tree)
        patches.apply(tree, patches.edits())
        _configure(tree, log)
        _compile(tree, log, plan.jobs, progress)
        kernel = _install(plan, tree / "linux", version)
    _remove(plan.work)
    return kernel


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.name != "lock":
        path.unlink()


def _fetch(plan: Plan, progress: Progress) -> Path:
    """Fetch the package; apt resumes an interrupted download."""
    if plan.source.path is not None:
        return plan.source.path
    assert plan.apt is not None  # noqa: S101 (a source without path comes from an archive)
    package = plan.work / f"{plan.source.package}.deb"
    if package.exists():
        return package
    folder = plan.work / "download"
    folder.mkdir(exist_ok=True)
    command, environment = plan.apt.download_command(plan.source)
    log = plan.work / "download.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
        with ending(process):
            while True:
                done = sum(file.stat().st_size for file in folder.iterdir())
                progress(f"fetching {plan.source}", done, plan.source.size_bytes)
                try:
                    process.wait(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    continue
    files = list(folder.glob("*.deb"))
    if process.returncode != 0 or len(files) != 1:
        raise QuiclabError(f"cannot fetch {plan.source}: {_last_line(log)}")
    files[0].replace(package)
    return package


def _configure(tree: Path, log: Path) -> None:
    """Write the configuration and check that it has the options of the fragment."""
    stamp, wanted = tree / ".quiclab-configured", patches.fragment()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == patches.configuration_hash():
        return
    _make(tree, log, "defconfig")
    with (tree / ".config").open("a", encoding="utf-8") as file:
        file.write(wanted)
    _make(tree, log, "olddefconfig")
    missing = patches.missing_options(wanted, (tree / ".config").read_text(encoding="utf-8"))
    if missing:
        raise QuiclabError(f"this kernel does not support {', '.join(missing)}; choose another with --source")
    write_atomically(stamp, patches.configuration_hash().encode())


def _make(tree: Path, log: Path, target: str) -> None:
    with log.open("ab") as output:
        command = [*tied("make"), "ARCH=um", target]
        code = subprocess.run(command, cwd=tree, stdout=output, stderr=output, check=False).returncode
    if code != 0:
        raise QuiclabError(f"`make ARCH=um {target}` failed: {_last_line(log)}; the complete log is {log}")


def _compile(tree: Path, log: Path, jobs: int, progress: Progress) -> None:
    """Run make, counting compiled files, including those of earlier calls."""
    done = sum(Path(name).suffix in (".o", ".a") for _, _, names in os.walk(tree) for name in names)
    command = [*tied("make"), "ARCH=um", f"-j{jobs}", "linux"]
    process = subprocess.Popen(
        command, cwd=tree, env={**os.environ, **CONSTANT}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None  # noqa: S101 (it is a pipe)
    with ending(process), process.stdout as pipe, log.open("ab") as output:
        for line in pipe:
            output.write(line)
            done += bool(re.match(rb"  (CC|AS|AR|LD|HOSTCC) ", line))
            progress("compiling", min(done, EXPECTED_OBJECTS - 1), EXPECTED_OBJECTS)
        process.wait()  # its output ends before it does
    if process.returncode != 0:
        raise QuiclabError(f"compiling the kernel failed: {_last_line(log)}; the complete log is {log}")
    progress("compiling", EXPECTED_OBJECTS, EXPECTED_OBJECTS)


def _install(plan: Plan, built: Path, version: str) -> Kernel:
    """Put kernel and metadata to their place in one step."""
    compiler = subprocess.run([required("gcc"), "--version"], capture_output=True, text=True, check=False).stdout
    folder = plan.cache / f"{version}-{patches.configuration_hash()}"
    kernel = Kernel(
        path=folder / "linux",
        version=version,
        package=plan.source.package,
        package_version=plan.source.package_version,
        configuration=patches.configuration_hash(),
        seccomp=has_seccomp(version),
        compiler=compiler.splitlines()[0] if compiler else "unknown",
    )
    partial = plan.work / "install"
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir()
    shutil.copy2(built, partial / "linux")
    subprocess.run([found("strip") or "true", partial / "linux"], capture_output=True, check=False)
    shutil.copy2(built.parent / ".config", partial / "config")
    (partial / "metadata.json").write_text(kernel.metadata(), encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    partial.replace(folder)
    return kernel


def _last_line(log: Path) -> str:
    """Return the line of a log with the reason: the first with `error`, or the last line."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    wrong = [line for line in lines if re.search(r"\b(error|Error):|^E: |\*\*\* ", line)]
    return wrong[0] if wrong else lines[-1] if lines else "it said nothing"
