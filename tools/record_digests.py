"""Records digests and values of all scenarios as those of the present version of results, for tests/test_versions.py.

    python tools/record_digests.py [--added PATH ...]

A digest covers the packets of a run, its values what is measured of them: flows, counters of elements and the metrics
of sweeps. Refuses while one of them has changed and the version has not: stored runs would be mixed with others. A
metric or a scenario that is new changes no stored run, nor does another version of a stack, which is part of the
identity of its runs, nor a value that is new in results: `--added` names its paths, `"*.NAME"` for a metric of an end,
which is below flows and elements.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import quiclab
from quiclab.experiment.identity import PART_RESULTS, RESULTS, STACK_RESULTS, versions_of
from quiclab.experiment.sweeps.metrics import METRICS, SERIES_INTERVAL, measures, workloads
from quiclab.stacks import catalogue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tests" / "data" / "digests.json"
SCENARIOS = ROOT / "scenarios"
NATIVE = ("quinn", "noq")
COMMAND = "python tools/record_digests.py"


@dataclass(frozen=True)
class Measured:
    """One run of a scenario.

    Attributes
    ----------
    digest
        Its digest.
    document
        `flows` and `elements` of its result.
    metrics
        Values by name of the metric and column.
    stacks
        Names of its stacks.
    """

    digest: str
    document: Mapping[str, Any]
    metrics: Mapping[str, Mapping[str, float]]
    stacks: frozenset[str]

    def values(self, names: Iterable[str], without: Collection[str] = ()) -> str:
        """Return a hash of the document, but for some values, and of some metrics.

        Floating-point numbers count with 9 digits.
        """
        content = {**_without(self.document, without), "metrics": {name: self.metrics.get(name) for name in names}}
        return hashlib.sha256(json.dumps(_rounded(content), sort_keys=True).encode()).hexdigest()[:32]


def _without(value: Any, patterns: Collection[str], path: str = "") -> Any:
    """Leave out the values whose paths match a pattern."""
    if not isinstance(value, Mapping):
        return value
    paths = {name: f"{path}.{name}" if path else name for name in value}
    return {
        name: _without(item, patterns, paths[name])
        for name, item in value.items()
        if not any(fnmatchcase(paths[name], pattern) for pattern in patterns)
    }


def _rounded(value: Any) -> Any:
    """Write floating-point numbers with 9 significant digits: the last ones depend on the order of sums."""
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return f"{value:.9g}" if isinstance(value, float) else value


def measured(path: Path) -> Measured:
    """Run a scenario with the seed 1 and the time series that metrics need."""
    scenario = quiclab.load(path)
    if scenario.value("record.series_interval") is None:
        scenario = scenario.with_value("record.series_interval", SERIES_INTERVAL)
    result = quiclab.run(scenario, seed=1)
    document = {name: result.data[name] for name in ("flows", "elements")}
    kinds = workloads(result.data["scenario"])
    metrics = {
        metric.name: {item.column: item.measure(result) for item in measures([metric.name], kinds)}
        for metric in METRICS
        if metric.workload in (None, *kinds.values())
    }
    stacks = frozenset(line.rpartition(" ")[0] for line in versions_of(result.data["scenario"]))
    return Measured(result.digest, document, metrics, stacks)


def measured_all() -> dict[str, Measured]:
    """Run all scenarios of the repository."""
    return {path.name: measured(path) for path in sorted(SCENARIOS.glob("*.toml"))}


def stacks() -> dict[str, str]:
    """Return the versions of the native stacks of other authors, and of what has a version of its results."""
    native = {str(stack["name"]): str(stack["version"]) for stack in catalogue() if stack["name"] in NATIVE}
    own = {name: f"results {version}" for name, version in STACK_RESULTS.items()}
    return native | own | {name: f"results {version}" for name, version in PART_RESULTS.items()}


def changed(recorded: Mapping[str, Any], found: Mapping[str, Measured], added: Collection[str] = ()) -> list[str]:
    """Return the scenarios whose digest or values are not those that are recorded, with the same stacks.

    Values whose paths match one of `added` may be new.
    """

    def values(name: str) -> set[str]:
        return {found[name].values(recorded["metrics"], without) for without in ((), added)}

    now, before = stacks(), recorded["stacks"]
    others = {name for name in now.keys() | before if now.get(name) != before.get(name)}
    return [
        name
        for name, digest in recorded["digests"].items()
        if name in found
        and not found[name].stacks & others
        and (found[name].digest != digest or recorded["values"][name] not in values(name))
    ]


def main(arguments: Sequence[str] = ()) -> str | None:
    """Record digests and values; returns an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--added", metavar="PATH", nargs="+", default=[], help="values that are new in results; * is any text"
    )
    added = parser.parse_args(arguments).added
    found = measured_all()
    if RECORDED.exists():
        before = json.loads(RECORDED.read_text(encoding="utf-8"))
        names = changed(before, found, added)
        if names and before["version"] == RESULTS:
            advice = "raise RESULTS in python/quiclab/experiment/identity.py first, or the version of a part"
            return f"{', '.join(names)} changed: {advice}"
    metrics = [metric.name for metric in METRICS]
    content = {
        "version": RESULTS,
        "stacks": stacks(),
        "metrics": metrics,
        "digests": {name: run.digest for name, run in found.items()},
        "values": {name: run.values(metrics) for name, run in found.items()},
    }
    RECORDED.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
