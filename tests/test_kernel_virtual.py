"""Guests with a virtual clock: scripts in a kernel's place first, then a kernel, if one is built."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from quiclab.errors import QuiclabError, RequestError
from quiclab.lane.kernel import Exit, Kernel, boot, newest_kernel, pin
from quiclab.lane.kernel.programs import LIVE_VARIABLE, found, live_program
from quiclab.lane.kernel.virtual import EXIT_FILE, OUTPUT_FILE, PATH, TASK_FILE, isolation

ENDED = '{"schema":"quiclab.guest/1","code":3,"signal":null,"error":null,"uptime_ns":5000000000}'
#: Seconds of the host; far more than any guest here takes.
PATIENCE_S = 120.0


@pytest.fixture
def namespaces() -> None:
    """Skip where there are no namespaces."""
    try:
        isolation()
    except QuiclabError as error:
        pytest.skip(error.message)


@pytest.fixture
def script(tmp_path: Path, namespaces: None) -> Callable[[str], Kernel]:
    """Put a shell script in a kernel's place."""
    del namespaces

    def make(text: str) -> Kernel:
        file = tmp_path / "linux"
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return Kernel(file, "7.3.4", "p", "7.3.4-1", "00000000", True, "gcc")

    return make


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Exit]:
    """Start a script's guest, in a directory of its own."""

    def start(kernel: Kernel, name: str = "run", **options: object) -> Exit:
        folder = tmp_path / name
        folder.mkdir()
        settings = {"seed": 1, "timeout_s": PATIENCE_S, "init": Path("/bin/true"), **options}
        return boot(kernel, ["true"], folder, **settings)  # type: ignore[arg-type]

    return start


def test_an_end_is_read(script: Callable[[str], Kernel], run: Callable[..., Exit], tmp_path: Path) -> None:
    lines: list[str] = []
    kernel = script(f"printf 'one\\r\\ntwo'; echo '{ENDED}' > /dev/shm/job/{EXIT_FILE}")
    ended = run(kernel, on_line=lines.append, environment={"A": "b"})
    assert (ended.code, ended.signal, ended.virtual_s, ended.lines) == (3, None, 5.0, ("one", "two"))
    assert lines == ["one", "two"]
    task = json.loads((tmp_path / "run" / TASK_FILE).read_text())
    assert (task["command"], task["environment"], task["console"]) == (["true"], {"A": "b"}, False)


def test_a_guest_sees_the_same_names_wherever_it_runs(
    script: Callable[[str], Kernel], run: Callable[..., Exit], tmp_path: Path
) -> None:
    kernel = script(
        f"(echo \"$@\"; env; pwd; ls /dev/shm) > /dev/shm/job/seen; echo '{ENDED}' > /dev/shm/job/{EXIT_FILE}"
    )
    for name in ("a", "another name"):
        run(kernel, name)
    seen = [(tmp_path / name / "seen").read_text() for name in ("a", "another name")]
    assert seen[0] == seen[1]
    assert f"PATH={PATH}\n" in seen[0]
    assert "QUICLAB_GUEST_SEED=00000000000000000001\n" in seen[0]
    assert seen[0].endswith("init\njob\nlinux\numl\n")


