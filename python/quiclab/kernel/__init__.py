"""The kernel lane's virtual clock: building the kernel, starting it, and what a machine can do."""

from __future__ import annotations

from quiclab.kernel.cache import Kernel, kernels, newest_kernel
from quiclab.kernel.virtual import Exit, boot

__all__ = ["Exit", "Kernel", "boot", "kernels", "newest_kernel"]
