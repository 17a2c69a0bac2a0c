"""Runs the Rust tests as `cargo test` does; prints failures, totals and the slowest tests.

Arguments go to `cargo test`: `python tools/rust_tests.py -p quiclab-core`. Durations are an unstable option of the test
harness: RUSTC_BOOTSTRAP permits it on stable Rust, and is set for the tests only, not for what is compiled.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

MAX_SHOWN = 10
#: Threads of the tests of the VPN, which wait for sockets and timers more than they compute.
VPN_THREADS = 6
TIMED = (
    f'case "$0" in */vpn-*) export RUST_TEST_THREADS={VPN_THREADS};; esac; '
    'RUSTC_BOOTSTRAP=1 exec "$0" "$@" -Z unstable-options --report-time'
)
RUNNER = f'target."cfg(all())".runner = {json.dumps(["sh", "-c", TIMED])}'
BINARY = re.compile(r" +Running .*/deps/(\w+)-\w+\)$")
PASSED = re.compile(r"test (.+) \.\.\. ok <([\d.]+)s>$")
#: Said of each binary, whatever happens in it.
NOISE = re.compile(r"$|running \d+ tests?$| +Doc-tests |test result: ok\. ")


def main() -> int:
    """Run the tests; the exit code is that of cargo."""
    passed: list[tuple[float, str]] = []
    binary = ""
    command = ["cargo", "test", "--no-fail-fast", "--config", RUNNER, *sys.argv[1:]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as cargo:
        assert cargo.stdout is not None  # noqa: S101
        for line in cargo.stdout:
            if found := BINARY.match(line):
                binary = found[1]
            elif found := PASSED.match(line):
                passed.append((float(found[2]), f"{binary} {found[1]}"))
            elif not NOISE.match(line):
                print(line, end="", flush=True)
    print(f"{len(passed)} Rust tests passed; the slowest:")
    for seconds, name in sorted(passed, reverse=True)[:MAX_SHOWN]:
        print(f"{seconds:7.2f}s {name}")
    return cargo.returncode


if __name__ == "__main__":
    sys.exit(main())