def test_a_guest_has_one_cpu_and_another_than_the_guest_beside_it(
    script: Callable[[str], Kernel],
    run: Callable[..., Exit],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a guest beside another needs two CPUs")
    monkeypatch.setattr(pin, "PREFIX", f"\0test/{os.getpid()}/")  # guests of other tests do not count
    kernel = script(
        f"grep Cpus_allowed_list /proc/self/status > /dev/shm/job/cpus; echo '{ENDED}' > /dev/shm/job/{EXIT_FILE}"
    )

    def cpu(name: str) -> int:
        run(kernel, name)
        return int((tmp_path / name / "cpus").read_text().split()[1])

    allowed = os.sched_getaffinity(0)
    with pin.reserved_cpu() as taken:
        assert cpu("beside") in allowed - {taken}
    with ExitStack() as stack:
        everyone = [stack.enter_context(pin.reserved_cpu()) for _ in allowed]
        assert set(everyone) == allowed
        assert cpu("one more") in allowed
    assert os.sched_getaffinity(0) == allowed


def test_kernel_settings_are_on_its_command_line(
    script: Callable[[str], Kernel], run: Callable[..., Exit], tmp_path: Path
) -> None:
    kernel = script(f"echo \"$@\" > /dev/shm/job/seen; echo '{ENDED}' > /dev/shm/job/{EXIT_FILE}")
    old = Kernel(kernel.path, "6.12.1", "p", "6.12.1-1", "00000000", False, "gcc")
    run(kernel, "new", syscall_cost_ns=150, memory="1G")
    run(old, "old")
    new, before = ((tmp_path / name / "seen").read_text().split() for name in ("new", "old"))
    assert {"seccomp=on", "syscall_cost_ns=150", "mem=1G"} <= set(new)
    assert not [word for word in before if word.startswith(("seccomp", "syscall_cost"))]
    assert new[-2:] == before[-2:] == ["--", "guest"]


def test_everything_of_a_guest_is_killed_with_it(
    script: Callable[[str], Kernel], run: Callable[..., Exit], tmp_path: Path
) -> None:
    # a grandchild in a session of its own holds a lock
    kernel = script("setsid sh -c 'exec 9>/dev/shm/job/lock; flock 9; echo locked; exec sleep 1000' & sleep 1000")

    def stop(line: str) -> None:
        assert line == "locked"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(kernel, on_line=stop)
    with (tmp_path / "run" / "lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_guest_that_hangs_is_killed(script: Callable[[str], Kernel], run: Callable[..., Exit]) -> None:
    with pytest.raises(QuiclabError, match=r"the guest did not end within 0\.05 s and has been killed; "):
        run(script("sleep 1000"), timeout_s=0.05)


def test_a_guest_that_closes_its_console_and_hangs_is_killed(
    script: Callable[[str], Kernel], run: Callable[..., Exit]
) -> None:
    # the shell around it holds the console, too, until it is replaced
    with pytest.raises(QuiclabError, match="has been killed"):
        run(script("exec sleep 1000 >/dev/null 2>&1"), timeout_s=0.05)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo hello", "the guest stopped before its command did; its last line was `hello`"),
        ("exit 1", "the guest stopped before its command did; it wrote nothing to its console"),
        (
            "echo reason; echo 'Kernel panic - not syncing: x'; echo 'Stack: 0'",
            "the guest stopped before its command did: Kernel panic - not syncing: x; the line before was `reason`",
        ),
    ],
)
def test_a_guest_that_breaks_down_is_an_error(
    script: Callable[[str], Kernel], run: Callable[..., Exit], text: str, message: str
) -> None:
    with pytest.raises(QuiclabError) as caught:
        run(script(text))
    assert caught.value.message == message


@pytest.mark.parametrize("text", ["{}", "no JSON", ENDED.replace("guest/1", "guest/9")])
def test_an_end_of_another_version_is_an_error(
    script: Callable[[str], Kernel], run: Callable[..., Exit], text: str
) -> None:
    with pytest.raises(QuiclabError, match="rebuild quiclab-live"):
        run(script(f"echo '{text}' > /dev/shm/job/{EXIT_FILE}"))


def test_a_command_that_was_not_started_is_an_error(script: Callable[[str], Kernel], run: Callable[..., Exit]) -> None:
    text = ENDED.replace('"error":null', '"error":"cannot start x: No such file"')
    with pytest.raises(QuiclabError, match="in the guest: cannot start x: No such file"):
        run(script(f"echo '{text}' > /dev/shm/job/{EXIT_FILE}"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed of the guest: expected 0 to 18446744073709551615, got -1"),
        ({"timeout_s": 0}, "timeout_s of the guest: expected a number above 0, got 0"),
        ({"timeout_s": float("nan")}, "timeout_s of the guest: expected a number above 0, got NaN"),
        ({"memory": "much"}, 'memory of the guest: expected a number with K, M or G, such as 512M, got "much"'),
        ({"syscall_cost_ns": -5}, "syscall_cost_ns of the guest: expected 0 to 1000000, got -5"),
    ],
)
def test_wrong_settings_are_refused(
    script: Callable[[str], Kernel], run: Callable[..., Exit], options: dict[str, object], message: str
) -> None:
    with pytest.raises(RequestError) as caught:
        run(script("exit 0"), **options)
    assert message in caught.value.message


