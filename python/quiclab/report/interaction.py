"""What a chart gains on a page: its legends choose what is shown, and tooltips appear near a mark, not only on it.

Both are added to the specification of a chart, not to its declaration: the SVG and PNG files of a figure stay plain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NEAR: Final = 700
"""Area around a mark where its tooltip appears [square pixels]: a disc of 15 pixels."""
FADED: Final = 0.06
"""Opacity of what a legend has not chosen."""
CHANNELS: Final = ("color", "shape")
NESTED: Final = ("layer", "vconcat", "hconcat", "concat")
# opacity of marks that have none of their own (Vega-Lite, `mark/init.ts`)
OPACITY: Final = {"point": 0.7, "tick": 0.7, "circle": 0.7, "square": 0.7}
MARKS_WITH_TOOLTIPS: Final = ("point", "circle", "square")


def interactive(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chart whose legends choose series by click (with shift: several), and whose tooltips are generous.

    Parameters
    ----------
    spec
        Vega-Lite specification; it is not changed.
    """
    fields = [field for field in dict.fromkeys(_legends(spec)) if field is not None]
    return _near(_chosen(spec, _conditions(fields), dict.fromkeys(fields, False)))


def _units(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return the units of a chart: what has a mark."""
    if "mark" in part:
        yield part
    for name in NESTED:
        for inner in part.get(name, ()):
            yield from _units(inner)
    if isinstance(part.get("spec"), dict):
        yield from _units(part["spec"])


def _legends(spec: Mapping[str, Any]) -> list[str | None]:
    """Return the fields that legends with names explain."""
    return [_field(unit, channel) for unit in _units(spec) for channel in CHANNELS]


def _field(unit: Mapping[str, Any], channel: str) -> str | None:
    """Return the field of a channel whose legend lists names; `None` where there is none."""
    found = unit.get("encoding", {}).get(channel, {})
    named = found.get("type") in ("nominal", "ordinal") and found.get("legend", {}) is not None
    field = found.get("field") if named else None
    return field if isinstance(field, str) else None


def _conditions(fields: Sequence[str]) -> list[dict[str, Any]]:
    return [{"param": _parameter(field)} for field in fields]


def _parameter(field: str) -> str:
    return "chosen_" + "".join(letter if letter.isalnum() else "_" for letter in field)


def _chosen(part: Mapping[str, Any], conditions: Sequence[Mapping[str, Any]], known: dict[str, bool]) -> dict[str, Any]:
    """Bind the legends of a part to parameters, each once in a chart (`known`), and fade what they do not choose."""
    found = dict(part)
    if "mark" in found:
        for channel in CHANNELS:
            field = _field(found, channel)
            if field is not None and not known[field]:
                known[field] = True
                choice = {"type": "point", "fields": [field]}
                bound = {"name": _parameter(field), "select": choice, "bind": "legend"}
                found["params"] = [*found.get("params", ()), bound]
        places = [found.get("encoding", {}).get(axis, {}) for axis in ("x", "y")]
        # what stands at a fixed place, such as a zero line, belongs to no series
        if conditions and any("field" in place for place in places) and "opacity" not in found["encoding"]:
            mark = found["mark"] if isinstance(found["mark"], dict) else {"type": found["mark"]}
            own = mark.get("opacity", OPACITY.get(mark["type"], 1.0))
            faded = {"condition": {"test": {"and": list(conditions)}, "value": own}, "value": min(own, FADED)}
            found["encoding"] = {**found["encoding"], "opacity": faded}
    for name in NESTED:
        if name in found:
            found[name] = [_chosen(inner, conditions, known) for inner in found[name]]
    if isinstance(found.get("spec"), dict):
        found["spec"] = _chosen(found["spec"], conditions, known)
    return found


def _near(part: Mapping[str, Any]) -> dict[str, Any]:
    """Lay invisible discs over small marks with a tooltip."""
    found = dict(part)
    if "layer" in found:
        discs = [disc for unit in found["layer"] if (disc := _disc(unit)) is not None]
        found["layer"] = [*found["layer"], *discs]
        return found
    if "mark" in found and (disc := _disc(found)) is not None:
        unit = {name: found.pop(name) for name in ("mark", "encoding", "transform", "params") if name in found}
        shared = {name: disc[name] for name in ("mark", "encoding", "transform") if name in disc}
        return {**found, "layer": [unit, shared]}
    for name in NESTED:
        if name in found:
            found[name] = [_near(inner) for inner in found[name]]
    if isinstance(found.get("spec"), dict):
        found["spec"] = _near(found["spec"])
    return found


def _disc(unit: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the invisible discs of a unit of small marks with tooltips."""
    mark = unit.get("mark", {})
    mark = mark if isinstance(mark, dict) else {"type": mark}
    encoding = unit.get("encoding", {})
    if mark.get("type") not in MARKS_WITH_TOOLTIPS or "tooltip" not in encoding:
        return None
    disc = {name: mark[name] for name in ("xOffset", "yOffset", "clip") if name in mark}
    disc |= {"type": "point", "shape": "circle", "filled": True, "size": NEAR, "opacity": 0}
    kept = ("x", "y", "xOffset", "yOffset", "tooltip")
    rest = {name: unit[name] for name in ("data", "transform") if name in unit}
    return {**rest, "mark": disc, "encoding": {name: encoding[name] for name in kept if name in encoding}}
