"""Outputs of commands that a document shows, written anew from what the commands print now.

A block shows an output whole, or leaves lines out with `...`. What lies between two of these is a passage: it begins
with the line of the output that is like its first line, and ends with the one that is like its last. So tables may gain
rows and columns, and numbers may change, while a document keeps its choice of what it shows. A document that is being
written needs no more than the beginnings of these lines: an empty block becomes the whole output.
"""

from __future__ import annotations

import itertools
import re

#: The line that stands for lines left out.
OMITTED = "..."


class NoSuchLineError(ValueError):
    """A passage of a document is in the output no longer."""


def cells(line: str) -> list[str]:
    """Return the cells of a row of a table."""
    return re.split(r"\s{2,}", line.strip())


def shape(line: str) -> str:
    """Return a line without its numbers, digests and widths of columns."""
    return re.sub(r"[─-]+", "-", re.sub(r"\S*\d\S*", "0", " ".join(line.split())))


def likeness(old: str, new: str) -> tuple[bool, bool, int]:
    """Return how much a line is like an older one: equal, of the same shape, and the number of equal leading cells."""
    pairs = zip(cells(old), cells(new), strict=False)
    leading = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    return old == new, shape(old) == shape(new), leading


def find(old: str, output: list[str], start: int, expected: int) -> int:
    """Return the index of the line that is most like an older one, of several the one nearest to where it is expected.

    Raises NoSuchLineError if none has the same shape, the same first cell, or begins with the older line.
    """
    scored = {index: likeness(old, output[index]) for index in range(start, len(output))}
    begins = {index for index in scored if old and output[index].strip().startswith(old.strip())}
    like = {
        index: (equal, leading, same, index in begins)
        for index, (equal, same, leading) in scored.items()
        if (output[index] and (leading or same or index in begins)) or equal
    }
    if not like:
        message = f"no line like {old.strip()!r} in the output"
        raise NoSuchLineError(message)
    best = max(like.values())
    return min((index for index, score in like.items() if score == best), key=lambda index: abs(index - expected))


def lines(text: str) -> list[str]:
    """Return the lines of a text, without spaces at their ends and empty lines at its ends."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n").splitlines()


def renewed(shown: str, printed: str) -> str:
    """Return what a block shows of an output that is printed now.

    Raises NoSuchLineError where a passage does not begin or end in the output.
    """
    output, old = lines(printed), lines(shown)
    passages = [list(group) for omitted, group in itertools.groupby(old, lambda line: line == OMITTED) if not omitted]
    if not old or not passages:
        return "".join(line + "\n" for line in output)
    new: list[str] = [OMITTED] if old[0] == OMITTED else []
    position = 0
    for number, passage in enumerate(passages):
        first, last = number == 0 and old[0] != OMITTED, number == len(passages) - 1 and old[-1] != OMITTED
        begin = 0 if first else find(passage[0], output, position, position)
        if last:
            end = len(output)
        elif len(passage) == 1:
            end = begin + 1
        else:
            end = find(passage[-1], output, begin + 1, begin + len(passage) - 1) + 1
        new += output[begin:end]
        if not last:
            new.append(OMITTED)
        position = end
    return "".join(line + "\n" for line in new)
