"""Writes pages of docs/studies from templates and stored results.

`docs/studies/templates/NAME.md.j2` is a page with placeholders, `docs/studies/data/NAME.json` the values that it reads,
with the number of runs, seeds and versions that they come from and the digests of a sample of the runs
(tools/page_sample.py). `--results DIR` takes both anew from the results of the studies; studies without results there
keep what is stored. Without it the page is written from the stored values. Each time the sample is made again, which
takes seconds, and the page says which studies have values of an earlier version: those whose runs differ. `--check`
only does that, and fails where a page is to be written again. `--run` makes the runs that the page reads and DIR
lacks; verdicts need all runs of their studies, which `quiclab study run` and `quiclab study ablate` make. Runs of other
engines than the default one of a study (`quiclab study run --engines`), of programs of the kernel lane, and of another
seed (`--seed`), which is stored with the values, are not made. Placeholders:

- the names of the claims' predicates, such as `T('tcp', batch=100)`, and `under('VARIANT')`, which has them under a
  variant;
- `of(STUDY, METRIC, STATISTIC, VARIANT, ENGINE)`, whose result is called with a configuration and a value of each
  factor; `published(STUDY, METRIC, STATISTIC)`, the same of the published table;
- `criterion(CRITERION, ENGINE, CONFIGURATIONS)`, the assessment of a criterion from the values, of all configurations
  or of some;
- `median_difference(STUDY, CONFIGURATION, FACTOR=VALUE...)` from the published table, `largest_difference` of the same,
  `deviation_ratio` (least and largest measured / published standard deviation), `is_stored` (whether all of these have
  values), `map_score(STUDY, TITLE)`;
- `verdict(CLAIM)`, `claim(CLAIM)`, `claims(VERDICT)`, `supported(SUPPORT)`, `unexplained()` (refuted claims without an
  explanation that its ablation leaves standing), `agreement()`, `skill(STUDY, SERIES...)`, `runs(STUDY)`,
  `available(STUDY)`;
- `cases(STUDY)` of a study that draws its settings from its seed, and `cases(STUDY).of(CONFIGURATION...)`: `seed`, the
  table `distribution`, `apart(METRIC, LIMIT)` of the model and of two runs of the kernel lane, `starts`, how many
  starts of the flows it has, `scatter_rules`, which settings have further runs, the `worst` cases
  with their explanations, and `single`, the number of the first of them with one flow
  (tools/page_cases.py);
- `measured(FILE, COLUMN=VALUE...)`, the values of a row of a table in `reference/` of the studies' group, which was
  measured and not printed by a source;
- `splitter_choice()`, the table of tools/dual_connectivity_choice.py;
- `if_measured(STUDY, METRIC, DIGITS, CONFIGURATION, FACTOR=VALUE...)`, a value, or a dash where no run has one;
- `senders(STUDY)`, the senders of a study of congestion controls that have runs, each with `name` and `label`;
- `starts()`, the algorithms of `slow_start`, each with `name` and `label`, `start_paths(STUDY)`, the paths of its
  studies, each with a `name`, and `satellite_limit_s`, a published limit [s];
- `queue_cells()`, the cells of `validation/aqm`, and `questions()` of `validation/answers`, each with its `cases`;
- `ranges(STUDY, METRIC)`, by setting how many runs a study and its variants that are no interpretations have, the
  smallest and the largest value;
- `over_variants(STUDY, METRIC, SETTING, ENGINE)`, of how many of these variants, the setting itself included, the
  default engine and another one have runs, and the means of their means;
- `fixed_differences()`, the settings of `validation/regressions`, and `over_starts(METRIC, ENGINE)` of those with a
  late flow: how many they are, the mean over their starts and its standard error;
- `longest(STUDY, CONFIGURATION, SECOND_FACTOR)`, the largest burst or number of packets that costs at most 1 %;
- `estimated(STUDY, CONFIGURATION, 'simulation' or 'publication')`, lines that compare the model of a study with its
  runs or with its published table, and filter `spread` of them; `on_paper(PARAMETER=VALUE...)`, the analytical
  model of the Dual Connectivity study;
- filters `figures(DIGITS)`, `signed(DIGITS)`, `percent(DIGITS)`, `share` and `listed`; of the lines of a criterion
  `beyond`, those that exceed their limit, and `largest`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from page_asked import Asked
from page_sample import earlier, problems, repeat
from page_terms import beyond, largest, listed, names_of, spread
from page_values import Values
from quiclab.errors import QuiclabError
from quiclab.study.ablate import make
from quiclab.study.explanation import environment

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "studies"
NOTE = "<!-- Written by tools/study_pages.py from templates/{name}.md.j2 and data/{name}.json; edit the template. -->\n"
EARLIER = "> **Values of an earlier version.** {cause}: {studies}. `make {make}` makes them again.\n\n"
"""Stands above a page with values of an earlier version (`page_sample.earlier`)."""
DIFFERENT = "Mechanisms have changed since the runs of these studies were made, and some of the runs are others now"
UNKNOWN = "Mechanisms of some transports have changed since the runs of these studies were made, not necessarily theirs"
"""Causes: a sample of the runs differs, or there is none."""
GROUPS = {
    "answers": "validation",
    "aqm": "validation",
    "blind": "validation",
    "lanes": "validation",
    "linux_tcp": "validation",
    "pacing_beyond": "pacing",
    "loss_detection": "validation",
    "regressions": "validation",
    "lab_quic": "validation",
    "dual_connectivity_model": "dual_connectivity",
}
"""Group of the studies of a page; of pages that are not named, their name is that of the group."""


def rendered(name: str, values: Values) -> str:
    """Return a page."""
    language = environment().overlay()
    language.filters = {**language.filters, "listed": listed, "beyond": beyond, "largest": largest, "spread": spread}
    text = (PAGES / "templates" / f"{name}.md.j2").read_text(encoding="utf-8")
    page = language.from_string(text).render(names_of(GROUPS.get(name, name), values))
    return NOTE.format(name=name) + banner(name, values.stored) + page


def banner(name: str, data: Mapping[str, Any]) -> str:
    """Return what stands above a page about its values: nothing if they are current."""
    if not (older := earlier(data)):
        return ""
    cause = DIFFERENT if data.get("digests") else UNKNOWN
    return EARLIER.format(cause=cause, studies=", ".join(older), make=f"{name}-page")


def stored(name: str) -> dict[str, Any]:
    """Return the stored values of a page; nothing before the first time."""
    file = PAGES / "data" / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def written(data: Mapping[str, Any]) -> str:
    """Return values as a JSON file with a line for each of them."""
    parts = []
    for part, found in data.items():
        if isinstance(found, dict):
            lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in found.items()]
            parts.append(f" {json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n }")
        else:
            parts.append(f" {json.dumps(part)}: {json.dumps(found)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def pages() -> list[str]:
    """Return the names of the pages that have templates."""
    return sorted(path.name.removesuffix(".md.j2") for path in (PAGES / "templates").glob("*.md.j2"))


def made() -> list[str]:
    """Return the names of the pages that were written: those with stored values."""
    return [name for name in pages() if (PAGES / "data" / f"{name}.json").is_file()]


def check(names: Sequence[str], jobs: int | None) -> str | None:
    """Make the samples of pages again; returns an error if the pages do not say what has changed."""
    wrong = []
    for name in names:
        data = stored(name)
        wrong += problems(name, data, repeat(name, data, workers=jobs))
        if older := earlier(data):
            print(f"{name}: values of an earlier version, and says so: {', '.join(older)}")
    return "\n".join(wrong) or None


def make_runs(name: str, results: Path, jobs: int | None) -> None:
    """Make the runs that a page reads and the results lack.

    Raises
    ------
    QuiclabError
        If some were not made.
    """
    asked = Asked()
    rendered(name, asked)
    outcome = make(asked.needed, results, jobs)
    if outcome.interrupted or outcome.failed:
        raise QuiclabError("not all runs were made")


def write(name: str, results: Path | None, jobs: int | None) -> None:
    """Write a page, and its values if they are taken from results.

    Raises
    ------
    QuiclabError
        If a value is not stored.
    """
    data = stored(name)
    values = Values(data, results)
    rendered(name, values)
    if results is not None:  # values that the page reads no longer are not kept
        data = values.document
    found = repeat(name, data, workers=jobs)
    for line in problems(name, data, found):
        print(line, file=sys.stderr)
    if data.get("digests"):
        data["earlier"] = sorted(found.different)
    page = rendered(name, Values(data, None))
    (PAGES / "data").mkdir(exist_ok=True)
    (PAGES / "data" / f"{name}.json").write_text(written(data), encoding="utf-8")
    (PAGES / f"{name}.md").write_text(page, encoding="utf-8")


def main() -> None:
    """Write pages, and their values where results are given."""
    parser = argparse.ArgumentParser(description="Writes pages of docs/studies from templates and stored results.")
    parser.add_argument(
        "name", nargs="*", help="pages, such as tunnel (default: all; without --results those that have values)"
    )
    parser.add_argument("--results", type=Path, metavar="DIR", help="take the values from these results")
    parser.add_argument("--run", action="store_true", help="make the runs that the pages read and DIR lacks")
    parser.add_argument("--check", action="store_true", help="only compare samples of runs with what is recorded")
    parser.add_argument("--jobs", type=int, metavar="N", help="worker processes (default: one per CPU)")
    arguments = parser.parse_args()
    without = arguments.results is None
    chosen = arguments.name or (made() if without else pages())
    if arguments.run and without:
        parser.error("--run needs --results DIR")
    if arguments.check and not without:
        parser.error("--check reads no results")
    try:
        if arguments.check:
            sys.exit(check(chosen, arguments.jobs))
        for name in chosen:
            if arguments.run:
                make_runs(name, arguments.results, arguments.jobs)
            write(name, arguments.results, arguments.jobs)
    except QuiclabError as error:
        sys.exit(error.message)


if __name__ == "__main__":
    main()
