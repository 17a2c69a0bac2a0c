"""What a page of docs/studies asks for, to make the runs that it reads and to check its template."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from page_values import Values, untested
from quiclab.errors import QuiclabError
from quiclab.study.findings import Key
from quiclab.study.manifest import Setting, setting_of
from quiclab.study.registry import find


class Asked(Values):
    """Notes what a page asks for, in place of values: each is 1."""

    def __init__(self) -> None:
        super().__init__({}, None)
        self.needed: dict[tuple[str, str], set[Setting]] = {}

    def value(self, study: str, variant: str, metric: str, key: Key, engine: str = "") -> Mapping[str, Any]:
        """Note a setting."""
        del metric
        found = find(study)
        anything = {"runs": 5, "mean": 1.0, "median": 1.0, "std": 1.0}
        if not self.available(study):
            return anything
        setting = setting_of(found, engine or found.design.default_engine, key)
        self.needed.setdefault((study, variant), set()).add(setting)
        return anything

    def claim(self, study: str, identity: str) -> Mapping[str, Any]:
        """Return a claim without a verdict of its own."""
        del identity
        return untested(study)

    def skill(self, study: str, series: Sequence[Any]) -> Mapping[str, Any]:
        """Return a fidelity without values."""
        del study, series
        return defaultdict(lambda: 1.0)

    def map_score(self, study: str, title: str) -> Mapping[str, Any]:
        """Return a score without values of a map that the study has."""
        if title not in {figure.title for figure in find(study).presentation.figures if figure.map is not None}:
            raise QuiclabError(f"{study} has no map `{title}`")
        return defaultdict(lambda: 1.0)

    def available(self, study: str) -> bool:
        """Return whether the simulator makes the runs of a study."""
        return all(engine.lane is None for engine in find(study).design.engines[:1])

    def samples(self, study: str, metric: str, engine: str = "") -> dict[Key, list[float]]:
        """Return runs of all settings."""
        del metric, engine
        keys = list(find(study).measures.criteria[0].limits)
        return {key: [1.0, 1.0] for key in keys}

    def ranges(self, study: str, metric: str, engine: str = "") -> dict[Key, tuple[int, float, float]]:
        """Return no runs."""
        del study, metric, engine
        return {}

    def over_variants(self, study: str, metric: str, key: Key, engine: str) -> tuple[int, float, float]:
        """Note the setting itself."""
        model, other = (float(self.value(study, "", metric, key, by)["mean"]) for by in ("", engine))
        return 1, model, other

    def source(self, study: str, engine: str = "") -> Mapping[str, Any]:
        """Return a number of runs, and the seed of the study."""
        del engine
        return {"runs": 5, "seed": find(study).design.seed}
