"""Labels of what ran follow from the resolved scenario of a run, not from the name of its configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quiclab.study.compare import table_rows
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import write_manifest
from quiclab.study.plan import Plan, results_directory
from quiclab.study.ran import implementation, option_bytes, option_of
from quiclab.study.registry import find


@pytest.mark.parametrize(
    ("stack", "profile", "name"),
    [
        ("lab-quic", "aioquic-0.8.8", "aioquic"),
        ("lab-quic", "quic-go", "quic-go"),
        ("lab-quic", "ngtcp2-2020", "ngtcp2"),
        ("lab-quic", "rfc9002", "lab-quic"),
        ("lab-tcp", "linux-5.3", "linux"),
        ("quinn", None, "quinn"),
        ("ngtcp2", None, "ngtcp2"),
        ("of-a-user", "aioquic", "of-a-user"),
    ],
)
def test_an_implementation_is_that_of_the_profile_or_the_stack(stack: str, profile: str | None, name: str) -> None:
    sender = {} if profile is None else {"profile": profile}
    assert implementation({"stack": stack, "sender": sender, "receiver": {}}) == name
    assert implementation({"stack": "other", "sender": {**sender, "stack": stack}, "receiver": {}}) == name


def test_an_option_is_that_of_the_scenario_or_the_profile() -> None:
    # commit a337531b942b of Linux (4.20) made 131072 of 87380, the second value of tcp_rmem
    flow: dict[str, Any] = {
        "stack": "lab-tcp",
        "sender": {"profile": "linux-5.3"},
        "receiver": {"profile": "linux-4.15"},
    }
    assert option_bytes(flow, "receiver", "tcp.receive_buffer") == 87_380
    assert option_bytes(flow, "sender", "tcp.receive_buffer") == 131_072
    flow["receiver"]["tcp"] = {"receive_buffer": "1 MB"}
    assert option_bytes(flow, "receiver", "tcp.receive_buffer") == 10**6
    assert option_of({"stack": "quic-go", "sender": {}, "receiver": {}}, "receiver", "tcp.receive_buffer") is None


def described(study: str, engine: str, configuration: str) -> dict[str, object]:
    """Return the columns that follow from the scenario of the first setting of a configuration with an engine."""
    found = find(study)
    point = next(
        point for point in found.points((engine,), 1, {"configuration": (configuration,)}) if not point.variant
    )
    (job,) = Plan(found, [point]).first_runs()[:1]
    assert found.presentation.describe is not None
    return dict(found.presentation.describe(json.loads(job.scenario), job.point.labels))


@pytest.mark.parametrize(
    ("engine", "configuration", "impl", "buffer"),
    [
        ("lab-quic", "quic_default_buffer", "aioquic", 212_992),
        ("quinn", "quic_large_buffer", "quinn", 33_554_432),
        ("noq", "quic_large_buffer", "noq", 33_554_432),
        ("lab-quic", "tcp", "linux_tcp", 87_380),
    ],
)
def test_rows_of_dual_connectivity_say_what_ran(engine: str, configuration: str, impl: str, buffer: int) -> None:
    columns = described("dual_connectivity/file_size", engine, configuration)
    assert (columns["impl"], columns["recv_buffer_default_bytes"]) == (impl, buffer)


def test_rows_of_other_studies_say_what_ran() -> None:
    assert described("pacing/intervals", "lab-quic", "picoquic_cubic")["impl"] == "picoquic"
    assert described("pacing/intervals", "lab-quic", "netcat")["impl"] == "tcp"
    assert described("page_load/sizes", "lab-quic", "quic1_n1")["cubic_emulated_connections"] == 1
    assert described("page_load/sizes", "lab-quic", "tcp")["stack"] == "tcp"


def test_what_ran_precedes_what_was_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The published rows are of aioquic; those of a run with quinn and of TCP of 4.15 are not."""
    study = find("dual_connectivity/file_size")
    directory = results_directory(study, tmp_path)
    directory.mkdir(parents=True)
    write_manifest(study, directory, 1, partial=True)
    monkeypatch.setattr(Evaluation, "summaries", lambda *_, **__: {})  # no run is needed: the settings have scenarios
    monkeypatch.setattr(Evaluation, "scenarios", lambda *_: {})
    rows = table_rows(Evaluation(study, tmp_path), ["quinn"])
    kinds = {(row["configuration"], row["engine"], row["impl"]) for row in rows}
    assert kinds == {
        ("quic_default_buffer", "quinn", "quinn"),
        ("quic_large_buffer", "quinn", "quinn"),
        ("tcp", "lab-tcp", "linux_tcp"),
    }
    assert {row["recv_buffer_default_bytes"] for row in rows if row["configuration"] == "tcp"} == {87_380}
