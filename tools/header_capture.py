"""Writes a capture of a long TCP download, headers only, of which every number is known.

Segments of 1448 bytes leave in pairs, 1.2 us apart, each 242.24 us (100 Mbit/s), and the receiver acknowledges each
pair 242.12 us after its first segment, so that the ACK lies 0.12 us before the next pair. For the benchmark of the
analyser and the test of its memory.

    python tools/header_capture.py FILE.pcap [--packets 1000000]
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path

import numpy as np

PAIR_NS, WITHIN_NS, ACK_NS = 242_240, 1_200, 242_120
MSS, HEADERS = 1448, 66
PAIRS_AT_A_TIME = 50_000
SERVER, CLIENT = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
PORTS = (443, 40000)
START_S = 1_600_000_000
RECORD = np.dtype(
    [
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
        ("captured", "<u4"),
        ("length", "<u4"),
        ("ethernet", "V14"),
        ("ip", "V20"),
        ("ports", "V4"),
        ("sequence", ">u4"),
        ("acknowledgement", ">u4"),
        ("rest", "V20"),
    ]
)


def ip_header(payload_bytes: int, source: bytes, destination: bytes) -> bytes:
    """Return an IPv4 header without checksum of a TCP segment with 12 bytes of options."""
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 52 + payload_bytes, 0, 0, 64, 6, 0, source, destination)


def write(path: Path, packets: int) -> int:
    """Write a capture of at least this number of packets, in whole pairs with their ACK; return the actual number.

    Parameters
    ----------
    path
        The file.
    packets
        How many are wanted.
    """
    pairs = -(-packets // 3)
    with path.open("wb") as out:
        # nanoseconds, version 2.4, snap length 66, Ethernet
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, HEADERS, 1))
        for first in range(0, pairs, PAIRS_AT_A_TIME):
            out.write(_records(first, min(PAIRS_AT_A_TIME, pairs - first)).tobytes())
    return 3 * pairs


def _records(first: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Return the records of some pairs."""
    number = np.arange(first, first + count, dtype=np.uint64)
    records = np.zeros(3 * count, dtype=RECORD)
    records["captured"] = HEADERS
    records["ethernet"] = np.void(bytes(12) + b"\x08\x00")
    # data offset 8 words; ACK; a window that does not change
    records["rest"] = np.void(b"\x80\x10\x01\xf5" + bytes(16))
    for part, after_ns in enumerate((0, WITHIN_NS, ACK_NS)):
        rows = records[part::3]
        time_ns = number * PAIR_NS + after_ns
        rows["seconds"] = START_S + time_ns // 10**9
        rows["nanoseconds"] = time_ns % 10**9
        data = part < 2
        rows["length"] = HEADERS + MSS * data
        rows["ip"] = np.void(ip_header(MSS, SERVER, CLIENT) if data else ip_header(0, CLIENT, SERVER))
        rows["ports"] = np.void(struct.pack(">HH", *(PORTS if data else PORTS[::-1])))
        sent = number * 2 * MSS + 1
        rows["sequence"] = (sent + part * MSS) % 2**32 if data else 1
        rows["acknowledgement"] = 1 if data else (sent + 2 * MSS) % 2**32
    return records


def main() -> int:
    """Write the capture and print its number of packets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--packets", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print(write(arguments.file, arguments.packets))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
