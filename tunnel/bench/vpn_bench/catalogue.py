"""Which VPNs are measured, with which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vpn_bench.load import DROP_TAIL, RATES_MBPS, RTTS_MS, Case
from vpn_bench.vpns import KernelWireGuard, OpenVpn, Quiclab, UserWireGuard, Vpn

#: Versions that `make vpn-programs` builds.
WIREGUARD_GO = "v0.0.0-20260522210424-ecfc5a8d5446"
BORINGTUN = "0.7.1"
#: It would change to the user who has logged in, and fails without a login.
BORINGTUN_OPTIONS = ("--disable-drop-privileges",)
#: What of quiclab-tunnel is measured under load: name, queue, congestion control.
QUICLAB_UNDER_LOAD = (
    ("quiclab", None, None),
    ("quiclab-drop-tail", DROP_TAIL, None),
    ("quiclab-bbr", None, "bbr-linux"),
    ("quiclab-bbr-drop-tail", DROP_TAIL, "bbr-linux"),
)


def speed_vpns(program: Path, vpn_programs: Path) -> list[Vpn]:
    """Return what is measured without limits, in the order of the page."""
    return [
        Quiclab("quiclab", 1, program),
        Quiclab("quiclab-two-paths", 2, program, paths=2),
        OpenVpn("openvpn-aes128", 3, "AES-128-GCM"),
        OpenVpn("openvpn-chacha20", 4, "CHACHA20-POLY1305"),
        OpenVpn("openvpn-dco", 5, "AES-128-GCM", dco=True),
        *wireguards(vpn_programs),
    ]


def wireguards(vpn_programs: Path) -> list[Vpn]:
    """Return all WireGuards."""
    return [
        UserWireGuard("wireguard-go", 6, vpn_programs / "wireguard", "wireguard-go", WIREGUARD_GO, True),
        UserWireGuard("boringtun", 7, vpn_programs / "boringtun-cli", "boringtun", BORINGTUN, False, BORINGTUN_OPTIONS),
        KernelWireGuard("wireguard-kernel", 8),
    ]


def load_vpns(program: Path, vpn_programs: Path, paths: int) -> Mapping[str, Vpn | None]:
    """Return what is measured under load, by name; `none` is the network without a VPN."""
    found: dict[str, Vpn | None] = {"none": None}
    for name, queue, congestion_control in QUICLAB_UNDER_LOAD:
        found[name] = Quiclab(name, 1, program, paths, queue, congestion_control)
    found["openvpn-aes128"] = OpenVpn("openvpn-aes128", 3, "AES-128-GCM")
    return found | {vpn.name: vpn for vpn in wireguards(vpn_programs)}


def load_cases(seconds: int, only: Sequence[str] = ()) -> list[Case]:
    """Return the cases, those of one path first; others than quiclab-tunnel have one path."""
    return [
        Case(name, rtt, paths, seconds)
        for rtt in RTTS_MS
        for paths in range(1, len(RATES_MBPS) + 1)
        for name in load_vpns(Path(), Path(), paths)
        if (paths == 1 or name.startswith("quiclab")) and (not only or name in only)
    ]
