"""Explanations of refuted claims: sentences whose measured values are placeholders.

`{{ T('tcp', batch=500) | figures(1) }}` is the value of a term of the claim's vocabulary over all runs,
`{{ under('at_once').T('tcp', batch=500) | figures(1) }}` that under a variant. Filters: `figures(DIGITS)`,
`signed(DIGITS)`, `percent(DIGITS)` of a ratio with its sign, `share` of a share. A sentence with a value of runs that
were not made is left out.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import jinja2
from quiclab.result.formats import figures, percent, share, signed
from quiclab.study.findings import NotMeasuredError

if TYPE_CHECKING:
    from collections.abc import Mapping


PLACEHOLDER = re.compile(r"\{\{.*?\}\}", re.DOTALL)
#: Where a sentence ends; one with a value that is missing has `HOLE` in it.
SENTENCES = re.compile(r"(?<=[.!?])\s+(?![a-z])")
HOLE = "\0"
FILTERS = {"figures": figures, "signed": signed, "percent": percent, "share": share}


@cache
def environment() -> jinja2.Environment:
    """Return the language of placeholders, which that of generated documents is, too."""
    found = jinja2.Environment(
        undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True, trim_blocks=True
    )
    found.filters |= FILTERS
    return found


def filled(text: str, names: Mapping[str, Any]) -> tuple[str, bool]:
    """Return an explanation with its values, and whether sentences are left out: those whose runs were not made.

    Parameters
    ----------
    text
        The explanation.
    names
        Names of the placeholders.
    """

    def value(found: re.Match[str]) -> str:
        try:
            return environment().from_string(found.group()).render(names)
        except NotMeasuredError:
            return HOLE

    sentences = SENTENCES.split(PLACEHOLDER.sub(value, text))
    whole = [sentence for sentence in sentences if HOLE not in sentence]
    return " ".join(whole), len(whole) < len(sentences)


def left_out(command: str) -> str:
    """Return the sentence that stands for those that are left out; `command` runs the ablations."""
    return f"Sentences with values of ablations that were not run are left out: {command} runs them."
