"""The VPNs that are compared: how each is found, configured and started. None of this measures."""

from __future__ import annotations

from vpn_bench.vpns.base import Vpn
from vpn_bench.vpns.openvpn import OpenVpn
from vpn_bench.vpns.quiclab import Quiclab
from vpn_bench.vpns.wireguard import KernelWireGuard, UserWireGuard

__all__ = ["KernelWireGuard", "OpenVpn", "Quiclab", "UserWireGuard", "Vpn"]
