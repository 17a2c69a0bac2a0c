"""Losses declared by a stack, compared with those of the standard at the times of the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.analysis.losses import quic_trace, rfc8985, rfc9002, tcp_trace
from quiclab.analysis.losses.events import AckReceived, Lost, SenderLog, Sent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from quiclab.result import RunResult

FLOW = "main"
QUIC_SLACK_MS = 1.0
TCP_SLACK_MS = 4.0
"""Ticks of 1 ms by which Linux' timers are late: two on purpose (`TCP_TIMEOUT_MIN`), up to two by rounding."""
DECIMALS = 6


def judge(result: RunResult, directory: Path) -> dict[str, Any]:
    """Judge the sender of the flow `main`.

    Parameters
    ----------
    result
        The run.
    directory
        Where its qlog files and captures are.

    Returns
    -------
    dict
        `declared` and `expected`, each a list of `number`, `sent_ms`, `time_ms`, `spurious`, `rule`; `agrees`; `named`,
        whether it is known which packets were declared, and not only how many; `told`, how it is known; `sent` and
        `acknowledged`, lists of time and number; `dropped`, those that did not arrive.
    """
    flow = result.data["scenario"]["flows"][FLOW]
    stack = str(flow["sender"].get("stack") or flow["stack"])
    tcp = stack == "lab-tcp"
    trace = tcp_trace.read(directory, FLOW) if tcp else quic_trace.read(directory, FLOW, stack)
    expected = (rfc8985 if tcp else rfc9002).declared(trace.events, trace.closed_ms)
    slack_ms = TCP_SLACK_MS if tcp else QUIC_SLACK_MS
    named = trace.told != quic_trace.COUNTED
    sent = [event for event in trace.events if isinstance(event, Sent) and event.space == "1RTT"]
    return {
        "standard": "RFC 8985" if tcp else "RFC 9002",
        "stack": stack,
        "profile": flow["sender"].get("profile") or "",
        "told": trace.told,
        "declared": _rows(trace, trace.lost),
        "expected": _rows(trace, expected),
        "named": named,
        "agrees": (agrees if named else agrees_in_number)(trace.lost, expected, slack_ms),
        "sent": [(round(event.time_ms, DECIMALS), event.number) for event in sent],
        "acknowledged": _acknowledged(trace),
        "dropped": [
            (round(event.time_ms, DECIMALS), event.number)
            for event in sent
            if (event.number, event.time_ms) not in trace.arrived
        ],
    }


def agrees(declared: Sequence[Lost], expected: Sequence[Lost], slack_ms: float) -> bool:
    """Return whether both declare the same packets lost, at times that differ by at most `slack_ms`."""
    key = {(item.number, item.sent_ms): item.time_ms for item in declared}
    wanted = {(item.number, item.sent_ms): item.time_ms for item in expected}
    return (
        len(key) == len(declared)
        and key.keys() == wanted.keys()
        and all(abs(key[name] - wanted[name]) <= slack_ms for name in key)
    )


def agrees_in_number(declared: Sequence[Lost], expected: Sequence[Lost], slack_ms: float) -> bool:
    """Return whether both declare the same number of losses at the same times, regardless of packet numbers.

    For a stack that only counts losses: quiclab's adapter derives the numbers by the rule of RFC 9002, so a comparison
    of numbers would match the standard regardless of the stack.
    """
    times = [sorted(item.time_ms for item in side) for side in (declared, expected)]
    return len(declared) == len(expected) and all(
        abs(one - other) <= slack_ms for one, other in zip(*times, strict=True)
    )


def _rows(trace: SenderLog, lost: Sequence[Lost]) -> list[Mapping[str, Any]]:
    return [
        {
            "number": item.number,
            "sent_ms": round(item.sent_ms, DECIMALS),
            "time_ms": round(item.time_ms, DECIMALS),
            "spurious": (item.number, item.sent_ms) in trace.arrived,
            "rule": item.rule,
        }
        for item in lost
    ]


def _acknowledged(trace: SenderLog) -> list[tuple[float, int]]:
    """Return when each packet was first acknowledged."""
    spans = {event.number: event.span for event in trace.events if isinstance(event, Sent) and event.space == "1RTT"}
    open_numbers = dict.fromkeys(spans)
    found = []
    for event in trace.events:
        if not isinstance(event, AckReceived) or event.space != "1RTT":
            continue
        for number in list(open_numbers):
            start, end = spans[number]
            if end:
                known = end <= event.cumulative or any(first <= start and end <= past for first, past in event.ranges)
            else:
                known = any(first <= number <= last for first, last in event.ranges)
            if known:
                found.append((round(event.time_ms, DECIMALS), number))
                del open_numbers[number]
    return found
