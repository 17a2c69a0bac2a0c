"""Named paths: networks in files, with the source of each value, and what probes measure over them.

Each `NAME.toml` in `scenario/paths/` has the links `down` and `up`; a scenario takes them with
`network = "paths/NAME"`. docs/paths.md describes them.
"""

from quiclab.sources.paths.library import NamedPath, names, read

__all__ = ["NamedPath", "names", "read"]
