"""The metrics of quiclab-tunnel are what Prometheus' own parser of OpenMetrics takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from prometheus_client import Metric

#: A Rust test compares it with what the program writes.
EXAMPLE = Path(__file__).parents[1] / "crates" / "quiclab-tunnel" / "src" / "status" / "example.txt"


def parsed(text: str) -> dict[str, Metric]:
    """Return the families of a text by name."""
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return {family.name: family for family in families}


@pytest.fixture(scope="module")
def families() -> dict[str, Metric]:
    """Return the families of the example by name."""
    return parsed(EXAMPLE.read_text())


def test_the_text_is_openmetrics(families: dict[str, Metric]) -> None:
    sent = families["quiclab_tunnel_path_sent_bytes"]
    assert (sent.type, sent.unit) == ("counter", "bytes")
    assert [(sample.labels, sample.value) for sample in sent.samples] == [
        ({"session": "laptop", "path": path}, 8_000_000) for path in ("0", "1")
    ]
    assert families["quiclab_tunnel_path_rtt_seconds"].samples[0].value == 0.0215
    waits = families["quiclab_tunnel_queue_sojourn_seconds"]
    assert waits.type == "summary"
    assert {sample.name: sample.value for sample in waits.samples} == {
        "quiclab_tunnel_queue_sojourn_seconds_count": 5000,
        "quiclab_tunnel_queue_sojourn_seconds_sum": 9.5,
    }


def test_every_family_has_a_help_and_the_unit_of_its_name(families: dict[str, Metric]) -> None:
    for name, family in families.items():
        assert family.documentation.endswith("."), name
        unit = name.rsplit("_", 1)[1]
        assert family.unit == (unit if unit in {"seconds", "bytes", "packets", "ratio"} else ""), name


def test_the_end_is_required() -> None:
    text = EXAMPLE.read_text()
    assert text.endswith("# EOF\n")
    with pytest.raises(ValueError, match="EOF"):
        parsed(text.removesuffix("# EOF\n"))
