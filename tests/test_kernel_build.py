"""Building the virtual-clock kernel, on small fakes: choice of the source, edits, steps that go on, bad input."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from quiclab import cli
from quiclab.cli import kernel as kernel_commands
from quiclab.errors import QuiclabError, RequestError
from quiclab.lane.kernel import build as building
from quiclab.lane.kernel import patches, unpack
from quiclab.lane.kernel.build import Plan, build
from quiclab.lane.kernel.cache import Kernel, has_seccomp, kernels, newest_kernel, read_kernel, version_key
from quiclab.lane.kernel.source import Apt, Source, find_source, given_source, parse_offers

MAKEFILE = "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n"
# stands for make: a configuration that has what is asked for, and a kernel that is a script
MAKE = """\
#!/bin/sh
for target; do :; done
case $target in
defconfig) : > .config ;;
olddefconfig) [ ! -e drop ] || sed -i "/$(cat drop)/d" .config ;;
linux)
  echo "  CC      one.o"
  if [ -e broken ]; then echo "one.c:1:1: error: boom"; exit 2; fi
  echo "  LD      linux"
  cp hello linux ;;
esac
"""


class Archive(Apt):
    """An archive without apt.

    Parameters
    ----------
    suite
        Its name.
    versions
        Packages and their versions; None: it cannot be reached.
    """

    def __init__(self, suite: str | None, versions: dict[str, str] | None) -> None:
        super().__init__(suite, Path("/nonexistent"))
        self.versions = versions
        self.asked = False

    def update(self) -> None:
        self.asked = True
        if self.versions is None:
            raise QuiclabError(f"{self.name} is far away")

    def offers(self) -> list[Source]:
        return [Source(name, version, 1, self.name) for name, version in (self.versions or {}).items()]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree with what the edits look for, and nothing else."""
    root = tmp_path / "linux-7.3.4"
    for edit in patches.edits():
        file = root / edit.file
        file.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text() if file.exists() else ""
        file.write_text(f"{text}\n{edit.before}")
    (root / "Makefile").write_text(MAKEFILE)
    hello = root / "hello"
    hello.write_text("#!/bin/sh\necho hello\n")
    hello.chmod(0o755)
    return root


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache, and a `make` that needs no kernel."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "make").write_text(MAKE)
    (programs / "make").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setattr(building, "check_tools", lambda: None)
    monkeypatch.setattr(building, "check_space", lambda *_: None)
    return tmp_path / "cache"


def silent(step: str, done: float, total: float) -> None:
    assert step
    assert 0 <= done <= max(total, done)


def tool(name: str) -> str:
    path = shutil.which(name)
    assert path is not None
    return path


def plan_for(path: Path, cache: Path) -> Plan:
    return Plan(given_source(path), None, cache, 2)


# --- which source


def test_the_newest_source_of_all_archives_is_taken() -> None:
    archives = [
        Archive(None, {"linux-source-6.1": "6.1.192-2", "linux-source-6.12": "6.12.117-1~deb12u1"}),
        Archive("backports", {"linux-source-7.2": "7.2.12-1~bpo13+1", "linux-source-7.10": "7.10.1-1~bpo13+1"}),
    ]
    source, archive = find_source("newest", archives, print)
    assert (source.package, source.version, archive) == ("linux-source-7.10", "7.10.1", archives[1])


@pytest.mark.parametrize(("version", "asked"), [("6.12.117-1", True), ("6.16.1-1", False)])
def test_the_last_archive_is_used_only_without_seccomp_elsewhere(version: str, asked: bool) -> None:
    last = Archive("sid", {"linux-source-7.2": "7.2.13-1"})
    source, _ = find_source("newest", [Archive(None, {"linux-source-6": version}), last], print)
    assert last.asked is asked
    assert source.version == ("7.2.13" if asked else "6.16.1")


def test_a_named_package_is_taken_in_its_newest_version() -> None:
    archives = [
        Archive(None, {"linux-source-6.12": "6.12.100-1", "linux-source-6.1": "6.1.192-2"}),
        Archive("backports", {"linux-source-6.12": "6.12.117-1", "linux-source-7.3": "7.3.4-1"}),
    ]
    source, archive = find_source("linux-source-6.12", archives, print)
    assert (source.version, archive) == ("6.12.117", archives[1])


def test_an_unreachable_archive_is_reported_and_skipped() -> None:
    said: list[str] = []
    archives = [Archive("backports", None), Archive(None, {"linux-source-6.1": "6.1.192-2"})]
    source, _ = find_source("newest", archives, said.append)
    assert source.version == "6.1.192"
    assert said == ["backports is far away"]


