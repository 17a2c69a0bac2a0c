"""The package, the static program and the container of quiclab-tunnel, on machines that are gone afterwards."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import debian_package
import reference
from tunnel_machines import Machine, overlay, require, run, until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.kernel_lane, pytest.mark.xdist_group("machine")]
ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "tunnel" / "packaging"
CONTAINER = PACKAGING / "container"
SERVER = """version = 1
key_file = "server.key"
[server]
listen = ["0.0.0.0:4433"]
pool_ipv4 = "10.77.0.0/24"
forward = true
[[server.peers]]
name = "laptop"
public_key = "{key}"
"""
CLIENT = """version = 1
key_file = "client.key"
[client]
server_key = "{key}"
kill_switch = true
[[client.paths]]
name = "line"
interface = "eth0"
server = "192.0.2.1:4433"
"""


@pytest.fixture(scope="module")
def program() -> Path:
    """Return the program that the Rust tests have built; build it where they did not run."""
    built = ROOT / "target" / "debug" / "quiclab-tunnel"
    if not built.exists():
        command = ["cargo", "build", "--quiet", "-p", "quiclab-tunnel"]
        subprocess.run(command, cwd=ROOT, check=True)
    return built


def made() -> dict[str, str]:
    """Return the pages of the package that are not in the repository."""
    return {f"docs/reference/{name}": text for name, text in reference.pages().items()}


@pytest.fixture(scope="module")
def package(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package."""
    require("dpkg-deb")
    return debian_package.build(program, tmp_path_factory.mktemp("deb"), made())


