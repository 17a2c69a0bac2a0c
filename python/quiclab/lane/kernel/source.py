"""Where the kernel's source comes from: a distribution's package, the newest that can be reached, or a file.

Packages of archives that the system does not use are listed and fetched with a separate state of apt, below the
cache; nothing of the system changes. Signatures are checked against Debian's keyring as always.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab.errors import QuiclabError, unexpected
from quiclab.lane.kernel.cache import FIRST_WITH_SECCOMP, version_key
from quiclab.lane.kernel.programs import required, tied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MIRROR = "http://deb.debian.org/debian"
#: Suites in addition to the archives of the system. A mirror may renew a suite's codename and its alias at different
#: times.
SUITES = ("trixie-backports", "stable-backports", "sid")
#: Queried only if no earlier suite has a kernel with seccomp: its list is long, and its kernels are less tested.
LAST_RESORT = "sid"
PACKAGE_NAME = re.compile(r"linux-source-\d[\w.+-]*")
TARBALL = re.compile(r"linux(-source)?-\d[\w.+~-]*\.tar(\.(xz|gz|bz2|zst))?")


@dataclass(frozen=True)
class Source:
    """A source of the kernel.

    Parameters
    ----------
    package
        Name of the package, or of the file.
    package_version
        Its version, such as `7.3.4-1~bpo13+1`; empty if it is a plain file.
    size_bytes
        Of the package; 0 if nothing has to be fetched.
    archive
        `system`, a suite of Debian, or `file`.
    path
        The file, if it was given.
    """

    package: str
    package_version: str
    size_bytes: int
    archive: str
    path: Path | None = None

    @property
    def version(self) -> str:
        """Version of Linux, as far as the package states it."""
        return ".".join(map(str, version_key(self.package_version)))

    def __str__(self) -> str:
        """Name it for the user."""
        return f"{self.package} {self.package_version} ({self.archive})".replace("  ", " ")


class Apt:
    """apt with the system's archives, or with one suite of Debian and a separate state.

    Parameters
    ----------
    suite
        The suite; None for the system's archives, read only.
    directory
        Where the own state is kept.
    """

    def __init__(self, suite: str | None, directory: Path) -> None:
        self.suite = suite
        self.directory = directory / (suite or "system")

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.suite or "system"

    def update(self) -> None:
        """Read the suite's list of packages; nothing to do for the system's archives, which are as the user has them.

        Raises
        ------
        QuiclabError
            If it cannot be reached.
        """
        self._configure()
        if self.suite is None:
            return
        if not KEYRING.is_file():
            raise QuiclabError(
                f"the keyring {KEYRING} is missing; `apt-get install debian-archive-keyring` installs it"
            )
        self._run("apt-get", "update", "--error-on=any")

    def offers(self) -> list[Source]:
        """List the packages with kernel sources."""
        text = self._run("apt-cache", "search", "--names-only", "^linux-source-[0-9]")
        names = [line.split(" ")[0] for line in text.splitlines() if PACKAGE_NAME.fullmatch(line.split(" ")[0])]
        if not names:
            return []
        return parse_offers(self._run("apt-cache", "show", "--no-all-versions", *names), self.name)

    def download_command(self, source: Source) -> tuple[list[str], dict[str, str]]:
        """Return the command that fetches a package into the working directory, and its environment."""
        self._configure()
        return [*tied("apt-get"), "download", f"{source.package}={source.package_version}"], self._environment()

    def _configure(self) -> None:
        """Write the configuration: that of the system for connections (proxies), everything else private."""
        for part in ("lists/partial", "cache/archives/partial"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)
        lines = [
            f'Dir::Cache "{self.directory}/cache";',
            'APT::Sandbox::User "root";',  # the user of the sandbox may not enter the cache
        ]
        if self.suite is not None:
            connection = subprocess.run(
                [required("apt-config"), "dump", "Acquire"], capture_output=True, text=True, check=False
            )
            lines += [line for line in connection.stdout.splitlines() if not line.startswith("Acquire::IndexTargets")]
            lines += [
                'Dir::Etc::main "/dev/null";',
                'Dir::Etc::parts "/dev/null";',
                'Dir::Etc::sourceparts "/dev/null";',
                f'Dir::Etc::sourcelist "{self.directory}/sources.list";',
                f'Dir::State::lists "{self.directory}/lists";',
                'Acquire::Languages "none";',
                'Acquire::http::Timeout "20";',  # seconds; without a network, the build fails soon
                'Acquire::https::Timeout "20";',
                'Acquire::Retries "1";',
            ]
            entry = f"deb [signed-by={KEYRING}] {mirror()} {self.suite} main\n"
            (self.directory / "sources.list").write_text(entry, encoding="utf-8")
        (self.directory / "apt.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _environment(self) -> dict[str, str]:
        # the file named by APT_CONFIG is read first, so that it can say where the others are not
        return {**os.environ, "APT_CONFIG": str(self.directory / "apt.conf"), "LC_ALL": "C"}

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [required(program), *arguments], capture_output=True, text=True, check=False, env=self._environment()
        )
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.startswith("E:")] or [done.stderr.strip()]
            raise QuiclabError(f"`{program} {arguments[0]}` failed for {self.name}: {lines[0]}")
        return done.stdout


def mirror() -> str:
    """Return the mirror of Debian that the system uses; Debian's own address where it uses none."""
    done = subprocess.run(
        [required("apt-get"), "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    addresses = [line.strip().rstrip("/") for line in done.stdout.splitlines()]
    return next((address for address in addresses if address.endswith("/debian")), MIRROR)


def parse_offers(text: str, archive: str) -> list[Source]:
    """Read what `apt-cache show` prints."""
    offers = []
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if re.match(r"[A-Z][\w-]*: ", line))
        if {"Package", "Version", "Size"} <= set(fields):
            offers.append(Source(fields["Package"], fields["Version"], int(fields["Size"]), archive))
    return offers


def find_source(wanted: str, archives: Sequence[Apt], say: Callable[[str], None]) -> tuple[Source, Apt | None]:
    """Return the source that is to be built.

    Parameters
    ----------
    wanted
        `newest`, the name of a package, or a path: a `.deb`, a tarball, or a directory with the source.
    archives
        Where packages are looked for, best first.
    say
        Called with unreachable archives.

    Returns
    -------
    tuple
        The source, and where it is fetched from; None if it is a file.

    Raises
    ------
    RequestError
        If `wanted` is none of these.
    QuiclabError
        If no archive has a package.
    """
    if wanted != "newest" and not PACKAGE_NAME.fullmatch(wanted):
        return given_source(Path(wanted)), None
    best: tuple[Source, Apt] | None = None
    refused = []
    for archive in archives:
        if archive.name == LAST_RESORT and best is not None and _suffices(best[0], wanted):
            break
        try:
            archive.update()
            offers = archive.offers()
        except QuiclabError as error:
            say(error.message)
            refused.append(archive.name)
            continue
        for offer in offers:
            fits = wanted in ("newest", offer.package)
            if fits and (best is None or version_key(offer.version) > version_key(best[0].version)):
                best = (offer, archive)
    if best is None:
        what = "a package linux-source-*" if wanted == "newest" else f"the package {wanted}"
        unreachable = f" ({' and '.join(refused)} is not reachable)" if refused else ""
        names = ", ".join(archive.name for archive in archives)
        raise QuiclabError(
            f"none of the archives {names} has {what}{unreachable}; `apt-get update` updates the package list, or "
            "use --source with a .deb, a tarball or a source directory"
        )
    return best


def _suffices(source: Source, wanted: str) -> bool:
    """Return whether no other archive has to be queried."""
    return wanted != "newest" or version_key(source.version) >= FIRST_WITH_SECCOMP


def given_source(path: Path) -> Source:
    """Return a source for a path that the user gave.

    Raises
    ------
    RequestError
        If there is nothing, or nothing that a kernel can be built from.
    """
    if not path.exists():
        expected = (
            "`newest`, a package such as linux-source-6.12, or the path of a .deb, of a tarball or of a directory with "
            "the source"
        )
        raise unexpected("--source", expected, path)
    path = path.resolve()
    if path.is_dir():
        if not (path / "arch" / "um" / "Kconfig").is_file():
            raise unexpected("--source", "a Linux source tree", path, "it has no arch/um/Kconfig")
        return Source(path.name, tree_version(path), 0, "file", path)
    if path.suffix == ".deb":
        name, _, version = path.stem.partition("_")
        return Source(name, version.split("_")[0].replace("%3a", ":"), 0, "file", path)
    if not TARBALL.fullmatch(path.name):
        raise unexpected("--source", "a .deb or a file name such as linux-7.3.4.tar.xz", path)
    number = re.search(r"\d+(\.\d+)*", path.name)
    return Source(path.name, number.group() if number else "", 0, "file", path)


def tree_version(directory: Path) -> str:
    """Return the version of Linux that a source tree's Makefile states.

    Raises
    ------
    QuiclabError
        If it states none.
    """
    try:
        text = (directory / "Makefile").read_text(encoding="utf-8")
    except OSError as error:
        raise QuiclabError(f"cannot read {directory}/Makefile: {error.strerror}") from error
    parts = [re.search(rf"^{key}\s*=\s*(\d+)\s*$", text, re.MULTILINE) for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    if any(part is None for part in parts):
        raise QuiclabError(f"{directory}/Makefile has no Linux version")
    return ".".join(part.group(1) for part in parts if part is not None)