def test_no_available_source_is_an_error_with_the_searched_archives() -> None:
    with pytest.raises(QuiclabError, match=r"none of the archives system, sid has .*\(sid is not reachable\)"):
        find_source("newest", [Archive(None, {}), Archive("sid", None)], print)
    with pytest.raises(QuiclabError, match="the package linux-source-9"):
        find_source("linux-source-9", [Archive(None, {"linux-source-6.1": "6.1.192-2"})], print)


def test_the_output_of_apt_is_read() -> None:
    text = (
        "Package: linux-source-7.3\nVersion: 7.3.4-1~bpo13+1\nDepends: xz-utils,\n binutils\nSize: 166780612\n"
        "Description: Linux kernel source\n more: of it\n\nPackage: broken\n"
    )
    assert parse_offers(text, "sid") == [Source("linux-source-7.3", "7.3.4-1~bpo13+1", 166780612, "sid")]


@pytest.mark.parametrize("name", ["nowhere", "/nonexistent/linux-7.3.tar.xz"])
def test_a_source_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(
        RequestError, match=r"--source: expected `newest`, a package such as linux-source-6\.12, or the path"
    ):
        find_source(name, [], print)


def test_a_source_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no arch/um/Kconfig"):
        given_source(tmp_path)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(RequestError, match=r"expected a \.deb or a file name such as linux-7\.3\.4\.tar\.xz"):
        given_source(tmp_path / "notes.txt")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("linux-source-7.3_7.3.4-1~bpo13+1_all.deb", "7.3.4"),
        ("linux-6.12.tar.xz", "6.12"),
        ("linux-source-7.3.tar", "7.3"),
    ],
)
def test_names_of_files_give_versions(tmp_path: Path, name: str, version: str) -> None:
    (tmp_path / name).write_text("")
    assert given_source(tmp_path / name).version == version


def test_versions_have_an_order() -> None:
    assert version_key("7.3.4-1~bpo13+1") == (7, 3, 4)
    assert sorted(["7.10", "7.2.1", "6.12"], key=version_key) == ["6.12", "7.2.1", "7.10"]
    assert [has_seccomp(version) for version in ("6.12.117", "6.15.9", "6.16", "7.0")] == [False, False, True, True]


# --- edits and configuration


def test_edits_are_made_once(tree: Path) -> None:
    patches.apply(tree, patches.edits())
    files = {path: path.read_text() for path in tree.rglob("*") if path.is_file()}
    assert "default 1000\n" in files[tree / "arch/um/Kconfig"]
    assert "QUICLAB_GUEST_SEED" in files[tree / "arch/um/os-Linux/util.c"]
    patches.apply(tree, patches.edits())
    assert {path: path.read_text() for path in files} == files


def test_an_edit_that_is_needless_is_left_out(tree: Path) -> None:
    file = tree / "arch/x86/um/vdso/um_vdso.c"
    file.write_text("long __vdso_getcpu(void);\n")
    patches.apply(tree, patches.edits())
    assert file.read_text() == "long __vdso_getcpu(void);\n"


@pytest.mark.parametrize("count", [0, 2])
def test_a_source_that_has_changed_is_not_touched(tree: Path, count: int) -> None:
    edit = patches.edits()[-1]
    (tree / edit.file).write_text(edit.before * count)
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    with pytest.raises(QuiclabError, match=f"expected the replaced text once in {edit.file}, got {count} times"):
        patches.apply(tree, patches.edits())
    assert {path: path.read_bytes() for path in before} == before


def test_a_source_without_a_file_is_refused(tree: Path) -> None:
    (tree / "arch/um/os-Linux/util.c").unlink()
    with pytest.raises(QuiclabError, match=r"`randomness`.*the file arch/um/os-Linux/util\.c does not exist"):
        patches.apply(tree, patches.edits())


def test_options_are_compared() -> None:
    fragment = "CONFIG_A=y\n# CONFIG_B is not set\n# CONFIG_C is not set\n# optional:\nCONFIG_D=y\nCONFIG_E=1000\n"
    configuration = "CONFIG_A=y\nCONFIG_B=m\nCONFIG_E=100\n"
    assert patches.missing_options(fragment, configuration) == ["CONFIG_B=n", "CONFIG_E=1000"]


def test_every_option_of_the_fragment_is_named_once() -> None:
    lines = [line for line in patches.fragment().splitlines() if patches.OPTION.fullmatch(line)]
    assert len(lines) == len(patches.wanted_options(patches.fragment())) > 100


# --- steps


