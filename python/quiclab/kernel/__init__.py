"""The kernel lane's virtual clock: building the kernel, starting it, and what a machine can do."""

from __future__ import annotations
