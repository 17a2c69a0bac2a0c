"""Large libraries for modules of studies: they are loaded at first use, because a list of studies loads all modules."""

from quiclab._base.libraries import alt, np, pl

__all__ = ["alt", "np", "pl"]
