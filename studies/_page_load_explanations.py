"""Refuted claims of the page-load study: the mechanism, and the run that shows it."""

from __future__ import annotations

EXPLANATIONS: dict[str, str] = {}
