"""Templates of pages name only attributes that their objects have: nothing else looks there before a page is made."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from jinja2 import nodes

from quiclab.report.html import environment
from quiclab.study import Design, Measures, Presentation, Study

TEMPLATES = environment()


PARTS: dict[str, Any] = {"design": Design, "measures": Measures, "presentation": Presentation}


def attributes(template: str, of: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each attribute that `template` reads from the variable `of`, or from one `of` a variable.

    The latter is written as in a template: `study.design`.
    """
    variable, _, part = of.partition(".")
    loader = TEMPLATES.loader
    assert loader is not None
    source = loader.get_source(TEMPLATES, template)[0]
    for node in TEMPLATES.parse(source).find_all(nodes.Getattr):
        owner = node.node
        if part:
            if not (isinstance(owner, nodes.Getattr) and owner.attr == part):
                continue
            owner = owner.node
        if isinstance(owner, nodes.Name) and owner.name == variable:
            yield node.lineno, node.attr


@pytest.mark.parametrize("template", TEMPLATES.list_templates(extensions=["j2"]))
def test_attributes_of_a_study_exist(template: str) -> None:
    for of, kind in {"study": Study, **{f"study.{name}": kind for name, kind in PARTS.items()}}.items():
        present = {*dir(kind), *(field.name for field in fields(kind))}
        assert [place for place in attributes(template, of) if place[1] not in present] == [], of


def test_templates_read_attributes_of_studies() -> None:
    assert "presentation" in {name for _, name in attributes("report.html.j2", "study")}
    assert "assumptions" in {name for _, name in attributes("report.html.j2", "study.presentation")}
