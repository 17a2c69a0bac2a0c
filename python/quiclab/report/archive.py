"""Packs a study with everything that repeats it into one archive; equal results give equal bytes."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import quiclab
from quiclab._base.files import parquet_bytes, write_atomically
from quiclab._base.libraries import np, pl
from quiclab._base.native import build_id, extension
from quiclab.experiment.identity import BUILD
from quiclab.report.study_page import digest_of_digests
from quiclab.scenario.inputs import code_of, files_of
from quiclab.scenario.tree import to_json
from quiclab.study import BASE
from quiclab.study.compare import compare_document, judgement_row, table_rows, to_csv
from quiclab.study.manifest import MANIFEST
from quiclab.study.registry import find_all, own_directory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.study import Study
    from quiclab.study.evaluate import Evaluation

LOCKS = ("uv.lock", "Cargo.lock")
CHECKOUT = Path(quiclab.__file__).resolve().parents[2]
# columns of runs.csv that differ between builds of the same source, or are in runs.parquet
LEFT_OUT = {"identity", BUILD, "result"}

RERUN = """\
#!/bin/sh
# Runs the study again and compares every row of its table and every digest. Needs the quiclab version that README.md
# names: on the PATH, or a source checkout in QUICLAB_SOURCE (with the two lock files of this archive).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
{studies}quiclab=quiclab
if [ -n "${{QUICLAB_SOURCE:-}}" ]; then quiclab="uv run --frozen --project $QUICLAB_SOURCE quiclab"; fi
mkdir -p "$here/rerun/{name}" && cp "$here/sweep.json" "$here/rerun/{name}"
$quiclab study run {name} --runs {runs} --engines {engines} --out "$here/rerun"
$quiclab study table {name} --engines {engines} --out "$here/rerun" > "$here/rerun/table.csv"
$quiclab study package {name} --out "$here/rerun" > /dev/null
cmp "$here/table.csv" "$here/rerun/table.csv"
tar -xOzf "$here/rerun/{archive}" {prefix}/runs.csv | cmp "$here/runs.csv" -
echo "identical"
"""

README = """\
# {title}

{abstract}

After {source}.

Everything needed to repeat the study `{name}`: `sh rerun.sh` runs it again and compares tables and digests.

| File | What it is |
| --- | --- |
| {sources} | the study, its base scenario and the published numbers |
| `settings/` | the resolved scenario of each setting, to run alone with `quiclab run FILE --seed N` |
| `sweep.json` | how many runs which settings have |
| `runs.csv` | setting, seed and digest of each run: the same with every build |
| `runs.parquet` | the raw results of each run as JSON, its identity, and the build that made it |
| `table.csv`, `compare.json`, `claims.json` | the table in the published columns, the comparison, the verdicts |
| `uv.lock`, `Cargo.lock` | versions of everything it was built from{locks} |

{lacking}quiclab {version}, build {build}; digest of the digests: {digest}
"""

LACKING = """\
**Not in this archive**, because they are outside of the study's directory and may have another licence:

{files}

A repetition requires byte-identical files; `quiclab trace import FILE --install NAME` installs a trace.
The scenarios in `settings/` name them as they lay where the archive was made.

