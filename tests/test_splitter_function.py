"""A bearer whose splitter is a function written in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import quiclab
from quiclab.errors import QuiclabError, ScenarioError
from quiclab.scenario.inputs import code_of

SCENARIO = Path(__file__).resolve().parent.parent / "scenarios" / "dual_connectivity.toml"
CODE = """
from itertools import count

class Batches:
    def __init__(self):
        self.turn = count()

    def __call__(self, packet):
        assert packet["count"] == (turn := next(self.turn))
        return turn % 100 // 50

def shortest_wait(packet):
    waits = [link["unreported_bytes"] * 8 / link["rate_bps"] for link in packet["links"]]
    return waits.index(min(waits))

def third(packet):
    return 2

def raises(packet):
    return packet["nothing"]

number = 3
"""
FEEDBACK = [(f"links.{link}.feedback", "{}") for link in ("down1", "down2")]


@pytest.fixture
def split(tmp_path: Path) -> Path:
    (tmp_path / "my_splitter.py").write_text(CODE)
    file = tmp_path / "split.toml"
    file.write_text(SCENARIO.read_text().replace("100 MB", "2 MB"))
    return file


def load(file: Path, function: str, *changes: tuple[str, str]) -> quiclab.Scenario:
    splitter = f'{{ kind = "function", function = "my_splitter:{function}" }}'
    return quiclab.load(file, [("bearers.dc.splitter", splitter), ("bearers.dc.shares", "[]"), *changes])


def test_a_function_that_does_the_same_gives_the_same_run(split: Path) -> None:
    native = quiclab.run(quiclab.load(split))
    own = load(split, "Batches")
    for _ in range(2):  # the state of a class belongs to one run
        assert quiclab.run(own).digest == native.digest
    assert code_of(own.to_dict(), split.parent) == ["my_splitter.py"]


def test_a_function_sees_what_links_report(split: Path) -> None:
    changes = (("flows.dc.workload.size", "10 MB"), ("links.down1.rate", "60 Mbit/s"))
    blind = quiclab.run(load(split, "shortest_wait", *changes))
    seeing = quiclab.run(load(split, "shortest_wait", *changes, *FEEDBACK))
    assert "reports_port0" not in blind.elements["dc.ingress"]["statistics"]
    assert seeing.elements["dc.ingress"]["statistics"]["rate_port0_mbps"] == pytest.approx(60, rel=0.03)
    down = [seeing.elements[link]["sent"]["bytes"] for link in ("down1", "down2")]
    assert down[0] > 2 * down[1], "three times the rate, and what is sent goes where it waits least"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("third", "expected the index of a link, 0 to 1, got 2"),
        ("raises", "KeyError: 'nothing' (my_splitter.py, line "),
    ],
)
def test_an_error_of_a_function_ends_the_run(split: Path, function: str, message: str) -> None:
    with pytest.raises(QuiclabError) as error:
        quiclab.run(load(split, function))
    assert f'bearers.dc.splitter.function, "my_splitter:{function}": {message}' in str(error.value)


@pytest.mark.parametrize(
    ("function", "changes", "field"),
    [
        ("absent", (), "bearers.dc.splitter.function"),
        ("number", (), "bearers.dc.splitter.function"),
        ("third", (("bearers.dc.mode", "duplicate"),), "bearers.dc.splitter.kind"),
        ("third", (("bearers.dc.shares", "[1, 1]"),), "bearers.dc.shares"),
    ],
)
def test_a_function_that_cannot_be_used_is_named_before_the_run(
    split: Path, function: str, changes: tuple[tuple[str, str], ...], field: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        load(split, function, *changes)
    assert field in str(error.value)
