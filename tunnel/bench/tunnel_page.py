"""Writes tunnel/docs/benchmark.md from tunnel/docs/data/benchmark.json, which `tunnel/bench/tunnel_bench.py` measured.

Without `--write` it prints the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

DOCUMENTS = Path(__file__).resolve().parents[1] / "docs"
FIGURES, PAGE = DOCUMENTS / "data/benchmark.json", DOCUMENTS / "benchmark.md"
TEMPLATE = Path(__file__).with_name("benchmark.md.j2")
#: What the tunnel is meant to reach: one TCP flow on two cores, and less CPU time than this VPN.
AIM_MBPS, AIM_VPN = 1000, "wireguard-go"
#: Names of settings under load.
LOAD_LABELS = {
    "none": "no VPN",
    "quiclab": "quiclab-tunnel, FQ-CoDel, CUBIC (default)",
    "quiclab-drop-tail": "quiclab-tunnel, drop-tail, CUBIC",
    "quiclab-bbr": "quiclab-tunnel, FQ-CoDel, `bbr-linux`",
    "quiclab-bbr-drop-tail": "quiclab-tunnel, drop-tail, `bbr-linux`",
    "openvpn-aes128": "OpenVPN",
    "wireguard-kernel": "WireGuard of the kernel",
}
#: Names of what is measured without load.
KEY_LABELS = {
    "tcp_mbps": "goodput",
    "cpu_s_per_gbit": "CPU time of both ends",
    "machine_cpu_s_per_gbit": "CPU time of the whole machine",
    "idle_latency_ms": "idle latency",
    "idle_added_latency_ms": "added idle latency",
}


def main() -> None:
    """Print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write tunnel/docs/benchmark.md")
    page = rendered(json.loads(FIGURES.read_text(encoding="utf-8")))
    if parser.parse_args().write:
        PAGE.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)


def rendered(found: dict[str, Any]) -> str:
    """Return the page for the figures of a run with both parts."""
    speed, load = found["speed"] or {"results_why": found["speed_why"]}, found["load"]
    found = {**found, "speed": speed}
    environment = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown
        trim_blocks=True,
    )
    environment.filters |= {"range": spread}
    results = {name: result for name, result in (speed.get("results") or {}).items() if result.get("tcp_mbps")}
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        found,
        results=results,
        absent=absent(found),
        aims=aims(results),
        network=sections(load.get("results") or []),
        load_labels=LOAD_LABELS,
        lines=[lines(load, paths) for paths in (1, 2)] if load.get("results") else [],
    )


def spread(value: dict[str, Any] | None, digits: int) -> str:
    """Write the median with its range, or a dash."""
    if value is None:
        return "–"
    middle, low, high = (f"{value[key]:.{digits}f}" for key in ("median", "low", "high"))
    return f"{middle} ({low} to {high})"


def absent(found: dict[str, Any]) -> dict[str, list[str]]:
    """Return why something was not measured, with what that was."""
    reasons: dict[str, list[str]] = {}
    for name, result in (found["speed"].get("results") or {}).items():
        label = found["vpns"].get(name, {"label": LOAD_LABELS["none"]})["label"]
        for key, why in result.items():
            if key.endswith("_why") and why != "no VPN":
                measured = KEY_LABELS[key.removesuffix("_why")]
                reasons.setdefault(why, []).append(label if result["tcp_mbps"] is None else f"{measured} ({label})")
    for part in ("speed", "load"):
        if "results_why" in found[part]:
            reasons.setdefault(found[part]["results_why"], []).append(part)
    for result in found["load"].get("results") or []:
        if result["loaded_median_ms"] is None:
            label = LOAD_LABELS.get(result["vpn"], result["vpn"])
            reasons.setdefault(result["loaded_median_ms_why"], []).append(f"{label} under load")
    return {why: list(dict.fromkeys(what)) for why, what in reasons.items()}


def aims(results: dict[str, Any]) -> list[dict[str, str]]:
    """Return each aim with what was measured and whether it is met; an aim is met only if the whole range is."""
    own, other = results.get("quiclab"), results.get(AIM_VPN)
    rate = own and own["tcp_mbps"]
    cost, others = own and own["cpu_s_per_gbit"], other and other["cpu_s_per_gbit"]
    return [
        {
            "aim": f"{AIM_MBPS} Mbit/s of one TCP flow, both ends and both ends of iperf3 on the cores of this machine",
            "measured": f"{spread(rate, 0)} Mbit/s" if rate else "not measured",
            "met": verdict(rate and rate["low"] >= AIM_MBPS, rate and rate["high"] < AIM_MBPS),
        },
        {
            "aim": f"less CPU time per Gbit than {AIM_VPN}",
            "measured": f"{spread(cost, 2)} s, {AIM_VPN} {spread(others, 2)} s" if cost and others else "not measured",
            "met": verdict(
                cost and others and cost["high"] < others["low"], cost and others and cost["low"] >= others["high"]
            ),
        },
    ]


def verdict(met: object, missed: object) -> str:
    """Say whether an aim is met: not decided where repeats disagree, or nothing was measured."""
    return "met" if met else "missed" if missed else "not decided"


def sections(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results under load by round trip time and number of lines."""
    found: dict[tuple[float, int], list[dict[str, Any]]] = {}
    for result in results:
        if result["loaded_median_ms"] is not None:
            found.setdefault((result["rtt_ms"], result["paths"]), []).append(result)
    return [{"rtt_ms": rtt, "paths": paths, "results": rows} for (rtt, paths), rows in found.items()]


def lines(load: dict[str, Any], paths: int) -> str:
    """Name the lines."""
    rates = load["rates_mbps"][:paths]
    return " and ".join(str(rate) for rate in rates) + " Mbit/s"


if __name__ == "__main__":
    main()
