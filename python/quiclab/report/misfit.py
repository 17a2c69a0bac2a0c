"""One sentence about how far measured values are from the reference: the median, and what it would hide."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, Final

from quiclab.errors import lower_first
from quiclab.result.formats import figures, percent, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.study import Study

FAR: Final = 0.05
"""Relative difference above which settings are counted."""


def misfit(study: Study, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentence; empty where nothing was compared.

    Parameters
    ----------
    study
        The study.
    rows
        Rows of its comparison (`quiclab.study.compare.compare_rows`).
    """
    compared = [row for row in rows if row["relative_difference"] is not None]
    if not compared:
        return ""
    worst = max(compared, key=lambda row: abs(row["relative_difference"]))
    reference = "reference" if study.measures.table.engine else "published"
    middle = median(abs(row["relative_difference"]) for row in compared)
    far = sum(abs(row["relative_difference"]) > FAR for row in compared)
    settings = f"{len(compared)} settings" if len(compared) > 1 else "the only setting"
    many = "none differs" if not far else "1 differs" if far == 1 else f"{far} differ"
    return (
        f"Measured and {reference} mean of {settings}: the median difference is {figures(100 * middle, 1)} %, the "
        f"largest {percent(worst['relative_difference'])} ({_name(study, worst)}); {many} by more than {share(FAR)}."
    )


def _name(study: Study, row: Mapping[str, Any]) -> str:
    """Return the name of a setting in a sentence."""
    values = [
        factor.word(row[factor.column])
        if factor.words
        else f"{lower_first(factor.label)}: {factor.word(row[factor.column])}"
        for factor in study.design.factors
    ]
    return ", ".join([study.design.labels[str(row["configuration"])], *values])
