"""The two ends of a page in the kernel lane: `python -m quiclab.lane.browser serve|load`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from quiclab.errors import QuiclabError
from quiclab.lane.browser import client
from quiclab.lane.browser.envoy import FLUSH_MS, write_files
from quiclab.lane.browser.site import Page


def serve(arguments: argparse.Namespace) -> int:
    """Write page and configuration, set the congestion control of TCP, and become Envoy."""
    directory = Path(arguments.directory) / f"{arguments.flow}.page"
    directory.mkdir(exist_ok=True)
    page = Page.of(json.loads(arguments.workload))
    file = write_files(page, directory, arguments.address, Path(arguments.certificate), Path(arguments.key))
    # Envoy has no option for the congestion control of TCP: it is that of the route
    route = ["ip", "route", "replace", "default", "dev", "quiclab0", "congctl", arguments.congestion_control]
    subprocess.run(route, check=True)
    options = ("--disable-hot-restart", "--concurrency", "1", "--log-level", "warn")
    words = ["envoy", *options, "--file-flush-interval-msec", str(FLUSH_MS), "-c", str(file)]
    os.execvp(words[0], words)  # noqa: S606 (no shell is wanted)


def main() -> int:
    """Read the command line and run one end."""
    parser = argparse.ArgumentParser(prog="quiclab.lane.browser")
    commands = parser.add_subparsers(dest="end", required=True)
    server = commands.add_parser("serve")
    for name in ("directory", "flow", "workload", "address", "certificate", "key"):
        server.add_argument(f"--{name}", required=True)
    server.add_argument("--congestion-control", default="cubic")
    client.add_arguments(commands.add_parser("load"))
    arguments = parser.parse_args()
    try:
        return serve(arguments) if arguments.end == "serve" else client.run(arguments)
    except (QuiclabError, subprocess.CalledProcessError, OSError) as error:
        print(f"quiclab: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
