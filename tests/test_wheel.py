"""The wheels alone are enough: they run studies, sweeps, verdicts and reports without the checkout."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from quiclab.lane.kernel.programs import found

ROOT = Path(__file__).resolve().parents[1]
UV = found("uv") or ROOT / ".tools/bin/uv"


@pytest.mark.skipif(found("cargo") is None, reason="cargo is not installed")
def test_the_source_distribution_has_every_manifest_that_cargo_reads(tmp_path: Path) -> None:
    maturin = Path(sys.executable).parent / "maturin"
    subprocess.run([str(maturin), "sdist", "--out", str(tmp_path)], cwd=ROOT, check=True, timeout=600)
    (archive,) = tmp_path.glob("quiclab-*.tar.gz")
    with tarfile.open(archive) as content:
        content.extractall(tmp_path, filter="data")
    command = ["cargo", "metadata", "--offline", "--format-version", "1", "--quiet"]
    folder = tmp_path / archive.name.removesuffix(".tar.gz")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(found("cargo") is None, reason="cargo is not installed")
@pytest.mark.skipif(not Path(UV).exists(), reason="uv is not installed: `make setup` installs it")
def test_the_wheels_work_without_the_checkout(tmp_path: Path) -> None:
    # what `make setup` has compiled
    build = [sys.executable, str(ROOT / "tools/wheels.py"), "--native", "--profile", "local", "--out", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, timeout=1800)
    of_studies = [str(UV), "build", "--quiet", "--wheel", "--package", "quiclab-studies", "--out-dir", str(tmp_path)]
    subprocess.run(of_studies, cwd=ROOT, check=True, timeout=600)
    wheels = sorted(tmp_path.glob("*.whl"))
    assert len(wheels) == 2
    root = ["--root", str(tmp_path / "root")] if os.geteuid() == 0 and found("mmdebstrap") else []
    command = [sys.executable, str(ROOT / "tools/try_wheel.py"), *map(str, wheels), *root]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "the wheels work without the checkout"