def test_a_kernel_is_built_from_a_directory(tree: Path, workshop: Path) -> None:
    kernel = build(plan_for(tree, workshop), silent)
    assert kernel.version == "7.3.4"
    assert kernel.seccomp
    assert subprocess.run([kernel.path], capture_output=True, text=True, check=True).stdout == "hello\n"
    assert newest_kernel(workshop) == kernel == read_kernel(kernel.path)
    assert not list((workshop / "work").iterdir()), "what was only needed while building is gone"
    assert "default 100\n" in (tree / "arch/um/Kconfig").read_text(), "the source that was given is as it was"


def test_a_build_goes_on_where_it_stopped(tree: Path, workshop: Path) -> None:
    (tree / "broken").touch()
    plan = plan_for(tree, workshop)
    with pytest.raises(
        QuiclabError, match=r"compiling the kernel failed: one\.c:1:1: error: boom; the complete log is"
    ):
        build(plan, silent)
    assert kernels(workshop) == []
    (plan.work / "source" / "broken").unlink()
    shutil.rmtree(tree)  # it is not unpacked again
    (plan.work / "source" / ".config").unlink()
    (plan.work / "source" / ".config").touch()  # nor configured
    steps: list[str] = []

    def note(step: str, done: float, total: float) -> None:
        silent(step, done, total)
        steps.append(step)

    kernel = build(plan, note)
    assert set(steps) == {"compiling"}
    assert kernels(workshop) == [kernel]


def test_an_existing_kernel_is_rebuilt_only_on_request(tree: Path, workshop: Path) -> None:
    plan = plan_for(tree, workshop)
    first = build(plan, silent)
    (tree / "hello").write_text("#!/bin/sh\necho again\n")
    assert build(plan, silent) == first
    assert "hello" in first.path.read_text()
    build(plan, silent, force=True)
    assert "again" in first.path.read_text()


@pytest.mark.parametrize("kind", ["tar.xz", "tar", "deb"])
def test_sources_are_unpacked_from_archives(tree: Path, workshop: Path, tmp_path: Path, kind: str) -> None:
    (tree / "Documentation" / "much").mkdir(parents=True)
    (tree / "Documentation" / "much" / "text.rst").touch()
    (tree / "Documentation" / "Kconfig").touch()
    name = "linux-7.3.4.tar.xz" if kind == "deb" else f"linux-7.3.4.{kind}"
    file = tmp_path / name
    subprocess.run(
        [tool("tar"), "--create", "--auto-compress", "--file", file, "--directory", tmp_path, tree.name], check=True
    )
    if kind == "deb":
        if shutil.which("dpkg-deb") is None:
            pytest.skip("dpkg-deb is not installed")
        file = package(file, tmp_path)
    plan = plan_for(file, workshop)
    parts: list[float] = []
    plan.work.mkdir(parents=True)
    (plan.work / "source.partial").mkdir()  # an unpacking that was interrupted
    (plan.work / "source.partial" / "rest").touch()

    def note(step: str, done: float, total: float) -> None:
        silent(step, done, total)
        parts.append(done / total)

    unpack.unpack(file, plan.work, note)
    assert parts[-1] == 1
    assert (plan.work / "source" / "Documentation" / "Kconfig").exists()
    assert not (plan.work / "source" / "Documentation" / "much" / "text.rst").exists()
    assert build(plan, silent).version == "7.3.4"


def package(tarball: Path, folder: Path) -> Path:
    """Make a Debian package with a tarball in it."""
    root = folder / "package"
    (root / "DEBIAN").mkdir(parents=True)
    control = "Package: linux-source-7.3\nVersion: 7.3.4-1\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: d\n"
    (root / "DEBIAN" / "control").write_text(control)
    (root / "usr" / "src").mkdir(parents=True)
    tarball.rename(root / "usr" / "src" / tarball.name)
    file = folder / "linux-source-7.3_7.3.4-1_all.deb"
    subprocess.run([tool("dpkg-deb"), "--build", "--root-owner-group", root, file], check=True, capture_output=True)
    return file


def test_a_tarball_that_is_cut_off_is_an_error(tree: Path, workshop: Path, tmp_path: Path) -> None:
    file = tmp_path / "linux-7.3.4.tar.xz"
    subprocess.run([tool("tar"), "--create", "--xz", "--file", file, "--directory", tmp_path, tree.name], check=True)
    file.write_bytes(file.read_bytes()[:-100])
    plan = plan_for(file, workshop)
    with pytest.raises(QuiclabError, match=r"cannot unpack linux-7\.3\.4\.tar\.xz"):
        build(plan, silent)
    assert not (plan.work / "source").exists()


