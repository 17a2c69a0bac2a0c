"""How far a predicate is from its limit: the quantitative reading of its comparisons.

A comparison `a < b` becomes (b - a) / max(|a|, |b|), positive where it holds; `and` and `all` become the least of their
parts, `or` and `any` the greatest, `not` the negative. The sign is that of the predicate, and the size that of the
comparison that decides, as the robustness of signal temporal logic (Fainekos and Pappas, Robustness of temporal logic
specifications for continuous-time signals, Theoretical Computer Science 410 (42), 2009), relative because the
comparisons of one predicate have different units. What is no comparison of sizes (a test of significance, a count that
equals another) has no distance: it is infinite, with the sign of its truth.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LEAST, GREATEST, RISING, WHOLE = "_least", "_greatest", "_rising", "_whole"


def relative_rise(low: float | None, high: float | None) -> float:
    """Return (high - low) / max(|low|, |high|); 0 where both are equal, and no margin where one does not exist."""
    if low is None or high is None:
        return -math.inf
    return (high - low) / max(abs(low), abs(high)) if high != low else 0.0


def certainty(truth: object) -> float:
    """Return the margin of what is true or false without a distance."""
    return math.inf if truth else -math.inf


def least(margins: Iterable[float]) -> float:
    """Return the margin of a conjunction; that of none holds."""
    return min(margins, default=math.inf)


def greatest(margins: Iterable[float]) -> float:
    """Return the margin of a disjunction; that of none does not hold."""
    return max(margins, default=-math.inf)


#: Names that the reading of a predicate needs beside those of the predicate.
NAMES: Final[Mapping[str, Any]] = {LEAST: least, GREATEST: greatest, RISING: relative_rise, WHOLE: certainty}
RISES, FALLS = (ast.Lt, ast.LtE), (ast.Gt, ast.GtE)
ALL_OR_ANY: Final[Mapping[str, str]] = {"all": LEAST, "any": GREATEST}


def quantitative(text: str) -> ast.Expression:
    """Return a predicate as an expression for its margin, over the names of the predicate and `NAMES`."""
    tree = ast.parse(text, mode="eval")
    return ast.fix_missing_locations(ast.Expression(_margin(tree.body)))


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _margin(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.BoolOp):
        name = LEAST if isinstance(node.op, ast.And) else GREATEST
        return _call(name, ast.List([_margin(part) for part in node.values], ast.Load()))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ast.UnaryOp(ast.USub(), _margin(node.operand))
    if isinstance(node, ast.Compare) and all(isinstance(op, (*RISES, *FALLS)) for op in node.ops):
        sides = zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
        parts = [_call(RISING, *((one, other) if isinstance(op, RISES) else (other, one))) for one, op, other in sides]
        return _call(LEAST, ast.List(parts, ast.Load()))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ALL_OR_ANY:
        [values] = node.args
        if isinstance(values, ast.GeneratorExp | ast.ListComp):
            each: ast.expr = ast.ListComp(_margin(values.elt), values.generators)
        elif isinstance(values, ast.List | ast.Tuple):
            each = ast.List([_margin(part) for part in values.elts], ast.Load())
        else:
            return _call(WHOLE, node)
        return _call(ALL_OR_ANY[node.func.id], each)
    return _call(WHOLE, node)
