"""The maps of the repository are correct: paths, links and symbols in documents exist, decisions are complete.

A failure lists all problems of all documents, so one run after a restructure shows everything that has to be fixed.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from pathlib import Path, PurePosixPath

import pytest

from conftest import ROOT, documents, tool

#: Generated pages, which are not in the repository, with their text; that of errors is in tests/test_wrong_inputs.py.
REFERENCE = ROOT / "docs" / "reference"
MADE = {REFERENCE / name: text for name, text in tool("reference").pages().items()}
DOCUMENTS = [*documents(), *MADE]
WITH_SYMBOLS = ("ARCHITECTURE.md", "CONTRIBUTING.md")
DECISIONS = ROOT / "docs" / "decisions"

GENERATED = {
    ".git",
    ".venv",
    ".tools",
    "dist",
    "target",
    "results",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
}
# a name with one of these endings is a file of the repository; others, such as .json, are mostly output of a run
SOURCES = {".rs", ".py", ".pyi", ".toml", ".md", ".sh", ".yaml", ".service", ".js", ".j2"}
# files that several folders have: where a text means all of them, there is nothing to distinguish
COMMON_NAMES = {"Cargo.toml", "clippy.toml"}
# document -> names of files that are not in the repository, and why
ELSEWHERE = {
    "README.md": {"mine.toml": "written by the reader"},
    "docs/adapters.md": {"transfer.*": "written by the reader"},
    "docs/bring-your-own.md": {
        **dict.fromkeys(("mine.toml", "measured.csv", "own_control.py", "own_stack.py"), "written by the reader"),
        **dict.fromkeys(("questions/busy.py", "transfer.toml"), "written by the reader"),
    },
    "docs/browser.md": {"main.page/": "output of a run"},
    "docs/plugins.md": dict.fromkeys(
        ("exchanged.toml", "computed.toml", "my_functions.py", "my_splitter.py"), "written by the reader"
    ),
    "docs/python.md": {
        "mine.toml": "written by the reader",
        **dict.fromkeys(("draw.py", "one.py", "sweep.py", "to_polars.py", "wrong.py"), "written by the reader"),
    },
    "docs/recordings.md": {
        "mine.toml": "written by the reader",
        **dict.fromkeys(("acks.py", "losses.py", "window.py"), "written by the reader"),
    },
    "docs/run-a-study.md": {
        "share.toml": "output of `quiclab study scenario`",
        "rerun.sh": "in an archive of `quiclab study package`",
    },
    "docs/transports.md": {"mine.toml": "written by the reader", "mechanisms.py": "written by the reader"},
    "docs/tutorial.md": {"mine.toml": "written by the reader"},
    "docs/write-a-study.md": {
        "mylab/*": "written by the reader",
        "*/bottleneck.toml": "written by the reader, in mylab",
        "*/sawtooth.csv": "written by the reader, in mylab",
    },
    "docs/live.md": {"frames.py": "written by the reader"},
    "tunnel/docs/tunnel.md": {"nftables.service": "a unit of Debian"},
    "docs/reference/vpn.md": {"mine.toml": "written by the reader"},
    "docs/sweeps.md": {"rates.py": "written by the reader"},
    "docs/reference/scenario.md": {"mine.toml": "written by the reader"},
    "docs/studies/aqm.md": {"case.toml": "output of `quiclab study scenario`"},
    "docs/studies/blind.md": {"case.toml": "output of `quiclab study scenario`"},
    "docs/studies/lab_quic.md": {"congestion/*.rs": "source of quinn", "recovery.py": "source of aioquic"},
}
# types of the standard libraries
STANDARD_TYPES = {"HashMap"}

Report = Callable[[int, str], None]


@dataclass
class Problems:
    """What is wrong in all documents, as lines `document:line: problem`."""

    lines: list[str] = field(default_factory=list)

    def of(self, document: Path) -> Report:
        name = document.relative_to(ROOT).as_posix()
        return lambda line, text: self.lines.append(f"{name}:{line}: {text}")

    def fail_if_any(self) -> None:
        if self.lines:
            pytest.fail(f"{len(self.lines)} problems\n  " + "\n  ".join(self.lines), pytrace=False)


def manifests() -> list[Path]:
    """Manifests of all crates."""
    return sorted(
        path for folder in (".", "tunnel") for path in (ROOT / folder / "crates").glob("quiclab-*/Cargo.toml")
    )


def text_of(document: Path) -> str:
    return MADE.get(document) or document.read_text(encoding="utf-8")


@cache
def tree(root: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Files and folders of the repository, relative to its root."""
    files, folders = set(), set()
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in GENERATED]
        here = PurePosixPath(Path(folder).relative_to(root).as_posix())
        files |= {str(here / name) for name in names}
        folders |= {str(here / name) for name in subfolders}
    if root == REFERENCE.parent.parent:
        files |= {f"docs/reference/{name}" for name in tool("reference").PAGES}
    return frozenset(files), frozenset(folders)


