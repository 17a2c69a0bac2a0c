"""The wheel alone is enough: it runs studies, sweeps, verdicts and reports without the checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

from quiclab.kernel.programs import found

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
@pytest.mark.skipif(found("cargo") is None, reason="cargo is not installed")
def test_the_wheel_works_without_the_checkout(tmp_path: Path) -> None:
    maturin = Path(sys.executable).parent / "maturin"
    # what `make setup` has compiled
    build = [str(maturin), "build", "--profile", "local", "--quiet", "--out", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, timeout=1800)
    [wheel] = tmp_path.glob("quiclab-*.whl")
    done = subprocess.run(
        [sys.executable, ROOT / "tools/try_wheel.py", wheel], capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "the wheel works without the checkout"
