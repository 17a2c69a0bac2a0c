"""Claims whose predicates a reference states as Python expressions over named terms.

A reference is a YAML list of findings with `id`, `source`, `statement` and `check`: an expression over the names that
the study gives it (`Vocabulary`) and a few builtins. `claim` makes a `Claim` of it, which `quiclab.study.claims.judge`
evaluates as it does any other.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import yaml

from quiclab.study import margins
from quiclab.study.ablation import evaluate
from quiclab.study.claims import Claim
from quiclab.study.findings import NotMeasuredError, Sample

if TYPE_CHECKING:
    from pathlib import Path
    from types import CodeType

    from quiclab.result.stats import Statistic
    from quiclab.study.ablation import Ablation, Readings
    from quiclab.study.findings import Key

Note: TypeAlias = Callable[[str, float], None]
"""Called with each term that a predicate reads, as text, and its value."""
BUILTINS = (abs, all, any, len, list, max, min, range, sum, zip)


class Vocabulary(ABC):
    """The names that the predicates of a study may use, over one sample.

    Parameters
    ----------
    sample
        The sample of the claim.
    home
        Study that reports the claim, without the group.
    note
        Called with each term and its value.
    """

    group: str
    """Group of the studies that the predicates read."""

    def __init__(self, sample: Sample, home: str, note: Note | None = None) -> None:
        self._sample, self._home, self._note = sample, home, note
        self._views: dict[tuple[str, str, Statistic], Sample] = {}
        builtins = {function.__name__: function for function in BUILTINS}
        self.mapping: dict[str, Any] = {**builtins, **self.names(), **margins.NAMES, "__builtins__": {}}

    @abstractmethod
    def names(self) -> Mapping[str, Any]:
        """Return the definitions of names, in addition to or instead of the builtins."""

    def view(self, study: str, metric: str = "", statistic: Statistic = "mean") -> Sample:
        """Return the sample of a metric of a study of the group, by its name without the group."""
        asked = (study, metric, statistic)
        if asked not in self._views:
            self._views[asked] = self._sample.of(self._name(study), metric, statistic)
        return self._views[asked]

    def not_measured(self, key: Key, study: str) -> NotMeasuredError:
        """Return the error about a setting without a value in a study of the group, by its name without the group."""
        return NotMeasuredError(key, self._name(study))

    def _name(self, study: str) -> str:
        """Return the name of a study of the group; it is empty for the claim's own."""
        return "" if study == self._home else f"{self.group}/{study}"

    def tell(self, text: str, value: float) -> float:
        """Note a term and its value; returns the value."""
        if self._note is not None:
            self._note(text, value)
        return value

    def noted(self, name: str) -> Callable[..., float]:
        """Return a method of this vocabulary that notes each of its calls as a term."""
        function = getattr(self, name)
        if self._note is None:
            return function  # type: ignore[no-any-return]
        return lambda *positional, **named: self.tell(term(name, *positional, **named), function(*positional, **named))

    def evaluate(self, code: CodeType) -> object:
        """Evaluate a predicate of the reference, which comes with the repository."""
        return evaluate(code, self.mapping)