@cache
def by_last_name(root: Path, of_folders: bool) -> dict[str, list[str]]:
    """Files or folders by their last name."""
    found: dict[str, list[str]] = {}
    for path in sorted(tree(root)[of_folders]):
        found.setdefault(path.rpartition("/")[2], []).append(path)
    return found


def matches(name: str, *, of_folders: bool) -> list[str]:
    """Files or folders with this path or, if there is none, that end in it; `*` stands for a part of one name."""
    parts = name.strip("/").split("/")
    index = by_last_name(ROOT, of_folders)
    last = [item for item in index if fnmatchcase(item, parts[-1])] if "*" in parts[-1] else [parts[-1]]
    found = [
        path
        for item in last
        for path in index.get(item, [])
        if len(names := path.split("/")[-len(parts) :]) == len(parts) and all(map(fnmatchcase, names, parts))
    ]
    return [path for path in found if path.count("/") == len(parts) - 1] or found


# --- paths and links


@dataclass(frozen=True)
class Named:
    """A name of a file or folder in a document."""

    line: int
    section: int
    text: str


def spans_of(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, section and content of each line of a code block and of each inline code."""
    section, fenced, blank = 0, False, True
    prose: list[str] = []
    sections: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        block = not fence and (fenced or (line.startswith("    ") and blank))
        if block:
            yield number, section, line.strip()
        else:
            section += line.startswith("#")
            blank = not line.strip()
        sections.append(section)
        prose.append("" if block or fence else line)
    joined = "\n".join(prose)
    for match in re.finditer(r"`((?:[^`\n]|\n(?!\n))+)`", joined):
        number = joined.count("\n", 0, match.start())
        yield number + 1, sections[number], re.sub(r"\s+", " ", match[1])


def paths_named(document: Path) -> Iterator[Named]:
    """Names in code that must be files or folders of the repository."""
    files, folders = tree(ROOT)
    # names of studies begin with `tunnel/`, too: of that folder, only names with an ending are certainly files
    roots = {path.split("/")[0] for path in folders | {path for path in files if "/" in path}} - {"tunnel"}
    crates = {path.parent.name for path in manifests()}
    elsewhere = ELSEWHERE.get(document.relative_to(ROOT).as_posix(), {})
    for line, section, span in spans_of(text_of(document)):
        for token in re.findall(r"[^\s`'\"(),;:=\[\]]+", span):
            name = token.rstrip(".")
            first, slash, _ = name.partition("/")
            is_name = re.fullmatch(r"[\w.*@-]+(/[\w.*@-]+)*/?", name)
            has_word_to_replace = re.search(r"(^|/)_?[A-Z]+(_|\.[a-z]|/|$)", name) and name not in files
            if not is_name or has_word_to_replace:
                continue
            anchored = bool(slash) and (first in roots | crates or name.endswith("/"))
            expected = anchored or PurePosixPath(name).suffix in SOURCES
            if expected and not any(fnmatchcase(name, pattern) for pattern in elsewhere):
                yield Named(line, section, name)


def check_paths(document: Path, report: Report) -> None:
    names = sorted(paths_named(document), key=lambda name: name.line)
    for _, group in groupby(names, key=lambda name: name.section):
        found = [(name, matches(name.text, of_folders=False)) for name in group]
        folders = {path for name, files in found if not files for path in matches(name.text, of_folders=True)}
        folders |= {f"{path}/src" for path in folders}
        neighbours = {files[0].rpartition("/")[0] for _, files in found if len(files) == 1}
        for name, files in found:
            if not files and not matches(name.text, of_folders=True):
                report(name.line, f"`{name.text}` does not exist")
            elif len(files) > 1 and "*" not in name.text and name.text not in COMMON_NAMES:
                # of several, the one in a folder that the section names; else the one next to a file that it names
                near = [path for path in files if path.rpartition("/")[0] in folders]
                near = near or [path for path in files if path.rpartition("/")[0] in neighbours]
                if len(near) != 1:
                    report(name.line, f"`{name.text}` is ambiguous: {', '.join((near or files)[:4])}")


def anchors_of(document: Path) -> set[str]:
    """Fragments of the headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", text_of(document), flags=re.S)
    titles = (re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.+)$", text, re.M))
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def check_links(document: Path, report: Report) -> None:
    for number, line in enumerate(text_of(document).split("\n"), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = Path(os.path.normpath(document.parent / path)) if path else document
            if not file.exists() and file not in MADE and file != REFERENCE / "errors.md":
                report(number, f"link to {target}: no such file")
            elif anchor and file.suffix == ".md" and anchor not in anchors_of(file):
                report(number, f"link to {target}: no such heading")


def test_paths_and_links_exist() -> None:
    problems = Problems()
    for document in DOCUMENTS:
        check_paths(document, problems.of(document))
        check_links(document, problems.of(document))
    problems.fail_if_any()


def test_the_index_of_the_documentation_lists_all_pages() -> None:
    index = ROOT / "docs" / "README.md"
    pages = {path.relative_to(index.parent).as_posix() for path in DOCUMENTS if index.parent in path.parents}
    pages = {page for page in pages if not page.startswith("decisions/")} | {"decisions/", "reference/errors.md"}
    pages -= {"README.md", "reference/README.md"}
    assert pages - set(re.findall(r"^\| \[[^\]]+\]\(([^)]+)\)", index.read_text(encoding="utf-8"), flags=re.M)) == set()


def test_a_wrong_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_maps.ROOT", tmp_path)
    for name in ("crates/a/src/one/mod.rs", "crates/a/src/two/mod.rs", "crates/a/src/two/x.rs", "tests/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    document = tmp_path / "README.md"
    document.write_text(
        "# A\n`gone.rs`, `crates/b/`, `one/*.rs`, `two/mod.rs` (`make\nit`), `a/NAME.rs`\n"
        "# B\n`x.rs`: `mod.rs`\n"
        "# C\n`src/one/`, `two/x.rs`: `mod.rs`\n"
        "# D\n`mod.rs` [c](c.md) [b](#b) [e](#e)\n\n    crates/c/x.json\n"
    )
    problems = Problems()
    check_paths(document, problems.of(document))
    check_links(document, problems.of(document))
    assert problems.lines == [
        "README.md:2: `gone.rs` does not exist",
        "README.md:2: `crates/b/` does not exist",
        "README.md:9: `mod.rs` is ambiguous: crates/a/src/one/mod.rs, crates/a/src/two/mod.rs",
        "README.md:11: `crates/c/x.json` does not exist",
        "README.md:9: link to c.md: no such file",
        "README.md:9: link to #e: no such heading",
    ]


# --- symbols


RUST_DEFINITION = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe) )*"
    r"(?:struct|enum|trait|type|fn|const|static|macro_rules!) (\w+)",
    re.M,
)
RUST_MEMBER = re.compile(r"^\s+(?:pub(?:\([^)]*\))? )?(\w+)(?:,|\(|:| \{| =)", re.M)


