"""Columns of integers as compressed blocks that the page decodes when it shows them.

A block is base64 of a raw deflate stream (RFC 1951), which browsers decompress without a network. It holds column after
column; a column is the number of its values, then the first value and the difference of each from the one before. All
of these are zigzag varints: the sign in the lowest bit, 7 bits a byte, the lowest first.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

from quiclab._base.libraries import np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.analysis.inspect.columns import Integers

BITS = 7
LONGEST = 10
"""Bytes of the longest varint: 64 bits, 7 each."""


def encode(columns: Mapping[str, Integers]) -> str:
    """Return the block of columns, in their order."""
    parts = []
    for values in columns.values():
        parts += [_varints(np.array([len(values)], dtype=np.int64)), _varints(np.diff(values, prepend=0))]
    squeeze = zlib.compressobj(level=6, wbits=-zlib.MAX_WBITS)
    return base64.b64encode(squeeze.compress(b"".join(parts)) + squeeze.flush()).decode()


def decode(block: str, names: Sequence[str]) -> dict[str, Integers]:
    """Return the columns of a block, as the page reads them."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(block), wbits=-zlib.MAX_WBITS), dtype=np.uint8)
    values = _integers(raw)
    found, place = {}, 0
    for name in names:
        count = int(values[place])
        found[name] = values[place + 1 : place + 1 + count].cumsum()
        place += 1 + count
    return found


def _varints(values: Integers) -> bytes:
    zigzag = ((values << 1) ^ (values >> 63)).astype(np.uint64)
    size = np.ones(len(values), dtype=np.int64)
    for length in range(1, LONGEST):
        size += zigzag >> np.uint64(BITS * length) > 0
    end = size.cumsum()
    out = np.zeros(int(end[-1]) if len(end) else 0, dtype=np.uint8)
    for place in range(int(size.max(initial=0))):
        rows = size > place
        more = np.where(size[rows] - 1 > place, 0x80, 0)
        low = (zigzag[rows] >> np.uint64(BITS * place)) & np.uint64(0x7F)
        out[(end - size)[rows] + place] = low.astype(np.int64) | more
    return out.tobytes()


def _integers(raw: np.ndarray) -> Integers:
    last = np.flatnonzero(raw < 0x80)
    first = np.concatenate(([0], last[:-1] + 1)) if len(last) else last
    size = last - first + 1
    zigzag = np.zeros(len(last), dtype=np.uint64)
    for place in range(int(size.max(initial=0))):
        rows = size > place
        zigzag[rows] |= (raw[first[rows] + place] & 0x7F).astype(np.uint64) << np.uint64(BITS * place)
    return (zigzag >> np.uint64(1)).astype(np.int64) ^ -(zigzag & np.uint64(1)).astype(np.int64)
