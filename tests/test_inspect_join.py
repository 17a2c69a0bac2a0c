"""Traces of two ends: which are one connection, and how their clocks are compared."""

from __future__ import annotations

import gzip
import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quiclab.analysis.inspect import open_run, side
from quiclab.analysis.inspect.join import joined, pairs

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

DATA = Path(__file__).parents[1] / "crates/quiclab-trace/tests/data"
ODCID = "8394c8f03e515708"
EVENTS = {
    "client": [("sent", 0, 0.0), ("received", 1, 160.0)],
    "server": [("received", 0, 50.0), ("sent", 1, 100.0)],
}
"""Direction, packet number and time [ms] on one clock: 50 ms to the server, 60 ms to the client."""


def progress(_step: object, _name: object) -> AbstractContextManager[None]:
    return nullcontext()


def event(kind: str, number: int, time: float, dcid: str = "") -> dict[str, Any]:
    """An event as in draft-02 and later."""
    header: dict[str, Any] = {"packet_type": "initial" if dcid else "1RTT", "packet_number": number}
    header |= {"dcid": dcid} if dcid else {}
    data = {"header": header, "raw": {"length": 1200}, "frames": [{"frame_type": "ping"}]}
    return {"time": time, "name": f"transport:packet_{kind}", "data": data}


def qlog(role: str, common: dict[str, Any], shift_ms: float = 0, **trace: Any) -> dict[str, Any]:
    """A file of one end whose times are `shift_ms` less than on the clock of `EVENTS`."""
    events = [event(kind, number, time - shift_ms) for kind, number, time in EVENTS[role]]
    whole = {"vantage_point": {"type": role}, "common_fields": common, "events": events, **trace}
    return {"qlog_version": "0.3", "traces": [whole]}


def flights(connection: dict[str, Any]) -> list[list[int]]:
    """How long the packets travelled to the server and to the client [µs]: differences, as the page has them."""
    return [arrows["flight"] for arrows in connection["arrows"]]


def only(*paths: Path) -> dict[str, Any]:
    """The one connection of files."""
    runs = joined([open_run(path, 1000, progress) for path in paths])
    assert len(runs) == 1
    (connection,) = side(runs[0]).data["connections"]
    result: dict[str, Any] = connection
    return result


def test_reference_times_answer_the_question_of_clocks() -> None:
    connection = only(DATA / "reference-times-differ.qlog")
    up, down = flights(connection)
    assert down[0] == 60_000
    assert up[0] == 50_000
    assert not any(down[1:] + up[1:]), "all the same"
    assert not any("clocks" in note for note in connection["notes"])


CLOCKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "number": ({"reference_time": 1.6e12}, {"reference_time": 1.6e12 + 40}),
    "text": ({"reference_time": "1600000000000"}, {"reference_time": "1600000000040"}),
    "date": ({"reference_time": "2020-09-13T12:26:40Z"}, {"reference_time": "2020-09-13T14:26:40.040+02:00"}),
    "epoch": (
        {"reference_time": {"clock_type": "system", "epoch": "2020-09-13T12:26:40.000Z"}},
        {"reference_time": {"clock_type": "system", "epoch": "2020-09-13T12:26:40.040Z"}},
    ),
    "wall clock": (
        {
            "time_format": "relative_to_epoch",
            "reference_time": {
                "clock_type": "monotonic",
                "epoch": "unknown",
                "wall_clock_time": "2020-09-13T12:26:40.000Z",
            },
        },
        {"reference_time": 1.6e12 + 40},
    ),
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_every_form_of_reference_time(tmp_path: Path, clock: str) -> None:
    client, server = CLOCKS[clock]
    write(tmp_path / "a.qlog", qlog("client", {"ODCID": ODCID} | client))
    write(tmp_path / "b.qlog", qlog("server", {"ODCID": ODCID} | server, shift_ms=40))
    assert flights(only(tmp_path / "a.qlog", tmp_path / "b.qlog")) == [[50_000], [60_000]]


def test_offsets_and_units(tmp_path: Path) -> None:
    """`time_offset` counts in the unit of the trace, with a reference time and without."""
    client = qlog("client", {"ODCID": ODCID})
    for number, reference in enumerate(({}, {"reference_time": "1600000000000000"})):
        server = qlog(
            "server", {"ODCID": ODCID} | reference, configuration={"time_offset": "40000", "time_units": "us"}
        )
        trace = server["traces"][0]
        for entry in trace["events"]:
            entry["time"] = (entry["time"] - 40) * 1000
        client["traces"][0]["common_fields"] |= {"reference_time": 1.6e12} if reference else {}
        write(tmp_path / f"c{number}.qlog", client)
        write(tmp_path / f"s{number}.qlog", server)
        found = only(tmp_path / f"s{number}.qlog", tmp_path / f"c{number}.qlog")
        assert flights(found) == [[50_000], [60_000]]


