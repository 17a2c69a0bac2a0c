"""What notebooks show of an object: a heading, sentences and small tables, in the colours of the page around them.

The parts are fragments of HTML without a script and without colours of their own, so that light and dark notebooks
show them alike. Every text is escaped; long tables and texts are cut, and say so.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Rows of a table, and characters of a cell and of a sentence, that are shown.
MAX_ROWS: Final = 20
MAX_CELL: Final = 52
MAX_TEXT: Final = 400
_LINE: Final = "1px solid rgba(128,128,128,.4)"
#: Only elements inside the fragment have these styles: other outputs of the notebook stay as they are.
_STYLE: Final = (
    f".quiclab-object table{{border-collapse:collapse;margin:.4em 0;border-bottom:{_LINE}}}"
    ".quiclab-object :is(th,td){padding:.15em .7em;text-align:right;white-space:nowrap;background:none;"
    "border:0;font-weight:normal;font-variant-numeric:tabular-nums}"
    ".quiclab-object :is(th,td).text{text-align:left}"
    f".quiclab-object thead th{{font-weight:600;border-bottom:{_LINE}}}"
    ".quiclab-object p{margin:.3em 0}.quiclab-object .soft{opacity:.75}"
    ".quiclab-object summary{cursor:pointer}.quiclab-object .wide{overflow-x:auto}"
)


def block(title: str, *parts: str) -> str:
    """Return an object: its heading and its parts, which are HTML already."""
    heading = f"<p><strong>{escape(cut(title, MAX_TEXT))}</strong></p>"
    return f'<div class="quiclab-object"><style>{_STYLE}</style>{heading}{"".join(parts)}</div>'


def sentence(text: str, *, soft: bool = False) -> str:
    """Return a sentence; a soft one is less prominent. None for an empty text."""
    return f"<p{' class=soft' if soft else ''}>{escape(cut(text, MAX_TEXT))}</p>" if text else ""


def folded(title: str, *parts: str) -> str:
    """Return parts that a click on their title unfolds; nothing without parts."""
    inside = "".join(parts)
    return f"<details><summary>{escape(title)}</summary>{inside}</details>" if inside else ""


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: int = 1,
    max_rows: int = MAX_ROWS,
    hints: Mapping[str, str] | None = None,
) -> str:
    """Return a table; nothing without rows.

    Parameters
    ----------
    heads, rows
        Its texts.
    left
        Number of columns that stand to the left: texts, of which the first is the head of its row.
    max_rows
        Rows that are shown; a sentence below says how many there are more.
    hints
        What the pointer shows over the first cell of a row, by the text of the cell.
    """
    rows = list(rows)
    if not rows:
        return ""
    kinds = [' class="text"' if index < left else "" for index in range(len(heads))]
    head = "".join(f'<th scope="col"{kind}>{escape(cut(text))}</th>' for kind, text in zip(kinds, heads, strict=True))
    body = "".join(_row(row, kinds, (hints or {}).get(row[0], "")) for row in rows[:max_rows])
    more = sentence(f"{len(rows) - max_rows} further rows are not shown.", soft=True) if len(rows) > max_rows else ""
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}'


def _row(row: Sequence[str], kinds: Sequence[str], hint: str) -> str:
    first, *rest = [escape(cut(text)) for text in row]
    about = f' title="{escape(cut(hint, MAX_TEXT))}"' if hint else ""
    cells = "".join(f"<td{kind}>{text}</td>" for kind, text in zip(kinds[1:], rest, strict=True))
    return f'<tr><th scope="row"{kinds[0]}{about}>{first}</th>{cells}</tr>'


def cut(text: str, max_characters: int = MAX_CELL) -> str:
    """Return a text of at most so many characters; an ellipsis ends one that was longer."""
    return text if len(text) <= max_characters else f"{text[: max_characters - 1]}…"
