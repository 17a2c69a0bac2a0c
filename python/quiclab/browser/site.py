"""A page of a scenario in a form that a server can serve: HTML of the configured length that refers to images.

After the pages of the published study (a static page that names images, nothing else, nothing cached or compressed).
There, images were JPEG; here they are PNG of one pixel with a chunk that decoders pass over (PNG, third edition,
section 4.3: private ancillary chunks), because their length can be chosen to the byte and a browser that cannot decode
an image stops loading it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quiclab.errors import unexpected
from quiclab.quantity import parse

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Length, type and checksum of a chunk.
_CHUNK_BYTES = 12
#: The icon is in the page: otherwise browsers request one after the load.
_HEAD = "<!DOCTYPE html><html><head><title>page</title><link rel=icon href=data:,></head><body>"
_FILLER = "<!--", "-->"
#: A browser requests all images concurrently, and the HTML names each.
MAX_IMAGES: Final = 100_000
#: Of one body: the server holds them in memory, in a guest of 2 GB. A chunk of PNG could have 2^31 - 1 (section 5.3).
MAX_BODY_BYTES: Final = 100_000_000
#: Of all bodies of a page.
MAX_PAGE_BYTES: Final = 1_000_000_000


@dataclass(frozen=True)
class Page:
    """A page.

    Parameters
    ----------
    html_bytes
        Length of the HTML.
    groups
        Number and length of equal images, in the order of the page.
    """

    html_bytes: int
    groups: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, workload: Mapping[str, Any], where: str = "workload") -> Page:
        """Return the page of a workload (the table of a resolved flow).

        Raises
        ------
        RequestError
            If a real server and browser cannot reproduce it: the think time of the server is its own, and all objects
            are images.
        """
        if workload.get("kind") != "page":
            raise unexpected(f"{where}.kind", "`page`", workload.get("kind"))
        for name in ("html_think_time", "think_time"):
            if _base(workload.get(name, "0 ns")):
                raise unexpected(f"{where}.{name}", "0", workload[name], "a real server has its own")
        if workload.get("priorities", "browser") != "browser":
            raise unexpected(f"{where}.priorities", "`browser`", workload["priorities"])
        groups = []
        for index, group in enumerate(workload["objects"]):
            if group.get("kind", "image") != "image":
                raise unexpected(f"{where}.objects.{index}.kind", "`image`", group["kind"])
            if _base(group["size"]) < MIN_IMAGE_BYTES:
                expected = f"at least {MIN_IMAGE_BYTES} B, an image of one pixel"
                raise unexpected(f"{where}.objects.{index}.size", expected, group["size"])
            _check_body(group["size"], f"{where}.objects.{index}.size")
            groups.append((int(group["count"]), _base(group["size"])))
        _check_body(workload["html"], f"{where}.html")
        page = cls(_base(workload["html"]), tuple(groups))
        if page.images > MAX_IMAGES:
            raise unexpected(f"{where}.objects", f"at most {MAX_IMAGES} images", page.images)
        if page.total_bytes > MAX_PAGE_BYTES:
            expected = f"at most {MAX_PAGE_BYTES} B including the HTML"
            raise unexpected(f"{where}.objects", expected, got=f"{page.total_bytes} B")
        least_html = len(page._markup()) + sum(map(len, _FILLER))
        if page.html_bytes < least_html:
            expected = f"at least {least_html} B, for the names of {page.images} images"
            raise unexpected(f"{where}.html", expected, workload["html"])
        return page

    @property
    def images(self) -> int:
        """Number of images."""
        return sum(count for count, _ in self.groups)

    @property
    def total_bytes(self) -> int:
        """Length of the HTML and all images."""
        return self.html_bytes + sum(count * size_bytes for count, size_bytes in self.groups)

    def sizes(self) -> dict[str, int]:
        """Return the length of each object by its path, the HTML (`/`) first."""
        sizes = {"/": self.html_bytes}
        for group, (count, size_bytes) in enumerate(self.groups):
            sizes |= {f"/{group}/{number}": size_bytes for number in range(count)}
        return sizes

    def html(self) -> bytes:
        """Return the HTML, filled up with a comment."""
        markup = self._markup()
        begin, end = _FILLER
        filling = " " * (self.html_bytes - len(markup) - len(begin) - len(end))
        return f"{markup}{begin}{filling}{end}".encode()

    def _markup(self) -> str:
        return _HEAD + "".join(f"<img src={path}>" for path in self.sizes() if path != "/")


def png(size_bytes: int) -> bytes:
    """Return an image of one grey pixel that is `size_bytes` long (at least `MIN_IMAGE_BYTES`)."""
    header = _SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel = _chunk(b"IDAT", zlib.compress(b"\0\0")) + _chunk(b"IEND", b"")
    return header + _chunk(b"quPd", bytes(size_bytes - len(header) - len(pixel) - _CHUNK_BYTES)) + pixel


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _check_body(value: object, where: str) -> None:
    if _base(value) > MAX_BODY_BYTES:
        raise unexpected(where, f"at most {MAX_BODY_BYTES} B", value)


def _base(value: object) -> int:
    quantity = parse(value)
    return quantity[1] if quantity is not None else 0


#: 8 bytes of signature, chunks of 13, 10, 0 and 0 bytes: an empty filling.
MIN_IMAGE_BYTES = 8 + 4 * _CHUNK_BYTES + 13 + len(zlib.compress(b"\0\0"))
