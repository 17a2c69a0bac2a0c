"""Choice of the CPU on which a guest runs: a different one for each guest, as long as there are enough.

A name in the abstract namespace of Unix sockets stands for a CPU that a guest has: binding it fails while another
process holds it, and it disappears with the process that bound it, however that ends. Guests in other network
namespaces are not seen; they may share a CPU, which costs time and changes no result.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Of the names of CPUs that are taken; the number of the CPU follows.
PREFIX = "\0quiclab/guest-cpu/"


@contextmanager
def reserved_cpu() -> Iterator[int]:
    """Reserve a CPU among those that this process may use, until the context ends.

    Yields
    ------
    int
        Number of the CPU: one that no other guest has; where each has a guest, one chosen by the process ID.
    """
    cpus = sorted(os.sched_getaffinity(0))
    first = os.getpid() % len(cpus)
    for cpu in (*cpus[first:], *cpus[:first]):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
            try:
                name.bind(f"{PREFIX}{cpu}")
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            yield cpu
            return
    yield cpus[first]
