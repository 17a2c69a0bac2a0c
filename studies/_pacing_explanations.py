"""Refuted claims of the pacing study: the mechanism, and the run that shows it."""

EXPLANATIONS: dict[str, str] = {}