def test_a_package_of_something_else_is_an_error(workshop: Path, tmp_path: Path) -> None:
    (tmp_path / "linux-source-7.3_7.3.4-1_all.deb").write_bytes(b"no package")
    with pytest.raises(QuiclabError, match="is not a readable Debian package"):
        build(plan_for(tmp_path / "linux-source-7.3_7.3.4-1_all.deb", workshop), silent)


def test_a_kernel_without_an_option_is_an_error(tree: Path, workshop: Path) -> None:
    (tree / "drop").write_text("CONFIG_NET_SCH_NETEM")
    with pytest.raises(QuiclabError, match="does not support CONFIG_NET_SCH_NETEM=y"):
        build(plan_for(tree, workshop), silent)


def test_a_source_that_cannot_be_edited_stops_the_build(tree: Path, workshop: Path) -> None:
    (tree / "arch/um/kernel/skas/syscall.c").write_text("void handle_syscall(void);\n")
    with pytest.raises(QuiclabError, match="this kernel source cannot be edited"):
        build(plan_for(tree, workshop), silent)


def test_two_builds_of_one_kernel_are_refused(tree: Path, workshop: Path) -> None:
    plan = plan_for(tree, workshop)
    with building.only_one(plan.work), pytest.raises(RequestError, match="another build is running in"):
        build(plan, silent)


# --- what is missing


def test_missing_tools_are_named_with_the_line_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "found", lambda name: None if name in ("flex", "gcc") else f"/usr/bin/{name}")
    with pytest.raises(QuiclabError, match="requires flex, gcc; `apt-get install flex gcc` installs them"):
        building.check_tools()


def test_a_small_disk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QuiclabError, match=rf"requires 1000000\.0 GB in {tmp_path}, [0-9.]+ GB are free"):
        building.check_space(tmp_path, 10**15)


def test_the_command_refuses_a_source_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernel_commands, "check_tools", lambda: None)
    assert cli.invoke(["kernel", "build", "--source", "nowhere"]) == 2
    assert "--source: expected `newest`, a package" in capsys.readouterr().err
    assert cli.invoke(["kernel", "build", "--jobs", "0"]) == 2
    assert "--jobs: expected a whole number from 1 to 256, got 0" in capsys.readouterr().err


def test_the_command_builds_and_prints_the_path(
    tree: Path, workshop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(workshop))
    for name in ("check_tools", "check_space"):
        monkeypatch.setattr(kernel_commands, name, lambda *_: None)
    assert cli.invoke(["kernel", "build", "--source", str(tree), "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert read_kernel(Path(out.strip())).version == "7.3.4"
    assert "GB" in err
    assert "compiling: 100 %" in err


# --- the cache


def test_the_newest_kernel_is_found_and_broken_ones_are_passed_over(tmp_path: Path) -> None:
    made = [fake_kernel(tmp_path, version) for version in ("6.12.117", "7.10", "7.3.4")]
    (tmp_path / "9.9-00000000").mkdir()
    (tmp_path / "9.9-00000000" / "metadata.json").write_text("{}")
    fake_kernel(tmp_path, "8.8").path.chmod(0o644)
    assert [kernel.version for kernel in kernels(tmp_path)] == ["7.10", "7.3.4", "6.12.117"]
    assert newest_kernel(tmp_path) == made[1]


def test_an_empty_cache_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="`quiclab kernel build` builds one"):
        newest_kernel(tmp_path)


def test_a_kernel_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    kernel = fake_kernel(tmp_path, "7.3.4")
    metadata = kernel.path.with_name("metadata.json")
    metadata.write_text(json.dumps({**json.loads(metadata.read_text()), "schema": "other"}))
    with pytest.raises(RequestError, match="does not describe a kernel of this version"):
        read_kernel(kernel.path)
    kernel.path.chmod(0o644)
    with pytest.raises(RequestError, match="is not executable"):
        read_kernel(kernel.path)
    kernel.path.unlink()
    with pytest.raises(RequestError, match="linux does not exist"):
        read_kernel(kernel.path)


def fake_kernel(cache: Path, version: str) -> Kernel:
    """Put a kernel that does nothing into a cache."""
    folder = cache / f"{version}-00000000"
    folder.mkdir()
    kernel = Kernel(folder / "linux", version, "p", version, "00000000", has_seccomp(version), "gcc")
    kernel.path.write_text("#!/bin/sh\n")
    kernel.path.chmod(0o755)
    (folder / "metadata.json").write_text(kernel.metadata())
    return kernel
