"""Views of Dual Connectivity: the reordering event by hand and in a run, and that every view draws what it says."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from quiclab.report import views
from quiclab.study.registry import find
from quiclab_studies.dual_connectivity import event

MS = 1_000_000


def records(*rows: tuple[int, str, str, int, int]) -> pl.DataFrame:
    """Return packet records: time [ms], element, event, port, identity."""
    columns = ["time_ns", "element", "event", "port", "packet_id"]
    return pl.DataFrame([(MS * row[0], *row[1:]) for row in rows], schema=columns, orient="row")


def test_the_first_expiry_hand_computed() -> None:
    """Packets 0 to 4 have the identities 10 to 14; 1 and 2 are lost; 3 waits for 200 ms, 4 comes late and passes."""
    packets = records(
        *((0, "dc.ingress", "arrival", 0, 10 + number) for number in range(5)),
        (1, "down1", "drop", 0, 11),
        (1, "down2", "drop", 0, 12),
        (5, "dc.egress", "arrival", 0, 10),
        (5, "dc.egress", "departure", 0, 10),
        (6, "dc.egress", "arrival", 1, 13),
        (206, "dc.egress", "departure", 0, 13),
        (206, "dc.receiver", "drop", 0, 13),
        (210, "dc.egress", "arrival", 0, 14),
        (210, "dc.egress", "departure", 0, 14),
    )
    found = event.first_expiry(packets, event.numbers_of(packets))
    assert found is not None
    assert (found.time_ns, found.numbers) == (206 * MS, (1, 2))
    rows, _ = event.rows_of(packets)
    assert [(row["x"], row["y"], row["series"]) for row in rows] == [
        (-205.0, 0, "lost in a queue"),
        (-205.0, 1, "lost in a queue"),
        (-201.0, -1, "arrives over link 1"),
        (-201.0, -1, "delivered"),
        (-200.0, 2, "arrives over link 2"),
        (0.0, 2, "delivered"),
        (0.0, 2, "dropped at the socket"),
        (4.0, 3, "arrives over link 1"),
        (4.0, 3, "delivered"),
    ]


def test_a_run_without_an_expiry_has_none() -> None:
    packets = records(
        (0, "dc.ingress", "arrival", 0, 10), (5, "dc.egress", "arrival", 0, 10), (5, "dc.egress", "departure", 0, 10)
    )
    assert event.rows_of(packets) == ([], None)


def test_the_event_of_a_run() -> None:
    """What waits leaves 200 ms after the first packet behind the gap, in one burst that the socket cannot hold."""
    _, drawn = views.draw(find("dual_connectivity/pdcp"))
    rows = [row for values in drawn.spec["datasets"].values() for row in values if "series" in row]
    burst = [row for row in rows if row["series"] == "delivered" and row["x"] == 0.0]
    waited = [row for row in rows if row["series"].startswith("arrives") and row["y"] > 0 and row["x"] < 0.0]
    dropped = [row for row in rows if row["series"] == "dropped at the socket" and row["x"] == 0.0]
    assert min(row["x"] for row in waited) == pytest.approx(-200.0, abs=1e-3)
    assert {row["y"] for row in burst} == {row["y"] for row in waited}
    assert dropped
    assert {row["y"] for row in dropped} < {row["y"] for row in burst}
    assert any(row["series"] == "lost in a queue" and row["y"] == 0 for row in rows)


def test_links_take_turns_with_large_batches_only() -> None:
    [drawn] = views.draw(find("dual_connectivity/utilisation"))

    def busy_together(panel: dict[str, Any]) -> float:
        rows = [row for row in drawn.spec["datasets"][panel["data"]["name"]] if row["x"] > 1.5]
        first, second = ([float(row["y"]) for row in rows if row["series"] == name] for name in ("link 1", "link 2"))
        return sum(min(pair) > 10 for pair in zip(first, second, strict=True)) / len(first)

    shares = {panel["title"]: busy_together(panel) for panel in drawn.spec["vconcat"]}
    assert list(shares) == ["batches of 50", "batches of 200", "batches of 500", "90 % on link 1"]
    assert shares["batches of 50"] > 0.9
    assert shares["batches of 500"] < 0.6
    assert shares["90 % on link 1"] == 0.0


@pytest.mark.parametrize("name", ["batch_size", "fairness_default", "pairs"])
def test_the_other_views_name_settings_of_their_studies(name: str) -> None:
    study = find(f"dual_connectivity/{name}")
    [view] = study.presentation.views
    configurations = {item.name for item in study.design.configurations}
    for configuration, values in view.shown.values():
        assert configuration in configurations
        assert set(values) == {factor.name for factor in study.design.swept}
        assert all(value in study.design.factor(key).values for key, value in values.items())
