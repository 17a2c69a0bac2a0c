"""Pages of the documentation site: navigation from the map of docs/README.md, documents as they are, sources, llms.txt.

The pages lie as in the repository, so that a link between documents is the same in both. A link to a source file, or to
a folder without README.md, leads to a page with its text or its list of files, which is made here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MAP = "docs/README.md"
#: A row of the map, its cells, and the line above a table that names its group.
ROW = re.compile(r"^\| (?:\[[^]]*\]\((?P<path>[^)]+)\)|\*\*(?P<group>[^*]+)\*\*) \| ?(?P<content>.*?) ?\|$")
ABOVE = re.compile(r"^(?P<group>[A-Z][^|]*):$")
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
CODE = re.compile(r"^( *)(```+).*?^\1\2|`[^`\n]+`", re.MULTILINE | re.DOTALL)
#: Suffixes of source files, with the language of their text.
LANGUAGES = {
    ".py": "python",
    ".rs": "rust",
    ".toml": "toml",
    ".sh": "sh",
    ".cff": "yaml",
    ".conf": "nginx",
    ".ipynb": "python",
}
#: Documents that are not on the site: python/README.md is for indexes of packages, and repeats README.md.
LEFT_OUT = ("python/README.md",)
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n"
PROJECT = "Project"


@dataclass(frozen=True)
class Page:
    """A document: its path in the repository, and what the map says of it."""

    path: str
    content: str = ""


@dataclass(frozen=True)
class Group:
    """Pages below one heading; without a title those at the top of a part."""

    title: str
    pages: list[Page] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """A part of the documentation."""

    title: str
    groups: list[Group] = field(default_factory=list)


def tracked() -> list[str]:
    """Return the files of the repository."""
    command = ["git", "ls-files"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in found.splitlines() if (ROOT / name).is_file()]


def parts(text: str, files: list[str]) -> list[Part]:
    """Return the parts of the documentation.

    Parameters
    ----------
    text
        The map, docs/README.md.
    files
        Files of the repository. Those in the folder `docs` beside a README.md that the map names follow it.
    """
    found: list[Part] = []
    for line in text.splitlines():
        if line.startswith("## "):
            found.append(Part(line.removeprefix("## ")))
        if not found:
            continue
        match = ROW.match(line) or ABOVE.match(line)
        if match is None:
            continue
        groups = found[-1].groups
        if match["group"]:
            groups.append(Group(match["group"]))
            continue
        if not groups:
            groups.append(Group(""))
        path = os.path.normpath(PurePosixPath("docs") / match["path"])
        path = path if path.endswith(".md") else f"{path}/README.md"
        groups[-1].pages.append(Page(path, re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match["content"])))
        folder, _, name = path.rpartition("/")
        if name == "README.md" and path != MAP:
            beside = [file for file in files if re.fullmatch(rf"{re.escape(folder)}/docs/[^/]+\.md", file)]
            groups[-1].pages.extend(map(Page, beside))
    return found


def project(known: list[Part], files: list[str]) -> Part:
    """Return the part with the documents that the map does not name: of the project, its decisions, its studies."""
    named = {page.path for part in known for group in part.groups for page in group.pages}
    rest = [file for file in files if file.endswith(".md") and file not in {*named, *LEFT_OUT, "README.md"}]
    titles = {"docs/decisions/": "Decisions", "studies/": "Data of the studies"}
    groups = [Group(title, [Page(file) for file in rest if file.startswith(under)]) for under, title in titles.items()]
    first = [Page(file) for file in rest if not file.startswith(tuple(titles))]
    return Part(PROJECT, [Group("", first), *groups])


def gallery(overview: str) -> Part:
    """Return the part with the figures of the gallery, in the order of the page that has them all."""
    figures = dict.fromkeys(re.findall(r"\]\((\w+\.md)\)", overview))
    about = "figures with scenario, command and data"
    return Part(
        "Gallery", [Group("", [Page("gallery/index.md", about), *(Page(f"gallery/{name}") for name in figures)])]
    )


def navigation(all_parts: list[Part]) -> list[dict[str, Any]]:
    """Return `nav` of the site."""
    sections: list[dict[str, Any]] = [{"Home": "README.md"}]
    for part in all_parts:
        pages: list[Any] = []
        for group in part.groups:
            paths = [page.path for page in group.pages]
            pages += [{group.title: paths}] if group.title else paths
        sections.append({part.title: pages[0] if len(pages) == 1 and isinstance(pages[0], str) else pages})
    return sections


def with_sources(documents: Mapping[str, str], files: list[str]) -> dict[str, str]:
    """Return all pages: documents whose links lead to pages, and the pages of the sources that they name.

    Parameters
    ----------
    documents
        Text of each document by its path.
    files
        Files of the repository.
    """
    known, pages = set(files) | set(documents), dict(documents)
    folders = {str(parent) for file in files for parent in PurePosixPath(file).parents}
    sources: set[str] = set()

    def page_of(path: str) -> str:
        """Return the page that shows a path, which is the path itself for documents and pictures."""
        if path in folders:
            path = f"{path}/README.md"
            return path if path in known else path.replace("README.md", "index.md")
        return f"{path}.md" if PurePosixPath(path).suffix in LANGUAGES else path

    def relinked(path: str, text: str) -> str:
        folder = PurePosixPath(path).parent

        def link(match: re.Match[str]) -> str:
            if "://" in match[2] or match[2].startswith("mailto:"):
                return match[0]
            target = os.path.normpath(folder / match[2])
            shown = page_of(target)
            if shown == target:
                return match[0]
            sources.add(target)
            return f"{match[1]}{os.path.relpath(shown, folder)}{match[3]}"

        return "".join(piece if code else LINK.sub(link, piece) for code, piece in _pieces(text))

    for path, text in documents.items():
        pages[path] = relinked(path, text)
    for source in sorted(sources):
        if page_of(source) in pages:
            continue
        if source in folders:
            pages[page_of(source)] = _folder(source, files)
            for file in files:
                if _is_in(file, source) and PurePosixPath(file).suffix in LANGUAGES:
                    pages[f"{file}.md"] = _source(file)
        else:
            pages[page_of(source)] = _source(source)
    return pages


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Return the pieces of a document, and whether each is code."""
    end = 0
    for match in CODE.finditer(text):
        yield False, text[end : match.start()]
        yield True, match[0]
        end = match.end()
    yield False, text[end:]


