"""Why findings of the tunnel thesis are refuted here: the mechanism, and the run that shows it."""

EXPLANATIONS: dict[str, str] = {}
