"""The kernel lane: real programs and the kernel, in real or virtual time; what a machine can do for it."""

from __future__ import annotations

from quiclab.kernel.cache import Kernel, kernels, newest_kernel
from quiclab.kernel.virtual import Exit, boot

__all__ = ["Exit", "Kernel", "boot", "kernels", "newest_kernel"]
