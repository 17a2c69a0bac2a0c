"""TLS secrets of a run's programs, put into its captures: one file is then all that a dissector needs.

Clients get `SSLKEYLOGFILE`, which most TLS libraries know: lines of the NSS key log format, for both directions. They
come when the run is over, but a dissector that reads once needs them before the packets. So they go where the packets
begin: a Decryption Secrets Block (draft-ietf-opsawg-pcapng, section 4.7) behind the section header and the interfaces.
"""

from __future__ import annotations

import shutil
import struct
from typing import TYPE_CHECKING, Final

from quiclab.lane.choices import key_log
from quiclab.result.recordings import ENDS

if TYPE_CHECKING:
    from pathlib import Path

#: The environment variable with the path of the key log.
VARIABLE: Final = "SSLKEYLOGFILE"
#: Block types: section header, interface description, decryption secrets.
_SECTION, _INTERFACE, _SECRETS = 0x0A0D0D0A, 1, 10
#: Secrets type "TLS Key Log".
_TLS_KEY_LOG = 0x544C534B
#: Type and length of a block; the length is repeated at its end.
_HEAD = struct.Struct("<II")


def embed(directory: Path, flow: str) -> bool:
    """Put the secrets of a flow into its captures; the key log stays where it is.

    Parameters
    ----------
    directory
        That of the run, with `{flow}.keys`, and `{flow}.sender.pcapng` and `{flow}.receiver.pcapng` as
        `quiclab-live` writes them: little-endian, one section.

    Returns
    -------
    bool
        Whether there were secrets. Without any, as for programs that write none, captures are unchanged.
    """
    try:
        lines = (directory / key_log(flow)).read_bytes()
    except FileNotFoundError:
        return False
    # aioquic 0.9 has the labels of Wireshark's first drafts, with a prefix
    lines = b"".join(line.removeprefix(b"QUIC_") + b"\n" for line in lines.splitlines() if line.strip())
    if not lines:
        return False
    for end in ENDS:
        capture = directory / f"{flow}.{end}.pcapng"
        if capture.is_file():
            _embed(capture, lines)
    return True


def _embed(capture: Path, lines: bytes) -> None:
    """Write a capture again with a block of secrets before its packets; the file is whole at any time."""
    temporary = capture.with_suffix(".tmp")
    with capture.open("rb") as old, temporary.open("wb") as new:
        while (kind := _HEAD.unpack(head) if len(head := old.read(_HEAD.size)) == _HEAD.size else None) is not None:
            if kind[0] not in (_SECTION, _INTERFACE):
                break
            new.write(head + old.read(kind[1] - len(head)))
        new.write(_block(lines))
        new.write(head)
        shutil.copyfileobj(old, new, 1 << 20)
    temporary.replace(capture)


def _block(lines: bytes) -> bytes:
    """Return a block that holds a key log; its content is padded to four bytes, as that of every block."""
    padded = lines + bytes(-len(lines) % 4)
    length = _HEAD.size + 8 + len(padded) + 4
    return b"".join(
        (_HEAD.pack(_SECRETS, length), struct.pack("<II", _TLS_KEY_LOG, len(lines)), padded, struct.pack("<I", length))
    )
