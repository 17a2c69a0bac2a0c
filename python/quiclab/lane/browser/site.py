"""A page of a scenario in a form that a server can serve: HTML of the configured length that refers to its objects.

After the pages of the published study (a static page that names images, nothing else, nothing cached or compressed).
There, images were JPEG; here they are PNG of one pixel with a chunk that decoders pass over (PNG, third edition,
section 4.3: private ancillary chunks), because their length can be chosen to the byte and a browser that cannot decode
an image stops loading it.

Resources, as those of a HAR file, have kinds, servers and dependencies. The HTML names those that follow it; a script
in it requests each other one when the resource before it is complete. Style sheets and scripts are blank, fonts are
zeros: a browser loads them to the byte before it finds that out.

| of a resource | here |
| --- | --- |
| size, kind, origin, what leads to its request | as they are; images and the HTML have a least length |
| delay, think time, lengths of header sections | those of the browser and the server |
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from quiclab.errors import unexpected
from quiclab.lane.adapter import CERTIFICATE_NAME
from quiclab.scenario.quantity import parse

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Length, type and checksum of a chunk.
_CHUNK_BYTES = 12
#: The icon is in the page: otherwise browsers request one after the load.
_HEAD = "<!DOCTYPE html><html><head><title>page</title><link rel=icon href=data:,></head><body>"
_FILLER = "<!--", "-->"
#: Loads what follows resource `n`: `N` has number, kind and address of each, by the number of what it follows.
_SCRIPT = (
    "<script>function L(n){for(const[c,k,a]of N[n]||[]){const f=()=>L(c);"
    "if(k=='font'){new FontFace('f'+c,`url(${a})`).load().then(f,f);continue}"
    "const e=document.createElement({image:'img',style:'link',script:'script'}[k]);e.onload=e.onerror=f;"
    "if(k=='style'){e.rel='stylesheet';e.href=a}else e.src=a;document.body.append(e)}}N=%s</script>"
)
#: Elements of the HTML by kind: address, then handlers. There is none for fonts.
_TAGS: Final = {
    "image": "<img src={}{}>",
    "style": "<link rel=stylesheet href={}{}>",
    "script": "<script src={}{}></script>",
}
#: Content types of kinds of resources.
TYPES: Final = {"image": "image/png", "style": "text/css", "script": "text/javascript", "font": "font/woff2"}
#: A browser requests all images concurrently, and the HTML names each.
MAX_IMAGES: Final = 100_000
#: Of one body: the server holds them in memory, in a guest of 2 GB. A chunk of PNG could have 2^31 - 1 (section 5.3).
MAX_BODY_BYTES: Final = 100_000_000
#: The command of the server holds all resources, and an argument has 128 KiB (execve(2)).
MAX_RESOURCES: Final = 500
#: Of all bodies of a page.
MAX_PAGE_BYTES: Final = 1_000_000_000


class Group(NamedTuple):
    """Equal objects of a page.

    Parameters
    ----------
    number, size_bytes, kind
        Number, length and kind of the objects.
    origin
        Number of their server; 0 is that of the HTML.
    after
        What leads to their requests: 0 for the HTML, k for the k-th group, which is one object.
    """

    number: int
    size_bytes: int
    kind: str = "image"
    origin: int = 0
    after: int = 0


@dataclass(frozen=True)
class Page:
    """A page.

    Parameters
    ----------
    html_bytes
        Length of the HTML.
    groups
        Its objects, in the order of the page.
    has_resources
        Whether the objects are resources with kinds and dependencies; otherwise all are images that the HTML names.
    lengthened
        Number of objects that are longer than those of the workload, the HTML included.
    """

    html_bytes: int
    groups: tuple[Group, ...]
    has_resources: bool = False
    lengthened: int = 0

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
        if workload.get("resources") is not None:
            return cls._of_resources(workload, where)
        groups = []
        for index, group in enumerate(workload["objects"]):
            if group.get("kind", "image") != "image":
                raise unexpected(f"{where}.objects.{index}.kind", "`image`", group["kind"])
            if _base(group["size"]) < MIN_IMAGE_BYTES:
                expected = f"at least {MIN_IMAGE_BYTES} B, an image of one pixel"
                raise unexpected(f"{where}.objects.{index}.size", expected, group["size"])
            _check_body(group["size"], f"{where}.objects.{index}.size")
            groups.append(Group(int(group["count"]), _base(group["size"])))
        _check_body(workload["html"], f"{where}.html")
        page = cls(_base(workload["html"]), tuple(groups))
        if page.images > MAX_IMAGES:
            raise unexpected(f"{where}.objects", f"at most {MAX_IMAGES} images", page.images)
        page._check_total(f"{where}.objects")
        if page.html_bytes < page._least_html:
            expected = f"at least {page._least_html} B, for the names of {page.images} images"
            raise unexpected(f"{where}.html", expected, workload["html"])
        return page

    @classmethod
    def _of_resources(cls, workload: Mapping[str, Any], where: str) -> Page:
        table = workload["resources"]
        if len(table) > MAX_RESOURCES:
            raise unexpected(f"{where}.resources", f"at most {MAX_RESOURCES} resources", len(table))
        groups, lengthened = [], 0
        for index, resource in enumerate(table):
            path = f"{where}.resources.{index}"
            for name in ("delay", "think_time"):
                if _base(resource.get(name, "0 ns")):
                    raise unexpected(f"{path}.{name}", "0", resource[name], "a real browser and server have their own")
            after = resource.get("after") or [0]
            if len(after) != 1:
                raise unexpected(f"{path}.after", "one resource", after)
            _check_body(resource["size"], f"{path}.size")
            kind = resource.get("kind", "image")
            size = max(_base(resource["size"]), MIN_IMAGE_BYTES if kind == "image" else 1)
            lengthened += size != _base(resource["size"])
            groups.append(Group(1, size, kind, int(resource.get("origin", 0)), int(after[0])))
        _check_body(workload["html"], f"{where}.html")
        stated = _base(workload["html"])
        least_html = cls(0, tuple(groups), has_resources=True)._least_html
        page = cls(max(stated, least_html), tuple(groups), True, lengthened + (stated < least_html))
        page._check_total(f"{where}.resources")
        return page

    def _check_total(self, where: str) -> None:
        if self.total_bytes > MAX_PAGE_BYTES:
            raise unexpected(where, f"at most {MAX_PAGE_BYTES} B including the HTML", got=f"{self.total_bytes} B")

    @property
    def _least_html(self) -> int:
        return len(self._markup()) + sum(map(len, _FILLER))

    @property
    def images(self) -> int:
        """Number of images."""
        return sum(group.number for group in self.groups)

    @property
    def origins(self) -> int:
        """Number of servers."""
        return 1 + max((group.origin for group in self.groups), default=0)

    @property
    def total_bytes(self) -> int:
        """Length of the HTML and all images."""
        return self.html_bytes + sum(group.number * group.size_bytes for group in self.groups)

    def sizes(self) -> dict[str, int]:
        """Return the length of each object by its path, the HTML (`/`) first."""
        sizes = {"/": self.html_bytes}
        for number, group in enumerate(self.groups):
            sizes |= {f"/{number}/{one}": group.size_bytes for one in range(group.number)}
        return sizes

    def html(self) -> bytes:
        """Return the HTML, filled up with a comment."""
        markup = self._markup()
        begin, end = _FILLER
        filling = " " * (self.html_bytes - len(markup) - len(begin) - len(end))
        return f"{markup}{begin}{filling}{end}".encode()

    def _markup(self) -> str:
        if not self.has_resources:
            return _HEAD + "".join(f"<img src={path}>" for path in self.sizes() if path != "/")
        followers: dict[int, list[tuple[int, str, str]]] = {}
        for number, group in enumerate(self.groups, 1):
            # no element of the HTML loads a font
            if group.after or group.kind not in _TAGS:
                followers.setdefault(group.after, []).append((number, group.kind, self._address(number)))
        named = ""
        for number, group in enumerate(self.groups, 1):
            if not group.after and group.kind in _TAGS:
                then = f" onload=L({number}) onerror=L({number})" if number in followers else ""
                named += _TAGS[group.kind].format(self._address(number), then)
        script = _SCRIPT % json.dumps(followers, separators=(",", ":"))
        return f"{_HEAD}{script}{named}<script>L(0)</script>"

    def _address(self, number: int) -> str:
        """Return the address of the `number`-th object in the HTML."""
        origin = self.groups[number - 1].origin
        server = f"//{name_of(origin, CERTIFICATE_NAME)}" if origin else ""
        return f"{server}/{number - 1}/0"


def png(size_bytes: int) -> bytes:
    """Return an image of one grey pixel that is `size_bytes` long (at least `MIN_IMAGE_BYTES`)."""
    header = _SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel = _chunk(b"IDAT", zlib.compress(b"\0\0")) + _chunk(b"IEND", b"")
    return header + _chunk(b"quPd", bytes(size_bytes - len(header) - len(pixel) - _CHUNK_BYTES)) + pixel


def body(kind: str, size_bytes: int) -> bytes:
    """Return an object of a kind with this length: a blank script or style sheet, an image, zeros."""
    if kind == "image":
        return png(size_bytes)
    return (b"\0" if kind == "font" else b" ") * size_bytes


def name_of(origin: int, name: str) -> str:
    """Return the name of a server of a page, of which `name` is that of the HTML's."""
    return f"o{origin}.{name}" if origin else name


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
