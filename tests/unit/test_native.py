"""The standalone native tests: built with AddressSanitizer and UndefinedBehaviorSanitizer, and for a foreign processor.

Builds stay in ``build/`` of the checkout, so a second run only compiles what changed.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CROSS_COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64"

pytestmark = pytest.mark.skipif(
    not (shutil.which("cmake") and shutil.which("c++")),
    reason="building the native tests takes cmake and a C++ compiler on the path",
)


def build(name: str, *options: str) -> Path:
    """Build the native tests with these options; the folder of their programs."""
    folder = ROOT / "build" / name
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-DHEADSTART_NATIVE_TESTS=ON", *options]
    for command in (configure, ["cmake", "--build", str(folder), "--parallel", "2"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def programs(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*_test"))
    assert found, f"no native tests in {folder}"
    return found


def test_no_sanitizer_complains() -> None:
    folder = build(
        "native-sanitized", "-DHEADSTART_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0"
    )
    for program in programs(folder):
        assert " 0 failed" in run(str(program))


@pytest.mark.skipif(
    not (shutil.which(CROSS_COMPILER) and shutil.which(EMULATOR)),
    reason=f"NEON on this machine takes {CROSS_COMPILER} and {EMULATOR}",
)
def test_neon_in_emulation() -> None:
    folder = build(
        "native-neon",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        f"-DCMAKE_CXX_COMPILER={CROSS_COMPILER}",
        "-DCMAKE_EXE_LINKER_FLAGS=-static",
    )
    for program in programs(folder):
        said = run(EMULATOR, str(program))
        assert " 0 failed" in said
        assert program.name != "matrix_test" or "neon" in said
