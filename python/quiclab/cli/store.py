"""`quiclab store`: what results directories hold, and what of it can go."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from quiclab._base.progress import CountProgress
from quiclab.cli.values import JsonOption
from quiclab.report import show
from quiclab.scenario.tree import to_json
from quiclab.study import housekeeping

#: Time after which progress is shown [s].
QUIET_S = 1.0


DirectoryArgument = Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder of results directories.")]


def ls_command(directory: DirectoryArgument = Path("results"), as_json: JsonOption = False) -> None:
    """Carry out `quiclab store ls`."""
    stores = housekeeping.stores_below(directory)
    found = []
    with CountProgress("reading", len(stores), unit="directories", quiet_s=QUIET_S) as progress:
        for store in stores:
            found.append(housekeeping.holding(store))
            progress.advance()
    if as_json:
        rows = [
            {**asdict(item), "directory": str(item.directory), "written": item.written.isoformat()} for item in found
        ]
        print(to_json({"schema": "quiclab.stores/1", "stores": rows}))
        return
    heads = ["directory", "kind", "builds", "last written [UTC]", "runs", "of other versions", "size [MB]"]
    table = [
        [
            str(item.directory),
            item.kind,
            str(len(item.builds)),
            f"{item.written:%Y-%m-%d %H:%M}",
            str(item.runs),
            str(item.others),
            megabytes(item.size),
        ]
        for item in found
    ]
    show.table_of(f"Results below {directory}", heads, table, left=4)


def gc_command(
    directory: DirectoryArgument = Path("results"),
    yes: Annotated[bool, typer.Option("--yes", help="Remove it; without this option it is only listed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab store gc`."""
    stores = housekeeping.stores_below(directory)
    runs = size = 0
    rows = []
    with CountProgress("reading", len(stores), unit="directories", quiet_s=QUIET_S) as progress:
        for store in stores:
            found = housekeeping.waste(store)
            if found.runs or found.files:
                freed = housekeeping.remove(found) if yes else found.size
                runs, size = runs + found.runs, size + freed
                what = f"{found.runs} runs of other versions, {len(found.files)} files that can be made again"
                if not as_json:
                    print(f"{store.directory}: {what}, {megabytes(freed)} MB")
                rows.append(
                    {
                        "directory": str(store.directory),
                        "runs": found.runs,
                        "files": len(found.files),
                        "size_bytes": freed,
                    }
                )
            progress.advance()
    if as_json:
        print(to_json({"schema": "quiclab.waste/1", "removed": yes, "stores": rows}))
        return
    total = f"{runs} runs, {megabytes(size)} MB"
    print(f"removed: {total}" if yes else f"can be removed: {total}; --yes does it")


def megabytes(size: int) -> str:
    """Write a size."""
    return f"{size / 1e6:.1f}"
