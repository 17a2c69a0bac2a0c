"""Claims and their verdicts on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.report.show import console, percent
from quiclab.result.tables import text
from quiclab.study.ablation import Support
from quiclab.study.agreement import agreement, sentences
from quiclab.study.claims import Errors, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERDICT_STYLES = {
    Verdict.CONFIRMED: "green",
    Verdict.REFUTED: "red",
    Verdict.UNDECIDED: "yellow",
    Verdict.AT_THE_LIMIT: "yellow",
}


def claims(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print claims with their verdicts and numbers."""
    out = console()
    several = len({entry["engine"] for entry in entries}) > 1
    for entry in entries:
        verdict = Verdict(entry["verdict"])
        out.print()
        out.print(f"{entry['identity']}  ", end="", style="bold")
        out.print(verdict.word, style=VERDICT_STYLES.get(verdict, "dim"), end="")
        share = entry["share_true"]
        out.print("" if share is None else f"  (true in {100 * share:.1f} % of the resamples)", end="")
        out.print(f"  {entry['engine']}" if several else "", style="dim")
        out.print(f"  {entry['statement']}")
        for label, key in (("in part", "scope"), ("why", "reason"), ("note", "note")):
            if entry[key]:
                out.print(f"  {label}: {entry[key]}", style="dim")
        for line in explained(entry):
            out.print(f"  {line}", style="dim", soft_wrap=True)
        if entry["limit"] is not None:
            out.print(f"  {distance(entry['limit'])}", style="dim")
        for name, value in entry["numbers"].items():
            out.print(f"    {name}: {text(value)}")
    words = [Verdict(entry["verdict"]).word for entry in entries]
    out.print()
    out.print(", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)) or "no claims", style="bold")
    for line in sentences(agreement(entries)):
        out.print(line, soft_wrap=True)


def explained(entry: Mapping[str, Any]) -> list[str]:
    """Return the explanation of a refuted claim, and what its ablation says of it."""
    if entry["verdict"] != Verdict.REFUTED:
        return []
    lines = [f"explanation: {entry['explanation']}" if entry["explanation"] else "explanation: the cause is not known"]
    if (ablation := entry["ablation"]) is not None:
        share = ablation["share_true"]
        held = "" if share is None else f", as expected in {percent(share)} of the resamples"
        why = f" ({ablation['reason']})" if ablation["reason"] else ""
        lines.append(f"ablation: {ablation['removed']}: {Support(ablation['support']).word}{held}{why}")
        lines += [f"  {label}: {text(value)}" for label, value in ablation["numbers"].items()]
    return lines


#: Standard errors within which tables were drawn, by `Errors`.
DRAWN = {
    Errors.PRINTED: "the published standard errors",
    Errors.MEASURED: "the standard errors of the runs, as the source prints none",
}


def distance(limit: Mapping[str, Any]) -> str:
    """Return how far an open claim is from its limit, as a sentence."""
    margins = [
        f"{word} {percent(margin, '+')}"
        for word, margin in (("published", limit["published_margin"]), ("measured", limit["measured_margin"]))
        if margin is not None
    ]
    parts = [f"distance from its limit: {', '.join(margins)}"] if margins else []
    if (share := limit["published_share_true"]) is not None:
        parts.append(f"true in {percent(share)} of the tables drawn within {DRAWN[Errors(limit['errors'])]}")
    return "; ".join(parts) or "its source has no table that tells how far it is from its limit"