@pytest.fixture
def hosts() -> Iterator[tuple[str, str]]:
    """Return two network namespaces, .1 and .2 of 192.0.2.0/24."""
    require("ip")
    names = [f"qltp{os.getpid()}{host}" for host in "sc"]
    try:
        for name in names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        ends = ["eth0", "netns", names[0], "type", "veth", "peer", "name", "eth0", "netns", names[1]]
        run("ip", "link", "add", *ends)
        for number, name in enumerate(names, 1):
            run("ip", "-n", name, "addr", "add", f"192.0.2.{number}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
        yield names[0], names[1]
    finally:
        for name in names:
            command = ["ip", "netns", "del", name]
            subprocess.run(command, capture_output=True, check=False)


def keys(program: Path, folder: Path) -> dict[str, str]:
    """Make a key for each end; return the public ones."""
    return {end: run(program, "keygen", folder / f"{end}.key").strip() for end in ("server", "client")}


def test_the_package_installs_and_is_removed_without_a_trace(package: Path, tmp_path: Path) -> None:
    require("dpkg", "unshare", "chroot")
    (tmp_path / "machine").mkdir()
    script = overlay(tmp_path / "machine") + (
        f"mount -t proc none proc; mount --bind /dev dev; cp {package} tmp/package.deb; "
        # all files, with their kinds
        "list() { find etc usr var/lib/dpkg/info -xdev -printf '%y %p\\n' | sort; }; "
        "wants=etc/systemd/system/sysinit.target.wants; mkdir -p $wants; list > ../before; "
        "chroot . dpkg -i /tmp/package.deb >&2; chroot . dpkg --verify quiclab-tunnel; "
        "chroot . getent passwd quiclab-tunnel; chroot . quiclab-tunnel --version; "
        "chroot . sh -c 'zcat /usr/share/man/man8/quiclab-tunnel-top.8.gz' | grep -c quiclab; "
        "if [ -x usr/bin/systemd-analyze ]; then "
        "chroot . systemd-analyze verify quiclab-tunnel@qlt0.service quiclab-closed@qlt0.service; "
        "chroot . systemd-analyze security --offline=true --no-pager --threshold=19 "
        "/usr/lib/systemd/system/quiclab-tunnel@.service >/dev/null; fi; "
        # what closes the machine until a tunnel is up, by the unit of the package and by one of earlier instructions
        "ln -s /usr/lib/systemd/system/quiclab-closed@.service $wants/quiclab-closed@qlt0.service; "
        "ln -s /etc/systemd/system/quiclab-closed.service $wants/quiclab-closed.service; "
        "mkdir -p var/lib/quiclab-tunnel; "
        "chroot . dpkg --purge quiclab-tunnel >&2; test ! -e var/lib/quiclab-tunnel; "
        "list > ../after; diff ../before ../after || true"
    )
    said = run("unshare", "--mount", "--propagation", "private", "bash", "-c", script)
    user, shown, manual, *left = said.splitlines()
    assert re.fullmatch(r"quiclab-tunnel:x:\d+:\d+:quiclab-tunnel VPN:/:/usr/sbin/nologin", user)
    assert shown == f"quiclab-tunnel {debian_package.version()}"
    assert int(manual) > 0
    # what sysusers leaves of each user that it makes: the backup copies of the files of users
    changed = [line[2:] for line in left if line[0] in "<>"]
    assert [line for line in changed if not line.startswith("f etc/") or not line.endswith("-")] == []


def test_the_examples_are_valid(program: Path, tmp_path: Path) -> None:
    public = keys(program, tmp_path)
    for end, other in (("server", "client"), ("client", "server")):
        text = (PACKAGING / "examples" / f"{end}.toml").read_text()
        assert text.count('"..."') == 1
        (tmp_path / f"{end}.toml").write_text(text.replace('"..."', f'"{public[other]}"'))
        assert run(program, "up", "--check", tmp_path / f"{end}.toml").endswith(": valid\n")


def test_units_of_two_machines_carry_and_are_started_again(
    program: Path, package: Path, hosts: tuple[str, str], tmp_path: Path
) -> None:
    require("systemd-nspawn", "dpkg", "unshare", "nsenter", "ping")
    if not Path("/lib/systemd/systemd").exists():
        pytest.skip("this machine has no systemd to boot")
    public = keys(program, tmp_path)
    (tmp_path / "server.toml").write_text(SERVER.format(key=public["client"]))
    (tmp_path / "client.toml").write_text(CLIENT.format(key=public["server"]))

    def files(end: str) -> str:
        return (
            f"cp {tmp_path}/{end}.key etc/quiclab-tunnel/; "
            f"chroot . chown quiclab-tunnel /etc/quiclab-tunnel/{end}.key; "
            f"cp {tmp_path}/{end}.toml etc/quiclab-tunnel/qlt0.toml; "
        )

    with (
        Machine(tmp_path / "s", hosts[0], package, files("server")) as server,
        Machine(tmp_path / "c", hosts[1], package, files("client")) as client,
    ):

        def carries() -> bool:
            return client.try_("ping", "-c", "1", "-W", "1", "10.77.0.1")

        until("a ping through the tunnel", 30, carries)
        process = server.property("MainPID")
        status = server.run("cat", f"/proc/{process}/status")
        assert "\nUid:\t0\t" not in status
        assert "\nCapEff:\t0000000000001000\n" in status  # CAP_NET_ADMIN (12) alone
        assert server.run("systemctl", "reload", "quiclab-tunnel@qlt0") == ""
        shown = json.loads(server.run("quiclab-tunnel", "status", "--json"))
        assert [session["name"] for session in shown["sessions"]] == ["laptop"]
        assert "\nlaptop: open " in server.run("quiclab-tunnel", "top", "--once", "--interval", "0.1")
        # killed: the unit starts it again
        server.run("kill", "-KILL", process)
        until("another process", 20, lambda: server.property("MainPID") not in {process, "0"})
        assert server.property("NRestarts") == "1"
        until("a ping after the restart", 30, carries)
        # wrong input: it does not
        client.run("systemctl", "stop", "quiclab-tunnel@qlt0")
        assert not client.try_("ip", "link", "show", "qlt0")
        assert not client.try_("ping", "-c", "1", "-W", "1", "192.0.2.1"), "the kill switch stays"
        client.run("sed", "-i", "s/version = 1/version = 2/", "/etc/quiclab-tunnel/qlt0.toml")
        client.try_("systemctl", "start", "quiclab-tunnel@qlt0")
        until("it has failed", 20, lambda: client.property("ActiveState") == "failed")
        assert (client.property("ExecMainStatus"), client.property("NRestarts")) == ("2", "0")
        # the package goes, and with it the unit, what it has set, and the kill switch
        client.run("dpkg", "--remove", "quiclab-tunnel")
        assert client.try_("ping", "-c", "1", "-W", "1", "192.0.2.1")
        server.run("dpkg", "--remove", "quiclab-tunnel")
        assert not server.try_("ip", "link", "show", "qlt0")
        assert server.run("sysctl", "-n", "net.ipv4.ip_forward") == "0\n"


@pytest.fixture(scope="module")
def static_program() -> Path:
    """Return the static program that was built last: it compiles everything again, which takes minutes."""
    folder = ROOT / "target" / f"{os.uname().machine}-unknown-linux-musl"
    built = [path for profile in ("release", "quick") if (path := folder / profile / "quiclab-tunnel").exists()]
    if not built:
        pytest.skip("the static program was not built: make static")
    return max(built, key=lambda path: path.stat().st_mtime)


def test_the_static_program_needs_nothing_but_itself(static_program: Path, tmp_path: Path) -> None:
    command: list[str | Path] = ["ldd", static_program]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert re.search("statically linked|not a dynamic executable", said.stdout + said.stderr)
    require("chroot")
    shutil.copy(static_program, tmp_path / "quiclab-tunnel")
    assert run("chroot", tmp_path, "/quiclab-tunnel", "--version").startswith("quiclab-tunnel ")
    # nor has its package dependencies
    assert "Depends" not in debian_package.control(static_program.read_bytes(), 0)


def test_the_container_carries_with_one_capability(
    static_program: Path, hosts: tuple[str, str], tmp_path: Path
) -> None:
    require("podman", "crun", "unshare")
    public = keys(static_program, tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "run").mkdir(mode=0o755)
    shutil.copy(tmp_path / "server.key", tmp_path / "config")
    # a container cannot write sysctls of its host
    (tmp_path / "config" / "qlt0.toml").write_text(
        SERVER.format(key=public["client"])
        .replace("forward = true\n", "")
        .replace("[server]", 'interface = "qltp0"\n[server]')
    )
    interface = f"q{os.getpid()}c"
    (tmp_path / "client.toml").write_text(
        CLIENT.format(key=public["server"]).replace("[client]", f'interface = "{interface}"\n[client]')
    )
    context = tmp_path / "context"
    context.mkdir()
    shutil.copy(static_program, context / "quiclab-tunnel")
    # podman takes no longer name for its folder of sockets
    sockets = tempfile.TemporaryDirectory(prefix="qlt")
    state = f"--root {tmp_path}/images --runroot {sockets.name} --storage-driver vfs --cgroup-manager cgroupfs"
    # what compose.yaml says; limits of processes and control groups are those of the test
    options = (
        f"--rm --network ns:/run/netns/{hosts[0]} --cap-drop ALL --cap-add NET_ADMIN --device /dev/net/tun "
        f"--security-opt no-new-privileges --read-only --volume {tmp_path}/config:/etc/quiclab-tunnel:ro "
        f"--volume {tmp_path}/run:/run/quiclab-tunnel "
        "--cgroups disabled --ulimit nofile=1024:1024 --ulimit nproc=1000:1000"
    )
    script = (
        # crun takes no mixture of versions 1 and 2
        "if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi; "
        f"podman {state} build --quiet --tag quiclab-tunnel --file {CONTAINER}/Containerfile {context} && "
        f"exec podman {state} run --name tunnel {options} quiclab-tunnel"
    )
    with (tmp_path / "log").open("w") as log:
        command = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script]
        container = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    inside = ["ip", "netns", "exec", hosts[1]]
    with (tmp_path / "client.log").open("w") as log:
        client = subprocess.Popen([*inside, static_program, "up", tmp_path / "client.toml"], stderr=log)
    try:

        def carries() -> bool:
            assert container.poll() is None, (tmp_path / "log").read_text()
            ping = [*inside, "ping", "-c", "1", "-W", "1", "10.77.0.1"]
            return subprocess.run(ping, capture_output=True, check=False).returncode == 0

        until("a ping to the container", 60, carries)
    finally:
        container.terminate()
        container.wait(30)
        sockets.cleanup()
        subprocess.run([*inside, static_program, "down", "--interface", interface], capture_output=True, check=False)
        client.wait(30)


def test_the_compose_file_gives_what_the_test_gives() -> None:
    text = (CONTAINER / "compose.yaml").read_text()
    for line in (
        "cap_drop: [ALL]",
        "cap_add: [NET_ADMIN]",
        'devices: ["/dev/net/tun"]',
        "read_only: true",
        '- "/run/quiclab-tunnel:/run/quiclab-tunnel"',
    ):
        assert line in text
    # the journal must not go with a container that is killed
    assert "tmpfs" not in text


def test_pages_of_the_package_refer_to_pages_of_the_package() -> None:
    pages = debian_package.PAGES
    for source in ("tunnel/docs/tunnel.md", "tunnel/docs/operation.md", "docs/reference/vpn.md"):
        names = debian_package.LINK.findall(debian_package.packaged(source, made()))
        places = {os.path.normpath(Path(pages[source]).parent / name) for name, _ in names}
        assert places <= set(pages.values()), source
    for example in (PACKAGING / "examples").iterdir():
        named = re.findall(r"/usr/share/doc/quiclab-tunnel/(\S+)", example.read_text())
        assert named, example
        assert set(named) <= set(pages.values()), example
