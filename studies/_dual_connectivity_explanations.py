"""Refuted claims of QUIC over Dual Connectivity: the mechanism, and the run that shows it."""

EXPLANATIONS: dict[str, str] = {}
