"""The kernel's tests and its part of the contract once more, with sanitizers for addresses, undefined behaviour and
threads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headwise.model import kernel
from headwise.model.kernel_sources import MACRO, sources_hash

SOURCE = Path(kernel.__file__).with_name("kernel.cpp")
RUN = """
import pathlib, sys
import pytest
from headwise.model import kernel
kernel.library_path = lambda: pathlib.Path(sys.argv[1])
assert kernel.missing() is None, kernel.missing()
options = ["-q", "-x", "-p", "no:cacheprovider", "--timeout=0", "-n", "0"]
sys.exit(pytest.main([*options, "-k", sys.argv[2], *sys.argv[3:]]))
"""
HERE = Path(__file__).parent


def sanitized(checks: str, runtimes: tuple[str, ...], keyword: str, *tests: str, folder: Path) -> None:
    """Run tests on a kernel built with these checks; what they find fails."""
    library = folder / "kernel.so"
    flags = ["-std=c++17", "-O1", "-g", "-fno-math-errno", "-ffp-contract=fast", "-Wno-psabi", "-fPIC", "-shared"]
    # With the hash of these sources compiled in, as the build does, the library is accepted in place of the built one.
    hashed = f'-D{MACRO}="{sources_hash(SOURCE.parent)}"'
    checked = [f"-fsanitize={checks}", "-fno-sanitize-recover=all"]
    subprocess.run(["g++", *flags, *checked, hashed, str(SOURCE), "-o", str(library)], check=True)
    found = [
        subprocess.run(["g++", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
        for name in runtimes
    ]
    environment = os.environ | {
        "LD_PRELOAD": ":".join(found),
        # The interpreter and torch keep memory until they exit; only the kernel is on trial.
        "ASAN_OPTIONS": "detect_leaks=0",
        "TSAN_OPTIONS": "exitcode=66",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", RUN, str(library), keyword, *(str(HERE / name) for name in tests)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)
    output = done.stdout + done.stderr
    assert "Sanitizer" not in output, output[-4000:]
    assert "runtime error" not in output, output[-4000:]
    assert done.returncode == 0, output[-4000:]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="needs g++ on Linux")
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    sanitized(
        "address,undefined",
        ("libasan.so", "libubsan.so", "libstdc++.so"),
        "kernel or seen_tokens",
        "test_paths_kernel.py",
        "test_engine_contract.py",
        "test_seen_tokens.py",
        folder=tmp_path,
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="needs g++ on Linux")
def test_threads_do_not_race(tmp_path: Path) -> None:
    sanitized("thread", ("libtsan.so",), "threads", "test_paths_kernel.py", folder=tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="needs g++ on Linux")
def test_sanitizers_would_find_something(tmp_path: Path) -> None:
    library, source = tmp_path / "broken.so", tmp_path / "broken.cpp"
    source.write_text('extern "C" int read(int i) { int* x = new int[4]; int y = x[i]; delete[] x; return y; }')
    subprocess.run(["g++", "-g", "-fsanitize=address", "-fPIC", "-shared", str(source), "-o", str(library)], check=True)
    runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    environment = os.environ | {"LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(library)!r}).read(4)"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "heap-buffer-overflow" in done.stderr
