"""Identity of a run: scenario, seed, versions of what computes it, and contents of the files that it names.

The build of the engine is not part of it: two builds of one version give the same results, which digests and values of
all scenarios confirm (tests/test_versions.py). It is stored with each run as provenance.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.native import build_id
from quiclab.result.recordings import ENDS
from quiclab.scenario.inputs import fingerprint, source_of
from quiclab.stacks.registry import version_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from quiclab.lane.run import Lane
    from quiclab.result import Keep

#: Version of the results of the engine (network, lab-quic, lab-tcp, lab-udp, adapters of stacks) and of the metrics of
#: sweeps. It is raised whenever the digest of a run changes, a counter or a metric, which makes quiclab run again what
#: was stored before.
RESULTS: Final = 11
#: What stands for the versions of quiclab's own stacks: it stays when quiclab is released, so that a release which
#: computes the same uses the runs that an earlier one has stored. What they compute is versioned here.
OWN_STACKS: Final = dict.fromkeys(("lab-quic", "lab-tcp", "lab-udp"), "0.1.0")
#: Versions of the results of single stacks: raised instead of that where only runs with the stack change.
STACK_RESULTS: Final = {"lab-tcp": 3, "noq": 1}
#: Versions of the results of other parts: stacks as the carrier of a tunnel, of one path or more, tunnels that put
#: packets in order (`resequencing`), and profiles.
PART_RESULTS: Final = {"noq as carrier": 3, "resequencing": 1, "profile aioquic": 1}
#: Ends of a tunnel.
TUNNEL_ENDS: Final = ("server", "client")
#: Columns of a stored run that say what computed it: the versions, which identify it, and the build.
VERSIONS, BUILD = "versions", "build"


def versions_of(scenario: Mapping[str, Any], lane: Lane | None = None) -> list[str]:
    """Return the versions of what computes a run.

    Parameters
    ----------
    scenario
        The resolved scenario.
    lane
        How it runs in the kernel lane, where programs, kernel and their hashes take the place of versions; `None` for
        the sim lane.
    """
    if lane is not None:
        return lane.identity(scenario)
    flows, tunnels = scenario.get("flows", {}).values(), scenario.get("tunnels", {}).values()
    tables = [*tunnels, *flows, *(some.get(end, {}) for some in [*flows, *tunnels] for end in (*ENDS, *TUNNEL_ENDS))]
    names, carriers = ({str(table["stack"]) for table in some if table.get("stack")} for some in (tables, tunnels))
    parts = {f"{name} as carrier" for name in carriers} | {f"profile {table.get('profile')}" for table in tables}
    if any("resequencing" in tunnel for tunnel in tunnels):
        parts.add("resequencing")
    return [
        f"results {RESULTS}",
        *(f"{name} {stack_version(name) or 'absent'}" for name in sorted(names)),
        *(f"{name} {PART_RESULTS[name]}" for name in sorted(parts & PART_RESULTS.keys())),
    ]


def version_now(name: str) -> str | None:
    """Return the version of a stack or another part, as in `versions_of`; `None` if this process does not know it."""
    return str(PART_RESULTS[name]) if name in PART_RESULTS else stack_version(name)


def stack_version(name: str) -> str | None:
    """Return the version of a stack that identifies runs with it; `None` for one that this process does not know."""
    version, results = OWN_STACKS.get(name) or version_of(name), STACK_RESULTS.get(name)
    return version if version is None or results is None else f"{version}+{results}"


def setting_of(
    resolved: str, base_dir: Path, lane: Lane | None = None, series: Iterable[str] = (), keep: Keep | None = None
) -> tuple[str, str]:
    """Return the identity of a setting, which runs with several seeds share, and the versions in it.

    Parameters
    ----------
    resolved
        The resolved scenario as JSON.
    base_dir
        Directory that files named in the scenario are relative to.
    lane
        How it runs in the kernel lane; `None` for the sim lane.
    series, keep
        Time series that are kept with the result, and the function that processes recordings: its code determines the
        stored data.

    Returns
    -------
    tuple
        SHA-256 as hexadecimal digits; and the versions, joined by commas.

    Raises
    ------
    RequestError
        If a file that the scenario names cannot be read.
    """
    scenario = json.loads(resolved)
    canonical = json.dumps(scenario, sort_keys=True, separators=(",", ":"))
    versions = versions_of(scenario, lane)
    lines = [canonical, *versions, *fingerprint(scenario, base_dir), *series]
    if keep is not None:
        lines.append(f"{keep.__module__.rpartition('.')[2]}.{keep.__qualname__} {source_of(keep, 'keep')}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest(), ", ".join(versions)


def runs_of(setting: str, seeds: Iterable[int]) -> bytes:
    """Return the identities of the runs of a setting, 16 bytes each: in binary, as a sweep has a million of them."""
    base, found = hashlib.sha256(f"{setting}\n".encode()), []
    for seed in seeds:
        run = base.copy()
        run.update(b"%d" % seed)
        found.append(run.digest()[:16])
    return b"".join(found)


def note_on_builds(builds: Collection[str | None], runs: str) -> str:
    """Return a note where some stored runs were made by other builds of the same versions; else an empty text.

    Parameters
    ----------
    builds
        Builds of the stored runs.
    runs
        What these are runs of, such as a study, for the note.
    """
    others = sorted({build for build in builds if build} - {build_id()})
    if not others:
        return ""
    return (
        f"Some runs of {runs} were made by other builds of the same versions ({', '.join(others)}); this is build "
        f"{build_id()}. Another directory (--out) runs all again."
    )
