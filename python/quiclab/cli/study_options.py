"""Options that the commands of `quiclab study` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiclab.cli import completion

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Study, or a group such as dual_connectivity.", autocompletion=completion.studies
    ),
]
OneArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Study, or a study of a group: validation/linux_tcp.", autocompletion=completion.studies
    ),
]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Results directory, to which runs are added.")]
EnginesOption = Annotated[str, typer.Option(metavar="default|all|A,B", help="Engines.")]