def test_absolute_times_and_differences(tmp_path: Path) -> None:
    client, server = qlog("client", {"ODCID": ODCID, "time_format": "absolute"}, shift_ms=-1.6e12), qlog("server", {})
    trace = server["traces"][0]
    trace["common_fields"] = {"ODCID": ODCID, "time_format": "relative_to_previous_event"}
    trace["events"][0]["time"], trace["events"][1]["time"] = 1.6e12 + 50, 50
    write(tmp_path / "a.qlog", client)
    write(tmp_path / "b.qlog", server)
    assert flights(only(tmp_path / "a.qlog", tmp_path / "b.qlog")) == [[50_000], [60_000]]


def initial(role: str) -> dict[str, Any]:
    """A file without any ID but that of the first packet."""
    file = qlog(role, {})
    first = event("sent" if role == "client" else "received", 0, -1, ODCID)
    file["traces"][0]["events"].insert(0, first)
    return file


def parameters(role: str) -> dict[str, Any]:
    """A file with the ID in the server's transport parameters."""
    file = qlog(role, {})
    data = {"owner": "local" if role == "server" else "remote", "original_destination_connection_id": ODCID}
    file["traces"][0]["events"].insert(0, {"time": 0, "name": "transport:parameters_set", "data": data})
    return file


NAMED: dict[str, Callable[[str], dict[str, Any]]] = {
    "ODCID": lambda role: qlog(role, {"ODCID": ODCID.upper()}),
    "group_id": lambda role: qlog(role, {"group_id": f"0x{ODCID}"}),
    "first packet": initial,
    "parameters": parameters,
    "both IDs of mvfst": lambda role: qlog(
        role,
        dict(zip(("dcid", "scid") if role == "client" else ("scid", "dcid"), ("aabbccdd", "11223344"), strict=True)),
    ),
}


@pytest.mark.parametrize("client", NAMED)
@pytest.mark.parametrize("server", NAMED)
def test_two_files_of_one_connection(tmp_path: Path, client: str, server: str) -> None:
    """Whatever their names and order, and however each names the connection."""
    if (client == "both IDs of mvfst") != (server == "both IDs of mvfst"):
        pytest.skip("mvfst does not tell the original ID")
    one, other = tmp_path / "x.qlog", tmp_path / "a.qlog.gz"
    write(one, NAMED[client]("client"))
    write(other, NAMED[server]("server"))
    for paths in ((one, other), (other, one)):
        found = only(*paths)
        assert [end["role"] for end in found["ends"]] == ["client", "server"]
        assert any("same original connection ID" in note for note in found["notes"])


def test_files_of_others_stay_apart(tmp_path: Path) -> None:
    for name, role, original in (("a", "client", ODCID), ("b", "server", ODCID[::-1]), ("c", "client", ODCID)):
        write(tmp_path / f"{name}.qlog", qlog(role, {"ODCID": original}))
    runs = {name: open_run(tmp_path / f"{name}.qlog", 1000, progress) for name in "abc"}
    assert len(joined([runs["a"], runs["b"]])) == 2, "other connections"
    assert len(joined([runs["a"], runs["c"]])) == 2, "the same end"


def test_pairs_of_many_traces() -> None:
    def trace(role: str, *originals: str) -> dict[str, Any]:
        return {"vantage": role, "originals": list(originals)}

    both = [trace("server", "b" * 8), trace("client", "a" * 8), trace("client", "b" * 8), trace("server", "c" * 8)]
    assert pairs(both) == [(2, 0)]
    assert pairs([trace("server"), trace("client")]) == [(1, 0)], "assumed"
    assert pairs([trace("server", "a" * 8), trace("client", "b" * 8)]) == []


def test_reference_times_of_two_days_are_ignored(tmp_path: Path) -> None:
    write(tmp_path / "a.qlog", qlog("client", {"ODCID": ODCID, "reference_time": 1.6e12}))
    write(tmp_path / "b.qlog", qlog("server", {"ODCID": ODCID, "reference_time": 1.7e12}))
    found = only(tmp_path / "a.qlog", tmp_path / "b.qlog")
    assert flights(found) == [[50_000], [60_000]]
    assert any("1e+08 s apart" in note for note in found["notes"])


def write(path: Path, content: dict[str, Any]) -> None:
    data = json.dumps(content).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
