#!/usr/bin/env python3
"""Digests and values of 600 scenarios over all stacks, profiles, controls and workloads, before and after a change.

    python tools/behaviour.py /tmp/before.json           before a change that is to alter nothing
    python tools/behaviour.py /tmp/after.json --compare /tmp/before.json

The scenarios are those of the repository and a product of stacks, workloads and networks. The digest covers all packets
of a run; values are those of flows and elements of its result. Compared is what both have: a value that is new is
listed, and is no difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import quiclab
from quiclab._base.native import extension
from quiclab._base.progress import StepProgress
from quiclab.errors import ScenarioError
from quiclab.stacks import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
WORKLOADS = {
    "download": {"size": "700 kB"},
    "request_response": {"count": 4, "response": "30 kB", "pause": "60 ms"},
    "on_off": {"burst": "60 kB", "think_time": "200 ms", "duration": "2 s"},
    "page": {"html": "20 kB", "objects": [{"count": 8, "size": "15 kB"}]},
    "datagrams": {"rate": "3 Mbit/s", "size": "1000 B", "duration": "2 s", "on": "300 ms", "off": "100 ms"},
    "ping": {"count": 30, "interval": "40 ms"},
    "live": {"rate": "3 Mbit/s", "frame_rate": 30, "deadline": "120 ms", "duration": "2 s"},
    "media": {"max_rate": "10 Mbit/s", "ramp_up_speed": "4 Mbit/s", "duration": "3 s"},
}
NETWORKS: dict[str, dict[str, Any]] = {
    "plain": {"rate": "10 Mbit/s", "delay": "15 ms", "queue": {"kind": "drop_tail", "packets": 40}},
    "lossy": {
        "rate": "30 Mbit/s",
        "delay": {"mean": "20 ms", "deviation": "2 ms", "distribution": "normal", "reorder": True},
        "loss": "1 %",
    },
    "marks": {"rate": "8 Mbit/s", "delay": "10 ms", "queue": {"kind": "fq_codel"}},
    "split": {"rate": "6 Mbit/s", "delay": "25 ms", "queue": {"kind": "drop_tail", "packets": 60}},
}
SEED = 7


def scenario(stack: str, workload: str, network: str, ends: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario of one flow."""
    link = NETWORKS[network]
    up = {"rate": "10 Mbit/s", "delay": "15 ms"}
    found: dict[str, Any] = {
        "version": 1,
        "name": "behaviour",
        "duration": "20 s",
        "links": {"down": link, "up": up},
        "flows": {
            "main": {
                "stack": stack,
                "down": ["down"],
                "up": ["up"],
                "workload": {"kind": workload, **WORKLOADS[workload]},
                **ends,
            }
        },
    }
    if network == "split":
        found["links"]["second"] = {**link, "delay": "10 ms"}
        found["bearers"] = {"dc": {"links": ["down", "second"], "batch_packets": 10, "reordering": {"timer": "50 ms"}}}
        found["flows"]["main"]["down"] = ["dc"]
    return found


def generated() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and scenario of each combination; some are refused, and must stay so."""
    definitions = json.loads(extension().schema())["$defs"]
    controls, exits = (
        [entry["const"] for entry in definitions[name]["oneOf"]] for name in ("CongestionControl", "SlowStartExit")
    )
    for stack in catalogue():
        name = str(stack["name"])
        profiles = [str(profile["name"]) for profile in stack["profiles"]]
        variants: dict[str, dict[str, Any]] = {"-": {}} | {profile: {"profile": profile} for profile in profiles}
        for workload in stack["workloads"]:
            for network in NETWORKS:
                for variant, options in variants.items():
                    ends = {"sender": options, "receiver": options} if options else {}
                    yield f"{name} {variant} {workload} {network}", scenario(name, workload, network, ends)
        if not profiles:
            continue
        for option, values in (("congestion_control", controls), ("slow_start_exit", exits)):
            for value in values:
                for network in ("plain", "lossy", "marks"):
                    ends = {"sender": {option: value}}
                    yield f"{name} {option}={value} {network}", scenario(name, "download", network, ends)


@cache
def all_scenarios() -> dict[str, Path | dict[str, Any]]:
    """Return the scenarios by name."""
    files: dict[str, Path | dict[str, Any]] = {path.name: path for path in sorted(SCENARIOS.glob("*.toml"))}
    return files | dict(generated())


def measured(name: str) -> dict[str, Any]:
    """Run a scenario; return its digest and the values of its result, or why it is refused."""
    given = all_scenarios()[name]
    try:
        if isinstance(given, Path):
            result = quiclab.run(quiclab.load(given), seed=SEED)
        else:
            result = quiclab.run(quiclab.Scenario.from_dict(given), seed=SEED)
    except ScenarioError as error:
        return {"refused": str(error)}
    return {"digest": result.digest, "values": {key: result.data[key] for key in ("flows", "elements")}}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value below, with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[str], set[str]]:
    """Return what differs, and the keys of results that are new."""
    lines, new = [f"{name}: gone" for name in before if name not in after], set()
    for name, was in before.items():
        now = after.get(name, was)
        if was.get("digest") != now.get("digest"):
            lines.append(f"{name}: digest {was.get('digest', was)} -> {now.get('digest', now)}")
        values, others = (dict(leaves(run.get("values", {}))) for run in (was, now))
        for key, value in values.items():
            if key not in others:
                lines.append(f"{name}: {key} is gone")
            elif others[key] != value:
                lines.append(f"{name}: {key} {value} -> {others[key]}")
        new |= {key.rpartition(".")[2] for key in others if key not in values}
    return lines, new


def main() -> str | None:
    """Run all scenarios, and compare; returns an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="file for digests and values")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="an earlier file")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default: 2)")
    arguments = parser.parse_args()
    names = list(all_scenarios())
    found = {}
    with ProcessPoolExecutor(arguments.jobs) as pool, StepProgress(2.0) as progress:
        for number, (name, run) in enumerate(zip(names, pool.map(measured, names, chunksize=4), strict=True)):
            found[name] = run
            progress("running scenarios", number + 1, len(names))
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    ran = sum("digest" in run for run in found.values())
    print(f"{ran} scenarios ran, {len(found) - ran} are refused")
    if arguments.compare is None:
        return None
    lines, new = compare(json.loads(arguments.compare.read_text(encoding="utf-8")), found)
    if new:
        print(f"new values: {', '.join(sorted(new))}")
    print("\n".join(lines) or "no difference")
    return f"{len(lines)} differences" if lines else None


if __name__ == "__main__":
    sys.exit(main())
