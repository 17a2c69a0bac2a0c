"""Output of `study compare`: published and measured values side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.report.show import console, percent, rows, table
from quiclab.result.formats import number
from quiclab.result.tables import text
from quiclab.study.parts import with_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


COMPARISON_COLUMNS = (
    "configuration",
    "published_mean",
    "published_std",
    "published_n",
    "measured_mean",
    "measured_std",
    "measured_low",
    "measured_high",
    "measured_n",
    "difference",
    "relative_difference",
)
DIFFERENCE_COLUMNS = ("mean", "low", "high", "relative", "runs", "paired")
CRITERION_COLUMNS = ("reference", "measured", "difference", "margin", "limit", "outcome")
OUTCOME_STYLES = {"pass": "green", "miss": "red"}


def published_decimals(rows: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the decimals of published means and deviations: the most that any needs, and never fewer for deviations.

    Parameters
    ----------
    rows
        Rows of a comparison.
    """
    mean, std = 0, 0
    for row in rows:
        mean = max(mean, _decimals(row["published_mean"] or 0.0))
        std = max(std, _decimals(row["published_std"] or 0.0))
    return mean, max(mean, std)


def _decimals(value: float) -> int:
    return len(f"{value:.9f}".rstrip("0").partition(".")[2])


def comparison(document: Mapping[str, Any]) -> None:
    """Print what `study compare --json` holds."""
    out = console()
    factors = [key for key in document["rows"][0] if key not in COMPARISON_COLUMNS] if document["rows"] else []
    printed = any(row["published_n"] for row in document["rows"])
    source = f", published: {document['source']}" if document["source"] else ""
    out.print(f"{document['study']}: {document['metric']}{source}", style="bold")
    headers = ["measured", "sd", "95 % interval", "runs"]
    headers = ["published", "sd", *headers, "difference", "relative"] if printed else headers
    places = (*published_decimals(document["rows"]), *[2] * 5)
    for name in dict.fromkeys(row["configuration"] for row in document["rows"]):
        shown = table(name, [*factors, *headers], left=0)
        for row in document["rows"]:
            if row["configuration"] == name:
                values = [(row[key], digits) for key, digits in zip(COMPARISON_COLUMNS[1:8], places, strict=True)]
                numbers = ["-" if value is None else f"{value:.{digits}f}" for value, digits in values]
                published, published_std, _, measured, std, low, high = numbers
                relative = row["relative_difference"]
                cells = [measured, std, f"{low} .. {high}", text(row["measured_n"])]
                if printed:
                    absolute = "-" if row["difference"] is None else f"{row['difference']:+.2f}"
                    percentage = "-" if relative is None else f"{100 * relative:+.1f} %"
                    cells = [published, published_std, *cells, absolute, percentage]
                shown.add_row(*(text(row[key]) for key in factors), *cells)
        out.print(shown)
    for row in document["failed"]:
        out.print(f"failed: {row['setting']}: {row['failed']} of {row['failed'] + row['runs']} runs: {row['reason']}")
    if not printed:
        _differences(document["differences"])
    if document["fidelity"]:
        rows(document["fidelity"], "Fidelity")
    for criterion in document["criteria"]:
        _criterion(criterion)
    _maps(document["maps"])
    _further(document["further"])
    for name, reason in document["unavailable"].items():
        out.print(f"{name}: {reason}", style="dim")


def _differences(entry: Mapping[str, Any]) -> None:
    """Print how far the configurations are from the first one; the difference of a study without a publication."""
    if not entry["rows"]:
        return
    keys = [key for key in entry["rows"][0] if key not in DIFFERENCE_COLUMNS]
    kinds = {row["paired"] for row in entry["rows"]}
    how = {True: "paired by seed", False: "as independent runs"}
    words = " or ".join(how[kind] for kind in sorted(kinds, reverse=True))
    heads = [*keys, "difference", "95 % interval", "relative", "runs"]
    shown = table(f"Difference from {entry['from']}, {words}", heads, left=1)
    for row in entry["rows"]:
        mean, low, high = ("-" if row[name] is None else f"{row[name]:+.2f}" for name in ("mean", "low", "high"))
        relative = "-" if row["relative"] is None else percent(row["relative"], sign="+")
        shown.add_row(*(text(row[key]) for key in keys), mean, f"{low} .. {high}", relative, text(row["runs"]))
    console().print(shown)


def _maps(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print the agreement of published and measured maps; incomplete pairs are omitted."""
    columns = ("title", "cells", "correlation", "significant", "right_sign", "also_significant", "sign_share")
    both = [entry for entry in entries if entry["cells"]]
    if both:
        rows([{name: entry[name] for name in columns} for entry in both], "Maps of differences: published and measured")


def _criterion(entry: Mapping[str, Any]) -> None:
    """Print what became of a criterion in each setting, and as a whole."""
    out = console()
    keys = [key for key in entry["lines"][0] if key not in CRITERION_COLUMNS]
    shown = table(
        f"{entry['identity']}: {entry['statement']}",
        [*keys, with_unit("reference", entry["unit"]), "measured", "difference", "95 %", "limit", "outcome"],
        left=len(keys),
    )
    for line in entry["lines"]:
        difference, margin, limit = line["difference"], line["margin"], line["limit"]
        as_text = percent if entry["relative"] else number
        shown.add_row(
            *(text(line[key]) for key in keys),
            *("-" if line[key] is None else number(line[key]) for key in ("reference", "measured")),
            "-" if difference is None else as_text(difference, sign="+"),
            "-" if margin is None else f"± {as_text(margin)}",
            as_text(limit),
            line["outcome"],
            style=OUTCOME_STYLES.get(line["outcome"], "dim"),
        )
    out.print(shown)
    whole = f"{entry['identity']}: {entry['outcome']}, {entry['passed']} of {entry['settings']} settings pass"
    for kind in ("median", "mean"):
        value, limit = entry[f"{kind}_difference"], entry[f"{kind}_limit"]
        if limit is not None and value is not None:
            whole += f"; {kind} difference {percent(value)}, limit {percent(limit)}"
    out.print(whole, style=OUTCOME_STYLES.get(entry["outcome"], "dim"))
    out.print()


def _further(metrics: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print published and measured means of further metrics, one row a setting."""
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    keys: list[str] = []
    for name, entries in metrics.items():
        for row in entries:
            keys = ["configuration", *(key for key in row if key not in COMPARISON_COLUMNS)]
            measured = "-" if row["measured_mean"] is None else number(row["measured_mean"])
            both = f"{number(row['published_mean'])} / {measured}"
            cells.setdefault(tuple(row[key] for key in keys), {})[name] = both
    if not cells:
        return
    lines = ([*map(text, setting), *(found.get(name, "-") for name in metrics)] for setting, found in cells.items())
    console().print(table("Further metrics: published / measured", [*keys, *metrics], lines, left=len(keys)))
