"""Benchmark of quiclab-tunnel beside OpenVPN and WireGuard, in one run. Prints one JSON object; progress on stderr.

Speed, CPU time and idle latency: between two network namespaces of this machine, in turn; needs root, /dev/net/tun,
iproute2, iperf3 and ping. Latency under load: in guests with a virtual clock (`quiclab kernel build`). The other VPNs:
`apt-get install openvpn wireguard-tools`, `make vpn-programs`. What cannot be measured is null, with the reason in
`<key>_why`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vpn_bench import catalogue, isolation, load, machine, speed
from vpn_bench.network import BenchError
from vpn_bench.speed import null

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("speed", "load")
#: The first second of a download does not count.
LEAST_SECONDS = 2


def main() -> int:
    """Measure and print."""
    options = arguments().parse_args()
    refuse_wrong(options)
    if not options.inside and not isolation.lacking():
        return isolation.run_inside(str(Path(__file__).resolve()), sys.argv[1:])
    text = json.dumps(measure(options), indent=1)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


def arguments() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/quiclab-tunnel")
    parser.add_argument("--vpn-programs", type=Path, default=ROOT / "target/vpn/bin", help="of `make vpn-programs`")
    parser.add_argument("--parts", type=words, default=PARTS, help="speed, load or both: speed,load")
    parser.add_argument("--only", type=words, default=(), help="names of VPNs, separated by commas")
    parser.add_argument(
        "--seconds", type=number, default=4, help="length of each download between namespaces, at least 2"
    )
    parser.add_argument("--repeats", type=number, default=3, help="of each VPN, in turn")
    parser.add_argument("--load-seconds", type=number, default=12, help="length of downloads in guests")
    parser.add_argument("--jobs", type=number, default=2, help="guests at the same time")
    parser.add_argument("--out", type=Path, help="file that also gets the JSON")
    parser.add_argument(isolation.INSIDE, action="store_true", help=argparse.SUPPRESS)
    return parser


def words(text: str) -> tuple[str, ...]:
    """Split at commas."""
    return tuple(word for word in text.split(",") if word)


def number(text: str) -> int:
    """Read a positive number."""
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got {text!r}")
    return int(text)


def refuse_wrong(options: argparse.Namespace) -> None:
    """End with a sentence if an option is wrong."""
    names = {vpn.name for vpn in catalogue.speed_vpns(Path(), Path())} | {case.vpn for case in catalogue.load_cases(1)}
    for option, given, allowed in (("parts", options.parts, PARTS), ("only", options.only, sorted(names))):
        for word in given:
            if word not in allowed:
                sys.exit(f"tunnel_bench: --{option}: expected {' or '.join(allowed)}, got {word}")
    for option, seconds, least in (
        ("seconds", options.seconds, LEAST_SECONDS),
        ("load-seconds", options.load_seconds, load.SETTLING_S + 1),
    ):
        if seconds < least:
            sys.exit(f"tunnel_bench: --{option}: expected at least {least}, got {seconds}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure what was asked for."""
    program, vpn_programs = options.program.resolve(), options.vpn_programs.resolve()
    vpns = catalogue.speed_vpns(program, vpn_programs)
    cases = catalogue.load_cases(options.load_seconds, options.only)
    vpns = [vpn for vpn in vpns if not options.only or vpn.name in options.only]
    result: dict[str, Any] = {
        "measured": datetime.now(UTC).date().isoformat(),
        "machine": machine.description(),
        # Cargo names the folder of a program after the profile that it was built with
        "profile": program.parent.name,
        "vpns": {vpn.name: about(vpn) for vpn in vpns},
    }
    with tempfile.TemporaryDirectory(prefix="tunnel-bench-", dir="/run" if options.inside else None) as folder:
        directory = Path(folder)
        if "speed" in options.parts:
            why = isolation.lacking()
            result |= null("speed", why) if why else {"speed": measured_speed(vpns, options, directory)}
        if "load" in options.parts:
            found = load.measure(cases, program, vpn_programs, options.jobs, directory)
            result["load"] = found
    return result


def measured_speed(vpns: list[Any], options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Measure speed; a machine that lacks something for all of it gives the reason."""
    try:
        return speed.measure(vpns, options.seconds, options.repeats, directory)
    except BenchError as error:
        return null("results", str(error))


def about(vpn: Any) -> dict[str, Any]:
    """Return what the page says about a VPN."""
    why = vpn.lacking()
    version = null("version", why) if why else {"version": vpn.version()}
    return {"label": vpn.label, **version, "cipher": vpn.cipher, "offloads": vpn.offloads}


if __name__ == "__main__":
    sys.exit(main())
