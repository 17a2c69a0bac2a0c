"""Presentation of a study: the words and figures of its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiclab.study.parts import Assumption, Figure, TextTable, Value, View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """How a study is shown.

    Attributes
    ----------
    title, abstract
        Its subject.
    source
        The publication; none for a study of one's own.
    assumptions, limits
        Interpretation of the description, and its omissions.
    figures
        Charts of the results.
    views
        Figures of single runs, made again for the report.
    text_tables
        Tables of text, for what no figure shows.
    describe
        Columns of a setting in `study table` where the publication has no row: from its resolved scenario and labels.
    """

    title: str
    abstract: str
    source: str = ""
    assumptions: tuple[Assumption, ...] = ()
    limits: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    views: tuple[View, ...] = ()
    text_tables: tuple[TextTable, ...] = ()
    describe: Callable[[Mapping[str, Any], Mapping[str, Value]], Mapping[str, object]] | None = None
