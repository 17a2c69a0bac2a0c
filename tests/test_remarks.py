"""Prose of studies in TOML files: what is said of claims, and assumptions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from quiclab.study import Assumption
from quiclab_studies.remarks import assumed, remarks
from quiclab_studies.tunnel.claims import REFERENCE


def test_remarks_are_attributes_by_claim(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(
        '[A1]\nscope = """\nOne\n  line."""\n[A2]\nnote = "N."\nablation = { removed = "pacing", variant = "v" }\n'
    )
    found = remarks(file)
    assert (found["scopes"], found["notes"], found["explanations"]) == ({"A1": "One line."}, {"A2": "N."}, {})
    assert (found["ablations"]["A2"].removed, found["ablations"]["A2"].variant) == ("pacing", "v")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[A1]\nscop = "x"', "A1: expected `read_as`, `scope`, `note` or `explanation`, got `scop`"),
        ("[A1]\nnote = 3", "A1.note: expected a text, got 3"),
        ('note = "x"', "note: expected a table, got 'x'"),
        ('[A1.ablation]\nvariant = "x"', "A1.ablation: `removed` is missing"),
        (
            '[A1.ablation]\nremoved = "x"\ncheck = ""',
            "A1.ablation: expected `removed`, `variant` or `shows`, got `check`",
        ),
    ],
)
def test_wrong_remarks_are_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{file}: {message}')}$"):
        remarks(file)


def test_assumptions_take_values_of_their_module(tmp_path: Path) -> None:
    module = str(tmp_path / "module.py")
    file = tmp_path / "assumptions.toml"
    file.write_text('[[hosts]]\nstatement = "A datagram takes {cost}."\nreason = "It was measured."\n')
    assert assumed(module, "hosts", cost="35 µs") == (Assumption("A datagram takes 35 µs.", "It was measured."),)
    for section, values, message in (
        ("host", {}, f"{file}: expected a section `host`, got `hosts`"),
        ("hosts", {}, f"{file}: hosts: expected the values [], got ['cost']"),
        ("hosts", {"cost": 1, "other": 2}, f"{file}: hosts: expected the values ['cost', 'other'], got ['cost']"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            assumed(module, section, **values)
    file.write_text('[[hosts]]\nstatement = "x"\nreasn = "y"\n')
    with pytest.raises(ValueError, match="`reason` is missing"):
        assumed(module, "hosts")


def test_a_remark_on_a_claim_that_the_source_lacks_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no claim TN99"):
        _ = replace(REFERENCE, notes={**REFERENCE.notes, "TN99": "x"}).entries