@cache
def definitions() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Files by the name of what they define: types, functions and constants; variants and fields."""
    found: dict[str, set[str]] = {}
    members: dict[str, set[str]] = {}
    files, _ = tree(ROOT)
    for file in sorted(files):
        if file.endswith(".rs"):
            text = (ROOT / file).read_text(encoding="utf-8")
            names = RUST_DEFINITION.findall(text)
            inner = RUST_MEMBER.findall(text)
        elif file.endswith(".py"):
            text = (ROOT / file).read_text(encoding="utf-8")
            names = re.findall(r"^\s*(?:class|def) (\w+)", text, flags=re.M)
            names += re.findall(r"^([A-Z]\w*)(?:: [^=\n]+)? =", text, flags=re.M)
            inner = re.findall(r"^    (\w+)(?:: [^=\n]+)?(?: =|$)", text, flags=re.M)
        else:
            continue
        for name in names:
            found.setdefault(name, set()).add(file)
        for name in inner:
            members.setdefault(name, set()).add(file)
    return found, members


def symbols_of(span: str) -> Iterator[tuple[str, str]]:
    """Owner (or nothing) and name of each type, constant and function in a span of code."""
    if re.fullmatch(r"[A-Z][a-z0-9]+([A-Z][a-z0-9]*)*|[A-Z]{2,}(_[A-Z]+)*", span):
        yield "", span
    elif re.fullmatch(r"[A-Z][A-Za-z0-9]*\.[a-z_]\w*", span):
        owner, _, name = span.partition(".")
        yield owner, name
    else:
        yield from re.findall(r"\b([A-Za-z]\w*)::([A-Za-z_]\w*)", span)
        yield from (("", name) for name in re.findall(r"(?<!:)\b([A-Za-z_]\w+)\(", span))


def check_symbols(document: Path, report: Report) -> None:
    known, members = definitions()
    for line, _, text in spans_of(document.read_text(encoding="utf-8")):
        span = text.removeprefix("#[schemars(transform = ")  # an attribute of another crate
        if span.startswith(("fn ", "make ", "cargo ")):
            continue
        for owner, name in symbols_of(span):
            if name in STANDARD_TYPES or (len(name) == 1 and name.isupper()):  # `Operation::X` stands for any
                continue
            files = known.get(name, set())
            if owner[:1].isupper():
                files = (files | members.get(name, set())) & known.get(owner, set())
            elif owner:  # a module or a crate
                part = owner.replace("_", "[-_]")
                files = {file for file in files if re.search(rf"(^|/){part}(/|\.rs$)", file)}
            if not files:
                report(line, f"`{owner}{'::' if owner else ''}{name}` is not defined")


def test_symbols_are_defined() -> None:
    problems = Problems()
    for name in WITH_SYMBOLS:
        check_symbols(ROOT / name, problems.of(ROOT / name))
    problems.fail_if_any()


def test_symbols_are_recognised() -> None:
    found = [*symbols_of("Element::sample"), *symbols_of("Host"), *symbols_of("run(Operation::X, 3)")]
    assert found == [("Element", "sample"), ("", "Host"), ("Operation", "X"), ("", "run")]
    assert [*symbols_of("Sample.series")] == [("Sample", "series")]
    assert [*symbols_of("dc.sender")] == [*symbols_of("tcp/profile.rs")] == []
    assert [*symbols_of("FIELDS")] == [("", "FIELDS")]


def test_a_wrong_symbol_is_found(tmp_path: Path) -> None:
    document = ROOT / "ARCHITECTURE.md"
    text = (
        "`Element`, `NoSuchType`, `no_such_function()`, `Element::no_such_method`, `no_such_module::run`, `NO_SUCH`\n"
    )
    copy = tmp_path / "copy.md"
    copy.write_text(text)
    problems = Problems()
    check_symbols(copy, problems.of(document))
    assert [line.split("`")[1] for line in problems.lines] == [
        "NoSuchType",
        "no_such_function",
        "Element::no_such_method",
        "no_such_module::run",
        "NO_SUCH",
    ]


# --- recipes and layers


def section_of(text: str, title: str) -> tuple[int, str]:
    """Line and text of a section."""
    before, heading, after = text.partition(f"\n## {title}\n")
    assert heading, f"no section {title}"
    return before.count("\n") + 2, after.partition("\n## ")[0]


def check_recipes(text: str, recipes: set[str], report: Report) -> None:
    """Compare the titles in quotation marks of "Where new code goes" with the recipes."""
    line, section = section_of(text, "Where new code goes")
    named = [(line + 1 + number, title) for number, row in enumerate(section.split("\n")) for title in quoted(row)]
    for number, title in named:
        if title not in recipes:
            report(number, f'"{title}" is not a recipe of CONTRIBUTING.md')
    for title in sorted(recipes - {title for _, title in named}):
        report(line, f'the recipe "{title}" of CONTRIBUTING.md has no row')


def quoted(row: str) -> list[str]:
    return re.findall(r'"([^"]+)"', row) if row.startswith("|") else []


def recipes_of(text: str) -> set[str]:
    return set(re.findall(r"^### (.+)$", section_of(text, "Recipes")[1], flags=re.M))


def test_recipes_are_named_by_their_titles() -> None:
    problems = Problems()
    architecture = ROOT / "ARCHITECTURE.md"
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    check_recipes(architecture.read_text(encoding="utf-8"), recipes_of(contributing), problems.of(architecture))
    # recipes refer to each other: see "An option"
    named = re.findall(r'\(see "([^"]+)"\)', re.sub(r"\s+", " ", contributing))
    assert named
    assert set(named) <= recipes_of(contributing)
    problems.fail_if_any()


def test_a_wrong_recipe_is_found() -> None:
    problems = Problems()
    text = '# A\n\n## Where new code goes\n\n| to add | see | recipe |\n| --- | --- | --- |\n| x | y | "A link" |\n'
    check_recipes(text, {"A queue"}, problems.of(ROOT / "ARCHITECTURE.md"))
    assert problems.lines == [
        'ARCHITECTURE.md:7: "A link" is not a recipe of CONTRIBUTING.md',
        'ARCHITECTURE.md:3: the recipe "A queue" of CONTRIBUTING.md has no row',
    ]


def dependencies_of(manifest: Path) -> set[str]:
    """Crates of the workspace in a manifest, those of its tests included, without their prefix."""
    table = tomllib.loads(manifest.read_text(encoding="utf-8"))
    names = {**table.get("dependencies", {}), **table.get("dev-dependencies", {})}
    return {name.removeprefix("quiclab-") for name in names if name.startswith("quiclab-")}


def check_layers(text: str, crates: dict[str, set[str]], report: Report) -> None:
    """Compare the table of the layers with the manifests: its rows, its last column and its order."""
    first, section = section_of(text, "Layers")
    rows = [
        (first + 1 + number, row[1], {name for name in row[2].split(", ") if name != "nothing"})
        for number, line in enumerate(section.split("\n"))
        if (row := re.fullmatch(r"\| `(?:tunnel/)?crates/quiclab-([\w-]+)` \| .* \| ([^|]+) \|", line))
    ]
    order = [crate for _, crate, _ in rows]
    for number, crate, named in rows:
        actual = crates.get(crate)
        if actual is None:
            report(number, f"there is no crate quiclab-{crate}")
        elif named != actual:
            report(number, f"quiclab-{crate} depends on {', '.join(sorted(actual)) or 'nothing'}")
        elif above := [name for name in named if name not in order[order.index(crate) + 1 :]]:
            report(number, f"quiclab-{crate} depends on {', '.join(sorted(above))}, whose row is above")
    for crate in sorted(crates.keys() - set(order)):
        report(first, f"quiclab-{crate} has no row")


def test_the_table_of_the_layers_is_that_of_the_manifests() -> None:
    problems = Problems()
    document = ROOT / "ARCHITECTURE.md"
    crates = {path.parent.name.removeprefix("quiclab-"): dependencies_of(path) for path in manifests()}
    check_layers(document.read_text(encoding="utf-8"), crates, problems.of(document))
    problems.fail_if_any()


def test_a_wrong_layer_is_found() -> None:
    problems = Problems()
    text = "# A\n\n## Layers\n\n| `crates/quiclab-a` | x | nothing |\n| `crates/quiclab-b` | x | a |\n"
    text += "| `crates/quiclab-c` | x | nothing |\n"
    crates: dict[str, set[str]] = {"a": {"b"}, "b": {"a"}, "d": set()}
    check_layers(text, crates, problems.of(ROOT / "ARCHITECTURE.md"))
    assert problems.lines == [
        "ARCHITECTURE.md:5: quiclab-a depends on b",
        "ARCHITECTURE.md:6: quiclab-b depends on a, whose row is above",
        "ARCHITECTURE.md:7: there is no crate quiclab-c",
        "ARCHITECTURE.md:3: quiclab-d has no row",
    ]


# --- decisions

SECTIONS = ["Status", "Context", "Decision", "Consequences"]
LAST_SECTION = "Alternatives considered"
STATUS = re.compile(
    r"Accepted on (?P<date>\d{4}-\d\d-\d\d)\."
    r"( Supersedes (?P<supersedes>\[\d{4}\]\([\w-]+\.md\)(, \[\d{4}\]\([\w-]+\.md\))*)\.)?"
    r"( Superseded by (?P<successor>\[\d{4}\]\([\w-]+\.md\)) on \d{4}-\d\d-\d\d\.)?"
)


def records() -> list[Path]:
    return sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")


def link_to(record: Path) -> str:
    return f"[{record.name[:4]}]({record.name})"


def status_of(record: Path) -> re.Match[str] | None:
    _, _, rest = record.read_text(encoding="utf-8").partition("\n## Status\n")
    return STATUS.fullmatch(rest.partition("\n## ")[0].strip())


def check_record(record: Path, report: Report) -> str:
    """Return the line of the index that belongs to a record."""
    text = record.read_text(encoding="utf-8")
    number = record.name[:4]
    title = re.match(rf"# {number}: (.+)\n", text)
    sections = re.findall(r"^## (.+)$", text, flags=re.M)
    status = status_of(record)
    if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", record.name):
        report(1, "the name of the file is not NUMBER-words.md")
    if title is None:
        report(1, f"the title is not `# {number}: ...`")
    if sections not in (SECTIONS, [*SECTIONS, LAST_SECTION]):
        report(1, f"sections are {sections}, expected {SECTIONS} and perhaps {LAST_SECTION!r}")
    if any(not body.strip() for body in re.split(r"^## .+$", text, flags=re.M)[1:]):
        report(1, "a section is empty")
    if status is None:
        report(
            5, "status is not `Accepted on DATE.`, with `Supersedes [N](file).` or `Superseded by [N](file) on DATE.`"
        )
        return ""
    for links, other_field in ((status["supersedes"], "successor"), (status["successor"], "supersedes")):
        for target in re.findall(r"\(([\w-]+\.md)\)", links or ""):
            other = status_of(DECISIONS / target) if (DECISIONS / target).exists() else None
            if other is None or link_to(record) not in (other[other_field] or ""):
                report(5, f"{target} does not refer back to this record")
    shown = f"superseded by {status['successor']}" if status["successor"] else "accepted"
    return f"| {link_to(record)} | {title[1] if title else ''} | {shown} |"


def test_decisions_are_complete_and_listed() -> None:
    problems = Problems()
    lines = [check_record(record, problems.of(record)) for record in records()]
    report = problems.of(DECISIONS / "README.md")
    for number, same in groupby(records(), key=lambda record: record.name[:4]):
        if len(names := [record.name for record in same]) > 1:
            report(1, f"the number {number} is used by {', '.join(names)}")
    text = (DECISIONS / "README.md").read_text(encoding="utf-8")
    index = re.findall(r"^\| \[\d{4}\].* \|$", text, flags=re.M)
    for line in lines:
        if line and line not in index:
            report(1, f"the table lacks {line}")
    for line in index:
        if line not in lines:
            report(1, f"the table has {line}, which is in no record")
    if index != sorted(index):
        report(1, "the table is not in the order of the numbers")
    problems.fail_if_any()
    assert lines
