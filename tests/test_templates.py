"""Templates of pages name only attributes that their objects have: nothing else looks there before a page is made."""

from collections.abc import Iterator

import pytest
from jinja2 import nodes

from quiclab.report.html import environment
from quiclab.study.design import Study

TEMPLATES = environment()


def attributes(template: str, of: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each attribute that `template` reads from the variable `of`."""
    loader = TEMPLATES.loader
    assert loader is not None
    source = loader.get_source(TEMPLATES, template)[0]
    for node in TEMPLATES.parse(source).find_all(nodes.Getattr):
        if isinstance(node.node, nodes.Name) and node.node.name == of:
            yield node.lineno, node.attr


@pytest.mark.parametrize("template", TEMPLATES.list_templates(extensions=["j2"]))
def test_attributes_of_a_study_exist(template: str) -> None:
    present = {*dir(Study), *Study.__dataclass_fields__}
    assert [place for place in attributes(template, "study") if place[1] not in present] == []


def test_templates_read_attributes_of_studies() -> None:
    assert "text_table" in {name for _, name in attributes("report.html.j2", "study")}
