"""The virtual-clock kernel: built from source, kept in a cache, and started with one command in it."""

from __future__ import annotations

from quiclab.lane.kernel.cache import Kernel, kernels, newest_kernel
from quiclab.lane.kernel.virtual import Exit, boot

__all__ = ["Exit", "Kernel", "boot", "kernels", "newest_kernel"]