class _WithoutStops(ast.NodeTransformer):
    """Replaces what stops at the first false or true part by lists of all parts."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        name = "all" if isinstance(node.op, ast.And) else "any"
        parts = ast.List([self.visit(part) for part in node.values], ast.Load())
        return ast.Call(ast.Name(name, ast.Load()), [parts], [])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        self.generic_visit(node)
        return ast.ListComp(node.elt, node.generators)


def without_stops(text: str) -> ast.Expression:
    """Return a predicate that evaluates all of its terms, also where the first of them decide."""
    return ast.fix_missing_locations(_WithoutStops().visit(ast.parse(text, mode="eval")))  # type: ignore[no-any-return]


def term(name: str, *positional: object, **named: object) -> str:
    """Write a term as in the predicate."""
    return f"{name}({', '.join([*map(str, positional), *(f'{key}={value}' for key, value in named.items())])})"


@dataclass(frozen=True)
class Reference:
    """The findings of a publication and how a study tests them.

    Parameters
    ----------
    file
        The findings.
    vocabulary
        The names in their predicates.
    places
        Identities of the claims that each study reports, by its name without the group.
    read_as
        Predicates that are not those of the file word for word.
    scopes, notes, explanations, ablations, by_construction
        Further attributes of claims, by identity.
    untested
        Reasons why claims cannot be tested here, by identity.
    every_term
        Whether the evidence has all terms of a predicate, also those after a condition that is false; not where a
        condition states when the terms after it have a value.

    Raises
    ------
    ValueError
        When the entries are read, if an attribute is of a claim that the file does not have.
    """

    file: Path
    vocabulary: type[Vocabulary]
    places: Mapping[str, tuple[str, ...]]
    read_as: Mapping[str, str] = field(default_factory=dict)
    scopes: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    explanations: Mapping[str, str] = field(default_factory=dict)
    ablations: Mapping[str, Ablation] = field(default_factory=dict)
    by_construction: tuple[str, ...] = ()
    untested: Mapping[str, str] = field(default_factory=dict)
    every_term: bool = False

    @cached_property
    def entries(self) -> Mapping[str, Mapping[str, str]]:
        """The entries of the file by identity."""
        entries = read_entries(self.file)
        by_claim = (self.read_as, self.scopes, self.notes, self.explanations, self.ablations, self.untested)
        named = {*self.by_construction, *(identity for attribute in by_claim for identity in attribute)}
        if other := sorted(named - entries.keys()):
            raise ValueError(f"{self.file} has no claim {', '.join(other)}")
        return entries

    def claims(self, study: str) -> tuple[Claim, ...]:
        """Return the claims that a study reports, by its name without the group."""
        return tuple(self.claim(identity, study) for identity in self.places.get(study, ()))

    def claim(self, identity: str, home: str) -> Claim:
        """Build a claim from its entry."""
        entry = self.entries[identity]
        statement = " ".join(entry["statement"].split())
        if identity in self.untested:
            reason = " ".join(self.untested[identity].split())
            return Claim(identity, entry["source"], statement, None, reason=reason)
        text = self._text(identity)
        code = compile(text, identity, "eval")
        whole = compile(without_stops(text), identity, "eval") if self.every_term else code
        distance = compile(margins.quantitative(text), identity, "eval")

        @lru_cache(maxsize=1)
        def names(sample: Sample) -> Vocabulary:
            # over one sample for all its resamples, for which a vocabulary may compute terms at once
            return self.vocabulary(sample, home)

        def terms(sample: Sample) -> Mapping[str, float]:
            found: dict[str, float] = {}
            self.vocabulary(sample, home, found.__setitem__).evaluate(whole)
            return found

        return Claim(
            identity,
            entry["source"],
            statement,
            lambda sample: bool(names(sample).evaluate(code)),
            terms,
            scope=self.scopes.get(identity, ""),
            note=self.notes.get(identity, ""),
            by_construction=identity in self.by_construction,
            explanation=" ".join(self.explanations.get(identity, "").split()),
            ablation=self._ablation(identity, home),
            terms=lambda readings: self.terms(readings, home),
            margin=lambda sample: cast("float", self.vocabulary(sample, home).evaluate(distance)),
        )

    def terms(self, readings: Readings, home: str = "", note: Note | None = None) -> dict[str, Any]:
        """Return the names of the vocabulary over the runs, and `under`, which has them under a variant.

        Parameters
        ----------
        readings
            From the name of a variant to a sample.
        home
            Study that reports the claim, without the group.
        note
            Called with each term and its value.
        """

        @cache
        def under(variant: str) -> SimpleNamespace:
            def noted(text: str, value: float) -> None:
                if note is not None:
                    note(f"{text} under {variant}" if variant else text, value)

            words = self.vocabulary(readings(variant), home, noted if note else None)
            return SimpleNamespace(**{name: value for name, value in words.mapping.items() if not name.startswith("_")})

        return {**vars(under("")), "under": under}

    def _ablation(self, identity: str, home: str) -> Ablation | None:
        """Return the ablation of a claim with functions in place of the expression; the evidence has all terms."""
        ablation = self.ablations.get(identity)
        if ablation is None:
            return None
        text = ablation.shows or self._text(identity)
        code, whole = compile(text, identity, "eval"), compile(without_stops(text), identity, "eval")

        def names(readings: Readings, note: Note | None) -> dict[str, Any]:
            """Return the names in the predicate: those under a variant, if the claim itself must hold there."""
            terms = self.terms(readings, home, note)
            return {**(vars(terms["under"](ablation.variant)) if ablation.variant else terms), "__builtins__": {}}

        return ablation.stated(code, whole, names)

    def _text(self, identity: str) -> str:
        """Return the predicate of a claim as an expression."""
        return " ".join(self.read_as.get(identity, self.entries[identity]["check"]).split())


def read_entries(file: Path) -> Mapping[str, Mapping[str, str]]:
    """Read the entries of a reference by identity."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is ten times as fast
    return {entry["id"]: entry for entry in yaml.load(file.read_text(encoding="utf-8"), loader)}  # noqa: S506 - safe
