"""Human-readable output of the command line, with rich tables on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import rich
from quiclab.result.formats import number
from quiclab.result.tables import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from quiclab.experiment.sweeps.metrics import Measure
    from quiclab.result import RunResult
    from quiclab.scenario.examples import Example
    from quiclab.scenario.fields import Table as FieldTable
    from quiclab.study.multiverse import Row


def console() -> rich.console.Console:
    """Return a console on stdout; lines are cut at the terminal only."""
    plain = rich.console.Console(highlight=False, markup=False, soft_wrap=False)
    return plain if plain.is_terminal else rich.console.Console(highlight=False, markup=False, width=160)


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]] = (), *, left: int = 1) -> rich.table.Table:
    """Return a table; the first `left` columns are texts, the others numbers."""
    result = rich.table.Table(
        title=title, title_justify="left", title_style="bold", box=rich.box.SIMPLE_HEAD, pad_edge=False
    )
    for index, column in enumerate(columns):
        result.add_column(column, justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        result.add_row(*row)
    return result


def difference(found: Mapping[str, Any], a: RunResult, b: RunResult, names: tuple[str, str]) -> None:
    """Print the first packet at which two runs differ, and their flows side by side."""
    out = console()
    if found["identical"]:
        out.print("identical: all packet events are equal when this build repeats both runs", style="bold")
    else:
        out.print(f"first difference at packet event {found['index']}", style="bold")
        keys = ("time_ns", "element", "event", "port", "flow", "size_bytes")
        sides = (found["a"], found["b"])
        events = ([key, *((text(side[key]) if side else "ended") for side in sides)] for key in keys)
        out.print(table("", ["", *names], events))
    flows = table("Summaries", ["flow", "value", *names], left=2)
    for name in dict.fromkeys([*a.flows, *b.flows]):
        for key in ("delivered_bytes", "download_time_s", "goodput_mbps"):
            values = [getattr(r.flows[name], key) if name in r.flows else None for r in (a, b)]
            flows.add_row(name, key, *(text(value) for value in values))
    flows.add_row("", "seed", str(a.seed), str(b.seed))
    flows.add_row("", "digest", a.digest, b.digest)
    out.print(flows)


def percent(value: float, sign: str = "") -> str:
    """Write a ratio as percent."""
    return f"{100 * value:{sign}.1f} %"


def rows(entries: Sequence[Mapping[str, Any]], title: str) -> None:
    """Print rows that share their columns."""
    console().print(table(title, entries[0] if entries else [], (map(text, row.values()) for row in entries)))


def studies(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print the studies; names are never cut, because commands take them."""
    cells = (
        (row["name"], row["title"], ", ".join(row["engines"]), str(row["settings"]), str(row["runs"]))
        for row in entries
    )
    shown = table("", ["study", "title", "engines", "settings", "runs each"], cells, left=3)
    shown.columns[0].no_wrap = True
    console().print(shown)


