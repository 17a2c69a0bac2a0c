"""The notebooks of `examples/notebooks` run, show their figures without a network, and are stored without outputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode, reads, validate

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
#: Addresses are allowed as names of formats only.
NAMESPACE = re.compile(r'(?:xmlns(?::xlink)?=|"\$schema": ?)"https?://[^"]+"')


def read(file: Path) -> NotebookNode:
    notebook: NotebookNode = reads(file.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def outputs(notebook: NotebookNode) -> list[dict[str, Any]]:
    return [dict(output) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_valid_and_stored_without_outputs(file: Path) -> None:
    notebook = read(file)
    validate(notebook)
    assert outputs(notebook) == []
    assert all(cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    assert notebook.cells[0].cell_type == "markdown"


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_shows_its_figures_without_a_network(file: Path, tmp_path: Path) -> None:
    notebook = read(file)
    # by sockets in the file system: several tests at once need no ports
    manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(tmp_path / "kernel"))
    client = NotebookClient(notebook, km=manager, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(cleanup_kc=True)
    shown = [output["data"] for output in outputs(notebook) if "data" in output]
    figures = [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]
    assert figures
    assert all(figure.startswith("<svg") for figure in figures)
    html = [data["text/html"] for data in shown if "text/html" in data]
    assert not [text for text in (*figures, *html) if re.search("https?://", NAMESPACE.sub("", text))]
