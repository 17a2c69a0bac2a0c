"""Measures server_objects.csv: what an object costs web servers, from their CPU time for pages of 1 to 200 objects.

    python tools/measure_server_objects.py [--rounds 30] [--write]

Needs nginx, apache2, nghttp2-client and openssl of Debian. CPU time hardly depends on what else runs. Each round is a
new connection over the loopback device, TLS and HTTP/2, on which h2load asks for all objects at once. The columns:

- `connection_us`, `object_us`: CPU time of the server's processes for a connection and for each object on it: least
  squares over the numbers of objects, each of which has the same number of rounds;
- `largest_us`: the same for each object where a page has most of them, the connection included.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure_browser import finish
from quiclab._base.libraries import np
from quiclab._base.progress import BeatingProgress
from quiclab.errors import QuiclabError
from quiclab.lane.kernel.programs import tied

PORT = 18443
COUNTS = (1, 10, 50, 100, 200)
SIZES_KB = (5, 10)
START_S = 10.0

NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log stderr;
events {{ worker_connections 1024; }}
http {{
    access_log off; sendfile on; keepalive_requests 100000;
    server {{
        listen 127.0.0.1:{port} ssl http2; http2_max_concurrent_streams 256;
        ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; root {folder}/pages;
    }}
}}
"""
APACHE = """
ServerRoot {folder}
PidFile {folder}/pid
ErrorLog /dev/stderr
ServerName localhost
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so
StartServers 1
ServerLimit 1
Listen 127.0.0.1:{port}
Protocols h2
H2MaxSessionStreams 256
SSLEngine on
SSLCertificateFile {folder}/cert.pem
SSLCertificateKeyFile {folder}/key.pem
DocumentRoot {folder}/pages
<Directory {folder}/pages>
    Require all granted
</Directory>
"""


@dataclass(frozen=True)
class Server:
    """A web server: its program, the text of its configuration, and its arguments before and after the file."""

    program: str
    configuration: str
    arguments: tuple[str, ...]
    version_flag: str


SERVERS = {
    "nginx": Server("nginx", NGINX, ("-c",), "-v"),
    "apache": Server("apache2", APACHE, ("-D", "FOREGROUND", "-f"), "-v"),
}


def path_of(program: str) -> str:
    """Return the path of a program."""
    found = shutil.which(program, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if found is None:
        raise QuiclabError(f"{program} is missing; on Debian: apt-get install nginx apache2 nghttp2-client openssl")
    return found


def version_of(server: Server) -> str:
    """Return the version that a server prints."""
    done = subprocess.run([path_of(server.program), server.version_flag], capture_output=True, text=True, check=True)
    return (done.stdout + done.stderr).splitlines()[0].partition(":")[2].split()[0]


@contextmanager
def running(server: Server, folder: Path) -> Iterator[int]:
    """Run a server; yields the process that was started."""
    file = folder / f"{server.program}.conf"
    file.write_text(server.configuration.format(folder=folder, port=PORT))
    with subprocess.Popen(
        [*tied(path_of(server.program)), *server.arguments, str(file)],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            end = time.monotonic() + START_S
            while not fetch(1, SIZES_KB[0]):
                if process.poll() is not None or time.monotonic() > end:
                    raise QuiclabError(f"{server.program} does not answer on port {PORT}")
                time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()


def fetch(count: int, size_kb: int) -> bool:
    """Ask for a page's objects on one connection; returns whether all of them came."""
    words = ("--clients", "1", "--requests", str(count), "--max-concurrent-streams", str(max(COUNTS)))
    page = f"https://127.0.0.1:{PORT}/{size_kb}kB"
    done = subprocess.run([path_of("h2load"), *words, page], capture_output=True, text=True, check=False)
    return f" {count} succeeded" in done.stdout


def cpu_us(root: int) -> float:
    """Return the CPU time of a process and its descendants, all threads (`/proc/PID/task/TID/schedstat`)."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry.name))
    pids, total = [root], 0.0
    for pid in pids:
        pids += children.get(pid, [])
        total += sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e3
    return total


def measure(name: str, size_kb: int, rounds: int, folder: Path, progress: BeatingProgress) -> dict[str, Any]:
    """Return the row of a server and a size."""
    each = {}
    with running(SERVERS[name], folder) as process:
        for count in COUNTS:
            before = cpu_us(process)
            for _ in range(rounds):
                if not fetch(count, size_kb):
                    raise QuiclabError(f"{name}: not all of {count} objects of {size_kb} kB came")
                progress.advance()
            each[count] = (cpu_us(process) - before) / rounds
    object_us, connection_us = np.polyfit(list(each), list(each.values()), 1)
    largest = max(COUNTS)
    row = {"server": name, "version": version_of(SERVERS[name]), "object_size_kb": size_kb, "rounds": rounds}
    times = {"connection_us": connection_us, "object_us": object_us, "largest_us": each[largest] / largest}
    return row | {field: round(float(value), 1) for field, value in times.items()}


def main() -> int:
    """Measure all servers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--write", action="store_true", help="write the table of the page-load study, not print it")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds: expected at least 1, got {options.rounds}")
    with tempfile.TemporaryDirectory(prefix="quiclab-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # workers of a server that was started as root are another user
        (folder / "pages").mkdir()
        for size_kb in SIZES_KB:
            (folder / "pages" / f"{size_kb}kB").write_bytes(bytes(1000 * size_kb))
        subprocess.run(
            [
                *(path_of("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
                *("-subj", "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"),
            ],
            capture_output=True,
            check=True,
        )
        total = len(SERVERS) * len(SIZES_KB) * len(COUNTS) * options.rounds
        with BeatingProgress("pages", total, unit="pages") as progress:
            rows = [measure(name, size, options.rounds, folder, progress) for name in SERVERS for size in SIZES_KB]
    return finish(rows, "server_objects.csv", write=options.write)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except QuiclabError as error:
        sys.exit(f"{Path(__file__).name}: {error}")