def stacks(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print the engines."""
    shown = table("", ["stack", "version", "protocol", "workloads", "profiles", "description"], left=6)
    for entry in entries:
        lists = [", ".join(entry["workloads"]), ", ".join(profile["name"] for profile in entry["profiles"]) or "-"]
        shown.add_row(entry["name"], entry["version"], entry["protocol"], *lists, entry["description"])
    console().print(shown)


def examples(found: Iterable[Example]) -> None:
    """Print the names and descriptions of examples, and what to do with them."""
    shown = table("", ["example", "description"], left=2)
    for item in found:
        shown.add_row(item.name, item.description)
    console().print(shown)
    print("`quiclab scenario new NAME --out FILE` writes one")


def stack(entry: Mapping[str, Any], controls: Sequence[str] = ()) -> None:
    """Print controls and options of one engine, then in what its profiles depart from them, each with its source."""
    out = console()
    out.print(f"{entry['name']} {entry['version']}: {entry['description']}")
    out.print(f"protocol {entry['protocol']}; workloads {', '.join(entry['workloads'])}")
    if controls:
        out.print(f"congestion controls {', '.join(controls)}", soft_wrap=True)
    if not entry["options"]:
        out.print("It has no options.")
        return
    out.print(_options(("option", "meaning", "default", "source"), entry["options"]))
    for profile in entry["profiles"]:
        departing = departures(entry, profile)
        ending = "; instead of the above:" if departing else ": the above"
        out.print(f"profile {profile['name']}: {profile['description']}{ending}", style="bold")
        if departing:
            out.print(_options(("option", "meaning", "value", "source"), departing))
    if entry.get("operations"):
        operations(entry["operations"])


def fields(found: Iterable[FieldTable]) -> None:
    """Print fields of scenarios, and values of choices, with what is known of each."""
    out = console()
    for item in found:
        if item.kind or item.meaning:
            out.print(": ".join(filter(None, (item.kind, item.meaning))), style="bold", soft_wrap=True)
        if item.values:
            out.print(table("", ("value", "meaning"), item.values, left=2))
        else:
            rows = ((row.name, row.type, row.default or "-", row.meaning, row.constraint) for row in item.fields)
            out.print(table("", ("field", "type", "default", "meaning", "constraint"), rows, left=5))


def operations(entries: Iterable[Mapping[str, Any]]) -> None:
    """Print computations that a plugin can exchange."""
    columns = ["operation", "result", "allowed", "when", "inputs"]
    rows = (
        (entry["name"], entry["meaning"], limits(entry), entry["when"], ", ".join(name for name, _ in entry["inputs"]))
        for entry in entries
    )
    console().print(table("Computations that a plugin can exchange", columns, rows, left=5))


def limits(operation: Mapping[str, Any]) -> str:
    """Return the limits of the result of an operation."""
    span = f"{number(operation['least'])} to {int(operation['most'])} {operation['unit']}".strip()
    return f"{span}, whole" if operation["whole"] else span


def departures(stack: Mapping[str, Any], profile: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the options of a profile whose value is not the default of its stack.

    Parameters
    ----------
    stack, profile
        As `quiclab stack show --json` prints them: both list the same options.
    """
    defaults = {_key(option): option["default"] for option in stack["options"]}
    return [option for option in profile["options"] if option["default"] != defaults.get(_key(option))]


def _key(option: Mapping[str, Any]) -> tuple[Any, Any]:
    return option["option"], option["meaning"]


def _options(columns: Sequence[str], options: Iterable[Mapping[str, Any]]) -> rich.table.Table:
    keys = ("option", "meaning", "default", "source")
    return table("", columns, ([text(option[key] or "(fixed)") for key in keys] for option in options), left=4)


def multiverse(found: Sequence[Row]) -> None:
    """Print each claim with its outcome as published, and the readings in which it is another."""
    out = console()
    if not found:
        out.print("no claim was tested in any reading")
        return
    shown = table("Claims over all readings", ["claim", "as published", "readings", "outcome"], left=4)
    for row in found:
        base = row.base
        differing = ", ".join(f"{name}: {row.interpretations[name].outcome}" for name in row.differing)
        outcome = differing or row.summary
        shown.add_row(row.claim.identity, base.outcome if base else "-", str(len(row.interpretations)), outcome)
    out.print(shown)


def page_loads(document: Mapping[str, Any], left_out: str) -> None:
    """Print the load times of a page, what of the recording was left out, and the assumptions about it."""
    out = console()
    page = document["page"]
    out.print(f"{page['url']} over {document['network']['scenario']}", style="bold")
    out.print(
        f"{page['resources']} resources of {len(page['origins'])} servers, {page['body_bytes'] / 1e6:.2f} MB, "
        f"chains of up to {page['depth']}; TLS: {str(document['tls']).replace('_', ' ')}"
    )
    out.print(left_out)
    times = table(
        "Page load times", ["stack", "mean [ms]", "standard deviation [ms]", "runs", "HTML [ms]", "connections"]
    )
    for stack in document["stacks"]:
        typical = stack["typical"] or {}
        times.add_row(
            stack["name"],
            *(text(stack[name]) for name in ("page_load_ms_mean", "page_load_ms_std", "n_runs")),
            *(text(typical.get(name)) for name in ("html_ms", "connections")),
        )
    out.print(times)
    counts = ((what, str(count)) for what, count in page["counts"].items() if what not in page["left_out"])
    out.print(table("Taken and assumed", ["what", "entries"], counts))


def metrics(entries: Iterable[tuple[str, str, str]]) -> None:
    """Print the metrics of sweeps: name, unit and meaning."""
    console().print(table("Metrics", ("metric", "unit", "meaning"), entries, left=3))


def sweep(
    heads: Sequence[str], rows: Sequence[Sequence[str]], factors: int, settings: int, notes: Sequence[str]
) -> None:
    """Print the table of the settings of a sweep, with what a reader of the numbers must know.

    Parameters
    ----------
    heads, rows
        The table; its first `factors` columns are texts.
    factors
        Number of factors.
    settings
        Number of settings; `rows` may be the first of them.
    notes
        Sentences below the table.
    """
    table_of("Means with half of their 95 % intervals", heads, rows, factors)
    out = console()
    if len(rows) < settings:
        out.print(f"{settings - len(rows)} further settings are in settings.csv")
    for note in notes:
        out.print(f"note: {note}", soft_wrap=True)


def table_of(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> None:
    """Print a table of texts; the first `left` columns are to the left."""
    out = console()
    out.print(title, style="bold", soft_wrap=True)  # not the title of the table, which may be narrower
    out.print(table("", heads, rows, left=left))


def repetitions(setting: Mapping[str, Any], measures: Sequence[Measure], notes: Sequence[str]) -> None:
    """Print the metrics of a scenario that was run with several seeds.

    Parameters
    ----------
    setting
        The row of its only setting, as of `quiclab.experiment.sweeps.table.summary`.
    measures
        The metrics.
    notes
        Sentences below the table.
    """
    columns = ("metric", "mean", "standard deviation", "95 % from", "to", "runs")
    printed = table("Metrics over seeds", columns)
    for measure in measures:
        values = [setting[f"{measure.column}.{name}"] for name in ("mean", "std", "low", "high", "n")]
        printed.add_row(measure.title, *map(text, values))
    out = console()
    out.print(printed)
    for note in notes:
        out.print(f"note: {note}", soft_wrap=True)
