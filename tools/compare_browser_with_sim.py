"""Compares browser_loads.csv with the sim lane in the same cells, as a table for browser.md.

    quiclab study run page_load/sizes --runs 20 --only configuration=quic1 --only configuration=tcp \
        --only network=base --only network=loss --out OUT
    python tools/compare_browser_with_sim.py OUT [--write]

Each side's number is the percent difference of the study, (TCP - QUIC) / QUIC of the mean page load times, with its
95 % interval: percentile bootstrap over the runs of both protocols. `--write` puts the table into browser.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.files import write_atomically
from quiclab._base.libraries import np, pl
from quiclab.result.stats import bootstrap, percent_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER: Final = Path(__file__).resolve().parents[1] / "studies/quiclab_studies/page_load/reference"
CLOCKS: Final = ("real", "virtual")
NETWORKS: Final = {"X01": "base", "X05": "loss"}
BEGIN, END = "<!-- sim -->\n", "<!-- end of sim -->"
HEAD: Final = "| cell | browser, real | browser, virtual | sim | same direction | interval of the sim overlaps |"


def difference(h2_ms: Sequence[float], h3_ms: Sequence[float], name: str) -> tuple[float, float, float]:
    """Return the percent difference, positive where HTTP/3 is faster, and the ends of its interval."""
    h2, h3 = bootstrap(h2_ms, f"{name} h2"), bootstrap(h3_ms, f"{name} h3")
    percents = (h2[1:] - h3[1:]) / h3[1:] * 100.0
    low, high = np.percentile(percents, [2.5, 97.5])
    return percent_difference(float(h3[0]), float(h2[0])), float(low), float(high)


def browser(clock: str, cell: tuple[str, int, int]) -> tuple[float, float, float]:
    """Return the difference of the browser in a cell: experiment, rate in Mbit/s, size in kB."""
    loads = pl.read_csv(FOLDER / "browser_loads.csv")
    names = ("experiment", "bandwidth_mbps", "object_size_kb")
    wanted = [pl.col(name) == value for name, value in zip(names, cell, strict=True)]
    here = loads.filter(pl.col("clock") == clock, *wanted)
    times = [here.filter(pl.col("protocol") == name)["page_load_ms"].to_list() for name in ("h2", "h3")]
    return difference(*times, f"browser {clock} {cell}")


def sim(runs: pl.DataFrame, cell: tuple[str, int, int]) -> tuple[float, float, float]:
    """Return the difference of the sim lane in a cell, without the study's variants."""
    experiment, rate_mbps, size_kb = cell
    here = runs.filter(
        pl.col("variant") == "",
        pl.col("network") == NETWORKS[experiment],
        pl.col("bandwidth_mbps") == rate_mbps,
        pl.col("object_size_kb") == size_kb,
    )
    times = [here.filter(pl.col("configuration") == name)["plt_ms"].to_list() for name in ("tcp", "quic1")]
    return difference(*times, f"sim {cell}")


def told(found: tuple[float, float, float]) -> str:
    """Return who is faster, by how much, and the interval."""
    percent, low, high = found
    faster = "QUIC" if low > 0 else "TCP" if high < 0 else "none"
    return f"{faster} {percent:+.0f} ({low:+.0f} to {high:+.0f})"


def row(runs: pl.DataFrame, cell: tuple[str, int, int]) -> str:
    """Return a row of the table."""
    sides: list[Any] = [*(browser(clock, cell) for clock in CLOCKS), sim(runs, cell)]
    words = [told(side) for side in sides]
    same = len({word.split()[0] for word in words}) == 1
    _, low, high = sides[2]
    overlaps = [clock for clock, side in zip(CLOCKS, sides, strict=False) if side[1] <= high and low <= side[2]]
    experiment, rate_mbps, size_kb = cell
    verdicts = f"{'yes' if same else 'no'} | {', '.join(overlaps) or 'none'}"
    return f"| {experiment}, {rate_mbps} Mbit/s, {size_kb} KB | {' | '.join(words)} | {verdicts} |"


def main() -> int:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    runs = pl.read_parquet(arguments.out / "page_load" / "sizes" / "runs.parquet")
    cells = [(name, rate, size) for name in NETWORKS for rate in (10, 50) for size in (10, 100, 1000)]
    table = "\n".join([HEAD, "| --- | --- | --- | --- | --- | --- |", *(row(runs, cell) for cell in cells), ""])
    if arguments.write:
        file = FOLDER / "browser.md"
        before, rest = file.read_text(encoding="utf-8").split(BEGIN)
        write_atomically(file, f"{before}{BEGIN}{table}{END}{rest.split(END, 1)[1]}".encode())
    print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
