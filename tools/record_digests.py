"""Records the digests of all scenarios as those of the present version of results, for tests/test_versions.py.

    python tools/record_digests.py

Refuses while a digest has changed and the version has not: stored runs would be mixed with others.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import quiclab
from quiclab.identity import RESULTS
from quiclab.stacks import catalogue

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tests" / "data" / "digests.json"
NATIVE = ("quinn", "noq")


def main() -> str | None:
    """Record the digests; returns an error."""
    before = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {"version": 0, "digests": {}}
    paths = sorted((ROOT / "scenarios").glob("*.toml"))
    digests = {path.name: quiclab.run(quiclab.load(path), seed=1).digest for path in paths}
    changed = [name for name, digest in before["digests"].items() if digests.get(name, digest) != digest]
    if changed and before["version"] == RESULTS:
        return f"{', '.join(changed)} changed: raise RESULTS in python/quiclab/identity.py first"
    stacks = {str(stack["name"]): str(stack["version"]) for stack in catalogue() if stack["name"] in NATIVE}
    content = {"version": RESULTS, "stacks": stacks, "digests": digests}
    RECORDED.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main())
