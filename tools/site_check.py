"""Whether a built site is whole: no dead link or anchor, and no request to another host.

python tools/site_check.py dist/site
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

#: What a browser requests without being asked: elements with the attribute that names it.
REQUESTED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
#: Kinds of `<link>` that are no request.
NAMED = {"canonical", "alternate", "prev", "next", "describedby", "license", "author"}
OTHER_HOST = re.compile(r"(?:https?:)?//", re.IGNORECASE)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:@import\s+|url\(\s*)[\"']?((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)


@dataclass
class _Page(HTMLParser):
    """The anchors of a page, the links that it has, and what it requests."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read an element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag in REQUESTED and REQUESTED[tag] in values:
            self._requested(values[REQUESTED[tag]])
        for part in values.get("srcset", "").split(","):
            if part.strip():
                self._requested(part.split()[0])
        if tag == "link" and not set(values.get("rel", "").split()) <= NAMED:
            self._requested(values.get("href", ""))
        elif tag in ("a", "area") and "href" in values:
            self.links.append(values["href"])
        self.requests += IN_STYLE.findall(values.get("style", ""))

    def _requested(self, address: str) -> None:
        self.requests.append(address)
        self.links.append(address)


def problems(site: Path) -> list[str]:
    """Return the dead links and the requests of a site, one line each."""
    pages: dict[Path, _Page] = {}
    found = []
    for file in sorted(site.rglob("*.html")):
        pages[file] = page = _Page()
        text = file.read_text(encoding="utf-8")
        page.feed(text)
        requests = [*page.requests, *(address for style in _styles(text) for address in IN_STYLE.findall(style))]
        found += [f"{file.relative_to(site)}: requests {address}" for address in requests if OTHER_HOST.match(address)]
    for file in sorted(site.rglob("*.css")):
        addresses = IN_STYLE.findall(file.read_text(encoding="utf-8"))
        found += [f"{file.relative_to(site)}: requests {address}" for address in addresses]
    for file, page in pages.items():
        for link in page.links:
            if wrong := _dead(file, link, pages):
                found.append(f"{file.relative_to(site)}: {link}: {wrong}")
    return sorted(set(found))


def _styles(text: str) -> list[str]:
    return re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL)


def _dead(file: Path, link: str, pages: dict[Path, _Page]) -> str:
    """Return why a link leads nowhere; empty if it leads somewhere, or to another host."""
    if OTHER_HOST.match(link) or SCHEME.match(link):
        return ""
    path, _, anchor = link.partition("#")
    path = unquote(path.partition("?")[0])
    if path.startswith("/"):
        return "a path of the host, not of the site"
    target = Path(_resolved(file, path)) if path else file
    if not target.is_file():
        return "no such file"
    if anchor and target in pages and unquote(anchor) not in pages[target].anchors:
        return "no such section"
    return ""


def _resolved(file: Path, path: str) -> Path:
    """Return the file that a relative path names; that of a folder is opened from a file by its name only."""
    parts = list(file.parent.parts)
    for part in path.split("/"):
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return Path(*parts)


def main() -> int:
    """Print dead links and requests; 1 if there are any."""
    found = [line for site in map(Path, sys.argv[1:]) for line in problems(site)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
