"""Builds the documentation site: `make site` calls it with the program and the folders.

A version has a folder of its own in the site, which other versions leave alone; `versions.json` and `versions.html`
list them, the newest first, and `index.html` leads to that. The pages are written by zensical from documents as they
are in the repository (tools/site_pages.py), the generated reference, and the gallery where it has been drawn
(tools/gallery.py). At the end the site is checked (tools/site_check.py).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import reference
import site_check
import site_pages
import wrong_inputs

ROOT = Path(__file__).resolve().parent.parent
OWN = ROOT / "site"
#: Pictures that documents show.
PICTURES = (".png", ".svg")
#: What zensical writes for a host with a domain of its own; addresses in it begin at the root of the host.
FOR_A_HOST = ("404.html", "sitemap.xml", "sitemap.xml.gz")
GALLERY = "gallery"
PLAYGROUND = "playground/README.md"
#: Page of a version that leads to the others, which are beside its folder.
VERSIONS = """\
# Versions

These pages are of quiclab {version}. [All versions](../versions.html) of this site are beside each other.
"""
OUTER = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Versions of quiclab</title>
{redirect}<h1>Versions of quiclab</h1>
<ul>
{items}
</ul>
</html>
"""
REDIRECT = '<meta http-equiv="refresh" content="0; url={}/index.html">\n'


def documents(files: list[str]) -> dict[str, str]:
    """Return the text of each document by its path, with the generated pages of the reference."""
    read = [file for file in files if file.endswith(".md") and not file.startswith(("tests/", "."))]
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in read if file not in site_pages.LEFT_OUT}
    written = reference.pages() | {reference.ERRORS: wrong_inputs.page()}
    return texts | {f"docs/reference/{name}": text for name, text in written.items()}


def stage(work: Path, version: str, gallery: Path | None, playground: Path | None) -> None:
    """Write the pages of a version and the options of zensical into a folder."""
    pages = work / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    files = site_pages.tracked()
    texts = documents(files)
    if playground is not None and playground.is_file():
        heading, rest = texts[PLAYGROUND].split("\n", 1)
        texts[PLAYGROUND] = f"{heading}\n\n[Open the playground]({playground.name}).\n{rest}"
        _write((pages / PLAYGROUND).with_name(playground.name), playground.read_text(encoding="utf-8"))
    known = site_pages.parts(texts[site_pages.MAP], files)
    parts = [*known, site_pages.project(known, list(texts))]
    titles = dict(texts)
    if gallery is not None and (gallery / "index.md").is_file():
        shutil.copytree(gallery, pages / GALLERY)
        titles |= {f"{GALLERY}/{file.name}": file.read_text(encoding="utf-8") for file in gallery.glob("*.md")}
        parts.insert(-1, site_pages.gallery(titles[f"{GALLERY}/index.md"]))
    for path, text in site_pages.with_sources(texts, files).items():
        _write(pages / path, text)
    for file in files:
        if file.endswith(PICTURES) and not file.startswith("tests/"):
            (pages / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, pages / file)
    for name in ("site.css", "site.js", "iframe-worker.js"):
        _write(pages / "assets" / name, (OWN / name).read_text(encoding="utf-8"))
    opening = texts["README.md"].split("\n\n")[1]
    _write(pages / "llms.txt", site_pages.llms(parts, titles, opening.replace("**", "")))
    whole = (texts[page.path] for part in known for group in part.groups for page in group.pages)
    _write(pages / "llms-full.txt", "\n\n".join([texts["README.md"], *whole]))
    _write(pages / "versions.md", VERSIONS.format(version=version))
    nav = site_pages.navigation(parts)
    nav[-1][site_pages.PROJECT].append("versions.md")
    options = (OWN / "mkdocs.yml").read_text(encoding="utf-8")
    # JSON is YAML, too
    _write(work / "mkdocs.yml", f"{options}site_name: quiclab {version}\nnav: {json.dumps(nav, indent=2)}\n")


def build(
    zensical: Path, work: Path, out: Path, version: str, gallery: Path | None, playground: Path | None = None
) -> Path:
    """Build the site of a version; returns its folder."""
    stage(work, version, gallery, playground)
    shutil.rmtree(work / "out", ignore_errors=True)
    command = [str(zensical.absolute()), "build", "--config-file", "mkdocs.yml", "--strict"]
    subprocess.run(command, cwd=work, check=True)
    for name in FOR_A_HOST:
        (work / "out" / name).unlink(missing_ok=True)
    for path in (work / "pages").rglob("*.md"):  # llms.txt names them
        shutil.copyfile(path, work / "out" / path.relative_to(work / "pages"))
    folder = out / version
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(work / "out", folder)
    versions = sorted((path.parent.name for path in out.glob("*/index.html")), key=order, reverse=True)
    listed = [{"version": name, "title": name, "aliases": []} for name in versions]  # the form of mike
    _write(out / "versions.json", json.dumps(listed, indent=2) + "\n")
    items = "\n".join(f'<li><a href="{name}/index.html">quiclab {name}</a></li>' for name in versions)
    _write(out / "versions.html", OUTER.format(redirect="", items=items))
    _write(out / "index.html", OUTER.format(redirect=REDIRECT.format(versions[0]), items=items))
    return folder


def order(version: str) -> tuple[list[int], bool, str]:
    """Return what orders versions, such as 0.10.0rc1: numbers of the release, and whether it is the release itself."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    release = found[0] if found else ""
    return [int(part) for part in release.split(".") if part], release == version, version


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> int:
    """Build and check; 1 if the site has a dead link, or requests something."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zensical", type=Path, required=True, help="the program")
    parser.add_argument("--work", type=Path, required=True, help="folder for pages and options")
    parser.add_argument("--out", type=Path, required=True, help="folder of the site")
    parser.add_argument("--gallery", type=Path, help="folder of the gallery, if it is drawn")
    parser.add_argument("--playground", type=Path, help="page of the playground, if it is built")
    parser.add_argument(
        "--version", default=project["version"], help="folder of this version (default: that of quiclab)"
    )
    asked = parser.parse_args()
    if not re.fullmatch(r"[\w.+-]*\w", asked.version):
        parser.error(f"--version: expected a version, such as 0.2.0, got {asked.version}")
    folder = build(asked.zensical, asked.work, asked.out, asked.version, asked.gallery, asked.playground)
    found = site_check.problems(asked.out)
    print("\n".join(found or [f"{folder}/index.html"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
