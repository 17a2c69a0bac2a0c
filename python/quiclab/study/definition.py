"""Definition of a study: its design, what is measured, and how it is presented.

A module of a study builds these values and lists them as `STUDIES`; it reads like the abstract of an experiment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab.errors import RequestError, lower_first, not_one_of, unknown
from quiclab.study.parts import BASE, Changes, Factor, Point, Value
from quiclab.study.points import configurations_of, point_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from quiclab.study.design import Design
    from quiclab.study.measures import Measures
    from quiclab.study.presentation import Presentation


@dataclass(frozen=True)
class Study:
    """An experiment, ready to run.

    Attributes
    ----------
    name
        `group/experiment`.
    design
        What is run.
    measures
        What is measured and judged.
    presentation
        How it is shown.
    drawn
        Makes the study with the settings of another seed, if they are drawn from it.
    asked_seed
        The seed that was asked for in place of the study's own.
    file
        The file that lists it; set when the study is found.
    """

    name: str
    design: Design
    measures: Measures
    presentation: Presentation
    drawn: Callable[[int], Study] | None = None
    asked_seed: int | None = None
    file: Path = Path()

    def with_seed(self, seed: int) -> Study:
        """Return the study with another seed, and with settings drawn from it where it draws them."""
        found = replace(self, design=replace(self.design, seed=seed)) if self.drawn is None else self.drawn(seed)
        return replace(found, asked_seed=seed, file=self.file)

    @property
    def home(self) -> Path:
        """Directory that scenario and tables are relative to: that of the package or folder with its file."""
        return self.file.parent.parent

    @property
    def is_series(self) -> bool:
        """Whether its results are series over one factor, which have a shape, a knee and an optimum."""
        one_number = len(self.design.swept) == 1 and not any(
            isinstance(value, str) for value in self.design.swept[0].values
        )
        return bool(self.measures.series_factor) or one_number

    @property
    def series_factors(self) -> tuple[Factor, ...]:
        """Factors that distinguish series: all except the series factor, if it is named; otherwise parts of runs."""
        return (
            tuple(item for item in self.design.factors if item.name != self.measures.series_factor)
            if self.measures.series_factor
            else self.design.parts
        )

    def series_key(self, key: Sequence[Value]) -> tuple[Value, ...]:
        """Return the series of a setting: its configuration, and the values of the series factors."""
        values = dict(zip((factor.name for factor in self.design.factors), key[1:], strict=False))
        return (key[0], *(values[factor.name] for factor in self.series_factors))

    def series_label(self, key: Sequence[Value]) -> str:
        """Return the name of a series in figures, from its key."""
        parts = [
            factor.words.get(value, str(value)) for factor, value in zip(self.series_factors, key[1:], strict=False)
        ]
        if parts and len(self.design.configurations) == 1:
            return ", ".join(parts)
        return ", ".join([self.design.labels.get(str(key[0]), str(key[0])), *parts])

    def setting_label(self, key: Sequence[Value]) -> str:
        """Return the name of a setting for readers, from its key: configuration and value of each factor.

        What a claim adds to a key is shown as it is, the name of a metric as its label.
        """
        labels = {metric.name: lower_first(metric.label) for metric in self.measures.metrics}
        labels |= self.design.labels
        parts = [labels.get(str(key[0]), str(key[0]))]
        values = list(key[1:])
        for factor in self.design.factors:
            if values and values[0] in factor.values:
                value = values.pop(0)
                word = factor.word(value)
                parts.append(word if value in factor.words else f"{lower_first(factor.label)} {word}")
        return ", ".join([*parts, *(labels.get(str(value), str(value)) for value in values)])

    def engines_of(self, lane: str, choice: str) -> tuple[str, ...]:
        """Read `--engines` as `chosen_engines` does, among the engines of one lane.

        Raises
        ------
        RequestError
            If the study has no such engine there.
        """
        there = [engine.name for engine in self.design.engines if engine.lane_name == lane]
        if not there:
            has = ", ".join(f"{engine.name} ({engine.lane_name})" for engine in self.design.engines)
            raise RequestError(f"study {self.name} has no engine of lane {lane}; available: {has}")
        if choice in ("default", "all"):
            return tuple(there[:1] if choice == "default" else there)
        chosen = self.chosen_engines(choice)
        for name in chosen:
            if name not in there:
                raise not_one_of("engines", name, there, f"in lane {lane}", where=f"study {self.name}")
        return chosen

    def chosen_engines(self, choice: str) -> tuple[str, ...]:
        """Return the engines of `--engines`: `default`, `all`, or names joined by commas.

        Raises
        ------
        RequestError
            If the study does not have an engine of that name.
        """
        names = tuple(engine.name for engine in self.design.engines)
        if choice == "default":
            return names[:1]
        if choice == "all":
            return names
        chosen = self._named(choice, "engine", names)
        return tuple(name for name in names if name in chosen)

    def with_reference(self, engines: Sequence[str]) -> tuple[str, ...]:
        """Add the engine that the others are compared with, if there is one, in the order of the study."""
        return tuple(
            engine.name for engine in self.design.engines if engine.name in (*engines, self.measures.table.engine)
        )

    def chosen_variants(self, choice: str) -> tuple[str, ...]:
        """Return the variants of `--variants`: `none`, `all`, or names joined by commas.

        Raises
        ------
        RequestError
            If the study does not have a variant of that name.
        """
        names = tuple(variant.name for variant in self.design.variants)
        if choice in ("none", "all"):
            return names if choice == "all" else ()
        return self._named(choice, "variant", names)

    def check_variants(self, variants: Sequence[str], engines: Collection[str]) -> None:
        """Check that each variant is for one of these engines at least.

        Raises
        ------
        RequestError
            If one is for other engines only.
        """
        for variant in self.design.variants:
            known = (self.design.default_engine, *variant.engines)
            if variant.name in variants and not set(known) & set(engines):
                raise RequestError(
                    f"variant {variant.name} of {self.name} is run with {' or '.join(known)}, not with "
                    f"{' or '.join(engines)}"
                )

    def _named(self, choice: str, kind: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names in a choice.

        Raises
        ------
        RequestError
            If one of them is none of the study's.
        """
        chosen = tuple(name.strip() for name in choice.split(","))
        for name in chosen:
            if name not in names:
                raise unknown(kind, name, names, where=f"study {self.name}")
        return chosen

    def points(
        self,
        engines: tuple[str, ...],
        runs: int | None = None,
        only: Mapping[str, tuple[str, ...]] | None = None,
        variants: tuple[str, ...] | None = None,
    ) -> Iterator[Point]:
        """List the settings to run: each engine as published, then the variants with the engines that they are for.

        Parameters
        ----------
        engines
            Names of engines.
        runs
            Repetitions of each setting; the study's own number by default. Bounds of engines and variants hold.
        only
            Values to keep, by `configuration`, `variant`, `engine` or the name or column of a factor.
        variants
            Names of variants; all by default.

        Raises
        ------
        RequestError
            If `only` names something else, or keeps nothing.
        """
        keep = self._checked(only or {})
        count = runs or self.design.runs
        plans: list[tuple[str, str, int, Changes | Callable[[Changes], Changes]]] = []
        chosen = [engine for engine in self.design.engines if engine.name in engines]
        plans += [(engine.name, BASE, min(count, engine.runs or count), {}) for engine in chosen]
        plans += [
            (engine.name, variant.name, min(count, variant.runs, engine.runs or count), variant.changes)
            for variant in self.design.variants
            if variants is None or variant.name in variants
            for engine in chosen
            if engine.name in (self.design.default_engine, *variant.engines)
        ]
        found = False
        for engine_name, variant_name, repetitions, changes in plans:
            for configuration in configurations_of(self, engine_name):
                for values in product(*(factor.values for factor in self.design.factors)):
                    point = point_of(self, engine_name, variant_name, configuration, values, changes, repetitions)
                    if all(str(point.labels[key]) in allowed for key, allowed in keep.items()):
                        found = True
                        yield point
        if not found:
            wanted = ", ".join(f"{key}={'|'.join(values)}" for key, values in keep.items())
            raise RequestError(f"no setting of {self.name} has {wanted}")

    def _checked(self, only: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Check keys and values of `--only`, and translate the keys to columns."""
        columns, where = self.design.keys, f"study {self.name}"
        for key in only:
            if key not in columns:
                raise unknown("column", key, columns, where=where)
        return {columns[key]: tuple(self._label(key, columns[key], value) for value in only[key]) for key in only}

    def _label(self, key: str, column: str, text: str) -> str:
        """Return the label of a setting that `--only` names: of a number, in any notation."""
        known = self.design.labels_of(column)
        if text in known:
            return text
        same = [label for label in known if (number := _number(label)) is not None and number == _number(text)]
        if not same:
            raise not_one_of(f"--only {key}", text, known, where=f"study {self.name}")
        return same[0]


def _number(text: str) -> float | None:
    """Return the number that a text is; `None` if it is none."""
    try:
        return float(text)
    except ValueError:
        return None
