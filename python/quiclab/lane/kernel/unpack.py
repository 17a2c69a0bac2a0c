"""Unpacks a source of the kernel from a Debian package, a tarball or a directory."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from quiclab.errors import QuiclabError
from quiclab.lane.kernel.programs import required
from quiclab.lane.kernel.source import TARBALL

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Parts of the source that nothing of this configuration reads: two thirds of it.
LEFT_OUT = ("Documentation/*/*", "drivers/gpu/drm/amd/include", "tools/testing")
CHUNK_BYTES = 1 << 20


class Progress(Protocol):
    """Called with the progress of a step."""

    def __call__(self, step: str, done: float, total: float) -> None:
        """`done` of `total`, in a unit of the step."""


class Report(Protocol):
    """Called with the number of processed bytes."""

    def __call__(self, done: int) -> None:
        """Bytes from the start."""


@contextmanager
def ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ensure that a process has ended, also after errors."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def unpack(file: Path, work: Path, progress: Progress) -> None:
    """Unpack what building needs to `source`, which is there whole or not at all.

    Parameters
    ----------
    file
        A package, a tarball, or a directory with the source, which is copied.
    work
        Directory in which `source` appears.
    progress
        Called with the progress in bytes.

    Raises
    ------
    QuiclabError
        If it holds no source of Linux, or cannot be read.
    """
    partial, tree = work / "source.partial", work / "source"
    if partial.exists():
        shutil.rmtree(partial)
    step = f"unpacking {file.name}"
    if file.is_dir():
        progress(step, 0, 1)
        shutil.copytree(file, partial, symlinks=True, ignore=shutil.ignore_patterns(".git", "*.o", "*.a"))
        partial.replace(tree)
        return
    partial.mkdir()
    if file.suffix == ".deb":
        with _archive_in(file) as (stream, size, name):
            _untar(stream, size, name, partial, lambda done: progress(step, done, size))
    else:
        with file.open("rb") as stream:
            size = file.stat().st_size
            _untar(stream, size, file.name, partial, lambda done: progress(step, done, size))
    folders = list(partial.iterdir())
    if len(folders) != 1 or not (folders[0] / "arch" / "um" / "Kconfig").is_file():
        raise QuiclabError(f"{file} has no Linux source (a directory with arch/um/Kconfig)")
    folders[0].replace(tree)
    partial.rmdir()


@contextmanager
def _archive_in(package: Path) -> Iterator[tuple[IO[bytes], int, str]]:
    """Open the tarball inside a package: stream, size in bytes, and name."""
    process = subprocess.Popen(
        [required("dpkg-deb"), "--fsys-tarfile", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None  # noqa: S101 (it is a pipe)
    with ending(process), process.stdout as pipe:
        try:
            with tarfile.open(fileobj=pipe, mode="r|") as outer:
                for member in outer:
                    name = Path(member.name).name
                    stream = outer.extractfile(member) if member.isfile() and TARBALL.fullmatch(name) else None
                    if stream is not None:
                        yield stream, member.size, name
                        return
        except tarfile.TarError as error:
            raise QuiclabError(f"{package} is not a readable Debian package ({error})") from error
    raise QuiclabError(f"the package {package} has no linux-source-*.tar.*")


def _untar(stream: IO[bytes], size: int, name: str, folder: Path, report: Report) -> None:
    """Feed a tarball to tar, which is ten times faster than Python."""
    compression = {".xz": "--xz", ".gz": "--gzip", ".bz2": "--bzip2", ".zst": "--zstd"}.get(Path(name).suffix)
    top = re.sub(r"\.tar(\.\w+)?$", "", name)
    command = [required("tar"), "--extract", "--directory", str(folder), "--no-same-owner"]
    command += [compression] if compression else []
    command += [f"--exclude={top}/{part}" for part in LEFT_OUT]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "XZ_DEFAULTS": "-T0", "LC_ALL": "C"}
    )
    assert process.stdin is not None and process.stderr is not None  # noqa: S101, PT018 (they are pipes)
    done = 0
    with ending(process), process.stderr as messages:
        try:
            with process.stdin as sink:
                while piece := stream.read(CHUNK_BYTES):
                    sink.write(piece)
                    done += len(piece)
                    report(done)
        except BrokenPipeError:
            pass  # tar reports the reason
        message = messages.read().decode("utf-8", "replace").strip()
        if process.wait() != 0 or done != size:
            raise QuiclabError(f"cannot unpack {name}: {message.splitlines()[0] if message else 'truncated'}")