def _is_in(file: str, folder: str) -> bool:
    return str(PurePosixPath(file).parent) == folder


def _source(file: str) -> str:
    """Return the page of a source file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.endswith(".ipynb"):
        return _notebook(text)
    fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
    return f"{NOT_SEARCHED}# {file}\n\n{fence}{LANGUAGES[PurePosixPath(file).suffix]}\n{text}{fence}\n"


def _notebook(text: str) -> str:
    """Return the page of a notebook: its texts and its code."""
    cells = [(cell["cell_type"] == "code", "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    shown = [f"```python\n{source}\n```" if code else source for code, source in cells]
    return NOT_SEARCHED + "\n\n".join(shown) + "\n"


def _folder(folder: str, files: list[str]) -> str:
    """Return the page of a folder: its files, and the folders in it that have a README.md."""
    lines = []
    for file in files:
        name = file.removeprefix(f"{folder}/")
        if _is_in(file, folder):
            lines.append(f"- [{name}]({name}.md)" if PurePosixPath(file).suffix in LANGUAGES else f"- `{name}`")
        elif _is_in(str(PurePosixPath(file).parent), folder) and file.endswith("/README.md"):
            lines.append(f"- [{name.removesuffix('README.md')}]({name})")
    return f"{NOT_SEARCHED}# {folder}\n\n" + "\n".join(sorted(lines)) + "\n"


def title_of(text: str) -> str:
    """Return the first heading of a document."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def llms(all_parts: list[Part], documents: Mapping[str, str], opening: str) -> str:
    """Return llms.txt: the map with titles, for programs that read (https://llmstxt.org).

    Parameters
    ----------
    all_parts
        Parts of the documentation.
    documents
        Text of each document by its path.
    opening
        What quiclab is.
    """
    lines = ["# quiclab", "", "> " + " ".join(opening.split())]
    for part in all_parts:
        # what is optional may be skipped for a shorter context
        lines += ["", f"## {'Optional' if part.title == PROJECT else part.title}", ""]
        for page in (page for group in part.groups for page in group.pages):
            about = f": {page.content}" if page.content else ""
            lines.append(f"- [{title_of(documents[page.path])}]({page.path}){about}")
    return "\n".join(lines) + "\n"