def test_wrong_files_are_refused(script: Callable[[str], Kernel], tmp_path: Path) -> None:
    kernel = script("exit 0")
    with pytest.raises(RequestError, match=r"expected an existing directory, got .*nowhere"):
        boot(kernel, ["true"], tmp_path / "nowhere", 1, PATIENCE_S, init=Path("/bin/true"))
    with pytest.raises(RequestError, match="command of the guest: expected a list"):
        boot(kernel, [], tmp_path, 1, PATIENCE_S, init=Path("/bin/true"))
    kernel.path.chmod(0o644)
    with pytest.raises(RequestError, match="is not an executable file; `quiclab kernel build` builds one"):
        boot(kernel, ["true"], tmp_path, 1, PATIENCE_S, init=Path("/bin/true"))


def test_the_first_program_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(LIVE_VARIABLE, "/bin/true")
    assert live_program() == Path("/bin/true")
    monkeypatch.setenv(LIVE_VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(RequestError, match=f"{LIVE_VARIABLE}: expected the path of the program .*nothing"):
        live_program()


# --- with a kernel


@pytest.fixture
def kernel(namespaces: None) -> Kernel:
    """The newest kernel of the cache; building one is not part of the tests."""
    del namespaces
    try:
        live_program()
        return newest_kernel()
    except RequestError as error:
        pytest.skip(error.message)


def in_guest(kernel: Kernel, folder: Path, text: str, seed: int = 1, syscall_cost_ns: int | None = None) -> Exit:
    """Run a shell script in a guest."""
    folder.mkdir()
    return boot(kernel, ["sh", "-ec", text], folder, seed, PATIENCE_S, syscall_cost_ns=syscall_cost_ns)


@pytest.mark.guest
def test_waiting_takes_no_time_of_the_host(kernel: Kernel, tmp_path: Path) -> None:
    ended = in_guest(kernel, tmp_path / "a", "sleep 100000; echo done; exit 7")
    assert ended.code == 7
    assert 100_000 <= ended.virtual_s < 100_001
    assert (tmp_path / "a" / OUTPUT_FILE).read_text() == "done\n"


@pytest.mark.guest
def test_the_end_by_a_signal_is_reported(kernel: Kernel, tmp_path: Path) -> None:
    ended = in_guest(kernel, tmp_path / "a", "kill -9 $$")
    assert (ended.code, ended.signal) == (None, 9)


@pytest.mark.guest
def test_a_program_that_is_missing_is_an_error(kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(QuiclabError, match="in the guest: cannot start nothing-of-this-name"):
        boot(kernel, ["nothing-of-this-name"], tmp_path, 1, PATIENCE_S)


@pytest.mark.guest
def test_orphans_are_reaped_and_remaining_processes_ended(kernel: Kernel, tmp_path: Path) -> None:
    ended = in_guest(kernel, tmp_path / "a", "(sleep 1 & true); sleep 10 & sleep 2; exit 5")
    assert ended.code == 5
    assert 2 <= ended.virtual_s < 3


CHANCE = """
od -An -tx1 -N32 /dev/urandom
cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id /proc/cmdline /proc/self/maps
date +%s.%N
ip link add type veth
ip link
"""


@pytest.mark.guest
def test_one_seed_gives_the_same_bytes_and_another_one_others(kernel: Kernel, tmp_path: Path) -> None:
    # two at a time, so that they would notice each other
    with ThreadPoolExecutor(2) as pool:
        tasks = [pool.submit(in_guest, kernel, tmp_path / f"{n}", CHANCE, seed) for n, seed in enumerate((1, 1, 2))]
        ends = [task.result() for task in tasks]
    assert [end.code for end in ends] == [0, 0, 0], ends[0].lines
    outputs = [(tmp_path / f"{n}" / OUTPUT_FILE).read_text() for n in range(3)]
    assert outputs[0] == outputs[1]
    assert ends[0].virtual_s == ends[1].virtual_s
    assert [a == b for a, b in zip(outputs[0].split("\n")[:4], outputs[2].split("\n")[:4], strict=True)] == [False] * 4


@pytest.mark.guest
def test_only_the_directory_of_the_run_can_be_written_to(kernel: Kernel, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    ended = in_guest(kernel, folder, "echo x > file; echo y > /tmp/quiclab-y; cat /tmp/quiclab-y; ! touch /quiclab-x")
    assert ended.code == 0
    assert (folder / "file").read_text() == "x\n"
    assert (folder / OUTPUT_FILE).read_text() == "y\n"
    assert not Path("/tmp/quiclab-y").exists()  # noqa: S108 (it must not be there)


@pytest.mark.guest
def test_system_calls_can_cost_time(kernel: Kernel, tmp_path: Path) -> None:
    text = "dd if=/dev/zero of=/dev/null bs=1 count=10000 status=none"  # 10 000 reads and writes
    free, dear = (in_guest(kernel, tmp_path / f"{cost}", text, syscall_cost_ns=cost).virtual_s for cost in (0, 1000))
    assert 0.020 <= dear - free < 0.025


@pytest.mark.guest
def test_the_kernel_has_the_features_of_the_lane(kernel: Kernel, tmp_path: Path) -> None:
    text = "cat /proc/sys/net/ipv4/tcp_available_congestion_control; ls /dev/net/tun /sys/kernel/tracing/events/tcp"
    assert in_guest(kernel, tmp_path / "a", text).code == 0
    output = (tmp_path / "a" / OUTPUT_FILE).read_text().split()
    assert {"reno", "cubic", "bbr", "dctcp", "vegas", "westwood"} <= set(output)


NETWORK = """
for n in a b; do ip netns add $n; ip -n $n link set lo up; done
ip link add a0 netns a type veth peer name b0 netns b
ip -n a addr add 10.0.0.1/24 dev a0; ip -n a link set a0 up
ip -n b addr add 10.0.0.2/24 dev b0; ip -n b link set b0 up
for q in fq fq_codel "tbf rate 1mbit burst 10kb latency 10ms" htb cake pie red; do
  case $q in red) q="red limit 100000 avpkt 1000" ;; esac
  tc -n b qdisc replace dev b0 root $q
done
tc -n b qdisc replace dev b0 root netem delay 20ms
tc -n a qdisc replace dev a0 root netem delay 20ms rate 10mbit limit 1000
ip netns exec b {python} {file} receive &
sleep 1
ip netns exec a {python} {file} send
wait $!
"""
PROGRAM = """
import socket, sys, time
if sys.argv[1] == "receive":
    with socket.create_server(("10.0.0.2", 7000)) as server:
        connection, _ = server.accept()
        connection.sendall(b"x")
        first = time.monotonic_ns()
        size = 0
        while piece := connection.recv(1 << 20):
            size += len(piece)
        print(size, time.monotonic_ns() - first)
else:
    with socket.create_connection(("10.0.0.2", 7000)) as connection:
        connection.recv(1)
        connection.sendall(bytes(2_000_000))
"""


@pytest.mark.guest
def test_tcp_keeps_to_the_rate_of_the_network(kernel: Kernel, tmp_path: Path) -> None:
    if found("ip") is None or found("tc") is None:
        pytest.skip("ip and tc are not installed (apt-get install iproute2)")
    file = tmp_path / "transfer.py"
    file.write_text(PROGRAM)
    ended = in_guest(kernel, tmp_path / "a", NETWORK.replace("{python}", sys.executable).replace("{file}", str(file)))
    assert ended.code == 0, ended.lines
    size, duration_ns = map(int, (tmp_path / "a" / OUTPUT_FILE).read_text().split())
    # 1448 of 1514 bytes of a packet are payload; half a round trip for the first byte each way, and slow start before
    # the link is full: 40 ms of round trip and 50 kB, so three or four of them
    least_s = size * 8 * 1514 / 1448 / 10e6 + 0.040
    assert size == 2_000_000
    assert least_s <= duration_ns / 1e9 <= least_s + 0.160