"""


def write_package(evaluation: Evaluation) -> Path:
    """Write the archive of a study next to its results and return its path."""
    study = evaluation.study
    stem = study.name.replace("/", "-")
    path = evaluation.directory / f"{stem}.tar.gz"
    write_atomically(path, _archive(stem, _files(evaluation, stem, path.name)))
    return path


def _files(evaluation: Evaluation, stem: str, archive: str) -> dict[str, bytes]:
    study, table = evaluation.study, evaluation.table
    engines = list(dict.fromkeys(table["engine"].to_list()))
    files: dict[str, bytes] = {}
    home = study.home.resolve()
    for path in sorted(study.file.parent.rglob("*.py")):
        files[str(path.resolve().relative_to(home))] = path.read_bytes()
    for sibling in _siblings(study):
        for name in filter(
            None, (sibling.measures.table.file, *sibling.measures.table.further, *sibling.design.scenarios)
        ):
            files[name] = (home / name).read_bytes()
    outside: dict[Path, str] = {}
    firsts = evaluation.plan.first_runs()
    for first in {first.scenario: first for first in firsts}.values():
        scenario, base_dir = json.loads(first.scenario), Path(first.recipe.base_dir)
        for file in (*files_of(scenario), *code_of(scenario, base_dir)):
            path = (base_dir / file).resolve()
            if path.is_relative_to(home):
                files[str(path.relative_to(home))] = path.read_bytes()
            elif path not in outside:
                outside[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    sources = [name for name in files if "/" in name]
    missing_locks = [name for name in LOCKS if not (CHECKOUT / name).is_file()]
    for name in LOCKS:
        if name not in missing_locks:
            files[name] = (CHECKOUT / name).read_bytes()
    files[MANIFEST] = (evaluation.directory / MANIFEST).read_bytes()
    files["runs.csv"], settings = _runs(evaluation, [first.scenario for first in firsts])
    files |= settings
    files["runs.parquet"] = parquet_bytes(table)
    files["table.csv"] = to_csv(table_rows(evaluation, engines)).encode()
    default = study.design.default_engine
    files["compare.json"] = to_json(compare_document(evaluation, default)).encode()
    claims = [judgement_row(study.name, item) for item in evaluation.judgements(default)]
    files["claims.json"] = to_json(claims).encode()
    names = {
        "name": study.name,
        "runs": evaluation.runs,
        "engines": ",".join(engines),
        "archive": f"{study.name}/{archive}",
        "prefix": stem,
        "studies": "" if own_directory() is None else f'export QUICLAB_STUDIES="$here/{study.file.parent.name}"\n',
    }
    files["rerun.sh"] = RERUN.format(**names).encode()
    files["README.md"] = README.format(
        title=study.presentation.title,
        abstract=study.presentation.abstract,
        source=study.presentation.source,
        sources=", ".join(f"`{name}/`" for name in sorted({name.partition("/")[0] for name in sources})),
        name=study.name,
        lacking=LACKING.format(files="\n".join(f"- `{path}`, SHA-256 {digest}" for path, digest in outside.items()))
        if outside
        else "",
        locks=f" (not there: {', '.join(missing_locks)})" if missing_locks else "",
        version=extension().version(),
        build=build_id(),
        digest=digest_of_digests(table.filter(pl.col("variant") == BASE)["digest"].to_list()),
    ).encode()
    return files


def _siblings(study: Study) -> list[Study]:
    """Studies of the same file: it is loaded as a whole, so their tables belong to it."""
    return [other for other in find_all(study.name.partition("/")[0]) if other.file == study.file]


def _runs(evaluation: Evaluation, scenarios: Sequence[str]) -> tuple[bytes, dict[str, bytes]]:
    """Return the list of runs and the scenario of each setting."""
    numbers: dict[str, str] = {}
    settings: dict[str, bytes] = {}
    for scenario in dict.fromkeys(scenarios):
        name = f"settings/{len(numbers):04}.toml"
        numbers[scenario] = name
        settings[name] = extension().to_toml(scenario).encode()
    runs = evaluation.all_runs
    files = (numbers[scenarios[index]] for index in runs.settings)
    files_by_identity = dict(zip(runs.names(np.arange(len(runs))), files, strict=True))
    text = io.StringIO()
    not_listed = LEFT_OUT | {metric.name for metric in evaluation.study.measures.metrics}
    columns = [name for name in evaluation.table.columns if name not in not_listed]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, "setting"])
    for row in evaluation.table.iter_rows(named=True):
        writer.writerow([*(row[name] for name in columns), files_by_identity[row["identity"]]])
    return text.getvalue().encode(), settings


def _archive(prefix: str, files: dict[str, bytes]) -> bytes:
    """Pack files in sorted order, without times and owners."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(f"{prefix}/{name}")
            member.size = len(files[name])
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(member, io.BytesIO(files[name]))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as file:
        file.write(plain.getvalue())
    return packed.getvalue()
